"""One block of Quantize: numbers against the oracle and by hand, the effect of the largest element, the section."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest
from support.explorer_pages import asked, healthy, page, pictures, texts

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.quantize import block_view as view
from lowprec.explorer.pages.quantize.settings import GRANULARITIES, Settings, mx_settings, nvfp4_settings
from lowprec.explorer.pages.quantize.view import quantize

E2M1, E4M3, INT8, E8M0 = (lp.formats[name] for name in ("float4_e2m1fn", "float8_e4m3fn", "int8", "float8_e8m0fnu"))
X = (np.random.default_rng(7).standard_t(3, (3, 20)) * 5).astype(np.float32)


def sqnr(given, back) -> float:
    noise = sum((one - other) ** 2 for one, other in zip(given, back, strict=True))
    return 10 * math.log10(sum(one * one for one in given) / noise)


@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e3m2fn", "float8_e4m3fn", "int8", "binary6p3se"])
@pytest.mark.parametrize("rule", ["floor", "rceil", "even"])
def test_blocks_of_mx_against_the_oracle(name: str, rule: str) -> None:
    fmt = lp.as_format(name)
    found = quantize(X, mx_settings(fmt, 8, scale_rule=rule))
    codes, scales = reference.mx_blocks(X, fmt, block_size=8, scale_rule=rule)
    values = reference.mx_values(codes, scales, fmt, block_size=8)
    for place in range(9):
        row, start = place // 3, place % 3 * 8
        block = view.block(found, place)
        given = X[row, start : start + 8]
        assert (block.index, block.size) == ((row, place % 3), given.size)
        assert block.scale_code == scales[row, place % 3]
        assert block.factor == reference.decode(block.scale_code, E8M0) == block.steps[-1].value
        largest = start + int(np.abs(given).argmax())
        assert block.largest == (row, largest)
        unit = Fraction(1, 64) if fmt == INT8 else 1
        back = []
        for column, member in enumerate(block.members, start):
            assert member.index == (row, column)
            assert member.x.number == Fraction(float(X[row, column]))
            assert member.quotient.number == member.x.number / block.factor.number / unit
            assert member.code == codes[row, column]
            back.append(reference.decode(int(values[row, column]), "float32"))
            assert member.dequantized == back[-1]
            assert member.error == float(back[-1].number - member.x.number)
            assert member.is_largest == (column == largest)
        exact = [Fraction(float(x)) for x in given]
        assert block.sqnr_db == pytest.approx(sqnr(exact, [value.number for value in back]), rel=1e-9)
        del exact[largest - start], back[largest - start]
        assert block.others_sqnr_db == pytest.approx(sqnr(exact, [value.number for value in back]), rel=1e-9)


def test_blocks_of_nvfp4_against_the_oracle() -> None:
    found = quantize(X, nvfp4_settings(axis=0))
    codes, scales, factor = reference.nvfp4_blocks(X, axis=0)
    for place in range(20):
        block = view.block(found, place)
        assert [member.index for member in block.members] == [(row, place) for row in range(3)]
        assert [member.code for member in block.members] == codes[:, place].tolist()
        assert (block.scale_code, float(block.global_scale)) == (scales[0, place], factor)
        assert block.steps[-2].value == block.scale
        assert block.steps[-1].value == block.factor
        assert float(block.factor) == float(np.float32(float(block.scale)) * np.float32(factor))


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("scale_format", ["float32", "float16", "float8_e8m0fnu"])
def test_whatever_shares_a_scale_is_a_block(granularity: str, scale_format: str) -> None:
    settings = Settings(E4M3, granularity, 1, 8, scale_format=lp.formats[scale_format])
    found = quantize(X, settings)
    places = [view.block(found, place) for place in range(found.scale.size)]
    assert sum(block.size for block in places) == X.size
    assert {member.index for block in places for member in block.members} == set(np.ndindex(X.shape))
    for block in places:
        assert block.factor == block.scale == block.steps[-1].value
        assert float(block.scale) == found.scale[block.index]


def test_what_has_no_steps() -> None:
    with_zero_point = view.block(quantize(X, Settings(lp.formats["uint8"], asymmetric=True)), 0)
    assert with_zero_point.steps == ()
    assert with_zero_point.zero_point is not None
    nan = view.block(quantize(np.float32([1, np.nan, 3]), mx_settings(E2M1, 3)), 0)
    assert (nan.steps, str(nan.scale), nan.members[0].error) == ((), "nan", None)
    assert view.grid_lines(nan) == ()
    assert math.isnan(nan.sqnr_db)
    zeros = view.block(quantize(np.zeros((2, 4), np.float32), mx_settings(E2M1, 4)), 1)
    assert zeros.largest is None
    assert str(zeros.steps[-1].value) == str(zeros.scale)
    with pytest.raises(ValueError, match="`block_index` must be from 0 to 1"):
        view.block(quantize(np.zeros((2, 4), np.float32), mx_settings(E2M1, 4)), 2)


def test_without_the_largest_by_hand() -> None:
    x = np.float32([[1.0, -0.5, 0.3, 24.0]])  # 24 = 6 * 4: the scale is 4; without it 1 = 4 / 4
    found = view.block(quantize(x, mx_settings(E2M1, 4)), 0)
    assert (str(found.scale), found.largest) == ("4", (0, 3))
    assert [str(member.dequantized) for member in found.members] == ["0", "-0", "0", "24"]  # 1 / 4: a tie, to even
    changed = view.without(x, found.largest)
    assert x[0, 3] == 24
    other = view.block(quantize(changed, mx_settings(E2M1, 4)), 0, but=found.largest)
    assert str(other.scale) == "0.25"
    assert [str(member.dequantized) for member in other.members] == ["1", "-0.5", "0.25", "0"]
    assert found.others_sqnr_db == 0  # all of them became zero
    third = Fraction(float(np.float32(0.3)))
    assert other.others_sqnr_db == pytest.approx(
        sqnr([1, Fraction(-1, 2), third], [1, Fraction(-1, 2), Fraction(1, 4)])
    )


def test_lines_are_the_values_that_elements_can_become() -> None:
    block = view.block(quantize(np.float32([1, 24]), mx_settings(E2M1, 2)), 0)
    half = [2, 4, 6, 8, 12, 16, 24]
    assert [float(value) for value in view.grid_lines(block)] == [-value for value in half[::-1]] + [0, *half]
    moved = quantize(np.float32([-1, 2]), Settings(lp.formats["uint2"], asymmetric=True))
    assert [float(value) for value in view.grid_lines(view.block(moved, 0))] == [-1, 0, 1, 2]
    assert view.grid_lines(view.block(quantize(X, Settings(E4M3)), 0)) == ()
    integers = view.block(quantize(np.float32([1, 2]), mx_settings(INT8, 2)), 0)
    assert view.grid_lines(integers) == ()


def shown(test) -> str:
    return " ".join(re.sub("<[^>]*>", "", texts(test)).split())


def test_a_visitor_sees_what_the_largest_element_does() -> None:
    test = healthy(page("quantize", show="block", origin="typed", x="1 -0.5 0.3 24; 1 2 3 4", scheme="mx", block="4"))
    assert "The largest element of block (0, 0) is at (0, 3)." in shown(test)
    assert "Without it the scale would be 2^-2 instead of 2^2" in shown(test)
    decibels = 10 * math.log10((1 + 0.25 + 0.09) / 0.05**2)  # 0.3 becomes 0.25, the others stay
    assert f"the SQNR of the other 3 elements ≈{decibels:.2f} dB instead of ≈0.00 dB." in shown(test)
    assert "floor(log2 a) - emax" in shown(test)
    assert "0, 0: 1 becomes 0" in pictures(test)
    assert "0, 0: 1 becomes 1" not in pictures(test)
    healthy(test.toggle(key="quantize.without_largest").set_value(True).run())
    assert asked(test, "without_largest") == "1"
    assert "0, 0: 1 becomes 0" in pictures(test)
    assert "0, 0: 1 becomes 1" in pictures(test)
    healthy(test.number_input(key="quantize.block_index").set_value(1).run())
    assert asked(test, "block_index") == "1"
    assert "The largest element of block (1, 0) is at (1, 3)." in shown(test)
    assert test.number_input(key="quantize.block_index").max == 1
    assert not [caption.value for caption in test.caption if "of 4 elements" in caption.value]  # all are shown


def test_a_block_that_is_not_there() -> None:
    zeros = page("quantize", show="block", scheme="mx", origin="typed", x="0 0", without_largest="1")
    assert "no finite element but zeros" in shown(zeros)
    test = page("quantize", origin="sampled", show="block", scheme="mx", rows="2", columns="32", block_index="2")
    assert "block\\_index" in test.error[0].value
    assert not test.exception
    assert "The largest element of block (0, 0)" in shown(test)
    assert page("quantize", show="result", origin="sampled", block_index="99999999999").warning
