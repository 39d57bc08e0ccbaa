"""Compare in a browser, from the bare address by clicks: which values survive, how far formats reach, their order."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Visit
from support.explorer_controls import agrees


def entered(visit: Visit) -> Any:
    page = visit.enter("Compare")
    page.get_by_text("e4m3fn in e5m2: 135 of its 253 values survive").locator("visible=true").wait_for()
    return page


def chosen(page: Any) -> list[str]:
    return [text.strip() for text in page.locator(".st-key-compare-fmts [data-tag]").all_inner_texts()]


def dragged(page: Any, name: str, onto: str) -> None:
    start, end = (page.get_by_role("slider", name=f"Place of {one}", exact=True).bounding_box() for one in (name, onto))
    page.mouse.move(start["x"] + 5, start["y"] + 10)
    page.mouse.down()
    for share in (0.3, 0.7, 1):
        page.mouse.move(start["x"] + 5, start["y"] + 10 + share * (end["y"] - start["y"]))
    page.mouse.up()


def test_questions_by_clicks(visit: Visit) -> None:
    """Which float16 values survive e4m3fn: 2 clicks. How far float8 reach: 1. binary8p4 against e4m3fn: 3."""
    page = entered(visit)
    assert page.get_by_text("≈5.4 decades, 107 dB").is_visible()  # e4m3fn: 448 over 2^-9
    assert page.get_by_text("≈9.6 decades, 191 dB").is_visible()  # e5m2: 57344 over 2^-16

    page.get_by_role("button", name="float16 in float8_e4m3fn: 253 of 63,487").click()
    agrees(visit, "pair=float16,float8_e4m3fn")
    page.get_by_text("float16 in e4m3fn: 253 of its 63,487 values survive").wait_for()
    page.get_by_text("held from 2^−9 to 448; also 0, −0, NaN; not Inf").wait_for()

    visit.type("Formats", "binary8p4se", "combobox", exact=False)
    agrees(visit, "int8,binary8p4se")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="binary8p4se in float8_e4m3fn: 237 of 253").click()
    agrees(visit, "pair=binary8p4se,float8_e4m3fn")
    page.get_by_text("held from 2^−9 to 224; also 0, NaN; not Inf").wait_for()
    assert "binary8p4se" in chosen(page)


def test_formats_are_sorted_and_removed(visit: Visit) -> None:
    page = entered(visit)
    before = chosen(page)
    dragged(page, "bfloat16", "float16")
    agrees(visit, "fmts=bfloat16,float16,")
    assert chosen(page) == [before[1], before[0], *before[2:]]
    dragged(page, "int8", "float8_e4m3fn")
    visit.address_has("fmts=bfloat16,float16,int8,float8_e4m3fn,")
    dragged(page, "int8", "float4_e2m1fn")
    agrees(visit, f"fmts=bfloat16,float16,{','.join(before[2:])}")
    page.locator(".st-key-compare-fmts [data-tag]").first.get_by_role("button").click()
    agrees(visit, "fmts=float16,")
    assert chosen(page) == [before[0], *before[2:]]
    page.get_by_role("slider", name="Place of bfloat16").wait_for(state="detached")


def test_the_arrow_keys_sort(visit: Visit) -> None:
    page = entered(visit)
    before = chosen(page)
    page.get_by_role("slider", name="Place of float16", exact=True).focus()
    for key in ("ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    agrees(visit, "fmts=float16,float8_e4m3fn,bfloat16,")
    page.keyboard.press("ArrowUp")  # the row has kept the focus
    agrees(visit, f"fmts={','.join(before)}")
    assert chosen(page) == before
    page.keyboard.press("ArrowUp")
    visit.address_has("fmts=bfloat16,float16,")
    page.keyboard.press("ArrowUp")  # it is the first one
    visit.settle()
    assert chosen(page) == [before[1], before[0], *before[2:]]


@pytest.mark.parametrize("visit", [{"phone": True}], indirect=True)
def test_formats_are_sorted_on_a_telephone(visit: Visit) -> None:
    page = visit.go("compare")
    dragged(page, "float8_e5m2", "float16")
    agrees(visit, "fmts=float8_e5m2,float16,")
    table = page.get_by_role("region", name="Facts of each format")  # the name of a fact stays beside the last format
    assert not table.is_visible()
    page.get_by_text("All facts of the formats", exact=True).click()
    table.evaluate("element => { element.scrollLeft = element.scrollWidth; }")
    name, last = (table.locator(f"tbody tr >> nth=0 >> {one}").first.bounding_box() for one in ("th", "td:last-child"))
    assert 0 <= name["x"] < name["x"] + name["width"] <= last["x"] + 1
    assert last["x"] + last["width"] <= 390
