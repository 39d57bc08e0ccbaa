"""Inputs of Cast that leave no edge of a target out: its values, the ties between them, limits, payloads, a grid."""

from __future__ import annotations

import functools
import zlib
from typing import Any

import numpy as np

from ..reference.whole_arrays import table
from ..spec.formats import Format, Kind, as_format

__all__ = ["landmarks", "sweep_float32", "sweep_float64", "sweep_int64", "sweep_uint64"]

Array = np.ndarray[Any, np.dtype[Any]]


def _distinct(x: Array) -> Array:
    """Sort and drop repeats; np.unique hashes integers, and codes with many zero bits collide."""
    x = np.sort(x)
    distinct: Array = x[np.concatenate([[True], x[1:] != x[:-1]])]
    return distinct


def _generator(target: Format, salt: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(f"{target.name} {salt}".encode()))


def landmarks(target: object) -> Array:
    """Return the magnitudes where a cast to the target changes its mind, as float64: values, midpoints, limits.

    Examples
    --------
    >>> landmarks("float4_e2m1fn").tolist()
    [0.0, 0.125, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0]
    """
    fmt = as_format(target)
    if fmt.kind is Kind.FLOAT and fmt.bits <= 16:
        rows = table(fmt)
        return _distinct(np.concatenate([[0.0], rows.values, rows.midpoints, rows.midpoints[:1] / 2]))
    powers = np.ldexp(1.0, np.arange(-3, 66))
    if fmt.kind is not Kind.FLOAT:
        steps = np.arange(0, 2.0 ** min(fmt.bits, 10) + 2, 0.5)
        edge = 2.0 ** np.arange(fmt.bits - 1, min(fmt.bits + 3, 64))[:, None] + np.arange(-4, 4.5, 0.5)
        return _distinct(np.concatenate([[0.0], powers, 1.5 * powers, steps, np.abs(edge).ravel()]))
    codes = _generator(fmt, "landmarks").integers(0, 0x7F7FFFFF, 50_000, np.uint32)
    edges = np.array([0, 1, 2, 0x7FFFFE, 0x7FFFFF, 0x800000, 0x800001, 0x7F7FFFFE, 0x7F7FFFFF], np.uint32)
    values = np.concatenate([codes, edges]).view(np.float32).astype(np.float64)
    half_ulps = np.ldexp(0.5, np.maximum(np.frexp(values)[1] - 24, -149))
    return _distinct(np.concatenate([values, values + half_ulps]))


def _grid(exponents: Array, width: int) -> Array:
    """Return magnitude codes: the exponents × fractions at and around every power of two."""
    one = np.uint64(1)
    ones = one << np.arange(width, dtype=np.uint64)
    top = (one << np.uint64(width)) - one
    fractions = _distinct(np.concatenate([[np.uint64(0), top], ones, ones - one, top - ones, top ^ (ones - one)]))
    codes: Array = (exponents.astype(np.uint64)[:, None] << np.uint64(width)) | fractions
    return codes.ravel()


def _with_signs(magnitudes: Array) -> Array:
    sign = np.array(1, magnitudes.dtype) << np.array(8 * magnitudes.dtype.itemsize - 1, magnitudes.dtype)
    return np.concatenate([magnitudes, magnitudes | sign])


def sweep_float32(target: object, *, count: int = 2_000_000) -> Array:
    """Return at least `count` float32 inputs: landmarks ± 3 ulps, edges, a grid, NaN payloads, then random patterns.

    The same call returns the same array.

    Examples
    --------
    >>> x = sweep_float32("float8_e4m3fn", count=1000)
    >>> x.dtype.name, x.size >= 1000, bool((x == 464).any())  # the limit of overflow
    ('float32', True, True)
    """
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


def sweep_float64(target: object, *, count: int = 300_000) -> Array:
    """Return at least `count` float64 inputs: landmarks ± 1 ulp and × (1 ± 2**-40), a grid, NaNs, random ones.

    The same call returns the same array.

    Examples
    --------
    >>> x = sweep_float64("float8_e4m3fn", count=1000)
    >>> x.dtype.name, x.size >= 1000, bool((x == 464 * (1 + 2**-40)).any())
    ('float64', True, True)
    """
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


@functools.lru_cache(maxsize=64)
def _integer_magnitudes(target: Format) -> Array:
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


def sweep_uint64(target: object, *, count: int = 100_000) -> Array:
    """Return at least `count` uint64 inputs: 2**k and 2**k + 2**j ± 1, integral landmarks ± 1, extremes, random.

    The same call returns the same array.

    Examples
    --------
    >>> x = sweep_uint64("float16", count=1000)
    >>> x.dtype.name, x.size >= 1000, int(x.max()) == 2**64 - 1
    ('uint64', True, True)
    """
    fmt = as_format(target)
    fixed = _integer_magnitudes(fmt)
    rng = _generator(fmt, "uint64")
    drawn = rng.integers(0, 2**64, max(count - len(fixed), 1000), np.uint64)
    return np.concatenate([fixed, drawn >> rng.integers(0, 64, len(drawn), np.uint64)])


def sweep_int64(target: object, *, count: int = 100_000) -> Array:
    """Return at least `count` int64 inputs: those of `sweep_uint64` that fit, with both signs.

    Examples
    --------
    >>> x = sweep_int64("float16", count=1000)
    >>> x.dtype.name, x.size >= 1000, int(x.min()) == -(2**63)
    ('int64', True, True)
    """
    fixed = sweep_uint64(target, count=count)
    fitting = fixed[fixed < 2**63].astype(np.int64)
    return np.concatenate([fitting, -fitting, [np.int64(-(2**63))], -1 - fitting])
