"""Arithmetic in a browser, from the bare address: every control is read back, the step is dragged by keys."""

from __future__ import annotations

from typing import Any

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow


def entered(visit: Visit) -> Any:
    """Open the bare address and choose Arithmetic in the menu."""
    page = visit.go("")
    page.get_by_role("link", name="Arithmetic", exact=True).first.click()
    page.get_by_text("From step 257 on nothing that is added changes the sum: it stays 256.").wait_for()
    visit.settle()
    return page


def test_a_sum(visit: Visit) -> None:
    page = entered(visit)
    agrees(visit)
    page.get_by_role("button", name="pairwise: 4096, exact").first.click()
    visit.address_has("method=pairwise")
    agrees(visit)
    page.get_by_text("A sum by pairs has no running sum").wait_for()
    page.get_by_role("button", name="sequential: 256, −120 ulp").first.click()
    page.get_by_role("slider", name="Step").first.press("End")
    visit.address_has("step=4096")
    page.get_by_text("step 4096", exact=True).locator("visible=true").first.wait_for()
    agrees(visit)
    assert not visit.complaints


def test_from_the_sum_to_an_operation(visit: Visit) -> None:
    page = entered(visit)
    page.get_by_role("radio", name="One operation").click()
    visit.address_has("show=operation")
    agrees(visit)
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="240 + 240").click()
    visit.address_has("fmt=float8_e4m3fn")
    page.keyboard.press("Escape")
    agrees(visit)
    page.get_by_text("rounds beyond the largest value, sat_finite: the largest value").first.wait_for()
    page.get_by_role("button", name="toward zero: 448").first.click()
    visit.address_has("rounding=toward_zero")
    agrees(visit)
    page.get_by_text("all values and codes as tables").click()
    page.get_by_role("link", name="0x7E").first.click()
    page.wait_for_url("**/anatomy?**")
    assert not visit.complaints


@pytest.mark.parametrize("visit", [{"phone": True}], ids=["phone"], indirect=True)
def test_a_telephone_shows_the_picture_first(visit: Visit) -> None:
    page = visit.go("arithmetic")
    box = page.locator(".picture svg").first.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    assert box["y"] < 500
