"""DequantizeLinear against the oracle: every combination of types in every version, every granularity."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.quantize_cases import (
    PRECISIONS,
    VERSIONS,
    Types,
    codes,
    dequantize_case,
    generator,
    granularities,
    type_table,
)

import lowprec as lp
from lowprec.spec.formats import Format, as_format

OUTPUTS = PRECISIONS[:3]
SOURCES = [(v, x) for v in VERSIONS for x in dict.fromkeys(t.x for t in type_table("DequantizeLinear", v))]


def _check(
    tally: Counter[str], rng: np.random.Generator, types: Types, shape: tuple[int, ...], scale_shape: tuple[int, ...],
    options: dict[str, Any], *, with_zero_point: bool,
) -> None:  # fmt: skip
    """Draw one call, and compare its codes by every instruction set."""
    x, scale, zero_point, expected = dequantize_case(
        rng, types, shape, scale_shape, options, zero_point=with_zero_point
    )
    for who in tiers_and_threads(threads=()):
        result = lp.dequantize_linear(x, scale, zero_point, **options)
        got = codes(result, as_format(options.get("output_dtype") or types.scale))
        what = f"{who}, {types.x.name} by {types.scale.name}, scale {scale_shape}, {options}"
        compare(tally, "DequantizeLinear, types and shapes", got, expected, what, x)


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("version", "x"), SOURCES, ids=lambda part: getattr(part, "name", part))
def test_every_combination(version: int, x: Format, tally: Counter[str]) -> None:
    shape = (3, 5, 7)
    layouts = list(granularities(shape, version))
    for types in type_table("DequantizeLinear", version):
        if types.x is not x:
            continue
        for output in (None, *OUTPUTS) if version >= 23 else (None,):
            if output is None and not types.scale.has_zero:
                continue
            rng = generator("types", version, *types, output)
            later = [layouts[i] for i in rng.permutation(np.arange(2, len(layouts)))[:8]]
            for place, (scale_shape, plain) in enumerate([*layouts[:2], *later]):
                options: dict[str, Any] = {**plain, "opset": version}
                if output is not None:
                    options["output_dtype"] = output.name
                has_zero_point = x.bits < 32 and place % 3 != 2
                _check(tally, rng, types, shape, scale_shape, options, with_zero_point=has_zero_point)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("shape", [(9,), (1,), (4, 6), (6, 1), (2, 3, 5), (2, 3, 2, 4), (2, 1, 3, 2, 2)])
@pytest.mark.parametrize("x", ["uint8", "int4", "float8_e4m3fn", "float4_e2m1fn", "int32"])
def test_every_granularity(shape: tuple[int, ...], x: str, tally: Counter[str]) -> None:
    types = Types(as_format(x), as_format("float32"), as_format("float32"))
    rng = generator("granularity", shape, x)
    for scale_shape, options in granularities(shape, 28):
        for with_zero_point in (True, False) if types.x.bits < 32 else (False,):
            _check(tally, rng, types, shape, scale_shape, options, with_zero_point=with_zero_point)


def test_the_result_has_the_type_of_the_scale() -> None:
    x = np.array([0, 3, 128, 255], np.uint8)
    for output in OUTPUTS:
        got = lp.dequantize_linear(x, np.asarray(2, output.dtype), np.uint8(128))
        assert got.dtype == output.dtype
        assert got.astype(np.float32).tolist() == [-256, -250, 0, 254]
    assert lp.dequantize_linear(x, 2.0, 128).dtype == np.float32
    assert lp.dequantize_linear(x, 2.0, 128).tolist() == [-256, -250, 0, 254]
    half = lp.dequantize_linear(x, 2.0, 128, output_dtype="float16")
    assert half.dtype == np.float16
    assert half.tolist() == [-256, -250, 0, 254]


def test_a_zero_keeps_the_sign_of_the_product() -> None:
    float4 = as_format("float4_e2m1fn")
    minus = np.float32(-2)
    assert np.signbit(lp.dequantize_linear(np.array([0, 5], np.int8), minus, np.int8(0))).tolist() == [True, True]
    assert np.signbit(lp.dequantize_linear(np.array([5, 4], np.int8), np.float32(2), np.int8(5))).tolist() == [
        False,
        True,
    ]
    x = np.array([0x8, 0x0, 0x2], np.uint8).view(float4.dtype)  # -0, +0, 1
    assert np.signbit(lp.dequantize_linear(x, np.float32(2))).tolist() == [True, False, False]
    for zero_point, signs in ((0x0, [True, False, False]), (0x8, [False, False, False])):
        offset = np.asarray(np.uint8(zero_point)).view(float4.dtype)
        assert np.signbit(lp.dequantize_linear(x, np.float32(2), offset)).tolist() == signs
    one = np.asarray(np.uint8(0x2)).view(float4.dtype)
    assert lp.dequantize_linear(x, np.float32(2), one).tolist() == [-2, -2, 0]
    x8 = np.array([0x80, 0x00], np.uint8).view(as_format("float8_e5m2").dtype)
    assert np.signbit(lp.dequantize_linear(x8, np.float32(2), np.zeros_like(x8[0]))).tolist() == [True, False]
