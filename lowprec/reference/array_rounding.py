"""The oracle of the rounding rules beyond ONNX for whole arrays: exact integer arithmetic by NumPy's uint64.

A magnitude is m * 2**q with an integer m below 2**64. Its place in the target, and every threshold that a rule compares
it with, are shifts of m; nothing is rounded. Inf, NaN, and what stands for numbers beyond the range come from
`rounding.decide_rounded`.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np

from ..spec.formats import Format, Kind, as_format
from ..spec.rounding_rules import Rounding
from .array_quantize import decoded
from .exact_values import Value, finite_count, magnitude_of
from .philox import random_words
from .rounding import decide_by

__all__ = ["expected_rounded", "rounded_from_float64", "rounded_from_integers"]

Array = np.ndarray[Any, Any]
_ONE = np.uint64(1)


def expected_rounded(
    codes: Array, source: object, target: object, rounding: Rounding, seed: int | None = None, offset: int = 0
) -> Array:
    """Return the codes of a float format to which codes of another format are rounded, in unsigned integers.

    `codes` are unsigned integers of any shape. Element n of them in C order takes the random number at place
    ``offset + n`` of the seed's stream where the rounding is stochastic.
    """
    old, new, codes = as_format(source), as_format(target), np.asarray(codes)
    random = None if seed is None else random_words(seed, offset, codes.size, rounding.random_bits)
    flat = codes.reshape(-1)
    if old.kind is Kind.INT and old.bits > 32:
        found = rounded_from_integers(flat.view("i8") if old.signed else flat, new, rounding, random)
    elif old.kind is Kind.FLOAT:
        found = rounded_from_float64(decoded(flat, old), new, rounding, random)
    else:
        numbers = flat.astype(np.int64) & (2**old.bits - 1) if old.kind is Kind.INT else (flat != 0).astype(np.int64)
        if old.signed:
            numbers -= (numbers >> (old.bits - 1)) << old.bits
        found = rounded_from_integers(numbers, new, rounding, random)
    return found.reshape(codes.shape)


def rounded_from_float64(x: Array, target: object, rounding: Rounding, random: Array | None = None) -> Array:
    """Return the codes to which float64 values are rounded (and so those of every float they were widened from).

    `random` has the shape of `x`: the random numbers of a stochastic rounding, as uint64.
    """
    fmt, x = as_format(target), np.asarray(x)
    assert x.dtype == np.float64
    finite, negative = np.isfinite(x), np.signbit(x)
    significand, exponent = np.frexp(np.abs(np.where(finite, x, 0.0)))
    whole = np.ldexp(significand, 53).astype(np.uint64)
    codes = _finite_codes(whole, exponent.astype(np.int64) - 53, negative, fmt, (rounding, random))
    for special, where in (("inf", np.isinf(x)), ("nan", np.isnan(x))):
        for sign in (False, True):
            codes[where & (negative == sign)] = _whole_code(Value(Fraction(0), sign, special), fmt, rounding)
    return codes


def rounded_from_integers(x: Array, target: object, rounding: Rounding, random: Array | None = None) -> Array:
    """Return the codes to which int64 or uint64 values are rounded (and so those of narrower integers and bool)."""
    fmt, x = as_format(target), np.asarray(x)
    assert x.dtype in (np.int64, np.uint64)
    bits, negative = x.astype(np.uint64), x < 0
    whole = np.where(negative, np.uint64(0) - bits, bits)
    return _finite_codes(whole, np.zeros(x.shape, np.int64), negative, fmt, (rounding, random))


@functools.lru_cache(maxsize=4096)
def _whole_code(value: Value, fmt: Format, rounding: Rounding) -> int:
    """Return the code of a value that no random number decides."""
    return decide_by(value, fmt, rounding, 0 if rounding.random_bits else None)[0]


def _shifted(m: Array, left: Array) -> Array:
    """Return floor(m * 2**left); what is shifted to the left must fit."""
    up, down = np.clip(left, 0, 63).astype(np.uint64), np.clip(-left, 0, 63).astype(np.uint64)
    return np.where(left <= -64, np.uint64(0), (m << up) >> down)


def _bit_length(m: Array) -> Array:
    return np.searchsorted(_ONE << np.arange(64, dtype=np.uint64), m, side="right").astype(np.int64)


def _finite_codes(m: Array, q: Array, negative: Array, fmt: Format, how: tuple[Rounding, Array | None]) -> Array:
    """Return the codes of finite numbers m * 2**q."""
    rounding = how[0]
    field = _bit_length(m) - 1 + q + fmt.bias
    if fmt.has_zero:
        field = np.maximum(field, 1)
        sign = negative
    else:
        sign = np.zeros(m.shape, bool)  # powers of two ignore signs
    left = q - (field - fmt.bias - fmt.mantissa_bits)  # m * 2**left is the number of steps
    steps = _shifted(m, left)
    lower = (field - 1) * (1 << fmt.mantissa_bits) + steps.astype(np.int64)
    rest = m - _shifted(steps, -left)  # rest * 2**left is the fraction
    rest[left >= 0] = 0
    codes = lower + _goes_away(rest, left, lower % 2 == 1, sign, how)
    return _with_ends(codes, m == 0, sign, fmt, rounding)


def _goes_away(rest: Array, left: Array, is_odd: Array, sign: Array, how: tuple[Rounding, Array | None]) -> Array:
    """Return where numbers become the neighbour farther from zero; `rest` * 2**left is less than 1."""
    (mode, _, _, bits), random = how
    inexact = rest != 0
    if bits:
        assert random is not None
        limit = _ONE << np.uint64(bits)
        if mode == "stochastic_b":
            away = _shifted(rest, left + bits + 1) + _ONE + (random << _ONE) >= limit << _ONE
        else:
            scaled = _shifted(rest, left + bits)
            if mode == "stochastic_c":
                doubled = _shifted(rest, left + bits + 1)
                beyond = rest != _shifted(doubled, -(left + bits + 1))  # bits below the half
                beyond &= left + bits + 1 < 0
                is_half = (doubled & _ONE).astype(bool)
                scaled = scaled + (is_half & (beyond | (scaled & _ONE).astype(bool)))
            away = scaled + random >= limit
        return np.asarray(away & inexact)
    if mode.startswith("nearest"):
        at_half = _shifted(rest, left + 1) >= _ONE
        above = at_half & (rest != _shifted(np.ones_like(rest), -(left + 1)))
        ties = {"nearest_even": is_odd, "nearest_away": inexact, "nearest_zero": ~inexact}
        return np.asarray(inexact & (above | (at_half & ties[mode])))
    chosen = {
        "toward_zero": ~inexact,
        "away_from_zero": inexact,
        "toward_positive": ~sign,
        "toward_negative": sign,
        "to_odd": ~is_odd,
    }
    return np.asarray(inexact & chosen[mode])


def _with_ends(codes: Array, zero: Array, sign: Array, fmt: Format, rounding: Rounding) -> Array:
    """Return rounded magnitude codes with their signs, and what stands for those beyond the range."""
    count = finite_count(fmt)
    found = codes.astype(np.uint64)
    if fmt.signed:
        found |= sign.astype(np.uint64) << np.uint64(fmt.bits - 1)
    far, near = 2 * magnitude_of(count, fmt), magnitude_of(0, fmt) / 4
    zero = zero | ((codes == 0) & fmt.has_zero)
    below = sign & ~zero & (not fmt.signed) if fmt.has_zero else zero | (codes < 0)
    beyond = (codes >= count) & ~zero
    for negative in (False, True):
        here = sign == negative
        found[beyond & here] = _whole_code(Value(far, negative), fmt, rounding)
        found[zero & here] = _whole_code(Value(Fraction(0), negative), fmt, rounding)
    found[below] = _whole_code(Value(far, True) if fmt.has_zero else Value(near), fmt, rounding)
    size = 8 if fmt.bits <= 8 else 16 if fmt.bits <= 16 else fmt.bits
    return found.astype(f"u{size // 8}")
