"""A vectorised oracle for sweeps: tables and edges asked of lowprec.reference, exact NumPy in between."""

from __future__ import annotations

import functools
import zlib
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from lowprec import reference
from lowprec.formats import Format, Kind, as_format

Codes = np.ndarray[Any, np.dtype[Any]]


class Table(NamedTuple):
    """The non-negative finite values of a float format of at most 16 bits, in order, all exact in float64."""

    values: np.ndarray
    codes: np.ndarray
    negative_codes: np.ndarray  # of the same magnitudes with the sign, where the format has it
    midpoints: np.ndarray  # midpoints[i] lies above values[i]; the last one is the limit of overflow


def _exact(number: Fraction) -> float:
    nearest = float(number)
    assert Fraction(nearest) == number
    return nearest


@functools.cache
def table(target: Format) -> Table:
    """Tabulate decode() of every code."""
    positive, negative = {}, {}
    for code in range(1 << target.bits):
        value = reference.decode(code, target)
        if not value.special:
            (negative if value.negative else positive)[value.magnitude] = code
    magnitudes = sorted(positive)
    after = magnitudes[-1] + (magnitudes[-1] - magnitudes[-2])  # what would follow with unbounded exponents
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


def _is_power(target: Format) -> bool:
    return target.kind is Kind.FLOAT and not target.has_zero


def expected_from_float64(
    x: np.ndarray, target: object, *, saturate: bool = True, round_mode: str | None = None, opset: int = 28
) -> Codes:
    """Return the codes that Cast gives float64 values (and so of every float source they were exactly widened from).

    The same format is converted by value too: NaN becomes canonical.
    """
    fmt, x = as_format(target), np.asarray(x)
    assert x.dtype == np.float64

    def ask(value: reference.Value) -> int:
        return reference.encode(value, fmt, saturate=saturate, round_mode=round_mode, opset=opset)

    dtype = _code_dtype(fmt)
    finite, negative = np.isfinite(x), np.signbit(x)
    if fmt.kind is Kind.BOOL:
        return (x != 0).astype(dtype)
    if fmt.kind is Kind.INT:
        return _integer_codes(np.where(finite, x, 0.0), fmt)
    a = np.where(finite, np.abs(x), 0.0)
    if fmt.bits > 16:
        codes = _wide_codes(np.where(finite, x, 0.0), fmt)
    elif _is_power(fmt):
        codes = _power_codes(a, fmt, ask, round_mode)
    else:
        codes = _nearest_codes(a, negative, fmt, ask)
    for sign in (False, True):
        codes[np.isinf(x) & (negative == sign)] = ask(reference.Value.of("-inf" if sign else "inf"))
        codes[np.isnan(x) & (negative == sign)] = ask(reference.Value.of("-nan" if sign else "nan"))
    return codes


def _nearest_codes(a: np.ndarray, negative: np.ndarray, fmt: Format, ask: Any) -> Codes:
    rows = table(fmt)
    count = len(rows.values)
    index = np.searchsorted(rows.midpoints, a)
    tie = rows.midpoints[np.minimum(index, count - 1)] == a
    index += tie & (rows.codes[np.minimum(index, count - 1)] & 1).astype(bool)
    inside = np.minimum(index, count - 1)
    codes = np.where(negative, rows.negative_codes[inside], rows.codes[inside])
    for sign in (False, True):
        beyond = reference.Value(Fraction(rows.values[-1]) * 2, sign)
        codes[(index == count) & (negative == sign)] = ask(beyond)
    return codes


def _power_codes(a: np.ndarray, fmt: Format, ask: Any, round_mode: str | None) -> Codes:
    rows = table(fmt)
    index = np.clip(np.searchsorted(rows.values, a, side="right") - 1, 0, None)
    lower = rows.values[index]
    step = {"up": a > lower, "down": np.zeros(a.shape, bool), "nearest": a >= 1.5 * lower}[round_mode or "up"]
    codes = rows.codes[np.minimum(index + step, len(rows.values) - 1)]
    codes[a < rows.values[0]] = ask(reference.Value.of(Fraction(rows.values[0]) / 2))
    codes[a == 0] = ask(reference.Value.of(0))
    codes[a > rows.values[-1]] = ask(reference.Value.of(Fraction(rows.values[-1]) * 2))
    return codes


def _wide_codes(x: np.ndarray, fmt: Format) -> Codes:
    """Return finite float64 values as float32 or float64: one conversion by NumPy, one correct rounding."""
    with np.errstate(over="ignore", under="ignore"):
        return x.astype(f"f{fmt.bits // 8}").view(_code_dtype(fmt)).copy()


def _integer_codes(x: np.ndarray, fmt: Format) -> Codes:
    # the remainder of a float64 division is exact, and below 2**64 so is the conversion to uint64
    remainder = np.abs(np.fmod(np.trunc(x), 2.0**fmt.bits)).astype(np.uint64)
    return _wrap(np.where(x < 0, np.uint64(0) - remainder, remainder), fmt)


