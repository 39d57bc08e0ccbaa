"""Arithmetic in a browser: it answers at once, an example is a click, both modes are accessible and fit a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import Visit

MODES = ("arithmetic?n=300", "arithmetic?show=operation&rounding=stochastic")


@pytest.fixture
def visit(browser: Any, address: str, request: pytest.FixtureRequest) -> Iterator[Visit]:
    found = Visit(browser, address, **getattr(request, "param", {}))
    yield found
    found.context.close()
    assert found.outside() == []
    assert found.complaints == []


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


@pytest.mark.parametrize("visit", [{}, {"dark": True}, {"phone": True}], indirect=True, ids=["light", "dark", "phone"])
def test_nothing_is_inaccessible_and_nothing_too_wide(visit: Visit) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    for path in MODES:
        page = visit.go(path)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []
