"""Rounding by any rule beyond ONNX, and its random numbers, in array-API calls."""

from __future__ import annotations

import math
from typing import Any

from ...plans.plan import Plan
from ...spec.formats import Format
from ...spec.rounding_modes import Rounding, Stream, slot_bits
from .cast import HALF, LOW, Library, Values, decoded, halves, quanta_of, storage_name

__all__ = ["exact_values", "random_numbers", "round_values"]


_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_CALL_BITS = 128  # four words
_DIGIT = 16  # 32-bit numbers are multiplied digit by digit


def _product(multiplier: int, word: Any) -> tuple[Any, Any]:
    """Return the high and the low 32 bits of the product of two 32-bit numbers."""
    mask = (1 << _DIGIT) - 1
    low = (word & mask) * multiplier
    upper = (word >> _DIGIT) * multiplier + (low >> _DIGIT)  # below 2**48 + 2**32
    return upper >> _DIGIT, ((upper & mask) << _DIGIT) | (low & mask)


def _words(calls: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return the four words of each call of Philox4x32-10 with the counter (low, high, 0, 0)."""
    words = calls & LOW, calls >> HALF, calls & 0, calls & 0
    keys = [seed & LOW, seed >> HALF]
    for _ in range(_ROUNDS):
        high_0, low_0 = _product(_MULTIPLIERS[0], words[0])
        high_2, low_2 = _product(_MULTIPLIERS[1], words[2])
        words = high_2 ^ words[1] ^ keys[0], low_2, high_0 ^ words[3] ^ keys[1], low_0
        keys = [(key + step) & LOW for key, step in zip(keys, _KEY_STEPS, strict=True)]
    return words


def random_numbers(stream: Stream, bits: int, shape: tuple[int, ...], lib: Library) -> Any:
    """Return the random numbers of an array's elements.

    Parameters
    ----------
    stream : Stream
        The seed, and the place of the first element.
    bits : int
        How many random bits each number has, 1 to 32.
    shape : tuple of int
        The shape of the array; its elements count in C order.
    lib : Library
        Where the numbers are computed.

    Returns
    -------
    array
        int64 of that shape.

    Notes
    -----
    Source: Salmon, Moraes, Dror and Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11); Random123.

    Examples
    --------
    >>> import array_api_compat.numpy as xp
    >>> [hex(number) for number in random_numbers(Stream(0), 16, (3,), Library(xp, "cpu")).tolist()]
    ['0xe8d5', '0x6627', '0xc58d']
    """
    xp, slot, size = lib.xp, slot_bits(bits), math.prod(shape)
    in_call = _CALL_BITS // slot
    first_call, skipped = divmod(stream.offset, in_call)
    calls = xp.arange(-(-(skipped + size) // in_call), dtype=xp.int64, device=lib.device) + first_call
    mask = (1 << slot) - 1
    slots = [(word >> shift) & mask for word in _words(calls, stream.seed) for shift in range(0, HALF, slot)]
    numbers = xp.reshape(xp.stack(slots, axis=-1), (-1,))[skipped : skipped + size]
    return xp.reshape(numbers >> (slot - bits), shape)


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
        Of `Method.ROUND`.
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
