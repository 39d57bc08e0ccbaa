"""What the pages share, without a browser: links to other pages, no change by Back, bounded memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from support.explorer_pages import FOLDER, AppTest, asked, healthy, page, texts, turn_to

from lowprec.explorer.pages import PAGES, STATES
from lowprec.explorer.pages.anatomy.state import Anatomy
from lowprec.explorer.pages.rounding.state import Rounding
from lowprec.explorer.pages.saturation.state import Saturation
from lowprec.explorer.shared import controls
from lowprec.explorer.shared.link import read
from lowprec.explorer.shared.menu import links_to_open, refusals


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
    [
        (
            "errors",
            {"fmts": "float8_e5m2", "x": "0.7"},
            ("rounding?fmt=float8_e5m2&amp;x=0.7", "quantize?fmt=float8_e5m2"),
        ),
        ("arithmetic", {"fmt": "float8_e5m2"}, ("anatomy?fmt=float8_e5m2", "quantize?fmt=float8_e5m2")),
        ("quantize", {"fmt": "float8_e5m2"}, ("anatomy?fmt=float8_e5m2", "arithmetic?fmt=float8_e5m2")),
    ],
)
def test_more_pages_open_a_format(name: str, query: dict[str, str], links: tuple[str, ...]) -> None:
    hrefs = texts(healthy(page(name, **query))).split('href="')
    for link in links:
        path, first, *rest = link.replace("&amp;", "?").split("?")
        assert any(
            href.startswith(f"{path}?") and all(part in href.partition('"')[0] for part in (first, *rest))
            for href in hrefs
        ), link


@pytest.mark.parametrize(("name", "query"), [("anatomy", {"at": "448"}), ("rounding", {"x": "448"}),
                                             ("conversion", {"at": "448"}), ("compare", {"x": "448"})])  # fmt: skip
def test_every_result_has_the_links(name: str, query: dict[str, str]) -> None:
    shown = texts(healthy(page(name, *(("casts",) if name == "compare" else ()), **query)))
    for other, part in (("anatomy", "at=448"), ("rounding", "x=448"), ("conversion", "at=448"), ("compare", "x=448")):
        assert (f'href="{other}?' in shown and part in shown) is (other != name) or name == "compare"
    assert shown.count('href="rounding?') == (7 if name == "compare" else name != "rounding")


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
