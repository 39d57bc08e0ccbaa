"""Described formats: facts, names and spellings, TF32 and wide ones, where they are taken; ten thousand."""

from __future__ import annotations

import gc
import itertools
import json
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.reference import exact_quantize
from lowprec.spec.custom_formats import (
    description_of,
    float_format_spelled,
    format_described_by,
    has_spelled_shape,
    spelling_of,
    why_not_converted,
)
from lowprec.spec.formats import FORMATS, REGISTERED, Format, is_named

E4M3: dict[str, Any] = {"exponent_bits": 4, "mantissa_bits": 3}
E8M0 = {"exponent_bits": 8, "mantissa_bits": 0, "signed": False, "inf": False, "nan": "all-ones", "zero": False}


@pytest.fixture
def registry() -> Iterator[None]:
    """Let a test register formats that no other finds."""
    before = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(before)


# ---- facts
@pytest.mark.parametrize(
    ("facts", "expected"),
    [  # bits, bias, the largest and the smallest value, codes of the largest, of Inf and of NaN, is there a -0
        (E4M3, (8, 7, 240.0, 2**-9, 0x77, 0x78, 0x7C, True)),
        ({**E4M3, "inf": False}, (8, 7, 256.0, 2**-9, 0x78, None, 0x7C, True)),
        ({**E4M3, "inf": False, "nan": "all-ones"}, (8, 7, 448.0, 2**-9, 0x7E, None, 0x7F, True)),
        ({**E4M3, "nan": "negative-zero", "bias": 8}, (8, 8, 224.0, 2**-10, 0x7E, 0x7F, 0x80, False)),
        ({**E4M3, "nan": "none", "inf": False}, (8, 7, 480.0, 2**-9, 0x7F, None, None, True)),
        ({**E4M3, "signed": False, "nan": "all-ones"}, (7, 7, 416.0, 2**-9, 0x7D, 0x7E, 0x7F, False)),
        ({**E4M3, "mantissa_bits": 0, "nan": "all-ones"}, (5, 7, 2.0**6, 2**-6, 0x0D, 0x0E, 0x0F, True)),
        ({"exponent_bits": 1, "mantissa_bits": 2, "bias": -3}, (4, -3, 12.0, 4.0, 0x3, 0x4, 0x6, True)),
        (E8M0, (8, 127, 2.0**127, 2**-127, 0xFE, None, 0xFF, False)),
        ({"exponent_bits": 11, "mantissa_bits": 4}, (16, 1023, 31 * 2.0**1019, 2**-1026, 0x7FEF, 0x7FF0, 0x7FF8, True)),
    ],
)
def test_facts(facts: dict[str, Any], expected: tuple[object, ...]) -> None:
    fmt = lp.float_format("tried", **facts)
    info = lp.finfo(fmt)
    found = (fmt.bits, fmt.bias, info.max, info.smallest_subnormal, info.max_code, info.inf_code, info.nan_code)
    assert (*found, info.has_negative_zero) == expected
    assert float(reference.decode(info.max_code, fmt)) == info.max
    assert (fmt.onnx_name, fmt.onnx_enum, fmt.since, fmt.torch_name) == (None,) * 4
    assert info.dtype == lp.storage_dtype(fmt, np) == (np.uint8 if fmt.bits <= 8 else np.uint16)


@pytest.mark.parametrize(("facts", "text"), [
    (E4M3, "lp.float_format('tried', exponent_bits=4, mantissa_bits=3, bias=7)"),
    ({**E8M0, "reference": "a 'page'"},
     "lp.float_format('tried', exponent_bits=8, mantissa_bits=0, bias=127, signed=False, inf=False, "
     "nan='all-ones', zero=False, reference=\"a 'page'\")"),
])  # fmt: skip
def test_repr_is_the_call(facts: dict[str, Any], text: str) -> None:
    fmt = lp.float_format("tried", **facts)
    assert repr(fmt) == text
    assert eval(text, {"lp": lp}) is fmt


def test_shown_in_notebooks() -> None:
    text = lp.float_format("tried", **E4M3, reference="<this test>")._repr_html_()
    assert "tried" in text
    assert "1/4/3" in text
    assert "&lt;this test&gt;" in text
    assert not [word for word in ("ONNX", "enum", "None", "Cast since") if word in text]


def test_numpy_integers_are_taken() -> None:
    fmt = lp.float_format("tried", exponent_bits=np.int8(4), mantissa_bits=np.uint64(3), bias=np.int64(7), signed=1)
    assert fmt is lp.float_format("tried", **E4M3)


