"""Which elements round beyond the range of a format, by any rounding."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .._float_mode import default_mode
from ..arrays.libraries import array_kind, namespace
from ..backends.array_api.cast import Library
from ..backends.array_api.rounding import random_numbers
from ..ops.cast import cast
from ..spec.formats import FLOAT64, Format, as_format
from ..spec.memo import CACHED
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    Rounding,
    RoundingName,
    RoundingOptions,
    Stream,
    check_rounding,
    check_stream,
)
from ..spec.scalar_arguments import as_flag
from .error_stats import is_within

__all__ = ["count_rounded_beyond", "random_numbers_of", "rounded_range", "saturates"]


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


@default_mode
def saturates(
    x: Array,
    fmt: object,
    scale: Any = 1.0,
    zero_point: Any = 0,
    *,
    precision: object = "float32",
    symmetric: bool = False,
    rounding: RoundingName = "nearest_even",
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Array:
    """Return which finite elements round, over their scale, to something beyond the range of a format.

    That is so whatever becomes of them there: the largest value, Inf or NaN. Ties go where they would if the range
    went on.

    Parameters
    ----------
    x : numpy.ndarray
        Floats of up to 64 bits.
    fmt : str, int, dtype or Format
        An integer, or a float that has a zero.
    scale : array or number
        Of each element, of a shape that spreads to that of `x`. Where it is NaN, nothing saturates.
    zero_point : array or number
        What is added to the rounded quotient; for integers.
    precision : str, int, dtype or Format, optional
        The float in which the quotient is rounded once, as by `quantize_linear`; float64 divides exactly by powers of
        two.
    symmetric : bool
        For signed integers: the range ends at minus the largest value, as that of MXINT8 does.
    rounding, seed, random_bits, offset
        As in `cast`, for floats and symmetric integers; other integers are rounded to nearest even.

    Returns
    -------
    numpy.ndarray
        Booleans in the shape of `x`.

    Raises
    ------
    TypeError
        If `x` is no NumPy array.
    ValueError
        If `fmt` is no such format, or a parameter is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([6.9, 7.0, -8.0, np.inf])
    >>> saturates(x, "float4_e2m1fn").tolist()  # 6 is the largest value, 8 would be the next
    [False, True, True, False]
    >>> saturates(x, "float4_e2m1fn", rounding="toward_zero").tolist()
    [False, False, True, False]
    >>> saturates(x, "int4", 0.5, 3).tolist()
    [True, True, True, False]
    """
    if namespace(x) is not np:
        raise TypeError(f"`x` must be a NumPy array; got {array_kind(namespace(x))}: pass `lp.to_numpy(x)`")
    row = as_format(fmt)
    if not (row.is_integer or (row.is_float and row.has_zero)):
        raise ValueError(f"`fmt` must be an integer or a float that has a zero; got {row.name}")
    is_symmetric = as_flag(symmetric, "symmetric")
    if is_symmetric and not (row.is_integer and row.signed):
        raise ValueError(f"`symmetric` must be False unless `fmt` is a signed integer; got True for {row.name}")
    values, rounded_to = np.asarray(cast(x, FLOAT64)), as_format(precision, parameter="precision")
    if not rounded_to.is_float:
        raise ValueError(f"`precision` must be a float format; got {rounded_to.name}")
    with np.errstate(all="ignore"):
        quotient = values / np.asarray(scale, np.float64)
    if rounded_to != FLOAT64:
        quotient = np.asarray(cast(cast(quotient, rounded_to), FLOAT64))
    stream = check_stream(rounding, seed, random_bits, offset)
    options = RoundingOptions(rounding, "sat_finite", None, DEFAULT_RANDOM_BITS if stream is None else random_bits)
    rules = check_rounding(options, FLOAT64 if row.is_integer else row, "fmt")
    random = None if stream is None else random_numbers_of(rules, stream, x.size).reshape(x.shape)
    beyond = _beyond(quotient, row, zero_point, rules, random, is_symmetric)
    return np.asarray(beyond & np.isfinite(values))


def _beyond(
    quotient: Array, fmt: Format, zero_point: Any, rules: Rounding, random: Array | None, symmetric: bool
) -> Array:
    if not fmt.is_integer:
        return rounds_beyond(quotient, fmt, rules, random)
    if symmetric:
        return reaches_next(np.abs(quotient), np.signbit(quotient), int(fmt.max), rules, random)
    with np.errstate(invalid="ignore"):
        whole = np.rint(quotient) + zero_point
    return np.asarray((whole < fmt.min) | (whole > fmt.max))
