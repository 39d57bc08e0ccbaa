"""What every picture has: a size, a title, a scheme of colours; and a row of bits, by field, with its places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lowprec import Format

from . import theme
from .codes import fields
from .html import render_picture

__all__ = ["MARGIN", "BitBoxes", "FieldBoxes", "bit_boxes", "draw", "text_width"]

MARGIN = 16

_GLYPH = 0.62
"""The width of a character of a monospaced font in its sizes, a little more than any common font has."""

_BETWEEN_FIELDS = 10
_BOX_WIDTHS = ((8, 40), (16, 30), (32, 22))
_NARROWEST = 16


def text_width(characters: int, size: float) -> float:
    """Return how wide a text of so many characters is in a monospaced font of a size."""
    return characters * size * _GLYPH


@dataclass(frozen=True, slots=True)
class FieldBoxes:
    """A field: its name and label, where it begins and how wide it is; the bits, each with the left edge of its box."""

    name: str
    label: str
    x: float
    width: float
    bits: tuple[tuple[str, float], ...]

    @property
    def middle(self) -> float:
        """The middle of the field."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class BitBoxes:
    """A row of bits: its fields, the width of a box, and the width of all."""

    fields: tuple[FieldBoxes, ...]
    box: float
    width: float


def bit_boxes(code: int, fmt: Format, left: float = MARGIN) -> BitBoxes:
    """Return the places of a code's bits; a field is as wide as its label at least."""
    box = next((width for bits, width in _BOX_WIDTHS if fmt.bits <= bits), _NARROWEST)
    placed, x = [], left
    for field in fields(code, fmt):
        width = max(box * len(field.bits), text_width(len(field.label), 12))
        first = x + (width - box * len(field.bits)) / 2
        bits = tuple((bit, first + index * box) for index, bit in enumerate(field.bits))
        placed.append(FieldBoxes(field.name, field.label, x, width, bits))
        x += width + _BETWEEN_FIELDS
    return BitBoxes(tuple(placed), box, x - _BETWEEN_FIELDS - left)


def draw(name: str, width: float, height: float, dark: bool, **values: Any) -> str:
    """Return a picture's SVG text, of its template and a size in pixels."""
    scheme = ("light", "dark")[dark]
    colours = {
        "page": theme.OPTIONS[f"theme.{scheme}.backgroundColor"],
        "text": theme.OPTIONS[f"theme.{scheme}.textColor"],
        "panel": theme.OPTIONS[f"theme.{scheme}.secondaryBackgroundColor"],
        "line": theme.LINES[dark],
        "quiet": theme.QUIET[dark],
        "accent": theme.ACCENT[dark],
    }
    paints = {name: pairs[dark] for name, pairs in {**theme.FIELDS, **theme.CLASSES}.items()}
    size = {"width": round(width), "height": round(height)}
    return render_picture(name, colours=colours, paints=paints, margin=MARGIN, **size, **values)
