"""Values that another format holds: counted by hand, and against every code of both formats, decoded."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import cache

import pytest
from support.custom_formats import BY_NAME, CUSTOM_FORMATS
from support.p3109_names import NAMES

import lowprec as lp
from lowprec import reference
from lowprec.spec.formats import NUMERIC, Format, Kind
from lowprec.teaching import HeldValues, values_held

SMALL = [fmt for fmt in NUMERIC if fmt.bits <= 8]
DESCRIBED = [fmt for fmt in CUSTOM_FORMATS if fmt.bits <= 8] + [
    lp.as_format(name) for name in NAMES if int(name[6:].split("p")[0]) <= 5
]


@cache
def values_of(fmt: Format) -> dict[int, reference.Value]:
    codes = range(2 if fmt.kind is Kind.BOOL else 2**fmt.bits)
    return {code: reference.decode(code, fmt) for code in codes}


@cache
def facts_of(fmt: Format) -> tuple[dict[Fraction, tuple[int, bool] | None], set[bool], set[bool], bool]:
    """Return the finite numbers with their binades, the signs of zeros and of Inf, and whether there is NaN."""
    values = list(values_of(fmt).values())
    numbers = {
        value.number: (reference.binade_of(value), value.negative) if value.magnitude else None
        for value in values
        if not value.special
    }
    zeros = {value.negative for value in values if not value.special and not value.magnitude}
    infs = {value.negative for value in values if value.special == "inf"}
    return numbers, zeros, infs, any(value.special == "nan" for value in values)


def check(source: Format, target: Format) -> HeldValues:
    found, own = values_held(source, target), values_of(source)
    (numbers, _, own_infs, _), (others, zeros, infs, nan) = facts_of(source), facts_of(target)
    codes = list(found.codes())
    common, held = numbers.keys() & others.keys(), set(codes)
    for code, value in own.items():
        if value.special:
            kept = nan if value.special == "nan" else own_infs <= infs
        else:
            kept = value.number in common and (bool(value.magnitude) or value.negative in zeros or not value.negative)
        is_one_of_many = len(own) > 256 and code % 16 and value.magnitude
        assert (code in held if is_one_of_many else found.holds(code)) == kept, (source.name, target.name, hex(code))
    assert (found.numbers, found.held, found.lost) == (len(numbers), len(common), len(numbers) - len(common))
    assert {own[code].number for code in codes} == common
    assert len(codes) == len(held) == found.held
    by_place, kept_by_place = (Counter(numbers[number] for number in some if number) for some in (numbers, common))
    assert {(one.exponent, one.negative): one.values for one in found.binades} == by_place
    for one in found.binades:
        assert one.held == kept_by_place[one.exponent, one.negative] == len(one.codes)
        places = {numbers[own[code].number] for code in one.codes[:: max(one.held - 1, 1)]}
        assert places <= {(one.exponent, one.negative)}
    return found


@pytest.mark.parametrize("source", SMALL, **BY_NAME)
@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", SMALL, **BY_NAME)
def test_pairs_of_formats_of_up_to_8_bits(source, target):
    check(source, target)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("described", DESCRIBED, **BY_NAME)
def test_described_formats_both_ways(described):
    for name in ("float8_e4m3fn", "float8_e8m0fnu", "int8", "float8_e5m2fnuz"):
        check(described, lp.as_format(name))
        check(lp.as_format(name), described)


@pytest.mark.slow
@pytest.mark.parametrize("source", ["float16", "bfloat16", "int16", "uint16"])
def test_16_bits_against_narrow_formats(source):
    for target in ("float8_e4m3fn", "float8_e5m2", "int8", "float4_e2m1fn"):
        check(lp.as_format(source), lp.as_format(target))


@pytest.mark.parametrize(
    ("source", "target", "numbers", "held"),
    [
        ("float8_e4m3fn", "float16", 253, 253),
        # 14 whole binades keep every other of 8 values, that of 256 four of 7, and the 7 subnormals have 3 bits at most
        ("float8_e4m3fn", "float8_e5m2", 253, 2 * (14 * 4 + 4 + 7) + 1),
        # 30 binades keep 128 of 1024; of the subnormals 1 to 127 are all kept, and 128 of each of three binades
        ("float16", "bfloat16", 63487, 2 * (30 * 128 + 127 + 3 * 128) + 1),
        ("int8", "uint8", 256, 128),
        ("int8", "float4_e2m1fn", 256, 11),  # 0, 1, 2, 3, 4, 6 and their negatives
        ("int8", "float8_e4m3fn", 256, 1 + 39 + 40),  # 1 to 15, 8 of each binade from 16 on; -128 is the 40th
        ("bool", "float4_e2m1fn", 2, 2),
        ("float8_e8m0fnu", "float32", 255, 255),
        ("float32", "float8_e8m0fnu", 2**32 - 2**24 - 1, 255),
        ("float64", "float32", 2**64 - 2**53 - 1, 2**32 - 2**24 - 1),
        ("int64", "float64", 2**64, 2 * (2**53 - 1 + 10 * 2**52) + 2),  # 0 and -2^63
        ("tf32", "float16", 2**19 - 2**11 - 1, 63487),
    ],
)
def test_counts_by_hand(source, target, numbers, held):
    found = values_held(source, target)
    assert (found.numbers, found.held) == (numbers, held)


def test_what_becomes_of_special_values():
    found = values_held("float8_e5m2", "float8_e4m3fnuz")  # which has one NaN alone
    assert (found.zero, found.negative_zero, found.inf, found.nan) == (True, False, False, True)
    assert [found.holds(code) for code in (0x00, 0x80, 0x7C, 0xFC, 0x7D, 0xFF)] == [
        True, False, False, False, True, True,
    ]  # fmt: skip
    found = values_held("float4_e2m1fn", "float8_e8m0fnu")  # without zero
    assert (found.zero, found.negative_zero, found.inf, found.nan) == (False, False, None, None)
    assert [found.holds(code) for code in range(16)] == [False, True, True, False, True, False, True, False] + [
        False
    ] * 8
    found = values_held("float8_e8m0fnu", "int8")
    assert (found.zero, found.nan, found.held) == (None, False, 7)  # 1 to 64


def test_binades_of_float16_in_e5m2():
    positive = [one for one in values_held("float16", "float8_e5m2").binades if not one.negative]
    assert [one.exponent for one in positive] == list(range(-24, 16))
    assert [one.held for one in positive] == [0] * 8 + [1, 2] + [4] * 30
    assert [one.values for one in positive] == [2**place for place in range(10)] + [1024] * 30
    assert positive[-1].codes == range(0x7800, 0x7C00, 0x100)


def test_more_values_than_a_length_counts() -> None:
    """Of uint64 the upper half is beyond int64, of int64 the negative half beyond uint64."""
    assert values_held("uint64", "uint64").held == 2**64
    assert values_held("uint64", "int64").held == values_held("int64", "uint64").held == 2**63