# ---- names
@pytest.mark.usefixtures("registry")
def test_registered_names() -> None:
    fmt = lp.float_format("registered_here", **E4M3)
    x = np.float32([1.0, -1e9])
    for _ in range(2):  # a plan that was refused is not remembered
        with pytest.raises(ValueError, match=r"^`to` must be a format; got 'registered_here'"):
            lp.cast(x, "registered_here")
        with pytest.raises(ValueError, match=r"^`output_dtype` must be a format; got 'registered_here'"):
            lp.quantize_linear(x, 1.0, output_dtype="registered_here")
    assert lp.register(fmt) is fmt
    assert lp.register(pickle.loads(pickle.dumps(fmt))) is fmt
    assert lp.as_format("registered_here") is fmt
    assert lp.cast(x, "registered_here").tolist() == [0x38, 0xF7]
    assert lp.quantize_linear(x, 1.0, output_dtype="registered_here").tolist() == [0x38, 0xF7]
    assert lp.decode(np.uint8([0x38]), "registered_here").tolist() == [1.0]
    assert lp.finfo("registered_here").max == 240.0
    assert lp.formats["registered_here"] is fmt
    assert "registered_here" not in list(lp.formats)
    with pytest.raises(ValueError, match="did you mean registered_here"):
        lp.as_format("registered_hera")
    other = lp.float_format("registered_here", **E4M3, bias=8)
    with pytest.raises(
        ValueError, match=r"`fmt` must have a name that is not registered; got lp.*bias=8.*, reg.*bias=7"
    ):
        lp.register(other)
    assert lp.as_format("registered_here") is fmt


@pytest.mark.usefixtures("registry")
def test_what_cannot_be_registered() -> None:
    for known in (lp.formats["float16"], lp.formats["int4"], lp.as_format("binary8p3se")):
        assert lp.register(known) is known  # which has its name already
    assert not {"float16", "int4", "binary8p3se"} & REGISTERED.keys()
    fields = {field: getattr(lp.formats["float8_e5m2"], field) for field in Format.__match_args__}
    with pytest.raises(
        ValueError, match=r"`fmt` must have a name that no row of lowprec.formats has; got Format\(name='float8_e5m2'"
    ):
        lp.register(Format(**{**fields, "bias": 16}))
    with pytest.raises(ValueError, match=r"`fmt.name` must be no name of IEEE P3109"):
        lp.register(Format(**{**fields, "name": "binary8p3se"}))
    whole = {field: getattr(lp.formats["int8"], field) for field in Format.__match_args__}
    with pytest.raises(ValueError, match="`fmt` must be a float format; got mine, which is of kind int"):
        lp.register(Format(**{**whole, "name": "mine"}))
    with pytest.raises(TypeError, match="`fmt` must be a Format; got str"):
        lp.register("float16")


# ---- descriptions in files


FMT = lp.float_format("taken", exponent_bits=5, mantissa_bits=2, nan="all-ones")


def test_descriptions() -> None:
    for fmt in (FMT, lp.as_format("binary6p1ue"), lp.float_format("powers", **E8M0, reference="this test")):
        text = json.dumps(description_of(fmt))
        assert format_described_by(json.loads(text)) is fmt
    assert description_of(FMT) == {
        "name": "taken", "exponent_bits": 5, "mantissa_bits": 2, "bias": 15, "signed": True, "inf": True,
        "nan": "all-ones", "zero": True, "source": "",
    }  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), [
    ({"exponent_bits": 5.0}, "`exponent_bits` must be of type int; got 5.0"),
    ({"exponent_bits": True}, "`exponent_bits` must be of type int; got True"),
    ({"exponent_bits": 10**9}, "`exponent_bits` must be 1 to 11 .*; got 1000000000"),
    ({"bias": -(10**40)}, "`bias` must be such that float64 holds every value; got a negative integer of 133 bits"),
    ({"signed": 1}, "`signed` must be of type bool; got 1"),
    ({"nan": "nan"}, "`nan` must be one of ieee, all-ones, negative-zero, none; got 'nan'"),
    ({"name": "float16"}, "`name` must be no name of a row of lowprec.formats; got 'float16'"),
    ({"name": "binary8p3se"}, "`name` must be another one than 'binary8p3se', which has other facts"),
    ({"name": "binary8p8se"}, "`name` must have a precision from 1 to 7 .*; got 'binary8p8se'"),
    ({"name": None}, "`name` must be of type str; got None"),
    ({"more": 1}, "a description of a format must have the entries name, exponent_bits, .*, source"),
])  # fmt: skip
def test_descriptions_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        format_described_by({**description_of(FMT), **changes})
    for other in (None, [], "taken", {}, {"name": "taken"}):
        with pytest.raises(ValueError, match=r"^a description of a format must have the entries"):
            format_described_by(other)


