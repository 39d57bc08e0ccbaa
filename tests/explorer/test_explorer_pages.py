"""The explorer's pages without a browser: each alone and through the router, its controls, and any query string."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.daily_share import shared
from support.explorer_pages import FOLDER, AppTest, charts, copied, healthy, page, pictures, sent, texts, turn_to

from lowprec.explorer.pages import PAGES
from lowprec.explorer.shared.page import FORMAT_NAMES

NAMES = [page.path for page in PAGES]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
def test_each_page_alone(name: str) -> None:
    test = healthy(page(name))
    assert texts(test).count("<h1>") == 1
    assert "https://onnx.ai/onnx/operators/onnx__" in texts(test)
    last = ["Link"] if name in ("start", "exercises") else ["Link", "Python", "ONNX node"]
    assert [caption.value for caption in test.caption][-len(last) :] == last
    assert "**Embed**" in test.expander[-1].label


def test_the_router_leads_to_every_page() -> None:
    test = healthy(AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run())
    assert "<h1>" not in texts(test)  # the script of the page leads to the first
    for row in PAGES:
        healthy(turn_to(test, row.path).run())
        title = "A number format is a ruler" if row.path == "start" else row.title
        assert f"<h1>{title.partition(' a ')[0].replace('&', '&amp;')}" in texts(test)


@pytest.mark.parametrize("name", NAMES)
def test_a_bad_link_is_told_and_the_default_shown(name: str) -> None:
    test = page(name, nonsense="<b>1</b>")
    assert not test.exception
    assert len(test.warning) == 1
    assert "nonsense" in test.warning[0].value
    assert len(test.code) == len(healthy(page(name)).code)


@pytest.mark.parametrize("fmt", shared(FORMAT_NAMES))
def test_anatomy_and_rounding_of_every_format(fmt: str) -> None:
    healthy(page("anatomy", fmt=fmt, at="0.3"))
    healthy(page("anatomy", fmt=fmt, at="nan"))
    lines = ("linear", "symlog", "binades")
    healthy(page("rounding", "line", fmt=fmt, x="0.3", line=lines[FORMAT_NAMES.index(fmt) % 3]))


@pytest.mark.parametrize(("fmt", "title"), [("float8_e5m2", "All codes"), ("float16", "Codes nearby")])
def test_anatomy_says_whether_all_codes_are_there(fmt: str, title: str) -> None:
    assert f"{title}, {fmt}: " in pictures(healthy(page("anatomy", "codes", fmt=fmt)))


BINADES = [("0x0", "0"), ("0x3bff", "3800"), ("0x3c00", "3c00"), ("0x3c01", "3c00")]
"""In float16, 0x3c00 is 1, the first value of its binade, and 0x3800 is 0.5."""


@pytest.mark.parametrize(("at", "first"), BINADES)
def test_the_binade_of_a_code_is_marked(at: str, first: str) -> None:
    test = healthy(page("describe", "codes", fmt="float16", at=at))
    for drawing in sent(test, "picture")[1]["drawings"]:
        (grid,) = [one for one in ElementTree.fromstring(drawing["svg"]).iter() if one.get("data-columns")]
        shown = [one.get("data-code") for one in grid if one.get("aria-pressed") == "true"]
        assert shown == [f"{int(first, 16):016b}"]
        assert {len(one.get("data-range") or "") for one in grid} == {6}  # sign and exponent


@pytest.mark.parametrize(("at", "first"), BINADES)
def test_the_binade_of_a_code_is_marked_in_the_map(at: str, first: str) -> None:
    for drawing in sent(healthy(page("anatomy", fmt="float16", at=at)), "picture")[0]["drawings"]:
        (grid,) = [one for one in ElementTree.fromstring(drawing["svg"]).iter() if one.get("data-columns")]
        assert grid.get("data-columns") == "8"
        assert len(grid) == 64
        shown = [one.get("data-code") for one in grid if one.get("aria-pressed") == "true"]
        assert shown == [f"{int(first, 16):016b}"]


def test_a_saved_chart_has_a_name() -> None:
    """Its own, or what its description begins with: words of up to 60 characters."""
    assert [one["name"] for one in sent(healthy(page("errors")), "picture")] == ["errors-absolute-0-2"]
    names = [
        one["name"] for one in sent(healthy(page("quantize", origin="sampled", show="side-by-side")), "save_picture")
    ]
    assert names == ["the-error-of-each-setting-for-elements-from-the-smallest-to"]


@pytest.mark.parametrize(("fmt", "said"), [("float8_e4m3fn", False), ("float16", True)])
def test_a_number_line_says_that_it_has_some_values(fmt: str, said: bool) -> None:
    shown = [caption.value for caption in healthy(page("rounding", "line", fmt=fmt)).caption]
    assert ("The values around x: the format has too many to show them all." in shown) == said


def test_a_number_line_has_a_colour_for_each_class() -> None:
    colour = json.loads(charts(healthy(page("rounding", "line")))[0])["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == ["zero", "subnormal", "normal"]
    assert len(set(colour["scale"]["range"])) == 3


def test_anatomy_follows_its_controls() -> None:
    test = healthy(page("anatomy"))
    assert "0x2A = 42" in texts(test)
    healthy(test.text_input[0].set_value("448").run())
    assert test.query_params["at"] == "448"
    assert "0x7E = 126" in texts(test)
    healthy(test.text_input[0].set_value("0x7D").run())
    assert "416" in texts(test)
    healthy(test.selectbox[0].set_value("float4_e2m1fn").run())
    assert test.query_params["at"] == "416"  # the number goes over, as Cast takes it
    assert "0x7 = 7" in texts(test)
    assert "typed" in texts(test)


@pytest.mark.parametrize("typed", ["", "seven", "0x1FF", "<script>alert(1)</script>", "1e99999", "9" * 1000, "`$x$`"])
def test_any_text_gives_a_message(typed: str) -> None:
    for test in (page("anatomy", at=typed), page("rounding", x=typed)):
        assert not test.exception
        assert "<script>" not in texts(test)
        if typed != "9" * 1000:
            assert len(test.error) == 1 or typed == "0x1FF"


def test_rounding_follows_its_controls() -> None:
    test = healthy(page("rounding"))
    assert "nearer to the upper neighbour" in texts(test)
    healthy(test.button(key="preset largest + ½ step").click().run())
    assert test.query_params["x"] == "464"
    assert "tie: the lower neighbour is even" in texts(test)
    healthy(test.button(key="preset largest + 1 step").click().run())
    assert "with saturate: the largest value" in texts(test)
    healthy(test.toggle[0].set_value(False).run())
    assert test.query_params["saturate"] == "0"
    assert "without saturate: NaN" in texts(test)
    healthy(test.selectbox[0].set_value("float8_e8m0fnu").run())
    assert all(f"round_mode {mode}" in texts(test) for mode in ("up", "down", "nearest"))


def test_an_opset_without_the_format_is_told() -> None:
    test = page("rounding", fmt="float4_e2m1fn", opset="19")
    assert not test.exception
    assert len(test.error) == 1
    assert "opset 23" in test.error[0].value.replace("\\", "")


def run_copied(test: Any) -> None:
    """Run what a page offers to copy; it raises where the page and the copy disagree."""
    _, python, onnx = copied(test)
    for text in (python, onnx):
        exec(text, {})


def test_a_refused_option_keeps_the_number() -> None:
    test = page("rounding", x="464", fmt="float6_e2m3fn", opset="26")
    assert not test.exception
    assert len(test.error) == 1
    assert "opset 28" in test.error[0].value.replace("\\", "")
    assert "goes on with opset = 28" in test.error[0].value.replace("\\", "")
    assert "464" in texts(test)
    assert "0.3" not in texts(test)
    link, python, _ = copied(test)
    assert "x=464" in link
    assert "opset=28" in link
    assert "'464'" in python
    run_copied(test)
    other = page("conversion", at="464", target="float4_e2m1fn", opset="19")
    assert "opset=28" in copied(other)[0]
    assert "at=464" in copied(other)[0]
    run_copied(other)


def test_a_refused_number_keeps_the_options() -> None:
    test = page("rounding", x="seven", fmt="float8_e5m2", opset="23", saturate="0")
    assert len(test.error) == 1
    link, python, _ = copied(test)
    assert all(part in link for part in ("x=0.3", "fmt=float8_e5m2", "saturate=0", "opset=23"))
    assert "opset=23" in python
    run_copied(test)


@pytest.mark.parametrize("fmt", FORMAT_NAMES)
def test_the_table_is_downloaded_as_the_text_itself(fmt: str) -> None:
    test = healthy(page("anatomy", "codes", fmt=fmt, at="1"))
    proto = test.get("download_button")[0].proto
    assert proto.url.endswith(".csv")  # a file that is there; a deferred one has none
    assert not proto.deferred_file_id


def test_the_menu_takes_number_and_format_along() -> None:
    test = healthy(AppTest.from_file(str(FOLDER / "shared/app.py"), default_timeout=60).run())
    healthy(turn_to(test, "rounding").run())
    healthy(test.text_input[0].set_value("464").run())
    healthy(test.selectbox[0].set_value("float8_e5m2").run())
    links = {link.proto.label: dict(urllib.parse.parse_qsl(link.proto.query_string)) for link in test.get("page_link")}
    assert list(links) == [page.title for page in PAGES]
    assert (links["Anatomy"]["at"], links["Anatomy"]["fmt"]) == ("464", "float8_e5m2")
    assert links["Compare"]["x"] == "464"
    assert (links["Cast & BitCast"]["at"], links["Cast & BitCast"]["target"]) == ("464", "float8_e5m2")
    assert links["Quantize"]["fmt"] == "float8_e5m2"
    assert (links["Rounding"]["x"], links["Rounding"]["fmt"]) == ("464", "float8_e5m2")


@pytest.mark.parametrize("fmt", ["float64", "float32", "int64", "uint64"])
def test_neighbours_have_texts_of_their_own(fmt: str) -> None:
    one = "9007199254740993" if fmt.endswith("int64") else "1.5"
    test = healthy(page("anatomy", fmt=fmt, at=one))
    root = ElementTree.fromstring(sent(test, "picture")[0]["drawings"][0]["svg"])
    near = {name: part.text for part in root.iter() if (name := part.get("data-part")) in ("below", "value", "above")}
    assert len(set(near.values())) == 3
    third = {"x": "1/3"} if fmt.startswith("float") else {"x": f"{one}.5"}
    root = ElementTree.fromstring(sent(healthy(page("rounding", fmt=fmt, **third)), "picture")[0]["drawings"][0]["svg"])
    drawn = [part.text for part in root.iter() if part.get("data-end")]
    assert len(drawn) == len(set(drawn)) == 2, drawn


def test_both_pages_count_the_same_ulps() -> None:
    """0.97 lies between 15/16 and 1: 1/16 is the unit there, 0.03 of it 12/25."""
    assert "0.03 = 0.48 ulp" in texts(healthy(page("anatomy", at="0.97")))
    assert "<td>0.48</td>" in texts(healthy(page("compare", "casts", x="0.97", fmts="float8_e4m3fn")))
    assert "0.48 ulp" in texts(healthy(page("conversion", source="float64", at="0.97")))


def test_headings_leave_no_level_out() -> None:
    for name in NAMES:
        assert {element.tag for element in healthy(page(name)).header} <= {"h2"}
        assert not page(name).subheader


def test_saturation_follows_the_opset() -> None:
    newest = texts(healthy(page("saturation", "tables")))
    older = texts(healthy(page("saturation", "tables", opset="23")))
    assert "lp-changed" not in newest
    assert older.count("lp-changed") == 4
    assert "since opset 24" in page("saturation", "tables", opset="23").info[0].value
    assert not page("saturation", "tables", opset="24").info
    assert 'href="anatomy?fmt=float8_e4m3fn&amp;at=0x7E"' in newest


ODD = st.text(max_size=20) | st.sampled_from(
    ["0x7e", "inf", "-nan", "1e400", "28", "19", "float8_e8m0fnu", "int2", "bool", "0"]
)
FIELDS = st.sampled_from(
    ["fmt", "at", "x", "show", "opset", "saturate", "line", "fmts", "source", "target", "round_mode", "zz"]
)


@pytest.mark.parametrize("name", shared(NAMES))
@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=st.dictionaries(FIELDS, ODD, max_size=5))
def test_any_query_string_shows_a_page(name: str, query: dict[str, str]) -> None:
    test = page(name, **query)
    assert not test.exception
    assert texts(test).count("<h1>") == 1


def test_what_a_component_sends_is_checked() -> None:
    from lowprec.explorer.shared.interaction import Bits, message_of

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
