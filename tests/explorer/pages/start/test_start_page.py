"""The examples of the start page: every number computed by the library, every link opened."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages import STATES
from lowprec.explorer.pages.start.examples import EXAMPLES, Example
from lowprec.explorer.pages.start.thumbnails import BLOCK, MINUS_ZERO, THUMBNAILS, TOPS, thumbnail
from lowprec.explorer.shared import link
from lowprec.spec.operator_versions import NEWEST

E4M3, FNUZ, E5M2, POWERS, BF16 = "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e8m0fnu", "bfloat16"


def value(code: int, fmt: str) -> str:
    return str(reference.decode(code, fmt))


def result(x: object, fmt: str, **options: object) -> str:
    return str(lp.explain(x, fmt, **options).value)


def of_448() -> list[str]:
    last = lp.finfo(E4M3).max_code
    after = reference.decode(last, E4M3).number + reference.ulp(reference.decode(last, E4M3), E4M3)
    assert value(last + 1, E4M3) == "nan"
    assert result("inf", E5M2, saturate=False) == "inf"  # the task: it has Inf
    return [f"is {value(last, E4M3)}, code {last:#04x}".replace("7e", "7E"), "0x7F", f"would be {after}", "it is NaN"]


def of_465() -> list[str]:
    # the last number that rounds to the largest value lies half a step above it
    last = reference.decode(lp.finfo(E4M3).max_code, E4M3)
    tie = last.number + reference.ulp(last, E4M3) / 2
    assert Fraction(465) > tie
    assert result(str(tie), E4M3, saturate=False) == "448"
    assert result(str(tie + Fraction(1, 2**60)), E4M3, saturate=False) == "nan"
    assert f"type {tie}," in example("465").task
    lost = {"nan": "NaN"}[result(465, E4M3, saturate=False)]
    return [f"saturate it becomes {result(465, E4M3)}", f"without, {lost}"]


def of_fnuz() -> list[str]:
    nans = [code for code in range(256) if value(code, FNUZ).endswith("nan")]
    assert nans == [0x80]
    assert result(300, FNUZ) == "240"
    assert result(300, E4M3) == "288"
    biases = [lp.as_format(fmt).bias for fmt in (FNUZ, E4M3)]
    codes = [reference.encode(1, fmt) for fmt in (FNUZ, E4M3)]
    return [
        f"has the bias {biases[0]}, {E4M3} the bias {biases[1]}",
        f"1 is {codes[0]:#x} in the one and {codes[1]:#x} in the other",
        f"largest value {lp.finfo(FNUZ).max:g} instead of {lp.finfo(E4M3).max:g}",
    ]


def of_e8m0() -> list[str]:
    lower, upper = (value(code, POWERS) for code in (0x80, 0x81))
    up, down, nearest = (result(3, POWERS, round_mode=mode) for mode in ("up", "down", "nearest"))
    assert lp.explain(3, POWERS, round_mode="nearest").is_tie
    return [
        f"3 lies between {lower} and {upper}: round_mode up gives {up}, down gives {down}, and nearest gives {nearest}"
    ]


def of_double_rounding() -> list[str]:
    x = reference.Value.of(example("double rounding").query["at"])
    direct, between = lp.explain(x, BF16), lp.explain(x, "float32").value
    assert x.number > direct.midpoint.number == between.number
    assert lp.explain(between, BF16).is_tie
    assert f"{x} is above {direct.midpoint}," in example("double rounding").text
    return [f"rounds up to {result(x, BF16)}", f"to the even code: {lp.explain(between, BF16).value}"]


def of_packing() -> list[str]:
    return [f"codes 0x2 and 0x3 make the byte {lp.pack(np.array([2, 3], np.uint8), 'int4')[0]:#04x}"]


def of_block_size() -> list[str]:
    x = np.asarray(np.random.default_rng(0).standard_normal((32, 64)), np.float32)

    def loss(back: np.ndarray) -> float:
        return float(np.square(back.astype(float) - x).sum())

    nvfp4 = loss(np.asarray(lp.nvfp4_dequantize(*lp.nvfp4_quantize(x))))
    for rule in ("floor", "ceil", "rceil", "even", "nearest"):
        for size in (16, 32, 64):
            codes, scales = lp.mx_quantize(x, "float4_e2m1fn", block_size=size, scale_rule=rule)
            assert loss(np.asarray(lp.mx_dequantize(codes, scales, block_size=size))) > nvfp4
    return ["NVFP4 has a larger signal-to-noise ratio than MXFP4 with any block size and scale rule"]


def of_minus_zero() -> list[str]:
    assert reference.encode("-0", "float4_e2m1fn") == 0x8
    assert reference.encode("-0", FNUZ) == reference.encode("-0", "int8") == 0
    no_nan = [fmt for fmt in example("minus zero").query["fmts"].split(",") if not result("nan", fmt).endswith("nan")]
    assert no_nan == ["float4_e2m1fn", "int8"]
    return [f"of its own in {E4M3}, {reference.encode('-0', E4M3):#x}"]


def of_subnormal() -> list[str]:
    smallest = Fraction(lp.finfo(E4M3).smallest_normal)
    assert smallest == Fraction(1, 2**6)
    assert reference.ulp(Fraction(1, 2**9), E4M3) == reference.ulp(smallest, E4M3) == Fraction(1, 2**9)
    assert reference.decode(7, E4M3).number == Fraction(7, 8) * smallest
    return ["From 2^-6 down", "0x07 is 7/8 · 2^-6", "The step stays 2^-9"]


def of_opset() -> list[str]:
    before, after = (result("inf", FNUZ, opset=opset) for opset in (23, 24))
    assert before.endswith("nan")
    return [f"the largest value, {after} in {FNUZ}", f"that opset {NEWEST} changes"]


FACTS: dict[str, Callable[[], list[str]]] = {
    "448": of_448, "465": of_465, "fnuz": of_fnuz, "e8m0": of_e8m0, "double rounding": of_double_rounding,
    "packing": of_packing, "block size": of_block_size, "minus zero": of_minus_zero, "subnormal": of_subnormal,
    "opset": of_opset,
}  # fmt: skip


def example(key: str) -> Example:
    return next(row for row in EXAMPLES if row.key == key)


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
    for fact in FACTS[row.key]():
        assert fact in row.text


@pytest.mark.parametrize("row", EXAMPLES, ids=lambda row: row.key)
def test_a_link_opens_its_page(row: Example) -> None:
    state, problems = link.read(STATES[row.path], row.query)
    assert problems == ()
    assert {name: text for name, text in link.write(state).items() if name in row.query} == row.query
