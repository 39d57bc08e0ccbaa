"""The page Describe a format: parts, facts, equal formats, the picture, links; a walk in a browser."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from support.browser import Visit
from support.explorer_controls import agrees
from support.explorer_pages import asked, healthy, page
from support.explorer_states import describe as states

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.describe import picture, snippets, view
from lowprec.explorer.pages.describe.state import Describe
from lowprec.explorer.shared.format_names import format_named
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import NUMERIC

FORMATS = list(dict.fromkeys(format_named(state.fmt) for state in states()))
BY_NAME = {"ids": lambda fmt: fmt.name}


def same_values(one: lp.Format, other: lp.Format) -> bool:
    """Whether every code, of some hundreds of both, has the same value."""
    if one.bits != other.bits:
        return False
    step = max(1, (1 << one.bits) // 200)
    codes = {*range(0, 1 << one.bits, step), *range(max(0, (1 << one.bits) - 40), 1 << one.bits)}
    codes |= {one.max_code, other.max_code, one.max_code + 1, one.sign_mask}
    return all(reference.decode(code, one) == reference.decode(code, other) for code in codes if code < 1 << one.bits)


# ---- parts


def test_parts_by_hand() -> None:
    assert dataclasses.astuple(view.parts_of(lp.as_format("float8_e4m3fn"))) == (4, 3, 7, True, False, "all-ones", True)
    assert dataclasses.astuple(view.parts_of(lp.as_format("binary4p2uf"))) == (3, 1, 4, False, False, "all-ones", True)
    assert view.default_bias(lp.as_format("float8_e5m2fnuz")) == 15


@pytest.mark.parametrize(
    ("name", "part", "value", "becomes"),
    [("e4m3", "mantissa_bits", 2, "e4m2"), ("e4m3", "exponent_bits", 5, "e5m3"), ("e4m3", "bias", 8, "e4m3,bias=8"),
     ("e4m3,bias=8", "exponent_bits", 5, "e5m3,bias=8"), ("e4m3,bias=8", "bias", 7, "e4m3"),
     ("float8_e4m3fn", "inf", True, "e4m3,nan=all-ones"), ("float8_e5m2", "signed", False, "e5m2,signed=0"),
     ("float8_e8m0fnu", "zero", True, "e8m0,signed=0,inf=0,nan=all-ones"), ("tf32", "mantissa_bits", 7, "e8m7"),
     ("binary8p3se", "nan", "none", "e5m2,bias=16,nan=none")],
)  # fmt: skip
def test_one_part_changes(name: str, part: str, value: Any, becomes: str) -> None:
    assert view.with_part(format_named(name), part, value) == becomes


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_a_part_that_stays_leaves_the_format(fmt: lp.Format) -> None:
    for part, value in dataclasses.asdict(view.parts_of(fmt)).items():
        assert same_values(format_named(view.with_part(fmt, part, value)), fmt)


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_formats_of_the_same_codes(fmt: lp.Format) -> None:
    found = view.same_codes(fmt)
    assert fmt not in found
    rows = [row for row in NUMERIC if row.is_float and row is not fmt and same_values(row, fmt)]
    assert [other for other in found if other in NUMERIC] == rows
    assert all(same_values(other, fmt) for other in found)


def test_equal_formats_by_hand() -> None:
    for name, other in (("e4m3,inf=0,nan=all-ones", "float8_e4m3fn"), ("e8m10", "tf32"), ("e8m7", "bfloat16"),
                        ("e5m2,bias=16,nan=negative-zero", "binary8p3se"), ("e3m1,nan=all-ones,signed=0", ""),
                        ("e4m3,inf=0", ""),
                        ("e4m1,bias=8,signed=0,nan=ieee,inf=0", "binary5p2uf")):  # fmt: skip
        assert [found.name for found in view.same_codes(format_named(name))] == [other] * bool(other)


# ---- facts


@pytest.mark.parametrize("fmt", FORMATS, **BY_NAME)
def test_facts_are_those_of_the_codes(fmt: lp.Format) -> None:
    shown = dict(view.facts(fmt))
    if shown["arrays"] == "converted by lp.cast, lp.encode and lp.decode":
        assert lp.encode(np.float32([1]), fmt).shape == (1,)
    else:
        with pytest.raises(ValueError, match=f"{re.escape(shown['arrays'].removeprefix('not converted: '))}$"):
            lp.encode(np.float32([1]), fmt)


def test_the_names_of_p3109() -> None:
    assert view.p3109_name(view.P3109Parts(6, 2, False, True)) == "binary6p2ue"
    for name in ("binary8p3se", "binary5p2uf", "binary16p16ue", "binary3p1sf"):
        assert view.p3109_name(view.p3109_like(lp.as_format(name))) == name
    assert view.p3109_name(view.p3109_like(lp.as_format("float8_e4m3fn"))) == "binary8p4sf"
    assert view.p3109_name(view.p3109_like(lp.as_format("tf32"))) == "binary8p3se"


# ---- the state and the page


@pytest.mark.parametrize(
    ("fmt", "widget", "value", "said"),
    [("e4m3", "slider 1", 0, "without a mantissa"), ("e8m10", "slider 1", 30, "a code of 2 to 32 bits"),
     ("e4m3", "number_input 0", 1900, "float64 holds every value"), ("e4m3", "toggle 2", False, "must be True"),
     ("e2m0,inf=0,nan=all-ones", "slider 0", 1, "no finite value is left but 0"),
     ("binary6p3se", "selectbox 2", 6, "precision from 1 to 5")],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_the_format_stays(fmt: str, widget: str, value: Any, said: str) -> None:
    test = healthy(page("describe", fmt=fmt))
    kind, index = widget.split()
    before = getattr(test, kind)[int(index)].value
    test = getattr(test, kind)[int(index)].set_value(value).run()
    assert not test.exception
    assert said in test.error[0].value.replace("\\", "")
    assert asked(test, "fmt") == fmt
    assert getattr(test, kind)[int(index)].value == before


def test_a_changed_format_keeps_the_number() -> None:
    test = healthy(page("describe", fmt="e4m3", at="0x3C"))
    healthy(test.slider[1].set_value(4).run())
    assert asked(test, "at") == "1.5"


@pytest.mark.parametrize("state", list(states()), ids=lambda state: state.fmt)
def test_every_state_and_what_it_offers_to_copy(state: Describe, capsys: pytest.CaptureFixture[str]) -> None:
    fmt = format_named(state.fmt)
    python, onnx = snippets.of_description(fmt, "0.3", view.same_codes(fmt))
    exec(python, {})
    assert f"{reference.encode('0.3', fmt):#0{2 + -(-fmt.bits // 4)}x}" in capsys.readouterr().out
    assert onnx.startswith("import onnx" if fmt.onnx_enum is not None else f"None: ONNX has no number for {fmt.name}.")


# ---- the picture: values on a ruler against their codes, and the rows beside it


@pytest.mark.parametrize("name", ["e2m1,inf=0,nan=none", "e3m2", "binary6p3sf", "e2m3,bias=3", "binary4p2uf"])
def test_marks_are_the_values(name: str) -> None:
    fmt = format_named(name)
    end = view.ruler_end(fmt)
    found = view.ruler(fmt, end)
    values = [reference.decode(code, fmt) for code in range(1 << fmt.bits)]
    expected = {float(value) for value in values if not value.special and 0 <= float(value) < 2.0**end}
    assert found.blocks == ()
    assert [mark * 2**end for mark in found.marks] == sorted(expected)


def test_dense_values_are_blocks() -> None:
    """float16 has 1024 values from 1 to 2, the last of them 2 - 2^-10."""
    found = view.ruler(format_named("float16"), 2)
    assert found.marks == (0.0,)
    assert found.blocks[-2:] == ((0.25, (2 - 2**-10) / 4), (0.5, (4 - 2**-9) / 4))


def test_where_the_ruler_ends() -> None:
    assert [view.ruler_end(format_named(name)) for name in ("e4m3", "e2m1,inf=0,nan=none")] == [2, 2]
    assert view.ruler_end(format_named("e1m2,bias=5")) == -4  # all are subnormal, the largest is 1.5 * 2^-5
    assert view.ruler_end(format_named("e4m3,bias=1000")) == -985  # the largest is 1.875 * 2^-986


def test_rows_of_about_the_same_width() -> None:
    assert [fmt.bits for fmt in view.rows_beside(format_named("e4m3"))] == [8] * 5
    names = [fmt.name for fmt in view.rows_beside(format_named("float4_e2m1fn"))]
    assert names[-2:] == ["float6_e2m3fn", "float6_e3m2fn"]
    assert "float4_e2m1fn" not in names


@pytest.mark.parametrize("name", ["e4m3", "tf32", "float8_e8m0fnu", "e11m4", "e1m0,inf=0,nan=negative-zero", "e8m23"])
@pytest.mark.parametrize("number", ["1", "-3", "0", "nan", "1e30"])
def test_the_picture_of_any_format(name: str, number: str) -> None:
    fmt = format_named(name)
    others = view.rows_beside(fmt)
    for drawing in (picture.wide(fmt, others, Value.of(number)), picture.narrow(fmt, others, Value.of(number))):
        text = str(drawing)
        assert f"Bits, range and values of {fmt.name}, next to {others[0].name}" in text
        assert text.count('data-set="fmt=') == len(others)


# ---- in a browser, from the bare address


def test_a_slider_by_keys_and_a_click_on_a_value(visit: Visit) -> None:
    page = visit.enter("Describe a format")
    page.get_by_role("slider", name="Mantissa bits").focus()
    page.keyboard.press("ArrowLeft")
    agrees(visit, "fmt=e4m2")
    page.get_by_text("Table of values", exact=True).click()
    page.get_by_role("group", name="Codes").get_by_role("button", name="1F", exact=False).click()
    agrees(visit, "at=0x1F")
    page.get_by_role("button", name="Show float8_e5m2", exact=True).click()
    agrees(visit, "fmt=float8_e5m2&at=")
    page.get_by_role("button", name="Known formats").click()
    page.get_by_role("button", name="TF32").click()
    agrees(visit, "fmt=tf32")
    page.keyboard.press("Escape")
    page.get_by_text("The format", exact=True).click()
    page.get_by_text("not converted: tf32, which has 19 bits").wait_for()
