"""The Compare page's numbers: errors and losses against fractions and sentences typed by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowprec as lp
from lowprec.explorer.pages.compare.view import COMPARABLE, checked, log2, outcome
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
        assert row.explanation is not None
        assert row.explanation.code == code
        assert row.differences == ResultError(absolute, relative, ulps)


def test_beyond_the_range_counts_the_last_step():
    e4m3, e8m0, int8 = (lp.formats[name] for name in ("float8_e4m3fn", "float8_e8m0fnu", "int8"))
    assert outcome(Value.of(1000), e4m3).differences.ulps == Fraction(1000 - 448, 32)
    assert outcome(Value.of(-1000), e4m3).differences.ulps == Fraction(1000 - 448, 32)
    assert outcome(Value.of(0), e8m0).differences.ulps == 1  # 2**-127 instead, as far as the next value
    assert outcome(Value.of(0), e8m0).differences.relative is None
    assert outcome(Value.of(200), int8).differences.absolute == 256
    nan = outcome(Value.of(1000), e4m3, saturate=False)
    assert nan.explanation is not None
    assert (nan.explanation.code, nan.differences) == (0x7F, ResultError())
    assert outcome(Value.of("inf"), e4m3).differences.absolute is None
    assert outcome(Value.of(2), e4m3).differences.ulps == 0


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


@pytest.mark.parametrize("fmt", COMPARABLE, ids=lambda fmt: fmt.name)
def test_codes_are_the_kernels(fmt):
    x = np.array([0.3, -2.5, 448, 464, 465, 1e5, 1e-3, -0.0, np.inf, -np.inf, np.nan, 2.0**-149])
    for saturate in (True, False):
        codes = lp.encode(x, fmt, saturate=saturate).tolist()
        for number, code in zip(x.tolist(), codes, strict=True):
            told = outcome(Value.of(number), fmt, saturate=saturate).explanation
            assert told is not None
            assert told.code == code


@given(st.text(max_size=40) | st.floats().map(repr) | st.fractions().map(str))
def test_any_text_is_a_number_or_a_message(text):
    try:
        x = Value.of(checked(text))
    except ValueError as error:
        message = str(error)
    else:
        assert log2(x) is None or 2.0 ** (log2(x) - 1) < x.magnitude < Fraction(2) ** math.ceil(log2(x) + 1)
        for row in (outcome(x, fmt) for fmt in COMPARABLE):
            assert row.explanation is not None
            in_range = row.explanation.lower and row.explanation.upper and row.format.has_zero
            if row.format.is_float and in_range and row.differences.ulps is not None:
                assert 0 <= row.differences.ulps <= Fraction(1, 2)
        return
    assert "`number`" in message
