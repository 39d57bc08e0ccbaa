"""Rounding by the rules beyond ONNX in array-API calls: any mode, any overflow, any NaN rule.

A magnitude lies between two neighbours of the target. Its place between them, a fraction from 0 to 1, is exact in
float64, or is rounded to odd so far below that no rule sees it. The mode turns the fraction, the last bit of the lower
neighbour's code, the sign and a random number into 0 or 1, which is added to that code.
"""

from __future__ import annotations

import math
from typing import Any

from ..plans.plan import Plan
from ..spec.formats import Format
from ..spec.rounding_modes import Rounding, Stream
from .array_api_random import random_numbers
from .array_api_values import HALF, LOW, Library, Values, decoded, halves, quanta_of, storage_name

__all__ = ["exact_values", "round_values"]

_DEPTH = 50  # bits of a fraction that are kept, 33 decide; the next one is sticky
_FLOOR = 40  # exponents below the smallest quantum, where every fraction counts as tiny


def exact_values(x: Any, fmt: Format, lib: Library) -> Values:
    """Return what an array holds, without any rounding: 64-bit integers in two parts."""
    if fmt.is_float:
        return decoded(x, fmt, lib)
    high, low = halves(x, fmt, lib)
    if high is None:
        value = lib.reals(low)
        return Values(lib.xp.abs(value), value < 0, None)
    negative = high < 0
    # -(high, low) = (~high, ~low + 1), whose carry reaches the high half only from low = 0
    high = lib.xp.where(negative, -high - lib.integers(low != 0), high)
    low = lib.xp.where(negative, -low & LOW, low)
    return Values(lib.reals(high) * 2.0**HALF, negative, None, lib.reals(low))


def _sticky(fraction: Any, lib: Library) -> Any:
    """Return fractions rounded to odd, of few enough bits to be added to those of the upper part exactly."""
    scaled = fraction * 2.0**_DEPTH
    kept = lib.xp.floor(scaled)
    return lib.xp.where(kept == scaled, fraction, (kept + 0.5) * 2.0**-_DEPTH)


def _lower_neighbour(values: Values, fmt: Format, lib: Library) -> tuple[Any, Any, Any, Any]:
    """Return for finite magnitudes (code, units, quantum, fraction) of the next value that is not above them.

    The value is ``units * quantum``. Beyond the largest value the code is just some larger one; below the smallest
    value of a format without zero it is -1.
    """
    float64, mantissa = lib.xp.float64, fmt.mantissa_bits
    quanta, first = quanta_of(fmt)[1:], 0
    if not fmt.has_zero:  # one power more below, from where numbers round up to the smallest value
        quanta, first = (quanta_of(fmt)[0] / 2, *quanta_of(fmt)), -2
    last = fmt.emax - fmt.emin + (not fmt.has_zero)
    powers = tuple(math.ldexp(quantum, mantissa) for quantum in quanta[: last + 1])
    top = 2 * powers[last] if powers[last] < 2.0**1023 else math.inf

    least = quanta[0] if not fmt.has_zero else math.ldexp(quanta[0], -_FLOOR)
    magnitude, low = values.magnitude, values.low
    outside = magnitude >= top
    magnitude = lib.select(outside, top, magnitude, float64)
    if low is None:
        tiny = magnitude < least if not fmt.has_zero else (magnitude < least) & (magnitude > 0)
        anchor = magnitude = lib.select(tiny, least, magnitude, float64)
    else:
        low = lib.select(outside, 0.0, lib.select(low >= top, top, low, float64), float64)
        if not fmt.has_zero:
            low = lib.select((magnitude == 0) & (low == 0), least, low, float64)
        anchor = lib.xp.where(magnitude > 0, magnitude, low)  # powers above 2**32 are multiples of 2**32
    binade = lib.search(powers[1:], anchor)
    quantum = lib.lookup(quanta, binade)
    quotient = magnitude / quantum
    units = lib.xp.floor(quotient)
    fraction = quotient - units
    if low is not None:  # a multiple of 2**32 is one of the quantum too, or the lower part is below the quantum
        quotient = low / quantum
        whole = lib.xp.floor(quotient)
        units, fraction = units + whole, fraction + _sticky(quotient - whole, lib)
    code = binade * (1 << mantissa) + lib.integers(units) + first
    return code, units, quantum, fraction


