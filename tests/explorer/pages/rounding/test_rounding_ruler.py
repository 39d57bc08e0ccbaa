"""The ruler of Rounding: its ends, where twelve rules send its places, and the digits of a circuit."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import lowprec as lp
from lowprec.explorer.pages.rounding.ruler import PLACES, Ruler, digits, ruler
from lowprec.explorer.shared.codes import classify
from lowprec.reference import decode


def of(x: str, fmt: str, overflow: str = "ovf_inf") -> Ruler:
    found = ruler(lp.explain(x, fmt), overflow)
    return found


def test_465_lies_between_448_and_a_number_whose_code_is_nan() -> None:
    found = of("465", "float8_e4m3fn")
    assert (found.left.value.number, found.left.code, found.left.meaning) == (448, 0x7E, None)
    assert (found.right.value.number, found.right.code) == (480, 0x7F)
    assert found.right.meaning.special == "nan"
    assert found.at == 17 / 32
    assert (found.below_here, found.above_here, found.middle) == ("17", "15", "464")
    assert found.texts[:2] == ("448", "448.5")
    assert found.texts[-1] == "480"
    rules = {rule.name: rule for rule in found.rules}
    assert rules["nearest_even"].shares == (0.0,) * 33 + (1.0,) * 32  # 464 is a tie: the mantissa 110 is even
    assert rules["nearest_away"].shares == (0.0,) * 32 + (1.0,) * 33
    assert rules["toward_zero"].shares == (0.0,) * 64 + (1.0,)
    assert rules["away_from_zero"].shares == (0.0,) + (1.0,) * 64
    assert rules["nearest_even"].here == ("NaN", "nan")
    assert rules["toward_negative"].here == ("448", "normal")
    assert [rules[f"stochastic_{kind}"].share_here for kind in "abc"] == [0.5, 0.5, 0.5]  # of four numbers
    assert rules["stochastic"].here == ("53.1% NaN", "nan")
    assert {rule.here[0] for rule in of("465", "float8_e4m3fn", "sat_finite").rules} == {"448"}


@pytest.mark.parametrize(
    ("x", "fmt", "left", "right", "at"),
    [("-0.3", "float8_e4m3fn", "-0.3125", "-0.28125", 0.4), ("448", "float8_e4m3fn", "448", "480", 0.0),
     ("1000", "float8_e4m3fn", "448", "480", None), ("-500", "float8_e4m3fn", "-480", "-448", None),
     ("2.5", "int8", "2", "3", 0.5), ("0", "float4_e2m1fn", "0", "0.5", 0.0), ("-3", "float8_e8m0fnu", "2", "4", 0.5)],
)  # fmt: skip
def test_ends(x: str, fmt: str, left: str, right: str, at: float | None) -> None:
    found = of(x, fmt)
    assert (found.left.value.number, found.right.value.number) == (Fraction(left), Fraction(right))
    assert found.at == at


@pytest.mark.parametrize("x", ["nan", "inf", "-inf"])
def test_what_is_no_number_has_no_ruler(x: str) -> None:
    assert ruler(lp.explain(x, "float8_e4m3fn"), "ovf_inf") is None


@pytest.mark.parametrize("overflow", ["sat_finite", "ovf_inf"])
@pytest.mark.parametrize("fmt", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float6_e2m3fn", "float4_e2m1fn"])
@pytest.mark.parametrize("x", ["0.3", "-0.3", "465", "-5.2", "0.001", "60000"])
def test_the_kernels_send_every_place_to_the_same_value(x: str, fmt: str, overflow: str) -> None:
    found = of(x, fmt, overflow)
    numbers = np.array([float(Fraction(found.left.value.number) + (found.right.value.number - found.left.value.number)
                              * Fraction(k, PLACES - 1)) for k in range(PLACES)])  # fmt: skip
    for rule in found.rules:
        if rule.random_bits:
            continue
        codes = lp.encode(numbers, fmt, rounding=rule.name, overflow=overflow)
        for (text, kind), code in zip(rule.results, codes.tolist(), strict=True):
            assert kind == classify(code, lp.as_format(fmt))
            value = decode(code, fmt)
            shown = float(text.replace("−", "-").replace("≈", "").replace("Inf", "inf"))
            np.testing.assert_allclose(shown, float(value), rtol=1e-3)  # three digits or more are shown


def test_the_digits_of_465() -> None:
    found = digits(lp.explain("465", "float8_e4m3fn"))
    assert (found.lead, found.kept, found.cut, found.exponent) == ("1", "110", "10001", 8)
    assert (found.guard, found.round, found.sticky) == ("1", "0", "1")
    assert (found.result_lead, found.result_kept, found.code) == ("1", "111", 0x7F)


def test_the_digits_of_a_subnormal_number() -> None:
    found = digits(lp.explain("-0.0048828125", "float8_e4m3fn"))  # 2.5 x 2^-9: a tie
    assert (found.lead, found.kept, found.cut, found.exponent) == ("0", "010", "10000", -6)
    assert (found.guard, found.round, found.sticky) == ("1", "0", "0")
    assert (found.result_lead, found.result_kept, found.code) == ("0", "010", 0x02)


@pytest.mark.parametrize("x", ["0", "nan", "inf"])
def test_what_is_not_cut_has_no_digits(x: str) -> None:
    assert digits(lp.explain(x, "float8_e4m3fn")) is None


def test_nothing_is_left_for_the_sticky_bit_of_472() -> None:
    found = digits(lp.explain("472", "float8_e4m3fn"))  # 448 + 24 of a step of 32: 0.11 in binary
    assert (found.cut, found.guard, found.round, found.sticky) == ("11000", "1", "1", "0")
