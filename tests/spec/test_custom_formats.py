"""Custom formats, of each NaN rule with and without Inf: kernels, array-API back end and CUDA text match the oracle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest
from support.bits import packed_bytes
from support.cast_cases import encode_by_tiers_and_threads
from support.compare import each_tier
from support.cuda_on_cpu import CpuBuild
from support.custom_formats import BY_NAME, CUSTOM_FORMATS, SMALL, WIDE, float_format, p3109
from support.optional import optional

import lowprec as lp
from lowprec import _kernels, reference
from lowprec.backends import cuda
from lowprec.backends.kernels_of_plan import make_program
from lowprec.cli import formats
from lowprec.conformance import cast_inputs
from lowprec.plans.cast_plan import make_plan
from lowprec.reference import exact_quantize, whole_arrays
from lowprec.reference.whole_arrays import code_values, dequantized, quantized
from lowprec.spec.format_text import nan_codes
from lowprec.spec.formats import Format, NaNRule
from lowprec.spec.operator_versions import cast_rules

gfloat: Any = optional("gfloat")
format_info_p3109: Any = optional("gfloat.formats:format_info_p3109")

E3, F3 = p3109(8, 3, "se"), p3109(8, 3, "sf")
SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)


def _codes(fmt: Format) -> np.ndarray:
    return np.arange(1 << fmt.bits).astype(fmt.code_dtype)


def _same(got: Any, expected: np.ndarray, inputs: np.ndarray, who: str) -> None:
    wrong = np.flatnonzero(np.asarray(got) != expected)
    assert not wrong.size, (who, inputs[wrong[0]], np.asarray(got)[wrong[0]], expected[wrong[0]], wrong.size)


def _expected(values: np.ndarray, fmt: object, **options: Any) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return whole_arrays.expected_from_float64(values.astype(np.float64), fmt, **options)


# ---- facts, typed from P3109's own value tables and from the formula of the special codes
@pytest.mark.parametrize(
    ("nan", "inf", "codes"),
    [  # of e4m3: the largest, Inf, the canonical NaN, what `lowprec formats` says of NaN
        (NaNRule.IEEE, True, (0x77, 0x78, 0x7C, "79-7F, F9-FF")),
        (NaNRule.IEEE, False, (0x78, None, 0x7C, "79-7F, F9-FF")),
        (NaNRule.ALL_ONES, True, (0x7D, 0x7E, 0x7F, "7F, FF")), (NaNRule.ALL_ONES, False, (0x7E, None, 0x7F, "7F, FF")),
        (NaNRule.NEGATIVE_ZERO, True, (0x7E, 0x7F, 0x80, "80")),
        (NaNRule.NEGATIVE_ZERO, False, (0x7F, None, 0x80, "80")), (NaNRule.NONE, True, (0x7E, 0x7F, None, "none")),
        (NaNRule.NONE, False, (0x7F, None, None, "none")),
    ],
)  # fmt: skip
def test_special_codes(nan: NaNRule, inf: bool, codes: tuple[int, int | None, int | None, str]) -> None:
    fmt = float_format("e4m3", (4, 3, 7), inf=inf, nan=nan)
    info = lp.finfo(fmt)
    assert (info.max_code, info.inf_code, info.nan_code, nan_codes(fmt)) == codes
    assert info.max == float(lp.decode(np.uint8(info.max_code), fmt))
    assert "yes" in [line.split()[-1] for line in formats.facts(fmt).splitlines() if line.startswith("Inf")] or not inf
    if inf:
        assert lp.decode(np.array([codes[1], codes[1] | 0x80], np.uint8), fmt).tolist() == [np.inf, -np.inf]
        assert lp.explain("1e9", fmt, saturate=False).code == codes[1]
        assert lp.explain("-inf", fmt, saturate=False).code == codes[1] | 0x80
    assert lp.explain("1e9", fmt).code == codes[0]


def test_nan_codes_of_a_custom_format() -> None:
    assert nan_codes(float_format("e6m1", (6, 1, 31), inf=True, nan=NaNRule.IEEE)) == "7F, FF"
    assert nan_codes(float_format("e4m4", (4, 4, 7), inf=True, nan=NaNRule.IEEE, signed=False)) == "F1-FF"
    assert lp.finfo(p3109(8, 4, "ue")).min == 0.0


# ---- conversions
@pytest.mark.one_in(11)
@pytest.mark.parametrize("fmt", CUSTOM_FORMATS, **BY_NAME)
@pytest.mark.parametrize("saturate", [True, False])
def test_into(fmt: Format, saturate: bool) -> None:
    x = np.concatenate([cast_inputs.sweep_float32(fmt, count=0), SPECIAL])
    expected = _expected(x, fmt, saturate=saturate)
    for who, got in encode_by_tiers_and_threads(x, fmt, None, {"saturate": saturate}):
        _same(got, expected, x, who)
    some = np.concatenate([x[:: max(x.size // 10_000, 1)], SPECIAL])
    _same(lp.encode(strict.asarray(some), fmt, saturate=saturate), _expected(some, fmt, saturate=saturate), some, "api")
    wide = cast_inputs.sweep_float64(fmt, count=0)
    _same(lp.encode(wide, fmt, saturate=saturate), _expected(wide, fmt, saturate=saturate), wide, "float64")
    whole = cast_inputs.sweep_int64(fmt, count=0)
    expected = whole_arrays.expected_from_integers(whole, fmt, saturate=saturate)
    _same(lp.encode(whole, fmt, saturate=saturate), expected, whole, "int64")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", CUSTOM_FORMATS, **BY_NAME)
@pytest.mark.parametrize(
    "target", ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e8m0fnu", "int8", "bool"]
)
def test_out_of(fmt: Format, target: str) -> None:
    codes, to = _codes(fmt), lp.formats[target]
    expected = _expected(code_values(fmt), target)
    for who, got in encode_by_tiers_and_threads(codes, to, fmt, {}):
        _same(got, expected, codes, who)
    _same(lp.encode(strict.asarray(codes), to, source=fmt), expected, codes, "api")


@pytest.mark.one_in(11)
@pytest.mark.parametrize("fmt", CUSTOM_FORMATS, **BY_NAME)
def test_again(fmt: Format) -> None:
    codes = _codes(fmt)
    for saturate in (True, False):
        expected = np.array([reference.cast(int(code), fmt, fmt, saturate=saturate) for code in codes])
        for who, got in encode_by_tiers_and_threads(codes, fmt, fmt, {"saturate": saturate}):
            _same(got, expected, codes, who)
        _same(lp.encode(strict.asarray(codes), fmt, source=fmt, saturate=saturate), expected, codes, "api")
        values = lp.decode(codes, fmt)
        _same(lp.encode(values, fmt, saturate=saturate), _expected(values, fmt, saturate=saturate), codes, "values")


@pytest.mark.parametrize("opset", [19, 23, 24])
@pytest.mark.parametrize("saturate", [True, False])
def test_inf_where_older_opsets_make_it_nan(opset: int, saturate: bool) -> None:
    fmt = Format(*(1 if name == "since" else getattr(E3, name) for name in Format.__match_args__))
    x, options = SPECIAL, {"saturate": saturate, "opset": opset}
    expected = [reference.encode(float(value), fmt, **options) for value in x]
    assert lp.encode(x, fmt, **options).tolist() == expected
    assert np.asarray(lp.encode(strict.asarray(x), fmt, **options)).tolist() == expected
    assert (expected[2] == 0x80) == (opset < 24 and saturate)


@pytest.mark.parametrize("fmt", [p3109(6, 3, "se"), p3109(4, 2, "se"), p3109(4, 3, "sf")], **BY_NAME)
def test_packed(fmt: Format) -> None:
    codes = _codes(fmt)
    flat = lp.pack(codes, fmt)
    assert np.array_equal(flat, packed_bytes(codes, fmt.bits))  # Inf is moved too
    assert np.array_equal(lp.unpack(flat, fmt, codes.shape), codes)
    assert np.array_equal(np.asarray(lp.pack(strict.asarray(codes), fmt)), flat)
    assert np.array_equal(lp.decode(flat, fmt, packed=True, shape=codes.size), lp.decode(codes, fmt), equal_nan=True)


@pytest.mark.parametrize("fmt", [E3, F3, *SMALL[:8], p3109(6, 3, "se"), p3109(5, 2, "se")], **BY_NAME)
def test_quantized(fmt: Format) -> None:
    x = np.concatenate([cast_inputs.sweep_float32(fmt, count=0)[::41], SPECIAL])
    scale = np.float32(0.3)
    with np.errstate(invalid="ignore"):
        wide, scales = x.astype(np.float64), np.full(x.shape, np.float64(scale))
    for saturate in (True, False):
        expected = quantized(wide, scales, None, fmt, precision="float32", saturate=saturate)
        options = {"output_dtype": fmt, "saturate": saturate}
        for isa in each_tier():
            _same(lp.quantize_linear(x, scale, **options), expected, x, isa)
        got = lp.quantize_linear(strict.asarray(x), strict.asarray(scale), **options)
        _same(got, expected, x, "api")
    codes = _codes(fmt)
    for output in ("float32", "float16"):
        expected = dequantized(codes, np.full(codes.shape, np.float64(scale)), None, fmt, output_dtype=output)
        for isa in each_tier():
            values: Any = lp.dequantize_linear(codes, scale, source=fmt, output_dtype=output)
            _same(values.view(f"u{values.itemsize}"), expected, codes, isa)


def test_zero_points() -> None:
    x = np.array([-1.0, -0.0, 2.5], np.float32)
    for fmt in (E3, p3109(6, 3, "se")):  # with a NaN: a zero point can but be 0, as float8's, and changes nothing
        got = lp.quantize_linear(x, 1.0, np.zeros((), np.uint8), output_dtype=fmt)
        assert got.tolist() == [exact_quantize.quantize(float(v), 1, 0, fmt, precision="float32") for v in x]
        with pytest.raises(ValueError, match=f"`zero_point` must be 0 for {fmt.name}"):
            lp.quantize_linear(x, 1.0, np.ones((), np.uint8), output_dtype=fmt)
    fmt = float_format("e3m2", (3, 2, 3), inf=False, nan=NaNRule.NONE)  # without: it is added, as float6's
    one = lp.encode(np.float32(1.0), fmt)
    got = lp.quantize_linear(x, 1.0, one, output_dtype=fmt)
    assert got.tolist() == [exact_quantize.quantize(float(v), 1, 1, fmt, precision="float32") for v in x]


def test_text() -> None:
    texts = np.array(["49152.0", "-inf", "nan", "7.62939453125e-06", "0.0"], object)
    codes = lp.cast(texts, E3, saturate=False)
    assert codes.tolist() == [0x7E, 0xFF, 0x80, 0x01, 0x00]
    assert lp.cast(codes, "string", source=E3).tolist() == ["49152.0", "-inf", "nan", "7.6293945e-06", "0.0"]


# ---- other witnesses
def _theirs(fmt: Format) -> gfloat.FormatInfo:
    return gfloat.FormatInfo(
        fmt.name, k=fmt.bits, precision=fmt.mantissa_bits + 1, bias=fmt.bias, is_signed=True,
        domain=gfloat.Domain.Extended if fmt.has_inf else gfloat.Domain.Finite,
        has_nz=fmt.nan is not NaNRule.NEGATIVE_ZERO,
        num_high_nans={NaNRule.IEEE: 2**fmt.mantissa_bits - 1, NaNRule.ALL_ONES: 1}.get(fmt.nan, 0),
        has_subnormals=True, is_twos_complement=False,
    )  # fmt: skip


@pytest.mark.parametrize("fmt", [fmt for fmt in CUSTOM_FORMATS if fmt.bits <= 10], **BY_NAME)
def test_gfloat_has_the_same_values(fmt: Format) -> None:
    info, codes = _theirs(fmt), _codes(fmt)
    theirs = np.array([gfloat.decode_float(info, int(code)).fval for code in codes])
    ours = lp.decode(codes, fmt, to="float64")
    assert np.array_equal(ours, theirs, equal_nan=True)
    assert np.array_equal(np.signbit(ours[ours == 0]), np.signbit(theirs[theirs == 0]))
    if fmt.bits > 8 or fmt.max_code < 1 << fmt.mantissa_bits:
        return  # wider ones do not saturate; gfloat 0.5.2 saturates to no value where all are subnormal
    finite = ours[np.isfinite(ours)]
    x = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, finite * 1.3])
    rounded = np.array([gfloat.round_float(info, float(v), sat=True) for v in x])
    assert np.array_equal(lp.decode(lp.encode(x, fmt), fmt, to="float64"), rounded)


# ---- CUDA
def _programs(fmt: Format) -> Iterator[tuple[Format, Format, _kernels.Program]]:
    for name in ("float32", "float16", "bfloat16"):
        other = lp.formats[name]
        for source, target in ((fmt, other), (other, fmt)):
            yield source, target, make_program(make_plan(source, target, cast_rules(source, target, saturate=False)))


@pytest.mark.slow
def test_cuda_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    rows = [*SMALL[:8], *WIDE, E3, F3]
    conversions = [cuda.conversion(program) for fmt in rows for *_, program in _programs(fmt)]
    host = CpuBuild(tmp_path_factory.mktemp("described"), conversions)
    for fmt in rows:
        for source, target, program in _programs(fmt):
            if source.bits <= 16:
                codes, values = _codes(source), code_values(source)
            else:
                values = cast_inputs.sweep_float32(fmt, count=0)
                codes = values.view(np.uint32)
            expected = _expected(values, target, saturate=False)
            _same(host(codes, program, codes.size), expected, codes, f"{source.name} to {target.name}")


# ---- storage dtypes
def test_a_dtype_of_its_own_only_where_every_fact_agrees() -> None:
    same = float_format("float8_e3m4", (3, 4, 3), inf=True, nan=NaNRule.IEEE)
    y = lp.cast(np.array([1.0, -0.5, np.inf], np.float32), same)
    assert y.dtype == ml_dtypes.float8_e3m4
    assert lp.cast(y, "float32", source=same).tolist() == [1.0, -0.5, 15.5]
    others = [
        float_format("float8_e3m4", (3, 4, 4), inf=True, nan=NaNRule.IEEE),
        float_format("float8_e3m4", (4, 3, 7), inf=True, nan=NaNRule.IEEE),
        float_format("float8_e3m4", (3, 4, 3), inf=False, nan=NaNRule.IEEE),
        float_format("float8_e3m4", (3, 4, 3), inf=True, nan=NaNRule.ALL_ONES),
        float_format("float8_e4m3fn", (4, 3, 8), inf=False, nan=NaNRule.ALL_ONES),
        float_format("bfloat16", (8, 7, 120), inf=True, nan=NaNRule.IEEE),
        float_format("half", (5, 10, 15), inf=True, nan=NaNRule.IEEE),  # np.half is float16, of another name
        float_format("float8_e4m3b11fnuz", (4, 3, 10), inf=False, nan=NaNRule.NEGATIVE_ZERO),
        float_format("finfo", (4, 3, 7), inf=True, nan=NaNRule.IEEE),
        float_format("int8", (4, 3, 7), inf=True, nan=NaNRule.IEEE),
        float_format("array", (4, 3, 7), inf=True, nan=NaNRule.IEEE),
    ]
    for fmt in others:
        assert fmt.dtype == f"u{fmt.storage_bits // 8}", fmt
        assert lp.storage_dtype(fmt, np) == fmt.dtype
        assert lp.storage_dtype(fmt, strict) in (strict.uint8, strict.uint16)


def test_torch_holds_codes_of_a_format_with_a_wrong_torch_name() -> None:
    torch = pytest.importorskip("torch")
    known = lp.formats["float8_e4m3fn"]
    fmt = Format(*(9 if name == "bias" else getattr(known, name) for name in Format.__match_args__))
    assert (fmt.torch_name, lp.storage_dtype(fmt, torch)) == ("float8_e4m3fn", torch.uint8)
    assert lp.cast(torch.ones(2), fmt).tolist() == [0x48, 0x48]
    assert lp.storage_dtype(known, torch) == torch.float8_e4m3fn


def test_bitcast_to_a_custom_format() -> None:
    fmt = Format(*(1 if name == "since" else getattr(E3, name) for name in Format.__match_args__))
    codes = np.arange(256, dtype=np.uint8)
    assert np.array_equal(lp.bitcast(codes.view(np.int8), fmt), codes)
