"""Text to numbers, against fractions, by every rounding; numbers to the fewest digits that round-trip; no numbers."""

from __future__ import annotations

import math
import random
import struct
from decimal import Context, Decimal, FloatOperation, Inexact, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import lowprec as lp
from lowprec import reference
from lowprec.backends.strings import format_values, parse_values
from lowprec.plans.cast_plan import make_plan
from lowprec.reference.exact_cast import Value, encode_rounded, exact_decimal, magnitude_of
from lowprec.reference.philox import random_word
from lowprec.spec.formats import FORMATS, NUMERIC, Format, Kind
from lowprec.spec.operator_versions import cast_rules, first_opset
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC, Rounding

FLOATS = [fmt for fmt in NUMERIC if fmt.kind is Kind.FLOAT]
INTEGERS = [fmt for fmt in NUMERIC if fmt.kind is not Kind.FLOAT]


def named(fmt: Format) -> str:
    return fmt.name


def parse(texts: object, target: Format | str, **options: object) -> np.ndarray:
    x = texts if isinstance(texts, np.ndarray) else np.array(texts, object)
    fmt = FORMATS[target] if isinstance(target, str) else target
    source = FORMATS["float64"]
    return parse_values(x, make_plan(source, fmt, cast_rules(source, fmt, **options)))


def edge_codes(target: Format) -> list[int]:
    """Return magnitude codes around which rounding may go wrong: all of a byte's."""
    end = reference.finite_count(target)
    if end <= 256:
        return list(range(end))
    first_normal, one = 1 << target.mantissa_bits, target.bias << target.mantissa_bits
    found = {0, 1, 2, 3, end - 2, end - 1}
    found |= {center + step for center in (first_normal, one) for step in (-2, -1, 0, 1)}
    return sorted(found | set(random.Random(target.bits).sample(range(end), 12)))


BLANKS = " \t\n\r\f\v"
StringDType = np.dtypes.StringDType


def value_of(text: str) -> Value:
    """Read a text exactly, in fractions."""
    text = text.strip(BLANKS)
    body = text.lstrip("+-").lower()
    if body in ("inf", "nan"):
        return Value(Fraction(0), text.startswith("-"), body)
    return Value(abs(Fraction(text)), text.startswith("-"))


def options_of(target: Format) -> list[dict[str, object]]:
    opsets: list[dict[str, object]] = [{"opset": opset} for opset in dict.fromkeys((max(9, first_opset(target)), 28))]
    if target.kind is not Kind.FLOAT or target.bits != 8:
        return opsets
    if not target.has_zero:
        return [{"round_mode": mode, "saturate": s} for mode in ("up", "down", "nearest") for s in (True, False)]
    return [*opsets, {"saturate": False}]


def check(texts: list[str], target: Format) -> None:
    values = [value_of(text) for text in texts]
    for options in options_of(target):
        codes = parse(texts, target, **options)
        assert codes.dtype == f"u{max(8, target.bits) // 8}"
        expected = [reference.encode(value, target, **options) for value in values]
        wrong = [
            (text[:60], have, want)
            for text, have, want in zip(texts, codes.tolist(), expected, strict=True)
            if have != want
        ]
        assert not wrong, (target.name, options, wrong[:5])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", FLOATS, ids=named)
def test_decimals_next_to_every_edge_are_rounded_once(target: Format) -> None:
    texts = ["0", "-0", "0e9999", "1e400", "-1e400", "1e-400", "-1e-400", "inf", "-INF", "nan", "-NaN", "1e30"]
    for code in edge_codes(target):
        value, after = magnitude_of(code, target), magnitude_of(code + 1, target)
        for edge in (value, (value + after) / 2):  # the midpoint above the largest value is the limit of overflow
            for number in (edge, edge * (1 - Fraction(1, 10**30)), edge + Fraction(1, 10**400)):
                plain = exact_decimal(number)
                texts += [plain, f"-{Decimal(plain):e}"]
    check(texts, target)


