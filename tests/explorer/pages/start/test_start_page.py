"""The examples of the start page: every number computed by the library, every link opened."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.start.examples import EXAMPLES, Example
from lowprec.explorer.pages.start.thumbnails import BLOCK, MINUS_ZERO, THUMBNAILS, TOPS, thumbnail
from lowprec.spec.operator_versions import NEWEST

E4M3, FNUZ, E5M2, POWERS, BF16 = "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e8m0fnu", "bfloat16"


def value(code: int, fmt: str) -> str:
    return str(reference.decode(code, fmt))


def result(x: object, fmt: str, **options: object) -> str:
    return str(lp.explain(x, fmt, **options).value)


def example(key: str) -> Example:
    return next(row for row in EXAMPLES if row.key == key)


FACTS = {
    "448": ["is 448, code 0x7E", "0x7F", "would be 480", "it is NaN"],
    "465": [f"saturate it becomes {result(465, E4M3)}", "without, NaN"],
    "fnuz": [
        f"has the bias {lp.as_format(FNUZ).bias}, {E4M3} the bias {lp.as_format(E4M3).bias}",
        f"1 is {reference.encode(1, FNUZ):#x} in the one and {reference.encode(1, E4M3):#x} in the other",
        f"largest value {lp.finfo(FNUZ).max:g} instead of {lp.finfo(E4M3).max:g}",
    ],
    "e8m0": [
        f"3 lies between {value(0x80, POWERS)} and {value(0x81, POWERS)}: "
        f"round_mode up gives {result(3, POWERS, round_mode='up')}, down gives {result(3, POWERS, round_mode='down')}, "
        f"and nearest gives {result(3, POWERS, round_mode='nearest')}"
    ],
    "double rounding": [
        f"rounds up to {result('1.0039063', BF16)}",
        f"to the even code: {result(lp.explain('1.0039063', 'float32').value, BF16)}",
    ],
    "packing": [f"codes 0x2 and 0x3 make the byte {lp.pack(np.array([2, 3], np.uint8), 'int4')[0]:#04x}"],
    "block size": ["NVFP4 has a larger signal-to-noise ratio than MXFP4 with any block size and scale rule"],
    "minus zero": [f"of its own in {E4M3}, {reference.encode('-0', E4M3):#x}"],
    "subnormal": ["From 2^-6 down", "0x07 is 7/8 · 2^-6", "The step stays 2^-9"],
    "opset": [f"the largest value, {result('inf', FNUZ, opset=24)} in {FNUZ}", f"that opset {NEWEST} changes"],
}
"""What the text of an example has; where no call is, the numbers are compared below."""


def test_the_ends_of_float8() -> None:
    last = reference.decode(lp.finfo(E4M3).max_code, E4M3)
    step = reference.ulp(last, E4M3)
    assert (lp.finfo(E4M3).max_code, last.number, last.number + step, value(0x7F, E4M3)) == (0x7E, 448, 480, "nan")
    assert result("inf", E5M2, saturate=False) == "inf"  # the task of 448: it has Inf
    assert result(465, E4M3, saturate=False) == "nan"
    tie = last.number + step / 2  # the last number that rounds to the largest value
    assert result(str(tie), E4M3, saturate=False) == "448"
    assert result(str(tie + Fraction(1, 2**60)), E4M3, saturate=False) == "nan"
    assert f"type {tie}," in example("465").task
    assert [code for code in range(256) if value(code, FNUZ).endswith("nan")] == [0x80]
    assert (result(300, FNUZ), result(300, E4M3)) == ("240", "288")
    assert result("inf", FNUZ, opset=23).endswith("nan")


def test_ties_and_small_numbers() -> None:
    assert lp.explain(3, POWERS, round_mode="nearest").is_tie
    assert example("double rounding").query["at"] == "1.0039063"
    x, direct, between = Fraction("1.0039063"), lp.explain("1.0039063", BF16), lp.explain("1.0039063", "float32").value
    assert x > direct.midpoint.number == between.number
    assert lp.explain(between, BF16).is_tie
    assert f"1.0039063 is above {direct.midpoint}," in example("double rounding").text
    assert reference.encode("-0", "float4_e2m1fn") == 0x8
    assert reference.encode("-0", FNUZ) == reference.encode("-0", "int8") == 0
    no_nan = [fmt for fmt in example("minus zero").query["fmts"].split(",") if not result("nan", fmt).endswith("nan")]
    assert no_nan == ["float4_e2m1fn", "int8"]
    smallest = Fraction(lp.finfo(E4M3).smallest_normal)
    assert smallest == Fraction(1, 2**6)
    assert reference.ulp(Fraction(1, 2**9), E4M3) == reference.ulp(smallest, E4M3) == Fraction(1, 2**9)
    assert reference.decode(7, E4M3).number == Fraction(7, 8) * smallest


def test_nvfp4_loses_less_than_mxfp4() -> None:
    x = np.asarray(np.random.default_rng(0).standard_normal((32, 64)), np.float32)

    def loss(back: np.ndarray) -> float:
        return float(np.square(back.astype(float) - x).sum())

    nvfp4 = loss(np.asarray(lp.nvfp4_dequantize(*lp.nvfp4_quantize(x))))
    for rule, size in product(("floor", "ceil", "rceil", "even", "nearest"), (16, 32, 64)):
        codes, scales = lp.mx_quantize(x, "float4_e2m1fn", block_size=size, scale_rule=rule)
        assert loss(np.asarray(lp.mx_dequantize(codes, scales, block_size=size))) > nvfp4


def test_there_are_ten_examples_each_with_a_drawing() -> None:
    assert [row.key for row in EXAMPLES] == list(FACTS) == list(THUMBNAILS)
    assert len(EXAMPLES) == 10
    for key, (label, _) in THUMBNAILS.items():
        assert f'aria-label="{label}"' in str(thumbnail(key))


def test_the_drawing_of_minus_zero_says_what_the_library_computes() -> None:
    for fmt, number, code in MINUS_ZERO:
        encoded = reference.encode("-0", fmt)
        assert value(encoded, fmt).replace("-", "−") == number
        assert f"0x{encoded:0{-(-lp.as_format(fmt).bits // 4)}X}" == code


def test_the_drawing_of_blocks_says_what_the_library_computes() -> None:
    x = np.asarray([BLOCK], np.float32)
    _, power = lp.mx_quantize(x, "float4_e2m1fn", block_size=32)
    _, scales, scale = lp.nvfp4_quantize(x)
    reach = [float(one) for one in (*power.ravel(), *(scales.ravel().astype(float) * float(scale)))]
    assert [round(6 * one, 2) for one in reach] == list(TOPS)
    assert "reaches 3, two NVFP4 blocks reach 1.35 and 2.52" in THUMBNAILS["block size"][0]


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row.key)
def test_an_example_says_what_the_library_computes(row: Example) -> None:
    for fact in FACTS[row.key]:
        assert fact in row.text