X = np.float32([1.0, -0.0, 3e9, np.nan, -np.inf])
CODES = np.uint8([0x3C, 0x80, 0x7D, 0x7F, 0xFD])


def test_opset_must_be_the_default() -> None:
    message = "^`opset` must be 28, the default, for taken, which ONNX lacks; got 27$"
    calls = [
        lambda opset: lp.cast(X, FMT, opset=opset), lambda opset: lp.cast(CODES, "float16", source=FMT, opset=opset),
        lambda opset: lp.encode(X, FMT, opset=opset), lambda opset: lp.bitcast(CODES, FMT, opset=opset),
        lambda opset: lp.bitcast(CODES, "int8", source=FMT, opset=opset),
        lambda opset: lp.quantize_linear(X, 1.0, output_dtype=FMT, opset=opset),
        lambda opset: lp.dequantize_linear(CODES, 1.0, source=FMT, opset=opset),
        lambda opset: lp.explain(1, FMT, opset=opset), lambda opset: reference.encode(1, FMT, opset=opset),
    ]  # fmt: skip
    for call in calls:
        call(28)
        call(np.int64(28))
        with pytest.raises(ValueError, match=message):
            call(27)


def test_quantization_to_more_than_8_bits() -> None:
    fmt, x, scale = lp.as_format("binary12p6se"), np.float32([0.3, -7.7, 1e9, -1e30, np.nan, -0.0]), np.float32(0.3)
    codes = [exact_quantize.quantize(float(value), float(scale), None, fmt, precision="float32") for value in x]  # type: ignore[attr-defined]
    for xp in (np, strict):
        got = lp.quantize_linear(xp.asarray(x), xp.asarray(scale), output_dtype=fmt)
        assert np.asarray(got).tolist() == codes
        back = lp.dequantize_linear(got, xp.asarray(scale), source=fmt)
        expected = np.array([float(reference.decode(code, fmt)) for code in codes]) * np.float64(scale)
        assert np.array_equal(np.asarray(back), expected.astype(np.float32), equal_nan=True)


def test_onnx_has_no_type_for_it() -> None:
    with pytest.raises(ValueError, match=r"^`source` must be a format that ONNX has a type for; got taken$"):
        pytest.importorskip("lowprec.onnx", exc_type=ImportError).from_array(CODES, source=FMT)


def test_names_of_described_formats_are_traced() -> None:
    torch = pytest.importorskip("torch")
    from torch.fx.experimental.proxy_tensor import make_fx

    x, fmt = torch.arange(8.0), lp.register(lp.float_format("registered_for_torch", exponent_bits=4, mantissa_bits=3))

    def check(to: object) -> None:
        assert torch.equal(make_fx(lambda x: lp.cast(x, to))(x)(x), lp.cast(x, to))

    for to in ("binary8p3se", lp.as_format("binary5p2sf"), "registered_for_torch", fmt):
        check(to)


# ---- memory
@pytest.mark.slow
def test_ten_thousand_formats_leave_nothing() -> None:
    def make(first: int, count: int) -> None:
        for number in range(first, first + count):
            fmt = lp.float_format(f"passing{number}", exponent_bits=1 + number % 8, mantissa_bits=1 + number % 7)
            assert {fmt: lp.finfo(fmt).max}[fmt] == fmt.max
            assert lp.storage_dtype(fmt, np) == (np.uint8 if fmt.bits <= 8 else np.uint16)

    make(0, 7_000)
    gc.collect()
    alive = len(Format._instances)
    tracemalloc.start()
    sizes = []
    for first in (7_000, 8_500):  # the first fill all caches with objects that are traced
        make(first, 1_500)
        gc.collect()
        sizes.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert len(Format._instances) <= alive + 10
    assert sizes[1] - sizes[0] < 200_000  # 1,500 formats that stay would take a megabyte


