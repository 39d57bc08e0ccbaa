"""Rounding in a browser: from the bare address, by clicks; a number that is dragged, a rule that is chosen."""

from __future__ import annotations

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow


def test_465_becomes_nan_or_448(visit: Visit) -> None:
    page = visit.go("")
    page.get_by_role("link", name="Rounding", exact=True).click()
    page.get_by_role("heading", level=1, name="Rounding", exact=True).wait_for()
    number = page.get_by_role("textbox", name="Number")
    number.fill("465")
    number.press("Enter")
    page.get_by_role("group", name="465 lies between 448 and 480; it becomes 448").wait_for()
    page.locator("label").filter(has_text="saturate").click()
    page.get_by_role("group", name="465 lies between 448 and 480; it becomes NaN").wait_for()
    visit.settle()
    agrees(visit)
    slider = page.get_by_role("slider", name="Number")
    assert slider.get_attribute("aria-valuetext") == "465"
    slider.press("ArrowLeft")
    page.get_by_role("group", name="464.5 lies between 448 and 480; it becomes NaN").wait_for()
    slider.press("ArrowLeft")  # the midpoint: to even
    page.get_by_role("group", name="464 lies between 448 and 480; it becomes 448").wait_for()
    visit.settle()
    agrees(visit)
    assert number.input_value() == "464"
    page.get_by_role("button", name="nearest away: NaN").click()
    page.get_by_role("group", name="464 lies between 448 and 480; it becomes NaN").wait_for()
    visit.settle()
    agrees(visit)
    assert "rounding=nearest_away" in page.url


def test_a_number_is_dragged(visit: Visit) -> None:
    page = visit.go("rounding?x=0.3&fmt=float8_e4m3fn")
    slider = page.get_by_role("slider", name="Number")
    slider.wait_for()
    box = slider.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 400, y, steps=5)
    dragged = page.locator("[data-part=x]").text_content()
    assert float(dragged) > 0.3  # painted before the server answers
    page.mouse.up()
    visit.settle()
    agrees(visit)
    assert float(page.get_by_role("textbox", name="Number").input_value()) == float(dragged)
