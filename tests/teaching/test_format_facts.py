"""The facts of formats, typed from their documents and counted among all codes; where they overflow."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.custom_formats import CUSTOM_FORMATS
from support.p3109_names import NAMES

import lowprec as lp
from lowprec import reference, teaching
from lowprec.reference.values import number_text
from lowprec.spec.custom_formats import float_format_spelled
from lowprec.spec.formats import NUMERIC, Format, Kind
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC
from lowprec.teaching import overflow_edge, overflow_edges
from lowprec.teaching.format_facts import format_facts

BY_NAME = {"ids": lambda fmt: fmt.name}
SMALL = [fmt for fmt in NUMERIC if fmt.bits <= 8]
SMALL_P3109 = [lp.as_format(name) for name in NAMES if int(name[6:].split("p")[0]) <= 6]
COUNTED = [*SMALL, *[fmt for fmt in CUSTOM_FORMATS if fmt.bits <= 8], *SMALL_P3109]


LIMITS = {  # bias, emin, emax, largest, smallest normal, smallest, eps, 1 <= v < 2, subnormal codes, -0
    "float16": (15, -14, 15, 65504, "2^-14", "2^-24", "2^-10", 1024, 2 * 1023, 0x8000),
    "bfloat16": (127, -126, 127, (2 - Fraction(1, 128)) * 2**127, "2^-126", "2^-133", "2^-7", 128, 2 * 127, 0x8000),
    "float8_e4m3fn": (7, -6, 8, 448, "2^-6", "2^-9", "2^-3", 8, 14, 0x80),
    "float8_e4m3fnuz": (8, -7, 7, 240, "2^-7", "2^-10", "2^-3", 8, 14, None),
    "float8_e5m2": (15, -14, 15, 57344, "2^-14", "2^-16", "2^-2", 4, 6, 0x80),
    "float8_e5m2fnuz": (16, -15, 15, 57344, "2^-15", "2^-17", "2^-2", 4, 6, None),
    "float8_e4m3": (7, -6, 7, 240, "2^-6", "2^-9", "2^-3", 8, 14, 0x80),
    "float8_e3m4": (3, -2, 3, 15.5, "2^-2", "2^-6", "2^-4", 16, 30, 0x80),
    "float8_e4m3b11fnuz": (11, -10, 4, 30, "2^-10", "2^-13", "2^-3", 8, 14, None),
    "float8_e8m0fnu": (127, -127, 127, 2**127, "2^-127", "2^-127", "2^0", 1, 0, None),
    "float6_e2m3fn": (1, 0, 2, 7.5, "2^0", "2^-3", "2^-3", 8, 14, 0x20),
    "float6_e3m2fn": (3, -2, 4, 28, "2^-2", "2^-4", "2^-2", 4, 6, 0x20),
    "float4_e2m1fn": (1, 0, 2, 6, "2^0", "2^-1", "2^-1", 2, 2, 0x8),
}  # fmt: skip
"""OFP8 1.0, table 1; MX 1.0, section 5.3; arXiv 2206.02915; IEEE 754; README of ml_dtypes."""

CODES = {  # NaN codes, Inf codes; those of narrow rows are counted below
    "float32": ([(0x7F800001, 0x7FFFFFFF), (0xFF800001, 0xFFFFFFFF)], [(0x7F800000,) * 2, (0xFF800000,) * 2]),
    "float16": ([(0x7C01, 0x7FFF), (0xFC01, 0xFFFF)], [(0x7C00,) * 2, (0xFC00,) * 2]),
    "bfloat16": ([(0x7F81, 0x7FFF), (0xFF81, 0xFFFF)], [(0x7F80,) * 2, (0xFF80,) * 2]),
    "float8_e5m2": ([(0x7D, 0x7F), (0xFD, 0xFF)], [(0x7C, 0x7C), (0xFC, 0xFC)]),
    "binary8p3se": ([(0x80, 0x80)], [(0x7F, 0x7F), (0xFF, 0xFF)]),
    "binary8p3ue": ([(0xFF, 0xFF)], [(0xFE, 0xFE)]),
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_of_the_documents(name: str) -> None:
    facts = format_facts(name)
    powers = [Fraction(2) ** int(text.removeprefix("2^")) for text in LIMITS[name][4:7]]
    assert (facts.bias, facts.emin, facts.emax, facts.largest.number) == LIMITS[name][:4]
    assert [facts.smallest_normal.number, facts.smallest.number, facts.eps] == powers
    assert (facts.values_from_one_to_two, facts.subnormal_codes, facts.negative_zero) == LIMITS[name][7:]


def test_fields_of_a_code() -> None:
    fields = {  # bits, of the sign, of the exponent, of the mantissa
        "float16": (16, 1, 5, 10), "float8_e8m0fnu": (8, 0, 8, 0), "float6_e3m2fn": (6, 1, 3, 2),
        "int8": (8, 1, 0, 7), "uint4": (4, 0, 0, 4), "int64": (64, 1, 0, 63), "bool": (8, 0, 0, 1),
    }  # fmt: skip
    for name, expected in fields.items():
        facts = format_facts(name)
        assert (facts.bits, facts.sign_bits, facts.exponent_bits, facts.mantissa_bits) == expected, name


@pytest.mark.parametrize("name", CODES)
def test_special_codes_are_those_of_the_documents(name: str) -> None:
    facts = format_facts(name)
    assert (list(facts.nan_codes), list(facts.inf_codes)) == CODES[name]


@pytest.mark.parametrize("fmt", COUNTED, **BY_NAME)
def test_counts_are_those_of_all_codes(fmt: Format) -> None:
    values = [reference.decode(code, fmt) for code in range(2**fmt.bits)]
    numbers = sorted({value.number for value in values if not value.special})
    positive, facts = [number for number in numbers if number > 0], format_facts(fmt)
    assert facts.numbers == len(numbers)
    assert facts.finite_codes == sum(not value.special for value in values)
    assert (facts.lowest.number, facts.smallest.number, facts.largest.number) == (numbers[0], positive[0], numbers[-1])
    for special, ranges in (("nan", facts.nan_codes), ("inf", facts.inf_codes)):
        codes = [code for code, value in enumerate(values) if value.special == special]
        assert codes == sorted(code for first, last in ranges for code in range(first, last + 1))
    zeros = [code for code, value in enumerate(values) if value.negative and not value.special and not value.magnitude]
    assert zeros == ([] if facts.negative_zero is None else [facts.negative_zero])
    assert facts.values_from_one_to_two == sum(1 <= number < 2 for number in positive)
    assert facts.values_inside_one_and_two == sum(1 < number < 2 for number in positive)
    assert facts.eps == next((number - 1 for number in positive if number > 1), None) or 1 not in positive
    assert (facts.eps is None) == (1 not in positive or positive[-1] == 1)
    counts = [(binade.exponent, binade.values) for binade in teaching.binades(fmt)]
    spread = [reference.binade_of(number) for number in positive]
    assert counts == [(power, spread.count(power)) for power in sorted(set(spread))]
    assert facts.values_in_last_binade == counts[-1][1]
    for binade in teaching.binades(fmt):
        inside = [number for number in positive if 1 <= number / Fraction(2) ** binade.exponent < 2]
        assert {high - low for low, high in pairwise(inside)} <= {binade.step}
        assert binade.step == Fraction(2) ** (binade.exponent - binade.significant_bits + 1)
    if fmt.is_float:
        full = [count for power, count in counts[:-1] if facts.emin is not None and power >= facts.emin]
        assert set(full) <= {facts.values_per_binade}
        size = 2**fmt.mantissa_bits
        has_full = any(count == size for power, count in counts if facts.emin is not None and power >= facts.emin)
        assert facts.values_per_binade == (size if has_full else None)
        fields = [code >> fmt.mantissa_bits & (1 << fmt.exponent_bits) - 1 for code in range(2**fmt.bits)]
        subnormal = sum(
            not field and bool(value.magnitude) and fmt.has_zero for field, value in zip(fields, values, strict=True)
        )
        assert facts.subnormal_codes == subnormal


@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_what_stands_behind_the_largest_value(fmt: Format) -> None:
    facts = format_facts(fmt)
    if fmt.kind is Kind.BOOL:
        assert facts.end[:3] == (reference.Value.of(2), None, None)
        return
    assert facts.end.value.number == facts.largest.number + reference.ulp(facts.largest, fmt)
    if facts.end.code is not None:
        assert facts.end.meaning == reference.decode(facts.end.code, fmt)
        assert reference.decode(facts.end.code - 1, fmt) == facts.largest


@pytest.mark.parametrize("fmt", [lp.as_format(name) for name in ("float16", "float32", "float64")], **BY_NAME)
def test_ieee_floats_are_numpys(fmt: Format) -> None:
    facts, info = format_facts(fmt), np.finfo(fmt.name)
    assert (float(facts.largest), float(facts.eps or 0)) == (info.max, info.eps)
    assert (float(facts.smallest_normal), float(facts.smallest)) == (info.smallest_normal, info.smallest_subnormal)
    assert facts.nan_count == 2 * (2**info.nmant - 1)
    assert facts.inf_count == 2
    assert facts.values_from_one_to_two == facts.values_inside_one_and_two + 1 == 2**info.nmant
    assert facts.numbers == 2**fmt.bits - facts.nan_count - 2 - 1


LIMIT = st.one_of(st.sampled_from(["inf", "-inf", "0", "-0", "1", "2", "448"]), st.fractions(-600, 600))


@given(st.sampled_from(COUNTED), LIMIT, LIMIT)
def test_values_between_two_limits(fmt: Format, low: object, high: object) -> None:
    values = [reference.decode(code, fmt) for code in range(2**fmt.bits)]
    numbers = {value.number for value in values if not value.special}
    first, last = (
        float(str(limit)) if "inf" in str(limit) else reference.Value.of(limit).number for limit in (low, high)
    )
    assert teaching.values_between(low, high, fmt) == sum(first <= number < last for number in numbers)


def test_what_is_no_limit_and_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="`low` must be a number"):
        teaching.values_between("nan", 1, "int8")
    with pytest.raises(ValueError, match="`x` must be a finite number other than 0"):
        reference.binade_of("-inf")
    with pytest.raises(ValueError, match="`fmt` must be one of"):
        format_facts("string")
    assert teaching.values_between(2, 1, "int8") == 0


@pytest.mark.parametrize(
    ("x", "text"),
    [("0", "0"), ("-0", "-0"), ("nan", "NaN"), ("-inf", "-Inf"), ("-17/23", "-17/23"), ("448", "448"),
     ("1e-9", "0.000000001"), ("1e300", "1e+300"), ("0x1p-149", "2^-149"), ("-0x1p-149", "-2^-149"),
     ("0x1.8p-149", "about 2.10195e-45"), ("12345678901234567/3", "about 4.11523e+15")],
)  # fmt: skip
def test_numbers_as_texts(x: str, text: str) -> None:
    assert number_text(reference.Value.of(x)) == text


def test_logarithms() -> None:
    single, double, e4m3 = (format_facts(name) for name in ("float32", "float64", "float8_e4m3fn"))
    assert (round(single.digits, 2), round(double.digits, 2), round(single.decades, 1)) == (7.22, 15.95, 83.4)
    assert (single.significant_bits, e4m3.significant_bits) == (24, 4)
    assert round(e4m3.decades, 2) == 5.36  # 448 / 2^-9 = 229376
    assert round(e4m3.decibels, 1) == 107.2
    assert reference.log2(double.smallest) == -1074
    assert [binade.significant_bits for binade in teaching.binades("float32")][:3] == [1, 2, 3]
    assert teaching.binades("uint64")[-1] == (63, 64, 1, 2**63)


FIXED = tuple(name for name in ROUNDINGS if name not in STOCHASTIC)
# From the largest value and the one that would follow it, by hand: e4m3fn 448 (code even) and 480, e5m2 57344 (odd)
# and 65536, e2m1fn 6 (odd) and 8, binary8p3se 49152 (even) and 57344.
EDGES = {
    ("float8_e4m3fn", None): (464, False), ("float8_e4m3fn", "nearest_away"): (464, True),
    ("float8_e4m3fn", "nearest_zero"): (464, False), ("float8_e4m3fn", "toward_negative"): (480, True),
    ("float8_e4m3fn", "toward_positive"): (448, False), ("float8_e4m3fn", "to_odd"): (448, False),
    ("float8_e5m2", None): (61440, True), ("float8_e5m2", "nearest_even"): (61440, True),
    ("float8_e5m2", "to_odd"): (65536, True), ("float4_e2m1fn", None): (7, True),
    ("binary8p3se", None): (53248, False), ("binary8p3se", "toward_zero"): (57344, True),
    ("float8_e8m0fnu", None): (2**127, False), ("float8_e8m0fnu", "nearest_even"): (3 * 2**126, False),
    ("tf32", None): (4095 * 2**116, True), ("float64", None): (2**1024 - 2**970, True),
}  # fmt: skip
FORMATS = [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits < 64] + [
    lp.as_format(name) for name in ("binary3p1uf", "binary8p3se", "binary9p4se", "binary16p16ue", "tf32")
] + [float_format_spelled(text) for text in ("e4m0,nan=none", "e1m1", "e4m3,bias=1000", "e8m23,bias=-700")]  # fmt: skip


@pytest.mark.parametrize(("name", "rounding"), EDGES)
def test_edges_by_hand(name: str, rounding: str | None) -> None:
    assert overflow_edge(name, rounding=rounding) == EDGES[name, rounding]


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_both_sides(fmt: lp.Format) -> None:
    """An overflow without saturation is named by its result where the format has Inf or NaN for it."""
    outward = [None, *(name for name in FIXED if name not in ("toward_zero", "toward_negative"))]
    for rounding in outward if fmt.has_inf or fmt.nan_code is not None else ():
        last, first = overflow_edges(fmt, rounding=rounding)
        ways = {"saturate": False} if rounding is None else {"rounding": rounding, "overflow": "ovf_inf"}
        assert reference.encode(last, fmt, **ways) == fmt.max_code
        assert reference.decode(reference.encode(first, fmt, **ways), fmt).special == ("inf" if fmt.has_inf else "nan")


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_directed_edges_are_the_next_value(fmt: lp.Format) -> None:
    following = fmt.magnitude(fmt.max_code + 1) if fmt.max_code < fmt.magnitude_mask else None
    for rounding in ("toward_zero", "toward_negative"):
        number, overflows = overflow_edge(fmt, rounding=rounding)
        assert overflows
        assert number > Fraction(fmt.max)
        assert following is None or number == Fraction(following)


def test_they_are_neighbours_of_53_bits() -> None:
    for fmt in FORMATS:
        for rounding in (None, *FIXED):
            last, first = map(float, overflow_edges(fmt, rounding=rounding))
            if is_normal(last) and math.isfinite(first):
                assert np.nextafter(last, math.inf) == first
    assert overflow_edges("float64") == (Fraction(np.finfo(np.float64).max), 2**1024)


def is_normal(number: float) -> bool:
    return bool(number >= np.finfo(np.float64).tiny)
