"""Quantize in blocks of OCP MX and in NVFP4: everything that is shown, against the oracle's codes and fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lowprec import reference
from lowprec.explorer.pages.quantize.settings import MX_FORMATS, Settings, mx_problem, mx_settings, nvfp4_settings
from lowprec.explorer.pages.quantize.view import codebook, elements, quantize, slices, tiles
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT4, INT8, UINT8
from lowprec.spec.rounding_modes import ROUNDINGS
from lowprec.spec.scale_rules import SCALE_RULES

RNG = np.random.default_rng(18)
X = (RNG.standard_t(3, (5, 11)) * 3).astype(np.float32)
X[1, 2], X[0, :4], X[3, 3] = 0, 0, -0.0
SPECIAL = X.copy()
SPECIAL[2, 1], SPECIAL[4, 9], SPECIAL[4, 8] = np.nan, np.inf, -np.inf
KINDS = [*MX_FORMATS, format_named("e3m2,nan=all-ones"), format_named("binary6p3se")]


def check_mx(x: Any, settings: Settings) -> Any:
    """Compare what is shown of MX blocks with the oracle's elements, scales and values."""
    found, rules = quantize(x, settings), settings.rounding_arguments
    place = {"axis": settings.axis, "block_size": settings.block_size}
    codes, scales = reference.mx_blocks(x, settings.fmt, scale_rule=settings.scale_rule, **place, **rules)
    values = reference.mx_values(codes, scales, settings.fmt, **place).view(np.float32).astype(np.float64)
    assert found.codes.tolist() == codes.tolist()
    assert found.scale_codes.tolist() == scales.tolist()
    assert np.array_equal(found.dequantized, values, equal_nan=True)
    wanted = [float(reference.decode(code, FLOAT8_E8M0FNU)) for code in scales.reshape(-1).tolist()]
    assert np.array_equal(found.scale.reshape(-1), wanted, equal_nan=True)
    return found


@pytest.mark.parametrize("index", range(len(KINDS)), ids=lambda index: KINDS[index].name)
def test_mx_blocks_are_the_oracle_s(index: int) -> None:
    """Each format under a rule and a rounding; the library's own tests have all of them."""
    fmt, rule, rounding = KINDS[index], SCALE_RULES[index % 5], ROUNDINGS[index]
    found = check_mx(X, mx_settings(fmt, 4, scale_rule=rule, rounding=rounding, rounding_seed=7))
    assert (found.zero_point, found.global_scale) == (None, None)
    assert found.bits_per_value == fmt.bits + 8 * 15 / 55  # three blocks in each of five rows
    check_mx(SPECIAL, mx_settings(fmt, 3, 0, scale_rule=rule))


def test_what_saturates() -> None:
    """The tie beyond the largest value belongs to what comes next: 7 of float4, 127.5 units of int8."""
    assert quantize(np.array([7.5, 0.1], np.float32), mx_settings(FLOAT4_E2M1FN)).out_of_range.tolist() == [True, False]
    ends = np.array([-127.5 / 64, 127 / 64, 1.0], np.float32)  # MXINT8 has -127 and no -128
    assert quantize(ends, mx_settings(INT8)).codes.tolist() == [0x81, 0x7F, 64]
    assert quantize(ends, mx_settings(INT8)).out_of_range.tolist() == [True, False, False]
    truncated = mx_settings(FLOAT4_E2M1FN, rounding="toward_zero")
    assert quantize(np.array([7.5, 0.1], np.float32), truncated).saturated == 0  # 8 is not reached
    assert quantize(SPECIAL, mx_settings(FLOAT4_E2M1FN, 11)).out_of_range[[2, 4]].sum() == 0
    edge = np.array([7, 6, 2688.0], np.float32)  # 6 * 448: the first two alone have the scale 7/6, rounded to 1.125
    assert quantize(edge, nvfp4_settings(2)).out_of_range.tolist() == [False, False, False]
    down = np.array([6.36, 6.0, 2688.0, 0.0], np.float32)  # 1.06 becomes 1
    away = quantize(down, nvfp4_settings(2, rounding="away_from_zero"))
    assert away.out_of_range.tolist() == [True, False, False, False]
    assert quantize(down, nvfp4_settings(2)).saturated == 0


