"""Formats by description and of IEEE P3109 in the explorer: names, links, what each page computes, what is copied."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.explorer_pages import healthy, page, texts
from support.explorer_states import OF_EVERY_KIND
from support.snippets import run

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.pages.compare.state import Compare
from lowprec.explorer.pages.conversion import snippets as conversion_snippets
from lowprec.explorer.pages.conversion.packing_view import packing
from lowprec.explorer.pages.conversion.state import Conversion
from lowprec.explorer.pages.conversion.view import bitcasting, bitcastings, conversion
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.rounding import snippets as rounding_snippets
from lowprec.explorer.pages.rounding.state import Rounding
from lowprec.explorer.shared import link as url_query
from lowprec.explorer.shared import roundings
from lowprec.explorer.shared.cast_options import cast_options
from lowprec.explorer.shared.format_names import checked_name, format_named

E4M3 = "e4m3,bias=8,inf=0,nan=negative-zero"


def read(cls: type, **query: str) -> tuple[Any, tuple[str, ...]]:
    return url_query.read(cls, query)


# ---- names in links


def test_names_in_any_case_and_spelling() -> None:
    assert read(Anatomy, fmt="BINARY8P3SE") == (Anatomy(fmt="binary8p3se"), ())
    assert read(Rounding, fmt=" E4M3, nan=negative-zero,bias=8, inf=0") == (Rounding(fmt=E4M3), ())
    assert read(Conversion, source="e5m10", target="binary5p2sf")[0] == Conversion("e5m10", target="binary5p2sf")
    assert read(Quantize, fmt="Binary6p3se")[0] == Quantize(fmt="binary6p3se")
    assert read(Quantize, fmt="float8_e4m3") == (Quantize(fmt="float8_e4m3"), ())  # a row that ONNX lacks


@pytest.mark.parametrize("name", OF_EVERY_KIND)
def test_names_come_back(name: str) -> None:
    assert checked_name(name, ()) == name == format_named(name).name
    for state in (Anatomy(fmt=name), Compare(("int8", name, "e2m1", name.upper()))):
        link = url_query.query_text(url_query.write(state))
        found, problems = url_query.read(type(state), dict(part.split("=", 1) for part in link.split("&")))
        assert problems == ()
        assert found == (state if isinstance(state, Anatomy) else Compare(("int8", name, "e2m1")))


@pytest.mark.parametrize(
    ("name", "said"),
    [("binary12p3se", "not binary12p3se, whose largest value, 8.68441e+76, is not below 2^128, as those"),
     ("e4m3,bias=300", "whose smallest value, 2^-302, is below 2^-149"),
     ("tf32", "not tf32, which has 19 bits, more than 16"), ("e8m23", "not e8m23, which has 32 bits, more than 16"),
     ("binary16p2se", "must have 11 exponent bits or fewer"), ("binary8p9se", "must have a precision from 1 to 7"),
     ("binary99p1se", "must have 3 to 16 bits"), ("binary08p3se", "must be spelled binary8p3se"),
     ("e4m3,nan=x", "must be a description of a format: `nan` must be one of ieee,"), ("e0m3", "fixed-point format"),
     ("e4m3,bias=8,", "each part after the widths must be one of bias="),
     ("e4", "must be one of the names in the list"),
     ("<script>", "must be one of the names in the list"), ("e4m3" + ",inf=0" * 600, "must be one of the names")],
)  # fmt: skip
def test_other_names_are_refused_with_the_reason(name: str, said: str) -> None:
    converting = ((Conversion, "source"), (Conversion, "packed"), (Quantize, "fmt"))
    explaining = ((Anatomy, "fmt"), (Rounding, "fmt"))
    is_format = said.startswith(("not ", "whose "))  # but none that arrays are converted to
    for cls, field in converting if is_format else (*converting, *explaining):
        found, problems = read(cls, **{field: name})
        assert found == cls()
        assert said in problems[0]
    if is_format:
        assert read(Anatomy, fmt=name) == (Anatomy(fmt=name), ())
    kept = ("int8", name) if is_format else ("int8", "e4m3,bias=8") if name == "e4m3,bias=8," else ("int8",)
    found, problems = read(Compare, fmts=f"int8,{name}")
    assert (found, problems == ()) == (Compare(fmts=kept), is_format)


def test_pages_that_need_more_say_so() -> None:
    assert "must have 2, 4 or 6 bits to share bytes; binary5p2sf has 5" in read(Conversion, packed="binary5p2sf")[1][0]
    assert read(Conversion, packed="binary6p2ue")[0].packed == "binary6p2ue"
    assert "at most 8 bits to be quantized to; e5m3 has 9" in read(Quantize, fmt="e5m3")[1][0]
    assert "must have a zero" in read(Quantize, fmt="e4m0,signed=0,inf=0,nan=none,zero=0")[1][0]


# ---- what the views compute


def test_below_a_format_without_sign() -> None:
    found = roundings.rounding("-1", "binary5p3uf", overflow="ovf_inf")
    assert found.interval.middle is None
    assert {mode.code for mode in found.modes[1:9]} == {0, 0x1F}  # NaN, but 0 toward zero and toward +Inf
    assert found.modes[-1].error == 1


def test_bits_read_as_formats_of_their_width() -> None:
    e4m3, p3109 = format_named(E4M3), lp.as_format("binary8p3se")
    assert bitcasting(0x80, e4m3, lp.as_format("int8")).value.number == -128
    assert bitcasting(0x80, lp.as_format("int8"), e4m3).value.special == "nan"
    assert {found.target.name for found in bitcastings(0x40, p3109)} >= {"int8", "float8_e4m3fn", "float8_e8m0fnu"}
    assert "must be 5 bits wide" in bitcasting(1, lp.as_format("binary5p2sf"), p3109).problem
    assert packing((1, 2, 3), lp.as_format("binary6p3se")).packed == (0x81, 0x30, 0)


# ---- what is copied runs


@pytest.mark.parametrize("name", ["binary5p2sf", "binary8p3se", "binary12p6se", "binary5p3uf", "e2m0,nan=none", E4M3])
@pytest.mark.parametrize("chosen", [("onnx", "default"), ("toward_positive", "default"), ("nearest_away", "ovf_inf")])
def test_what_is_copied_of_conversions(name: str, chosen: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    fmt, options = format_named(name), cast_options(True, "up", 28, *chosen)
    for source, target in ((fmt, lp.as_format(16)), (lp.as_format(1), fmt), (fmt, fmt), (fmt, lp.as_format(2))):
        found = conversion(3, source, target, **options)
        ways = {} if chosen[0] == "onnx" or not target.is_float else {"rounding": chosen[0]}
        ways |= {"overflow": chosen[1]} if ways and chosen[1] != "default" else {}
        assert found.result == reference.cast(3, source, target, **ways)
        python, onnx = conversion_snippets.of_conversion(found, options, bitcasting(3, source, target))
        assert re.findall("0x[0-9a-f]+", run(python, capsys)[1].splitlines()[0]) == [hex(found.result)]
        assert onnx.startswith("None: ONNX has no number for")


def test_what_is_copied_of_a_rounding_beyond_onnx(capsys: pytest.CaptureFixture[str]) -> None:
    python, onnx = rounding_snippets.of_number("0.3", lp.as_format(17), cast_options(True, "up", 28, "toward_zero"))
    assert run(python, capsys)[1].splitlines()[-1] == "[0.28125]"
    assert "lp.cast(np.array([0.3]), 'float8_e4m3fn', rounding='toward_zero')" in python
    assert onnx == "None: ONNX has no attribute for this rounding."
    beyond = rounding_snippets.of_number("1e400", lp.as_format(17), cast_options(True, "up", 28, "to_odd"))[0]
    assert "lp.cast" not in beyond


# ---- the pages


def test_a_rounding_is_chosen_on_each_page() -> None:
    test = healthy(page("conversion", at="0.3"))
    labels = [box.label for box in test.selectbox]
    healthy(test.selectbox[labels.index("Rounding")].set_value("toward_zero").run())
    assert "0x29" in texts(test)
    assert {"Overflow", "opset"} & {box.label for box in test.selectbox} == {"Overflow"}
    test = healthy(page("compare", "casts", x="0.3", fmts="float8_e4m3fn,int8", rounding="toward_zero"))
    assert "<td>0.28125</td>" in texts(test)


@pytest.mark.parametrize("name", ["tf32", "e8m23,bias=100", "e4m3,bias=1000"])
def test_formats_without_arrays_are_explained(name: str) -> None:
    fmt = format_named(name)
    code = reference.encode("0.3", fmt)
    for test in (
        page("anatomy", fmt=name, at="0.3"),
        page("anatomy", fmt=name, at=hex(code)),
        page("rounding", fmt=name, x="0.3", rounding="toward_zero"),
        page("compare", fmts=name, x="0.3"),
    ):
        assert name in healthy(test).code[0].value
        exec(test.code[1].value, {})
    assert f"{code:X}" in texts(page("rounding", fmt=name, x="0.3"))
    for path, field in (("conversion", "target"), ("conversion", "source"), ("quantize", "fmt")):
        test = page(path, **{field: name})
        assert not test.exception
        assert f"must be a format that lowprec converts, not {name}, wh" in test.warning[0].value.replace("\\", "")
