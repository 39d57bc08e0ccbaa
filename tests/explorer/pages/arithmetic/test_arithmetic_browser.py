"""Arithmetic in a browser, from the bare address: every control is read back, the step is dragged by keys."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow


def entered(visit: Visit) -> Any:
    """Open the bare address and choose Arithmetic in the menu."""
    page = visit.go("")
    page.get_by_role("link", name="Arithmetic", exact=True).first.click()
    page.get_by_text("From step 257 on nothing that is added changes the sum: it stays 256.").wait_for()
    visit.settle()
    return page


def shown(page: Any) -> dict[str, str]:
    """Return what the controls above the picture show."""
    fields = {field.get_attribute("aria-label"): field.input_value() for field in page.locator(
        "[data-testid=stMain] input[aria-label]:visible").all()}  # fmt: skip
    boxes = {box.get_attribute("aria-label"): box.input_value() for box in page.get_by_role("combobox").all()
             if box.is_visible()}  # fmt: skip
    chosen = page.locator("[data-testid=stMain] [role=radio][aria-checked=true]").all_inner_texts()
    return {**fields, **boxes, "Show": " ".join(chosen)}


def agrees(page: Any, **expected: str) -> None:
    """Check that every control shows what is expected."""
    found = shown(page)
    for label, text in expected.items():
        label = label.replace("_", " ")
        key = next(key for key in found if key == label or str(key).endswith(f". {label}"))
        assert found[key] == text, (key, found)


def test_a_sum(visit: Visit) -> None:
    page = entered(visit)
    agrees(page, Show="Sum", Terms="n ones", n="4096", Accumulator="bfloat16")
    page.get_by_role("button", name="pairwise: 4096, exact").first.click()
    visit.address_has("method=pairwise")
    agrees(page, Show="Sum", Terms="n ones", n="4096", Accumulator="bfloat16")
    page.get_by_text("A sum by pairs has no running sum").wait_for()
    page.get_by_role("button", name="sequential: 256, −120 ulp").first.click()
    page.get_by_role("slider", name="Step").first.press("End")
    visit.address_has("step=4096")
    page.get_by_text("step 4096", exact=True).locator("visible=true").first.wait_for()
    agrees(page, Show="Sum", Terms="n ones", n="4096", Accumulator="bfloat16")
    assert not visit.complaints


def test_from_the_sum_to_an_operation(visit: Visit) -> None:
    page = entered(visit)
    page.get_by_role("radio", name="One operation").click()
    visit.address_has("show=operation")
    agrees(page, Show="One operation", Operation="add: a + b", a="256", b="1", Format="bfloat16")
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="240 + 240").click()
    visit.address_has("fmt=float8_e4m3fn")
    page.keyboard.press("Escape")
    agrees(page, Show="One operation", Operation="add: a + b", a="240", b="240", Format="float8_e4m3fn")
    page.get_by_text("rounds beyond the largest value, sat_finite: the largest value").first.wait_for()
    page.get_by_role("button", name="toward zero: 448").first.click()
    visit.address_has("rounding=toward_zero")
    agrees(page, Show="One operation", Operation="add: a + b", a="240", b="240", Format="float8_e4m3fn")
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
