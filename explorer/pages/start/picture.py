"""The drawing of a format as a ruler: a number, its bits, rows of boxes, the marks, and the pill that is dragged."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from ...shared.codes import NAMES
from ...shared.interaction import Drag, Shown
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, paint, text_width
from .view import END, NUMBERS, Box, Ruler

__all__ = ["drag", "drawing"]


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where things stand in a drawing of a width; `size` has the sizes of texts."""

    width: int
    height: int
    margin: int
    rows: tuple[int, int, int]
    row: int
    axis: int
    pill: int
    ticks: tuple[int, int]
    number: int
    box: int
    bit_height: int
    bit: int
    field: float
    label: float
    value: int
    away: int

    def x(self, value: float) -> float:
        """Return where a number stands."""
        return self.width / 2 + value * (self.width / 2 - self.margin) / END

    def inside(self, x: float, half: float) -> float:
        """Return the middle of a thing of a width so that it does not leave the drawing."""
        return min(max(x, half), self.width - half)


_WIDE = _Layout(WIDE, 336, 14, (120, 157, 194), 34, 268, 97, (24, 14), 38, 46, 48, 24, 17, 15, 20, 17)
_NARROW = _Layout(NARROW, 276, 6, (100, 130, 160), 27, 220, 79, (16, 10), 24, 26, 36, 18, 12.5, 12, 16, 14)
_NARROW_BOX = 17
"""The width of a bit of 8 on a telephone."""

_HALF_AWAY, _HALF_PILL = 5, 38
_NARROWEST = 1.2
"""Pixels from which a box is drawn by itself."""


def drag(ruler: Ruler, place: int) -> Drag:
    """Return the number as one that is dragged, with the texts of every place."""
    parts = {
        "x": [one.text for one in ruler.numbers],
        "value": [one.value for one in ruler.numbers],
        "away": [one.away for one in ruler.numbers],
    }
    parts |= {f"bit{index}": [one.bits[index] for one in ruler.numbers] for index in range(ruler.format.bits)}
    return Drag("x", NUMBERS, place, parts)


def drawing(ruler: Ruler, place: int, *, narrow: bool = False) -> Shown:
    """Return the drawing with the number at a place, for a wide or a narrow page, and where its parts move."""
    layout, number = _NARROW if narrow else _WIDE, ruler.numbers[place]
    label = f"{ruler.format.name} as a ruler from −{END} to {END}: {number.text} becomes {number.value}"
    d = Drawing(layout.width, layout.height, f"{label}, code {number.bits}")
    _equation(d, ruler, place, layout)
    xs = [layout.x(float(mark.value)) for mark in ruler.marks]
    edges = [1.0, *((left + right) / 2 for left, right in pairwise(xs)), layout.width - 1.0]
    numbers = [layout.x(float(text)) for text in NUMBERS]
    at = numbers[place]
    texts: list[tuple[float, float, str, str, float]] = []
    for row, name in enumerate(NAMES):
        texts += _row(d, [box for box in ruler.boxes if box.field == name], edges, layout, row, place)
    d.line(0, layout.axis, layout.width, layout.axis, "text", width=2)
    _marks(d, ruler, xs, layout)
    for index, one in enumerate(ruler.numbers):
        if abs(xs[one.mark] - numbers[index]) > 1:
            d.line(numbers[index], layout.axis, xs[one.mark], layout.axis, "accent", width=6,
                   **_ghost(index, index, place))  # fmt: skip
    d.line(at, layout.pill, at, layout.axis, "accent", width=2, follow="x")
    for x, y, text, kind, size in texts:  # over the line of the number
        d.text(x, y, text, size=size, fill=f"{kind}-text", anchor="middle", mono=True,
               stroke=paint(kind), stroke_width=4, paint_order="stroke")  # fmt: skip
    _values(d, ruler, xs, layout, place)
    dot = xs[number.mark]
    d.circle(dot, layout.axis, 8, "accent", follow="dot")
    half = layout.away * _HALF_AWAY + 10
    middles = [layout.inside((xs[one.mark] + x) / 2, half) for x, one in zip(numbers, ruler.numbers, strict=True)]
    d.text(middles[place], layout.axis + layout.value + layout.away + 21, number.away, size=layout.away, fill="accent",
           anchor="middle", bold=True, part="away", follow="away")  # fmt: skip
    d.rect(0, layout.pill - 20, layout.width, layout.height - layout.pill + 20, "none", pointer_events="all",
           data_drag_area="")  # fmt: skip
    pills = [layout.inside(x, _HALF_PILL) for x in numbers]
    d.group(follow="pill").pill(pills[place], layout.pill, number.text, drag=True, part="x", label="Number")
    places = {
        "dot": [(round(xs[one.mark] - dot, 2), 0.0) for one in ruler.numbers],
        "away": [(round(x - middles[place], 2), 0.0) for x in middles],
        "pill": [(round(x - pills[place], 2), 0.0) for x in pills],
    }
    return Shown(d, numbers[0], numbers[-1], at, places)


def _ghost(first: int, last: int, place: int) -> dict[str, Any]:
    """Return what makes a shape seen only while the number stands at one of these places."""
    return {"first": first, "last": last, "class_": "ghost here" if first <= place <= last else "ghost"}


