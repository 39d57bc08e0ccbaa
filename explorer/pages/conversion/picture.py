"""The picture of Cast & BitCast: the source code, the rule that decides, and the target code, one below the other."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from ...shared.drawing import MARGIN, bit_boxes, draw, text_width
from ...shared.numbers import apart, code_text, digits_of, short
from .chain_view import Chain, DoubleRounding, Scale
from .packing_view import PackedByte, Packing
from .view import Conversion, loss_text

__all__ = ["cast_chain", "cast_steps", "packed_bytes"]


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
    return draw("pages/conversion/cast_steps", width, 332, dark, rows=rows, rule=conversion.rule, loss=loss)


_BAR = 760.0
_SENTENCE = 84
"""Characters in a line of the sentence."""

_LINE = 18
_SIZE = 13


@dataclass(frozen=True, slots=True)
class _Label:
    """A text, its middle and its line in pixels; `kind` is x, result (in a box `width` wide) or nothing."""

    text: str
    x: float
    y: float
    kind: str
    width: float


@dataclass(frozen=True, slots=True)
class _Bar:
    """A bar with its marks in pixels."""

    name: str
    step: str
    y: float
    ticks: tuple[float, ...]
    x: float | None
    rounded: float | None
    midpoint: float | None
    labels: tuple[_Label, ...]


def cast_chain(chain: Chain, dark: bool = False) -> str:
    """Return the picture of a chain that has a drawing; ValueError where it has none."""
    drawn = chain.picture
    if drawn is None:
        raise ValueError("the chain has no drawing: no step of it rounds a number between values of the last format")
    lines = textwrap.wrap(chain.sentence, _SENTENCE)
    top = 32 + _LINE * len(lines) + 58
    above = _bar(drawn.above, top, [*_x_label(drawn, drawn.above, top), *_tick_labels(drawn.above, top)])
    beam_top = max(label.y for label in above.labels) + 14
    beam_bottom = beam_top + 40
    low = beam_bottom + 62
    below = _bar(drawn.below, low, [*_x_label(drawn, drawn.below, low), *_lower_labels(drawn, low)])
    legend = [("circle", drawn.name, drawn.x), ("diamond", f"after {drawn.below.format.name}", drawn.rounded)]
    if drawn.midpoint is not None:
        legend.append(("tie", f"midpoint of {drawn.above.format.name}", drawn.midpoint))
    texts = [(mark, name, short(value, 60, 17)) for mark, name, value in legend]
    start = low + 92
    height = start + _LINE * len(texts) + MARGIN
    left, right = drawn.above.window
    beam = (_place(max(left - 0.3, 0)), _place(min(right + 0.3, 100)), *map(_place, reversed(drawn.below.window)))
    width = max(_BAR, *(text_width(len(name) + 2 + len(text), _SIZE) + 24 for _, name, text in texts)) + 2 * MARGIN
    names = " to ".join(fmt.name for fmt in (chain.direct.source, *(step.target for step in chain.steps)))
    values = {"lines": lines, "bars": (above, below), "beam": beam, "beam_top": beam_top, "beam_bottom": beam_bottom}
    return draw(
        "pages/conversion/cast_chain",
        width,
        height,
        dark,
        title=names,
        bar=_BAR,
        line=_LINE,
        legend=texts,
        start=start,
        **values,
    )


def _place(percent: float) -> float:
    return MARGIN + percent / 100 * _BAR


def _label(text: str, percent: float, y: float, kind: str = "") -> _Label:
    """Return a label centred at a place of the bar, or as near as it is inside the picture."""
    half = text_width(len(text) + (kind == "result"), _SIZE) / 2
    x = min(max(_place(percent), MARGIN + half), MARGIN + _BAR - half)
    return _Label(text, x, y, kind, 2 * half)


def _x_label(drawn: DoubleRounding, scale: Scale, y: float) -> list[_Label]:
    return [] if scale.x is None else [_label(drawn.name, scale.x, y - 20, "x")]


def _tick_labels(scale: Scale, y: float) -> list[_Label]:
    """Return value, code and what becomes it below each tick, in rows.

    Every second tick is one row lower where there are many, and each as many rows as it takes to be free of others.
    """
    labels: list[_Label] = []
    deepest = max(len(tick.names) for tick in scale.ticks) + 2
    taken: dict[int, list[tuple[float, float]]] = {}
    for index, tick in enumerate(scale.ticks):
        # Two long descriptions do not fit; the sentence names them.
        fitting = [name if text_width(len(name), _SIZE) <= _BAR else "through others" for name in tick.names]
        texts = [apart(tick.value, scale.format), code_text(tick.code, scale.format), *fitting]
        placed = [
            _label(text, tick.place, y + 32 + _LINE * line, "result" if line > 1 else "")
            for line, text in enumerate(texts)
        ]
        left = min(label.x - label.width / 2 for label in placed)
        right = max(label.x + label.width / 2 for label in placed)
        row = int(index % 2 and len(scale.ticks) > 2)
        while any(left < end and start < right for start, end in taken.get(row, [])):
            row += 1
        taken.setdefault(row, []).append((left, right))
        labels += [replace(label, y=label.y + (_LINE * deepest + 6) * row) for label in placed]
    return labels


def _lower_labels(drawn: DoubleRounding, y: float) -> list[_Label]:
    below = drawn.below
    found = [] if below.rounded is None else [_label(f"after {below.format.name}", below.rounded, y + 34)]
    if below.midpoint is not None:
        found.append(_label(f"midpoint of {drawn.above.format.name}", below.midpoint, y + 34 + _LINE))
    return found


def _bar(scale: Scale, y: float, labels: list[_Label]) -> _Bar:
    x, rounded, midpoint = (
        None if place is None else _place(place) for place in (scale.x, scale.rounded, scale.midpoint)
    )
    ticks = tuple(_place(tick.place) for tick in scale.ticks)
    return _Bar(scale.format.name, f", steps of {scale.step}", y, ticks, x, rounded, midpoint, tuple(labels))


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
    chip = text_width(bits + 4, 14) + 14
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
    width = max(*widths, text_width(len(title), 17)) + 2 * MARGIN
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
