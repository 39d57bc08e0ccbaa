"""Describe a format in a browser, from the bare address: a slider by keys, a row, a value, a well-known format."""

from __future__ import annotations

from typing import Any

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow


def test_a_slider_by_keys_and_a_click_on_a_value(browser: Any, address: str) -> None:
    visit = Visit(browser, address)
    page = visit.page
    page.goto(address)
    page.get_by_role("link", name="Describe a format", exact=True).first.click()
    page.get_by_role("heading", level=1, name="Describe a format").wait_for()
    visit.settle()
    page.get_by_role("slider", name="Mantissa bits").focus()
    page.keyboard.press("ArrowLeft")
    visit.address_has("fmt=e4m2")
    agrees(visit)
    page.get_by_text("Table of values", exact=True).click()
    page.get_by_role("group", name="Codes").get_by_role("button", name="1F", exact=False).click()
    visit.address_has("at=0x1F")
    agrees(visit)
    page.get_by_role("button", name="Show float8_e5m2", exact=True).click()
    visit.address_has("fmt=float8_e5m2&at=")
    agrees(visit)
    page.get_by_role("button", name="Known formats").click()
    page.get_by_role("button", name="TF32").click()
    visit.address_has("fmt=tf32")
    agrees(visit)
    page.keyboard.press("Escape")
    page.get_by_text("The format", exact=True).click()
    page.get_by_text("not converted: tf32, which has 19 bits").wait_for()
    assert visit.complaints == []
    assert visit.outside() == []
    visit.context.close()


@pytest.mark.parametrize("visit", [{"phone": True}], ids=["phone"], indirect=True)
def test_a_telephone_shows_the_picture_first(visit: Visit) -> None:
    page = visit.go("describe")
    box = page.locator(".picture svg").first.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] < 600
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