def _equation(d: Shapes, ruler: Ruler, place: int, layout: _Layout) -> None:
    """Add number, bits and value in a line."""
    number, fmt = ruler.numbers[place], ruler.format
    is_narrow = layout is _NARROW
    box, between = layout.box, 16 if is_narrow else 8  # a label may be wider than its bits
    if is_narrow and fmt.bits == 8:
        box, between = _NARROW_BOX, 6
    line = layout.bit_height / 2 + layout.number * 0.35
    d.text(0, line, number.text, size=layout.number, fill="accent", mono=True, bold=True, part="x")
    left = text_width("−0.0", layout.number, mono=True) + (2 if is_narrow else 14)
    arrow = 16 if is_narrow else 26
    d.arrow(f"M{left} {layout.bit_height / 2}L", (left + arrow, layout.bit_height / 2), (1, 0), "quiet")
    cuts = (0, 1, fmt.bits - fmt.mantissa_bits, fmt.bits)
    parts = [(name, number.bits[first:last]) for name, first, last in zip(NAMES, cuts, cuts[1:], strict=False)]
    group = d.group()
    right = group.bits(left + arrow + (4 if is_narrow else 16), 0, parts, box=box, height=layout.bit_height,
                       size=layout.bit, between=between, labels=NAMES)  # fmt: skip
    bits = [text for text in group.element.iter("text") if text.get("class") == "mono"]
    for index, text in enumerate(bits):
        text.set("data-part", f"bit{index}")
    right += 10 if is_narrow else 14
    size = layout.number if not is_narrow else min(
        layout.number, (layout.width - right - 16) / 0.61 / max(len(one.value) for one in ruler.numbers)
    )  # fmt: skip
    d.text(right, line, "=", size=layout.number * 0.8, fill="quiet", mono=True)
    d.text(right + layout.number * (0.6 if is_narrow else 0.9), line, number.value, size=round(size, 1), mono=True,
           bold=True, part="value")  # fmt: skip
    if not is_narrow:
        d.text(layout.width, 30, f"{fmt.name}: {ruler.range}", size=15, fill="quiet", anchor="end")


def _row(
    d: Shapes, boxes: list[Box], edges: list[float], layout: _Layout, row: int, place: int
) -> list[tuple[float, float, str, str, float]]:
    """Add a row of boxes; return the bits that fit in them: x, y, text, colours and size."""
    y, size = layout.rows[row], layout.field
    spans = [(edges[box.first], edges[box.last + 1]) for box in boxes]
    slivers = [span for span in spans if span[1] - span[0] < _NARROWEST]
    if slivers:
        d.rect(slivers[0][0], y, slivers[-1][1] - slivers[0][0], layout.row, boxes[0].field)
    texts = []
    for box, (left, right) in zip(boxes, spans, strict=True):
        width = right - left
        if width < _NARROWEST:
            continue
        gap = 1 if width > 5 else 0.25
        lit: dict[str, Any] = {}
        if box.places:
            first, last = box.places
            lit = {"first": first, "last": last, "color": paint(f"{box.kind}-text")}
            lit["class_"] = "lit here" if first <= place <= last else "lit"
        d.rect(left + gap, y, width - 2 * gap, layout.row, box.kind, radius=4 if width > 9 else 1, **lit)
        room = text_width(box.bits, size, mono=True)
        middle, base = (left + right) / 2, y + layout.row / 2 + size * 0.35
        if width > room + 3:
            texts.append((middle, base, box.bits, box.kind, size))
        name_end = 10 + text_width(box.field, 14) + 12
        if box is boxes[0] and layout is _WIDE and name_end < middle - room / 2:
            d.text(10, base - 1, box.field, size=14, fill=f"{box.kind}-text")
    return texts


def _marks(d: Shapes, ruler: Ruler, xs: list[float], layout: _Layout) -> None:
    """Add the marks; powers of two and 0 are longer, and of several at one pixel one is drawn."""
    width = 1 if len(ruler.marks) > 80 else 2
    last = -1.0
    for mark, x in zip(ruler.marks, xs, strict=True):
        is_long = "1" not in mark.bits[2]
        if x - last < 1 and mark.value:
            continue
        last = x
        up, down = (layout.ticks[0], 6) if is_long else (layout.ticks[1], 3)
        d.line(x, layout.axis - up, x, layout.axis + down, "mantissa-text", width=width)


def _values(d: Shapes, ruler: Ruler, xs: list[float], layout: _Layout, place: int) -> None:
    """Add the numbers under the axis; those near the value that the number becomes are hidden while it is there."""
    y = layout.axis + layout.value + 9
    few = len(ruler.marks) <= 16
    named = {str(value) for value in range(-END, END + 1)} if layout is _WIDE else {"0", *"246"}
    if layout is not _WIDE:
        named |= {"-2", "-4", "-6", *({"1", "3", "-1", "-3"} if few else ())}
    named = {name.replace("-", "−") for name in named}
    halves = [text_width(one.value, layout.value, mono=True) / 2 for one in ruler.numbers]
    for mark, x in zip(ruler.marks, xs, strict=True):
        if mark.text != "−0" and (mark.text in named or (few and layout is _WIDE)):
            half = text_width(mark.text, layout.label, mono=True) / 2
            if half <= x <= layout.width - half:
                near = [
                    index
                    for index, one in enumerate(ruler.numbers)
                    if abs(layout.inside(xs[one.mark], halves[index]) - x) < half + halves[index] + 4
                ]
                for first, last in ((0, min(near) - 1), (max(near) + 1, len(NUMBERS) - 1)) if near else ((0, 160),):
                    if first <= last:
                        d.text(x, y, mark.text, size=layout.label, fill="quiet", anchor="middle", mono=True,
                               **_ghost(first, last, place))  # fmt: skip
        if mark.places:
            half = text_width(mark.text, layout.value, mono=True) / 2
            d.text(layout.inside(x, half), y + 1, mark.text, size=layout.value, anchor="middle", mono=True, bold=True,
                   **_ghost(*mark.places, place))  # fmt: skip
