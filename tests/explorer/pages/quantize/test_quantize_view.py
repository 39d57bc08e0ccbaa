"""The Quantize page's numbers: codes and values against fractions, scales, shares and blocks worked out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.quantize.settings import (
    GRANULARITIES,
    SCALE_FORMATS,
    TARGETS,
    Settings,
    choose,
    mx_problem,
    mx_settings,
    nvfp4_settings,
)
from lowprec.explorer.pages.quantize.view import codebook, elements, quantize, slices, tiles
from lowprec.spec.operator_versions import NEWEST

onnx: Any = optional("onnx")

E4M3, E2M1, E8M0 = (lp.as_format(number) for number in (17, 23, 24))
FLOAT, HALF, BRAIN, _ = SCALE_FORMATS
INT8, UINT8, INT4, UINT4 = (lp.formats[name] for name in ("int8", "uint8", "int4", "uint4"))
DESCRIBED = [*map(lp.as_format, ("binary8p3se", "binary6p3se", "float8_e4m3"))]
ROWS = np.array([[0.1, -0.7, 3.0, 1e-3], [5.0, -9.0, 0.25, 0.0], [1e-4, 2e-4, -3e-4, 1e-5]], np.float32)


def tensors(*names):
    return {f"tensor({name})" for name in names}


def test_targets_and_scales_are_those_of_the_schema():
    schema = onnx.defs.get_schema("QuantizeLinear", NEWEST)
    allowed = {row.type_param_str: set(row.allowed_type_strs) for row in schema.type_constraints}
    assert tensors(*(fmt.onnx_name.lower() for fmt in TARGETS)) == allowed["T3"]
    assert tensors(*(fmt.onnx_name.lower() for fmt in SCALE_FORMATS), "int32") == allowed["T2"]


def rounded(number, fmt):
    return reference.decode(reference.encode(number, fmt), fmt)


def expected(x, scale, zero_point, settings):
    """Return code and value of one element: the operator pages' two lines, in fractions, for scales of float32."""
    fmt, single = settings.fmt, FLOAT
    quotient = rounded(Fraction(float(x)) / scale, single)
    if fmt.is_float:
        code = reference.encode(quotient, fmt, saturate=settings.saturate)
        return code, rounded(reference.decode(code, fmt).number * scale, single)
    whole = min(max(round(quotient.number) + zero_point, int(fmt.min)), int(fmt.max))
    return whole % 2**fmt.bits, rounded((whole - zero_point) * scale, single)


