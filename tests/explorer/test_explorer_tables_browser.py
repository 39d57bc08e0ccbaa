"""Tables in a browser, entered by clicks alone: at 1280 pixels all of each is in sight, on a phone they scroll."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.browser import CHROMIUM, FLAGS, Visit

from lowprec.explorer.pages import PAGES
from lowprec.explorer.pages.start.examples import EXAMPLES

pytest.importorskip("streamlit")

from lowprec.explorer.pages.quantize.page import LABELS

TABLES = """() => [...document.querySelectorAll('table')].filter(table => table.offsetWidth).map(table => {
    let frame = table;
    while (getComputedStyle(frame).overflowX === 'visible') frame = frame.parentElement;
    const [outer, inner] = [frame, table].map(one => one.getBoundingClientRect());
    frame.scrollLeft = frame.scrollWidth;
    const end = table.getBoundingClientRect().right;
    const cut = [...table.querySelectorAll('th, td')].filter(cell => cell.scrollWidth > cell.clientWidth + 1).length;
    frame.scrollLeft = 0;
    const broken = [...table.querySelectorAll('.lp-strip')]
        .filter(bits => bits.textContent.length <= 16 && bits.offsetHeight > 36).length;
    return {
        name: frame.getAttribute('aria-label') ?? '', scrolls: frame.scrollWidth > frame.clientWidth,
        left: outer.left, right: outer.right, table: inner.right, end, cut, broken,
        bar: frame.offsetHeight - frame.clientHeight,
        thumb: getComputedStyle(frame, '::-webkit-scrollbar-thumb').backgroundColor, reached: frame.tabIndex === 0,
    };
})"""
"""Of each table that is shown: the frame that holds it, where both end, before and after it is scrolled to its end."""


PARTS = 3
"""Tests to which the places are dealt out, for several processes."""


@pytest.fixture(scope="module")
def scrolling(browser: Any, address: str) -> Iterator[Visit]:
    """Give a page in a browser that shows scroll bars, which a headless one hides."""
    chromium = browser.browser_type.launch(
        executable_path=CHROMIUM, args=FLAGS, ignore_default_args=["--hide-scrollbars"]
    )
    yield Visit(chromium, address)
    chromium.close()


def entered(visit: Visit, part: int) -> Iterator[str]:
    """Enter pages, their switches of sections, and examples, each by clicks from the bare address."""
    page = visit.go("")
    titles = {page.path: page.title for page in PAGES}
    switches = {"Arithmetic": ["One operation"], "Quantize": [label for label, _ in LABELS.values()]}
    places = [*((title, None) for title in titles.values()), *((None, one) for one in EXAMPLES)]
    for title, example in places[part::PARTS]:
        if example is None:
            visit.choose_page(title)
            yield title
            for name in switches.get(title, []):
                is_text = title == "Quantize"
                (page.get_by_text(name, exact=True) if is_text else page.get_by_role("radio", name=name)).click()
                visit.settle()
                yield f"{title}, {name}"
        else:
            if "/start" not in page.url:
                visit.choose_page("Start")
            page.get_by_role("link", name=example.title).click()
            visit.arrive(titles[example.path])
            yield f"example {example.key}"


WITHOUT_TABLES = {
    "Start", "Anatomy", "Describe a format", "Exercises", "Quantize", "Quantize, Error of a matrix product",
    "Quantize, A block byte by byte", "Quantize, Why symmetric int8 loses −128", "Quantize, A checkpoint as a heat map",
    "example 448", "example subnormal",
}  # fmt: skip
NO_TABLES = re.compile("|".join(["^(Link|Embed)", *(label for label, _ in LABELS.values())]))
"""The disclosures that stay closed: a section of Quantize closes the others, and is a place of its own."""

OPEN = """closed => {
    const summaries = document.querySelectorAll('[data-testid=stExpander] details:not([open]) > summary');
    const found = [...summaries].filter(one => !one.innerText.trim().match(closed));
    const runs = found.filter(one => one.closest('[class*=st-key-more-]'));
    for (const one of found) if (!runs.slice(1).includes(one)) one.click();
    return found.length;
}"""
"""Open disclosures and say how many were closed; of those that run the page one at a time: a click between two runs can
be lost."""

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


def check_wide(table: dict[str, Any], where: str) -> None:
    """At 1280 pixels all of a table is in sight."""
    assert not table["scrolls"], (where, table)
    assert table["table"] <= table["right"] + 1 <= 1280, (where, table)
    assert table["cut"] == table["broken"] == 0, (where, table)


def check_phone(table: dict[str, Any], where: str) -> None:
    """On a phone a table that is wider has a bar, and its end is reached."""
    assert 0 <= table["left"] < table["right"] <= 390, (where, table)
    assert table["end"] <= table["right"] + 1, (where, table)
    assert table["cut"] == table["broken"] == 0, (where, table)
    if table["scrolls"]:
        assert table["reached"], (where, table)
        assert table["bar"] >= 6, (where, table)
        assert table["thumb"] == "rgb(195, 198, 208)", (where, table)  # not only under the pointer


@pytest.mark.parametrize("part", range(PARTS))
def test_no_table_is_cut(scrolling: Visit, part: int) -> None:
    """Every place is entered once and looked at in both widths."""
    visit, page = scrolling, scrolling.page
    page.set_viewport_size(WIDE)
    tables: dict[str, int] = {}
    scrolled: dict[str, set[str]] = {}
    for where in entered(visit, part):
        for _ in range(10):
            if not page.evaluate(OPEN, NO_TABLES.pattern):
                break
            visit.settle()
        assert page.evaluate(OPEN, NO_TABLES.pattern) == 0, where
        folds = page.locator(".lp-fold summary").all() if where == "Compare" else []
        for fold in folds:  # what is folded away is no wider than its column
            fold.click()
        found = page.evaluate(TABLES)
        for table in found:
            check_wide(table, where)
        tables[where] = len(found)
        for fold in folds:
            fold.click()
        page.set_viewport_size(PHONE)
        visit.settle()
        found = page.evaluate(TABLES)
        for table in found:
            check_phone(table, where)
        assert len(found) == tables[where]
        scrolled[where] = {table["name"] for table in found if table["scrolls"]}
        page.set_viewport_size(WIDE)
    assert {where for where, count in tables.items() if not count} <= WITHOUT_TABLES
    assert "The number in each format" in scrolled.get("Compare", {"The number in each format"})


def test_wide_codes_are_wrapped_and_not_cut(scrolling: Visit) -> None:
    """Codes of 64 bits in both halves of Cast & BitCast, chosen in its lists."""
    visit = scrolling
    visit.page.set_viewport_size({"width": 1280, "height": 900})
    page = visit.enter("Cast & BitCast")
    visit.type("Code or number", "0.3")
    for label, name in (("From", "float64"), ("Through", "float32"), ("To", "float64")):
        visit.type(label, name, "combobox")
        visit.address_has(name)
    tables = page.evaluate(TABLES)
    assert {"Readings", "Neighbours in float64 of the float32 value"} <= {table["name"] for table in tables}
    for table in tables:
        check_wide(table, "64 bits")
