"""Cast & BitCast in a browser: what rounding to odd prevents, and the byte of two codes, from the bare address."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.browser import Visit
from support.explorer_controls import agrees


def test_what_to_odd_prevents_in_three_actions(visit: Visit) -> None:
    page = visit.enter("Cast & BitCast")
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="What to-odd prevents").click()
    agrees(visit, "via_rounding=to_odd")
    nearest = page.get_by_role("button", name="through float32, by ONNX's Cast: 1", exact=True)
    odd = page.get_by_role("button", name="through float32, to odd: 1.0078125", exact=True)
    nearest.wait_for()
    assert "differs" in (nearest.text_content() or "")
    assert "the same" in (odd.text_content() or "")
    for label, text in {"From": "float64", "Through": "float32", "To": "bfloat16"}.items():
        assert page.get_by_role("combobox", name=label, exact=True).input_value() == text
    assert page.get_by_role("textbox", name="Code or number").input_value() == "1.0039063"
    nearest.click()
    verdict = page.get_by_role("paragraph")
    verdict.filter(has_text="Through float32 the result is 1 (0x3F80), directly 1.0078125 (0x3F81)").wait_for()
    agrees(visit, "via_rounding=same")
    odd.click()
    verdict.filter(has_text="Through float32 the result is 1.0078125 (0x3F81), directly the same.").wait_for()
    with page.expect_download() as caught:
        page.get_by_role("button", name=re.compile("SVG")).first.click()
    svg = Path(caught.value.path()).read_text()
    assert "var(" not in svg  # colours of the moment
    assert "through float32" in svg


@pytest.mark.parametrize("visit", [{}, {"phone": True}], indirect=True, ids=["wide", "phone"])
def test_the_example_of_packing_opens_with_its_byte_in_sight(visit: Visit) -> None:
    page = visit.page
    if page.viewport_size["width"] > 390:
        page.set_viewport_size({"width": 1280, "height": 900})
    height = page.viewport_size["height"]
    byte = page.get_by_text("byte 0 = 0x32", exact=True)

    def is_in_sight() -> bool:
        byte.wait_for()
        page.wait_for_timeout(1000)  # what is drawn later moves nothing out of sight
        visit.settle()
        boxes = [part.bounding_box() for part in (page.get_by_role("heading", name="Packing"), byte)]
        return all(0 <= box["y"] < box["y"] + box["height"] <= height for box in boxes)

    visit.go("")
    page.get_by_role("link", name="Two int4 in a byte").click()
    assert is_in_sight()
    page.goto(page.url)  # the link itself
    assert is_in_sight()
    visit.type("Codes or numbers", "0x2 0x3 0x4")
    page.get_by_text("byte 1 = 0x04", exact=True).wait_for()
    assert is_in_sight()
