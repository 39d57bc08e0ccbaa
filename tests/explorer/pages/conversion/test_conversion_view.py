"""The Cast & BitCast page's numbers: every step against the oracle, typed examples, and packing drawn bit by bit."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.conversion.packing_view import LONGEST_LIST, PACKABLE, packing, parse_codes
from lowprec.explorer.pages.conversion.view import CASTABLE, bitcasting, bitcastings, conversion
from lowprec.explorer.shared.numbers import place

E4M3, E5M2, E2M1, F32 = (lp.as_format(number) for number in (17, 19, 23, 1))
E2M3, E3M2, INT4, UINT8 = (lp.as_format(number) for number in (27, 28, 22, 2))
NARROW = [fmt for fmt in CASTABLE if fmt.bits <= 8]


def codes_of(fmt):
    """Return every code of a narrow format, and those of a wide one where it breaks, with some random ones."""
    if fmt.bits <= 8:
        return range(2**fmt.bits)
    top = 2 ** (fmt.bits - 1)
    rng = random.Random(fmt.bits)
    return {0, 1, top - 1, top, top + 1, 2 * top - 1, *(rng.randrange(2 * top) for _ in range(40))}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", CASTABLE, ids=lambda fmt: fmt.name)
def test_every_cast_ends_where_the_oracle_says(source):
    for target in NARROW:
        for code in list(codes_of(source))[:: 1 if source.bits > 8 else 5]:
            for saturate in (True, False):
                found = conversion(code, source, target, saturate=saturate)
                assert found.result == reference.cast(code, source, target, saturate=saturate)
                assert found.value == reference.decode(code, source)
                assert found.result_value == reference.decode(found.result, target)
                assert found.explanation is None or found.explanation.code == found.result
                assert found.rule


def test_steps_by_hand():
    found = conversion(0x3E9A0000, F32, E4M3)  # 77/256 lies between 9/32 and 10/32
    assert found.value.number == Fraction(77, 256)
    assert found.explanation.lower == (0x29, reference.Value.of(Fraction(9, 32)))
    assert found.explanation.upper == (0x2A, reference.Value.of(Fraction(10, 32)))
    assert (found.result, found.result_value.number, found.exact) == (0x2A, Fraction(5, 16), False)
    inf = conversion(0x7C, E5M2, E4M3, saturate=False)
    assert (inf.value.special, inf.result, inf.result_value.special, inf.exact) == ("inf", 0x7F, "nan", False)
    assert conversion(0x7F800000, F32, lp.as_format(18), opset=23).result == 0x80
    assert conversion(0x7F800000, F32, lp.as_format(18), opset=24).result == 0x7F
    assert conversion(0x80, E4M3, lp.as_format(18)).exact is False  # -0 lost its sign


def test_the_same_format_copies_bits_unless_the_table_applies():
    kept = conversion(0x7D, E5M2, E5M2, saturate=False)
    assert (kept.copied, kept.result, kept.exact) == (True, 0x7D, True)
    assert "copied" in kept.rule
    treated = conversion(0x7C, E5M2, E5M2)
    assert (treated.copied, treated.result) == (False, 0x7B)
    assert conversion(0x7FA00000, F32, F32).result == 0x7FA00000


def test_types_and_attributes_an_opset_lacks_are_named():
    with pytest.raises(ValueError, match="`From` must be a type that Cast-25 has; got float6_e2m3fn"):
        conversion(0, E2M3, F32, opset=27)
    with pytest.raises(ValueError, match="`To` must be a type that Cast-13 has"):
        conversion(0, F32, E4M3, opset=18)
    with pytest.raises(ValueError, match="round_mode"):
        conversion(0, F32, E4M3, opset=19, round_mode="up")


def test_bitcast_reads_the_same_bits():
    for code in range(256):
        for target in (fmt for fmt in CASTABLE if fmt.bits == 8):
            read = bitcasting(code, E4M3, target)
            assert (read.problem, read.note, read.code) == ("", "", code)
            assert read.value == reference.decode(code, target)
    assert str(bitcasting(0x3F800000, F32, lp.formats["uint32"]).value) == "1065353216"
    assert str(bitcasting(0xF, E2M1, INT4).value) == "-1"


def test_every_reading_of_the_same_width():
    assert {read.target.name for read in bitcastings(1, E2M1)} == {"int4", "uint4"}
    assert {str(read.value) for read in bitcastings(0xF, E2M1)} == {"-1", "15"}
    assert [read.target for read in bitcastings(1, E2M3)] == [E3M2]
    assert bitcastings(1, E2M1, opset=25) == ()


def test_bitcast_says_why_not():
    assert bitcasting(0, E4M3, F32).problem == "the target must be 8 bits wide, as float8_e4m3fn is; got float32 of 32"
    assert bitcasting(0, E4M3, F32).value is None
    assert "26" in bitcasting(0, E4M3, UINT8, opset=25).problem
    six = bitcasting(0b011011, E2M3, E3M2)
    assert (six.code, str(six.value), six.problem) == (0b011011, str(Fraction(14)), "")
    assert "no float6" in six.note
    assert "which no version of BitCast has" in bitcasting(0, E2M3, UINT8).problem


@pytest.mark.parametrize(
    ("fmt", "codes", "packed", "unused"),
    [  # the order of ONNX's raw_data, by hand
        (E2M1, (1, 15, 3), (0xF1, 0x03), 4),
        (lp.as_format(25), (1, 2, 3, 0, 2), (0b00_11_10_01, 0b10), 6),
        (E2M3, (1, 2, 3, 4, 5), (0b10_000001, 0b0011_0000, 0b000100_00, 0b101), 2),
        (INT4, (8,), (0x08,), 4),
    ],
)
def test_packing_by_hand(fmt, codes, packed, unused):
    found = packing(codes, fmt)
    assert (found.packed, found.unused_bits) == (packed, unused)


@pytest.mark.parametrize("fmt", PACKABLE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, LONGEST_LIST])
def test_owners_are_the_bits_in_order(fmt, count):
    codes = [(7 * index + 3) % 2**fmt.bits for index in range(count)]
    found = packing(codes, fmt)
    for byte, owners in enumerate(found.owners):
        for column, owner in enumerate(owners):
            stream = 8 * byte + 7 - column  # the first element is in the lowest bits
            assert owner == (stream // fmt.bits if stream < fmt.bits * count else None)
            bit = found.packed[byte] >> (7 - column) & 1
            assert bit == (0 if owner is None else codes[owner] >> (stream % fmt.bits) & 1)


def test_codes_and_values_are_read():
    assert parse_codes("0x7e 0b0_1111_110 448 0x1.cp+8 17/23", E4M3) == (0x7E, 0x7E, 0x7E, 0x7E, 0x34)
    assert parse_codes("-1", INT4) == (15,)
    assert parse_codes("nan", E2M1) == (8,)
    assert parse_codes("0x1, -6;1.5\n0.5", E2M1) == (1, 15, 3, 1)
    with pytest.raises(ValueError, match=r"`codes\[1\]`"):
        parse_codes("1 x", E2M1)


@given(st.text(max_size=60), st.sampled_from(CASTABLE), st.sampled_from(CASTABLE))
def test_any_text_is_a_code_or_a_message(text, source, target):
    try:
        code = place(text, source, "code").code
    except ValueError as error:
        message = str(error)
    else:
        assert 0 <= code < 2**source.bits
        assert conversion(code, source, target).rule
        assert bitcasting(code, source, target)
        return
    assert message.startswith("`code` must be")


@given(st.text(alphabet="0123456789abcdefx,; \n-./", max_size=80), st.sampled_from(PACKABLE))
def test_any_list_is_packed_or_a_message(text, fmt):
    try:
        codes = parse_codes(text, fmt)
    except ValueError as error:
        message = str(error)
    else:
        assert len(packing(codes, fmt).packed) == (len(codes) * fmt.bits + 7) // 8
        return
    assert message.startswith("`codes")
