"""The page Describe a format: its parts, the facts it states, equal formats, links to other pages, what is copied."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from support.explorer_pages import asked, healthy, page
from support.explorer_states import describe as states

import lowprec as lp
from lowprec import reference
from lowprec.explorer.pages.describe import snippets, view
from lowprec.explorer.pages.describe.state import Describe
from lowprec.explorer.shared import link
from lowprec.explorer.shared.format_names import format_named
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


def test_rows_that_can_be_described_are_carried_over() -> None:
    state = Describe("e3m2", "0x08")
    assert state.selection().format == "e3m2"
    assert state.selection().number == "0.5"
    assert state.with_selection(None, "float8_e5m2") == Describe("float8_e5m2", "0.5")
    assert state.with_selection("7", "tf32") == Describe("tf32", "7")
    for name in ("float64", "int8", "bool"):
        assert state.with_selection("7", name) == Describe("e3m2", "7")
        assert "list" in link.read(Describe, {"fmt": name})[1][0]


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
