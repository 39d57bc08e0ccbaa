"""`absmax_scale` and `minmax_scale` against fractions: every rule, granularity, source and library."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.array_libraries import Library
from support.exact_scales import exponent_of, power_code, scale_code

import lowprec as lp
from lowprec.ops.scales import largest_magnitudes, scale_codes

RULES = ("floor", "ceil", "rceil", "even", "nearest")


def sample(rng: np.random.Generator, fmt: lp.Format, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return elements of many magnitudes, some of them NaN, Inf, zero and subnormal."""
    if fmt.is_integer:
        return rng.integers(fmt.min, fmt.max, shape, dtype=np.int64).astype(fmt.dtype)
    if fmt.bits <= 16:
        return rng.integers(0, fmt.code_mask + 1, shape).astype(fmt.code_dtype).view(fmt.dtype)
    x = np.ldexp(rng.standard_normal(shape), rng.integers(-150, 128, shape))
    x[rng.random(shape) < 0.1] = 0
    with np.errstate(over="ignore", under="ignore"):
        found = x.astype(fmt.dtype)
    found[rng.random(shape) < 0.05] = np.nan
    found[rng.random(shape) < 0.05] = -np.inf
    return found


@pytest.mark.parametrize(
    "to", ["float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float6_e2m3fn", "float6_e3m2fn", "int8", "int4"]
)
@pytest.mark.parametrize("rule", RULES)
def test_powers_of_two_at_every_edge(rule: str, to: str) -> None:
    """Around each power of two, the largest value, the roundings to the mantissa and the square root of 2."""
    target = lp.as_format(to)
    edges = [
        1.0, 1.25, 1.5, 1.75, 1.875, 1.9375, 448 / 256, math.sqrt(2),
        float(target.max) / 2.0 ** exponent_of(Fraction(target.max)),
    ]  # fmt: skip
    base = np.array(
        [math.ldexp(edge, e) for edge in edges for e in (-1074, -200, -149, -127, -126, -5, 0, 1, 100, 127, 128, 500)]
    )
    x = np.concatenate([base, np.nextafter(base, 0), np.nextafter(base, np.inf), [0.0]])
    for values in (x, x[np.abs(x) < 3e38].astype(np.float32)):
        fractions = [Fraction(float(value)) for value in values]
        scale = lp.absmax_scale(values, to, axis=0, block_size=1, scale_format="float8_e8m0fnu", scale_rule=rule)
        assert scale.view(np.uint8).tolist() == [power_code(a, target, rule) for a in fractions]


