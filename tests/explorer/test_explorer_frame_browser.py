"""What is around every page: the menu, titles, a link that skips the menu, a page that is not there, print, a phone."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest
from support.browser import Visit

from lowprec.explorer.pages import PAGES

PHONE = {"phone": True}
BOTH = pytest.mark.parametrize("visit", [{}, PHONE], indirect=True, ids=["wide", "phone"])


def test_the_bare_address_shows_the_first_page(visit: Visit) -> None:
    """What the menu says of the others: test_explorer_controls_browser.py."""
    visit.page.goto(visit.address)
    visit.arrive("Start")
    assert "/start" in visit.page.url
    visit.menu_shows("Start")


@BOTH
def test_the_menu_takes_the_number_and_the_format_along(visit: Visit) -> None:
    page = visit.go("rounding?x=464&fmt=float8_e5m2")
    for row in PAGES:
        assert page.get_by_role("link", name=row.title, exact=True).is_visible()  # also on a phone
    entries = page.evaluate("history.length")
    for title, address in (
        ("Anatomy", "anatomy?fmt=float8_e5m2&at=464"), ("Saturation", "x=464"),
        ("Cast & BitCast", "at=464&target=float8_e5m2"),
    ):  # fmt: skip
        visit.choose_page(title)
        visit.address_has(address)
    assert page.get_by_role("textbox", name="Code or number").input_value() == "464"
    assert page.evaluate("history.length") == entries + 3


@BOTH
def test_a_page_that_does_not_exist_is_named(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/nosuchpage?x=3")
    message = page.get_by_role("alert").filter(has_text="The explorer has no page nosuchpage.")
    message.wait_for()
    visit.settle()
    assert message.is_visible()  # no dialog is over it, and the start page does not replace it
    assert page.get_by_role("dialog").count() == 0
    assert "/nosuchpage" in page.url
    assert page.get_by_role("heading", level=1).all_inner_texts() == ["No such page"]
    assert page.get_by_role("listitem").all_inner_texts() == [page.title for page in PAGES]
    visit.choose_page("Rounding")
    page.go_back()
    message.wait_for()
    page.goto(f"{visit.address}/roundign")
    page.get_by_role("link", name="rounding", exact=True).click()  # did you mean
    page.get_by_role("heading", level=1, name="Rounding", exact=True).wait_for()
    for path in ("%3Cb%3Ex", "no%20such", "restart"):  # whatever the name, it is a text
        page.goto(f"{visit.address}/{path}")
        page.get_by_role("alert").filter(has_text=unquote(path)).wait_for()
        assert page.locator("[role=alert] b").count() == 1, path


def test_the_skip_link_leads_past_the_menu(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/anatomy")
    visit.arrive("Anatomy")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('.st-key-menu')") is None
    assert page.url.startswith(f"{visit.address}/anatomy")
    assert "#" not in page.url
    page.emulate_media(media="print")  # one sheet without the menu
    assert page.get_by_role("navigation").count() == 0
    assert page.get_by_role("heading", level=1, name="Anatomy").is_visible()
    assert page.get_by_role("switch").count() == 8
    sheet = page.pdf(format="A4", landscape=True, print_background=True, scale=0.8)
    assert len(re.findall(rb"/Type\s*/Page\b", sheet)) == 1


@pytest.mark.parametrize("visit", [PHONE], indirect=True, ids=["phone"])
@pytest.mark.parametrize(
    ("path", "top"), [("arithmetic", 500), ("compare", 500), ("describe", 600), ("saturation", 300)]
)
def test_a_telephone_shows_the_picture_first(visit: Visit, path: str, top: int) -> None:
    page = visit.go(path)
    box = page.locator(".picture svg, .place > svg").first.bounding_box()
    assert 0 <= box["x"] < box["x"] + box["width"] <= 390
    assert box["y"] < top
    page.wait_for_function(
        """() => {  // the menu scrolls to it
        const entry = document.querySelector('[aria-current=page]').getBoundingClientRect();
        return 0 <= entry.left && entry.right <= 390;
    }""",
        timeout=10_000,
    )
    assert visit.width_is_kept()
