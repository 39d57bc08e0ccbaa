"""Quantize in a browser: the picture, by clicks and keys from the bare address; the way to the better setting."""

from __future__ import annotations

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow


def test_the_picture_is_what_is_first(visit: Visit) -> None:
    """Click an element, go on by the keys, see the error, change a block size, add a setting and take it away."""
    page = visit.go("")
    page.get_by_role("link", name="Quantize", exact=True).first.click()
    picture = page.get_by_role("button", name="the picture: row 53, column 88; the arrow keys go on", exact=True)
    picture.click(position={"x": 41, "y": 31})
    visit.address_has("at=15,20")
    agrees(visit)
    page.get_by_role("button", name="NVFP4, blocks of 16: row 15, column 20", exact=False).wait_for()
    page.get_by_role("button", name="the picture: row 15, column 20; the arrow keys go on", exact=True).press(
        "ArrowRight"
    )
    visit.address_has("at=15,21")
    agrees(visit)
    page.get_by_role("radio", name="error", exact=True).click()
    visit.address_has("drawn=errors")
    agrees(visit)
    page.get_by_text("Error: orange is too small", exact=False).first.wait_for()
    page.get_by_role("button", name="int4 · 128").click()
    page.get_by_role("combobox", name="Block size").click()
    page.get_by_role("option", name="32", exact=True).click()
    visit.address_has("compared=int4,block=32;nvfp4")
    agrees(visit)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="int4, blocks of 32: row 15, column 21").wait_for()
    page.get_by_role("button", name="+ setting").click()
    visit.address_has("int4,block=128")
    agrees(visit)
    page.get_by_role("button", name="int4, blocks of 128: row 15, column 21").wait_for()


def test_which_setting_is_better_takes_one_click(visit: Visit) -> None:
    page = visit.go(
        "quantize?origin=sampled&distribution=student-t&compared=mxfp4;mxfp4,rule=rceil;nvfp4;int4,block=32"
    )
    page.get_by_text("Settings side by side").click()
    page.get_by_text("nvfp4 has the largest SQNR").wait_for()
    box = page.get_by_role("combobox", name="Settings")
    box.press("Backspace")  # takes the last one away
    page.get_by_role("button", name="Add float4_e2m1fn,block=32").click()
    visit.address_has("nvfp4;float4_e2m1fn,block=32")
    agrees(visit)
    page.get_by_role("rowheader", name="float4_e2m1fn,block=32").wait_for()
    box.press("Backspace")
    page.get_by_role("rowheader", name="float4_e2m1fn,block=32").wait_for(state="detached")
    box.press_sequentially("MXINT8,block=8")
    box.press("Enter")
    visit.address_has("nvfp4;mxint8,rule=floor,block=8")
    agrees(visit)
    page.get_by_text("mxint8,rule=floor,block=8 has the largest SQNR").wait_for()
