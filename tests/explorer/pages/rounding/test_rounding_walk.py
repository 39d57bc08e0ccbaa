"""Rounding in a browser: from the bare address, by clicks; a number that is dragged, a rule that is chosen."""

from __future__ import annotations

import pytest
from support.browser import Visit
from support.explorer_controls import agrees


def test_465_becomes_nan_or_448(visit: Visit) -> None:
    page = visit.enter("Rounding")
    visit.type("Number", "465")
    page.get_by_role("group", name="465 lies between 448 and 480; it becomes 448").wait_for()
    page.locator("label").filter(has_text="saturate").click()
    page.get_by_role("group", name="465 lies between 448 and 480; it becomes NaN").wait_for()
    visit.settle()
    agrees(visit)
    slider = page.get_by_role("slider", name="Number")
    assert slider.get_attribute("aria-valuetext") == "465"
    slider.press("ArrowLeft")
    page.get_by_role("group", name="464.5 lies between 448 and 480; it becomes NaN").wait_for()
    slider.press("ArrowLeft")  # the midpoint: to even
    page.get_by_role("group", name="464 lies between 448 and 480; it becomes 448").wait_for()
    visit.settle()
    agrees(visit)
    assert page.get_by_role("textbox", name="Number").input_value() == "464"
    page.get_by_role("button", name="nearest away: NaN").click()
    page.get_by_role("group", name="464 lies between 448 and 480; it becomes NaN").wait_for()
    visit.settle()
    agrees(visit)
    assert "rounding=nearest_away" in page.url


def test_a_number_is_dragged(visit: Visit) -> None:
    page = visit.go("rounding?x=0.3&fmt=float8_e4m3fn")
    slider = page.get_by_role("slider", name="Number")
    slider.wait_for()
    box = slider.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 400, y, steps=5)
    dragged = page.locator("[data-part=x]").text_content()
    assert float(dragged) > 0.3  # painted before the server answers
    page.mouse.up()
    visit.settle()
    agrees(visit)
    assert float(page.get_by_role("textbox", name="Number").input_value()) == float(dragged)


def test_a_format_is_typed_in_the_list(visit: Visit) -> None:
    page = visit.go("rounding?x=0.3&opset=23")
    name = "e4m3,bias=8,inf=0,nan=negative-zero"
    visit.type("Format", "E4M3, bias=8, nan=negative-zero, inf=0", "combobox", exact=False)
    visit.address_has(f"fmt={name}&saturate=1&opset=28")
    message = page.get_by_text(f"None: ONNX has no number for {name}.")
    message.wait_for(state="attached")  # in a closed disclosure
    visit.type("Format", "e9m30", "combobox", exact=False)
    page.get_by_role("alert").filter(has_text="a code of 2 to 32 bits").wait_for()
    visit.settle()
    visit.address_has(f"fmt={name}")  # it stays
    assert page.get_by_role("combobox", name="Format").input_value() == name
    visit.choose_page("Anatomy")
    assert len(visit.bits()) == 8


@pytest.mark.parametrize("visit", [{"phone": True}], indirect=True, ids=["phone"])
def test_what_matters_most_of_a_wide_table_is_in_sight(visit: Visit) -> None:
    page = visit.go("rounding")
    visit.open("All values and codes as a table")
    for name, column in (("All rounding modes", "value"), ("Stochastic roundings", "P(upper)")):
        table = page.get_by_role("region", name=name)
        assert table.evaluate("table => table.scrollWidth > table.clientWidth")
        right = table.get_by_role("columnheader", name=column).bounding_box()
        assert right["x"] + right["width"] <= 390, name
