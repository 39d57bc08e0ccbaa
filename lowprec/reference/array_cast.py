"""The oracle of Cast for whole arrays: tables and edges by `exact_cast`, exact NumPy operations in between."""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from ..spec.formats import Format, Kind, as_format
from ..spec.option_names import RoundModeName
from .exact_cast import encode
from .exact_values import Value, decode, finite_count, magnitude_of

__all__ = ["Codes", "Table", "expected_from_float64", "expected_from_integers", "is_power", "table"]

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
