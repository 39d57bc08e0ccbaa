"""The picture of Cast & BitCast: the source code, the rule that decides, and the target code, one below the other."""

from __future__ import annotations

from collections.abc import Sequence

from lowprec import Format
from lowprec.reference.exact_cast import Value

from ...shared import drawing as framed
from ...shared.cast_options import ONNX
from ...shared.codes import fields
from ...shared.drawing import MARGIN, bit_boxes, draw
from ...shared.numbers import code_text, digits_of, short
from ...shared.svg import NARROW, WIDE, Drawing, Shapes, text_width
from .chain_view import DoubleRounding, Route, Scale
from .packing_view import PackedByte, Packing
from .view import Conversion, loss_text

__all__ = ["cast_steps", "chain_rows", "packed_bytes", "rounding_words"]

Stop = tuple[Format, int, Value]


def cast_steps(conversion: Conversion, dark: bool = False) -> str:
    """Return the picture of a Cast."""
    ends = (
        (conversion.source, conversion.code, conversion.value),
        (conversion.target, conversion.result, conversion.result_value),
    )
    rows = [(fmt, code, short(value, 26, digits_of(fmt)), bit_boxes(code, fmt)) for fmt, code, value in ends]
    loss = loss_text(conversion)
    texts = [framed.text_width(len(fmt.name) + fmt.bits // 4 + 10 + len(value), 15) for fmt, _, value, _ in rows]
    texts += [framed.text_width(len(conversion.rule) + 4, 14), framed.text_width(len(loss), 14)]
    width = max(*texts, *(boxes.width for *_, boxes in rows)) + 2 * MARGIN
    return draw("pages/conversion/cast_steps", width, 332, dark, rows=rows, rule=conversion.rule, loss=loss)


_Labels = list[tuple[float, list[tuple[str, str]]]]
"""Labels of a bar: the place of each and its lines, (text, kind); kind is bold, result or nothing."""

_LINE, _SIZE = 19.0, 14.0
_RESULT = 52.0


def chain_rows(
    source: Stop, routes: Sequence[Route], drawn: DoubleRounding | None, sentence: str, wide: bool = True
) -> Drawing:
    """Return each way to the last format with its result, and the step that decides on bars of values."""
    width = WIDE if wide else NARROW
    rows, below = 34 + len(routes) * (_RESULT if wide else 62.0), 0.0
    drawing = Drawing(width, rows, sentence)
    _start(drawing, source, wide)
    for index, one in enumerate(routes):
        _route(drawing, one, 34 + index * (_RESULT if wide else 62.0), len(routes) > 1, wide)
    if drawn is not None:
        below = _bars(drawing, drawn, rows + 24, wide)
    drawing.height = rows + below
    drawing.element.set("viewBox", f"0 0 {width} {drawing.height:.0f}")
    drawing.element.set("height", f"{drawing.height:.0f}")
    next(one for one in drawing.element if one.get("class") == "ground").set("height", f"{drawing.height:.0f}")
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


def _start(drawing: Drawing, source: Stop, wide: bool) -> None:
    fmt, code, value = source
    text = f"x = {_told(value, 30 if wide else 18)}"
    drawing.text(0, 18, text, size=17 if wide else 15, fill="accent", bold=True, mono=True)
    end = text_width(text, 17 if wide else 15, mono=True) + 18
    drawing.text(end, 18, fmt.name if wide else "", size=15, fill="quiet")
    if wide:
        _strip(drawing, end + text_width(fmt.name, 15) + 18, 18, fmt, code)


def _route(drawing: Drawing, one: Route, y: float, compared: bool, wide: bool) -> None:
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
    if compared and one.differs is not None:
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
    if scale.rounded is not None and labels and scale.rounded != scale.x:
        x = _place(drawing, scale.rounded)
        drawing.path(f"M{x:.1f} {y - 9:.1f}l9 9l-9 9l-9 -9z", fill="text")
    if scale.x is not None:
        x, half = _place(drawing, scale.x), text_width(name, _SIZE, mono=True) / 2
        drawing.circle(x, y, 6, "page", stroke="accent", stroke_width=4)
        middle = min(max(x, half), drawing.width - half)
        drawing.text(middle, y - 20, name, size=_SIZE, fill="accent", anchor="middle", bold=True, mono=True)
    return y + 18 + len(rows) * deep


_BIT = 24
_ACROSS = 4  # bytes in a row
_BYTE, _BETWEEN = 8 * _BIT, 22
_ROW = 104
_CHIP_LINE, _FIRST_CHIPS = 30, 58
_COLOURS = ("exponent", "mantissa", "sign", "subnormal")  # neighbouring codes differ: 6 bits need four

_Run = tuple[str, str, float, float, list[tuple[str, float]]]


def _colour(index: int | None) -> str:
    return "zero" if index is None else _COLOURS[index % len(_COLOURS)]


def _runs(byte: PackedByte, x: float) -> list[_Run]:
    """Return owner, colour, left edge, width and bits of the parts of a byte."""
    runs: list[_Run] = []
    for run in byte.runs:
        bits = [(bit, x + place * _BIT) for place, bit in enumerate(run.bits)]
        owner = "–" if run.code_index is None else str(run.code_index)
        runs.append((owner, _colour(run.code_index), x, len(bits) * _BIT, bits))
        x += len(bits) * _BIT
    return runs


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"


def packed_bytes(packing: Packing, dark: bool = False) -> str:
    """Return the picture of packed codes."""
    bits = packing.format.bits
    chip = framed.text_width(bits + 4, 14) + 14
    chips_across = int((_ACROSS * (_BYTE + _BETWEEN) - _BETWEEN) // chip)
    chips = []
    for index, code in enumerate(packing.codes):
        line, place = divmod(index, chips_across)
        at = MARGIN + place * chip, _FIRST_CHIPS + line * _CHIP_LINE
        chips.append((index, f"{code:0{bits}b}", _colour(index), *at))
    top = chips[-1][-1] + 62
    packed = []
    for index, byte in enumerate(packing.bytes):
        line, place = divmod(index, _ACROSS)
        left = MARGIN + place * (_BYTE + _BETWEEN)
        packed.append((f"byte {index} = 0x{byte.value:02X}", left + _BYTE / 2, top + line * _ROW, _runs(byte, left)))
    codes, parts = len(chips), len(packed)
    title = f"{_counted(codes, 'code')} of {packing.format.name} in {_counted(parts, 'byte')}"
    widths = (min(parts, _ACROSS) * (_BYTE + _BETWEEN) - _BETWEEN, min(codes, chips_across) * chip)
    width = max(*widths, framed.text_width(len(title), 17)) + 2 * MARGIN
    height = packed[-1][2] + 78
    return draw(
        "pages/conversion/packed_bytes",
        width,
        height,
        dark,
        title=title,
        chips=chips,
        packed=packed,
        bit=_BIT,
        chip=chip,
    )
