"""Controls show what the page computes where a link or a choice is refused, and after a run that was stopped."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from support.explorer_pages import FOLDER, AppTest, healthy, page, turn_to

RESULT = {"origin": "sampled", "show": "result"}

REFUSED = [
    ("errors", {"scale": "log"}, {"scale": "linear"}),  # one click: the range begins at 0
    ("errors", {"scale": "log", "low": "one"}, {"scale": "log", "low": "0.5"}),
    ("rounding", {"fmt": "float6_e2m3fn", "opset": "26"}, {"opset": "28"}),
    ("conversion", {"target": "float4_e2m1fn", "opset": "22"}, {"opset": "28"}),
    ("conversion", {"via": "float4_e2m1fn", "opset": "22"}, {"opset": "28"}),
    ("quantize", {**RESULT, "fmt": "float6_e2m3fn", "opset": "26"}, {"opset": "28"}),
    ("quantize", {**RESULT, "axis": "2"}, {"axis": "-1"}),
    ("quantize", {**RESULT, "axis": "2", "show": "sweep"}, {"axis": "-1"}),
    ("quantize", {**RESULT, "axis": "2", "show": "block", "scheme": "nvfp4"}, {"axis": "-1"}),
    ("quantize", {**RESULT, "scheme": "mx", "fmt": "uint4"}, {"scheme": "mx", "fmt": "float4_e2m1fn"}),
    ("arithmetic", {"terms": "typed", "typed": "3 4", "factor": "typed", "factors": "5"},
     {"factor": "typed", "factors": "1 1"}),
]  # fmt: skip


def shown_in(test: Any) -> dict[str, str]:
    """Return what each control but those of texts shows, as a link has it, by its key."""
    found = {}
    kinds = (test.selectbox, test.button_group, test.slider, test.number_input, test.toggle, test.multiselect)
    for control in (control for kind in kinds for control in kind if " " not in control.key):  # not those of menus
        value = control.value
        joined = ",".join(value) if isinstance(value, list) else str(int(value) if isinstance(value, bool) else value)
        found[control.key] = joined
    return found


@pytest.mark.parametrize(("name", "query", "used"), REFUSED)
def test_a_switch_shows_what_is_used_instead(name: str, query: dict[str, str], used: dict[str, str]) -> None:
    test = page(name, **query)
    assert not test.exception
    assert len(test.error) == 1
    link = dict(parse_qsl(urlsplit(test.code[0].value).query, keep_blank_values=True))
    assert {field: link[field] for field in used} == used
    shown = shown_in(test)
    assert len(shown) > 3
    fields = {key: key.partition(".")[2] for key in shown}
    in_link = {key: link[field] for key, field in fields.items() if field in link}  # a list of presets is no field
    assert len(in_link) > 2
    assert {key: text for key, text in shown.items() if key in in_link} == in_link


def given(test: Any) -> dict[str, Any]:
    """Return the values that a page gave its controls in its last run, by their labels."""
    kinds = (test.selectbox, test.button_group, test.slider, test.number_input)
    return {control.label: control.value for kind in kinds for control in kind if control.proto.set_value}


def test_controls_get_their_values_again_after_a_run_that_was_stopped() -> None:
    """The browser has forgotten them, and would show defaults of its own."""
    test = AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run()
    turn_to(test, "quantize")
    test.query_params["show"] = "result"
    healthy(test.run())
    first = given(test)
    assert (first["Scheme"], first["Format"], first["Block size"]) == ("linear", "float4_e2m1fn", 32)
    healthy(test.button_group(key="quantize.origin").set_value("folder").run())
    assert "Format" not in {box.label for box in test.selectbox}  # no checkpoint yet: the run ends above
    healthy(test.button_group(key="quantize.origin").set_value("typed").run())
    again = given(test)
    assert (again["Scheme"], again["Format"], again["Block size"]) == ("linear", "float4_e2m1fn", 32)
    healthy(test.slider(key="quantize.block").set_value(16).run())
    assert given(test) == {"Block size": 16}  # the browser may have sent it before it took the 32
    healthy(test.run())  # now it sent it again
    healthy(test.slider(key="quantize.block").set_value(17).run())
    assert given(test) == {}


def test_a_click_just_after_a_page_came_is_kept() -> None:
    """Giving a control the value that it has would undo what is clicked while the page is computed."""
    test = AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run()
    turn_to(test, "quantize")
    test.query_params["show"] = "result"
    healthy(test.run())
    healthy(test.slider(key="quantize.block").set_value(16).run())
    assert given(test) == {}
