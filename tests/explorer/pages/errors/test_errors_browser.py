"""A browser draws the pictures of double rounding and of errors: in both schemes and on a phone, without complaint."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow

WITNESS = "conversion?source=float64&at=1.0039063&target=bfloat16&via=float32"
BAND = "errors?fmts=float8_e4m3fn,float16&roundings=onnx,stochastic_b&low=0.5&high=4"


@pytest.mark.parametrize("look", [{}, {"dark": True, "phone": True}], ids=["light", "dark phone"])
def test_pictures_of_errors(browser: Any, address: str, look: dict[str, bool]) -> None:
    visit = Visit(browser, address, **look)
    page = visit.go(WITNESS)
    page.get_by_text("directly 1.0078125 (0x3F81)").first.wait_for()
    boxes = [page.locator(f".lp-zoom {name}").first.bounding_box() for name in (".lp-bar", ".lp-beam", ".lp-below")]
    tops = [box["y"] for box in boxes]
    assert tops == sorted(tops)  # the scale of the target, the beam, the scale of the format between
    assert all(box["width"] > 200 and box["height"] > 3 for box in boxes)
    assert page.locator(".lp-zoom .lp-tick").count() == 2 + 5
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    page = visit.go(BAND)
    page.get_by_text("float8_e4m3fn: the largest error is 0.125, at 2.125.").wait_for()
    marks = page.locator("[data-testid=stVegaLiteChart] svg.marks .role-mark :is(path, line)")
    marks.first.wait_for()
    assert marks.count() > 6
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert visit.outside() == []
    assert visit.complaints == []
    visit.context.close()
