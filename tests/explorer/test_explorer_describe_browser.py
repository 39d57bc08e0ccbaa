"""Describe a format and Saturation's other formats in a browser: keys on a slider, a click, accessibility, a phone."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Visit

PATHS = ("describe?fmt=tf32&at=0.3", "saturation?fmts=tf32,e4m3,bias=8,inf=0,nan=negative-zero")


def test_a_slider_by_keys_and_a_click_on_a_value(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.go("describe?fmt=e4m3&at=1")
    page.get_by_role("slider", name="Mantissa bits").focus()
    page.keyboard.press("ArrowLeft")
    visit.address_has("fmt=e4m2")
    page.get_by_role("group", name="Codes").get_by_role("button", name="1F", exact=False).click()
    visit.address_has("at=0x1F")
    page.get_by_role("button", name="TF32").click()
    visit.address_has("fmt=tf32")
    page.get_by_text("not converted: tf32, which has 19 bits").wait_for()
    assert visit.complaints == []
    assert visit.outside() == []
    visit.context.close()


@pytest.mark.parametrize("looks", [{"phone": True}, {"dark": True}, {}], ids=["phone", "dark", "light"])
def test_accessible_and_narrow_enough(browser: Any, address: str, looks: dict[str, bool]) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    visit = Visit(browser, address, **looks)
    for path in PATHS:
        page = visit.go(path)
        wide = page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= page.viewport_size["width"]
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(rule["id"], [node["html"][:150] for node in rule["nodes"]][:3]) for rule in found] == []
    assert visit.complaints == []
    visit.context.close()
