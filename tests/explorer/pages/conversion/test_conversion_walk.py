"""Cast & BitCast in a browser: a route that is clicked, and the byte of two codes from the bare address."""

from __future__ import annotations

import pytest
from support.browser import Visit
from support.explorer_controls import agrees


def test_a_route_is_chosen_in_the_picture(visit: Visit) -> None:
    """What the page says before: a question of test_start_walk.py."""
    page = visit.go("conversion?source=float64&at=1.0039063&via=float32&target=bfloat16&via_rounding=to_odd")
    page.get_by_role("button", name="through float32, by ONNX's Cast: 1", exact=True).click()
    page.get_by_role("paragraph").filter(has_text="Through float32 the result is 1 (0x3F80), directly 1").wait_for()
    agrees(visit, "via_rounding=same")


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
