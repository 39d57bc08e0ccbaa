"""Errors in a browser, from the bare address: the largest error of a format in its normal range takes two actions."""

from __future__ import annotations

from support.browser import Visit
from support.explorer_controls import agrees


def test_the_largest_relative_error_of_e5m2_in_its_normal_range(visit: Visit) -> None:
    """The menu, the range. The tie 1.125 · 2^-14 is 1/9 off."""
    page = visit.enter("Errors")
    agrees(visit)
    box = page.get_by_role("combobox", name="Range").first
    assert box.input_value() == "0 to 2"
    box.click()
    page.get_by_role("option", name="float8_e5m2: normal range", exact=True).click()
    agrees(visit, "scale=log")
    assert page.locator(".st-key-errors-measure [aria-checked=true]").inner_text() == "relative"
    assert box.input_value() == "float8_e5m2: normal range"
    said = " ".join(page.locator(".place").inner_text().split())
    assert "float8_e5m2 at most ≈11.11 %, at ≈6.866e−5" in said
