"""Adjacent codes and the unit in the last place: by search among all values, by NumPy, by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.custom_formats import CUSTOM_FORMATS

from lowprec import reference
from lowprec.reference.values import bracket, finite_count, magnitude_of
from lowprec.spec.formats import NUMERIC, Format, Kind

BY_NAME = {"ids": lambda fmt: fmt.name}
SMALL = [fmt for fmt in NUMERIC if fmt.bits <= 8]
HALVES = [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits == 16]


@pytest.mark.parametrize("fmt", SMALL, **BY_NAME)
def test_neighbours_are_the_next_values(fmt: Format) -> None:
    values = [reference.decode(code, fmt) for code in range(2 if fmt.kind is Kind.BOOL else 1 << fmt.bits)]
    finite = sorted({value.number for value in values if not value.special})
    ends = {"inf": finite[-1], "-inf": finite[0]}
    for code, value in enumerate(values):
        below, above = reference.neighbours(code, fmt)
        if value.special == "nan":
            assert below is above is None
            continue
        if value.special == "inf":
            inner, outer = (above, below) if value.negative else (below, above)
            assert outer is None
            assert inner is not None
            assert reference.decode(inner, fmt).number == ends[str(value)]
            continue
        place = finite.index(value.number)
        for near, at in ((below, place - 1), (above, place + 1)):
            if 0 <= at < len(finite):
                assert near is not None
                assert reference.decode(near, fmt).number == finite[at]
            elif near is not None:
                assert reference.decode(near, fmt).special == "inf"
                assert fmt.has_inf
            else:
                assert not fmt.has_inf


@pytest.mark.parametrize("fmt", HALVES, **BY_NAME)
def test_neighbours_of_every_16_bit_float_are_numpys(fmt: Format) -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = codes.view(fmt.dtype)
    nan, zero = np.isnan(values.astype(np.float32)), values.astype(np.float32) == 0
    with np.errstate(all="ignore"):
        down, up = (np.nextafter(values, np.asarray(end, fmt.dtype)).view(np.uint16) for end in (-np.inf, np.inf))
    for code in np.flatnonzero(~nan & ~zero & np.isfinite(values.astype(np.float32)))[::7].tolist():
        below, above = reference.neighbours(code, fmt)
        assert (below, above) == (int(down[code]), int(up[code]))


def test_zeros_infinities_and_the_fnuz_zero() -> None:
    assert reference.neighbours(0x80, "float8_e4m3fn") == (0x81, 0x01)
    assert reference.neighbours(0x00, "float8_e4m3fn") == (0x81, 0x01)
    assert reference.neighbours(0x81, "float8_e4m3fn") == (0x82, 0x80)
    assert reference.neighbours(0x81, "float8_e4m3fnuz") == (0x82, 0x00)
    assert reference.neighbours(0x7B, "float8_e5m2") == (0x7A, 0x7C)
    assert reference.neighbours(0x7C, "float8_e5m2") == (0x7B, None)
    assert reference.neighbours(0xFC, "float8_e5m2") == (None, 0xFB)
    assert reference.neighbours(0x00, "float8_e8m0fnu") == (None, 0x01)
    assert reference.neighbours(0xFE, "float8_e8m0fnu") == (0xFD, None)
    assert reference.neighbours(0x7, "int4") == (0x6, None)
    assert reference.neighbours(0x8, "int4") == (None, 0x9)
    assert reference.neighbours(0xFF, "int8") == (0xFE, 0x00)  # -1
    assert reference.neighbours(0, "bool") == (None, 1)
    assert reference.neighbours((1 << 63) + 2, "int64") == ((1 << 63) + 1, (1 << 63) + 3)


@pytest.mark.parametrize(
    ("x", "fmt", "step"),
    [("0.97", "float8_e4m3fn", Fraction(1, 16)), ("-0.97", "float8_e4m3fn", Fraction(1, 16)),
     ("1", "float8_e4m3fn", Fraction(1, 8)), ("449", "float8_e4m3fn", 32), ("1e6", "float8_e4m3fn", 32),
     ("0", "float8_e4m3fn", Fraction(1, 512)), ("0.0001", "float8_e4m3fn", Fraction(1, 512)),
     ("240", "float8_e4m3fnuz", 16), ("57344", "float8_e5m2", 8192), ("1e9", "float8_e5m2", 8192),
     ("3", "float8_e8m0fnu", 2), ("0", "float8_e8m0fnu", Fraction(1, 1 << 127)),
     ("1e60", "float8_e8m0fnu", Fraction(1 << 127)), ("5", "float4_e2m1fn", 2), ("100", "float4_e2m1fn", 2),
     ("0.1", "float4_e2m1fn", Fraction(1, 2)), ("1/3", "float64", Fraction(1, 1 << 54)), ("0.3", "int8", 1),
     ("1e30", "int64", 1), ("1", "bool", 1)],
)  # fmt: skip
def test_units_by_hand(x: str, fmt: str, step: Fraction) -> None:
    assert reference.ulp(x, fmt) == step


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_units_are_numpys_spacing(dtype: type) -> None:
    info = np.finfo(dtype)
    chance = np.random.default_rng(0)
    numbers = np.ldexp(chance.uniform(1, 2, 400), chance.integers(int(info.minexp) - 9, int(info.maxexp), 400))
    numbers = np.concatenate([numbers.astype(dtype), np.exp2(np.arange(-10, 10)).astype(dtype), np.zeros(1, dtype)])
    for number in numbers:
        assert reference.ulp(number, dtype) == Fraction(float(np.spacing(number)))
        assert reference.ulp(-number, dtype) == Fraction(float(np.spacing(number)))


@pytest.mark.parametrize("fmt", [fmt for fmt in SMALL if fmt.is_float and fmt.has_zero], **BY_NAME)
def test_rounding_moves_by_half_a_unit_at_most(fmt: Format) -> None:
    largest = int(fmt.max * 64)
    for top in range(-largest, largest + 1, max(1, largest // 500)):
        x = Fraction(top, 64)
        moved = abs(reference.decode(reference.encode(x, fmt), fmt).number - x)
        assert moved <= reference.ulp(x, fmt) / 2


@pytest.mark.parametrize("fmt", [*(fmt for fmt in NUMERIC if fmt.is_float), *CUSTOM_FORMATS[::11]], **BY_NAME)
def test_the_codes_around_a_number(fmt: Format) -> None:
    """By the values that fractions give: at codes, between them, and beyond both ends."""
    count = finite_count(fmt)
    codes = range(count + 1) if count <= 128 else [0, 1, 2, fmt.mantissa_mask, fmt.mantissa_mask + 1, count - 1, count]
    for code in codes:
        value, above = magnitude_of(code, fmt), magnitude_of(code + 1, fmt)
        assert bracket(value, fmt) == (code, code)
        if code == count:  # no code is beyond
            assert bracket(above, fmt) == (code, code)
            continue
        for part in (Fraction(1, 10**400), Fraction(1, 3), Fraction(1, 2), 1 - Fraction(1, 10**400)):
            assert bracket(value + part * (above - value), fmt) == (code, code + 1), (code, part)
    least = magnitude_of(0, fmt)  # 0, or of a format without zero the smallest value
    assert bracket(least / 2, fmt) == ((0, 0) if fmt.has_zero else (-1, 0))
