"""The picture of Cast & BitCast: the source code, the rule that decides, and the target code, one below the other."""

from __future__ import annotations

from ..views.conversion import Conversion, loss_text
from ..views.numbers import digits_of, short
from .drawing import MARGIN, bit_boxes, draw, text_width

__all__ = ["cast_steps"]


def cast_steps(conversion: Conversion, dark: bool = False) -> str:
    """Return the picture of a Cast."""
    ends = (
        (conversion.source, conversion.code, conversion.value),
        (conversion.target, conversion.result, conversion.result_value),
    )
    rows = [(fmt, code, short(value, 26, digits_of(fmt)), bit_boxes(code, fmt)) for fmt, code, value in ends]
    loss = loss_text(conversion)
    texts = [text_width(len(fmt.name) + fmt.bits // 4 + 10 + len(value), 15) for fmt, _, value, _ in rows]
    texts += [text_width(len(conversion.rule) + 4, 14), text_width(len(loss), 14)]
    width = max(*texts, *(boxes.width for *_, boxes in rows)) + 2 * MARGIN
    return draw("cast_steps", width, 332, dark, rows=rows, rule=conversion.rule, loss=loss)