@pytest.mark.parametrize(("axis", "block_size"), [(None, 0), (0, 0), (1, 0), (1, 3), ((0, 1), (2, 3))])
def test_every_library_gives_the_same(xp: Library, axis: Any, block_size: Any) -> None:
    x = np.random.default_rng(3).standard_normal((4, 7)).astype(np.float32)
    x[1, 2], x[3, :] = np.nan, 0
    group: dict[str, Any] = {"axis": axis, "block_size": block_size}
    for to, name in (("int8", "float32"), ("int4", "bfloat16"), ("float4_e2m1fn", "float8_e8m0fnu")):
        how, fmt = {**group, "scale_format": name}, lp.as_format(name)
        found = xp.call(lambda x, to=to, how=how: lp.absmax_scale(x, to, **how), xp.wrap(x))
        assert np.array_equal(xp.codes(found, fmt), lp.absmax_scale(x, to, **how).view(fmt.code_dtype)), name
    both = xp.call(lambda x: lp.minmax_scale(x, "int4", **group), xp.wrap(x))
    for one, other, name in zip(both, lp.minmax_scale(x, "int4", **group), ("float32", "int4"), strict=True):
        fmt = lp.as_format(name)
        assert np.array_equal(xp.codes(one, fmt), other.view(fmt.code_dtype))


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("source", ["float8_e4m3fn", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("block_size", [1, 2, 3, 8, 16, 32, 33, 64])
def test_blocks_shorter_than_a_vector(block_size: int, source: str) -> None:
    """More elements than one tile of the loop, and rows that end within a block; NaN and Inf in some."""
    held = lp.as_format(source)
    for shape in ((3, 2080), (2, 1023), (65, 33)):
        x = sample(np.random.default_rng(block_size), held, shape)
        with np.errstate(invalid="ignore"):  # NaN that signal
            values = x.astype(np.float64)
        magnitudes = np.where(np.isfinite(values), np.abs(values), 0)
        wanted = np.maximum.reduceat(magnitudes, np.arange(0, shape[1], block_size), axis=1)
        assert np.array_equal(largest_magnitudes(x, axis=1, block_size=block_size), wanted)


def test_the_largest_magnitudes_of_chunks_give_the_scales_of_the_whole() -> None:
    """80,000 scales are computed in several steps."""
    x = sample(np.random.default_rng(4), lp.formats["float32"], (40, 4000))
    for fmt in ("float32", "bfloat16", "float8_e8m0fnu"):
        kept = lp.formats[fmt]
        for axis, block_size in ((None, 0), (1, 0), (1, 2)):
            parts = [largest_magnitudes(x[i : i + 8], axis=axis, block_size=block_size) for i in range(0, 40, 8)]
            largest = np.concatenate(parts) if block_size else np.max(parts, axis=0)
            got = scale_codes(largest, lp.formats["int8"], kept)
            whole = lp.absmax_scale(x, "int8", axis=axis, block_size=block_size, scale_format=fmt)
            assert got.tobytes() == whole.tobytes()
            assert got.shape == whole.shape
    to, half = lp.formats["int8"], lp.formats["float16"]
    wanted = [scale_code(Fraction(float(a)), to, half, "floor") for a in largest.reshape(-1)[::997]]
    assert scale_codes(largest, to, half).reshape(-1)[::997].tolist() == wanted


def test_largest_magnitudes_of_codes() -> None:
    codes = np.array([[0b0111, 0b1001], [0b1010, 0b0000]], np.uint8)  # 6, -0.5; -1, 0
    assert largest_magnitudes(codes, source="float4_e2m1fn", axis=0).tolist() == [6.0, 1.0]


def test_threads_and_large_arrays_agree_with_numpy() -> None:
    x = np.random.default_rng(4).standard_normal((1030, 2050)).astype(np.float32)
    for threads in (1, 2):
        lp.set_num_threads(threads)
        assert lp.absmax_scale(x, "int8") == np.float32(np.abs(x).max().astype(np.float64) / 127)
        for axis in (0, 1):
            wanted = (np.abs(x).max(axis=1 - axis).astype(np.float64) / 127).astype(np.float32)
            assert np.array_equal(lp.absmax_scale(x, "int8", axis=axis), wanted)
        tiles = lp.absmax_scale(x, "int8", axis=(0, 1), block_size=(128, 128))
        assert tiles[8, 16] == np.float32(np.abs(x[1024:, 2048:]).max().astype(np.float64) / 127)
        assert tiles.shape == (9, 17)


def test_nothing_finite() -> None:
    for x in (
        np.zeros(4, np.float32), np.full(4, np.nan, np.float32), np.array([np.inf, -0.0], np.float16),
        np.empty(0, np.float32),
    ):  # fmt: skip
        assert lp.absmax_scale(x, "int8") == 1
        assert lp.absmax_scale(x, "int8", scale_format="float8_e8m0fnu").view(np.uint8) == 0
        assert [one.item() for one in lp.minmax_scale(x, "uint8")] == [1, 0]
    assert lp.minmax_scale(np.array([1e-45], np.float32), "uint8")[0] == 1  # the quotient would be 0
    assert lp.minmax_scale(np.array([-3e38, 3e38], np.float32), "uint8")[0] == np.finfo(np.float32).max
    assert lp.absmax_scale(np.array([1e-45], np.float32), "int8") == np.float32(1e-45)
    assert lp.absmax_scale(np.array([1e300]), "int8", scale_format="float16") == 65504
