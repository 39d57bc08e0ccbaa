"""The format card and the sentences on losses in a browser: in sight at 390 px, dark and light."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow

TWO = "compare?fmts=float8_e4m3fn,float8_e4m3fnuz&x=300"
PAGES = {
    "anatomy?fmt=float64&at=1e400": "becomes Inf",
    TWO: "saturates",
    "rounding?x=300&fmt=int8": "wraps",
}
PHONE = {"phone": True, "dark": True}


def width_beyond(page: Any) -> float:
    """Return by how much the page, its card or its table of facts is wider than the screen."""
    return float(
        page.evaluate(
            """() => Math.max(...['[data-testid=stMain]', '.lp-card', '.lp-loss', '.lp-fact-table'].flatMap(name =>
                [...document.querySelectorAll(name)].map(part => part.getBoundingClientRect().right - innerWidth)))"""
        )
    )


@pytest.mark.parametrize(
    ("visit", "paths"), [({}, [TWO]), (PHONE, list(PAGES))], ids=["light", "dark-phone"], indirect=["visit"]
)
def test_losses_and_facts_are_in_sight(visit: Visit, paths: list[str]) -> None:
    for path in paths:
        page = visit.go(path)
        for name in ("The number in each format", "All facts of the formats"):
            if path == TWO:
                page.get_by_text(name, exact=True).click()
        sentence = page.locator(".lp-loss").first
        sentence.scroll_into_view_if_needed()
        assert PAGES[path] in sentence.text_content()
        assert width_beyond(page) <= 0


@pytest.mark.parametrize("visit", [PHONE], ids=["phone"], indirect=True)
def test_the_name_of_a_fact_stays_beside_the_last_format(visit: Visit) -> None:
    page = visit.go("compare")
    page.get_by_text("All facts of the formats", exact=True).click()
    table = page.get_by_role("region", name="Facts of each format")
    table.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
    name, last = (
        table.locator(f"tbody tr >> nth=0 >> {cell}").first.bounding_box() for cell in ("th", "td:last-child")
    )
    assert name is not None
    assert last is not None
    assert 0 <= name["x"] < name["x"] + name["width"] <= last["x"] + 1
    assert last["x"] + last["width"] <= 390