def _wrap(codes: np.ndarray, fmt: Format) -> Codes:
    return (codes & np.uint64(2**fmt.bits - 1)).astype(_code_dtype(fmt))


def expected_from_integers(
    x: np.ndarray, target: object, *, saturate: bool = True, round_mode: str | None = None, opset: int = 28
) -> Codes:
    """Return the codes that Cast gives int64 or uint64 values (and so those of every narrower integer and bool)."""
    fmt, x = as_format(target), np.asarray(x)
    assert x.dtype in (np.int64, np.uint64)

    def ask(value: reference.Value) -> int:
        return reference.encode(value, fmt, saturate=saturate, round_mode=round_mode, opset=opset)

    bits, negative = x.astype(np.uint64), x < 0
    if fmt.kind is Kind.BOOL:
        return (x != 0).astype(_code_dtype(fmt))
    if fmt.kind is Kind.INT:
        return _wrap(bits, fmt)
    a = np.where(negative, np.uint64(0) - bits, bits)
    if fmt.bits > 16:
        rounded = _round_to_bits(a, {32: 24, 64: 53}[fmt.bits])
        return _wide_codes(np.where(negative, -rounded, rounded), fmt)
    if not _is_power(fmt):
        return _nearest_integer_codes(a, negative, fmt, ask)
    # truncating to 53 bits and setting the last bit for what was cut off keeps a on its side of 1.5 * 2**k and 2**k
    shift = np.maximum(_bit_length(a) - 53, 0).astype(np.uint64)
    kept = a >> shift
    sticky = kept | ((kept << shift) != a)
    return _power_codes(np.ldexp(sticky.astype(np.float64), shift.astype(np.int32)), fmt, ask, round_mode)


def _bit_length(a: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.uint64(1) << np.arange(64, dtype=np.uint64), a, side="right")


def _round_to_bits(a: np.ndarray, precision: int) -> np.ndarray:
    """Round uint64 to `precision` significant bits, ties to even; the result is exact in float64."""
    shift = np.maximum(_bit_length(a) - precision, 0).astype(np.uint64)
    kept, unit = a >> shift, np.uint64(1) << shift
    rest, half = a & (unit - np.uint64(1)), unit >> np.uint64(1)
    up = (rest > half) | ((rest == half) & (shift > 0) & (kept & np.uint64(1)).astype(bool))
    return np.ldexp((kept + up).astype(np.float64), shift.astype(np.int32))


def _nearest_integer_codes(a: np.ndarray, negative: np.ndarray, fmt: Format, ask: Any) -> Codes:
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
        beyond = reference.Value(Fraction(rows.values[-1]) * 2, sign)
        codes[(index == len(rows.values)) & (negative == sign)] = ask(beyond)
    return codes


def _distinct(x: np.ndarray) -> np.ndarray:
    """Sort and drop repeats; np.unique hashes integers, and codes with many zero bits collide."""
    x = np.sort(x)
    return x[np.concatenate([[True], x[1:] != x[:-1]])]


