"""The Compare page's numbers: errors and losses against fractions and sentences typed by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.compare import picture, view
from lowprec.explorer.pages.compare.state import Compare
from lowprec.explorer.pages.compare.view import COMPARABLE, checked, outcome
from lowprec.explorer.shared import digits as shared_digits
from lowprec.explorer.shared import link
from lowprec.explorer.shared.digits import log2
from lowprec.explorer.shared.format_names import format_named
from lowprec.reference.exact_cast import Value
from lowprec.teaching import ResultError


def test_every_float_and_integer_is_compared():
    assert len(COMPARABLE) == 27
    assert "bool" not in {fmt.name for fmt in COMPARABLE}


def test_a_value_through_formats_by_hand():
    names = ["float8_e4m3fn", "float6_e2m3fn", "float4_e2m1fn", "float8_e8m0fnu", "int8", "float16"]
    found = {name: outcome(Value.of("0.3"), lp.formats[name]) for name in names}
    expected = {  # code, absolute, relative, ulps
        "float8_e4m3fn": (0x2A, Fraction(1, 80), Fraction(1, 24), Fraction(2, 5)),
        "float6_e2m3fn": (0x02, Fraction(1, 20), Fraction(1, 6), Fraction(2, 5)),
        "float4_e2m1fn": (0x1, Fraction(1, 5), Fraction(2, 3), Fraction(2, 5)),
        "float8_e8m0fnu": (0x7E, Fraction(1, 5), Fraction(2, 3), Fraction(4, 5)),
        "int8": (0, Fraction(3, 10), Fraction(1), Fraction(3, 10)),
        "float16": (0x34CD, Fraction(1, 20480), Fraction(1, 6144), Fraction(1, 5)),
    }
    for name, (code, absolute, relative, ulps) in expected.items():
        row = found[name]
        assert row.explanation.code == code
        assert row.differences == ResultError(absolute, relative, ulps)


def test_what_was_lost_stands_with_each_outcome():
    names = ["float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "int8"]
    rows = [outcome(Value.of(465), lp.formats[name]) for name in names]
    assert [[loss.kind for loss in row.losses] for row in rows] == [["saturates"], [], ["saturates"], ["wraps"]]
    assert rows[0].losses[0].sentence == (
        "465 rounds beyond 448, the largest value of float8_e4m3fn: saturate makes it 448."
    )
    assert outcome(Value.of(1), lp.formats["float4_e2m1fn"], opset=19).losses == ()


def test_log2_of_what_a_chart_reaches():
    assert (log2(Value.of(-8)), log2(Value.of("0x1p-1074"))) == (3, -1074)
    assert log2(Value.of(3)) == math.log2(3)
    assert [log2(Value.of(text)) for text in ("0", "inf", "nan", "1e400", "1e-400")] == [None] * 5


def test_a_type_that_the_opset_lacks_is_a_message_in_its_row():
    rows = [outcome(Value.of(1), lp.formats[name], opset=27) for name in ("float16", "float6_e2m3fn")]
    assert rows[0].problem == ""
    assert "opset 28" in rows[1].problem
    assert rows[1].explanation is None


@given(st.text(max_size=40) | st.floats().map(repr) | st.fractions().map(str))
def test_any_text_is_a_number_or_a_message(text):
    try:
        x = Value.of(checked(text))
    except ValueError as error:
        message = str(error)
    else:
        assert log2(x) is None or 2.0 ** (log2(x) - 1) < x.magnitude < Fraction(2) ** math.ceil(log2(x) + 1)
        for row in (outcome(x, fmt) for fmt in COMPARABLE):
            in_range = row.explanation.lower and row.explanation.upper and row.format.has_zero
            if row.format.is_float and in_range and row.differences.ulps is not None:
                assert 0 <= row.differences.ulps <= Fraction(1, 2)
        return
    assert "`number`" in message


# ---- digits


def rows_of(text: str, *names: str, **options: object) -> dict[str, view.Row]:
    x = Value.of(text)
    digits = shared_digits.digits_of_number(x)
    return {name: view.row_of(x, digits, outcome(x, format_named(name), **options)) for name in names}


def test_the_digits_of_a_number_by_hand():
    found = shared_digits.digits_of_number(Value.of("0.3"))  # 0.0100110011...
    assert (found.first, found.bits[:12], found.goes_on) == (-2, "100110011001", True)
    assert [found.at(exponent) for exponent in (3, 0, -1, -2, -3, -5)] == ["0", "0", "0", "1", "0", "1"]
    found = shared_digits.digits_of_number(Value.of("-1000"))  # 1111101000
    assert (found.first, found.bits[:10], found.goes_on) == (9, "1111101000", False)
    assert found.at(-99) == "0"
    assert not any(shared_digits.digits_of_number(Value.of(text)) for text in ("0", "inf", "nan", "1e400", "1e-400"))


@given(st.fractions(min_value=Fraction(1, 2**60), max_value=2**60))
def test_the_digits_are_those_of_the_number(number):
    found = shared_digits.digits_of_number(Value.of(number))
    total = sum(int(bit) * Fraction(2) ** (found.first - index) for index, bit in enumerate(found.bits))
    assert 0 <= number - total < Fraction(2) ** (found.first - len(found.bits) + 1)
    assert found.goes_on == (number != total)


def test_windows_by_hand():
    """0.3 is 0.010011001 in binary: e4m3fn keeps 1.010 times 1/4, int8 no digit right of the point."""
    found = rows_of("0.3", "float8_e4m3fn", "float6_e2m3fn", "float4_e2m1fn", "int8", "float8_e8m0fnu")
    windows = {name: row.window for name, row in found.items()}
    assert windows["float8_e4m3fn"] == shared_digits.Window("0", "0101", "1", "010", -5, frozenset({-4, -5}))
    assert windows["float6_e2m3fn"] == shared_digits.Window("0", "00", "0", "010", -3)  # subnormal, rounded down
    assert windows["float4_e2m1fn"] == shared_digits.Window("0", "00", "0", "1", -1, frozenset({-1}))
    assert windows["int8"] == shared_digits.Window("0", "", "", "0000000", 0)
    assert windows["float8_e8m0fnu"] == shared_digits.Window("", "01111110", "1", "", -1, frozenset({-1}))
    assert [(row.value, row.error) for row in found.values()][:4] == [
        ("0.3125", "+0.0125"), ("0.25", "−0.05"), ("0.5", "+0.2"), ("0", "becomes 0, −0.3"),
    ]  # fmt: skip
    assert [row.is_inside for row in found.values()] == [True, True, False, False, True]


def test_windows_of_what_is_lost():
    found = rows_of("1000", "float8_e4m3fn", "int8", "float16")
    assert found["float8_e4m3fn"].window == shared_digits.Window("0", "1111", "1", "110", 5)  # 448: not rounded up
    assert found["float8_e4m3fn"].error == "saturates, −552"
    assert found["int8"].window == shared_digits.Window("1", "", "", "1101000", 0)  # 1000 - 1024 = -24
    assert (found["float16"].value, found["float16"].error) == ("1000", "exact")
    row = rows_of("1000", "float8_e4m3fn", saturate=False)["float8_e4m3fn"]
    assert (row.special, row.value) == ("nan", "NaN")
    assert rows_of("-inf", "float16")["float16"].value == "−Inf"
    problem = rows_of("1", "float4_e2m1fn", opset=19)["float4_e2m1fn"]
    assert problem.window is None
    assert "since opset 23" in problem.error


@pytest.mark.parametrize("fmt", COMPARABLE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("text", ["0.3", "-2.5", "3.75", "100", "-448", "1e-9"])
def test_a_window_has_the_digits_of_the_value(fmt, text):
    row = rows_of(text, fmt.name)[fmt.name]
    bits = row.window.hidden + row.window.kept
    total = sum(int(bit) * Fraction(2) ** (row.window.first - index) for index, bit in enumerate(bits))
    value = row.outcome.explanation.value
    if fmt.is_float:
        assert total == value.magnitude
    else:
        assert total - int(row.window.sign or 0) * 2 ** (fmt.bits - 1) == value.number


def test_columns_and_their_headings():
    digits = shared_digits.digits_of_number(Value.of("0.3"))
    rows = list(rows_of("0.3", "float16", "int8").values())
    assert shared_digits.columns_of([row.window for row in rows if row.window], digits, 19, 8) == range(6, -13, -1)
    assert shared_digits.columns_of([row.window for row in rows if row.window], digits, 13, 2) == range(-2, -15, -1)
    assert [shared_digits.weight(exponent) for exponent in (9, 0, -3, -6, -13)] == ["512", "1", "⅛", "1/64", "2^−13"]


# ---- which values another format has


def test_a_pair_by_hand():
    """Both formats have 3 or 2 bits of mantissa: of the 8 values of a binade e5m2 has every second one."""
    pair = view.pair_of(format_named("float8_e4m3fn"), format_named("float8_e5m2"))
    assert (pair.title, pair.others) == ("135 of its 253 values survive", "held from 2^−9 to 448; also 0, −0, NaN")
    assert len(pair.dots) == 126
    assert sum(dot.is_held for dot in pair.dots) == 67
    assert pair.special == ((7, "NaN"),)
    dots = {(dot.exponent, dot.place): dot for dot in pair.dots}
    assert (dots[8, 6].text, dots[8, 5].text) == ("448 is held", "416 becomes 384")
    assert not dots[8, 5].is_held


def test_which_values_of_float16_survive():
    pair = view.pair_of(format_named("float16"), format_named("float8_e4m3fn"))
    assert pair.title == "253 of its 63,487 values survive"
    assert pair.others == "held from 2^−9 to 448; also 0, −0, NaN; not Inf"
    assert pair.dots == ()
    assert {one.exponent for one in pair.binades if one.held} == set(range(-9, 9))
    unsigned = view.pair_of(format_named("float8_e4m3fn"), format_named("uint8"))
    assert unsigned.others == "held from 1 to 240; also 0; not negative values, −0, NaN"


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e3m4", "float6_e3m2fn", "float4_e2m1fn", "binary8p4se"])
def test_dots_are_the_positive_values(name):
    source, target = format_named(name), format_named("float8_e5m2fnuz")
    pair = view.pair_of(source, target)
    there = {reference.decode(code, target).number for code in range(256) if not reference.decode(code, target).special}
    values = [reference.decode(code, source) for code in range(1 << source.bits)]
    positive = sorted(value.number for value in values if not value.special and value.number > 0)
    drawn = [(1 + Fraction(dot.place, 2**source.mantissa_bits)) * Fraction(2) ** dot.exponent for dot in pair.dots]
    assert drawn == positive
    assert [dot.is_held for dot in pair.dots] == [number in there for number in positive]


def test_counts_as_texts():
    assert [view.count_text(count) for count in (253, 63_487, 523_265, 4_278_190_079)] == [
        "253", "63,487", "523265", "≈4.3e9",
    ]  # fmt: skip
    assert [view.short_name(name) for name in ("float8_e4m3fn", "bfloat16", "float4_e2m1fn", "e4m3,bias=8")] == [
        "e4m3fn", "bfloat16", "e2m1fn", "e4m3,bias=8",
    ]  # fmt: skip


def test_the_pair_follows_the_formats():
    assert Compare().chosen() == ("float8_e4m3fn", "float8_e5m2")
    assert Compare(fmts=("int8", "float16")).chosen() == ("int8", "float16")
    assert Compare(fmts=("int8",)).chosen() == ("int8", "int8")
    both = Compare(fmts=("int8", "float16", "int4"), pair=("int4", "float16"))
    assert both.chosen() == ("int4", "float16")
    assert link.read(Compare, link.write(both)) == (both, ())


def test_held_pictures_have_a_cell_for_each_pair():
    formats = [format_named(name) for name in ("float16", "float8_e4m3fn", "int8")]
    table = view.matrix(formats)
    assert [[one.held for one in row] for row in table] == [[63487, 253, 256], [253, 253, 80], [256, 80, 256]]
    for pair in (view.pair_of(*formats[:2]), view.pair_of(*formats[1:])):
        for drawing in (picture.held_wide(table, pair), picture.held_narrow(table, pair)):
            text = str(drawing)
            assert text.count('data-set="pair=') == 6
            assert f"{pair.values.source.name} in {pair.values.target.name}: {pair.title}" in text
