"""The formats of IEEE P3109 by name: values of the published tables, facts, which are converted."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re
import struct
import zlib
from typing import Any

import numpy as np
import pytest
from support.optional import optional
from support.p3109_names import NAMES, facts_in

import lowprec as lp
from lowprec import reference
from lowprec.spec import formats
from lowprec.spec.custom_formats import why_not_converted
from lowprec.spec.formats import Format

gfloat: Any = optional("gfloat")
format_info_p3109: Any = optional("gfloat.formats:format_info_p3109")

NARROW = [name for name in NAMES if facts_in(name)[0] <= 8]

# Of each format up to 8 bits, the CRC-32 of its values by code as little-endian float64, NaN as 7FF8000000000000: from
# the files of https://github.com/P3109/Public, Value Tables/Hexadecimal, by check_p3109_tables.py --digests.
DIGESTS = """
binary3: p1se=42741cee, p1sf=b37926c9, p1ue=ee8115db, p1uf=28eb17a9, p2se=42741cee, p2sf=d2dc5acd, p2ue=d8f0b2a6,
    p2uf=3934313c, p3ue=c409cbac, p3uf=094c885f
binary4: p1se=e372f040, p1sf=50ced50f, p1ue=6f0d1c3d, p1uf=37dd19ef, p2se=912caaf2, p2sf=d66acbc0, p2ue=8c4dfaba,
    p2uf=22d47af0, p3se=cfe1e698, p3sf=9e9032f7, p3ue=c56382a1, p3uf=377041cf, p4ue=b648b3b7, p4uf=72e6503e
binary5: p1se=9f0656d1, p1sf=df67d410, p1ue=7e4b8a40, p1uf=c09e8693, p2se=fd50d774, p2sf=279e3111, p2ue=44c616ba,
    p2uf=74e59150, p3se=33cde4fc, p3sf=a454b0cb, p3ue=97f9c88d, p3uf=2ab70833, p4se=efedba17, p4sf=13338c9c,
    p4ue=b41f5ad2, p4uf=4fe739c6, p5ue=c608b86d, p5uf=06538bd9
binary6: p1se=ea720e14, p1sf=334130fe, p1ue=4d7ce0da, p1uf=e4d2f84a, p2se=82747cef, p2sf=3bfdcfa2, p2ue=c714012c,
    p2uf=11328fc7, p3se=7a4e4739, p3sf=1e223187, p3ue=9b280592, p3uf=b8dcc28c, p4se=27332a2f, p4sf=c0153d48,
    p4ue=b3f80ad9, p4uf=075d6a1d, p5se=7721bf04, p5sf=7bce732d, p5ue=96eb9788, p5uf=69e624a1, p6ue=eb792cea,
    p6uf=c4e07460
binary7: p1se=abf1892c, p1sf=1b8d3568, p1ue=80cb2130, p1uf=07931126, p2se=72633387, p2sf=4712499f, p2ue=56c0bc55,
    p2uf=979d26fd, p3se=40bcae2a, p3sf=374b371c, p3ue=2e3f6087, p3uf=ebceae98, p4se=919d8fe2, p4sf=c7296743,
    p4ue=b225f8ea, p4uf=983a9f8e, p5se=708ea7c4, p5sf=db23748e, p5ue=63d1d025, p5uf=d38160dc, p6se=845057b4,
    p6sf=8783555d, p6ue=d9679ee6, p6uf=c9a846f1, p7ue=d38a09c8, p7uf=8bf264dd
binary8: p1se=23f77f0f, p1sf=333e3392, p1ue=5c952dc1, p1uf=86214cdb, p2se=e083ea77, p2sf=2b8cfc26, p2ue=5d1033ea,
    p2uf=b2bb81c4, p3se=413566df, p3sf=e7d95de8, p3ue=63e71c9c, p3uf=b16dc6c0, p4se=4d5967f4, p4sf=dd44ca70,
    p4ue=6afc8cdb, p4uf=a6e6e2be, p5se=aa45632e, p5sf=cc9886d3, p5ue=fa3bb76a, p5uf=d4d10033, p6se=534b69e2,
    p6sf=a34e2b03, p6ue=5ef73344, p6uf=0165e883, p7se=035f7555, p7sf=e9e7bb54, p7ue=9b30de6e, p7uf=fc1e33e6,
    p8ue=9b5ab9bf, p8uf=156acd45