@pytest.mark.parametrize(
    ("text", "facts", "spelling"),
    [("e4m3", E4M3, "e4m3"), ("E4M3,BIAS=7", E4M3, "e4m3"), ("e4m3,inf=1,signed=True,zero=1,nan=ieee", E4M3, "e4m3"),
     (" e4m3 , bias = 8 ", {**E4M3, "bias": 8}, "e4m3,bias=8"), ("e4m3,bias=-3", {**E4M3, "bias": -3}, "e4m3,bias=-3"),
     ("e4m3,nan=negative-zero,inf=0,bias=8", {**E4M3, "bias": 8, "inf": False, "nan": "negative-zero"},
      "e4m3,bias=8,inf=0,nan=negative-zero"),
     ("e3m0,signed=false,nan=none", {"exponent_bits": 3, "mantissa_bits": 0, "signed": False, "nan": "none"},
      "e3m0,signed=0,nan=none"),
     ("e8m0,signed=0,inf=0,nan=all-ones,zero=0",
      {"exponent_bits": 8, "mantissa_bits": 0, "signed": False, "inf": False, "nan": "all-ones", "zero": False},
      "e8m0,signed=0,inf=0,nan=all-ones,zero=0")],
)  # fmt: skip
def test_what_a_text_describes(text: str, facts: dict[str, Any], spelling: str) -> None:
    fmt = float_format_spelled(text)
    assert fmt is lp.float_format(spelling, **facts)
    assert spelling_of(fmt) == spelling
    assert has_spelled_shape(text)


def test_every_description_is_read_back() -> None:
    rules = ("ieee", "all-ones", "negative-zero", "none")
    count = 0
    for exponent, mantissa, bias in itertools.product((1, 4, 8), (0, 1, 7), (None, 0, -5)):
        for signed, inf, nan, zero in itertools.product((True, False), (True, False), rules, (True, False)):
            facts = {"exponent_bits": exponent, "mantissa_bits": mantissa, "bias": bias, "signed": signed, "inf": inf}
            try:
                fmt = lp.float_format("some", **facts, nan=nan, zero=zero)
            except ValueError:
                continue
            found = float_format_spelled(spelling_of(fmt))
            assert found is lp.float_format(spelling_of(fmt), **facts, nan=nan, zero=zero)
            count += 1
    assert count > 150


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "must begin with the widths of its fields, as e4m3 does; got ''"), ("m3e4", "must begin"),
     ("e4m3;inf=0", "must begin"), ("float16", "must begin"), ("e99999m1", "must begin"), ("e4m3,", "each part"),
     ("e4m3,inf", "each part"), ("e4m3,name=x", "must be one of bias=, signed=, inf=, nan=, zero=; got 'name=x'"),
     ("e4m3,inf=2", "`inf` must be 0 or 1; got '2'"), ("e4m3,zero=", "`zero` must be 0 or 1"),
     ("e4m3,inf=0,inf=0", "`inf` must be there once"), ("e4m3,bias=1.5", "`bias` must be an integer"),
     ("e4m3,bias=999999", "`bias` must be an integer of at most 5 digits"), ("e4m3,bias=\u0663", "`bias` must be"),
     ("e4m3,nan=some", "`nan` must be one of"), ("e0m3", "`exponent_bits` must be 1 to 11"),
     ("e9m23", "2 to 32 bits"), ("e4m0", "`nan` must be another rule than 'ieee'")],
)  # fmt: skip
def test_what_is_wrong_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        float_format_spelled(text)


TF32 = lp.as_format("tf32")
TF32_CODES = [sign << 18 | field << 10 | mantissa for sign in (0, 1) for field in (0, 1, 126, 127, 254, 255)
         for mantissa in (0, 1, 511, 512, 1023)]  # fmt: skip


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
    for code in TF32_CODES:
        expected, found = np.uint32(code << 13).view(np.float32), reference.decode(code, "tf32")
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


ARRAYS: list[tuple[str, Callable[[lp.Format], object]]] = [
    ("to", lambda fmt: lp.cast(X, fmt)), ("source", lambda fmt: lp.cast(np.uint32([1]), "float32", source=fmt)),
    ("to", lambda fmt: lp.encode(X, fmt)), ("x", lambda fmt: lp.dequantize_linear(np.uint32([1]), X[:1], source=fmt)),
    ("output_dtype", lambda fmt: lp.quantize_linear(X, X[:1], output_dtype=fmt)),
    ("precision", lambda fmt: lp.quantize_linear(X, X[:1], output_dtype="int8", precision=fmt)),
    ("to", lambda fmt: lp.mx_quantize(np.ones((1, 32), np.float32), fmt)),
]  # fmt: skip


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
