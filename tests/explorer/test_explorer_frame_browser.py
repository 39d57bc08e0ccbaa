"""What is around every page: the menu as a landmark, titles, the link that skips the menu, the printed page."""

from __future__ import annotations

import re

import pytest
from support.browser import Visit

from lowprec.explorer.pages import PAGES

pytestmark = pytest.mark.slow


def arrive(visit: Visit, title: str) -> None:
    heading = "A number format is a ruler" if title == "Start" else title
    visit.page.get_by_role("heading", level=1, name=heading, exact=True).wait_for()
    visit.settle()


def test_the_menu_is_a_landmark_and_says_which_page_is_shown(visit: Visit) -> None:
    page = visit.page
    page.goto(visit.address)
    arrive(visit, "Start")
    menu = page.get_by_role("navigation", name="Pages")
    for row in PAGES:
        menu.get_by_role("link", name=row.title, exact=True).click()
        arrive(visit, row.title)
        assert [link.inner_text().strip() for link in menu.locator("[aria-current=page]").all()] == [
            menu.get_by_role("link", name=row.title, exact=True).inner_text().strip()
        ]
        page.wait_for_function("title => document.title === title", arg=f"{row.title} · lowprec explorer")


def test_the_skip_link_leads_past_the_menu(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/anatomy")
    arrive(visit, "Anatomy")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.st-key-menu')") is None
    assert page.url.startswith(f"{visit.address}/anatomy")
    assert "#" not in page.url


def test_a_printed_page_is_one_sheet_without_the_menu(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/anatomy")
    arrive(visit, "Anatomy")
    page.emulate_media(media="print")
    assert page.get_by_role("navigation").count() == 0
    assert page.get_by_role("heading", level=1, name="Anatomy").is_visible()
    assert page.get_by_role("switch").count() == 8
    sheet = page.pdf(format="A4", landscape=True, print_background=True, scale=0.8)
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 1
