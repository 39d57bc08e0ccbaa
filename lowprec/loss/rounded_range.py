"""Which values round beyond the ends of a float format's range, by the rounding rules beyond ONNX."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..arrays.libraries import namespace
from ..backends.array_api_random import random_numbers
from ..backends.array_api_values import Library
from ..spec.formats import Format
from ..spec.interned import CACHED
from ..spec.rounding_rules import Rounding, Stream
from .error_stats import is_within

__all__ = ["count_rounded_beyond", "random_numbers_of", "reaches_next", "rounded_range", "rounds_beyond"]

Array = np.ndarray[Any, Any]
_NUMPY = Library(namespace(np.empty(0)), "cpu")


class _Step(NamedTuple):
    """Two neighbours: the lower magnitude, the distance to the next one, and whether the lower one's code is odd."""

    lower: float
    size: float
    odd: bool


def _top(fmt: Format) -> _Step:
    """Return the step from the largest value to what would come next."""
    return _Step(float(fmt.max), math.ldexp(1.0, fmt.emax - fmt.mantissa_bits), bool(fmt.max_code & 1))


def _reached(magnitude: Array, negative: Array, step: _Step, rounding: Rounding, random: Array | None) -> Array:
    """Return which magnitudes, float64, round to the end of a step or beyond it."""
    part = (magnitude - step.lower) / step.size  # 0 at the lower neighbour and 1 at the upper one, exact in between
    mode, bits = rounding.mode, rounding.random_bits
    if random is not None:  # doubled, so that the half of stochastic_b is whole
        drawn = {
            "stochastic_a": 2 * np.floor(np.ldexp(part, bits)),
            "stochastic_b": np.floor(np.ldexp(part, bits + 1)) + 1,
            "stochastic_c": 2 * np.rint(np.ldexp(part, bits)),
        }[mode]
        return np.asarray(drawn + 2 * random >= 2.0 ** (bits + 1))
    if mode == "toward_positive":
        return np.where(negative, part >= 1, part > 0)
    if mode == "toward_negative":
        return np.where(negative, part > 0, part >= 1)
    up_from = {
        "nearest_even": part >= 0.5 if step.odd else part > 0.5,
        "nearest_away": part >= 0.5,
        "nearest_zero": part > 0.5,
        "toward_zero": part >= 1,
        "away_from_zero": part > 0,
        "to_odd": part >= 1 if step.odd else part > 0,
    }
    return np.asarray(up_from[mode])


def count_rounded_beyond(
    values: Array, fmt: Format, rounding: Rounding, random: Array | None = None, *, peak: float = math.inf
) -> int:
    """Return how many finite values round beyond the ends of the range of a float format.

    A format without a sign ends at its zero, one without a zero at its smallest value.

    Parameters
    ----------
    values : numpy.ndarray
        Floats.
    fmt, rounding : Format, Rounding
        The target and its rules.
    random : numpy.ndarray, optional
        The random numbers of the values, of the same shape, where the rounding is stochastic.
    peak : float
        The largest finite magnitude, where it is known.
    """
    if is_within(fmt, peak):  # the common case, without a mask
        return 0
    with np.errstate(all="ignore"):
        return int(np.count_nonzero(rounds_beyond(values, fmt, rounding, random) & np.isfinite(values)))


def rounds_beyond(values: Array, fmt: Format, rounding: Rounding, random: Array | None = None) -> Array:
    """Return which values round beyond the ends of the range of a float format; as `count_rounded_beyond` counts."""
    with np.errstate(all="ignore"):
        wide = values.astype(np.float64)
        magnitude, negative = np.abs(wide), np.signbit(wide) & fmt.has_zero  # without a zero signs are ignored
        numbers = None if random is None else random.astype(np.float64)
        beyond = _reached(magnitude, negative, _top(fmt), rounding, numbers)
        smallest = float(fmt.smallest_subnormal)
        if not fmt.has_zero:
            below = _Step(smallest / 2, smallest / 2, True)  # the code before 0 is odd
            beyond |= ~_reached(magnitude, negative, below, rounding, numbers)
        elif not fmt.signed:
            beyond |= negative & _reached(magnitude, negative, _Step(0.0, smallest, False), rounding, numbers)
        return beyond


def reaches_next(magnitude: Array, negative: Array, largest: int, rounding: Rounding, random: Array | None) -> Array:
    """Return which magnitudes round to more than an integer; as `rounds_beyond`, for integers with a sign apart."""
    with np.errstate(all="ignore"):
        return _reached(magnitude, negative, _Step(float(largest), 1.0, bool(largest & 1)), rounding, random)


def random_numbers_of(rounding: Rounding, stream: Stream, n: int) -> Array:
    """Return the random numbers of elements that follow each other, for `count_rounded_beyond`."""
    return np.asarray(random_numbers(stream, rounding.random_bits, (n,), _NUMPY))


@lru_cache(maxsize=CACHED)
def rounded_range(fmt: Format, rounding: Rounding) -> tuple[float, float]:
    """Return the least and the greatest float32 that a deterministic rounding keeps in the range of a signed format."""
    step = _top(fmt)
    tie, after = np.float32(step.lower + step.size / 2), np.float32(step.lower + step.size)
    edges = np.array(
        [step.lower, np.nextafter(tie, np.float32(0)), tie, np.nextafter(after, np.float32(0))], np.float32
    )
    low, high = (
        edges[~_reached(edges.astype(np.float64), np.full(edges.shape, negative), step, rounding, None)].max()
        for negative in (True, False)
    )
    return -float(low), float(high)
