"""Exercises in a browser, from the bare address by clicks: bits, a wrong answer, a hint, the next task; 390 pixels."""

from __future__ import annotations

from typing import Any

import pytest
from support.browser import Visit
from support.explorer_controls import agrees

from lowprec.explorer.pages.exercises.exercises import Task, task
from lowprec.explorer.pages.exercises.state import Exercises

SEED = Exercises().seed


def bits(page: Any) -> str:
    """Return the bits as they are shown."""
    switches = page.get_by_role("switch").locator("visible=true")
    return "".join(str(int(one.get_attribute("aria-checked") == "true")) for one in switches.all())


def shows(visit: Visit, one: Task, answer: int | None, score: str) -> None:
    """Check what the page shows: the task, the bits of the answer, None where it is done, the points."""
    page = visit.page
    agrees(visit)
    assert page.get_by_text(f"{one.number} of 20", exact=True).is_visible()
    page.get_by_text(one.question[1], exact=True).first.wait_for()
    assert bits(page) == ("" if answer is None else f"{answer:0{one.fmt.bits}b}")
    assert page.get_by_text(score, exact=True).locator("visible=true").count() >= 1, score


def set_bits(visit: Visit, code: int, width: int) -> None:
    """Click each bit that differs."""
    for place, bit in enumerate(f"{code:0{width}b}"):
        if bits(visit.page)[place] != bit:
            visit.page.get_by_role("switch").locator("visible=true").nth(place).click()
    visit.settle()


@pytest.mark.parametrize("visit", [{}, {"phone": True}], ids=["desk", "phone"], indirect=True)
def test_two_tasks(visit: Visit) -> None:
    page, first = visit.enter("Exercises"), task(SEED, 1)
    width, right = first.fmt.bits, min(first.right)
    shows(visit, first, 0, "of 20 tasks done")
    set_bits(visit, right ^ 1, width)
    shows(visit, first, right ^ 1, "of 20 tasks done")
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("button", name="Check again").wait_for()
    visit.settle()
    shows(visit, first, right ^ 1, "of 20 tasks done")
    set_bits(visit, right, width)
    page.get_by_role("button", name="Check again").click()
    page.get_by_role("button", name="Next task").wait_for()
    visit.settle()
    shows(visit, first, None, "of 1 point")
    page.get_by_role("button", name="Next task").click()
    visit.address_has("number=2")
    shows(visit, task(SEED, 2), 0, "of 1 point")
    page.get_by_role("button", name="Hint").click()
    page.get_by_text("Hint.").wait_for()
    page.get_by_role("button", name="Show me").click()
    page.get_by_role("link", name="See it on its page").wait_for()
    visit.settle()
    shows(visit, task(SEED, 2), None, "of 2 points")
    assert visit.width_is_kept()
