"""The steps from the largest magnitude of a block to its scale: by hand, and the last one as the oracle has it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from lowprec import reference
from lowprec.teaching import linear_scale_steps, mx_scale_steps, nvfp4_scale_steps

RULES = ("floor", "ceil", "rceil", "even", "nearest")
ELEMENTS = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e4m3fn", "float8_e5m2", "int8", "binary6p3se")


def numbers(steps):
    return {step.symbol: str(step.value) for step in steps}


def test_rules_of_mx_by_hand() -> None:
    # 7 = 1.75 * 4 and M = 6 = 1.5 * 4
    found = {rule: numbers(mx_scale_steps(7, "float4_e2m1fn", rule)) for rule in RULES}
    assert found["floor"] == {"a": "7", "M": "6", "emax": "2", "E": "0", "s": "1"}
    assert found["ceil"] == {"a": "7", "M": "6", "emax": "2", "E": "1", "s": "2"}
    assert found["rceil"]["E"] == "1"
    assert found["even"] == {"a": "7", "M": "6", "emax": "2", "a'": "8", "E": "1", "s": "2"}
    assert found["nearest"]["E"] == "1"
    assert numbers(mx_scale_steps("1.5", "int8")) == {"a": "1.5", "M": "1.984375", "emax": "0", "E": "0", "s": "1"}
    assert numbers(mx_scale_steps(448, "float8_e4m3fn"))["emax"] == "8"


@pytest.mark.parametrize("element", ELEMENTS)
@pytest.mark.parametrize("rule", RULES)
def test_scales_of_mx_are_those_of_the_blocks(element: str, rule: str) -> None:
    for largest in (1.0, 1.25, 1.4142135623730951, 1.75, 1.99, 5.7, 6.0, 7.0, 449.0, 2.0**-140, 2.0**140, 0.0):
        scales = reference.mx_blocks(np.array([largest, -largest / 3]), element, scale_rule=rule, block_size=2)[1]
        last = mx_scale_steps(largest, element, rule)[-1]
        assert (last.symbol, last.value) == ("s", reference.decode(int(scales[0]), "float8_e8m0fnu"))


@pytest.mark.parametrize("largest", [0.0, 2.0**-149, 1e-6, 0.3, 1.0, 6.0, 300.0, 2688.0, 1e30])
@pytest.mark.parametrize("factor", [2.0**-149, 2.0**-20, 0.25, 1.0, 3e30])
def test_scales_of_nvfp4_are_those_of_the_blocks(largest: float, factor: float) -> None:
    single = float(np.float32(largest))
    scales = reference.nvfp4_blocks(np.array([single]), block_size=1, global_scale=factor)[1]
    found = {step.symbol: step.value for step in nvfp4_scale_steps(single, factor)}
    scale = reference.decode(int(scales[0]), "float8_e4m3fn")
    assert found["s"] == scale
    with np.errstate(over="ignore"):
        assert float(found["f"]) == float(np.float32(float(scale)) * np.float32(factor))
        assert float(found["q"]) == float(np.float32(single) / np.float32(6) / np.float32(factor))


def test_nvfp4_says_where_a_scale_is_kept_in_range() -> None:
    formulas = [nvfp4_scale_steps(largest, 1)[4].formula for largest in (3, 6 * 449, 2.0**-20, 0)]
    assert ["kept" in formula for formula in formulas] == [False, True, True, False]


@pytest.mark.parametrize(("target", "end"), [("int4", 7), ("uint8", 255), ("float8_e4m3fn", 448)])
@pytest.mark.parametrize("kept", ["float32", "float16", "bfloat16"])
def test_scales_of_quantize_linear(target: str, end: int, kept: str) -> None:
    for largest in (9.0, 0.1, 7e4):
        *_, wanted, scale = linear_scale_steps(largest, target, kept)
        assert wanted.value.magnitude == Fraction(largest) / end
        assert scale.value == reference.decode(reference.encode(Fraction(largest) / end, kept), kept)
    assert numbers(linear_scale_steps(0, target, kept))["s"] == "1"
    assert numbers(linear_scale_steps(1e-30, target, "float16"))["s"] == str(reference.decode(1, "float16"))
    assert numbers(linear_scale_steps("1e30", target, "float16"))["s"] == "65504"


def test_every_step_is_a_line() -> None:
    assert str(mx_scale_steps(3)[-1]) == "s = 2^E = 0.5"
    assert math.isfinite(float(mx_scale_steps("1e300")[-1].value))
    assert "kept from -127 to 127" in str(mx_scale_steps("1e300")[-2])
