"""The oracle's answers for whole arrays, by exact NumPy operations."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..spec.formats import Format, Kind, as_format
from ..spec.rounding_modes import Rounding, RoundModeName
from .exact_cast import decide_by, encode
from .philox import random_words
from .values import Value, decode, finite_count, magnitude_of

__all__ = [
    "Codes",
    "array_values",
    "broadcast",
    "code_values",
    "decoded",
    "dequantized",
    "expected_from_float64",
    "expected_from_integers",
    "expected_rounded",
    "is_power",
    "quantized",
    "quotient",
    "rounded",
    "rounded_from_float64",
    "rounded_from_integers",
    "table",
]


Codes = np.ndarray[Any, Any]


class Table(NamedTuple):
    """The non-negative finite values of a float format of at most 16 bits, in order, all exact in float64."""

    values: Codes
    codes: Codes
    negative_codes: Codes  # of the same magnitudes with the sign, where the format has it
    midpoints: Codes  # midpoints[i] lies above values[i]; the last one is the limit of overflow


def _exact(number: Fraction) -> float:
    nearest = float(number)
    assert Fraction(nearest) == number
    return nearest


@functools.lru_cache(maxsize=64)
def table(target: Format) -> Table:
    """Tabulate decode() of every code."""
    positive: dict[Fraction, int] = {}
    negative: dict[Fraction, int] = {}
    for code in range(1 << target.bits):
        value = decode(code, target)
        if not value.special:
            (negative if value.negative else positive)[value.magnitude] = code
    magnitudes = sorted(positive)
    after = magnitude_of(finite_count(target), target)  # what would follow
    midpoints = [(a + b) / 2 for a, b in zip(magnitudes, [*magnitudes[1:], after], strict=True)]
    dtype = _code_dtype(target)
    return Table(
        np.array([_exact(m) for m in magnitudes]),
        np.array([positive[m] for m in magnitudes], dtype),
        np.array([negative.get(m, positive[m]) for m in magnitudes], dtype),
        np.array([_exact(m) for m in midpoints]),
    )


def _code_dtype(target: Format) -> np.dtype[Any]:
    return np.dtype("u1" if target.bits <= 8 else "u2" if target.bits <= 16 else f"u{target.bits // 8}")


def is_power(target: Format) -> bool:
    """Whether the values are powers of two without zero: scales, rounded by `round_mode`."""
    return target.kind is Kind.FLOAT and not target.has_zero


def expected_from_float64(
    x: Codes, target: object, *, saturate: bool = True, round_mode: RoundModeName | None = None, opset: int = 28
) -> Codes:
    """Return the codes that Cast gives float64 values (and so of every float source they were exactly widened from).

    The same format is converted by value too: NaN becomes canonical.

    Parameters
    ----------
    x : numpy.ndarray
        float64, any shape.
    target : str, int, dtype or Format
        A float, integer or bool format.
    saturate, round_mode, opset
        As in `lowprec.cast`.

    Returns
    -------
    numpy.ndarray
        The codes as unsigned integers.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28; tables and edges are those of `lowprec.reference.encode`.

    Examples
    --------
    >>> expected_from_float64(np.array([0.3, 464, np.inf]), "float8_e4m3fn").tolist()
    [42, 126, 126]
    """
    fmt, x = as_format(target), np.asarray(x)
    assert x.dtype == np.float64

    def encoded(value: Value) -> int:
        return encode(value, fmt, saturate=saturate, round_mode=round_mode, opset=opset)

    finite, negative = np.isfinite(x), np.signbit(x)
    if fmt.kind is Kind.BOOL:
        return _wrap(np.asarray(x != 0, np.uint64), fmt)
    if fmt.kind is Kind.INT:
        return _integer_codes(np.where(finite, x, 0.0), fmt)
    a = np.where(finite, np.abs(x), 0.0)
    if fmt.bits > 16:
        codes = _wide_codes(np.where(finite, x, 0.0), fmt)
    elif is_power(fmt):
        codes = _power_codes(a, fmt, encoded, round_mode)
    else:
        codes = _nearest_codes(a, negative, fmt, encoded)
    for sign in (False, True):
        codes[np.isinf(x) & (negative == sign)] = encoded(Value.of("-inf" if sign else "inf"))
        codes[np.isnan(x) & (negative == sign)] = encoded(Value.of("-nan" if sign else "nan"))
    return codes


def _nearest_codes(a: Codes, negative: Codes, fmt: Format, encoded: Any) -> Codes:
    rows = table(fmt)
    count = len(rows.values)
    index = np.searchsorted(rows.midpoints, a)
    tie = rows.midpoints[np.minimum(index, count - 1)] == a
    index += tie & (rows.codes[np.minimum(index, count - 1)] & 1).astype(bool)
    inside = np.minimum(index, count - 1)
    codes = np.where(negative, rows.negative_codes[inside], rows.codes[inside])
    for sign in (False, True):
        beyond = Value(Fraction(rows.values[-1]) * 2, sign)
        codes[(index == count) & (negative == sign)] = encoded(beyond)
    return _without_sign(codes, a, negative, fmt, encoded)


def _without_sign(codes: Codes, a: Codes, negative: Codes, fmt: Format, encoded: Any) -> Codes:
    """Return codes in which negative numbers are what a format without a sign has for them."""
    if fmt.signed or not fmt.has_zero:
        return codes
    half = magnitude_of(1, fmt) / 2
    tiny = a <= float(half)  # exact: a power of two that float64 has
    for which, number in ((tiny, half), (~tiny, half * 3)):
        codes[negative & which] = encoded(Value(number, True))
    return codes


def _power_codes(a: Codes, fmt: Format, encoded: Any, round_mode: RoundModeName | None) -> Codes:
    rows = table(fmt)
    index = np.clip(np.searchsorted(rows.values, a, side="right") - 1, 0, None)
    lower = rows.values[index]
    step = {"up": a > lower, "down": np.zeros(a.shape, bool), "nearest": a >= 1.5 * lower}[round_mode or "up"]
    codes: Codes = rows.codes[np.minimum(index + step, len(rows.values) - 1)]
    codes[a < rows.values[0]] = encoded(Value.of(Fraction(rows.values[0]) / 2))
    codes[a == 0] = encoded(Value.of(0))
    codes[a > rows.values[-1]] = encoded(Value.of(Fraction(rows.values[-1]) * 2))
    return codes


def _wide_codes(x: Codes, fmt: Format) -> Codes:
    """Return finite float64 values as float32 or float64: one conversion by NumPy, one correct rounding."""
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(f"f{fmt.bits // 8}").view(_code_dtype(fmt)).copy()


def _integer_codes(x: Codes, fmt: Format) -> Codes:
    # the remainder of a float64 division is exact, and below 2**64 so is the conversion to uint64
    remainder = np.abs(np.fmod(np.trunc(x), 2.0**fmt.bits)).astype(np.uint64)
    return _wrap(np.where(x < 0, np.uint64(0) - remainder, remainder), fmt)


def _wrap(codes: Codes, fmt: Format) -> Codes:
    return (codes & np.uint64(2**fmt.bits - 1)).astype(_code_dtype(fmt))


def expected_from_integers(
    x: Codes, target: object, *, saturate: bool = True, round_mode: RoundModeName | None = None, opset: int = 28
) -> Codes:
    """Return the codes that Cast gives int64 or uint64 values (and so those of every narrower integer and bool).

    Parameters
    ----------
    x : numpy.ndarray
        int64 or uint64, any shape.
    target, saturate, round_mode, opset
        As in `expected_from_float64`.

    Returns
    -------
    numpy.ndarray
        The codes as unsigned integers.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28; tables and edges are those of `lowprec.reference.encode`.

    Examples
    --------
    >>> expected_from_integers(np.array([2**53 + 1, -1]), "float32").tolist()
    [1509949440, 3212836864]
    """
    fmt, x = as_format(target), np.asarray(x)
    assert x.dtype in (np.int64, np.uint64)

    def encoded(value: Value) -> int:
        return encode(value, fmt, saturate=saturate, round_mode=round_mode, opset=opset)

    bits, negative = x.astype(np.uint64), x < 0
    if fmt.kind is Kind.BOOL:
        return _wrap(np.asarray(x != 0, np.uint64), fmt)
    if fmt.kind is Kind.INT:
        return _wrap(bits, fmt)
    a = np.where(negative, np.uint64(0) - bits, bits)
    if fmt.bits > 16:
        rounded = _round_to_bits(a, {32: 24, 64: 53}[fmt.bits])
        return _wide_codes(np.where(negative, -rounded, rounded), fmt)
    if not is_power(fmt):
        return _nearest_integer_codes(a, negative, fmt, encoded)
    # truncating to 53 bits and setting the last bit for what was cut off keeps a on its side of 1.5 * 2**k and 2**k
    shift = np.maximum(_bit_length(a) - 53, 0).astype(np.uint64)
    kept = a >> shift
    sticky = kept | ((kept << shift) != a)
    return _power_codes(np.ldexp(sticky.astype(np.float64), shift.astype(np.int32)), fmt, encoded, round_mode)


def _bit_length(a: Codes) -> Codes:
    return np.searchsorted(np.uint64(1) << np.arange(64, dtype=np.uint64), a, side="right")


def _round_to_bits(a: Codes, precision: int) -> Codes:
    """Round uint64 to `precision` significant bits, ties to even; the result is exact in float64."""
    shift = np.maximum(_bit_length(a) - precision, 0).astype(np.uint64)
    kept, unit = a >> shift, np.uint64(1) << shift
    remainder, half = a & (unit - np.uint64(1)), unit >> np.uint64(1)
    up = (remainder > half) | ((remainder == half) & (shift > 0) & (kept & np.uint64(1)).astype(bool))
    rounded: Codes = np.ldexp((kept + up).astype(np.float64), shift.astype(np.int32))
    return rounded


def _nearest_integer_codes(a: Codes, negative: Codes, fmt: Format, encoded: Any) -> Codes:
    rows = table(fmt)
    reachable = rows.midpoints[rows.midpoints < 2.0**64]
    floors = np.floor(reachable).astype(np.uint64)  # for an integer a: midpoint < a exactly when floor(midpoint) < a
    index = np.searchsorted(floors, a)
    nearby = np.minimum(index, len(floors) - 1)
    tie = (index < len(floors)) & (floors[nearby] == a) & (reachable[nearby] == np.floor(reachable[nearby]))
    index += tie & (rows.codes[nearby] & 1).astype(bool)
    inside = np.minimum(index, len(rows.values) - 1)
    codes = np.where(negative, rows.negative_codes[inside], rows.codes[inside])
    for sign in (False, True):
        beyond = Value(Fraction(rows.values[-1]) * 2, sign)
        codes[(index == len(rows.values)) & (negative == sign)] = encoded(beyond)
    return _without_sign(codes, a, negative, fmt, encoded)


Array = np.ndarray[Any, Any]
FLOAT32, FLOAT64 = as_format("float32"), as_format("float64")


@functools.cache
def code_values(fmt: Format) -> Array:
    """Return the value of every code of a format of at most 16 bits, exactly, NaNs with their sign."""
    found = [decode(code, fmt) for code in range(1 << fmt.bits)]
    return np.array([float(value) for value in found])


def decoded(codes: Array, fmt: Format) -> Array:
    """Return what codes stand for as float64, which holds every value of 32 bits or fewer."""
    if fmt.bits <= 16:
        return code_values(fmt)[codes]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return codes.view(fmt.dtype).astype(np.float64)


def rounded(x: Array, fmt: Format) -> Array:
    """Return float64 values rounded once to a float format of 16 bits or more, as float64 again."""
    if fmt is FLOAT64:
        return x
    with np.errstate(all="ignore"):
        return decoded(expected_from_float64(x, fmt), fmt)


def quotient(x: Array, scale: Array, precision: Format) -> Array:
    """Divide values that `precision` holds, rounded once to it.

    Through float64 where that is wider, and twice rounded is once rounded there: with at most p = 24 bits in x and
    scale, and at most p + 1 in a midpoint m between values of the format, x - m * scale is a multiple of the last
    places and so, unless zero, more than 2**-(2p + 1) of m * scale away from it. The float64 quotient, 2**-53 off at
    most, lies on the same side of m; and it neither overflows nor underflows.
    """
    assert precision is FLOAT64 or precision.mantissa_bits <= 23
    with np.errstate(all="ignore"):
        found = x / scale
    nan = np.where(np.isnan(x), x, np.where(np.isnan(scale), scale, np.nan))
    return rounded(np.where(np.isnan(found), nan, found), precision)


def quantized(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    target: object,
    *,
    precision: object,
    saturate: bool = True,
    opset: int = 28,
) -> Array:
    """Return the codes that QuantizeLinear gives float64 values, scales and zero points of the same shape."""
    fmt, working = as_format(target), as_format(precision)
    found = quotient(rounded(x, working), rounded(scale, working), working)
    if fmt.kind is Kind.INT:
        low = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        whole = np.clip(np.rint(np.where(np.isnan(found), -np.inf, found)), -(2.0**40), 2.0**40)  # sums stay exact
        offset = 0.0 if zero_point is None else zero_point
        clamped = np.clip(whole + offset, low, low + 2**fmt.bits - 1).astype(np.int64)
        codes: Array = (clamped & (2**fmt.bits - 1)).astype(fmt.code_dtype)
        return codes
    if zero_point is not None and fmt.bits < 8:
        single = rounded(found, FLOAT32).astype(np.float32)
        with np.errstate(all="ignore"):
            total = (single + zero_point.astype(np.float32)).astype(np.float64)  # one correctly rounded sum
        found = np.where(np.isnan(found), found, total)
    return expected_from_float64(found, fmt, saturate=saturate, opset=opset)


def dequantized(x: Array, scale: Array, zero_point: Array | None, source: object, *, output_dtype: object) -> Array:
    """Return the codes that DequantizeLinear gives codes of `source`, with scales and zero points of the same shape."""
    fmt, result = as_format(source), as_format(output_dtype)
    value, factor = decoded(x, fmt), rounded(scale, FLOAT32)
    if zero_point is not None and not (fmt.is_float and fmt.bits == 8):
        value = value - zero_point  # exact in float64; -0 - 0 is -0, a - a is +0
    single = rounded(value, FLOAT32)
    with np.errstate(all="ignore"):
        found = single * factor  # 24 bits by 24 bits: exact in float64
    nan = np.where(np.isnan(single), single, np.where(np.isnan(factor), factor, np.nan))
    exact = rounded(np.where(np.isnan(found), nan, found), FLOAT32)
    with np.errstate(all="ignore"):
        return expected_from_float64(exact, result)


def broadcast(scale: Array, shape: tuple[int, ...], axis: int, block_size: int) -> Array:
    """Return the scale, or zero point, of every element: per tensor, per axis or per block, by index arithmetic."""
    if scale.size == 1 and not (scale.ndim == len(shape) and block_size):
        return np.full(shape, scale.reshape(-1)[0], scale.dtype)
    axis = 0 if len(shape) == 1 else axis % len(shape)
    index = list(np.indices(shape, sparse=True))
    if block_size and scale.ndim == len(shape):
        assert scale.shape[axis] == math.ceil(shape[axis] / block_size)
        index[axis] = index[axis] // block_size
        return np.broadcast_to(scale[tuple(index)], shape)
    assert scale.shape == (shape[axis],)
    return np.broadcast_to(scale[index[axis]], shape)


def array_values(codes: Any, fmt: Format) -> Array:
    """Return a NumPy array of the format (or of its codes) as float64 values; sub-byte codes may be extended."""
    array = np.asarray(codes)
    unsigned = array.view(f"u{array.dtype.itemsize}")
    if fmt.bits <= 16:
        unsigned = unsigned & np.array((1 << fmt.bits) - 1, unsigned.dtype)
    return decoded(unsigned, fmt)


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


def _finite_codes(m: Array, q: Array, negative: Array, fmt: Format, how: tuple[Rounding, Array | None]) -> Array:
    """Return the codes of finite numbers m * 2**q."""
    rounding = how[0]
    field = _bit_length(m).astype(np.int64) - 1 + q + fmt.bias
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
