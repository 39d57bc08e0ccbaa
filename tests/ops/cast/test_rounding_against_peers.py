"""Rounding and overflow rules against gfloat, APyTypes and pychop, code by code, wherever those have the rule."""

from __future__ import annotations

import functools
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("gfloat")

import numpy as np
from gfloat import RoundMode, encode_float, encode_ndarray, round_float, round_ndarray
from gfloat import formats as theirs
from gfloat.types import Domain, FormatInfo, Signedness

import lowprec as lp
from lowprec.conformance.cast_inputs import landmarks, sweep_float32
from lowprec.spec.formats import Format

SEED = 0x9E3779B97F4A7C15

GFLOAT_MODES = {
    "nearest_even": RoundMode.TiesToEven, "nearest_away": RoundMode.TiesToAway, "toward_zero": RoundMode.TowardZero,
    "toward_positive": RoundMode.TowardPositive, "toward_negative": RoundMode.TowardNegative,
    "stochastic_a": RoundMode.StochasticFastest, "stochastic_b": RoundMode.StochasticFast,
    "stochastic_c": RoundMode.Stochastic,
}  # fmt: skip
"""Ours → gfloat's. It has neither to_odd, nearest_zero, away_from_zero nor `sat_propagate`; we lack StochasticOdd."""

DETERMINISTIC = [mode for mode in GFLOAT_MODES if not mode.startswith("stochastic")]
SATURATION = {"sat_finite": True, "ovf_inf": False}

FORMATS: dict[str, FormatInfo] = {
    "float8_e4m3fn": theirs.format_info_ocp_e4m3, "float8_e5m2": theirs.format_info_ocp_e5m2,
    "float6_e2m3fn": theirs.format_info_ocp_e2m3, "float6_e3m2fn": theirs.format_info_ocp_e3m2,
    "float4_e2m1fn": theirs.format_info_ocp_e2m1, "bfloat16": theirs.format_info_bfloat16,
    "float16": theirs.format_info_binary16,
    **{
        f"binary{k}p{p}{'s' if signed else 'u'}{'e' if extended else 'f'}": theirs.format_info_p3109(
            k, p, Signedness.Signed if signed else Signedness.Unsigned, Domain.Extended if extended else Domain.Finite
        )
        for k, p, signed, extended in (
            (3, 2, True, False), (4, 2, True, True), (5, 2, False, True), (6, 3, True, False), (7, 1, True, True),
            (8, 1, True, True), (8, 1, False, True), (8, 3, True, True), (8, 3, True, False), (8, 4, False, True),
            (8, 7, True, False), (8, 8, False, False), (10, 4, True, True), (16, 9, True, True), (15, 8, False, False),
        )
    },
}  # fmt: skip


