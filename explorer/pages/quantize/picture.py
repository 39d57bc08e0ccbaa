"""The picture of one block: the bits of its scale, the steps to it, and each element next to what it becomes."""

from __future__ import annotations

from ...shared.drawing import MARGIN, bit_boxes, draw, text_width
from ...shared.numbers import code_text, power_form, short
from .block_view import Block

__all__ = ["one_block"]

_LEAST_WIDTH = 640.0
_HEIGHT = 180
"""Of the bars, from the largest element to the smallest."""

_LINE = 20


def one_block(block: Block, dark: bool = False) -> str:
    """Return the picture of a block."""
    fmt = block.settings.scale_format
    boxes = bit_boxes(block.scale_code, fmt)
    value = short(block.scale) if fmt.has_zero else power_form(block.scale)
    kind = f"{block.size} elements" if block.size != 1 else "1 element"
    title = f"{block.format.name}, block {', '.join(map(str, block.index)) or block.place}: {kind}"
    heading = f"scale: {fmt.name} {code_text(block.scale_code, fmt)} = {value}"
    if block.zero_point is not None:
        heading += f", zero point {block.zero_point}"
    steps = [f"{step.symbol} = {step.formula.removesuffix(',')} = {short(step.value)}" for step in block.steps]
    widths = [text_width(len(text), 17) for text in (title, heading, *steps)]
    bar = max(_LEAST_WIDTH, boxes.width, *widths)
    top = 152 + _LINE * len(steps) + 24
    bars, zero = _bars(block, bar, top)
    height = top + (_HEIGHT + 44 if bars else 0)
    values = {"title": title, "heading": heading, "boxes": boxes, "steps": steps, "line": _LINE, "bars": bars}
    note = "bar: x; line: the dequantized value" + (
        f"; {len(block.members)} of {block.size} elements" if block.size > len(block.members) else ""
    )
    return draw("pages/quantize/one_block", bar + 2 * MARGIN, height, dark, bar=bar, zero=zero, note=note, **values)


_Drawn = list[tuple[float, float, float, float, float | None, bool]]


def _bars(block: Block, across: float, top: float) -> tuple[_Drawn, float]:
    """Return left edge, width, top, height, the place of the dequantized value, and whether it is the largest."""
    shown = [member for member in block.members if not member.x.special]
    pairs = [(float(one.x), None if one.dequantized.special else float(one.dequantized)) for one in shown]
    numbers = [0.0, *(number for pair in pairs for number in pair if number is not None)]
    high, low = max(numbers), min(numbers)
    largest = max(high, -low)
    if not largest:
        return [], top

    def place(number: float) -> float:  # ratios first: a difference of two floats may overflow
        return top + (high / largest - number / largest) / (high / largest - low / largest) * _HEIGHT

    step, zero = across / len(shown), place(0.0)
    drawn = []
    for index, (one, (x, became)) in enumerate(zip(shown, pairs, strict=True)):
        ends = sorted((place(x), zero))
        left = MARGIN + index * step + step * 0.1
        mark = None if became is None else place(became)
        drawn.append((left, step * 0.8, ends[0], ends[1] - ends[0], mark, one.is_largest))
    return drawn, zero