def test_a_block_with_nan_is_nan() -> None:
    found = quantize(SPECIAL, mx_settings(FLOAT4_E2M1FN, 4))
    assert found.not_finite == 4 + 3  # a whole block, and the last three of a row
    rows = slices(found)
    assert [row.scale_code for row in rows if str(row.scale) == "nan"] == [0xFF, 0xFF]
    assert all(math.isnan(row.product) for row in rows if str(row.scale) == "nan")
    assert [row.power for row in rows if math.isnan(row.product)] == ["nan", "nan"]
    for row in rows:
        if row.scale_code != 0xFF:
            assert row.power == f"2^{row.scale_code - 127}"
            assert row.product == 2.0 ** (row.scale_code - 127)
    assert math.isfinite(found.sqnr_db)


def check_nvfp4(x: Any, settings: Settings) -> Any:
    found = quantize(x, settings)
    place = {"axis": settings.axis, "block_size": settings.block_size}
    codes, scales, factor = reference.nvfp4_blocks(x, **place, **settings.rounding_arguments)
    values = reference.nvfp4_values(codes, scales, factor, **place).view(np.float32).astype(np.float64)
    assert found.codes.tolist() == codes.tolist()
    assert found.scale_codes.tolist() == scales.tolist()
    assert np.array_equal(found.dequantized, values, equal_nan=True)
    assert found.global_scale == float(factor)
    return found


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_nvfp4_is_the_oracle_s(rounding: str) -> None:
    found = check_nvfp4(X, nvfp4_settings(4, rounding=rounding, rounding_seed=11))
    assert found.bits_per_value == 4 + (8 * 15 + 32) / 55
    check_nvfp4(SPECIAL, nvfp4_settings(16, 0, rounding=rounding))


def test_scales_of_nvfp4_by_hand() -> None:
    x = np.array([[2688.0, 6, 3, 1.5], [12, -24, 1, 0.5]], np.float32)  # 6 * 448: the global scale is 1
    found = quantize(x, nvfp4_settings(4))
    assert found.global_scale == 1
    assert [(float(row.scale), row.product) for row in slices(found)] == [(448.0, 448.0), (4.0, 4.0)]
    assert found.dequantized[1].tolist() == [12, -24, 0, 0]  # 1/4 is the tie between 0 and 1/2
    assert found.bits_per_value == 4 + (16 + 32) / 8
    half = quantize(x / 2, nvfp4_settings(4))
    assert half.global_scale == 0.5
    assert [(float(row.scale), row.product) for row in slices(half)] == [(448.0, 224.0), (4.0, 2.0)]
    third = quantize(x / 3, nvfp4_settings(4))
    for row, wanted in zip(slices(third), third.scale.reshape(-1), strict=True):
        step = np.float32(wanted) * np.float32(third.global_scale)
        assert row.product == step
    tiny = quantize(np.array([2.0**-149, -(2.0**-149), 0], np.float32), nvfp4_settings())
    assert tiny.element_scale.tolist() == [0, 0, 0]  # 2**-149 * 2**-9
    assert (tiny.saturated, tiny.flushed, tiny.dequantized.tolist()) == (0, 2 / 3, [0, 0, 0])


def test_the_parts_count_every_element() -> None:
    for settings in (mx_settings(INT8, 4), mx_settings(FLOAT8_E4M3FN, 4), nvfp4_settings(4)):
        found = quantize(X, settings)
        rows, bars = slices(found), codebook(found)
        assert sum(row.elements for row in rows) == sum(bar.count for bar in bars) == X.size
        assert sum(row.saturated for row in rows) == found.out_of_range.sum()
        assert [element.code for element in elements(found, 5)] == found.codes.reshape(-1)[:5].tolist()
        assert tiles(found)[0].shape == X.shape
        finite = [bar.value.number for bar in bars if not bar.value.special]
        assert finite == sorted(finite)
    units = {bar.first: bar.value.number for bar in codebook(quantize(X, mx_settings(INT8)))}
    assert (units[1], units[64], units[127], units[0xFF]) == (Fraction(1, 64), 1, Fraction(127, 64), Fraction(-1, 64))


def test_what_cannot_be_an_element_is_named() -> None:
    for fmt in (UINT8, INT4):
        with pytest.raises(ValueError, match="`fmt` must be a float or int8"):
            quantize(X, mx_settings(fmt))
    assert mx_problem(FLOAT8_E8M0FNU)
    assert mx_problem(BFLOAT16)
    with pytest.raises(ValueError, match="`axis` must be from -2 to 1"):
        quantize(X, nvfp4_settings(16, 2))
    with pytest.raises(ValueError, match="`block_size`"):
        quantize(X, mx_settings(INT8, 0))