@functools.lru_cache(maxsize=1)
def _inputs(fmt: Format) -> np.ndarray[Any, Any]:
    """Return float32 numbers: values, ties and limits ± 3 ulps, a grid, NaN, Inf; none below 0 for unsigned ones."""
    x = sweep_float32(fmt, count=1000)
    x = x[:: 1 + len(x) // 60_000]
    x = np.concatenate([x, np.array([0, -0.0, np.inf, -np.inf, np.nan], np.float32)])
    x = x if fmt.signed else x[~np.signbit(x)]  # gfloat has no rule for a negative number there
    return x if fmt.nan_code is not None else x[~np.isnan(x)]


def _from_gfloat(
    info: FormatInfo, x: np.ndarray[Any, Any], mode: str, overflow: str, **bits: Any
) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        rounded = round_ndarray(info, x.astype(np.float64), GFLOAT_MODES[mode], SATURATION[overflow], **bits)
        return encode_ndarray(info, rounded)


def _wrong(ours: np.ndarray[Any, Any], codes: np.ndarray[Any, Any], fmt: Format, info: FormatInfo) -> np.ndarray:
    """Return where two arrays of codes differ; gfloat has one NaN, without sign."""
    values = lp.decode(ours, fmt)
    nan = np.isnan(values)
    canonical = np.array(info.code_of_nan if info.num_nans else 0, np.int64)
    return np.flatnonzero(np.where(nan, canonical, ours.astype(np.int64)) != codes.astype(np.int64))


def _overflows(fmt: Format) -> list[str]:
    """Return the rules that both have: gfloat raises an error where there is neither Inf nor NaN."""
    return list(SATURATION) if fmt.has_inf or fmt.nan_code is not None else ["sat_finite"]


@pytest.mark.parametrize("mode", DETERMINISTIC)
@pytest.mark.parametrize("name", FORMATS)
def test_gfloat_rounds_alike(name: str, mode: str, tally: Counter[str]) -> None:
    fmt, info = lp.as_format(name), FORMATS[name]
    x = _inputs(fmt)
    for overflow in _overflows(fmt):
        ours = lp.encode(x, fmt, rounding=mode, overflow=overflow)
        wrong = _wrong(ours, _from_gfloat(info, x, mode, overflow), fmt, info)
        assert not wrong.size, (overflow, x[wrong[:3]], ours[wrong[:3]])
        tally["Rounding: roundings that gfloat has too"] += x.size


@pytest.mark.parametrize("mode", [mode for mode in GFLOAT_MODES if mode not in DETERMINISTIC])
@pytest.mark.parametrize("name", FORMATS)
def test_gfloat_rounds_alike_with_the_same_random_bits(name: str, mode: str, tally: Counter[str]) -> None:
    """Up to 16 bits: gfloat adds them to the fraction in float64, which is exact then."""
    fmt, info = lp.as_format(name), FORMATS[name]
    x = _inputs(fmt)
    for bits, overflow in ((1, "sat_finite"), (5, "ovf_inf"), (8, "sat_finite"), (16, "ovf_inf")):
        if overflow not in _overflows(fmt):
            overflow = "sat_finite"
        ours = lp.encode(x, fmt, rounding=mode, overflow=overflow, seed=SEED, random_bits=bits, offset=3)
        random = lp.stochastic_bits(SEED, x.shape, bits=bits, offset=3).astype(np.int64)
        codes = _from_gfloat(info, x, mode, overflow, srbits=random, srnumbits=bits)
        wrong = _wrong(ours, codes, fmt, info)
        assert not wrong.size, (bits, overflow, x[wrong[:3]], random[wrong[:3]], ours[wrong[:3]])
        tally["Rounding: roundings that gfloat has too"] += x.size


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn", "binary8p3se", "binary8p1ue"])
def test_gfloat_rounds_one_number_alike(name: str) -> None:
    """By `round_float` and `encode_float`, which share nothing with those for arrays."""
    fmt, info = lp.as_format(name), FORMATS[name]
    x = _inputs(fmt)[::97]
    for mode in DETERMINISTIC:
        for overflow in _overflows(fmt):
            rounded = [round_float(info, v, GFLOAT_MODES[mode], SATURATION[overflow]) for v in x.tolist()]
            codes = np.array([encode_float(info, v) for v in rounded])
            ours = lp.encode(x, fmt, rounding=mode, overflow=overflow)
            assert not _wrong(ours, codes, fmt, info).size, (mode, overflow)


def test_gfloat_rounds_scales_alike_within_their_range() -> None:
    """Below 2^-127 gfloat goes on with exponents that have no code, and it gives no negative number a code."""
    fmt, info = lp.formats["float8_e8m0fnu"], theirs.format_info_ocp_e8m0
    x = sweep_float32(fmt, count=1000)
    x = x[(x >= 2.0**-127) | np.isnan(x)]
    for mode in DETERMINISTIC:
        for overflow in SATURATION:
            ours = lp.encode(x, fmt, rounding=mode, overflow=overflow)
            assert not _wrong(ours, _from_gfloat(info, x, mode, overflow), fmt, info).size, (mode, overflow)


def test_gfloat_has_no_overflow_without_inf_and_nan() -> None:
    with pytest.raises(ValueError, match="No Infs or NaNs"):
        _from_gfloat(theirs.format_info_ocp_e2m1, np.array([7.0]), "nearest_even", "ovf_inf")
    assert lp.encode(np.float32([7, -np.inf]), "float4_e2m1fn", overflow="ovf_inf").tolist() == [0b0_11_1, 0b1_11_1]


APYTYPES_MODES = {
    "nearest_even": "TIES_EVEN", "nearest_away": "TIES_AWAY", "nearest_zero": "TIES_ZERO", "toward_zero": "TO_ZERO",
    "away_from_zero": "TO_AWAY", "toward_positive": "TO_POS", "toward_negative": "TO_NEG", "to_odd": "JAM_UNBIASED",
}  # fmt: skip
"""Every deterministic one."""


@pytest.mark.parametrize("name", ["float8_e5m2", "bfloat16", "float16"])
def test_apytypes_rounds_alike(name: str, tally: Counter[str]) -> None:
    """Formats as IEEE's, whose overflow is Inf; but `to_odd` beyond the range gives its largest value, which is odd."""
    apytypes = pytest.importorskip("apytypes")
    fmt = lp.formats[name]
    x = _inputs(fmt)
    x = x[~np.isnan(x)]
    single = apytypes.APyFloatArray.from_bits(x.view(np.uint32).astype(np.uint64), 8, 23)
    for mode, their_name in APYTYPES_MODES.items():
        quantization = getattr(apytypes.QuantizationMode, their_name)
        found = single.cast(fmt.exponent_bits, fmt.mantissa_bits, quantization=quantization)
        codes = np.asarray(found.to_bits(numpy=True)).astype(fmt.code_dtype)
        ours = lp.encode(x, fmt, rounding=mode, overflow="ovf_inf")
        wrong = np.flatnonzero(ours != codes)
        if mode == "to_odd":
            assert (np.abs(x[wrong].astype(np.float64)) > float(fmt.max)).all()
            assert ((ours[wrong] & fmt.magnitude_mask) == fmt.inf_code).all()
            assert ((codes[wrong] & fmt.magnitude_mask) == fmt.max_code).all()
        else:
            assert not wrong.size, (mode, x[wrong[:3]], ours[wrong[:3]])
        tally["Rounding: roundings that APyTypes has too"] += x.size - wrong.size


PYCHOP_MODES = (
    "nearest_even", "nearest_away", "toward_zero", "toward_positive", "toward_negative", "to_odd",
    "stochastic_a", "stochastic_b", "stochastic_c",
)  # fmt: skip
PYCHOP_SATURATION = {"sat_finite": "finite", "sat_propagate": "propagate", "ovf_inf": "none"}


@pytest.mark.parametrize("k", range(3, 9))
def test_pychop_gives_the_same_codes_of_p3109(k: int, tally: Counter[str]) -> None:
    """Every signed and unsigned, finite and extended format, every mode and saturation; pychop follows draft 4.1."""
    p3109 = pytest.importorskip("pychop.p3109", exc_type=ImportError)
    for signed, extended in ((True, True), (True, False), (False, True), (False, False)):
        for precision in range(1, k + (not signed)):
            fmt = lp.as_format(f"binary{k}p{precision}{'s' if signed else 'u'}{'e' if extended else 'f'}")
            peer = p3109.P3109Format(k, precision, signed, "extended" if extended else "finite")
            marks = landmarks(fmt)
            x = np.concatenate([*(marks * (1 + c) for c in (0, 2**-40, -(2**-40))), [1e-44, 1e30, 2.0**127, 1e300]])
            x = np.concatenate([x, -x, [np.inf, -np.inf, np.nan]])
            for index, mode in enumerate(PYCHOP_MODES):
                bits = (7, 12, 32)[index % 3] if mode.startswith("stochastic") else 0
                options = {"seed": SEED, "random_bits": bits} if bits else {}
                random = lp.stochastic_bits(SEED, x.shape, bits=bits) if bits else None
                for overflow, saturate in PYCHOP_SATURATION.items():
                    ours = lp.encode(x, fmt, rounding=mode, overflow=overflow, nan="plain", **options)
                    codes = p3109.p3109_encode(x, peer, rounding=mode, saturate=saturate, srbits=random, srnumbits=bits)
                    wrong = np.flatnonzero(ours != codes)
                    assert not wrong.size, (fmt.name, mode, overflow, x[wrong[:3]], ours[wrong[:3]], codes[wrong[:3]])
                    tally["Rounding: codes of P3109 that pychop gives too"] += x.size
