"""Describe a format in a browser, from the bare address: a slider by keys, a row, a value, a well-known format."""

from __future__ import annotations

from support.browser import Visit
from support.explorer_controls import agrees


def test_a_slider_by_keys_and_a_click_on_a_value(visit: Visit) -> None:
    page = visit.enter("Describe a format")
    page.get_by_role("slider", name="Mantissa bits").focus()
    page.keyboard.press("ArrowLeft")
    agrees(visit, "fmt=e4m2")
    page.get_by_text("Table of values", exact=True).click()
    page.get_by_role("group", name="Codes").get_by_role("button", name="1F", exact=False).click()
    agrees(visit, "at=0x1F")
    page.get_by_role("button", name="Show float8_e5m2", exact=True).click()
    agrees(visit, "fmt=float8_e5m2&at=")
    page.get_by_role("button", name="Known formats").click()
    page.get_by_role("button", name="TF32").click()
    agrees(visit, "fmt=tf32")
    page.keyboard.press("Escape")
    page.get_by_text("The format", exact=True).click()
    page.get_by_text("not converted: tf32, which has 19 bits").wait_for()
