"""The explorer's pages without a browser: each alone, what can be typed, links to others, Back, bounded memory."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from support.explorer_pages import FOLDER, AppTest, asked, charts, healthy, page, sent, texts, turn_to

from lowprec.explorer.pages import PAGES, STATES
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.pages.rounding.state import Rounding
from lowprec.explorer.pages.saturation.state import Saturation
from lowprec.explorer.shared import controls
from lowprec.explorer.shared.interaction import Bits, message_of
from lowprec.explorer.shared.link import read
from lowprec.explorer.shared.menu import links_to_open, refusals


@pytest.mark.parametrize("name", STATES)
def test_each_page_alone(name: str) -> None:
    test = healthy(page(name))
    assert texts(test).count("<h1>") == 1
    assert "https://onnx.ai/onnx/operators/onnx__" in texts(test)
    last = ["Link"] if name in ("start", "exercises") else ["Link", "Python", "ONNX node"]
    assert [caption.value for caption in test.caption][-len(last) :] == last
    assert "**Embed**" in test.expander[-1].label
    boxes = [box.proto.max_chars for box in test.text_input]
    assert set(boxes) <= {1000}
    assert boxes or name in ("start", "exercises", "saturation", "arithmetic", "quantize")


@pytest.mark.parametrize(("name", "label"), [("compare", "Formats"), ("errors", "Formats"), ("saturation", "Formats ")])
def test_names_of_formats_can_be_typed(name: str, label: str) -> None:
    boxes = [box for box in page(name).multiselect if box.label.startswith(label)]
    assert [box.proto.accept_new_options for box in boxes] == [True]


# ---- what they say


@pytest.mark.parametrize(("name", "opened", "place"), [("describe", "codes", 1), ("anatomy", "", 0)])
@pytest.mark.parametrize(("at", "first"), [("0x0", 0), ("0x3bff", 0x3800), ("0x3c00", 0x3C00), ("0x3c01", 0x3C00)])
def test_the_binade_of_a_code_is_marked(name: str, opened: str, place: int, at: str, first: int) -> None:
    """In float16, 0x3c00 is 1, the first value of its binade, and 0x3800 is 0.5."""
    for drawing in sent(healthy(page(name, opened, fmt="float16", at=at)), "picture")[place]["drawings"]:
        (grid,) = [one for one in ElementTree.fromstring(drawing["svg"]).iter() if one.get("data-columns")]
        shown = [one.get("data-code") for one in grid if one.get("aria-pressed") == "true"]
        assert shown == [f"{first:016b}"]
        assert len(grid) == 64
        assert name == "anatomy" or {len(one.get("data-range") or "") for one in grid} == {6}  # sign and exponent


def test_a_saved_chart_has_a_name() -> None:
    """Its own, or what its description begins with: words of up to 60 characters."""
    assert [one["name"] for one in sent(healthy(page("errors")), "picture")] == ["errors-absolute-0-2"]
    (one,) = sent(healthy(page("quantize", origin="sampled", show="side-by-side")), "save_picture")
    assert one["name"] == "the-error-of-each-setting-for-elements-from-the-smallest-to"


@pytest.mark.parametrize(("fmt", "said"), [("float8_e4m3fn", False), ("float16", True)])
def test_a_number_line_says_that_it_has_some_values(fmt: str, said: bool) -> None:
    test = healthy(page("rounding", "line", fmt=fmt))
    shown = [caption.value for caption in test.caption]
    assert ("The values around x: the format has too many to show them all." in shown) == said
    colour = json.loads(charts(test)[0])["layer"][0]["encoding"]["color"]
    assert len(set(colour["scale"]["range"])) == len(colour["scale"]["domain"]) == 3


@pytest.mark.parametrize("fmt", ["float64", "float32", "int64", "uint64"])
def test_neighbours_have_texts_of_their_own(fmt: str) -> None:
    one = "9007199254740993" if fmt.endswith("int64") else "1.5"
    root = ElementTree.fromstring(sent(page("anatomy", fmt=fmt, at=one), "picture")[0]["drawings"][0]["svg"])
    near = {name: part.text for part in root.iter() if (name := part.get("data-part")) in ("below", "value", "above")}
    assert len(set(near.values())) == 3
    third = "1/3" if fmt.startswith("float") else f"{one}.5"
    root = ElementTree.fromstring(sent(page("rounding", fmt=fmt, x=third), "picture")[0]["drawings"][0]["svg"])
    drawn = [part.text for part in root.iter() if part.get("data-end")]
    assert len(drawn) == len(set(drawn)) == 2, drawn


def test_all_pages_count_the_same_ulps() -> None:
    """0.97 lies between 15/16 and 1: 1/16 is the unit there, 0.03 of it 12/25."""
    assert "0.03 = 0.48 ulp" in texts(healthy(page("anatomy", at="0.97")))
    assert "<td>0.48</td>" in texts(healthy(page("compare", "casts", x="0.97", fmts="float8_e4m3fn")))
    assert "0.48 ulp" in texts(healthy(page("conversion", source="float64", at="0.97")))


def test_compare_tells_what_an_opset_lacks() -> None:
    assert "since opset 23" in texts(healthy(page("compare", "casts", opset="19", fmts="float4_e2m1fn,float16")))


def test_conversion_says_why_bitcast_cannot() -> None:
    first = texts(page("conversion"))
    assert first.index('aria-label="Readings"') < first.index("must be 32 bits wide")  # what it can do comes first
    assert "from 26 to 28" in texts(page("conversion", opset="24", target="int32"))
    kept = page("conversion", codes="0x1 0xF")
    healthy(next(box for box in kept.selectbox if box.label == "Format").set_value("int2").run())
    assert asked(kept, "codes") == "0x1 0x2 0x3 0x0 0x2"  # no 0xF has two bits


# ---- links to other pages


def by_path(links: list[tuple[str, str, dict[str, str]]]) -> dict[str, Any]:
    found = {}
    for _, path, query in links:
        found[path], problems = read(STATES[path], query)
        assert problems == ()
    return found


def test_a_number_opens_on_the_other_pages() -> None:
    found = by_path(links_to_open(Rounding(), "464", "float8_e5m2"))
    others = {"anatomy", "compare", "conversion", "errors", "saturation", "quantize", "arithmetic", "describe"}
    assert others == set(found)
    assert found["quantize"].fmt == found["arithmetic"].fmt == "float8_e5m2"  # which have no number
    assert found["anatomy"] == Anatomy("float8_e5m2", "464")
    assert (found["conversion"].at, found["conversion"].target) == ("464", "float8_e5m2")
    assert "quantize" in by_path(links_to_open(Rounding(), None, "float8_e5m2"))
    assert links_to_open(Saturation(), None, None) == []
    whole = by_path(links_to_open(Rounding(), "464", "int8"))
    assert (whole["describe"].at, whole["describe"].fmt) == ("464", "e4m3")  # a float's page takes the number
    assert "arithmetic" not in whole
    assert {one.title for one in refusals(Rounding(), "int8")} == {"Arithmetic", "Describe a format"}


@pytest.mark.parametrize(
    ("name", "query", "links"),
    [("anatomy", {"at": "448"}, ("rounding x=448", "conversion at=448", "compare x=448")),
     ("rounding", {"x": "448"}, ("anatomy at=448", "conversion at=448", "compare x=448")),
     ("conversion", {"at": "448"}, ("anatomy at=448", "rounding x=448", "compare x=448")),
     ("compare", {"x": "448"}, ("anatomy at=448", "rounding x=448", "conversion at=448")),
     ("errors", {"fmts": "float8_e5m2", "x": "0.7"}, ("rounding fmt=float8_e5m2 x=0.7", "quantize fmt=float8_e5m2")),
     ("arithmetic", {"fmt": "float8_e5m2"}, ("anatomy fmt=float8_e5m2", "quantize fmt=float8_e5m2")),
     ("describe", {"fmt": "e3m2"}, ("anatomy fmt=e3m2", "arithmetic fmt=e3m2", "conversion target=e3m2")),
     ("quantize", {"fmt": "float8_e5m2"}, ("anatomy fmt=float8_e5m2", "arithmetic fmt=float8_e5m2"))],
)  # fmt: skip
def test_a_result_opens_on_other_pages(name: str, query: dict[str, str], links: tuple[str, ...]) -> None:
    shown = texts(healthy(page(name, *(("casts",) if name == "compare" else ()), **query)))
    hrefs = [href.partition('"')[0] for href in shown.split('href="')]
    for link in links:
        path, *parts = link.split()
        assert any(href.startswith(f"{path}?") and all(part in href for part in parts) for href in hrefs), link
    assert name == "compare" or not any(href.startswith(f"{name}?") and "at=448" in href for href in hrefs)
    assert name != "compare" or shown.count('href="rounding?') == 7


def test_a_format_that_a_page_does_not_take_is_said() -> None:
    tf32 = texts(page("describe", fmt="tf32"))
    assert "Quantize keeps its format: this one must be a format that lowprec converts" in tf32
    assert "19 bits, more than 16" in tf32
    assert "keeps its format" not in texts(page("describe", fmt="e3m2"))
    assert "Quantize keeps its format: this one is not in its list." in texts(page("arithmetic", fmt="bfloat16"))


# ---- Back, memory, messages


def test_back_changes_no_link(monkeypatch: pytest.MonkeyPatch) -> None:
    test = page("rounding", x="0.3", fmt="float8_e4m3fn")
    context = controls.get_script_run_ctx

    def on_the_way() -> SimpleNamespace:
        return SimpleNamespace(is_history_navigation=True, session_state=context().session_state)

    monkeypatch.setattr(controls, "get_script_run_ctx", on_the_way)
    healthy(test.toggle[0].set_value(False).run())  # what a widget still showed when Back was pressed
    assert "saturate" not in test.query_params
    healthy(test.button(key="preset largest").click().run())
    assert asked(test, "x") == "0.3"
    monkeypatch.undo()
    healthy(test.button(key="preset largest").click().run())
    assert asked(test, "x") == "448"


def test_a_long_visit_keeps_no_more_than_a_short_one() -> None:
    test = AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run()

    def go_to(path: str) -> None:
        test.query_params.clear()
        healthy(turn_to(test, path).run())

    sizes = []
    for turn in range(4):
        for row in PAGES:
            go_to(row.path)
        go_to("anatomy")
        for code in ("0x1", "0x2", "0x3"):
            healthy(test.text_input[0].set_value(code).run())
        go_to("rounding")
        healthy(test.text_input[0].set_value(str(turn)).run())
        sizes.append(len(test.session_state.to_dict()))
    assert sizes[1:] == [sizes[1]] * 3
    assert sizes[0] in (sizes[1], sizes[1] - 1)  # the first visit of a page adds what the second one finds


def test_what_a_component_sends_is_checked() -> None:
    bits = Bits("at", "00000000")
    assert message_of({"bits": "01111110", "seq": 3}, bits) == ("at", "0x7e", 3)
    assert message_of({"field": "x", "value": "465", "seq": 2}, None) == ("x", "465", 2)
    assert message_of({"bits": "01111110", "seq": 3}, None) is None  # the picture has none
    odd: list[Any] = [None, 7, "x", {}, {"bits": "0", "seq": 1}, {"bits": "0111111x", "seq": 1}, {"bits": 7, "seq": 1},
                      {"bits": "01111110", "seq": "1"}, {"code": "100", "seq": 1}, {"code": "-1", "seq": 1},
                      {"code": 1, "seq": 1}, {"code": "1", "seq": None}, [1, 2], {"code": "", "seq": 1},
                      {"code": "0x1", "seq": 1}, {"code": "f" * 5000, "seq": 1}]  # fmt: skip
    for value in odd:
        assert message_of(value, bits) is None
