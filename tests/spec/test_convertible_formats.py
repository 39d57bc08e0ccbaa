"""Every P3109 format that float32 holds, and other described ones, both ways through the compiled loops."""

from __future__ import annotations

import numpy as np
import pytest
from support.compare import each_tier
from support.p3109_names import NAMES, facts_in

import lowprec as lp
from lowprec import _kernels
from lowprec.reference import whole_arrays
from lowprec.reference.exact_cast import decode
from lowprec.reference.whole_arrays import decoded, expected_rounded
from lowprec.spec.custom_formats import why_not_converted
from lowprec.spec.formats import Format, as_format
from lowprec.spec.rounding_modes import RoundingOptions, check_rounding

# The others have exponents beyond float64, and no description.
DESCRIBED = [name for name in NAMES if sum((*facts_in(name)[:1], -facts_in(name)[1], not facts_in(name)[2])) <= 11]
CONVERTIBLE = [fmt for fmt in map(as_format, DESCRIBED) if not why_not_converted(fmt)]
OTHERS = [
    lp.float_format("e8m1b129", exponent_bits=8, mantissa_bits=1, bias=129, inf=False, nan="all-ones"),
    lp.float_format("e7m8b140", exponent_bits=7, mantissa_bits=8, bias=140),
    lp.float_format("e8m7b126none", exponent_bits=8, mantissa_bits=7, bias=128, inf=True, nan="none"),
    lp.float_format("ue3m5", exponent_bits=3, mantissa_bits=5, signed=False, inf=True, nan="ieee"),
    lp.float_format("e2m2b-30", exponent_bits=2, mantissa_bits=2, bias=-30, inf=False, nan="negative-zero"),
]
POWERS = [
    lp.float_format(
        f"ue{bits}b{bias}", exponent_bits=bits, mantissa_bits=0, bias=bias, signed=False, inf=inf, nan=nan, zero=False
    )
    for bits, bias, inf, nan in (
        (8, 127, False, "all-ones"), (4, 7, False, "all-ones"), (5, 149, False, "all-ones"),
        (8, 128, False, "all-ones"),
    )
]  # fmt: skip


def _codes(fmt: Format) -> np.ndarray:
    every = np.arange(1 << fmt.bits)
    if fmt.bits > 10:
        every = np.concatenate(
            [every[:: len(every) // 150], every[:70], every[-70:], every[fmt.magnitude_mask - 70 :][:140]]
        )
    return every.astype(fmt.code_dtype)


def _decode(codes: np.ndarray, fmt: Format) -> np.ndarray:
    values = lp.decode(codes, fmt, to="float32").astype(np.float64)
    of_each = [float(decode(code, fmt)) for code in codes.tolist()] if fmt.bits > 10 else decoded(codes, fmt)
    np.testing.assert_array_equal(values, expected := np.array(of_each), fmt.name)
    np.testing.assert_array_equal(np.signbit(values), np.signbit(expected), fmt.name)
    return values


@pytest.mark.slow
@pytest.mark.parametrize("piece", range(8))
def test_both_ways(piece: int) -> None:
    assert len([fmt for fmt in CONVERTIBLE if fmt.bits <= 8]) == 120
    assert len(CONVERTIBLE) == 376
    for fmt in [*CONVERTIBLE[piece::8], *OTHERS[piece : piece + 1]]:
        codes = _codes(fmt)
        for isa in _kernels.available_isas()[0 if fmt.bits <= 8 else -1 :]:
            _kernels.use_isa(isa)
            values = _decode(codes, fmt)
            with np.errstate(over="ignore"):
                near = values.astype(np.float32)
                near = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), near * np.float32(1.25)])
            for saturate in (True, False) if fmt.saturates == "asked" else (True,):
                saturates = {"never": False, "always": True, "asked": saturate}[fmt.saturates]
                options = RoundingOptions("nearest_even", "sat_finite" if saturates else "ovf_inf")
                for source in ("float32", "float16", "float64"):
                    with np.errstate(over="ignore"):
                        x = near.astype(as_format(source).dtype)
                    rounding = check_rounding(options, fmt, "to")
                    expected = expected_rounded(x.view(as_format(source).code_dtype), source, fmt, rounding)
                    got = lp.encode(x, fmt, saturate=saturate)
                    np.testing.assert_array_equal(got, expected, f"{isa} {source} {fmt.name} {saturate}")


# The smallest and the largest bias of each that float32 holds.
@pytest.mark.parametrize(
    ("exponent_bits", "mantissa_bits", "least", "most"),
    [(4, 3, -112, 147), (5, 2, -96, 148), (3, 4, -120, 146), (2, 5, -124, 145), (4, 2, -112, 148), (2, 1, -124, 149)],
)
def test_every_bias_near_the_ends_of_float32(exponent_bits: int, mantissa_bits: int, least: int, most: int) -> None:
    """Loops differ in what they take: some read float16 of a multiple of the value, some round in 16 bits."""
    for bias in (*range(least, least + 4), *range(most - 24, most + 1)):
        fmt = lp.float_format(
            f"e{exponent_bits}m{mantissa_bits}b{bias}", exponent_bits=exponent_bits, mantissa_bits=mantissa_bits,
            bias=bias, inf=False, nan="all-ones",
        )  # fmt: skip
        codes = np.resize(_codes(fmt), 512)
        for isa in each_tier():
            values = _decode(codes, fmt).astype(np.float32)
            with np.errstate(over="ignore"):
                near = np.concatenate([values, np.nextafter(values, np.float32(np.inf)), values * np.float32(1.25)])
            rounding = check_rounding(RoundingOptions("nearest_even", "sat_finite"), fmt, "to")
            expected = expected_rounded(near.view(np.uint32), "float32", fmt, rounding)
            np.testing.assert_array_equal(lp.encode(near, fmt), expected, f"{isa} {fmt.name}")


@pytest.mark.parametrize("fmt", POWERS, ids=lambda fmt: fmt.name)
def test_powers_of_two(fmt: Format) -> None:
    """Formats without zero follow float8_e8m0fnu, whatever their exponents."""
    for isa in each_tier():
        values = _decode(_codes(fmt), fmt)
        with np.errstate(all="ignore"):
            x = values.astype(np.float32)
            x = np.concatenate(
                [x, x * np.float32(1.5), x * np.float32(1.25), np.nextafter(x, np.float32(0)), x / 2, -x]
            )
            x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.array([0, 1e-45, np.inf], np.float32)])
            wide = x.astype(np.float64)
        for saturate in (True, False):
            for mode in ("up", "down", "nearest"):
                expected = whole_arrays.expected_from_float64(wide, fmt, saturate=saturate, round_mode=mode)
                for source in (x, wide):
                    got = lp.encode(source, fmt, saturate=saturate, round_mode=mode)
                    np.testing.assert_array_equal(got, expected, f"{isa}, {saturate}, {mode}")
