"""The picture of Errors: a line for each format and rounding, its largest error as a line with a label at its end."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...shared.axis import log_ticks, spread, ticks
from ...shared.numbers import short
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, text_width
from .view import Curve, Range, bound

__all__ = ["TITLES", "is_cut", "narrow", "wide"]

TITLES = {"absolute": "error, result − x", "relative": "error / |x|", "ulp": "error in ulp of x"}

_MOST_SHOWN = Fraction(11, 10)
"""Relative errors beyond are cut off: a number next to zero that is rounded away from it has any."""

_COLOURS = ("mantissa-text", "sign-text", "exponent-text", "nan-text", "inf-text", "subnormal-text")
_DASHES = (None, "7 4", "2 3")
_LEAST_GAP = 34
"""Between two labels."""


@dataclass(frozen=True, slots=True)
class _Box:
    """Where the curves are, and how a number and an error become x and y."""

    left: float
    top: float
    right: float
    bottom: float
    x: Callable[[Fraction], float]
    y: Callable[[Fraction], float]


def is_cut(curves: Sequence[Curve], measure: str) -> bool:
    """Return whether errors are cut off at the edges of the picture."""
    return measure == "relative" and max(_ends(curves), default=Fraction(0)) > _MOST_SHOWN


def _ends(curves: Sequence[Curve]) -> list[Fraction]:
    ends = (end for curve in curves for point in curve.points for end in (point.least, point.greatest))
    return [abs(end) for end in ends if end is not None]


def _box(
    curves: Sequence[Curve], ends: Range, measure: str, scale: str, left: float, top: float, right: float, bottom: float
) -> tuple[_Box, Fraction]:
    """Return where the curves are, and the largest error that is drawn."""
    most = max(_ends(curves), default=Fraction(0)) or Fraction(1)
    most = min(most, _MOST_SHOWN) if measure == "relative" else most
    low, high = (_place(end, scale) for end in (ends.low, ends.high))

    def x(number: Fraction) -> float:
        return left + (right - left) * (_place(number, scale) - low) / (high - low)

    def y(error: Fraction) -> float:
        return (top + bottom) / 2 - (bottom - top) / 2 * float(error / most) / 1.06

    return _Box(left, top, right, bottom, x, y), most


def _place(number: Fraction, scale: str) -> float:
    return math.log2(number.numerator) - math.log2(number.denominator) if scale == "log" else float(number)


def wide(curves: Sequence[Curve], ends: Range, measure: str, scale: str, x: Fraction | None) -> Drawing:
    """Return the drawing for a desk: the labels stand right of the curves."""
    drawing = Drawing(WIDE, 456, _label(curves, measure))
    box, most = _box(curves, ends, measure, scale, 76, 64, 860, 424)
    _frame(drawing, box, ends, measure, scale, most, 9)
    _curves(drawing, curves, box, measure)
    placed = spread([box.y(_peak(curve, most)[1]) for curve in curves], _LEAST_GAP, box.top, box.bottom)
    for number, (curve, y) in enumerate(zip(curves, placed, strict=True)):
        _bound_line(drawing, curve, number, box, most, y)
        _name(drawing, curve, number, measure, 880, y)
    _number(drawing, curves, box, x)
    return drawing


def narrow(curves: Sequence[Curve], ends: Range, measure: str, scale: str, x: Fraction | None) -> Drawing:
    """Return the drawing for a telephone: the labels stand below the curves."""
    drawing = Drawing(NARROW, 318 + 38 * len(curves), _label(curves, measure))
    box, most = _box(curves, ends, measure, scale, 52, 56, NARROW, 276)
    _frame(drawing, box, ends, measure, scale, most, 4)
    _curves(drawing, curves, box, measure)
    for number, curve in enumerate(curves):
        _bound_line(drawing, curve, number, box, most, None)
        _name(drawing, curve, number, measure, 0, 326 + 38 * number)
    _number(drawing, curves, box, x)
    return drawing


def _label(curves: Sequence[Curve], measure: str) -> str:
    """Return in a sentence what the picture shows."""
    said = "; ".join(f"{curve.name}: {bound(curve, measure)}" for curve in curves)
    return f"The {TITLES[measure]} against the number x, a line for each format and rounding. {said}."


def _number_text(number: Fraction) -> str:
    return short(number, 9, 4).replace("e+", "e").replace("-", "−")


def _frame(
    drawing: Drawing, box: _Box, ends: Range, measure: str, scale: str, most: Fraction, marks: int
) -> None:  # fmt: skip
    """Draw the title, and both axes with round numbers."""
    drawing.text(0, 16, TITLES[measure], size=15, bold=True)
    for error in ticks(-most, most, 7):
        y = box.y(error)
        text = f"{_number_text(100 * error)} %" if measure == "relative" else _number_text(error)
        drawing.line(box.left, y, box.right, y, "quiet" if not error else "line")
        drawing.text(box.left - 8, y + 4, text, size=12.5, fill="quiet", anchor="end", mono=True)
    found = (log_ticks if scale == "log" else ticks)(ends.low, ends.high, marks)
    for number in found:
        x, text = box.x(number), _number_text(number)
        half = text_width(text, 12.5, mono=True) / 2
        drawing.line(x, box.top, x, box.bottom, "line")
        middle = min(max(x, half), drawing.width - half)
        drawing.text(middle, box.bottom + 17, text, size=12.5, fill="quiet", anchor="middle", mono=True)
    drawing.line(box.left, box.bottom, box.right, box.bottom, "quiet")
    drawing.text(box.right, box.bottom + 32, "x", size=13, fill="quiet", anchor="end")


def _style(number: int) -> tuple[str, dict[str, Any]]:
    """Return the colour of a curve by its number, and its dashes where the colours are used up."""
    dashes = _DASHES[number // len(_COLOURS) % len(_DASHES)]
    return _COLOURS[number % len(_COLOURS)], {} if dashes is None else {"stroke_dasharray": dashes}


def _inside(drawing: Drawing, box: _Box) -> Shapes:
    """Return shapes that are cut off at the edges of the box; they have the coordinates of the drawing."""
    size = {"x": box.left, "y": box.top, "width": box.right - box.left, "height": box.bottom - box.top}
    view = f"{box.left:g} {box.top:g} {size['width']:g} {size['height']:g}"
    return Shapes(drawing.add("svg", {**size, "viewBox": view, "aria-hidden": "true"}))


def _curves(drawing: Drawing, curves: Sequence[Curve], box: _Box, measure: str) -> None:
    """Draw the curves: lines, and bands where chance or many values leave a range."""
    inside = _inside(drawing, box)
    for number, curve in enumerate(curves):
        colour, dashes = _style(number)
        is_stochastic = curve.curve.is_stochastic
        if is_stochastic or not curve.curve.is_complete:
            for run in _unbroken([(point.x, point.least, point.greatest) for point in curve.points]):
                forth = [(box.x(x), box.y(greatest)) for x, _, greatest in run]
                back = [(box.x(x), box.y(least)) for x, least, _ in reversed(run)]
                inside.path(_path([*forth, *back]) + "z", fill=colour, opacity=0.22)
        if is_stochastic or curve.curve.is_complete:
            for line in _unbroken([(point.x, point.mean, point.mean) for point in curve.points]):
                inside.path(_path([(box.x(x), box.y(mean)) for x, mean, _ in line]), stroke=colour, width=2,
                            stroke_linejoin="round", **dashes)  # fmt: skip


_Point = tuple[Fraction, Fraction, Fraction]


def _unbroken(points: Sequence[tuple[Fraction, Fraction | None, Fraction | None]]) -> list[list[_Point]]:
    """Return the runs of points that have errors."""
    runs: list[list[_Point]] = [[]]
    for x, least, greatest in points:
        if least is None or greatest is None:
            runs.append([])
        else:
            runs[-1].append((x, least, greatest))
    return [run for run in runs if run]


def _path(points: Sequence[tuple[float, float]]) -> str:
    """Return the commands of a line through points; far ones stay near the picture."""
    return "M" + "L".join(f"{x:.1f} {min(max(y, -1e4), 1e4):.1f}" for x, y in points)


def _peak(curve: Curve, most: Fraction) -> tuple[Fraction | None, Fraction]:
    """Return where the drawn error of a curve is largest, and that error with its sign, cut off at the edge."""
    found = [(point.x, end) for point in curve.points for end in (point.greatest, point.least) if end is not None]
    if not found:
        return None, Fraction(0)
    x, error = max(found, key=lambda pair: abs(pair[1]))
    return x, max(min(error, most), -most)


def _bound_line(drawing: Drawing, curve: Curve, number: int, box: _Box, most: Fraction, label_y: float | None) -> None:
    """Draw how large the error of a curve becomes: a dot there, and a thin line to the label."""
    x, error = _peak(curve, most)
    if x is None or not error:
        return
    colour, _ = _style(number)
    y = box.y(error)
    drawing.line(box.x(x), y, box.right, y, colour, width=1, dashed=True)
    drawing.circle(box.x(x), y, 5, colour)
    if label_y is not None:
        drawing.path(f"M{box.right:g} {y:.1f}L{box.right + 14:g} {label_y:.1f}", stroke=colour)


def _name(drawing: Drawing, curve: Curve, number: int, measure: str, x: float, y: float) -> None:
    """Write the name of a curve in its colour, and its largest error below."""
    colour, dashes = _style(number)
    drawing.line(x, y - 4, x + 16, y - 4, colour, width=3, **dashes)
    room = drawing.width - x - 22
    size = min(14.0, room / text_width(curve.name, 1, mono=True))
    drawing.text(x + 22, y, curve.name, size=size, fill=colour, bold=True, mono=True)
    text = bound(curve, measure)
    drawing.text(x + 22, y + 16, text, size=min(13.0, room / text_width(text, 1)), fill="quiet")


def _number(drawing: Drawing, curves: Sequence[Curve], box: _Box, x: Fraction | None) -> None:
    """Draw the reader's number: a line with a pill, a dot where it meets each curve."""
    if x is None:
        return
    at, text = box.x(x), _number_text(x)
    drawing.line(at, 44, at, box.bottom, "accent", width=2)
    inside = _inside(drawing, box)
    for number, curve in enumerate(curves):
        if curve.at_x is not None and curve.at_x.mean is not None:
            inside.circle(at, box.y(curve.at_x.mean), 5, _style(number)[0], stroke="page", stroke_width=1.5)
    half = text_width(text, 14, mono=True) / 2 + 10
    drawing.pill(min(max(at, half), drawing.width - half), 34, text, size=14)
