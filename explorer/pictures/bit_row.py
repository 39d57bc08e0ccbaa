"""The picture of Anatomy: the bits of one code by field, its formula and value."""

from __future__ import annotations

from ..views.anatomy import Anatomy
from ..views.numbers import digits_of, short
from .drawing import MARGIN, bit_boxes, draw, text_width

__all__ = ["bit_row"]


def bit_row(anatomy: Anatomy, dark: bool = False) -> str:
    """Return the picture of a code."""
    fmt = anatomy.format
    boxes = bit_boxes(anatomy.code, fmt)
    value = short(anatomy.value, 26, max(12, digits_of(fmt)))
    formula = sum(len(part.text) for part in anatomy.formula) + 3 + len(value)
    heading = text_width(len(fmt.name) + 4 + fmt.bits // 4 + len(anatomy.kind) + 6, 15)
    width = max(boxes.width, text_width(formula, 18), heading) + 2 * MARGIN
    return draw("bit_row", width, 178, dark, anatomy=anatomy, boxes=boxes, value=value)
