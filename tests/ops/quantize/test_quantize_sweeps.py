"""QuantizeLinear at its boundaries: ties ± 2 ulps under many scales, overflow, special values, every half."""

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
    expect_quantized,
    generator,
    put,
    tie_inputs,
    type_table,
)

import lowprec as lp
from lowprec.reference.whole_arrays import decoded, quantized
from lowprec.spec.formats import Format, as_format

BY_NAME = {"ids": lambda fmt: fmt.name}
QUANTIZE = type_table("QuantizeLinear", 28)
TARGETS = list(dict.fromkeys(types.y for types in QUANTIZE))
INPUTS = list(dict.fromkeys(types.x for types in QUANTIZE))
FLOAT32 = as_format("float32")


@pytest.mark.one_in(7)
@pytest.mark.parametrize("x_format", INPUTS, **BY_NAME)
@pytest.mark.parametrize("y", TARGETS, **BY_NAME)
def test_ties(x_format: Format, y: Format, tally: Counter[str]) -> None:
    for types in QUANTIZE:
        if types.x is not x_format or types.y is not y:
            continue
        x, scale = tie_inputs(types)
        rng = generator("ties", *types)
        for zero_point in (None, draw_zero_point(rng, y, scale.shape)):
            options = {"axis": 0} if zero_point is not None else {"axis": 0, "output_dtype": y}
            expected = expect_quantized(x, scale, zero_point, types, options)
            for who in tiers_and_threads(threads=(2,)):
                got = codes(lp.quantize_linear(x, scale, zero_point, **options), y)
                what = f"{who}, {x_format.name} by {types.scale.name} to {y.name}"
                per_row = [np.broadcast_to(scale[:, None], x.shape)]
                if zero_point is not None:
                    per_row.append(np.broadcast_to(zero_point[:, None], x.shape))
                compare(tally, "QuantizeLinear, ties", got, expected, what, x, *per_row)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("y", ["uint8", "int8", "int4", "uint16", "float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1fn"])
@pytest.mark.parametrize("x_format", [fmt for fmt in INPUTS if fmt.bits == 16], **BY_NAME)
def test_every_16_bit_input(x_format: Format, y: str, tally: Counter[str]) -> None:
    x = np.arange(1 << 16).astype(np.uint16).view(x_format.dtype)
    target = as_format(y)
    types = Types(x_format, x_format, target)
    for scale in put(np.array([1, 0.1, 3, -0.7, 2.0**-12, 1e-4]), x_format):
        for precision in (None, FLOAT32):
            options = {"output_dtype": target, "precision": precision}
            expected = expect_quantized(x, scale, None, types, options)
            for who in tiers_and_threads(threads=(2,)):
                got = codes(lp.quantize_linear(x, scale, **options), target)
                compare(tally, "QuantizeLinear, every 16-bit input", got, expected, f"{who}, {types}", x, scale)


@pytest.mark.parametrize("precision", PRECISIONS, **BY_NAME)
@pytest.mark.parametrize("y", ["uint8", "int16", "float8_e5m2", "float8_e4m3fnuz", "float4_e2m1fn"])
def test_quotients_near_the_ties_of_the_precision(precision: Format, y: str, tally: Counter[str]) -> None:
    # quotients that almost reach a midpoint between two values of the precision, subnormal ones among them; the scale
    # of the target then makes them land where it looks
    rng = generator("precision ties", precision, y)
    target = as_format(y)
    narrow = precision if precision.bits < 32 else FLOAT32
    scale = decoded(rng.integers(1, narrow.max_code, 20_000, np.uint64).astype(narrow.code_dtype), narrow)
    reach = np.exp2(rng.uniform(-12, 16, scale.shape))
    wanted = put(reach, narrow).astype(np.float64)
    with np.errstate(all="ignore"):
        x = put(wanted * (1 + 2.0 ** -(narrow.mantissa_bits + 1)) * scale, FLOAT32)
    factor = scale.astype(np.float32)
    expected = quantized(x.astype(np.float64), scale, None, target, precision=precision)
    for who in tiers_and_threads(threads=(2,)):
        options = {"axis": 0, "precision": precision, "output_dtype": target}
        got = codes(lp.quantize_linear(x, factor, **options), target)
        compare(tally, "QuantizeLinear, ties", got, expected, f"{who}, {precision.name}", x, factor)


def test_an_absent_zero_point_adds_nothing() -> None:
    # -0 stays; and a float64 quotient just above the tie at 0.25 is not rounded to float32 on its way
    x = np.array([-0.0, 0.0, -0.1], np.float32)
    for name, zero in (("float4_e2m1fn", 0x8), ("float6_e2m3fn", 0x20), ("float6_e3m2fn", 0x20)):
        fmt = as_format(name)
        assert codes(lp.quantize_linear(x[:2], 1.0, output_dtype=fmt), fmt).tolist() == [zero, 0]
        plus, minus = np.zeros((), fmt.dtype), np.asarray(np.uint8(zero)).view(fmt.dtype)
        assert codes(lp.quantize_linear(x[:2], 1.0, plus), fmt).tolist() == [0, 0]
        assert codes(lp.quantize_linear(x[:2], 1.0, minus), fmt).tolist() == [zero, 0]
    fmt = as_format("float4_e2m1fn")
    above = np.array([536870912, -536870912, 536870911], np.int32)
    scale = np.int32(2147483647)
    assert codes(lp.quantize_linear(above, scale, output_dtype=fmt), fmt).tolist() == [1, 9, 0]
    assert codes(lp.quantize_linear(above, scale, np.zeros((), fmt.dtype)), fmt).tolist() == [0, 8, 0]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("y", TARGETS, **BY_NAME)
def test_large_arrays_on_many_threads(y: Format, tally: Counter[str]) -> None:
    rng = generator("large", y)
    x = (rng.normal(0, 1, (5, 509, 41)) * float(y.max)).astype(np.float32)
    ways = [(0, 0, (5,)), (1, 0, (509,)), (2, 0, (41,)), (1, 100, (5, 6, 41)), (2, 32, (5, 509, 2)), (0, 0, ())]
    for axis, block, shape in ways:
        scale = np.exp2(rng.uniform(-2, 2, shape)).astype(np.float32)
        zero_point = draw_zero_point(rng, y, shape)
        types, options = Types(FLOAT32, FLOAT32, y), {"axis": axis, "block_size": block}
        expected = expect_quantized(x, scale, zero_point, types, options)
        for who in tiers_and_threads():
            got = codes(lp.quantize_linear(x, scale, zero_point, **options), y)
            compare(tally, "QuantizeLinear, large arrays", got, expected, f"{who}, {y.name}, {options}", x)
