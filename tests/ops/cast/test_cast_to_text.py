"""Numbers to text: the fewest digits that round-trip, checked digit by digit against decimals and fractions."""

from __future__ import annotations

import decimal
import math
import random
import struct
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from support.number_texts import INTEGERS, SMALL, edge_codes, named, parse

from lowprec import reference
from lowprec.backends.strings import format_values
from lowprec.reference.exact_cast import Value, magnitude_of
from lowprec.spec.formats import FORMATS, Format, Kind


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
@pytest.mark.parametrize("source", SMALL, ids=named)
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


@pytest.mark.parametrize(
    ("value", "source", "text"),
    [
        (0.1, "float16", "0.1"), (0.1, "float32", "0.1"), (0.1, "float64", "0.1"), (0.1, "bfloat16", "0.100097656"),
        (1e16, "float64", "1e+16"), (9999999999999998.0, "float64", "9999999999999998.0"), (1e-5, "float64", "1e-05"),
        (1.5e16, "float32", "1.5e+16"), (123456789, "float32", "123456790.0"), (1e-4, "float64", "0.0001"),
        (65504, "float16", "65500.0"), (448, "float8_e4m3fn", "448.0"), (2.0**127, "float8_e8m0fnu", "1.7014118e+38"),
        (-0.0, "float16", "-0.0"), (-0.0, "float64", "-0.0"), (0, "float6_e3m2fn", "0.0"),
        (5e-324, "float64", "5e-324"),
        (math.nan, "float32", "nan"), (-math.nan, "float64", "nan"), (-math.inf, "bfloat16", "-inf"),
        (math.inf, "float64", "inf"), (-7, "int4", "-7"), (True, "bool", "True"), (0, "bool", "False"),
        (2**64 - 1, "uint64", "18446744073709551615"), (-(2**63), "int64", "-9223372036854775808"),
    ],
)  # fmt: skip
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
    with decimal.localcontext(prec=3, Emax=5, Emin=-5) as context:
        context.traps[decimal.FloatOperation] = context.traps[decimal.Inexact] = True
        assert parse(["1.00048828125000000000000000001"], "float16").tolist() == [0x3C01]


def test_signalling_nans_are_silent() -> None:
    codes = np.array([0x7F80_0001, 0xFFA0_0000], np.uint32)
    assert format_values(codes, FORMATS["float32"]).tolist() == ["nan", "nan"]
