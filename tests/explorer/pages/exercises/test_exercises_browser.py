"""Exercises in a browser, from the bare address: a wrong answer, a right one, a hint, the next task, a reload."""

from __future__ import annotations

import re

import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow


def set_bits(visit: Visit, bits: str) -> None:
    """Set the bits of the answer."""
    for place, bit in enumerate(bits):
        switch = visit.page.get_by_role("switch").nth(place)
        if switch.get_attribute("aria-checked") != {"0": "false", "1": "true"}[bit]:
            switch.click()
            visit.settle()


def press(visit: Visit, name: str) -> None:
    visit.page.get_by_role("button", name=name, exact=True).click()
    visit.settle()


def test_a_wrong_answer_a_right_one_and_the_next_task(visit: Visit) -> None:
    page = visit.go("")
    page.get_by_role("link", name="Exercises", exact=True).click()
    page.wait_for_url(re.compile("/exercises"))
    page.get_by_role("heading", name="Set the code of 3.375.").wait_for()
    press(visit, "Task 9, open")
    page.get_by_role("heading", name="Which code does 3.3 become?").wait_for()
    set_bits(visit, "01000110")  # 3.5
    press(visit, "Check")
    wrong = page.get_by_role("group", name="Close: that is the other neighbour.")
    wrong.wait_for()
    assert {"0.2", "0.05", "your code", "3.25", "3.5"} <= set(wrong.locator("text").all_inner_texts() or [])
    set_bits(visit, "01000101")
    press(visit, "Check again")
    page.get_by_role("img", name="Right.").wait_for()
    page.get_by_role("group", name="½ of 1 points; 19 tasks are open").wait_for()
    press(visit, "Next task")
    page.get_by_role("heading", name="Which code does 6.75 become?").wait_for()
    press(visit, "Hint")
    page.get_by_text("It is half-way").wait_for()
    press(visit, "Show me")
    page.get_by_role("group", name="½ of 2 points; 18 tasks are open").wait_for()
    address = page.url
    assert "seed=4711" in address
    assert "number=10" in address
    page.reload()
    page.get_by_role("heading", name="Which code does 6.75 become?").wait_for()
    assert page.url == address