@pytest.mark.parametrize("target", INTEGERS, ids=named)
def test_decimals_become_integers_exactly(target: Format) -> None:
    texts = ["100.5", "-0.9", "1e30", "-1e30", "1.5e1", "12345e-2", "+7.", "nan", "-inf", "INF", "1e-400", "-0.0"]
    texts += ["-9223372036854775808", "9223372036854775807.99999", "123456789012345678901234e-5"]
    for power in (0, 1, 2, 4, 7, 8, 16, 31, 32, 52, 53, 54, 63, 64, 65, 200):
        for number in (2**power - 1, 2**power, 2**power + 1):
            texts += [str(number), f"-{number}", f"{number}.0", f"{Decimal(number):e}", f"{number}e3", f"-{number}e-3"]
            texts += [f"{number}.{'0' * 30}1", f"-{number}.{'9' * 30}"]
    check(texts, target)


@pytest.mark.parametrize("target", ["uint64", "int2", "float16", "float64", "float8_e8m0fnu", "bool"])
def test_huge_texts_cost_what_their_length_costs(target: str) -> None:
    nines, zeros = "9" * 100_000, "0" * 100_000
    same = {
        f"1e{nines}": "1e400", f"-1e-{nines}": "-1e-400", f"0e{nines}": "0", f"{zeros}5": "5", f"1e+{zeros}2": "100",
        f"1{zeros}e-100000": "1", f"0.{zeros}25e100001": "2.5", f"-3.{zeros}": "-3", f"1e-{zeros}1": "0.1",
        f"1.5{zeros}": "1.5", f"7{zeros}e-99999": "70",
    }  # fmt: skip
    expected = [reference.encode(value_of(text), target) for text in same.values()]
    assert parse(list(same), target).tolist() == expected


def is_number(text: str) -> bool:
    """Say what a number is, again and in other words."""
    text = text.strip(BLANKS)
    body = (text[1:] if text[:1] in ("+", "-") else text).lower()
    if not body.isascii() or body in ("inf", "nan"):
        return body in ("inf", "nan")
    significand, e, power = body.partition("e")
    whole, _, fraction = significand.partition(".")
    power = power[1:] if power[:1] in ("+", "-") else power
    return (whole + fraction).isdigit() and (power.isdigit() or not e)


@settings(max_examples=600, deadline=None)
@given(st.text("0123456789+-.eEiInNfFaAtTyY_x \t\n\v\x1c\0\x85\u00a0\u0663\u2212\uff11\u212a", max_size=8))
@example("infinity")
@example("True")
@example("nan(1)")
@example("1_000")
@example("0x10")
@example("1\0")
@example("\u0663")
@example("\u00a01")
def test_what_is_a_number(text: str) -> None:
    for target in ("float32", "uint8"):
        if is_number(text):
            assert parse(text, target).item() == reference.encode(value_of(text), target)
        else:
            with pytest.raises(ValueError, match=r"`x` must hold numbers as text; got .* at index"):
                parse(text, target)


def test_an_error_names_the_first_one_and_not_all_of_it() -> None:
    x = np.full((70, 1000), "1", object)
    x[66, 1] = "x" * 1000
    x[67] = "also bad"
    with pytest.raises(ValueError, match=r"got 'x{37}\.\.\.' at index \(66, 1\)$"):
        parse(x, "float16")
    with pytest.raises(ValueError, match=r"got 'a' at index \(0, 1\)$"):
        parse(np.asfortranarray([["1", "a"], ["b", "2"]]), "float16")
    with pytest.raises(ValueError, match=r"got 'a' at index \(\)$"):
        parse(np.array("a"), "float16")


@pytest.mark.parametrize("stray", [1, 1.5, None, b"1", np.float32(1), True])
def test_objects_that_are_no_text(stray: object) -> None:
    x = np.array([["bad", "2"], ["3", stray]], object)  # what is no text is found before what is no number
    with pytest.raises(TypeError, match=rf"`x` must hold text as str; got {type(stray).__name__} at index \(1, 1\)$"):
        parse(x, "float16")


