"""The Quantize page's numbers: codes and values against fractions, scales and shares worked out by hand."""

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
from lowprec.explorer.pages.quantize.settings import GRANULARITIES, SCALE_FORMATS, TARGETS, Settings, choose
from lowprec.explorer.pages.quantize.view import codebook, quantize, slices, tiles
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


@pytest.mark.parametrize("scale_format", SCALE_FORMATS, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("granularity", GRANULARITIES)
@pytest.mark.parametrize("fmt", [E4M3, E2M1, INT8], ids=lambda fmt: fmt.name)
def test_scales_are_those_of_absmax_scale(fmt, granularity, scale_format):
    """Which are those of `convert` too."""
    x = np.random.default_rng(1).standard_normal((2, 3, 70)).astype(np.float32) * 10
    x[0, 0, :32], x[1, 2, 40] = 0, np.inf
    place = {"tensor": {}, "axis": {"axis": 1}, "block": {"axis": 1, "block_size": 2}}[granularity]
    scale, zero_point = choose(x, Settings(fmt, granularity, 1, 2, scale_format))
    assert zero_point is None
    assert scale.tobytes() == lp.absmax_scale(x, fmt, scale_format=scale_format, **place).tobytes()


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
    for axis in range(-len(shape), len(shape)):
        found = quantize(x, Settings(E2M1, granularity, axis, 3, BRAIN))
        rows = slices(found)
        assert sum(row.elements for row in rows) == sum(bar.count for bar in codebook(found)) == x.size
        assert [row.index for row in rows] == list(np.ndindex(found.scale.shape))
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
