"""The picture of a chain of casts: the step that decides, at the scale of the last format and of the one between."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, replace

from ..views.cast_chain import Chain, DoubleRounding, Scale
from ..views.numbers import apart, code_text, short
from .drawing import MARGIN, draw, text_width

__all__ = ["cast_chain"]

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
        "cast_chain", width, height, dark, title=names, bar=_BAR, line=_LINE, legend=texts, start=start, **values
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
