"""DequantizeLinear at its boundaries: every code of every narrow type, under many scales, into every output."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.quantize_cases import (
    PRECISIONS,
    Types,
    codes,
    draw_zero_point,
    expect_dequantized,
    generator,
    put,
    type_table,
)

import lowprec as lp
from lowprec.reference import whole_arrays
from lowprec.reference.whole_arrays import decoded
from lowprec.spec.formats import Format, as_format

BY_NAME = {"ids": lambda fmt: fmt.name}
OUTPUTS = PRECISIONS[:3]
SOURCES = list(dict.fromkeys(types.x for types in type_table("DequantizeLinear", 28)))
SCALES = list(dict.fromkeys(types.scale for types in type_table("DequantizeLinear", 28)))


def _scales(fmt: Format, count: int) -> np.ndarray:
    """Return scales of a format: special ones, those that overflow or vanish in each output, random patterns."""
    if not fmt.has_zero:
        return np.arange(256).astype(np.uint8).view(fmt.dtype) if count > 100 else np.array(
            [0, 1, 5, 100, 127, 128, 200, 250, 254, 255], np.uint8).view(fmt.dtype)  # fmt: skip
    edges = [
        0.0, 1.0, np.inf, np.nan, 2.0**-24, 2.0**-25, 3 * 2.0**-26, 1 / 3, 0.1, 2.0**-133, 2.0**-134, 2.0**-149,
        65504.0,
    ]  # fmt: skip
    edges += [fmt.smallest_subnormal, fmt.smallest_normal, fmt.max, fmt.max / 3, 65520.0, 256.0, 2.0**120, 3.3895e38]
    known = put(np.array([*edges, *(-e for e in edges)]), fmt)
    rng = generator("scales", fmt)
    anywhere = rng.integers(0, 1 << fmt.bits, count, np.uint64).astype(fmt.code_dtype).view(fmt.dtype)
    near_one = put(np.exp2(rng.uniform(-16, 16, count)) * rng.choice([-1, 1], count), fmt)
    return np.concatenate([known, anywhere, near_one])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("scale_format", SCALES, **BY_NAME)
@pytest.mark.parametrize("x_format", [fmt for fmt in SOURCES if fmt.bits <= 8], **BY_NAME)
def test_every_code(x_format: Format, scale_format: Format, tally: Counter[str]) -> None:
    scale = _scales(scale_format, 130)
    every = np.arange(1 << x_format.bits).astype(np.uint8).view(x_format.dtype)
    x = np.broadcast_to(every, (len(scale), len(every)))
    types = Types(x_format, scale_format, scale_format)
    rng = generator("codes", *types)
    for output in OUTPUTS:
        for zero_point in (None, draw_zero_point(rng, x_format, scale.shape)):
            options = {"axis": 0, "output_dtype": output}
            expected = expect_dequantized(x, scale, zero_point, types, options)
            for who in tiers_and_threads(threads=(2,)):
                got = codes(lp.dequantize_linear(x, scale, zero_point, **options), output)
                what = f"{who}, {x_format.name} by {scale_format.name} to {output.name}"
                per_row = np.broadcast_to(scale[:, None], x.shape)
                compare(tally, "DequantizeLinear, every code", got, expected, what, x, per_row)


@pytest.mark.parametrize("scale_format", SCALES, **BY_NAME)
@pytest.mark.parametrize("x_format", [fmt for fmt in SOURCES if fmt.bits == 16], **BY_NAME)
def test_every_16_bit_code(x_format: Format, scale_format: Format, tally: Counter[str]) -> None:
    every = np.arange(1 << 16).astype(np.uint16).view(x_format.dtype)
    types = Types(x_format, scale_format, scale_format)
    rng = generator("16 bits", *types)
    zero_points = draw_zero_point(rng, x_format, (40,))
    chosen = _scales(scale_format, 4)
    for place, scale in enumerate(chosen[:: max(1, len(chosen) // 12)]):
        zero_point = None if place % 3 == 0 else zero_points[place % 40]
        options = {"output_dtype": OUTPUTS[place % 3]}
        expected = expect_dequantized(every, np.asarray(scale), zero_point, types, options)
        for who in tiers_and_threads(threads=(2,)):
            got = codes(lp.dequantize_linear(every, scale, zero_point, **options), OUTPUTS[place % 3])
            compare(tally, "DequantizeLinear, every code", got, expected, f"{who}, {types}, {options}", every, scale)


@pytest.mark.parametrize("scale_format", SCALES, **BY_NAME)
def test_int32_is_rounded_to_float32_first(scale_format: Format, tally: Counter[str]) -> None:
    # ties of the conversion to float32 at every exponent, and numbers around them
    powers = 2 ** np.arange(24, 31, dtype=np.int64)
    half_ulps = powers >> 24
    rows = [powers + k * half_ulps + step for k in (-3, -1, 1, 3, 5, 7) for step in (-1, 0, 1)]
    wide = np.concatenate([*rows, np.arange(-5, 6), [2**31 - 1, -(2**31), 2**31 - 64, 2**31 - 65]])
    both = np.concatenate([wide, -wide])
    rng = generator("int32", scale_format)
    x = np.concatenate([np.clip(both, -(2**31), 2**31 - 1), rng.integers(-(2**31), 2**31, 2000)]).astype(np.int32)
    scale = _scales(scale_format, 20)
    grid = np.broadcast_to(x, (len(scale), len(x)))
    types = Types(as_format("int32"), scale_format, scale_format)
    for output in OUTPUTS:
        options = {"axis": 0, "output_dtype": output}
        expected = expect_dequantized(grid, scale, None, types, options)
        for who in tiers_and_threads(threads=(2,)):
            got = codes(lp.dequantize_linear(grid, scale, **options), output)
            per_row = np.broadcast_to(scale[:, None], grid.shape)
            compare(tally, "DequantizeLinear, int32", got, expected, f"{who}, {scale_format.name}", grid, per_row)


def test_the_product_is_rounded_to_float32_then_to_the_output() -> None:
    # products that float32 rounds onto a tie of the output: rounded once, half of them would become another value
    rng = generator("twice")
    for output in OUTPUTS[:2]:
        low = rng.integers(0x3800, 0x4800, 50_000).astype(np.uint16)
        tie = (decoded(low, output) + decoded(low + np.uint16(1), output)) / 2
        x = rng.integers(1, 256, tie.shape).astype(np.uint8)
        scale = (tie / x).astype(np.float32)
        exact = x * scale.astype(np.float64)
        on_a_tie = (exact.astype(np.float32) == tie) & (exact != tie)
        x, scale, exact = x[on_a_tie], scale[on_a_tie], exact[on_a_tie]
        twice = whole_arrays.expected_from_float64(exact.astype(np.float32).astype(np.float64), output)
        assert np.count_nonzero(twice != whole_arrays.expected_from_float64(exact, output)) > 1000
        for who in tiers_and_threads(threads=(2,)):
            got = codes(lp.dequantize_linear(x, scale, axis=0, output_dtype=output), output)
            assert np.array_equal(got, twice), who
