"""The exact oracle of QuantizeLinear and DequantizeLinear against values typed by hand from the specification."""

from __future__ import annotations

from fractions import Fraction

import pytest

from lowprec.reference.exact_cast import Value, decode, encode
from lowprec.reference.exact_quantize import dequantize, dynamic_quantize, precision_of, quantize


@pytest.mark.parametrize(("x", "scale", "zero_point", "target", "precision", "code"), [
    # half to even before the zero point is added: 2.5 + 1 is 3, not 4 (3.5 to even)
    (2.5, 1, 1, "uint8", "float32", 3), (3.5, 1, 1, "uint8", "float32", 5), (-2.5, 1, 0, "int8", "float32", 0xFE),
    # clamped, never wrapped
    (3e9, 1, 0, "int8", "float32", 127), ("inf", 1, -8, "int4", "float32", 7), ("-inf", 1, 7, "int4", "float32", 8),
    (1e30, 1e-30, 0, "uint16", "float32", 0xFFFF), (2, 1, 65535, "uint16", "float32", 65535),
    ("nan", 1, 5, "uint8", "float32", 0), ("nan", 1, 1, "int2", "float32", 2),
    ("-nan", 1, 0, "int16", "float32", 0x8000),
    # division by zero and by Inf
    (1, 0, 3, "uint8", "float32", 255), (-1, 0, 3, "uint8", "float32", 0), (1, "-0", 3, "uint8", "float32", 0),
    (0, 0, 3, "uint8", "float32", 0), (5, "inf", 3, "uint8", "float32", 3),
    ("inf", "inf", 3, "uint8", "float32", 0), (6, -2, 10, "uint8", "float32", 7),
    # the precision decides: 2049 is 2048 in float16, 65520 is Inf there, and 1 / 3 * 2**14 is rounded to 11 bits
    (2049, 1, 0, "uint16", "float16", 2048), (2049, 1, 0, "uint16", "float32", 2049),
    (16384, 3, 0, "uint16", "float16", 5460), (16384, 3, 0, "uint16", "float32", 5461),
    (1000001, 2, 0, "int16", "bfloat16", 0x7FFF), (257, 2, 0, "int16", "bfloat16", 128),
    (259, 2, 0, "int16", "bfloat16", 130), (65520, 16, 0, "int16", "float16", 0x7FFF),
    (65520, 16, 0, "int16", "float32", 4095), (16777217, 2, 0, "int16", "float32", 0x7FFF),
    # float8: the quotient by the Cast table; 464 is the last that does not overflow
    (928, 2, 0, "float8_e4m3fn", "float32", 0x7E), ("-0", 2, 0, "float8_e4m3fn", "float32", 0x80),
    ("-0", 2, 0, "float8_e4m3fnuz", "float32", 0), (0, 0, None, "float8_e4m3fn", "float32", 0x7F),
    ("-nan", 1, None, "float8_e4m3fn", "float32", 0xFF), (1, "-nan", None, "float8_e5m2", "float32", 0xFE),
    ("nan", "-nan", None, "float8_e5m2", "float32", 0x7E), ("inf", "-inf", None, "float8_e5m2", "float32", 0x7E),
    # float4 and float6: the zero point is added in float32
    ("-0", 1, 0, "float4_e2m1fn", "float32", 0), ("-0", 1, None, "float4_e2m1fn", "float32", 8),
    ("-0", 1, "-0", "float4_e2m1fn", "float32", 8), (1, 1, -1, "float4_e2m1fn", "float32", 0),
    (1, 2, 0.5, "float4_e2m1fn", "float32", 2), (100, 1, -6, "float4_e2m1fn", "float32", 7),
    ("nan", 1, 6, "float4_e2m1fn", "float32", 8), ("-nan", 1, None, "float6_e2m3fn", "float32", 0),
    ("inf", 1, -7, "float6_e3m2fn", "float32", 0x1F),
    # just above the tie at 0.25: float64 sees it, float32 does not
    (536870912, 2147483647, None, "float4_e2m1fn", "float64", 1),
    (536870912, 2147483647, 0, "float4_e2m1fn", "float64", 0),
    (536870912, 2147483647, None, "float4_e2m1fn", "float32", 0),
])  # fmt: skip
def test_quantize(x: object, scale: object, zero_point: object, target: str, precision: str, code: int) -> None:
    assert quantize(x, scale, zero_point, target, precision=precision) == code


