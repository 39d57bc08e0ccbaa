"""`explain`: neighbours, midpoints, ties, the rule, and the printed table."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction

import pytest

from lowprec.reference.exact_cast import Value, decode, encode
from lowprec.reference.explanation import explain
from lowprec.spec.formats import NUMERIC, Kind


def test_explain_a_tie():
    result = explain(2.5, "FLOAT4E2M1")
    assert (result.lower, result.upper) == ((4, Value.of(2)), (5, Value.of(3)))
    assert (result.midpoint, result.is_tie, result.code, result.value) == (Value.of(2.5), True, 4, Value.of(2))
    assert "even" in result.rule
    assert "lower" in result.rule
    assert "upper" in explain(-2.5, "FLOAT4E2M1").rule
    assert explain(3.5, "float4_e2m1fn").code == 6
    assert not explain(2.4999, "float4_e2m1fn").is_tie
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.code = 1


def test_explain_beyond_the_largest():
    result = explain(-464, "float8_e4m3fn")
    assert (result.lower, result.upper) == (None, (0xFE, Value.of(-448)))
    assert (result.midpoint, result.is_tie, result.code) == (Value.of(-464), True, 0xFE)
    assert "saturate" in explain(465, "float8_e4m3fn").rule
    assert "NaN" in explain(465, "float8_e4m3fn", saturate=False).rule
    assert "19 to 23" in explain("inf", "float8_e5m2fnuz", opset=19).rule
    assert explain("inf", "float16").value == Value.of("inf")
    assert explain("inf", "float16").lower == (0x7BFF, Value.of(65504))


def test_explain_exact_zero_nan_and_targets_without_rounding():
    one = explain(1, "bfloat16")
    assert one.lower == one.upper == (0x3F80, Value.of(1))
    assert one.midpoint is None
    assert explain(-0.0, "float8_e4m3fn").lower == (0x80, Value.of(-0.0))
    assert explain("-1e-9", "float8_e5m2fnuz").upper == (0, Value.of(0))
    nan = explain("nan", "float6_e2m3fn")
    assert (nan.lower, nan.upper, nan.midpoint, nan.code) == (None, None, None, 0x20)
    assert explain("-inf", "int4").upper == (8, Value.of(-8))
    wrapped = explain(200.5, "int8")
    assert (wrapped.lower, wrapped.upper, wrapped.code) == ((127, Value.of(127)), None, 200)
    assert wrapped.rule == "truncated toward zero, then modulo 2**8"
    assert explain(-2.5, "int4").lower == (0xD, Value.of(-3))
    assert explain("0.5", "bool").code == 1


def test_explain_e8m0():
    result = explain(-3, 24, round_mode="nearest")
    assert (result.lower, result.upper) == ((0x80, Value.of(2)), (0x81, Value.of(4)))
    assert (result.is_tie, result.code) == (True, 0x81)
    assert "sign" in result.rule
    low = explain(0, 24)
    assert (low.lower, low.upper, low.midpoint) == (None, (0, Value.of("0x1p-127")), None)
    high = explain("1e300", 24, saturate=False)
    assert (high.lower, high.upper, high.code) == ((0xFE, Value.of(2**127)), None, 0xFF)


def test_explanation_prints_an_aligned_block():
    assert str(explain("-17/23", "float8_e4m3fn")).splitlines() == [
        "float8_e4m3fn: nearer to the lower neighbour",
        "          code  bits        hex-float  decimal",
        "x                                      -17/23",
        "lower     0xb4  1|0110|100  -0x1.8p-1  -0.75",
        "midpoint                    -0x1.7p-1  -0.71875",
        "upper     0xb3  1|0110|011  -0x1.6p-1  -0.6875",
        "result    0xb4  1|0110|100  -0x1.8p-1  -0.75",
    ]
    assert str(explain("nan", 24)).splitlines()[-1] == "result    0xff  11111111             nan"
    assert str(explain(True, "bool")).splitlines()[-1] == "result    0x01  00000001  0x1p+0     1"
    assert "0x0p+0" in str(explain(0, "int4"))
    assert all(line == line.rstrip() for line in str(explain(0.1, "float64")).splitlines())


def test_explain_and_encode_agree_on_random_values():
    rng = random.Random(7)
    for fmt in NUMERIC:
        for _ in range(40):
            x = Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**4)) * Fraction(2) ** rng.randint(-20, 20)
            result = explain(x, fmt)
            assert result.code == encode(x, fmt)
            assert result.value == decode(result.code, fmt)
            if fmt.kind is Kind.FLOAT and fmt.signed and result.lower and result.upper:
                assert result.lower[1].number <= x <= result.upper[1].number
                assert result.value in (result.lower[1], result.upper[1])
                errors = [abs(x - side[1].number) for side in (result.lower, result.upper)]
                assert abs(x - result.value.number) == min(errors)
