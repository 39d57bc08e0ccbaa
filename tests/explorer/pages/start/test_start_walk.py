"""Start in a browser: a number dragged by the mouse and by keys, the formats, a card, and the strip on its page."""

from __future__ import annotations

import pytest
from support.browser import Visit
from support.explorer_controls import agrees

NUMBER, LIT = ".picture text[data-part=x]", ".picture .lit.here"


def test_the_number_is_dragged_and_its_bits_follow(visit: Visit) -> None:
    page = visit.go("")
    pill = page.get_by_role("slider", name="Number")
    assert pill.get_attribute("aria-valuetext") == "2.6"
    box = pill.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tenth = (1152 - 2 * 14) / 160
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 10 * tenth, y, steps=4)
    assert page.locator(NUMBER).first.text_content() == "1.6"  # before the server knows
    assert page.locator(".picture text[data-part=value]").text_content() == "1.5"
    assert [page.locator(f".picture text[data-part=bit{n}]").text_content() for n in range(4)] == list("0011")
    assert page.locator(LIT).count() == 3
    page.mouse.up()
    agrees(visit, "x=1.6")
    for key, text in (("ArrowLeft", "1.5"), ("ArrowRight", "1.6"), ("Home", "-8"), ("End", "8"), ("PageDown", "7")):
        page.get_by_role("slider", name="Number").press(key)
        agrees(visit, f"x={text}&")
        assert page.get_by_role("slider", name="Number").get_attribute("aria-valuetext") == text.replace("-", "−")
    assert page.locator(".picture text[data-part=away]").text_content() == "1 away"  # 6 is the largest value


def test_another_format_has_other_marks(visit: Visit) -> None:
    page = visit.go("")
    page.get_by_role("radio", name="e4m3", exact=True).click()
    agrees(visit, "fmt=float8_e4m3fn")
    assert page.locator(".picture text[data-part=value]").text_content() == "2.5"
    assert page.get_by_text("float8_e4m3fn: 253 numbers, up to 448").is_visible()


def test_a_card_opens_its_page_with_a_strip_that_leads_on(visit: Visit) -> None:
    page = visit.go("")
    page.get_by_role("link", name="Why 448 and not 480", exact=True).click()
    visit.address_has("/anatomy?")
    strip = page.locator(".lp-strip-example")
    assert "1 of 10" in strip.inner_text()
    strip.get_by_role("link", name="next: 465 becomes 448, or NaN").click()
    visit.address_has("/rounding?")
    visit.settle()
    assert "2 of 10" in strip.inner_text()
    page.get_by_role("link", name="Saturation", exact=True).click()
    visit.address_has("/saturation")
    assert strip.count() == 0


@pytest.mark.parametrize("visit", [{"phone": True}], indirect=True)
def test_the_picture_is_on_the_first_screen_of_a_telephone(visit: Visit) -> None:
    page = visit.go("")
    box = page.locator(".picture svg").first.bounding_box()
    assert box["y"] + box["height"] <= 844
    cards = [card.bounding_box() for card in page.locator(".cards a").all()]
    assert len(cards) == 10
    assert len({card["x"] for card in cards if card}) <= 2  # in a row


def test_the_lesson_is_gone_through_by_keys_without_a_run(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/?classroom=1")
    title = page.locator(".slides h1")
    title.get_by_text("465 is not a value of float8_e4m3fn.").wait_for()
    visit.settle()
    said = []
    for key in ("ArrowRight", "ArrowRight", "s", "s", "f", "f", "ArrowLeft"):
        page.keyboard.press(key)
        said.append((title.inner_text(), page.locator(".slides .join code").inner_text()[-1]))
    nan, saturated = ("480 is nearer. But its code is NaN.", "3"), ("With saturate 465 becomes 448.", "4")
    other, distances = ("The next value is 512: 465 becomes 448.", "5"), ("17 to 448, 15 to 480.", "2")
    assert said == [distances, nan, saturated, nan, other, nan, distances]
    assert page.url.endswith("/start?classroom=1&step=2")
    colours = {page.locator(".slides").evaluate("one => getComputedStyle(one).backgroundColor")}
    page.keyboard.press("d")
    colours.add(page.locator(".slides").evaluate("one => getComputedStyle(one).backgroundColor"))
    assert colours == {"rgb(255, 255, 255)", "rgb(20, 22, 28)"}
    page.keyboard.press("Escape")
    visit.address_has("/rounding?x=465")
    assert page.locator(".slides").count() == 0


def test_a_step_is_opened_by_its_link_and_a_wrong_one_is_told(visit: Visit) -> None:
    page = visit.page
    for step, sentence, problem in (
        ("4", "With saturate 465 becomes 448.", ""),
        ("9", "465 is not a value of float8_e4m3fn.", "step must be a number from 1 to 5. The first is shown."),
    ):
        page.goto(f"{visit.address}/start?classroom=1&step={step}")
        page.locator(".slides h1").get_by_text(sentence).wait_for()
        assert page.locator(".slides .problem").inner_text() == problem
        visit.settle()
