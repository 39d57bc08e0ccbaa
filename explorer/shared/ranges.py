"""The ranges of formats as places on one axis: base-2 logarithms, round decades, and what stands in a bar."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from lowprec import Format, reference, teaching

from .numbers import short

__all__ = ["Axis", "Range", "axis_of", "minus", "range_of"]

_DECADE = math.log2(10)
_STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)
_WIDEST = 64
"""Binades of a format that decides how far the axis reaches; wider ones go beyond its ends."""

_MARGIN = 1.5
"""Binades beyond the outermost value."""


@dataclass(frozen=True, slots=True)
class Range:
    """The positive range of a format: log2 of its smallest, smallest normal and largest value, and two texts."""

    format: Format
    smallest: float
    normal: float
    largest: float
    end: str
    reach: str


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis of powers of two from `low` to `high`, and its round decades as (place, text)."""

    low: float
    high: float
    decades: tuple[tuple[float, str], ...]

    def share(self, place: float) -> float:
        """Return where a place lies: 0 at the lower end, 1 at the higher one, within these."""
        return min(max((place - self.low) / (self.high - self.low), 0.0), 1.0)


def minus(text: str) -> str:
    """Return a number's text with the sign that is shown."""
    return text.replace("-", "−")


@functools.cache
def range_of(fmt: Format) -> Range:
    """Return the positive range of a float or an integer."""
    facts = teaching.format_facts(fmt)
    normal = facts.smallest_normal or facts.largest
    smallest, normal_end, largest = (reference.log2(value) for value in (facts.smallest, normal, facts.largest))
    reach = f"≈{facts.decades:.1f} decades, {facts.decibels:.0f} dB"
    return Range(fmt, smallest, normal_end, largest, minus(short(facts.largest, 8, 2).replace("e+", "e")), reach)


def axis_of(ranges: Sequence[Range], x: float | None, most: int) -> Axis:
    """Return an axis for ranges and the log2 of a number, with at most so many round decades."""
    near = [one for one in ranges if one.largest - one.smallest <= _WIDEST] or ranges
    places = [*(one.smallest for one in near), *(one.largest for one in near), *([] if x is None else [x])]
    low, high = min(places) - _MARGIN, max(places) + _MARGIN
    first, last = math.ceil(low / _DECADE), math.floor(high / _DECADE)
    step = next(step for step in _STEPS if last // step - (first - 1) // step <= most)
    exponents = range(-(-first // step) * step, last + 1, step)
    return Axis(low, high, tuple((exponent * _DECADE, _decade(exponent)) for exponent in exponents))


def _decade(exponent: int) -> str:
    plain = {-2: "0.01", -1: "0.1", 0: "1", 1: "10", 2: "100"}
    return plain.get(exponent) or minus(f"10^{exponent}")
