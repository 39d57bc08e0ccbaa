"""The picture of one block: its scale and the steps to it, each element as a bar, and what it becomes."""

from __future__ import annotations

from fractions import Fraction

from ...shared.axis import ticks
from ...shared.codes import fields
from ...shared.numbers import code_text, power_form, short
from ...shared.ranges import minus
from ...shared.svg import NARROW, WIDE, Drawing, fitted, text_width
from .block_view import Block, Member, grid_lines

__all__ = ["one_block"]

_BARS = 180.0
"""The height of the bars, from the largest element to the smallest."""

_LINE = 20


def one_block(block: Block, *, wide: bool = True) -> Drawing:
    """Return the picture of a block."""
    fmt, width = block.settings.scale_format, WIDE if wide else NARROW
    value = minus(short(block.scale) if fmt.has_zero else power_form(block.scale))
    kind = f"{block.size} elements" if block.size != 1 else "1 element"
    title = f"{block.format.name}, block {', '.join(map(str, block.index)) or block.place}: {kind}"
    heading = f"scale: {fmt.name} {code_text(block.scale_code, fmt)} = {value}"
    if block.zero_point is not None:
        heading += f", zero point {block.zero_point}"
    steps = [f"{step.symbol} = {step.formula.removesuffix(',')} = {short(step.value)}" for step in block.steps]
    drawing = Drawing(width, 400, f"{title}; {heading}; {'; '.join(steps)}")
    y = 20.0
    for text, largest, is_bold in ((title, 17, True), (heading, 15, False), *((step, 14, False) for step in steps)):
        shown, size = fitted(minus(text), width, largest, 10)
        drawing.text(0, y, shown, size=size, mono=True, bold=is_bold)
        y += _LINE + 4 * is_bold
        if text == heading:
            strip = [(field.name, field.bits) for field in fields(block.scale_code, fmt)]
            x = text_width(heading, size, mono=True) + 16 if wide else 0.0
            drawing.code(x, y - _LINE * wide + 2 * (not wide), strip, size=13 if wide or fmt.bits <= 16 else 11)
            y += 0 if wide else _LINE + 6
    drawing.resize(_bars(drawing, block, y + 12, wide))
    return drawing


def _bars(drawing: Drawing, block: Block, top: float, wide: bool) -> float:
    """Draw a bar for each finite element, the value that it becomes, and all that it can become; return the bottom."""
    shown = [member for member in block.members if not member.x.special]
    pairs = [(float(one.x), None if one.dequantized.special else float(one.dequantized)) for one in shown]
    numbers = [0.0, *(number for pair in pairs for number in pair if number is not None)]
    high, low = max(numbers), min(numbers)
    largest = max(high, -low)
    if not largest:
        return top
    left = 64.0

    def place(number: float) -> float:  # ratios first: a difference of two floats may overflow
        return top + (high / largest - number / largest) / (high / largest - low / largest) * _BARS

    for value in grid_lines(block):
        y = place(float(value))
        if top - 0.01 <= y <= top + _BARS + 0.01:
            drawing.line(left, y, drawing.width, y, "line")
    for number in ticks(Fraction(low), Fraction(high), 5):
        text = minus(short(number, 7, 2).replace("e+", "e"))
        drawing.text(left - 8, place(float(number)) + 4, text, size=12, fill="quiet", anchor="end", mono=True)
    step = (drawing.width - left) / len(shown)
    for index, (one, (x, became)) in enumerate(zip(shown, pairs, strict=True)):
        _bar(drawing, one, left + index * step + step * 0.1, step * 0.8, (place(0.0), place(x)),
             None if became is None else place(became))  # fmt: skip
    drawing.line(left, place(0.0), drawing.width, place(0.0), "quiet")
    note = "bar: x, the largest in orange; line: what it becomes"
    note += "; hairlines: what it can become" * bool(wide and grid_lines(block))
    if block.size > len(block.members):
        note += f"; {len(block.members)} of {block.size} elements"
    text, size = fitted(note, drawing.width, 13, 10, mono=False)
    drawing.text(0, top + _BARS + 24, text, size=size, fill="quiet")
    return top + _BARS + 32


def _bar(
    drawing: Drawing, one: Member, left: float, across: float, ends: tuple[float, float], mark: float | None
) -> None:  # fmt: skip
    top, bottom = sorted(ends)
    group = drawing.group(
        label=f"{', '.join(map(str, one.index))}: {minus(short(one.x))} becomes {minus(short(one.dequantized))}"
    )
    kind = "sign-text" if one.is_largest else "accent"
    group.rect(left, top, across, bottom - top, kind, fill_opacity="0.55")
    if mark is not None:
        group.line(left, mark, left + across, mark, "text", width=3)
