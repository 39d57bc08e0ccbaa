"""Quantize in a browser: the way from the tensor to the better setting, by clicks and by keys."""

from __future__ import annotations

import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow


def test_which_setting_is_better_takes_one_click(visit: Visit) -> None:
    page = visit.go("quantize?distribution=student-t")
    page.get_by_role("radio", name="Side by side").click()
    page.get_by_text("nvfp4 has the largest SQNR").wait_for()
    box = page.get_by_role("combobox", name="Settings")
    box.press("Backspace")  # takes the last one away
    page.get_by_role("button", name="Add float4_e2m1fn,block=32").click()
    visit.address_has("nvfp4;float4_e2m1fn,block=32")
    page.get_by_role("rowheader", name="float4_e2m1fn,block=32").wait_for()
    box.press("Backspace")
    page.get_by_role("rowheader", name="float4_e2m1fn,block=32").wait_for(state="detached")
    box.press_sequentially("MXINT8,block=8")
    box.press("Enter")
    visit.address_has("nvfp4;mxint8,rule=floor,block=8")
    page.get_by_text("mxint8,rule=floor,block=8 has the largest SQNR").wait_for()
