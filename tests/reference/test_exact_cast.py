"""The oracle of Cast against numbers typed from the ONNX pages and format documents, and against libraries."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from lowprec.conformance import cast_inputs
from lowprec.reference import whole_arrays
from lowprec.reference.exact_cast import Value, cast, decode, encode, exact_decimal
from lowprec.spec.formats import FORMATS, NUMERIC, Kind

# name, code of the largest, the largest, code of the smallest above zero, the smallest above zero
LIMITS = [
    ("float64", 0x7FEF_FFFF_FFFF_FFFF, 2**1024 - 2**971, 1, "1/" + str(2**1074)),
    ("float32", 0x7F7F_FFFF, 2**128 - 2**104, 1, "1/" + str(2**149)), ("float16", 0x7BFF, 65504, 1, "0x1p-24"),
    ("bfloat16", 0x7F7F, 2**128 - 2**120, 1, "0x1p-133"), ("float8_e4m3fn", 0x7E, 448, 1, "0x1p-9"),
    ("float8_e4m3fnuz", 0x7F, 240, 1, "0x1p-10"), ("float8_e5m2", 0x7B, 57344, 1, "0x1p-16"),
    ("float8_e5m2fnuz", 0x7F, 57344, 1, "0x1p-17"), ("float8_e4m3", 0x77, 240, 1, "0x1p-9"),
    ("float8_e3m4", 0x6F, "15.5", 1, "0x1p-6"), ("float8_e4m3b11fnuz", 0x7F, 30, 1, "0x1p-13"),
    ("float8_e8m0fnu", 0xFE, 2**127, 0, "0x1p-127"), ("float6_e2m3fn", 0x1F, "7.5", 1, "0.125"),
    ("float6_e3m2fn", 0x1F, 28, 1, "0.0625"), ("float4_e2m1fn", 0x7, 6, 1, "0.5"),
]  # fmt: skip
NANS = {  # codes for NaN with the sign off and on
    "float64": (0x7FF8 << 48, 0xFFF8 << 48), "float32": (0x7FC0_0000, 0xFFC0_0000), "float16": (0x7E00, 0xFE00),
    "bfloat16": (0x7FC0, 0xFFC0), "float8_e4m3fn": (0x7F, 0xFF), "float8_e4m3fnuz": (0x80, 0x80),
    "float8_e5m2": (0x7E, 0xFE), "float8_e5m2fnuz": (0x80, 0x80), "float8_e4m3": (0x7C, 0xFC),
    "float8_e3m4": (0x78, 0xF8), "float8_e4m3b11fnuz": (0x80, 0x80), "float8_e8m0fnu": (0xFF, 0xFF),
    "float6_e2m3fn": (0x20, 0x00), "float6_e3m2fn": (0x20, 0x00), "float4_e2m1fn": (0x8, 0x0),
}  # fmt: skip
FLOATS = [row for row in NUMERIC if row.kind is Kind.FLOAT]
SMALL = [row for row in FLOATS if row.bits <= 16]


def test_every_float_has_its_row_here():
    assert [row.name for row in FLOATS] == [name for name, *_ in LIMITS] == list(NANS)


@pytest.mark.parametrize(("name", "max_code", "largest", "min_code", "smallest"), LIMITS)
def test_limits(name, max_code, largest, min_code, smallest):
    assert decode(max_code, name) == Value.of(largest)
    assert decode(min_code, name) == Value.of(smallest)
    assert encode(largest, name) == max_code
    assert encode(smallest, name) == min_code


@pytest.mark.parametrize("name", NANS)
@pytest.mark.parametrize("saturate", [True, False])
def test_nan_codes(name, saturate):
    codes = tuple(encode(nan, name, saturate=saturate) for nan in ("nan", "-nan"))
    assert codes == NANS[name]


def test_which_codes_are_infinite():
    assert decode(0x7C00, "float16") == decode(0x7F80, "bfloat16") == Value.of("inf")
    assert decode(0xFF80_0000, "float32") == decode(0xFFF0 << 48, "float64") == Value.of("-inf")


@pytest.mark.parametrize("name", ["float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3b11fnuz"])
def test_fnuz_nan_is_negative_and_its_zero_is_not(name):
    assert decode(0x80, name) == Value.of("-nan")
    assert [encode(x, name) for x in (-0.0, 0.0, "-1e-30")] == [0, 0, 0]
    assert cast(0x80, name, "float8_e4m3fn") == 0xFF
    assert cast(0x80, name, "float4_e2m1fn") == 0x0


@pytest.mark.parametrize("row", [row for row in FLOATS if "fnu" not in row.name], ids=lambda row: row.name)
def test_negative_zero_and_negative_underflow_keep_the_sign(row):
    sign = 1 << (row.bits - 1)
    assert encode(-0.0, row) == encode("-0x1p-2000", row) == sign
    assert decode(sign, row) == Value.of(-0.0)


# name, last |x| that is the largest value, first that overflows, the code of ±max, the codes of ±overflow with sat=0
OVERFLOW = [
    ("float8_e4m3fn", 464, 464.001, (0x7E, 0xFE), (0x7F, 0xFF)),
    ("float8_e4m3fnuz", 247.999, 248, (0x7F, 0xFF), (0x80, 0x80)),
    ("float8_e5m2", 61439.999, 61440, (0x7B, 0xFB), (0x7C, 0xFC)),
    ("float8_e5m2fnuz", 61439.999, 61440, (0x7F, 0xFF), (0x80, 0x80)),
]
LACKED = [  # by ONNX: the default opset alone
    ("float8_e4m3", 247.999, 248, (0x77, 0xF7), (0x78, 0xF8)),
    ("float8_e3m4", 15.749, 15.75, (0x6F, 0xEF), (0x70, 0xF0)),
    ("float8_e4m3b11fnuz", 30.999, 31, (0x7F, 0xFF), (0x80, 0x80)),
]


@pytest.mark.parametrize(
    ("name", "last", "first", "largest", "beyond", "opset"),
    [*((*row, opset) for row in OVERFLOW for opset in (19, 23, 24, 28)), *((*row, 28) for row in LACKED)],
)
def test_float8_tables(name, last, first, largest, beyond, opset):
    def both(x, saturate):
        return tuple(encode(value, name, saturate=saturate, opset=opset) for value in (x, -x))

    assert both(last, True) == both(last, False) == largest
    assert both(first, True) == both(1e30, True) == largest
    assert both(first, False) == both(1e30, False) == both(float("inf"), False) == beyond
    inf_is_nan = name.endswith("fnuz") and opset < 24
    assert both(float("inf"), True) == ((0x80, 0x80) if inf_is_nan else largest)


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize(("name", "last", "first", "inf"), [
    ("float16", 65519.99, 65520, 0x7C00), ("bfloat16", 2**128 - 2**119 - 1, 2**128 - 2**119, 0x7F80),
    ("float32", 2**128 - 2**103 - 1, 2**128 - 2**103, 0x7F80_0000),
    ("float64", 2**1024 - 2**970 - 1, 2**1024 - 2**970, 0x7FF0 << 48),
])  # fmt: skip
def test_wide_floats_overflow_to_infinity(name, last, first, inf, saturate):
    sign = 1 << (FORMATS[name].bits - 1)
    assert encode(last, name, saturate=saturate) == inf - 1
    assert encode(first, name, saturate=saturate) == encode("inf", name, saturate=saturate) == inf
    assert encode(-first, name, saturate=saturate) == encode("-inf", name, saturate=saturate) == inf | sign


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize(("name", "largest"), [("float6_e2m3fn", 0x1F), ("float6_e3m2fn", 0x1F), ("float4_e2m1fn", 7)])
def test_small_floats_always_saturate(name, largest, saturate):
    assert [encode(x, name, saturate=saturate) for x in (1e9, "inf")] == [largest] * 2
    assert [encode(x, name, saturate=saturate) for x in (-1e9, "-inf")] == [2 * largest + 1] * 2


@pytest.mark.parametrize(("x", "saturating", "other"), [
    ("0x1p-127", (0x00, 0x00, 0x00), (0x00, 0x00, 0x00)),
    ("0x1.fffffffp-128", (0x00, 0x00, 0x00), (0xFF, 0xFF, 0xFF)),  # the range test comes before rounding
    (0, (0x00, 0x00, 0x00), (0xFF, 0xFF, 0xFF)), ("0x1p127", (0xFE, 0xFE, 0xFE), (0xFE, 0xFE, 0xFE)),
    ("0x1.0000001p127", (0xFE, 0xFE, 0xFE), (0xFF, 0xFF, 0xFF)), ("inf", (0xFE, 0xFE, 0xFE), (0xFF, 0xFF, 0xFF)),
    ("-inf", (0xFE, 0xFE, 0xFE), (0xFF, 0xFF, 0xFF)), ("nan", (0xFF, 0xFF, 0xFF), (0xFF, 0xFF, 0xFF)),
    (1, (0x7F, 0x7F, 0x7F), (0x7F, 0x7F, 0x7F)), (1.49, (0x80, 0x7F, 0x7F), (0x80, 0x7F, 0x7F)),
    (1.5, (0x80, 0x7F, 0x80), (0x80, 0x7F, 0x80)), (-3, (0x81, 0x80, 0x81), (0x81, 0x80, 0x81)),
])  # fmt: skip
def test_e8m0(x, saturating, other):
    for saturate, expected in ((True, saturating), (False, other)):
        found = [encode(x, "float8_e8m0fnu", saturate=saturate, round_mode=m) for m in ("up", "down", "nearest")]
        assert found == list(expected)
        assert encode(x, "float8_e8m0fnu", saturate=saturate) == expected[0]


def test_one_rounding_only():
    assert decode(encode(1 + 2.0**-8 + 2.0**-40, "bfloat16"), "bfloat16") == Value.of(1.0078125)
    assert encode(1 + 2.0**-8, "bfloat16") == 0x3F80
    assert encode(2**60 + 2**36 + 1, "float32") == 0x5D80_0001  # twice would give the even 0x5D800000
    assert encode(2**63 + 2**39 + 1, "float32") == 0x5F00_0001


def test_integers_wrap_and_truncate():
    assert decode(encode(200, "int8"), "int8") == Value.of(-56)
    assert decode(encode(200, "int4"), "int4") == Value.of(-8)
    assert [encode(x, "uint8") for x in (-1, -0.99, 255.9, 256, -2.5, 1e20, "100.5")] == [255, 0, 255, 0, 254, 0, 100]
    assert [encode(x, "int64") for x in (2**63, -1, 2.0**64, 2.0**63 + 4096)] == [2**63, 2**64 - 1, 0, 2**63 + 4096]
    assert [encode(x, row) for row in NUMERIC if row.kind is Kind.INT for x in ("nan", "inf", "-inf")] == [0] * 36
    assert [int(decode(code, "int2").number) for code in range(4)] == [0, 1, -2, -1]
    assert [int(decode(code, "uint4").number) for code in (0, 8, 15)] == [0, 8, 15]


def test_bool():
    assert [encode(x, "bool") for x in (0, -0.0, 5e-324, -2, "nan", "-inf", "0.0")] == [0, 0, 1, 1, 1, 1, 0]
    assert {cast(code, "float8_e8m0fnu", "bool") for code in range(256)} == {1}
    assert cast(0x80, "float4_e2m1fn", "bool") == 0  # the bits above a sub-byte code are ignored
    assert cast(2, "bool", "float32") == 0x3F80_0000
    assert cast(0xF0, "bool", "bool") == 0xF0


def test_same_format_copies_bits_unless_a_float8_saturates():
    assert [cast(c, "float8_e5m2", "float8_e5m2") for c in (0x7C, 0xFC, 0x7D, 0xFF)] == [0x7B, 0xFB, 0x7E, 0xFE]
    assert [cast(c, "float8_e5m2", "float8_e5m2", saturate=False) for c in (0x7C, 0xFC, 0x7D, 0xFF)] == [
        0x7C, 0xFC, 0x7D, 0xFF,
    ]  # fmt: skip
    assert [cast(code, "float8_e4m3", "float8_e4m3") for code in (0x78, 0xF8, 0x79, 0xFF)] == [0x77, 0xF7, 0x7C, 0xFC]
    for row in SMALL:
        if row.bits <= 8 and row.name not in ("float8_e5m2", "float8_e4m3", "float8_e3m4"):
            assert [cast(code, row, row) for code in range(2**row.bits)] == list(range(2**row.bits))
    assert cast(0x7FA0_0001, "float32", "float32") == 0x7FA0_0001
    assert cast(0x7FA0_0001, "float32", "float64") == 0x7FF8 << 48
    assert [cast(code, "int4", "int4") for code in (0xF7, 0x1F)] == [0x7, 0xF]


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
def test_decode_is_what_ml_dtypes_says(row):
    dtype = np.dtype(getattr(ml_dtypes, row.name, row.name))
    codes = np.arange(2**row.bits, dtype=f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        theirs = codes.view(dtype).astype(np.float64)
    ours = np.array([float(decode(code, row)) for code in codes.tolist()])
    np.testing.assert_array_equal(ours, theirs)
    number = ~np.isnan(ours)
    np.testing.assert_array_equal(np.signbit(ours[number]), np.signbit(theirs[number]))


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
def test_every_finite_code_survives(row):
    for code in range(0, 2**row.bits, 1 if row.bits <= 8 else 7):
        value = decode(code, row)
        if not value.special:
            assert encode(value, row, saturate=False) == code


@pytest.mark.parametrize("row", [row for row in SMALL if row.has_zero], ids=lambda row: row.name)
def test_in_range_float32_rounds_as_ml_dtypes_does(row):
    dtype = np.dtype(getattr(ml_dtypes, row.name, row.name))
    x = cast_inputs.sweep_float32(row, count=200_000)
    x = x[np.abs(x) <= whole_arrays.table(row).values[-1]]
    assert len(x) > 50_000
    with np.errstate(under="ignore"):
        theirs = x.astype(dtype).view(f"u{dtype.itemsize}")
    np.testing.assert_array_equal(whole_arrays.expected_from_float64(x.astype(np.float64), row), theirs)


@pytest.mark.parametrize(("x", "number"), [
    ("17/23", Fraction(17, 23)), ("-0x1.8p+3", -12), ("0x.8", Fraction(1, 2)), ("1e-3", Fraction(1, 1000)),
    (" +5. ", 5), (0.1, Fraction(3602879701896397, 2**55)), (np.float32(0.1), Fraction(13421773, 2**27)),
    (np.uint64(2**64 - 1), 2**64 - 1), (np.float16(-2), -2), (np.longdouble(2) ** -1, Fraction(1, 2)), (True, 1),
    (np.True_, 1), (ml_dtypes.bfloat16(-1.5), Fraction(-3, 2)), (ml_dtypes.float6_e2m3fn(7.5), Fraction(15, 2)),
    (ml_dtypes.int4(-3), -3), (ml_dtypes.uint2(3), 3), (ml_dtypes.float8_e8m0fnu(2), 2),
])  # fmt: skip
def test_value_of_is_exact(x, number):
    value = Value.of(x)
    assert value.number == number
    assert not value.special
    assert Value.of(value) is value


def test_value_of_keeps_signs():
    for zero in ("-0", "-0.0", "-0x0", "-0/1", -0.0, np.float32(-0.0), ml_dtypes.bfloat16(-0.0)):
        assert Value.of(zero) == Value(Fraction(0), True)
    for nan in ("-nan", "-NaN", np.copysign(np.nan, -1), np.copysign(np.float16(np.nan), np.float16(-1))):
        assert Value.of(nan) == Value(Fraction(0), True, "nan")
    for inf in ("inf", "+Infinity", "INF", np.inf, np.float32(np.inf), np.longdouble(np.inf)):
        assert Value.of(inf) == Value(Fraction(0), False, "inf")
    assert str(Value.of("-nan")) == "-nan"
    assert str(Value.of(-0.0)) == "-0"


def test_exact_decimal():
    assert exact_decimal(0) == "0"
    assert exact_decimal(-1200) == "-1200"
    assert exact_decimal(Fraction(-1, 8)) == "-0.125"
    assert exact_decimal(Fraction(1, 50)) == "0.02"
    assert exact_decimal(Fraction(1, 3)) == "1/3"
    assert exact_decimal(2**127) == "170141183460469231731687303715884105728"
    assert exact_decimal(Fraction(10**5000 + 1, 10)) == "1" + "0" * 4999 + ".1"