@pytest.mark.parametrize("x", [np.array([b"1"]), np.ones(2), np.array(["2020"], "M8[Y]")])
def test_arrays_that_are_no_text(x: np.ndarray) -> None:
    with pytest.raises(TypeError, match="`x` must hold text as str; got dtype"):
        parse(x, "float16")


def test_missing_strings() -> None:
    for missing in (None, math.nan):
        x = np.array(["1", missing], StringDType(na_object=missing))
        with pytest.raises(TypeError, match=rf"got {type(missing).__name__} at index \(1,\)$"):
            parse(x, "float16")


TEXTS = np.array([["1.5", "-2", " 448 "], ["1e-3", "NaN", "-INF"]])


@pytest.mark.parametrize("dtype", ["U6", ">U6", "<U9", object, StringDType(), StringDType(na_object=None)], ids=str)
def test_arrays_of_text(dtype: object) -> None:
    x = TEXTS.astype(dtype)
    expected = np.array([[reference.encode(value_of(t), "float16") for t in row] for row in TEXTS.tolist()], np.uint16)
    fortran = parse(np.asfortranarray(x), "float16")
    assert fortran.flags.f_contiguous
    assert np.array_equal(fortran, expected)
    assert np.array_equal(parse(x, "float16"), expected)
    assert np.array_equal(parse(x[::-1, ::2], "float16"), expected[::-1, ::2])
    assert np.array_equal(parse(np.broadcast_to(x[0], (4, 3)), "float16"), np.broadcast_to(expected[0], (4, 3)))
    scalar = parse(x[0, 0].reshape(()) if isinstance(x[0, 0], np.ndarray) else np.array(x[0, 0], dtype), "float16")
    assert (scalar.shape, scalar.item()) == ((), expected[0, 0])
    for shape in ((0,), (2, 0, 3)):
        empty = parse(np.empty(shape, dtype), "float16")
        assert (empty.shape, empty.dtype) == (shape, np.uint16)


def test_a_numpy_str_is_a_str() -> None:
    x = np.array([np.str_("1.5"), np.str_("2.00048828125000000000000001"), "9" * 30], object)
    assert parse(x, "float16").tolist() == [0x3E00, 0x4000, 0x7C00]
    assert parse(np.str_("7"), "int8").item() == 7


def test_more_than_a_block() -> None:
    texts = ["1.00048828125000000000000000001", "1.00048828125", "3", "0.1"] * 20_000
    expected = [reference.encode(value_of(text), "float16") for text in texts[:4]]
    assert parse(texts, "float16").tolist() == expected * 20_000
    x = np.arange(80_000, dtype=np.int32)
    assert format_values(x.reshape(200, 400), FORMATS["int32"]).ravel().tolist() == [str(i) for i in range(80_000)]


def test_through_the_operators() -> None:
    texts = np.array([["1.00048828125000000000000000001", " -INF"], ["nan", "3e9"]])
    assert np.array_equal(
        lp.cast(texts, "float16"), np.array([[1.0009765625, -np.inf], [np.nan, np.inf]]), equal_nan=True
    )
    assert lp.cast(texts, "float8_e4m3fn").dtype == FORMATS["float8_e4m3fn"].dtype
    assert lp.cast(texts[:1], "float8_e4m3fn").tolist() == [[1.0, -448.0]]
    assert lp.cast(np.array(["3"]), "float8_e8m0fnu", round_mode="down").tolist() == [2.0]
    assert np.isnan(lp.cast(np.array(["inf"]), "float8_e5m2fnuz", opset=19).astype(np.float32)).all()
    assert lp.cast(np.array(["1e9"], dtype=object), "int8").tolist() == [0]
    assert lp.cast(np.array("100.5"), "int32").item() == 100
    assert lp.cast(np.str_("-2"), "int4").item() == -2
    assert lp.cast_like(np.array(["7"]), np.zeros(1, np.uint8)).tolist() == [7]
    assert lp.cast_like(np.array([1.5, 2.0]), np.array(["like"])).tolist() == ["1.5", "2.0"]
    out = np.empty((2, 2), object)
    assert lp.cast(np.array([[1, -2], [3, 4]], np.int8), "string", out=out) is out
    assert out.tolist() == [["1", "-2"], ["3", "4"]]
    same = lp.cast(np.array(["x", "y"]), "string")
    assert same.dtype == object
    assert same.tolist() == ["x", "y"]
    codes = np.array([0x7E, 0x81], np.uint8)
    assert lp.cast(codes, "STRING", source="float8_e4m3fn").tolist() == ["448.0", "-0.001953125"]
    assert lp.storage_dtype("string", np) == np.dtype(object)


