"""What a page refuses: odd texts, links of no sense, options that do not fit; controls show what is used instead."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.explorer_pages import FOLDER, AppTest, healthy, page, texts, turn_to

from lowprec.explorer.pages import PAGES

pytestmark = pytest.mark.slow

NAMES = [page.path for page in PAGES]
ODD = ["", "seven", "<script>alert(1)</script>", "![x](http://example.com/x.png)", "`$x$`", "1/0", "--1"]
LARGE = ["-0", "inf", "-nan", "1e9999", "1e-9999", "0x1p-1074", "9" * 1000]
FIELDS = [
    "anatomy at", "rounding x", "compare x", "saturation x", "errors x", "errors low", "conversion at", "describe at",
    "conversion codes", "quantize x origin=typed", "start x", "arithmetic value n=20 terms=value",
    "arithmetic typed terms=typed", "arithmetic factors terms=typed factor=typed", "arithmetic by n=20 factor=value",
    "arithmetic a show=operation", "arithmetic c show=operation op=fused_multiply_add",
]  # fmt: skip
"""Boxes in which a number is typed: the page, the field, and what else the link says."""


def typed(field: str, text: str) -> Any:
    name, part, *more = field.split()
    return page(name, **dict(one.split("=") for one in more), **{part: text})


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("text", ODD)
def test_an_odd_text_gives_a_message_and_the_default(field: str, text: str) -> None:
    test = typed(field, text)
    assert not test.exception
    assert "<script>" not in texts(test)
    assert len(test.error) == 1
    assert "The page goes on with" in test.error[0].value.replace("\\", "")
    assert "![x](" not in test.error[0].value  # escaped: it draws no picture, and asks no other host


@pytest.mark.parametrize("field", FIELDS[:4] + FIELDS[6:8])
@pytest.mark.parametrize("text", LARGE, ids=lambda text: text[:8])
def test_any_number_is_shown(field: str, text: str) -> None:
    exec(healthy(typed(field, text)).code[1].value, {})  # what is copied runs too


def test_a_number_that_is_not_on_the_ruler_is_told() -> None:
    for text in ("2.65", "9", "inf"):
        test = page("start", x=text)
        assert "from \\-8 to 8" in test.error[0].value
        assert "x=2.6&" in test.code[0].value


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_link_is_told_and_the_default_shown(name: str) -> None:
    test = page(name, nonsense="<b>1</b>")
    assert not test.exception
    assert len(test.warning) == 1
    assert "nonsense" in test.warning[0].value
    assert len(test.code) == len(healthy(page(name)).code)


def test_a_link_from_before_opens_the_page_without_a_word() -> None:
    healthy(page("start", values="none", inf="1", wrap="none", sum="none", byte="none"))


ANY = st.text(max_size=20) | st.sampled_from(
    ["0x7e", "inf", "-nan", "1e400", "28", "19", "float8_e8m0fnu", "int2", "bool", "0"]
)
PARTS = ["fmt", "at", "x", "show", "opset", "saturate", "line", "fmts", "source", "target", "round_mode", "zz"]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=st.dictionaries(st.sampled_from(PARTS), ANY, max_size=5))
def test_any_query_string_shows_a_page(name: str, query: dict[str, str]) -> None:
    test = page(name, **query)
    assert not test.exception
    assert texts(test).count("<h1>") == 1


RESULT, E4M3 = {"origin": "sampled", "show": "result"}, "e4m3,bias=8,inf=0,nan=negative-zero"
REFUSED: list[tuple[str, dict[str, str], dict[str, str], str]] = [
    ("errors", {"scale": "log"}, {"scale": "linear"}, "must be positive on a log scale"),  # the range begins at 0
    ("errors", {"scale": "log", "low": "one"}, {"scale": "log", "low": "0.5"}, "must be a decimal"),
    ("errors", {"low": "3", "high": "2", "scale": "log"}, {}, "must be greater than"),
    ("rounding", {"fmt": "float6_e2m3fn", "opset": "26", "x": "464"}, {"opset": "28", "x": "464"}, "opset 28"),
    ("rounding", {"fmt": "float4_e2m1fn", "opset": "19"}, {"opset": "28"}, "opset 23"),
    ("rounding", {"fmt": E4M3, "opset": "23"}, {"opset": "28"}, "goes on with opset = 28"),
    ("rounding", {"x": "seven", "fmt": "float8_e5m2", "opset": "23", "saturate": "0"},
     {"x": "0.3", "fmt": "float8_e5m2", "opset": "23", "saturate": "0"}, "must be a decimal"),
    ("conversion", {"target": "float4_e2m1fn", "opset": "22", "at": "464"}, {"opset": "28", "at": "464"}, "opset 23"),
    ("conversion", {"via": "float4_e2m1fn", "opset": "22"}, {"opset": "28"}, "opset"),
    ("quantize", {**RESULT, "fmt": "float6_e2m3fn", "opset": "26"}, {"opset": "28", "per": "block"}, "28"),
    ("quantize", {**RESULT, "scale": "float8_e8m0fnu", "opset": "23"}, {"opset": "28", "per": "block"}, "24"),
    ("quantize", {**RESULT, "fmt": "float8_e5m2", "rounding": "to_odd", "opset": "23"}, {}, "opset"),
    ("quantize", {**RESULT, "axis": "2"}, {"axis": "-1", "per": "block"}, "axis"),
    ("quantize", {**RESULT, "axis": "-3", "scheme": "mx"}, {"axis": "-1"}, "axis"),
    ("quantize", {**RESULT, "axis": "2", "show": "sweep"}, {"axis": "-1"}, "axis"),
    ("quantize", {**RESULT, "axis": "2", "show": "block", "scheme": "nvfp4"}, {"axis": "-1"}, "axis"),
    ("quantize", {**RESULT, "scheme": "mx", "fmt": "uint4"}, {"scheme": "mx", "fmt": "float4_e2m1fn"},
     "must be a float or int8"),
    ("arithmetic", {"terms": "typed", "typed": "3 4", "factor": "typed", "factors": "5"},
     {"factor": "typed", "factors": "1 1"}, "must be as many as the terms, 2; got 1"),
]  # fmt: skip
"""Page, link, what is used instead, and what is said."""


def shown_in(test: Any) -> dict[str, str]:
    """Return what each control but those of texts shows, as a link has it, by its key."""
    found = {}
    kinds = (test.selectbox, test.button_group, test.slider, test.number_input, test.toggle, test.multiselect)
    for control in (control for kind in kinds for control in kind if " " not in control.key):  # not those of menus
        value = control.value
        joined = ",".join(value) if isinstance(value, list) else str(int(value) if isinstance(value, bool) else value)
        found[control.key] = joined
    return found


@pytest.mark.parametrize(("name", "query", "used", "said"), REFUSED)
def test_a_switch_shows_what_is_used_instead(name: str, query: dict[str, str], used: dict[str, str], said: str) -> None:
    test = page(name, **query)
    assert not test.exception
    assert len(test.error) == 1
    assert said in test.error[0].value.replace("\\", "")
    link = dict(parse_qsl(urlsplit(test.code[0].value).query, keep_blank_values=True))
    assert {field: link[field] for field in used} == used
    shown = shown_in(test)
    assert len(shown) > 3
    fields = {key: key.partition(".")[2] for key in shown}
    in_link = {key: link[field] for key, field in fields.items() if field in link}  # a list of presets is no field
    assert len(in_link) > 2
    assert {key: text for key, text in shown.items() if key in in_link} == in_link
    for copied in test.code[1:-1]:  # between the link and what embeds the page
        exec(copied.value, {})


def values_given(test: Any) -> dict[str, Any]:
    """Return the values that a page gave its controls in its last run, by their labels."""
    kinds = (test.selectbox, test.button_group, test.slider, test.number_input)
    return {control.label: control.value for kind in kinds for control in kind if control.proto.set_value}


def test_controls_get_their_values_again_after_a_run_that_was_stopped() -> None:
    """The browser has forgotten them, and would show defaults of its own."""
    test = AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run()
    turn_to(test, "quantize")
    test.query_params["show"] = "result"
    healthy(test.run())
    first = values_given(test)
    assert (first["Scheme"], first["Format"], first["Block size"]) == ("linear", "float4_e2m1fn", 32)
    healthy(test.button_group(key="quantize.origin").set_value("folder").run())
    assert "Format" not in {box.label for box in test.selectbox}  # no checkpoint yet: the run ends above
    healthy(test.button_group(key="quantize.origin").set_value("typed").run())
    again = values_given(test)
    assert (again["Scheme"], again["Format"], again["Block size"]) == ("linear", "float4_e2m1fn", 32)
    healthy(test.slider(key="quantize.block").set_value(16).run())
    assert values_given(test) == {"Block size": 16}  # the browser may have sent it before it took the 32
    healthy(test.run())  # now it sent it again
    healthy(test.slider(key="quantize.block").set_value(17).run())
    assert values_given(test) == {}


def test_a_click_just_after_a_page_came_is_kept() -> None:
    """Giving a control the value that it has would undo what is clicked while the page is computed."""
    test = AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run()
    turn_to(test, "quantize")
    test.query_params["show"] = "result"
    healthy(test.run())
    healthy(test.slider(key="quantize.block").set_value(16).run())
    assert values_given(test) == {}
