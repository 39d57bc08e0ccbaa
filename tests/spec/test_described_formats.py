"""Formats by description: `float_format`, `register`, what they refuse, and descriptions in files."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.spec.custom_formats import description_of, format_described_by
from lowprec.spec.formats import REGISTERED, Format

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


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (E4M3, "lp.float_format('tried', exponent_bits=4, mantissa_bits=3, bias=7)"),
        (
            {**E8M0, "reference": "a 'page'"},
            "lp.float_format('tried', exponent_bits=8, mantissa_bits=0, bias=127, signed=False, inf=False, "
            "nan='all-ones', zero=False, reference=\"a 'page'\")",
        ),
    ],
)
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


# ---- what is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"exponent_bits": 0}, "`exponent_bits` must be 1 to 11 .without exponent bits .* fixed-point format.; got 0"),
        ({"exponent_bits": 12}, "`exponent_bits` must be 1 to 11 .float64 has no more.; got 12"),
        ({"mantissa_bits": 31}, "`mantissa_bits` must be 0 to 30; got 31"),
        ({"mantissa_bits": -1}, "`mantissa_bits` must be 0 to 30; got -1"),
        (
            {"exponent_bits": 8, "mantissa_bits": 24},
            r"`exponent_bits` and `mantissa_bits` must make a code of 2 to 32 bits .*; got 8 \+ 24 .* are 33",
        ),
        (
            {"exponent_bits": 1, "mantissa_bits": 0, "signed": False, "inf": False, "nan": "none"},
            r"`exponent_bits` and `mantissa_bits` must make a code of 2 to 32 bits with the sign; got 1 \+ 0 .* are 1",
        ),
        ({"signed": False, "nan": "negative-zero"}, "`nan` must be another rule .* without a sign, since .* no -0;"),
        ({"mantissa_bits": 0}, "`nan` must be another rule than 'ieee' without a mantissa, which no NaN could have;"),
        ({"zero": False}, "`zero` must be True for a format with a sign or a mantissa; got False"),
        ({"zero": False, "signed": False}, "`zero` must be True for a format with a sign or a mantissa; got False"),
        (
            {"exponent_bits": 1, "mantissa_bits": 0, "nan": "none"},
            "`inf` must be False, or no finite value is left but 0; got True",
        ),
        (
            {"exponent_bits": 1, "mantissa_bits": 0, "nan": "all-ones", "inf": False},
            "`nan` must be another rule than 'all-ones', or no finite value is left but 0; got 'all-ones'",
        ),
        (
            {**E8M0, "exponent_bits": 2, "mantissa_bits": 0, "bias": 1100},
            "`bias` must be such that float64 holds every value; got 1100",
        ),
        ({"bias": 10**30}, "`bias` must be such that float64 holds every value; got 10+$"),
        ({"bias": 1.0}, "`bias` must be an integer or None; got 1.0"),
        ({"bias": True}, "`bias` must be an integer or None; got True"),
        ({"nan": "IEEE"}, "`nan` must be one of ieee, all-ones, negative-zero, none; got 'IEEE'"),
        ({"nan": ["ieee"]}, "`nan` must be one of ieee, all-ones, negative-zero, none; got .'ieee'."),
        ({"reference": None}, "`reference` must be a text; got None"),
    ],
)  # fmt: skip
def test_facts_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        lp.float_format("tried", **{**E4M3, **changes})


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("float16", "must be no name of a row of lowprec.formats"),
        ("FLOAT8E4M3FN", "must be no name of a row of lowprec.formats"),
        ("DOUBLE", "must be no name of a row of lowprec.formats"),
        ("binary8p3se", "must be no name of IEEE P3109, which lp.as_format takes"),
        ("Binary99p3sE", "must be no name of IEEE P3109, which lp.as_format takes"),
        ("17", "must not be a number, which is an ONNX enum value"),
        ("", "must be 1 to 64 printable characters without spaces"),
        ("a b", "must be 1 to 64 printable characters without spaces"),
        ("a\n", "must be 1 to 64 printable characters without spaces"),
        ("a\u200b", "must be 1 to 64 printable characters without spaces"),
        ("x" * 65, "must be 1 to 64 printable characters without spaces"),
        (5, "must be a text"),
    ],
)
def test_names_that_are_refused(name: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^`name` {message}; got "):
        lp.float_format(name, **E4M3)


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
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
    ],
)
def test_descriptions_that_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        format_described_by({**description_of(FMT), **changes})
    for other in (None, [], "taken", {}, {"name": "taken"}):
        with pytest.raises(ValueError, match=r"^a description of a format must have the entries"):
            format_described_by(other)
