"""TF32 by name, and described formats of 17 to 32 bits: explained and decoded exactly, arrays refused."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.spec.custom_formats import description_of, format_described_by, why_not_converted
from lowprec.spec.formats import FORMATS, is_named

TF32 = lp.as_format("tf32")
CODES = [sign << 18 | field << 10 | mantissa for sign in (0, 1) for field in (0, 1, 126, 127, 254, 255)
         for mantissa in (0, 1, 511, 512, 1023)]  # fmt: skip


def float32_of(code: int) -> np.float32:
    """Return the float32 whose upper 19 bits are a code and whose lower 13 bits are 0."""
    return np.uint32(code << 13).view(np.float32)


def test_facts_of_the_white_paper() -> None:
    # "8-bit exponent, same as FP32", "10-bit mantissa, same as FP16", "19 bits"
    assert (TF32.bits, TF32.signed, TF32.exponent_bits, TF32.mantissa_bits, TF32.bias) == (19, True, 8, 10, 127)
    info = lp.finfo("tf32")
    assert (info.max, info.eps, info.smallest_normal) == (2047 * 2.0**117, 2.0**-10, 2.0**-126)
    assert (info.inf_code, info.nan_code, info.has_negative_zero) == (0x3FC00, 0x3FE00, True)
    assert "tf32" not in list(FORMATS)
    assert FORMATS["tf32"] is TF32
    assert TF32.onnx_enum is None


def test_every_kind_of_code_is_the_upper_part_of_a_float32() -> None:
    for code in CODES:
        expected, found = float32_of(code), reference.decode(code, "tf32")
        assert found.special == ("nan" if np.isnan(expected) else "inf" if np.isinf(expected) else "")
        assert found.negative == bool(np.signbit(expected))
        if not found.special:
            assert found.number == Fraction(float(expected))
            assert reference.encode(found, "TF32") == code


@pytest.mark.parametrize(
    ("x", "code"),
    [("0.3", 0x1F4CD), ("-0", 0x40000), ("1e39", 0x3FC00), ("-inf", 0x7FC00), ("nan", 0x3FE00),
     (1 + 2**-11, 0x1FC00), (1 + 3 * 2**-11, 0x1FC02)],
)  # fmt: skip
def test_explained(x: object, code: int) -> None:
    # 0.3 is 0x3E99999A as float32, whose lower 13 bits 0x199A are above the half 0x1000; ties go to even
    assert lp.explain(x, "tf32").code == code
    assert reference.encode(x, "tf32") == code


def test_a_name_as_p3109s_are() -> None:
    assert lp.as_format("TF32") is lp.as_format("Tf32") is TF32
    assert repr(TF32) == "lp.as_format('tf32')"
    assert pickle.loads(pickle.dumps(TF32)) is TF32
    assert lp.register(TF32) is TF32
    assert is_named(TF32)
    assert format_described_by(description_of(TF32)) is TF32
    with pytest.raises(ValueError, match="`name` must be another one than 'tf32', which has other facts"):
        format_described_by({**description_of(TF32), "bias": 126})
    for name in ("tf32", "TF32"):
        with pytest.raises(ValueError, match=r"`name` must be no name of another format, which lp\.as_format takes"):
            lp.float_format(name, exponent_bits=8, mantissa_bits=10)
    plain = lp.float_format("e8m10", exponent_bits=8, mantissa_bits=10)
    assert repr(plain) == "lp.float_format('e8m10', exponent_bits=8, mantissa_bits=10, bias=127)"
    assert lp.explain("0.3", plain).code == 0x1F4CD


X = np.float32([1, 2])
ARRAYS: list[tuple[str, Callable[[lp.Format], object]]] = [
    ("to", lambda fmt: lp.cast(X, fmt)),
    ("source", lambda fmt: lp.cast(np.uint32([1]), "float32", source=fmt)),
    ("to", lambda fmt: lp.encode(X, fmt)),
    ("x", lambda fmt: lp.dequantize_linear(np.uint32([1]), X[:1], source=fmt)),
    ("output_dtype", lambda fmt: lp.quantize_linear(X, X[:1], output_dtype=fmt)),
    ("precision", lambda fmt: lp.quantize_linear(X, X[:1], output_dtype="int8", precision=fmt)),
    ("to", lambda fmt: lp.mx_quantize(np.ones((1, 32), np.float32), fmt)),
]


@pytest.mark.parametrize(("parameter", "call"), ARRAYS)
def test_arrays_are_refused(parameter: str, call: Callable[[lp.Format], object]) -> None:
    wide = lp.float_format("wide", exponent_bits=8, mantissa_bits=23, bias=100)
    for fmt, why in ((TF32, "tf32, which has 19 bits, more than 16"), (wide, "wide, which has 32 bits, more than 16")):
        assert why.endswith(why_not_converted(fmt))
        with pytest.raises(ValueError, match=f"`{parameter}` must have 16 bits or fewer, .* got {why}$"):
            call(fmt)


def test_32_bits_with_a_bias_of_its_own() -> None:
    fmt = lp.float_format("wide", exponent_bits=8, mantissa_bits=23, bias=100)
    for code in (1, 0x00800000, 0x3F800001, 0xFF7FFFFF):
        expected = Fraction(float(np.uint32(code).view(np.float32))) * 2**27
        assert reference.decode(code, fmt).number == expected
        assert reference.encode(expected, fmt) == code
    assert lp.finfo(fmt).max == float(np.finfo(np.float32).max) * 2.0**27
    assert lp.storage_dtype(fmt, np) == np.uint32