def _goes_up(rounding: Rounding, fraction: Any, odd: Any, negative: Any, numbers: Any, lib: Library) -> Any:
    """Return which magnitudes become the upper neighbour."""
    mode, bits = rounding.mode, rounding.random_bits
    if mode == "stochastic_a":
        return lib.xp.floor(fraction * 2.0**bits) + numbers >= 2.0**bits
    if mode == "stochastic_b":
        return lib.xp.floor(fraction * 2.0 ** (bits + 1)) + (2.0 * numbers + 1.0) >= 2.0 ** (bits + 1)
    if mode == "stochastic_c":
        return lib.xp.round(fraction * 2.0**bits) + numbers >= 2.0**bits
    if mode == "nearest_even":
        return (fraction > 0.5) | ((fraction == 0.5) & odd)
    if mode == "nearest_away":
        return fraction >= 0.5
    if mode == "nearest_zero":
        return fraction > 0.5
    inexact = fraction > 0
    if mode == "toward_zero":
        return inexact & ~inexact
    if mode == "away_from_zero":
        return inexact
    if mode == "to_odd":
        return inexact & ~odd
    return inexact & (negative if mode == "toward_negative" else ~negative)


def _value(code: int, fmt: Format) -> float:
    value = fmt.value(code)
    return -math.nan if math.isnan(value) and code & fmt.sign_mask else value


def round_values(values: Values, plan: Plan, stream: Stream | None, lib: Library) -> Any:
    """Return values rounded once, by the rules of a plan: whole codes, or values of the targets beyond 16 bits.

    Parameters
    ----------
    values : Values
        Exact; NaN and Inf become what `plan.limits` says.
    plan : Plan
        Of `Rule.ROUND`.
    stream : Stream or None
        The random numbers, where the mode is stochastic.
    lib : Library
        Where the values are.

    Returns
    -------
    array
        uint8 or uint16 codes, float32 or float64.
    """
    target, rounding, limits = plan.target, plan.rounding, plan.limits
    assert rounding is not None
    assert limits is not None
    xp, int64 = lib.xp, lib.xp.int64
    negative = values.negative
    infinite = values.magnitude == math.inf
    magnitude = lib.select(infinite, 0.0, values.magnitude, xp.float64)
    finite = Values(magnitude, negative, values.nan, values.low)
    code, units, quantum, fraction = _lower_neighbour(finite, target, lib)
    numbers = None
    if stream is not None:
        numbers = lib.reals(random_numbers(stream, rounding.random_bits, tuple(code.shape), lib))
    sign = negative if target.has_zero else negative & ~negative  # powers of two have magnitudes alone
    up = _goes_up(rounding, fraction, code & 1 == 1, sign, numbers, lib)
    code = code + lib.integers(up)

    wide = target.bits > 16
    dtype = getattr(xp, storage_name(target))
    held = dtype if wide else int64

    def limit(codes: tuple[int, int]) -> Any:
        numbers = [_value(code, target) for code in codes] if wide else list(codes)
        return lib.select(negative, numbers[1], numbers[0], held)

    if wide:
        in_range = lib.select(code > target.max_code, 0.0, (units + lib.reals(up)) * quantum, xp.float64)
        result = xp.astype(xp.where(negative, -in_range, in_range), dtype)
    else:
        result = code | lib.select(negative, target.sign_mask, 0, int64)
    over = code > target.max_code
    if target.has_zero and not target.signed:
        over = over | (negative & (code > 0))
    result = xp.where(over, limit(limits.overflow), result)
    result = xp.where(code == 0 if target.has_zero else code < 0, limit(limits.zero), result)
    result = xp.where(infinite, limit(limits.infinity), result)
    if values.nan is not None:
        result = xp.where(values.nan, limit(limits.nan), result)
    return xp.astype(result, dtype, copy=False)