def _generator(target: Format, salt: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{target.name} {salt}".encode()))


def landmarks(target: object) -> np.ndarray:
    """Return the magnitudes where a cast to the target changes its mind, as float64: values, midpoints, limits."""
    fmt = as_format(target)
    if fmt.kind is Kind.FLOAT and fmt.bits <= 16:
        rows = table(fmt)
        return _distinct(np.concatenate([[0.0], rows.values, rows.midpoints, rows.midpoints[:1] / 2]))
    powers = np.ldexp(1.0, np.arange(-3, 66))
    if fmt.kind is not Kind.FLOAT:
        span = np.arange(0, 2.0 ** min(fmt.bits, 10) + 2, 0.5)
        edge = 2.0 ** np.arange(fmt.bits - 1, min(fmt.bits + 3, 64))[:, None] + np.arange(-4, 4.5, 0.5)
        return _distinct(np.concatenate([[0.0], powers, 1.5 * powers, span, np.abs(edge).ravel()]))
    codes = _generator(fmt, "landmarks").integers(0, 0x7F7FFFFF, 50_000, np.uint32)
    edges = np.array([0, 1, 2, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0x7F7FFFFE, 0x7F7FFFFF], np.uint32)
    values = np.concatenate([codes, edges]).view(np.float32).astype(np.float64)
    half_ulps = np.ldexp(0.5, np.maximum(np.frexp(values)[1] - 24, -149))
    return _distinct(np.concatenate([values, values + half_ulps]))


def _grid(exponents: np.ndarray, width: int) -> np.ndarray:
    """Return magnitude codes: the exponents × fractions at and around every power of two."""
    one = np.uint64(1)
    ones = one << np.arange(width, dtype=np.uint64)
    top = (one << np.uint64(width)) - one
    fractions = _distinct(np.concatenate([[np.uint64(0), top], ones, ones - one, top - ones, top ^ (ones - one)]))
    return ((exponents.astype(np.uint64)[:, None] << np.uint64(width)) | fractions).ravel()


def _with_signs(magnitudes: np.ndarray) -> np.ndarray:
    sign = np.array(1, magnitudes.dtype) << np.array(8 * magnitudes.dtype.itemsize - 1, magnitudes.dtype)
    return np.concatenate([magnitudes, magnitudes | sign])


def sweep_float32(target: object, *, count: int = 2_000_000) -> np.ndarray:
    """Return at least `count` float32 inputs: landmarks ± 3 ulps, edges, a grid, NaN payloads, then random patterns."""
    fmt = as_format(target)
    with np.errstate(over="ignore", under="ignore"):
        marks = _distinct(landmarks(fmt).astype(np.float32).view(np.uint32)).astype(np.int64)
    near = np.clip(marks[:, None] + np.arange(-3, 4), 0, 0x7FFFFFFF).ravel()
    payloads = [0x7F800000, *(0x7F800000 + (1 << k) for k in range(23)), 0x7FFFFFFF, 0x7FBFFFFF, 0x7FC00001, 0x7F812345]
    fixed = np.concatenate([near, payloads, _grid(np.arange(256), 23).astype(np.int64)])
    codes = _with_signs(_distinct(fixed).astype(np.uint32))
    rng = _generator(fmt, "float32")
    missing = max(count - len(codes), 1000)
    anywhere = rng.integers(0, 2**32, missing - missing // 2, np.uint32)
    # half of the random patterns fall where the target has values
    low, high = np.clip([marks[marks > 0].min() - (2 << 23), marks.max() + (2 << 23)], 0, 0x7F7FFFFF)
    within = rng.integers(low, high, missing // 2).astype(np.uint32) | rng.integers(0, 2, missing // 2, np.uint32) << 31
    return np.concatenate([codes, anywhere, within]).view(np.float32)


def sweep_float64(target: object, *, count: int = 300_000) -> np.ndarray:
    """Return at least `count` float64 inputs: landmarks ± 1 ulp and × (1 ± 2**-40), a grid, NaNs, random ones."""
    fmt = as_format(target)
    marks = landmarks(fmt)
    witnesses = np.concatenate([marks * (1 + 2.0**-40), marks * (1 - 2.0**-40)]).view(np.uint64)
    near = np.clip(marks.view(np.int64)[:, None] + np.arange(-1, 2), 0, None).ravel().astype(np.uint64)
    exponents = np.concatenate([[0, 1, 2, 2044, 2045, 2046, 2047], np.arange(1023 - 155, 1023 + 133)])
    payloads = np.uint64(0x7FF0 << 48) + np.array([0, 1, 2**51, 2**51 + 1, 2**52 - 1, 0x123456789], np.uint64)
    codes = _with_signs(_distinct(np.concatenate([witnesses, near, payloads, _grid(exponents, 52)])))
    rng = _generator(fmt, "float64")
    missing = max(count - len(codes), 1000)
    anywhere = rng.integers(0, 2**64, missing - missing // 2, np.uint64)
    low, high = marks[marks > 0].min().view(np.int64) - (2 << 52), marks.max().view(np.int64) + (2 << 52)
    within = rng.integers(max(low, 0), high, missing // 2).astype(np.uint64)
    within |= rng.integers(0, 2, missing // 2, np.uint64) << np.uint64(63)
    return np.concatenate([codes, anywhere, within]).view(np.float64)


@functools.cache
def _integer_magnitudes(target: Format) -> np.ndarray:
    numbers = {0, 2**63 - 1, 2**64 - 1}
    for k in range(64):
        numbers |= {2**k + d for d in (-1, 0, 1)}
        numbers |= {2**k + 2**j + d for j in range(k) for d in (-1, 0, 1)}
        for precision in (24, 53) if k >= 24 else ():  # ties of the wide floats, even and odd
            half, tops = 2 ** max(k - precision, 0), (1, 3, 5, 7, 2**24 - 1, 2**24 - 3)
            numbers |= {2**k + half * top + d for top in tops for d in (-1, 0, 1)}
    marks = landmarks(target)
    for mark in marks[(marks < 2.0**64) & (marks == np.floor(marks))]:
        numbers |= {int(mark) + d for d in (-1, 0, 1)}
    return np.array(sorted(n for n in numbers if 0 <= n < 2**64), np.uint64)


def sweep_uint64(target: object, *, count: int = 100_000) -> np.ndarray:
    """Return at least `count` uint64 inputs: 2**k and 2**k + 2**j ± 1, integral landmarks ± 1, extremes, random."""
    fmt = as_format(target)
    fixed = _integer_magnitudes(fmt)
    rng = _generator(fmt, "uint64")
    drawn = rng.integers(0, 2**64, max(count - len(fixed), 1000), np.uint64)
    return np.concatenate([fixed, drawn >> rng.integers(0, 64, len(drawn), np.uint64)])


def sweep_int64(target: object, *, count: int = 100_000) -> np.ndarray:
    """Return at least `count` int64 inputs: those of `sweep_uint64` that fit, with both signs."""
    fixed = sweep_uint64(target, count=count)
    fitting = fixed[fixed < 2**63].astype(np.int64)
    return np.concatenate([fitting, -fitting, [np.int64(-(2**63))], -1 - fitting])
