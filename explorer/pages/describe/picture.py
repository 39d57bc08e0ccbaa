"""The picture of Describe: the bits, the range and the values of a format, next to rows of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lowprec import Format, reference
from lowprec.reference.exact_cast import Value

from ...shared.codes import fields
from ...shared.range_bars import RangeBars
from ...shared.ranges import Axis, axis_of, minus, range_of
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, text_width
from .view import Ruler, ruler, ruler_end

__all__ = ["narrow", "wide"]

_ROW = 44
_MARK = 18


def _strip(fmt: Format) -> list[tuple[str, str]]:
    """Return the bits of each field as its first letter, as many as it has; their number where they are many."""
    parts = [(part.name, part.last - part.first) for part in fields(0, fmt)]
    letters = {"sign": "S", "exponent": "E", "mantissa": "M"}
    return [(name, letters[name] * count if count <= 8 else f"{letters[name]}×{count}") for name, count in parts]


def _label(formats: Sequence[Format]) -> str:
    first, *others = (fmt.name for fmt in formats)
    return f"Bits, range and values of {first}, next to {', '.join(others)}"


def _place(value: Value) -> float | None:
    return None if value.special or not value.magnitude else reference.log2(value)


def _title(fmt: Format) -> tuple[str, str]:
    onnx = "not in ONNX" if fmt.onnx_name is None else f"in ONNX: {fmt.onnx_name}"
    return fmt.name, f"{fmt.bits} bits, {onnx}"


def _name(shapes: Shapes, y: float, fmt: Format, room: float, *, is_first: bool) -> None:
    name, about = _title(fmt)
    shapes.text(0, y, _cut(name, room, 14), size=14, mono=True, bold=is_first, fill="accent" if is_first else "text")
    if text_width(name, 14, mono=True) > room:
        shapes.add("title", {}, name)
    shapes.text(0, y + 15, _cut(about, room, 9.5), size=11.5, fill="quiet")


def _cut(text: str, room: float, size: float) -> str:
    most = int(room / text_width("0", size, mono=True))
    return text if len(text) <= most else text[: most - 1] + "…"


def _group(drawing: Drawing, index: int, fmt: Format, box: tuple[float, float, float, float]) -> Shapes:
    """Return a group for a row; a click on all but the first shows that format."""
    more: dict[str, Any] = {} if index == 0 else {"set": f"fmt={fmt.name}", "label": f"Show {fmt.name}"}
    group = drawing.group(**more)
    group.rect(*box, "soft" if index == 0 else "page", radius=6 if index == 0 else 0)
    return group


def _ruler_axis(drawing: Shapes, left: float, right: float, top: float, bottom: float, end: int) -> None:
    """Write what the quarters of the ruler stand for."""
    for quarter in range(5):
        x = left + (right - left) * quarter / 4
        text = str(quarter) if end == 2 or not quarter else minus(f"{quarter}·2^{end - 2}")
        drawing.line(x, top, x, bottom, "line")
        drawing.text(x, top - 5, text, size=12, fill="quiet", mono=True,
                     anchor="end" if quarter == 4 else "start" if not quarter else "middle")  # fmt: skip


def _marks(shapes: Shapes, one: Ruler, left: float, right: float, middle: float) -> None:
    """Draw the values: a line each, a block where they are dense."""
    top, width = middle - _MARK / 2, right - left
    for first, last in one.blocks:
        shapes.rect(left + width * first, top, max(width * (last - first), 1), _MARK, "mantissa-text", opacity=0.55)
    d = "".join(f"M{left + width * mark:.1f} {top:.1f}v{_MARK}" for mark in one.marks)
    shapes.path(d, stroke="mantissa-text", width=1.3)


def _number(drawing: Shapes, x: float, top: float, bottom: float) -> None:
    drawing.line(x, top, x, bottom, "accent", width=2)


def _axis(formats: Sequence[Format], value: Value, most: int) -> Axis:
    return axis_of([range_of(fmt) for fmt in formats], _place(value), most)


def wide(fmt: Format, others: Sequence[Format], value: Value) -> Drawing:
    """Return the picture for a desk: name, bits, range and values of each format in a row."""
    formats, end = (fmt, *others), ruler_end(fmt)
    top, bottom = 46, 50 + _ROW * len(formats)
    drawing = Drawing(WIDE, bottom + 6, _label(formats))
    drawing.text(190, 16, "bits", size=15, bold=True)
    drawing.text(400, 16, "range: what the exponent bits buy", size=15, fill="exponent-text", bold=True)
    drawing.text(740, 16, "values: what the mantissa bits buy", size=15, fill="mantissa-text", bold=True)
    groups = [
        _group(drawing, index, one, (-6, 50 + _ROW * index, WIDE + 12, _ROW - 2)) for index, one in enumerate(formats)
    ]
    over = drawing.group(pointer_events="none")  # a click goes to the row below
    bars = RangeBars(over, _axis(formats, value, 5), 400, 690)
    bars.decades(top, bottom)
    _ruler_axis(over, 740, WIDE - 4, top, bottom, end)
    place = _place(value)
    for index, (one, group) in enumerate(zip(formats, groups, strict=True)):
        middle = 50 + _ROW * index + _ROW / 2
        _name(group, middle - 2, one, 180, is_first=index == 0)
        group.code(190, middle + 4, _strip(one), size=13)
        bars.bar(range_of(one), middle, 20, index == 0, None if place is None else bars.x(place))
        _marks(over, ruler(one, end), 740, WIDE - 4, middle)
    if place is not None:
        _number(over, bars.x(place), top, bottom)
        if not value.negative and place <= end:
            _number(over, 740 + (WIDE - 744) * 2 ** (place - end), top, bottom)
    return drawing


def narrow(fmt: Format, others: Sequence[Format], value: Value) -> Drawing:
    """Return the picture for a telephone: name and bits of a format above its range and its values."""
    formats, end = (fmt, *others), ruler_end(fmt)
    step, top = 62, 36
    bottom = top + 4 + step * len(formats)
    drawing = Drawing(NARROW, bottom + 4, _label(formats))
    drawing.text(0, 14, "range", size=13, fill="exponent-text", bold=True)
    drawing.text(190, 14, "values", size=13, fill="mantissa-text", bold=True)
    bars = RangeBars(drawing, _axis(formats, value, 3), 8, 166, size=12)
    bars.decades(top, bottom)
    _ruler_axis(drawing, 190, NARROW - 2, top, bottom, end)
    place = _place(value)
    for index, one in enumerate(formats):
        middle = top + 46 + step * index
        bars.bar(range_of(one), middle, 17, False, None if place is None else bars.x(place))
        _marks(drawing, ruler(one, end), 190, NARROW - 2, middle)
    if place is not None:
        _number(drawing, bars.x(place), top, bottom)
        if not value.negative and place <= end:
            _number(drawing, 190 + (NARROW - 192) * 2 ** (place - end), top, bottom)
    for index, one in enumerate(formats):  # names stand on top of the lines
        base, is_first = top + 4 + step * index, index == 0
        group = _group(drawing, index, one, (0, base, NARROW, 26))
        text = _cut(one.name, 190, 13)
        group.text(2, base + 18, text, size=13, mono=True, bold=is_first, fill="accent" if is_first else "text")
        group.code(NARROW - 2, base + 18, _strip(one), size=11.5, anchor="end")
    return drawing