def test_the_cast_table_of_the_opset() -> None:
    for target, saturate, opset, code in (
        ("float8_e4m3fn", True, 19, 0x7E), ("float8_e4m3fn", False, 28, 0x7F), ("float8_e4m3fnuz", True, 23, 0x80),
        ("float8_e4m3fnuz", True, 24, 0x7F), ("float8_e5m2", False, 24, 0x7C), ("float8_e5m2", True, 19, 0x7B),
    ):  # fmt: skip
        options = {"precision": "float32", "saturate": saturate, "opset": opset}
        assert quantize(1, 0, None, target, **options) == code  # Inf
        assert quantize("inf", 2, 0, target, **options) == code
    # a finite quotient beyond the largest value, and one that only the precision makes infinite
    assert quantize(1e30, 1, 0, "float8_e4m3fnuz", precision="float32", opset=23) == 0x7F
    assert quantize(1e30, 1, 0, "float8_e4m3fnuz", precision="float16", opset=23) == 0x80


@pytest.mark.parametrize(("code", "source", "scale", "zero_point", "output", "result"), [
    (3, "uint8", 2, 128, "float32", "-250"), (0, "uint16", 1, 65535, "float32", "-65535"),
    (0x80, "int8", 1, 127, "float32", "-255"), (8, "int4", 0.5, 7, "float32", "-7.5"),
    (2, "int2", 1, 1, "float32", "-3"),
    (0x7FFFFFFF, "int32", 1, None, "float32", "2147483648"), (0x1000001, "int32", 1, None, "float32", "16777216"),
    (5, "uint8", -2, 5, "float32", "-0"), (5, "uint8", 2, 5, "float32", "0"), (5, "uint8", "inf", 5, "float32", "nan"),
    (6, "uint8", "-inf", 5, "float32", "-inf"), (6, "uint8", "-nan", 5, "float32", "-nan"),
    (0x7F, "float8_e4m3fn", 2, 0, "float32", "nan"), (0xFF, "float8_e4m3fn", 2, None, "float32", "-nan"),
    (0x80, "float8_e4m3fnuz", 2, None, "float32", "-nan"), (0x80, "float8_e5m2", 2, 0, "float32", "-0"),
    (0x7C, "float8_e5m2", 0, None, "float32", "nan"), (0x7C, "float8_e5m2", -1, None, "float32", "-inf"),
    (8, "float4_e2m1fn", 1, 0, "float32", "-0"), (8, "float4_e2m1fn", 1, "-0", "float32", "0"),
    (7, "float4_e2m1fn", 2, -6, "float32", "24"), (0x1F, "float6_e3m2fn", 1, -28, "float32", "56"),
    # overflow of the product, of the output; subnormals
    (255, "uint8", 2.0**121, 0, "float32", "inf"), (255, "uint8", 257, 0, "float16", "inf"),
    (255, "uint8", 256.75, 0, "float16", "65472"), (3, "uint8", 2.0**-149, 0, "float32", str(decode(3, "float32"))),
    (1, "uint8", 2.0**-25, 0, "float16", "0"), (3, "uint8", 2.0**-26, 0, "float16", str(decode(1, "float16"))),
    (1, "uint8", 2.0**-150, 0, "float32", "0"),
])  # fmt: skip
def test_dequantize(code: int, source: str, scale: object, zero_point: object, output: str, result: str) -> None:
    found = dequantize(code, source, scale, zero_point, output_dtype=output)
    assert decode(found, output) == Value.of(result)


def test_the_product_is_rounded_twice() -> None:
    # 5 * scale is 1 + 2**-8 + 2**-25: beyond the tie of bfloat16 between 1 and 1 + 2**-7, and on it in float32
    scale = float.fromhex("0x1.9b3334p-3")
    exact = 5 * Fraction(scale)
    assert exact == 1 + Fraction(1, 2**8) + Fraction(1, 2**25)
    assert encode(exact, "bfloat16") == 0x3F81
    assert dequantize(5, "uint8", scale, output_dtype="bfloat16") == 0x3F80


def test_precision_of() -> None:
    names = ("float32", "float16", "bfloat16", "float8_e8m0fnu", "int32")
    assert [precision_of(name).name for name in names] == ["float32", "float16", "bfloat16", "float32", "float64"]


def test_dynamic_quantize() -> None:
    codes, scale, zero_point = dynamic_quantize([0, 2, -3, -2.5, 1.34, 0.5])
    assert (codes, zero_point) == ([153, 255, 0, 26, 221, 179], 153)
    assert encode(scale, "float32") == 0x3CA0A0A1  # 5 / 255 in float32
    assert dynamic_quantize([0, "-0"]) == ([0, 0], Value.of(0), 0)
    codes, scale, zero_point = dynamic_quantize([1, "nan"])
    assert (codes, scale.special, zero_point) == ([0, 0], "nan", 0)
    assert dynamic_quantize(["inf", 1, -2]) == ([0, 0, 0], Value.of("inf"), 0)
    assert dynamic_quantize([2.0**-149, -(2.0**-149)]) == ([255, 0], Value.of(0), 255)
