"""`explain`: neighbours, midpoints, ties, the rule, and the printed table."""

from __future__ import annotations

import dataclasses
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.notebook_page import page_of

from lowprec.explanation import explain
from lowprec.reference.exact_cast import Value, cast, decode, encode, encode_rounded
from lowprec.reference.philox import random_word
from lowprec.spec.formats import FORMATS, NUMERIC, Kind
from lowprec.spec.rounding_modes import OVERFLOWS, ROUNDINGS, Rounding, Stream


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
        result.code = 1  # type: ignore[misc]


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
        "float8_e4m3fn: nearer to the lower neighbour", "          code  bits        hex-float  decimal",
        "x                                      -17/23", "lower     0xb4  1|0110|100  -0x1.8p-1  -0.75",
        "midpoint                    -0x1.7p-1  -0.71875", "upper     0xb3  1|0110|011  -0x1.6p-1  -0.6875",
        "result    0xb4  1|0110|100  -0x1.8p-1  -0.75",
    ]  # fmt: skip
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


# ---- rounding rules beyond ONNX
def test_explain_a_rounding() -> None:
    # -2.3 lies 3/10 of the way from -2 (code C) to -3 (code D); C is even
    result = explain("-2.3", "float4_e2m1fn", rounding="to_odd")
    assert (result.lower, result.upper) == ((0xD, Value.of(-3)), (0xC, Value.of(-2)))
    assert (result.code, result.rule, result.fraction) == (0xD, "the lower neighbour: it is odd", Fraction(3, 10))
    assert result.rounding == Rounding("to_odd", "sat_finite", "signed", 0)
    assert (result.stream, result.random, result.threshold) == (None, None, None)
    ends = {
        "nearest_zero": "tie: the lower neighbour is the one nearer to zero",
        "nearest_away": "tie: the upper neighbour is the one farther from zero",
        "toward_positive": "the upper neighbour: it is the greater one",
    }
    assert {mode: explain("2.5", "float4_e2m1fn", rounding=mode).rule for mode in ends} == ends
    onnx = explain("2.5", "float4_e2m1fn")
    assert (onnx.rounding, onnx.fraction) == (None, None)


def test_explain_a_random_number() -> None:
    # Random123's first words for a key of 0 are 6627e8d5 e169c58d: of 16 bits E8D5 6627 C58D. 2.3 rounds up from
    # 65536 - floor(0.3 * 65536 + 1/2) = 45875 = B333 on
    found = [explain("2.3", "float4_e2m1fn", rounding="stochastic", seed=0, offset=n) for n in range(3)]
    assert [one.random for one in found] == [0xE8D5, 0x6627, 0xC58D]
    assert [one.threshold for one in found] == [0xB333] * 3
    assert [one.code for one in found] == [5, 4, 5]
    assert found[1].stream == Stream(0, 1)
    assert found[1].rule == "the lower neighbour: the random number 26151 is below 45875, of 2**16"
    assert str(found[1]).splitlines()[-4:] == [
        "rounding  stochastic_b, overflow sat_finite, nan signed",
        "fraction  3/10 = 0b0.01001100110011001100110011001100...",
        "random    26151 = 0b0110011000100111, place 1 of seed 0",
        "chance    19661 of 2**16, the numbers from 45875 on, round away from zero",
    ]
    exact = explain(2, "float4_e2m1fn", rounding="stochastic_a", seed=0)
    assert (exact.rule, exact.fraction, exact.threshold) == ("exact: x is a value of the format", 0, 65536)
    _, rule = page_of(found[1]).tables
    assert rule.facts["chance"] == "19661 of 2**16, the numbers from 45875 on, round away from zero"