@pytest.mark.parametrize("fmt", [*TARGETS, *DESCRIBED], ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("asymmetric", [False, True])
def test_every_element_against_fractions(fmt, granularity, asymmetric):
    settings = Settings(fmt, granularity, axis=1, block_size=3, asymmetric=asymmetric)
    found = quantize(ROWS, settings)
    shape = {"tensor": (), "axis": (4,), "block": (3, 2)}[granularity]
    assert found.scale.shape == found.scale_codes.shape == shape
    assert (found.zero_point is not None) == (asymmetric and fmt.is_integer)
    for row, column in np.ndindex(ROWS.shape):
        place = {"tensor": (), "axis": (column,), "block": (row, column // 3)}[granularity]
        scale = Fraction(float(found.scale[place]))
        zero_point = 0 if found.zero_point is None else int(found.zero_point[place])
        assert found.element_scale[row, column] == scale
        code, value = expected(ROWS[row, column], scale, zero_point, settings)
        assert int(found.codes[row, column]) == code
        assert found.dequantized[row, column] == float(value)
        assert found.error[row, column] == float(value) - float(ROWS[row, column])


def test_powers_of_two_by_hand():
    x = np.array([3.0, 4.0], np.float32)  # over 6: 2/3; by OCP MX 2**2 / 2**2
    for mode in ("up", "down", "nearest"):
        scale, _ = choose(x, Settings(E2M1, scale_format=E8M0, round_mode=mode))
        assert int(scale.view(np.uint8)) == 127
    found = quantize(x, Settings(E2M1, scale_format=E8M0))
    assert found.codes.tolist() == [5, 6]  # 3 and 4 are values of the format
    assert found.sqnr_db == math.inf
    for mode, code in (("up", 128), ("down", 127), ("nearest", 128)):  # with zero points: (4 - -1) / 3 = 5/3, rounded
        scale, _ = choose(
            np.array([-1.0, 4.0], np.float32), Settings(lp.formats["uint2"], "tensor", -1, 32, E8M0, True, mode)
        )
        assert int(scale.view(np.uint8)) == code


def test_zero_points_take_the_ends_to_the_ends():
    x = np.array([-1.0, 0.0, 3.0], np.float32)
    found = quantize(x, Settings(UINT8, asymmetric=True))
    assert found.scale.item() == np.float32(4 / 255)
    assert found.zero_point.item() == 64  # round(255 / 4) = round(63.75)
    assert found.codes.tolist() == [0, 64, 255]
    signed = quantize(x, Settings(INT4, asymmetric=True))
    assert (signed.zero_point.item(), signed.codes.tolist()) == (-4, [8, 12, 7])  # -8, -4 and 7, masked to four bits
    above = quantize(np.array([2.0, 4.0], np.float32), Settings(UINT4, asymmetric=True))
    assert above.zero_point.item() == 0  # zero is part of the range


def test_zeros_specials_and_tiny_scales():
    assert quantize(np.zeros((2, 2), np.float32), Settings(E4M3)).scale.item() == 1
    tiny = np.array([1e-6], np.float32)
    assert quantize(tiny, Settings(INT8, scale_format=HALF)).scale.item() == 2.0**-24  # not 0, which divides nothing
    x = np.array([np.nan, np.inf, 1.0, -2.0], np.float32)
    found = quantize(x, Settings(E4M3))
    assert found.scale.item() == np.float32(2 / 448)
    assert (found.not_finite, found.saturated, found.flushed) == (2, 0, 0)
    assert found.max_abs_error <= 2 / 448 * 16
    assert np.isnan(found.error[:2]).all()
    assert not np.isnan(found.error[2:]).any()


def test_shares_by_hand():
    x = np.array([[0.0, 0.2, 0.3, 110.0], [112.0, 113.0, -120.0, 6.0]], np.float32)
    unsigned = quantize(np.array([-4.0, -0.1, 0.1, 4.0], np.float32), Settings(UINT4))
    assert unsigned.saturated == 0.25  # -4 alone: -0.1 rounds to 0
    assert unsigned.flushed == 0.5
    powers = quantize(x, Settings(E2M1, scale_format=E8M0))  # 2**6 / 2**2: 112 / 16 = 7 is where 6 ends
    assert powers.scale.item() == 16
    assert powers.out_of_range.tolist() == [[False, False, False, False], [True, True, True, False]]
    assert powers.saturated == 3 / 8
    assert powers.flushed == 0.25  # 0.2 and 0.3


def test_sqnr_and_size_by_hand():
    x = np.array([1.0, 7.0, -3.4, 0.6], np.float32)
    found = quantize(x, Settings(INT4))  # scale 1: 1, 7, -3, 1
    assert found.codes.tolist() == [1, 7, 13, 1]
    given = [float(number) for number in x]
    noise = sum((a - b) ** 2 for a, b in zip(given, [1, 7, -3, 1], strict=True))
    assert found.sqnr_db == pytest.approx(10 * math.log10(sum(a * a for a in given) / noise))
    assert found.max_abs_error == max(abs(a - b) for a, b in zip(given, [1, 7, -3, 1], strict=True))
    assert found.bits_per_value == 4 + 32 / 4
    blocks = quantize(np.ones((4, 64), np.float32), Settings(E2M1, "block", 1, 32, E8M0))
    assert blocks.bits_per_value == 4.25
    zeros = quantize(np.ones((4, 64), np.float32), Settings(UINT4, "block", 1, 32, HALF, asymmetric=True))
    assert zeros.bits_per_value == 4 + (16 + 4) / 32
    assert math.isnan(quantize(np.zeros(3, np.float32), Settings(INT8)).sqnr_db)


@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("shape", [(7,), (4, 10), (2, 3, 5)])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_slices_and_codebook_count_every_element(granularity, shape, dtype):
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    blocks = [mx_settings(INT8, 4), mx_settings(E4M3, 4), nvfp4_settings(4)]
    linear = [Settings(E2M1, granularity, axis, 3, BRAIN) for axis in range(-len(shape), len(shape))]
    for settings in [*linear, *(blocks if granularity == "block" else [])]:
        found = quantize(x, settings)
        rows = slices(found)
        assert sum(row.elements for row in rows) == sum(bar.count for bar in codebook(found)) == x.size
        assert [element.code for element in elements(found, 5)] == found.codes.reshape(-1)[:5].tolist()
        assert [row.index for row in rows] == list(np.ndindex(found.scale.shape))
        finite = [bar.value.number for bar in codebook(found) if not bar.value.special]
        assert finite == sorted(finite)
        assert max(row.largest for row in rows) == float(np.abs(x.astype(np.float64)).max())
        assert sum(row.saturated for row in rows) == int(found.out_of_range.sum())
        for row in rows:
            assert float(row.scale) == found.scale[row.index]


def test_a_slice_by_hand():
    found = quantize(ROWS, Settings(INT8, "axis", 0))
    first = slices(found)[1]
    assert (first.index, first.elements, first.largest, first.zero_point, first.saturated) == ((1,), 4, 9.0, None, 0)
    assert float(first.scale) == np.float32(9 / 127)
    assert len(slices(found, most=2)) == 2


@pytest.mark.parametrize("fmt", TARGETS, ids=lambda fmt: fmt.name)
def test_bars_are_in_the_order_of_values(fmt):
    bars = codebook(quantize(ROWS, Settings(fmt)))
    assert len(bars) == (128 if fmt.bits == 16 else 2**fmt.bits)
    finite = [end for bar in bars for end in (bar.value, bar.end) if not end.special]
    assert [value.number for value in finite] == sorted(value.number for value in finite)
    if fmt.bits <= 8:
        assert {bar.first for bar in bars} == set(range(2**fmt.bits))
        assert all(bar.first == bar.last for bar in bars)
        specials = [str(bar.value).lstrip("-") for bar in bars if bar.value.special]
        nans = lp.finfo(fmt).nan_code is not None if fmt.is_float else False
        assert specials[-1:] == ["nan"] * nans
        assert (str(bars[0].value) == "-inf") == fmt.has_inf


def test_the_map_keeps_the_worst_of_a_tile():
    x = np.zeros((130, 5), np.float32)
    x[0, 0], x[4, 1], x[5, 2], x[129, 4] = 7, 0.4, -0.3, np.nan
    cells, down, across = tiles(quantize(x, Settings(INT4)))
    assert (cells.shape, down, across) == ((44, 5), 3, 1)
    assert cells[1, 1] == -float(np.float32(0.4))
    assert cells[1, 2] == float(np.float32(0.3))
    assert cells[43, 0] == 0
    assert np.isnan(cells[43, 4])  # row 129 is alone in its tile
    cube = tiles(quantize(np.ones((2, 3, 4), np.float32), Settings(INT4)))[0]
    assert cube.shape == (6, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [(Settings(E4M3, "axis", 2), "`axis` must be from -2 to 1"), (Settings(E4M3, "block", -3), "`axis`"),
     (Settings(E4M3, "block", 0, 0), "`block_size` must be at least 1"),
     (Settings(UINT8, "block", 0, 0, asymmetric=True), "`block_size` must be at least 1"),
     (Settings(lp.as_format(27), opset=25), "28"), (Settings(E4M3, scale_format=E8M0, opset=23), "24")],
)  # fmt: skip
def test_what_does_not_fit_is_named(settings, message):
    with pytest.raises(ValueError, match=message):
        quantize(ROWS, settings)


# ---- blocks of OCP MX, and NVFP4


X = (np.random.default_rng(18).standard_t(3, (5, 11)) * 3).astype(np.float32)
X[1, 2], X[0, :4], X[3, 3] = 0, 0, -0.0
SPECIAL = X.copy()
SPECIAL[2, 1], SPECIAL[4, 9], SPECIAL[4, 8] = np.nan, np.inf, -np.inf


def test_what_saturates() -> None:
    """The tie beyond the largest value belongs to what comes next: 7 of float4, 127.5 units of int8."""
    assert quantize(np.array([7.5, 0.1], np.float32), mx_settings(E2M1)).out_of_range.tolist() == [True, False]
    ends = np.array([-127.5 / 64, 127 / 64, 1.0], np.float32)  # MXINT8 has -127 and no -128
    assert quantize(ends, mx_settings(INT8)).codes.tolist() == [0x81, 0x7F, 64]
    assert quantize(ends, mx_settings(INT8)).out_of_range.tolist() == [True, False, False]
    truncated = mx_settings(E2M1, rounding="toward_zero")
    assert quantize(np.array([7.5, 0.1], np.float32), truncated).saturated == 0  # 8 is not reached
    assert quantize(SPECIAL, mx_settings(E2M1, 11)).out_of_range[[2, 4]].sum() == 0
    edge = np.array([7, 6, 2688.0], np.float32)  # 6 * 448: the first two alone have the scale 7/6, rounded to 1.125
    assert quantize(edge, nvfp4_settings(2)).out_of_range.tolist() == [False, False, False]
    down = np.array([6.36, 6.0, 2688.0, 0.0], np.float32)  # 1.06 becomes 1
    away = quantize(down, nvfp4_settings(2, rounding="away_from_zero"))
    assert away.out_of_range.tolist() == [True, False, False, False]
    assert quantize(down, nvfp4_settings(2)).saturated == 0


def test_a_block_with_nan_is_nan() -> None:
    found = quantize(SPECIAL, mx_settings(E2M1, 4))
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


def test_what_cannot_be_an_element_is_named() -> None:
    for fmt in (UINT8, INT4):
        with pytest.raises(ValueError, match="`fmt` must be a float or int8"):
            quantize(X, mx_settings(fmt))
    assert mx_problem(E8M0)
    assert mx_problem(lp.as_format(16))
    with pytest.raises(ValueError, match="`axis` must be from -2 to 1"):
        quantize(X, nvfp4_settings(16, 2))
    with pytest.raises(ValueError, match="`block_size`"):
        quantize(X, mx_settings(INT8, 0))


def test_the_values_of_int8_in_blocks_are_64ths() -> None:
    units = {bar.first: bar.value.number for bar in codebook(quantize(X, mx_settings(INT8)))}
    assert (units[1], units[64], units[127], units[0xFF]) == (Fraction(1, 64), 1, Fraction(127, 64), Fraction(-1, 64))
