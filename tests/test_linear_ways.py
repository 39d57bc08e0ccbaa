"""The ways in which scales stand beside the elements: one for all, runs of 16 and more, one each; odd scales there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from linear_cases import (
    FLOAT32,
    Types,
    codes,
    compare,
    draw_codes,
    draw_scale,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    opinions,
)
from oracle_linear import spread

import lowprec as lp
from lowprec.formats import as_format

# Rows of one or two tiles have one scale for a tile; rows and blocks of a power of two make runs, which may begin in
# the middle of a tile; the others are spread over it.
WAYS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = [
    ((40, 2048), (40,), {"axis": 0}), ((130, 1024), (130,), {"axis": 0}), ((3000, 16), (3000,), {"axis": 0}),
    ((700, 64), (700,), {"axis": 0}), ((50, 700), (50,), {"axis": 0}), ((60, 1100), (1100,), {"axis": 1}),
    ((50, 1056), (50, 33), {"axis": 1, "block_size": 32}), ((70, 1040), (70, 65), {"axis": 1, "block_size": 16}),
    ((9, 5000), (9, 40), {"axis": 1, "block_size": 128}), ((3, 20480), (3, 5), {"axis": 1, "block_size": 4096}),
    ((64, 700), (4, 700), {"axis": 0, "block_size": 16}), ((2, 31, 1024), (31,), {"axis": 1}),
]  # fmt: skip
NAMES = [f"{shape} by {scales}".replace(",)", ")") for shape, scales, _ in WAYS]
PLAIN = [(name, "plain") for name in ("int8", "uint8", "float8_e4m3fn")]
TARGETS = [*PLAIN, *((name, "any") for name in ("int8", "uint8", "int4", "float8_e4m3fn", "float8_e4m3fnuz"))]
SOURCES = [*PLAIN, *((name, "any") for name in ("int8", "uint4", "float8_e4m3fn", "float8_e5m2fnuz"))]


def odd_scales(rng: np.random.Generator, shape: tuple[int, ...], plain: bool) -> np.ndarray:
    """Draw positive scales of every size, mantissas of 1 alone among them; unless `plain`, any others between."""
    mantissa = np.where(rng.random(shape) < 0.1, 2 - 2.0**-23, rng.uniform(1, 2, shape))
    exponents = rng.integers(-58, 58, shape) if plain else rng.integers(-64, 64, shape)
    found = np.ldexp(mantissa, np.where(rng.random(shape) < 0.5, exponents, exponents % 4)).astype(np.float32)
    return found if plain else np.where(rng.random(shape) < 0.9, found, draw_scale(rng, FLOAT32, shape, odd=0.9))


@pytest.mark.parametrize(("shape", "scales", "options"), WAYS, ids=NAMES)
@pytest.mark.parametrize(("name", "kind"), TARGETS)
def test_quantize(
    name: str, kind: str, shape: tuple[int, ...], scales: tuple[int, ...], options: dict[str, Any],
    tally: Counter[str],
) -> None:  # fmt: skip
    target = as_format(name)
    types, rng = Types(FLOAT32, FLOAT32, target), generator(name, shape, scales, kind)
    scale = odd_scales(rng, scales, kind == "plain")
    factor = spread(scale.astype(np.float64), shape, options["axis"], options.get("block_size", 0))
    x = draw_x(rng, FLOAT32, factor, target)
    for zero_point in (None, draw_zero_point(rng, target, scales)):
        given = options if zero_point is not None else {**options, "output_dtype": target}
        expected = expect_quantized(x, scale, zero_point, types, given)
        for who in opinions(threads=(2,)):
            got = codes(lp.quantize_linear(x, scale, zero_point, **given), target)
            compare(tally, "QuantizeLinear, ways", got, expected, f"{who}, {name}", x, factor)


@pytest.mark.parametrize(("shape", "scales", "options"), WAYS, ids=NAMES)
@pytest.mark.parametrize(("name", "kind"), SOURCES)
def test_dequantize(
    name: str, kind: str, shape: tuple[int, ...], scales: tuple[int, ...], options: dict[str, Any],
    tally: Counter[str],
) -> None:  # fmt: skip
    source = as_format(name)
    types, rng = Types(source, FLOAT32, FLOAT32), generator(name, shape, scales, kind)
    scale, x = odd_scales(rng, scales, kind == "plain"), draw_codes(rng, source, shape)
    for zero_point in (None, draw_zero_point(rng, source, scales)):
        expected = expect_dequantized(x, scale, zero_point, types, options)
        for who in opinions(threads=(2,)):
            got = codes(lp.dequantize_linear(x, scale, zero_point, **options), FLOAT32)
            compare(tally, "DequantizeLinear, ways", got, expected, f"{who}, {name}", x)


@pytest.mark.parametrize("signed", [True, False])
def test_quotients_beside_ties(signed: bool, tally: Counter[str]) -> None:
    rng = generator("quotients", signed)
    scale = odd_scales(rng, (2000,), True)
    low, high = (-128, 127) if signed else (0, 255)
    ties = (rng.integers(low - 3, high + 3, (2000, 205)) + 0.5) * scale[:, None].astype(np.float64)
    near = ties.astype(np.float32).view(np.int32)[..., None] + np.arange(-2, 3, dtype=np.int32)
    x = np.zeros((2000, 1088), np.float32)  # rows of 17 runs of 64
    x[:, :1025] = near.reshape(2000, 1025).view(np.float32)
    quotient = x / scale[:, None]  # IEEE division, rounded once
    expected = np.clip(np.rint(quotient), low, high).astype(np.int8 if signed else np.uint8)
    one_each = np.broadcast_to(scale[:, None], (2000, 17))
    for who in opinions(threads=(2,)):
        got = lp.quantize_linear(x, one_each, output_dtype=expected.dtype, axis=1, block_size=64)
        compare(tally, "QuantizeLinear, beside ties", got, expected, f"{who}, runs", x)
        for row in range(0, 2000, 97):
            got = lp.quantize_linear(x[row], scale[row], output_dtype=expected.dtype)
            compare(tally, "QuantizeLinear, beside ties", got, expected[row], f"{who}, one scale", x[row])


def hardest_quotients() -> tuple[np.ndarray, np.ndarray]:
    """Return x and scales whose quotients lie next to where division rounds to, or past, a half of an integer.

    m stands half a float32 step beside a half: 25 bits, the last one 1. A scale with scale * m = r (mod 2**25), and r
    small, makes x = (scale * m - r) / 2**25 an integer, and x / scale as close to m as a float32 quotient can be.
    """
    found = []
    for half in np.arange(0.5, 256, 0.5)[::2]:
        up = int(np.floor(np.log2(half)))
        m = int(half * 2.0 ** (24 - up))
        for beside in (m - 1, m + 1):
            inverse = pow(beside, -1, 1 << 25)
            for r in range(-63, 64, 2):
                scale = r * inverse % (1 << 25)
                x = (scale * beside - r) >> 25
                if 1 << 23 <= scale < 1 << 24 and x < 1 << 24:
                    found.append((np.ldexp(float(x), 1 + up), float(scale)))
    x, scale = np.array(found).T
    return x.astype(np.float32), scale.astype(np.float32)


def test_hardest_quotients(tally: Counter[str]) -> None:
    x, scale = hardest_quotients()
    assert len(x) > 4000
    assert np.abs(x.astype(np.float64) / scale * 2 - np.rint(x.astype(np.float64) / scale * 2)).max() < 2.0**-15
    expected = np.repeat(np.clip(np.rint(x / scale), 0, 255).astype(np.uint8)[:, None], 16, axis=1)
    for exponent in (-82, -30, 0, 35):  # 2**-59 to 2**58
        divisor = np.ldexp(scale, exponent)
        rows = np.repeat(np.ldexp(x, exponent)[:, None], 16, axis=1)
        for who in opinions(threads=(2,)):
            got = lp.quantize_linear(rows, divisor, output_dtype="uint8", axis=0)
            compare(tally, "QuantizeLinear, hardest quotients", got, expected, who, rows)
            one = [lp.quantize_linear(a, b, output_dtype="uint8") for a, b in zip(rows[:99], divisor[:99], strict=True)]
            compare(tally, "QuantizeLinear, hardest quotients", np.array(one), expected[:99], who)
