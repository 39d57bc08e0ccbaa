"""The picture of a matrix product: weights times inputs, and for each setting what both lose, on one scale."""

from __future__ import annotations

import math
from fractions import Fraction

from ...shared.axis import ticks
from ...shared.svg import NARROW, WIDE, Drawing, fitted
from .product_view import Product, Row

__all__ = ["drawing"]

_LOOKS = (("weights", "mantissa", "mantissa-text"), ("product", "soft", "accent"))


def drawing(found: Product, *, wide: bool) -> Drawing:
    """Return the bars of each setting: the SQNR of its weights, below it that of the product."""
    width, left = (float(WIDE), 250.0) if wide else (float(NARROW), 76.0)
    step, first = (58.0, 92.0) if wide else (78.0, 100.0)
    bottom = first + step * len(found.rows) - 20
    said = "; ".join(f"{row.label}: weights {_decibels(row.weights_db)}, product {_decibels(row.product_db)}"
                     for row in found.rows if not row.problem)  # fmt: skip
    picture = Drawing(width, bottom, f"SQNR of the weights and of their product with inputs. {said}")
    title = f"W ({_shape(found.weights)}) · X ({_shape(found.inputs)}, {found.kind}): SQNR in dB"
    text, size = fitted(title, width, 16 if wide else 14, 10.5, mono=False)
    picture.text(0, 17, text, size=size, bold=True)
    losses = [loss for row in found.rows for loss in (row.weights_db, row.product_db) if math.isfinite(loss)]
    low, high = min([0.0, *losses]), max([1.0, *losses])
    right = width - 76

    def x(loss: float) -> float:
        return left + (right - left) * (min(max(loss, low), high) - low) / (high - low)

    for number in ticks(Fraction(low), Fraction(high), 9 if wide else 5):
        picture.line(x(float(number)), 50, x(float(number)), bottom - 8, "line" if number else "quiet")
        picture.text(x(float(number)), 43, str(number).replace("-", "−"), size=12.5, fill="quiet", anchor="middle",
                     mono=True)  # fmt: skip
    for place, row in enumerate(found.rows):
        _row(picture, row, first + step * place, left, x, wide)
    return picture


def _row(picture: Drawing, row: Row, y: float, left: float, x: object, wide: bool) -> None:
    label, size = fitted(row.label, 170 if wide else NARROW, 15, 11)
    top = y - 22 if wide else y - 12
    picture.text(0, top + 22 if wide else top - 8, label, size=size, bold=True, mono=True)
    if row.problem:
        text, size = fitted(row.problem, 600 if wide else NARROW - left, 13, 10.5, mono=False)
        picture.text(left, top + 16, text, size=size, fill="quiet")
        return
    assert callable(x)
    for line, ((name, fill, colour), loss) in enumerate(zip(_LOOKS, (row.weights_db, row.product_db), strict=True)):
        up = top + 22 * line
        end = x(loss) if math.isfinite(loss) else left
        start = x(0.0)
        picture.rect(min(start, end), up, abs(end - start), 18, fill, radius=2, stroke=colour)
        picture.text(left - 8, up + 14, name, size=13, fill=colour, anchor="end")
        picture.text(max(start, end) + 7, up + 14, _decibels(loss), size=13.5, fill=colour, bold=True, mono=True)


def _shape(shape: tuple[int, int]) -> str:
    return " × ".join(map(str, shape))


def _decibels(loss: float) -> str:
    if math.isfinite(loss):
        return f"{loss:.1f} dB".replace("-", "−")
    return "exact" if loss > 0 else "no SQNR"