SPECIAL = [
    "0", "-0", "inf", "-INF", "nan", "-NaN", " +1.5 ", "1e400", "-1e400", "1e-400", "-1e-330", "4.9e-324", "2.4e-324",
]  # fmt: skip
SEED, OFFSET = 2**63 + 1, 7


def decimal_of(number: Fraction) -> str:
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
    return [sign + decimal_of(number) for number in numbers for sign in ("", "-")]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", [
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn",
    "binary8p3se",
])  # fmt: skip
def test_the_decimal_is_rounded_once(name: str) -> None:
    fmt = lp.as_format(name)
    texts = SPECIAL + texts_near(fmt)
    x = np.array(texts, object)
    exact = [text.strip() if len(text) < 1000 else Fraction(Decimal(text)) for text in texts]
    for number, mode in enumerate([mode for mode in ROUNDINGS if mode != "stochastic"]):
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
            x = np.array([decimal_of(border - below) for border in borders], object)
            found = lp.cast(x, fmt, rounding=mode, seed=SEED)
            codes = found.view(f"u{found.dtype.itemsize}") - np.ones(1, fmt.dtype).view(fmt.code_dtype)
            assert codes.tolist() == [wanted] * len(x)


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
        text = "1.0625" if target != "float64" else decimal_of(1 + Fraction(1, 2**53))
        x = np.full(65536 + 40, text)
        how: dict[str, Any] = {"rounding": "stochastic", "seed": 5, "random_bits": 1, "offset": 3}
        found = lp.cast(x, target, **how).astype(np.float64) != 1
        words = [random_word(5, 3 + n, 1) for n in range(65500, len(x))]
        assert found[65500:].tolist() == [word == 1 for word in words]


def laid_out(number: Decimal) -> str:
    """Write the digits of a positive number as the contract lays them out, whatever their value."""
    digits = "".join(map(str, number.normalize().as_tuple().digits))
    if Decimal("1e-4") <= number < Decimal("1e16"):
        plain = f"{number.normalize():f}"
        return plain if "." in plain else plain + ".0"
    return f"{digits[0]}{'.' * (len(digits) > 1)}{digits[1:]}e{number.adjusted():+03d}"


