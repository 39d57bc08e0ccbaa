"""A browser draws the pictures of double rounding and of errors: in both schemes and on a phone, without complaint."""

from __future__ import annotations

from typing import Any

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow

WITNESS = "conversion?source=float64&at=1.0039063&target=bfloat16&via=float32"
BAND = "errors?fmts=float8_e4m3fn,float16&roundings=onnx,stochastic_b&low=0.5&high=4"


@pytest.mark.parametrize("look", [{}, {"dark": True, "phone": True}], ids=["light", "dark phone"])
def test_pictures_of_errors(browser: Any, address: str, look: dict[str, bool]) -> None:
    visit = Visit(browser, address, **look)
    page = visit.go(WITNESS)
    page.get_by_text("directly 1.0078125 (0x3F81)").first.wait_for()
    names = ("steps of 2^−7", "midpoint of bfloat16")  # the scale of the target, below it that of the format between
    tops = [page.get_by_text(name).locator("visible=true").first.bounding_box()["y"] for name in names]
    assert tops == sorted(tops)
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    page = visit.go(BAND)
    page.locator(".place > svg").wait_for()
    assert "float8_e4m3fn at most 0.125, at 2.125" in " ".join(page.locator(".place").inner_text().split())
    assert page.locator(".place > svg svg path").count() >= 2 + 2 * 2  # two lines, two bands with their means
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert visit.outside() == []
    assert visit.complaints == []
    visit.context.close()


def test_the_largest_relative_error_of_e5m2_in_its_normal_range(visit: Visit) -> None:
    """Two actions from the bare address: the menu, the range. The tie 1.125 · 2^-14 is 1/9 off."""
    page = visit.page
    page.goto(visit.address)
    page.get_by_role("link", name="Errors", exact=True).first.click()
    page.locator(".place > svg").wait_for()
    visit.settle()
    agrees(visit)
    box = page.get_by_role("combobox", name="Range").first
    assert box.input_value() == "0 to 2"
    box.click()
    page.get_by_role("option", name="float8_e5m2: normal range", exact=True).click()
    visit.address_has("scale=log")
    agrees(visit)
    assert page.locator(".st-key-errors-measure [aria-checked=true]").inner_text() == "relative"
    assert box.input_value() == "float8_e5m2: normal range"
    said = " ".join(page.locator(".place").inner_text().split())
    assert "float8_e5m2 at most ≈11.11 %, at ≈6.866e−5" in said