@pytest.mark.parametrize(("x", "fmt", "options", "rule", "fraction"), [
    ("-480", "float8_e4m3fn", ("toward_zero", "ovf_inf"), "the largest value, toward_zero leads away", None),
    ("500", "float8_e4m3fn", ("nearest_even", "ovf_inf"), "ovf_inf: NaN, the format has no Inf", None),
    ("1e9", "float8_e5m2", ("to_odd", "ovf_inf"), "rounds beyond the largest value, ovf_inf: Inf", None),
    ("inf", "float8_e5m2", ("to_odd", "sat_propagate"), "infinite, sat_propagate: Inf", None),
    ("inf", "float8_e4m3fn", ("to_odd", "sat_propagate"), "the largest value, the format has no Inf", None),
    ("inf", "float4_e2m1fn", ("to_odd", "ovf_inf"), "the format has neither Inf nor NaN", None),
    ("0", "float8_e8m0fnu", ("to_odd", "ovf_inf"), "below the smallest value, ovf_inf: NaN", None),
    ("-0x1.8p-128", "float8_e8m0fnu", ("nearest_even", "ovf_inf"), "neighbour is even, the sign", "1/2"),
    ("0", "float8_e5m2", ("to_odd", "ovf_inf"), "exact", "0"),
    ("-nan", "float8_e5m2", ("to_odd", "ovf_inf"), "canonical NaN", None),
])  # fmt: skip
def test_explain_the_ends(x: str, fmt: str, options: tuple[str, str], rule: str, fraction: str | None) -> None:
    result = explain(x, fmt, rounding=options[0], overflow=options[1])
    assert rule in result.rule
    assert result.fraction == (None if fraction is None else Fraction(fraction))


def test_explain_and_encode_rounded_agree_on_random_values() -> None:
    rng = random.Random(8)
    for fmt in (FORMATS[name] for name in ("float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu", "float16")):
        for mode in ROUNDINGS:
            for overflow in OVERFLOWS:
                x = Fraction(rng.randint(-(10**6), 10**6), rng.randint(1, 10**4)) * Fraction(2) ** rng.randint(-20, 20)
                bits = 8 if mode.startswith("stochastic") else 0
                stream = {"seed": 3, "offset": 2**40, "random_bits": 8} if bits else {}
                result = explain(x, fmt, rounding=mode, overflow=overflow, nan="plain", **stream)
                rules = Rounding("stochastic_b" if mode == "stochastic" else mode, overflow, "plain", bits)
                number = random_word(3, 2**40, 8) if bits else None
                assert result.code == encode_rounded(x, fmt, rules, number)
                if result.threshold is not None and result.lower and result.upper and fmt.signed:
                    away = result.upper if x > 0 else result.lower
                    assert (result.code == away[0]) == (result.random >= result.threshold)


# ---- codes of another format


SOURCES = (
    "float8_e4m3fn", "float8_e5m2fnuz", "float6_e2m3fn", "int4", "uint8", "bool", "float8_e8m0fnu", "float8_e4m3",
)  # fmt: skip


@pytest.mark.parametrize("fmt", ["float8_e5m2", "float4_e2m1fn", "float8_e4m3fn", "int4", "float8_e8m0fnu", "float16"])
@pytest.mark.parametrize("options", [{}, {"saturate": False}, {"rounding": "to_odd"}, {"overflow": "ovf_inf"}], ids=str)
def test_a_code_becomes_what_cast_makes_of_it(fmt: str, options: dict[str, Any]) -> None:
    if not FORMATS[fmt].is_float and options:
        options = {}
    for source in SOURCES:
        for code in range(2 ** FORMATS[source].bits):
            found = explain(code, fmt, source=source, **options)
            assert found.code == cast(code, source, fmt, **options)
            assert (found.x, found.source, found.source_code) == (decode(code, source), FORMATS[source], code)


def test_a_code_is_shown() -> None:
    found = explain(np.uint8(0x7D), "float8_e5m2", source="float8_e5m2", saturate=False)
    assert (found.code, found.rule) == (0x7D, "the same format: the bits are copied")
    wide = explain(np.uint16(0x7E01), "float16", source="float16")
    assert (wide.code, wide.rule) == (0x7E01, "the same format: the bits are copied")
    assert repr(explain(0x2A, "int4", source="float8_e4m3fn")).splitlines()[2].split() == [
        "x", "0x2a", "0|0101|010", "0x1.4p-2", "0.3125",
    ]  # fmt: skip
    assert "0|0101|010" in explain(0x2A, "int4", source="float8_e4m3fn")._repr_html_()
    assert explain(2.5, "int4").source is None
