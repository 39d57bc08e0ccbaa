"""The drawings of a block byte by byte, and of scales that have a scale."""

from __future__ import annotations

from ...shared.svg import NARROW, WIDE, Drawing, Shapes
from .bytes_view import Byte, Packed
from .columns_picture import figure

__all__ = ["block_bytes", "nested_scales"]

_HEIGHT, _TOP = 62, 64


def block_bytes(found: Packed, element: int, is_narrow: bool = False) -> Drawing:
    """Return a block as boxes, one a byte: green is a scale, blue the codes of the elements whose numbers are below."""
    width = float(NARROW if is_narrow else WIDE)
    across = 6 if is_narrow else 16
    box = width / across
    lines = -(-len(found.bytes) // across)
    label = f"A block of {found.layout}: {len(found.bytes)} bytes for {len(found.values)} elements"
    drawing = Drawing(width, _TOP + lines * _HEIGHT, label)
    bits = f"{found.bits_per_value:g} bits a value"
    drawing.text(0, 17, f"{found.layout}: {len(found.bytes)} bytes, {len(found.values)} elements", size=17, bold=True)
    value = f"element {element} is {figure(found.values[element])}"
    if found.x:
        value = f"element {element}: {figure(found.x[element])} becomes {figure(found.values[element])}"
    if is_narrow:
        drawing.text(0, 37, value, size=13, fill="accent", bold=True)
        drawing.text(0, 54, bits, size=13, fill="quiet")
    else:
        drawing.text(0, 40, f"{found.rule}; {bits}", size=14, fill="quiet")
        drawing.text(width, 40, value, size=14, fill="accent", anchor="end", bold=True)
    for index, byte in enumerate(found.bytes):
        x, y = index % across * box, _TOP + index // across * _HEIGHT
        _byte(drawing, x, y, box - 4, byte, index, element)
    return drawing


def _byte(shapes: Shapes, x: float, y: float, width: float, byte: Byte, index: int, element: int) -> None:
    kind = "exponent" if byte.low is None else "mantissa"
    group = shapes.group(label=f"Byte {index}, {byte.part}: 0x{byte.value:02X}")
    group.rect(x, y, width, 28, kind, radius=3)
    if byte.low is None or byte.high is None:
        group.text(x + width / 2, y + 20, f"{byte.value:02X}", size=16, fill=f"{kind}-text", anchor="middle", mono=True)
        word = "least" if byte.part.startswith("scale of the least") else "scales" if "6 bits" in byte.part else "scale"
        group.text(x + width / 2, y + 43, word, size=11.5, fill="exponent-text", anchor="middle")
        return
    for place, half, digit in ((1, byte.low, byte.value & 15), (0, byte.high, byte.value >> 4)):
        middle = x + width * (0.27 + 0.46 * place)
        is_chosen = half == element
        if is_chosen:
            group.rect(x + width / 2 * place, y, width / 2, 28, "none", radius=3, stroke="accent", stroke_width=2.5)
        group.text(middle, y + 20, f"{digit:X}", size=16, fill="mantissa-text", anchor="middle", mono=True)
        tone = "accent" if is_chosen else "quiet"
        group.text(middle, y + 43, str(half), size=11.5, fill=tone, anchor="middle", bold=is_chosen, mono=True)
    group.line(x + width / 2, y + 4, x + width / 2, y + 24, "page", width=2)


def nested_scales(found: Packed, is_narrow: bool = False) -> Drawing:
    """Return the groups of a block, each the ruler of 16 values that its two integers give it."""
    width, left = float(NARROW if is_narrow else WIDE), 8.0 if is_narrow else 250.0
    step = 48 if is_narrow else 34
    label = f"{found.layout}: each group of 32 elements has 16 values of its own"
    drawing = Drawing(width, 50 + step * len(found.groups), label)
    drawing.text(0, 17, label, size=15 if is_narrow else 17, bold=True)
    every = [level for group in found.groups for level in group.levels]
    low, high = min(every), max(every)

    def at(value: float) -> float:
        return left + (value - low) / ((high - low) or 1) * (width - left - 12)

    for place, group in enumerate(found.groups):
        y = 54.0 + place * step
        text = f"{group.first}–{group.last}: scale {group.scale}, least {group.least}"
        drawing.text(0, y if is_narrow else y + 5, text, size=13, fill="exponent-text")
        line = y + 14 if is_narrow else y
        drawing.line(left, line, width - 12, line, "line")
        drawing.path(
            "".join(f"M{at(one):.1f} {line - 8:.0f}v16" for one in group.levels), stroke="mantissa-text", width=1.6
        )
        own = sorted(set(found.values[group.first : group.last + 1]))
        for value in own:
            drawing.circle(at(value), line, 3.2, "accent")
    drawing.text(at(low), 38, figure(low), size=12.5, fill="quiet", mono=True)
    drawing.text(at(high), 38, figure(high), size=12.5, fill="quiet", anchor="end", mono=True)
    return drawing
