"""Arithmetic in a browser, from the bare address: every control is read back, the step is dragged by keys."""

from __future__ import annotations

from support.browser import Visit
from support.explorer_controls import agrees


def test_a_sum_and_an_operation(visit: Visit) -> None:
    page = visit.enter("Arithmetic")
    page.get_by_text("From step 257 on nothing that is added changes the sum: it stays 256.").wait_for()
    agrees(visit)
    page.get_by_role("button", name="pairwise: 4096, exact").first.click()
    agrees(visit, "method=pairwise")
    page.get_by_text("A sum by pairs has no running sum").wait_for()
    page.get_by_role("button", name="sequential: 256, −120 ulp").first.click()
    page.get_by_role("slider", name="Step").first.press("End")
    visit.address_has("step=4096")
    page.get_by_text("step 4096", exact=True).locator("visible=true").first.wait_for()
    agrees(visit)
    page.get_by_role("radio", name="One operation").click()
    agrees(visit, "show=operation")
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="240 + 240").click()
    visit.address_has("fmt=float8_e4m3fn")
    page.keyboard.press("Escape")
    agrees(visit)
    page.get_by_text("rounds beyond the largest value, sat_finite: the largest value").first.wait_for()
    page.get_by_role("button", name="toward zero: 448").first.click()
    agrees(visit, "rounding=toward_zero")
    page.get_by_text("all values and codes as tables").click()
    page.get_by_role("link", name="0x7E").first.click()
    page.wait_for_url("**/anatomy?**")
