"""The picture of Cast & BitCast: the source code, the rule that decides, and the target code, one below the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from lowprec import Format
from lowprec.reference.exact_cast import Value

from ...shared.cast_options import ONNX
from ...shared.codes import fields
from ...shared.numbers import code_text, digits_of, short
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, fitted, text_width
from .chain_view import DoubleRounding, Route, Scale
from .packing_view import PackedByte, Packing
from .view import Conversion, loss_text

__all__ = ["cast_steps", "chain_rows", "packed_bytes", "rounding_words"]

Stop = tuple[Format, int, Value]


def cast_steps(conversion: Conversion, *, wide: bool = True) -> Drawing:
    """Return the picture of a Cast: the code, the rule that decides, the code that it becomes."""
    ends = (
        (conversion.source, conversion.code, conversion.value),
        (conversion.target, conversion.result, conversion.result_value),
    )
    width = WIDE if wide else NARROW
    texts = [f"{fmt.name} {code_text(code, fmt)} = {_told_exactly(value, fmt)}" for fmt, code, value in ends]
    loss = loss_text(conversion)
    drawing = Drawing(width, 400, f"{texts[0]} becomes {texts[1]}: {conversion.rule}; {loss}")
    y = 20.0
    for index, ((fmt, code, _), text) in enumerate(zip(ends, texts, strict=True)):
        shown, size = fitted(text, width, 16 if wide else 14, 10)
        drawing.text(0, y, shown, size=size, bold=True, mono=True)
        y = _bit_rows(drawing, code, fmt, y + 12, wide) + 14
        if not index:
            drawing.arrow(f"M10 {y - 4:.1f}L", (10, y + 36), (0, 1))
            rule, size = fitted(conversion.rule, width - 30, 15, 10, mono=False)
            drawing.text(30, y + 22, rule, size=size, fill="accent")
            y += 64
    if loss:
        text, size = fitted(loss, width, 14, 10, mono=False)
        drawing.text(0, y + 8, text, size=size, fill="quiet")
        y += 16
    drawing.resize(y)
    return drawing


def _told_exactly(value: Value, fmt: Format) -> str:
    text = short(value, 26, digits_of(fmt))
    return text.replace("-", "−").replace("nan", "NaN").replace("inf", "Inf")


def _bit_rows(drawing: Drawing, code: int, fmt: Format, y: float, wide: bool) -> float:
    """Draw the bits of a code, in rows where they are many; return the bottom."""
    across = 64 if wide else 16
    box = min(36.0, (drawing.width - 24) / min(fmt.bits, across))
    places = [
        (field.name, field.label, place) for field in fields(code, fmt) for place in range(field.first, field.last)
    ]
    bits = f"{code:0{fmt.bits}b}"
    for first in range(0, fmt.bits, across):
        row = [
            (name, label, "".join(bits[place] for *_, place in run))
            for (name, label), run in groupby(places[first : first + across], key=lambda one: one[:2])
        ]
        strips = [(name, text) for name, _, text in row]
        labels = ["" if len(text) * box < text_width(label, 12.5) else label for _, label, text in row]
        drawing.bits(
            0, y, strips, box=box, height=min(34, box * 1.3), size=min(18, box * 0.62), labels=labels, first=first,
            total=fmt.bits,
        )  # fmt: skip
        y += min(34, box * 1.3) + 26
    return y


_Labels = list[tuple[float, list[tuple[str, str]]]]
"""Labels of a bar: the place of each and its lines, (text, kind); kind is bold, result or nothing."""

_LINE, _SIZE = 19.0, 14.0
_RESULT = 52.0


def chain_rows(
    source: Stop, routes: Sequence[Route], drawn: DoubleRounding | None, sentence: str, wide: bool = True
) -> Drawing:
    """Return each way to the last format with its result, and the step that decides on bars of values."""
    width = WIDE if wide else NARROW
    rows, below = (34 + len(routes) * (_RESULT if wide else 62.0) if len(routes) > 1 else 58.0), 0.0
    drawing = Drawing(width, rows, sentence)
    _stop(drawing, source, 18, "x = ", wide)
    if len(routes) == 1:
        _stop(drawing, routes[0].stops[-1], 50, "  → ", wide)
    else:
        for index, one in enumerate(routes):
            _route(drawing, one, 34 + index * (_RESULT if wide else 62.0), wide)
    if drawn is not None:
        below = _bars(drawing, drawn, rows + 24, wide)
    drawing.resize(rows + below)
    return drawing


def _told(value: Value, room: int) -> str:
    text = {"nan": "NaN", "inf": "Inf"}.get(value.special) or short(value, room, room - 6)
    return ("−" if value.negative and value.special == "inf" else "") + text.replace("-", "−")


def _strip(drawing: Shapes, x: float, y: float, fmt: Format, code: int) -> float:
    """Draw a code, as fields where it is short; return its right edge."""
    if fmt.bits <= 16:
        return drawing.code(x, y, [(field.name, field.bits) for field in fields(code, fmt)], size=13)
    text = code_text(code, fmt)
    drawing.text(x, y, text, size=13, fill="quiet", mono=True)
    return x + text_width(text, 13, mono=True)


def _stop(drawing: Drawing, stop: Stop, y: float, before: str, wide: bool) -> None:
    """Write a value after what stands `before` it, and where there is room its format and code."""
    fmt, code, value = stop
    text, size = f"{before}{_told(value, 30 if wide else 18)}", 17 if wide else 15
    fill = "accent" if before.strip() != "→" else "text"
    drawing.text(0, y, text, size=size, fill=fill, bold=True, mono=True, xml_space="preserve")
    end = text_width(text, size, mono=True) + 18
    if wide:
        drawing.text(end, y, fmt.name, size=15, fill="quiet")
        _strip(drawing, end + text_width(fmt.name, 15) + 18, y, fmt, code)
    elif end + text_width(code_text(code, fmt), 13, mono=True) < drawing.width:
        drawing.text(end - 6, y, code_text(code, fmt), size=13, fill="quiet", mono=True)


def _route(drawing: Drawing, one: Route, y: float, wide: bool) -> None:
    """Draw a way: its name, the value in each format on it, the code it ends with, and whether directly differs."""
    words = one.words
    label = f"{one.name}{', ' * bool(words)}{words}: {_told(one.stops[-1][2], 24)}"
    row = drawing.group(label=label, set=f"between={one.choice}" if one.choice else None)
    row.rect(0, y, drawing.width, (_RESULT if wide else 62) - 4, "soft" if one.is_chosen else "page", radius=6)
    row.text(10, y + (20 if wide else 19), one.name, size=15, bold=True)
    if words and wide:
        row.text(10, y + 39, words, size=14, fill="quiet")
    elif words:
        row.text(10 + text_width(one.name, 15) + 8, y + 19, words, size=13, fill="quiet")
    x, base = (270.0, y + 30) if wide else (10.0, y + 44)
    size, room = (16.0, 16) if wide else (13.0, 12)
    for fmt, _, value in one.stops[:-1]:
        text = _told(value, room)
        row.text(x, base, text, size=size, mono=True)
        if wide:
            row.text(x, y + 14, fmt.name if len(fmt.name) < 24 else "", size=12, fill="quiet")
        x += text_width(text, size, mono=True) + 10
        row.text(x, base, "→", size=size, fill="quiet")
        x += 26
    fmt, code, value = one.stops[-1]
    x = max(x, 620.0) if wide else x
    if wide:
        row.text(x, y + 14, fmt.name, size=12, fill="quiet")
    text = _told(value, room)
    row.text(x, base, text, size=size, bold=True, mono=True)
    x += text_width(text, size, mono=True) + 12
    if wide:
        _strip(row, max(x, 780.0), base, fmt, code)
    else:
        row.text(x, base, code_text(code, fmt), size=12, fill="quiet", mono=True)
    if one.differs is not None:
        word, kind = ("differs", "nan") if one.differs else ("the same", "zero")
        row.badge(drawing.width - 50, base if wide else y + 19, word, kind, size=14 if wide else 12.5)


def rounding_words(rounding: str) -> str:
    """Return how the casts between round, in words."""
    return "" if not rounding else "by ONNX's Cast" if rounding == ONNX else rounding.replace("_", " ")


def _bars(drawing: Drawing, drawn: DoubleRounding, top: float, wide: bool) -> float:
    """Draw the values of the last format, and enlarged those of the format between; return the height."""
    start = top - 24
    above, below = drawn.above, drawn.below
    _name(drawing, above, top + 10)
    lines: _Labels = [
        (tick.place, [(_told(tick.value, 20 if wide else 12), "bold"), (code_text(tick.code, above.format), ""),
                      *((name if text_width(name, _SIZE) < drawing.width / 3 else "through others", "result")
                        for name in tick.names)])
        for tick in above.ticks
    ]  # fmt: skip
    end = _bar(drawing, above, top + 56, f"{drawn.name} = {_told(drawn.x, 14)}", lines)
    if below is None or drawn.rounded is None:
        return end - start + 8
    left, right = (_place(drawing, place) for place in above.window)
    low = end + 44
    ends = [_place(drawing, place) for place in below.window]
    drawing.path(
        f"M{left - 3:.1f} {end + 2:.1f}L{right + 3:.1f} {end + 2:.1f}L{ends[1]:.1f} {low:.1f}L{ends[0]:.1f} {low:.1f}z",
        fill="held",
    )
    _name(drawing, below, low + 22)
    marks: _Labels = []
    if below.rounded is not None:
        marks.append((below.rounded, [(f"x in {below.format.name}: {_told(drawn.rounded, 14)}", "bold")]))
    if below.midpoint is not None:
        marks.append((below.midpoint, [(f"midpoint of {above.format.name}", "")]))
    end = _bar(drawing, below, low + 68, f"{drawn.name} = {_told(drawn.x, 14)}", marks)
    return end - start + 8


def _name(drawing: Drawing, scale: Scale, y: float) -> None:
    name, step = scale.format.name, scale.step.replace("-", "−")
    drawing.text(0, y, name, size=15, bold=True)
    drawing.text(text_width(name, 15) * 1.08 + 12, y, f"steps of {step}", size=14, fill="quiet")


def _place(drawing: Drawing, percent: float) -> float:
    return percent / 100 * drawing.width


def _bar(drawing: Drawing, scale: Scale, y: float, name: str, labels: _Labels) -> float:
    """Draw a bar with its marks and labels, each led to its mark by a line; return where the labels end."""
    rows: list[float] = []  # where the labels of each row end
    placed = []
    for place, lines in sorted(labels, key=lambda label: label[0]):
        x = _place(drawing, place)
        half = max(text_width(text, _SIZE, mono=kind != "result") for text, kind in lines) / 2 + 10
        middle = min(max(x, half), drawing.width - half)
        row = next((index for index, last in enumerate(rows) if last <= middle - half), len(rows))
        rows[row : row + 1] = [middle + half]
        placed.append((x, middle, half, row, lines))
    deep = max((len(lines) for _, lines in labels), default=0) * _LINE + 12
    for x, middle, _, row, _ in sorted(placed, key=lambda one: -one[3]):
        drawing.line(x, y, middle, y + 18 + row * deep, "line", width=1.5)
    for _, middle, half, row, lines in placed:
        top = y + 18 + row * deep
        drawing.rect(middle - half + 6, top, 2 * half - 12, len(lines) * _LINE + 2, "page")
        for index, (text, kind) in enumerate(lines):
            base = top + 15 + index * _LINE
            if kind == "result":
                drawing.badge(middle, base, text, "mantissa", size=12.5)
            else:
                drawing.text(middle, base, text, size=_SIZE, anchor="middle", bold=kind == "bold", mono=True,
                             fill="text" if kind == "bold" else "quiet")  # fmt: skip
    drawing.rect(0, y - 3, drawing.width, 6, "line", radius=3)
    if scale.midpoint is not None:
        x = _place(drawing, scale.midpoint)
        drawing.line(x, y - 16, x, y + 16, "text", width=2, dashed=True)
    for tick in scale.ticks:
        x = _place(drawing, tick.place)
        drawing.line(x, y - 11, x, y + 11, "text", width=3)
    results = [tick.place for tick in scale.ticks if tick.names]
    if scale.x is not None and len(results) == 1 and abs(_place(drawing, scale.x - results[0])) > 24:
        x, end = _place(drawing, scale.x), _place(drawing, results[0])
        side = 1 if end > x else -1
        drawing.arrow(f"M{x:.1f} {y}L", (end - 2.0 * side, float(y)), (side, 0), width=3)
    if scale.rounded is not None and labels and scale.rounded != scale.x:
        x = _place(drawing, scale.rounded)
        drawing.path(f"M{x:.1f} {y - 9:.1f}l9 9l-9 9l-9 -9z", fill="text")
    if scale.x is not None:
        x, half = _place(drawing, scale.x), text_width(name, _SIZE, mono=True) / 2
        drawing.circle(x, y, 6, "page", stroke="accent", stroke_width=4)
        middle = min(max(x, half), drawing.width - half)
        drawing.text(middle, y - 20, name, size=_SIZE, fill="accent", anchor="middle", bold=True, mono=True)
    return y + 18 + len(rows) * deep


_COLOURS = ("exponent", "mantissa", "sign", "subnormal")  # neighbouring codes differ: 6 bits need four


def _colour(index: int | None) -> str:
    return "zero" if index is None else _COLOURS[index % len(_COLOURS)]


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def packed_bytes(packing: Packing, *, wide: bool = True) -> Drawing:
    """Return the picture of packed codes: a chip for each, below them the bytes, each bit in the colour of its code."""
    width, across, bit = (WIDE, 5, 25.0) if wide else (NARROW, 2, 20.0)
    codes, count = packing.codes, packing.format.bits
    title = f"{_counted(len(codes), 'code')} of {packing.format.name} in {_counted(len(packing.bytes), 'byte')}"
    drawing = Drawing(width, 100, f"{title}; the first code takes the lowest bits")
    drawing.text(0, 18, title, size=16 if wide else 14, bold=True)
    x, y = 0.0, 34.0
    for index, code in enumerate(codes):
        text = f"{index}: {code:0{count}b}"
        room = text_width(text, 14, mono=True) + 12
        if x + room > width:
            x, y = 0.0, y + 30
        drawing.rect(x, y, room - 4, 24, _colour(index), radius=4)
        drawing.text(x + 4, y + 17, text, size=14, fill=f"{_colour(index)}-text", mono=True)
        x += room
    y += 44
    for index, byte in enumerate(packing.bytes):
        left, top = index % across * (width / across), y + index // across * 84
        _packed_byte(drawing, byte, left, top, bit)
        name = f"byte {index} = 0x{byte.value:02X}"
        drawing.text(left + 4 * bit, top + 66, name, size=14, anchor="middle", mono=True)
    drawing.resize(y + -(-len(packing.bytes) // across) * 84)
    return drawing


def _packed_byte(drawing: Drawing, byte: PackedByte, x: float, y: float, bit: float) -> None:
    for run in byte.runs:
        kind, end = _colour(run.code_index), x + bit * len(run.bits)
        for place, digit in enumerate(run.bits):
            drawing.rect(x + bit * place + 1, y, bit - 2, 28, kind, radius=3)
            drawing.text(
                x + bit * (place + 0.5), y + 20, digit, size=16, fill=f"{kind}-text", anchor="middle", mono=True
            )
        drawing.rect(x + 1, y + 31, end - x - 2, 3, f"{kind}-text")
        owner = "–" if run.code_index is None else str(run.code_index)
        drawing.text((x + end) / 2, y + 48, owner, size=12, fill=f"{kind}-text", anchor="middle", mono=True)
        x = end
