"""Decimals as text, rounded once by any rule beyond ONNX: against the oracle, which takes the same text."""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.reference.exact_cast import encode_rounded
from lowprec.reference.philox import random_word
from lowprec.spec.formats import Format
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC, Rounding

MODES = [mode for mode in ROUNDINGS if mode != "stochastic"]
SPECIAL = [
    "0", "-0", "inf", "-INF", "nan", "-NaN", " +1.5 ", "1e400", "-1e400", "1e-400", "-1e-330", "4.9e-324", "2.4e-324",
]  # fmt: skip
SEED, OFFSET = 2**63 + 1, 7


def decimal(number: Fraction) -> str:
    """Return all digits of a number whose denominator is a power of two."""
    return str(Context(prec=2000, Emin=-9999, Emax=9999).divide(Decimal(number.numerator), Decimal(number.denominator)))


def texts_near(fmt: Format) -> list[str]:
    """Return decimals at and around values, midpoints and borders of random numbers, closer than float64 can tell."""
    rng = np.random.default_rng(fmt.bits)
    codes = sorted({0, 1, fmt.max_code - 1, *rng.integers(0, fmt.max_code, 4).tolist()})
    places = [Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(3, 2**16), Fraction(5, 2**17), Fraction(7, 2**33)]
    numbers = []
    for code in codes:
        low = Fraction(fmt.magnitude(code))
        gap = Fraction(fmt.magnitude(code + 1)) - low if code + 1 <= fmt.max_code else low
        for place in places:
            exact = low + gap * (place if place != Fraction(1, 3) else Fraction(round(2**70 / 3), 2**70))
            numbers += [exact, exact + gap / 2**80, max(exact - gap / 2**80, Fraction(0))]
    return [sign + decimal(number) for number in numbers for sign in ("", "-")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    "name",
    [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "binary8p3se",
    ],
)
def test_the_decimal_is_rounded_once(name: str) -> None:
    fmt = lp.as_format(name)
    texts = SPECIAL + texts_near(fmt)
    x = np.array(texts, object)
    exact = [text.strip() if len(text) < 1000 else Fraction(Decimal(text)) for text in texts]
    for number, mode in enumerate(MODES):
        drawn = mode in STOCHASTIC
        for bits in (1, 16, 32) if drawn else (0,):
            rule = Rounding(mode, ("sat_finite", "sat_propagate", "ovf_inf")[number % 3], "signed", bits)
            how: dict[str, Any] = {"seed": SEED, "offset": OFFSET, "random_bits": bits} if drawn else {}
            found = lp.cast(x, fmt, rounding=mode, overflow=rule.overflow, **how)
            codes = found.view(f"u{found.dtype.itemsize}").tolist()
            for place, value in enumerate(exact):
                word = random_word(SEED, OFFSET + place, bits) if drawn else None
                wanted = encode_rounded(value, fmt, rule, word)
                assert codes[place] == wanted, (texts[place], rule, hex(codes[place]), hex(wanted))


@pytest.mark.parametrize("name", ["float8_e4m3fn", "bfloat16", "float64"])
def test_borders_of_random_numbers(name: str) -> None:
    """A decimal at the border that the random number of its place sets goes up, one just below it does not."""
    fmt = lp.as_format(name)
    for mode, half in (("stochastic_a", 0), ("stochastic_b", 1)):
        words = [random_word(SEED, place, 16) for place in range(40)]
        borders = [1 + Fraction(2**17 - 2 * word - half, 2 ** (17 + fmt.mantissa_bits)) for word in words]
        for below, wanted in ((0, 1), (Fraction(1, 2**120), 0)):
            x = np.array([decimal(border - below) for border in borders], object)
            found = lp.cast(x, fmt, rounding=mode, seed=SEED)
            codes = found.view(f"u{found.dtype.itemsize}") - np.ones(1, fmt.dtype).view(fmt.code_dtype)
            assert codes.tolist() == [wanted] * len(x)


def test_known_results() -> None:
    x = np.array([["0.1", "-0.1"]], object)
    cast = lp.cast(x, "float8_e4m3fn", rounding="toward_zero")
    assert cast.tolist() == [[0.09375, -0.09375]]
    assert lp.cast(x, "float8_e4m3fn", rounding="toward_positive").tolist() == [[0.1015625, -0.09375]]
    assert lp.cast(x, "float64", rounding="toward_zero").tolist() == [[0.09999999999999999, -0.09999999999999999]]
    assert lp.cast(np.array(["1e-400", "-1e-400"]), "float64", rounding="away_from_zero").tolist() == [5e-324, -5e-324]
    assert lp.cast(np.array(["1e400", "inf"]), "float64", rounding="toward_zero").tolist() == [
        1.7976931348623157e308,
        np.inf,
    ]


def test_exponents_and_lengths_without_end() -> None:
    texts = [
        "1e999999999999999999999", "-1e-999999999999999999999", "1." + "0" * 5000 + "1", "0." + "0" * 6000, "9" * 6000,
    ]  # fmt: skip
    x = np.array(texts, object)
    up = lp.cast(x, "float64", rounding="away_from_zero", overflow="sat_finite").tolist()
    assert up == [1.7976931348623157e308, -5e-324, 1.0000000000000002, 0.0, 1.7976931348623157e308]
    odd = lp.cast(x, "float32", rounding="to_odd").tolist()
    assert odd == [np.inf, -(2.0**-149), 1 + 2.0**-23, 0.0, np.inf]


def test_elements_of_blocks_draw_the_numbers_of_their_places() -> None:
    """Text is converted in blocks of 65536; all elements are the same tie, and draw a bit each."""
    for target in ("float8_e4m3fn", "float64"):
        text = "1.0625" if target != "float64" else decimal(1 + Fraction(1, 2**53))
        x = np.full(65536 + 40, text)
        how: dict[str, Any] = {"rounding": "stochastic", "seed": 5, "random_bits": 1, "offset": 3}
        found = lp.cast(x, target, **how).astype(np.float64) != 1
        words = [random_word(5, 3 + n, 1) for n in range(65500, len(x))]
        assert found[65500:].tolist() == [word == 1 for word in words]


@pytest.mark.parametrize("text", ["", "1_0", "0x1p3", "one", "1e"])
def test_what_is_no_number_is_refused(text: str) -> None:
    for target in ("float64", "bfloat16"):
        with pytest.raises(ValueError, match=r"`x` must hold numbers as text; got .* at index \(1,\)"):
            lp.cast(np.array(["1", text], object), target, rounding="to_odd")
