"""The number and the format that the menu takes along: what each page has of them, and what it takes over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lowprec.explorer import pages
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.pages.arithmetic.state import Arithmetic
from lowprec.explorer.pages.compare.state import Compare
from lowprec.explorer.pages.conversion.state import Conversion
from lowprec.explorer.pages.describe.state import Describe
from lowprec.explorer.pages.quantize.state import Quantize
from lowprec.explorer.pages.rounding.state import Rounding
from lowprec.explorer.pages.saturation.state import Saturation
from lowprec.explorer.shared import link
from lowprec.explorer.shared import page as shared_page
from lowprec.explorer.shared.page import Selection, at_an_opset, carry_over, with_selection

SATURATION = Saturation(fmts=("tf32", "e3m2", "e2m3", "e1m4"))
MX = Quantize(scheme="mx", fmt="float6_e3m2fn")
SEEN = [
    (Anatomy("float8_e5m2", "448"), Selection("448", "float8_e5m2")),
    (Anatomy("float8_e4m3fn", "0x7e"), Selection("448", "float8_e4m3fn")),  # a code is the number it stands for
    (Anatomy("float8_e4m3fnuz", "0x80"), Selection("-nan", "float8_e4m3fnuz")),
    (Anatomy("float32", "rubbish"), Selection(None, "float32")),
    (Rounding("17/23", "int4"), Selection("17/23", "int4")),
    (Rounding("1/0", "int4"), Selection(None, "int4")),
    (Saturation(), Selection("1000")),
    (Compare(x="-0"), Selection("-0", None)),
    (Conversion("float16", "0x3c00", "int8"), Selection("1", "int8")),
    (Quantize(fmt="uint4"), Selection(None, "uint4")),
    (MX, Selection(None, "float6_e3m2fn")),
    (Arithmetic(), Selection(None, "bfloat16")),
    (Describe("e3m2", "0x08"), Selection("0.5", "e3m2")),
]


@pytest.mark.parametrize(("page", "selection"), SEEN, ids=lambda value: type(value).__name__)
def test_what_a_page_looks_at(page: Any, selection: Selection) -> None:
    assert page.selection() == selection
    assert with_selection(page, selection) == page  # a code stays a code
    assert with_selection(page, Selection()) == page


E4M3, OTHER = "e4m3,bias=8,inf=0,nan=negative-zero", Selection("464", "float8_e5m2fnuz")
FULL = tuple(fmt for fmt in shared_page.FORMAT_NAMES if fmt not in ("bool", "int64"))[:12]
OF_NUMBER = Selection("464", E4M3)
TAKEN = [  # a page, what goes along, the page after that
    (Anatomy(show="exact"), OTHER, Anatomy("float8_e5m2fnuz", "464", "exact")),
    (Anatomy("float8_e4m3fn", "0x7e"), Selection(None, "int8"), Anatomy("int8", "448")),
    (Anatomy("int8", "0x2a", "exact"), Selection("7"), Anatomy("int8", "7", "exact")),
    (Anatomy(), OF_NUMBER, Anatomy(E4M3, "464")),
    (Rounding(line="symlog"), OTHER, Rounding("464", "float8_e5m2fnuz", line="symlog")),
    (Rounding(opset=23), OF_NUMBER, Rounding("464", E4M3)),  # no opset has it
    (Rounding(), Selection("464", "tf32"), Rounding("464", "tf32")),
    (Saturation(21), OTHER, Saturation(21, x="464")),
    (
        SATURATION,
        Selection("7", "binary8p3se"),
        replace(SATURATION, x="7", fmts=("binary8p3se", "tf32", "e3m2", "e2m3")),
    ),
    *((SATURATION, Selection("7", name), replace(SATURATION, x="7")) for name in ("float16", "int8", "e3m2")),
    (Conversion(), OTHER, Conversion("float32", "464", "float8_e5m2fnuz")),
    (Conversion(opset=24), OF_NUMBER, Conversion(at="464", target=E4M3)),
    (Conversion(), Selection("464", "tf32"), Conversion(at="464")),  # not converted
    (Compare(), OTHER, Compare(x="464", fmts=("float8_e5m2fnuz", *Compare().fmts))),
    (Compare(), Selection(None, "float16"), Compare()),  # is among them
    (Compare(), Selection(None, "bool"), Compare()),  # has no range
    (Compare(fmts=FULL), Selection(None, "int64"), Compare(fmts=("int64", *FULL[:11]))),
    (Compare(opset=20), OF_NUMBER, Compare(x="464", fmts=(E4M3, *Compare().fmts), opset=20)),
    (Quantize(block=16), OTHER, Quantize(fmt="float8_e5m2fnuz", block=16)),
    (Quantize(), Selection("1", "float64"), Quantize()),  # nothing quantizes to it
    (Quantize(), OF_NUMBER, Quantize(fmt=E4M3)),
    (Quantize(), Selection(None, "e5m10"), Quantize()),  # too wide
    (MX, Selection(None, "uint4"), MX),
    (MX, Selection(None, "float8_e5m2"), replace(MX, fmt="float8_e5m2")),
    (Arithmetic(), Selection("7", "float8_e5m2"), Arithmetic(fmt="float8_e5m2")),
    (Arithmetic(), Selection("7", "binary8p3se"), Arithmetic(fmt="binary8p3se")),
    (Arithmetic(), Selection(None, "int8"), Arithmetic()),
    (Arithmetic(), Selection("7"), Arithmetic()),
    (Describe("e3m2", "0x08"), Selection(None, "float8_e5m2"), Describe("float8_e5m2", "0.5")),
    (Describe("e3m2", "0x08"), Selection("7", "tf32"), Describe("tf32", "7")),
    *((Describe("e3m2"), Selection("7", name), Describe("e3m2", "7")) for name in ("float64", "int8", "bool")),
]


@pytest.mark.parametrize(("before", "selection", "after"), TAKEN, ids=lambda one: type(one).__name__)
def test_what_a_page_takes_over(before: Any, selection: Selection, after: Any) -> None:
    assert with_selection(before, selection) == after


def test_formats_and_opsets_that_go_together() -> None:
    assert Quantize(scheme="nvfp4", fmt="int8").selection().format == "float4_e2m1fn"
    assert at_an_opset(Rounding(fmt="float8_e5m2", opset=23)).opset == 23


def test_pages_follow_one_another() -> None:
    known = carry_over({}, "rounding", Rounding())
    assert known == {path: cls() for path, cls in pages.STATES.items()}  # nothing was chosen yet
    known = carry_over(known, "rounding", Rounding("464", "float8_e5m2", opset=23))
    assert known["anatomy"] == Anatomy("float8_e5m2", "464")
    assert known["compare"].x == "464"
    assert known["saturation"] == Saturation(23, x="464")
    known = carry_over(known, "saturation", Saturation(20, x="464"))  # has no format: forgets none
    known = carry_over(known, "compare", known["compare"])
    known = carry_over(known, "anatomy", Anatomy("float64", "464"))
    assert known["rounding"] == Rounding("464", "float64", opset=20)
    assert known["quantize"].fmt == "float8_e5m2"
    known = carry_over(known, "quantize", known["quantize"])  # a visit there does not choose its format
    assert known["anatomy"] == Anatomy("float64", "464")
    known = carry_over(known, "anatomy", Anatomy("float64", "rubbish"))  # no number: the others keep theirs
    assert known["rounding"].x == "464"


def test_options_go_along() -> None:
    chosen = Rounding("464", saturate=False, opset=24, line="symlog", rounding="to_odd", overflow="sat_propagate")
    known = carry_over({}, "rounding", chosen)
    assert (known["compare"].saturate, known["compare"].rounding) == (False, "to_odd")
    assert (known["conversion"].opset, known["conversion"].overflow) == (24, "sat_propagate")
    assert known["saturation"] == Saturation(24, saturate=False, x="464", rounding="to_odd", overflow="sat_propagate")
    assert known["quantize"].saturate is False
    known = carry_over(known, "conversion", replace(known["conversion"], round_mode="down", opset=28))
    assert (known["compare"].round_mode, known["rounding"].opset) == ("down", 28)
    assert known["rounding"].saturate is False  # what was not changed stays
    known = carry_over(known, "saturation", known["saturation"])  # a visit changes nothing
    assert known["compare"].round_mode == "down"


def test_an_opset_goes_only_where_the_formats_have_it() -> None:
    known = carry_over({}, "rounding", Rounding(opset=22))
    assert known["conversion"].opset == 22
    assert known["quantize"].opset == 28  # float4_e2m1fn is a type since opset 23
    known = carry_over({}, "saturation", Saturation(19))
    assert known["quantize"].opset == 28  # the page begins at 21
    described = {"rounding": Rounding(fmt="e4m3,bias=8,inf=0,nan=negative-zero")}
    known = carry_over(described, "saturation", Saturation(23))
    assert known["rounding"].opset == 28  # ONNX has no such format
    assert known["compare"].opset == 23


@pytest.mark.parametrize("path", pages.STATES)
def test_links_of_the_menu_are_read_back(path: str) -> None:
    for page, _ in SEEN:
        own = type(page).__name__.lower()
        linked = carry_over({}, own, page)[path]
        assert link.read(type(linked), link.write(linked)) == (linked, ())
