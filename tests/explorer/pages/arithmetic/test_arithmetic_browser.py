"""Arithmetic in a browser: it answers at once, and an example is a click."""

from __future__ import annotations

import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow


def test_from_the_sum_to_an_operation(visit: Visit) -> None:
    page = visit.go("arithmetic")
    page.get_by_text("From step 257 on nothing that is added changes the sum: it stays 256.").wait_for()
    page.get_by_role("radio", name="One operation").click()
    visit.address_has("show=operation")
    page.get_by_role("button", name="240 + 240").click()
    visit.address_has("fmt=float8_e4m3fn")
    page.get_by_text("rounds beyond the largest value, sat_finite: the largest value").first.wait_for()
    page.get_by_role("link", name="0x7E").first.click()
    page.wait_for_url("**/anatomy?**")