def check_digits(text: str, code: int, row: Format) -> None:
    """Assert that a text has the fewest digits that an IEEE format rounds to the code, the nearest of those."""
    written = Decimal(text)
    n, top = len(written.normalize().as_tuple().digits), written.adjusted()
    before, value, after = (magnitude_of(c, row) for c in (max(0, code - 1), code, code + 1))
    # All in whole numbers from here on: a unit that everything is a multiple of.
    binary = 2 * max(before.denominator, value.denominator, after.denominator)
    places = max(0, n + 1 - top)

    def scaled(number: Fraction) -> int:
        return number.numerator * (binary * 10**places // number.denominator)

    def power_of_ten(exponent: int) -> int:
        return binary * 10 ** (places + exponent)

    x = scaled(value)
    low, high = (scaled(before) + x) // 2, (x + scaled(after)) // 2

    def reads_back(number: int) -> bool:
        return low <= number <= high if code % 2 == 0 else low < number < high

    digits = int(written.normalize().scaleb(n - 1 - top)) * power_of_ten(top - n + 1)
    assert reads_back(digits), text
    top -= power_of_ten(top) > x
    unit = power_of_ten(top - n + 1)
    below = x // unit * unit
    assert digits in (below, below + unit), text
    other = 2 * below + unit - digits
    assert abs(digits - x) <= abs(other - x) or not reads_back(other), text
    if n > 1:
        below = x // (10 * unit) * (10 * unit)
        assert not reads_back(below), text
        assert not reads_back(below + 10 * unit), text
    if value < Fraction(1, 10**4) <= Fraction(written):  # the value decides the layout, not the digits
        assert text == "1e-04"
    else:
        assert laid_out(written) == text


def texts_of(row: Format, codes: np.ndarray) -> list[str]:
    return format_values(codes.astype(row.code_dtype), row).tolist()


@pytest.mark.one_in(5)
@pytest.mark.parametrize("source", [fmt for fmt in FLOATS if fmt.bits <= 16], ids=named)
def test_every_code_of_a_small_float(source: Format) -> None:
    codes = np.arange(1 << source.bits)
    texts = texts_of(source, codes)
    written_as, packed_as = (FORMATS["float16"], ">e") if source.name == "float16" else (FORMATS["float32"], ">f")
    read_back = codes.tolist()
    for code, text in enumerate(texts):
        value = reference.decode(code, source)
        if value.special == "nan":
            assert text == "nan"
            read_back[code] = reference.encode(Value(Fraction(0), False, "nan"), source)
        elif value.special or value.magnitude == 0:
            assert text == "-" * value.negative + (value.special or "0.0")
        elif value.negative:
            assert text == "-" + texts[code ^ 1 << (source.bits - 1)]
        else:
            check_digits(text, int.from_bytes(struct.pack(packed_as, float(value)), "big"), written_as)
    # The digits of a power of two may lie above it, where the default `round_mode` goes up.
    options = {"saturate": False} if source.has_zero else {"round_mode": "nearest"}
    assert parse(texts, source, **options).tolist() == read_back


@pytest.mark.parametrize("source", [FORMATS["float32"], FORMATS["float64"]], ids=named)
def test_a_sweep_of_the_wide_floats(source: Format) -> None:
    pick = random.Random(7)
    end = reference.finite_count(source)
    codes = [code for code in edge_codes(source) if code] + [pick.randrange(1, end) for _ in range(500)]
    powers = [exponent << source.mantissa_bits for exponent in range(1, 2 * source.bias, 9)]  # the margins differ
    tens = [reference.encode(Fraction(10) ** e, source) for e in range(-37, 38)]
    small = [reference.encode(Fraction(pick.randrange(1, 10**5), 10 ** pick.randrange(8)), source) for _ in range(300)]
    codes += [code + step for code in powers + tens for step in (-1, 0, 1)] + small
    texts = texts_of(source, np.array(codes, np.uint64))
    for code, text in zip(codes, texts, strict=True):
        check_digits(text, code, source)
    assert parse(texts, source).tolist() == codes
    negative = np.array(codes, np.uint64) + np.uint64(1 << (source.bits - 1))
    assert texts_of(source, negative) == ["-" + text for text in texts]


@pytest.mark.parametrize(("value", "source", "text"), [
    (0.1, "float16", "0.1"), (0.1, "float32", "0.1"), (0.1, "float64", "0.1"), (0.1, "bfloat16", "0.100097656"),
    (1e16, "float64", "1e+16"), (9999999999999998.0, "float64", "9999999999999998.0"), (1e-5, "float64", "1e-05"),
    (1.5e16, "float32", "1.5e+16"), (123456789, "float32", "123456790.0"), (1e-4, "float64", "0.0001"),
    (65504, "float16", "65500.0"), (448, "float8_e4m3fn", "448.0"), (2.0**127, "float8_e8m0fnu", "1.7014118e+38"),
    (-0.0, "float16", "-0.0"), (-0.0, "float64", "-0.0"), (0, "float6_e3m2fn", "0.0"), (5e-324, "float64", "5e-324"),
    (math.nan, "float32", "nan"), (-math.nan, "float64", "nan"), (-math.inf, "bfloat16", "-inf"),
    (math.inf, "float64", "inf"), (-7, "int4", "-7"), (True, "bool", "True"), (0, "bool", "False"),
    (2**64 - 1, "uint64", "18446744073709551615"), (-(2**63), "int64", "-9223372036854775808"),
])  # fmt: skip
def test_texts_typed_by_hand(value: float, source: str, text: str) -> None:
    row = FORMATS[source]
    x = np.array(reference.encode(value, source), row.code_dtype)
    for array in (x, x.view(row.dtype)):
        result = format_values(array, row)
        assert result.dtype == object
        assert result.shape == ()
        assert result.item() == text
        assert type(result.item()) is str


@pytest.mark.parametrize("source", INTEGERS, ids=named)
def test_integers_as_text(source: Format) -> None:
    end = 1 << source.bits
    codes = list(range(end)) if end <= 1 << 16 else [k % end for p in range(65) for k in (2**p - 1, 2**p, -(2**p))]
    texts = texts_of(source, np.array(codes, np.uint64))
    numbers = [reference.decode(code, source).number for code in codes]
    boolean = source.kind is Kind.BOOL
    assert texts == [str(bool(number)) if boolean else str(number) for number in numbers]
    if not boolean:
        assert parse(texts, source).tolist() == codes
    if source.bits < 8:
        sign_extended = np.array([int(number) for number in numbers], np.int8)
        assert format_values(sign_extended, source).tolist() == texts
        assert format_values(np.array(codes, np.uint8) + np.uint8(255 & ~(end - 1)), source).tolist() == texts


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "float4_e2m1fn", "int32", "int4", "bool"])
def test_layouts_of_numbers(name: str) -> None:
    row = FORMATS[name]
    numbers = np.array([[0, 1, 2], [3, 1, 0]]).astype(row.dtype)
    words = {"bool": ["False", "True", "True", "True"], "int4": list("0123"), "int32": list("0123")}
    zero, one, two, three = words.get(name, ["0.0", "1.0", "2.0", "3.0"])
    expected = np.array([[zero, one, two], [three, one, zero]], object)
    fortran = format_values(np.asfortranarray(numbers), row)
    assert fortran.flags.f_contiguous
    assert np.array_equal(fortran, expected)
    assert np.array_equal(format_values(numbers[::-1, ::2], row), expected[::-1, ::2])
    assert np.array_equal(format_values(np.broadcast_to(numbers[1], (2, 3)), row), expected[[1, 1]])
    assert np.array_equal(format_values(numbers.astype(numbers.dtype.newbyteorder(">")), row), expected)
    assert format_values(numbers[1, 0], row).item() == three
    for shape in ((0,), (2, 0, 3)):
        empty = format_values(np.empty(shape, row.dtype), row)
        assert (empty.shape, empty.dtype) == (shape, np.dtype(object))


def test_settings_of_the_process_change_nothing() -> None:
    x = np.array([1 / 3, 1e15, 1.5e-7], np.float32)
    with np.printoptions(legacy="1.13", precision=3, suppress=True):
        assert format_values(x, FORMATS["float32"]).tolist() == ["0.33333334", "1000000000000000.0", "1.5e-07"]
    with localcontext(prec=3, Emax=5, Emin=-5) as context:
        context.traps[FloatOperation] = context.traps[Inexact] = True
        assert parse(["1.00048828125000000000000000001"], "float16").tolist() == [0x3C01]


def test_signalling_nans_are_silent() -> None:
    codes = np.array([0x7F80_0001, 0xFFA0_0000], np.uint32)
    assert format_values(codes, FORMATS["float32"]).tolist() == ["nan", "nan"]
