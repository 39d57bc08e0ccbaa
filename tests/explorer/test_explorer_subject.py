"""The number and the format that the menu takes along: what each page has of them, and what it takes over."""

from __future__ import annotations

from typing import Any

import pytest

from lowprec.explorer import state
from lowprec.explorer.state import Anatomy, Compare, Conversion, Quantize, Rounding, Saturation
from lowprec.explorer.subject import Subject, follow, subject_of, with_subject

SEEN = [
    (Anatomy("float8_e5m2", "448"), Subject("448", "float8_e5m2")),
    (Anatomy("float8_e4m3fn", "0x7e"), Subject("448", "float8_e4m3fn")),  # a code is the number it stands for
    (Anatomy("float8_e4m3fnuz", "0x80"), Subject("-nan", "float8_e4m3fnuz")),
    (Anatomy("float32", "rubbish"), Subject(None, "float32")),
    (Rounding("17/23", "int4"), Subject("17/23", "int4")),
    (Rounding("1/0", "int4"), Subject(None, "int4")),
    (Saturation(), Subject()),
    (Compare(x="-0"), Subject("-0", None)),
    (Conversion("float16", "0x3c00", "int8"), Subject("1", "int8")),
    (Quantize(fmt="uint4"), Subject(None, "uint4")),
]


@pytest.mark.parametrize(("page", "subject"), SEEN, ids=lambda value: type(value).__name__)
def test_what_a_page_looks_at(page: Any, subject: Subject) -> None:
    assert subject_of(page) == subject
    assert with_subject(page, subject) == page  # a code stays a code
    assert with_subject(page, Subject()) == page


def test_what_a_page_takes_over() -> None:
    subject = Subject("464", "float8_e5m2fnuz")
    assert with_subject(Anatomy(show="exact"), subject) == Anatomy("float8_e5m2fnuz", "464", "exact")
    assert with_subject(Anatomy("float8_e4m3fn", "0x7e"), Subject(None, "int8")) == Anatomy("int8", "448")
    assert with_subject(Rounding(line="symlog"), subject) == Rounding("464", "float8_e5m2fnuz", line="symlog")
    assert with_subject(Saturation(21), subject) == Saturation(21)
    assert with_subject(Conversion(), subject) == Conversion("float32", "464", "float8_e5m2fnuz")
    found = with_subject(Compare(), subject)
    assert (found.x, found.fmts) == ("464", ("float8_e5m2fnuz", *Compare().fmts))
    assert with_subject(Compare(), Subject(None, "float16")) == Compare()  # is among them
    assert with_subject(Compare(), Subject(None, "bool")) == Compare()  # has no range
    full = tuple(fmt for fmt in state.FORMAT_NAMES if fmt not in ("bool", "int64"))[:12]
    assert with_subject(Compare(fmts=full), Subject(None, "int64")).fmts == ("int64", *full[:11])
    assert with_subject(Quantize(block=16), subject) == Quantize(fmt="float8_e5m2fnuz", block=16)
    assert with_subject(Quantize(), Subject("1", "float64")) == Quantize()  # nothing quantizes to it


def test_pages_follow_one_another() -> None:
    known = follow({}, "rounding", Rounding())
    assert known == {path: cls() for path, cls in state.STATES.items()}  # nothing was chosen yet
    known = follow(known, "rounding", Rounding("464", "float8_e5m2", opset=23))
    assert known["anatomy"] == Anatomy("float8_e5m2", "464")
    assert known["compare"].x == "464"
    assert known["saturation"] == Saturation()
    known = follow(known, "saturation", Saturation(20))  # has neither: forgets neither
    known = follow(known, "compare", known["compare"])
    known = follow(known, "anatomy", Anatomy("float64", "464"))
    assert known["rounding"] == Rounding("464", "float64", opset=23)
    assert known["quantize"].fmt == "float8_e5m2"
    known = follow(known, "quantize", known["quantize"])  # a visit there does not choose its format
    assert known["anatomy"] == Anatomy("float64", "464")
    known = follow(known, "anatomy", Anatomy("float64", "rubbish"))  # no number: the others keep theirs
    assert known["rounding"].x == "464"


@pytest.mark.parametrize("path", state.STATES)
def test_links_of_the_menu_are_read_back(path: str) -> None:
    for page, _ in SEEN:
        own = type(page).__name__.lower()
        linked = follow({}, own, page)[path]
        assert state.read(type(linked), state.write(linked)) == (linked, ())
