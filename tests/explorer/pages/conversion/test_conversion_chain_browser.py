"""The picture of double rounding in a browser: labels stand at their marks, and a saved one has the page's colours."""

from __future__ import annotations

import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import Visit

pytestmark = pytest.mark.slow

VIEWS = {"wide": {}, "dark": {"dark": True}, "phone": {"phone": True}}
PLACES = """() => {
    const middle = one => { const box = one.getBoundingClientRect(); return (box.left + box.right) / 2; };
    const picture = document.querySelector('.lp-zoom');
    const bars = [...picture.querySelectorAll('.lp-bar')];
    const {left, right} = bars[0].getBoundingClientRect();
    const pairs = [...picture.querySelectorAll('span')].map(label => {
        const text = label.textContent, bar = bars[label.closest('.lp-beam ~ *') ? 1 : 0];
        const kind = label.closest('.lp-tick-labels') ? 'tick' : text.startsWith('midpoint') ? 'tie'
            : label.closest('.lp-above') ? 'ring' : 'diamond';
        const away = [...bar.querySelectorAll('.lp-' + kind)].map(mark => Math.abs(middle(mark) - middle(label)));
        const box = label.getBoundingClientRect();
        return {text, kind, away: Math.min(...away), left: box.left - left, right: right - box.right};
    });
    return pairs;
}"""
"""Of each label its kind of mark, how far the nearest such mark of its bar is, and the room to both ends of the bar."""

COLOURS = """() => Object.fromEntries(Object.entries({
    page: ['.stApp', 'backgroundColor'], bar: ['.lp-zoom .lp-bar', 'backgroundColor'],
    tick: ['.lp-zoom .lp-tick', 'backgroundColor'], beam: ['.lp-zoom .lp-beam', 'backgroundColor'],
    ring: ['.lp-zoom .lp-ring', 'borderTopColor'], box: ['.lp-zoom .lp-winner', 'backgroundColor'],
    result: ['.lp-zoom .lp-winner', 'color'], x: ['.lp-zoom .lp-above', 'color'],
    text: ['.lp-zoom .lp-scale-name', 'color'], legend: ['.lp-zoom dt', 'color'],
}).map(([name, [part, style]]) => [name, getComputedStyle(document.querySelector(part))[style]]))"""


def example(visit: Visit) -> Any:
    """Open the example of double rounding as a visitor does."""
    page = visit.go("")
    page.get_by_role("link", name="Rounded twice").click()
    page.get_by_role("heading", level=1, name="Cast & BitCast").wait_for()
    page.locator(".lp-zoom").wait_for()
    visit.settle()
    return page


@pytest.mark.parametrize("view", VIEWS)
def test_labels_stand_at_their_marks(browser: Any, address: str, view: str) -> None:
    visit = Visit(browser, address, **VIEWS[view])
    if view != "phone":
        visit.page.set_viewport_size({"width": 1280, "height": 900})
    page = example(visit)
    seen = []
    for number in ("1.0039063", "1.0000001", "-3.01", "1e30"):
        box = page.get_by_role("textbox", name="Code or number")
        box.fill(number)
        box.press("Enter")
        visit.address_has(f"at={number}")
        for label in page.evaluate(PLACES):
            is_at_an_end = min(label["left"], label["right"]) < 2  # no nearer, or it would leave the picture
            assert label["away"] <= 1.5 or (is_at_an_end and label["away"] < 60), (number, label)
            assert min(label["left"], label["right"]) >= -1, (number, label)
            if number == "1.0039063" and view != "phone":
                assert label["away"] <= 1.5, label
            seen.append(label["kind"])
    assert Counter(seen)["tick"] >= 16
    assert {"tick", "ring", "diamond", "tie"} == {*seen}
    visit.context.close()


def saved(page: Any, kind: str) -> bytes:
    """Return the file that a button of the picture saves."""
    with page.expect_download() as caught:
        page.get_by_role("button", name=re.compile(f"{kind}: save casts")).click()
    return Path(caught.value.path()).read_bytes()


@pytest.mark.parametrize("view", ["wide", "dark"])
def test_a_saved_picture_has_the_colours_of_the_page(browser: Any, address: str, view: str) -> None:
    image = pytest.importorskip("PIL.Image")
    visit = Visit(browser, address, **VIEWS[view])
    page = example(visit)
    colours = {
        name: tuple(map(int, re.findall(r"\d+", text)[:3])) for name, text in page.evaluate(COLOURS).items()
    }  # fmt: skip
    svg = saved(page, "SVG").decode()
    written = {tuple(bytes.fromhex(text)) for text in re.findall(r'(?:fill|stroke)="#([0-9a-f]{6})"', svg)}
    assert written == set(colours.values())
    assert set(re.findall(r'(?:fill|stroke)="([^"#]*)"', svg)) <= {"none"}
    picture = image.open(io.BytesIO(saved(page, "PNG"))).convert("RGB")
    found = {colour: count for count, colour in picture.getcolors(1 << 24)}
    for name, colour in colours.items():
        assert found.get(colour, 0) >= 20, (name, colour)
    pixels = np.asarray(picture, np.int32)
    pixels = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    inside = pixels[2:-2, 2:-2]
    near = (pixels[4:, 2:-2], pixels[:-4, 2:-2], pixels[2:-2, 4:], pixels[2:-2, :-4])
    flat = inside[np.logical_and.reduce([inside == one for one in near])]  # no blended edge
    areas = {(colour >> 16, colour >> 8 & 255, colour & 255) for colour, count in Counter(flat.tolist()).items()
             if count >= 40}  # fmt: skip
    assert areas <= set(colours.values()), areas - set(colours.values())
    assert {colours["beam"], colours["bar"], colours["box"], colours["page"]} <= areas
    visit.context.close()