"""


def _digests() -> dict[str, int]:
    found = {}
    for width, line in re.findall(r"binary(\d): ([^:]*)(?=binary|\Z)", DIGESTS):
        for precision_and_kind, digest in re.findall(r"(p\d[su][ef])=([0-9a-f]{8})", line):
            found[f"binary{width}{precision_and_kind}"] = int(digest, 16)
    return found


def _digest(values: list[float]) -> int:
    return zlib.crc32(b"".join(struct.pack("<d", math.nan if math.isnan(value) else value) for value in values))


def test_values_are_those_of_the_published_tables() -> None:
    digests = _digests()
    assert list(digests) == NARROW
    for name, expected in digests.items():
        fmt = lp.as_format(name)
        codes = range(1 << fmt.bits)
        values = [fmt.value(code) for code in codes]
        assert _digest(values) == expected, name
        assert _digest([float(reference.decode(code, fmt)) for code in codes]) == expected, name
        info, finite = lp.finfo(name), [value for value in values if math.isfinite(value)]
        assert (info.smallest_subnormal, info.max, info.min) == (values[1], max(finite), min(finite)), name
        assert info.max_code == values.index(max(finite))
        assert info.inf_code == (values.index(math.inf) if math.inf in values else None)
        assert [code for code in codes if math.isnan(values[code])] == [info.nan_code]
        assert not info.has_negative_zero
        assert info.dtype == lp.storage_dtype(fmt, np) == np.dtype(np.uint8)
        assert (fmt.onnx_name, fmt.onnx_enum, fmt.since, fmt.torch_name) == (None,) * 4


@pytest.mark.parametrize("name", NARROW)
def test_gfloat_has_the_same_facts(name: str) -> None:
    width, precision, signed, has_inf = facts_in(name)
    theirs = format_info_p3109(
        width, precision, gfloat.Signedness.Signed if signed else gfloat.Signedness.Unsigned,
        gfloat.Domain.Extended if has_inf else gfloat.Domain.Finite,
    )  # fmt: skip
    ours = lp.as_format(name)
    assert (ours.bits, ours.exponent_bits, ours.mantissa_bits) == (theirs.bits, theirs.expBits, theirs.tSignificandBits)
    assert (ours.bias, ours.signed, ours.has_inf) == (theirs.bias, theirs.is_signed, theirs.num_posinfs == 1)
    assert (ours.max, ours.min, ours.nan_code) == (theirs.max, theirs.min, theirs.code_of_nan)
    assert ours.inf_code == (theirs.code_of_posinf if has_inf else None)
    if precision > 1:
        assert ours.smallest_normal == theirs.smallest_normal


def test_which_formats_there_are() -> None:
    known = {}
    for name in NAMES:
        width, precision, signed, _ = facts_in(name)
        if width - precision + (not signed) > 11:
            with pytest.raises(ValueError, match=f"`fmt` must have 11 exponent bits .* beyond float64; got '{name}'"):
                lp.as_format(name)
            continue
        known[name] = lp.as_format(name)
        assert (known[name].name, known[name].bits, known[name].mantissa_bits) == (name, width, precision - 1)
    assert (len(NAMES), len(NARROW), len(known)) == (504, 120, 454)
    converted = [name for name, fmt in known.items() if not why_not_converted(fmt)]
    assert len(converted) == 376
    assert set(NARROW) <= set(converted)
    for name, fmt in known.items():  # float32 has every value, by NumPy
        finite = [fmt.magnitude(code) for code in (1, 2, fmt.max_code - 1, fmt.max_code)]
        with np.errstate(over="ignore", under="ignore"):
            assert (name in converted) == all(float(np.float32(value)) == value for value in finite), name
    assert not why_not_converted(lp.formats["float64"])
    assert not why_not_converted(lp.formats["int32"])


def test_what_is_not_converted() -> None:
    assert not why_not_converted(lp.as_format("binary16p8sf"))
    assert why_not_converted(lp.as_format("binary16p7ue")).endswith("is not below 2^128, as those of float32 are")
    edge = {"exponent_bits": 5, "mantissa_bits": 2, "nan": "all-ones", "inf": False}
    assert not why_not_converted(lp.float_format("low", bias=148, **edge))
    low = "whose smallest value, 2^-150, is below 2^-149, the smallest of float32"
    assert why_not_converted(lp.float_format("lower", bias=149, **edge)) == low
    assert not why_not_converted(lp.float_format("high", bias=31 - 127, **edge))
    high = "whose largest value, 5.10424e+38, is not below 2^128, as those of float32 are"
    assert why_not_converted(lp.float_format("higher", bias=31 - 128, **edge)) == high
    rows = {field: getattr(lp.formats["float32"], field) for field in Format.__match_args__}
    assert why_not_converted(Format(**{**rows, "name": "mine"})) == "which has 32 bits, more than 16"


def test_names_in_any_case_are_one_format() -> None:
    fmt = lp.as_format("binary8p3se")
    assert lp.as_format("BINARY8P3SE") is lp.as_format("Binary8p3sE") is fmt
    assert fmt.name == "binary8p3se"
    assert repr(fmt) == "lp.as_format('binary8p3se')"
    assert eval(repr(fmt), {"lp": lp}) is fmt
    other = dataclasses.replace(fmt, bias=15)
    assert other is not fmt
    assert repr(other).startswith("Format(name='binary8p3se', onnx_name=None, ")
    assert repr(dataclasses.replace(fmt, name="binary8p9se")).startswith("Format(name='binary8p9se', ")
    assert lp.encode(np.float32(1.0), "Binary8P3se") == 0x40  # a name may stand wherever a format's does
    assert lp.as_format(np.str_("binary8p3se")) is fmt


def test_only_text_names_them() -> None:
    class Named:
        def __str__(self) -> str:
            return "mylib.binary8p3se"

    with pytest.raises(ValueError, match=r"^`fmt` must be a format; got "):
        lp.as_format(Named())


def test_the_description_is_carried_and_not_the_name(monkeypatch: pytest.MonkeyPatch) -> None:
    fmt = lp.as_format("binary8p3ue")
    text = pickle.dumps(fmt)
    monkeypatch.setattr(formats, "_lookup", None)  # which finds names
    assert pickle.loads(text) is copy.copy(fmt) is copy.deepcopy(fmt) is fmt
