"""The explorer in a browser: clicks on bits, keys, links, the dark scheme, a phone, no errors, no outside request."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

from lowprec.explorer.pages import PAGES

pytestmark = pytest.mark.slow


def bits(page: Any) -> str:
    page.get_by_role("switch").first.wait_for()
    return "".join(page.get_by_role("switch").locator("text").all_text_contents())


def shown(visit: Visit, text: str) -> None:
    visit.page.get_by_text(text, exact=True).first.wait_for(state="attached")  # also in a closed disclosure


def test_the_bare_address_leads_to_the_start_page(visit: Visit) -> None:
    page = visit.go("")
    assert "/start" in page.url
    assert page.get_by_role("heading", level=1).inner_text() == "A number format is a ruler"


@pytest.mark.parametrize("visit", [{}, {"phone": True, "dark": True}], indirect=True, ids=["wide", "phone"])
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
    page.get_by_role("link", name="Rounding", exact=True).click()
    page.get_by_role("heading", level=1, name="Rounding", exact=True).wait_for()
    visit.settle()
    page.go_back()
    message.wait_for()
    page.goto(f"{visit.address}/roundign")
    page.get_by_role("link", name="rounding", exact=True).click()  # did you mean
    page.get_by_role("heading", level=1, name="Rounding", exact=True).wait_for()


def test_whatever_the_name_of_a_page_it_is_a_text(visit: Visit) -> None:
    for path in ("%3Cb%3Ex", "no%20such", "restart"):
        visit.page.goto(f"{visit.address}/{path}")
        visit.page.get_by_role("alert").filter(has_text=unquote(path)).wait_for()
        assert visit.page.locator("[role=alert] b").count() == 1, path


@pytest.mark.parametrize("visit", [{}, {"phone": True}], indirect=True, ids=["wide", "phone"])
def test_the_example_of_packing_opens_with_its_byte_in_sight(visit: Visit) -> None:
    page = visit.page
    if page.viewport_size["width"] > 390:
        page.set_viewport_size({"width": 1280, "height": 900})
    height = page.viewport_size["height"]
    byte = page.get_by_text("byte 0 = 0x32", exact=True)

    def is_in_sight() -> bool:
        byte.wait_for()
        page.wait_for_timeout(1000)  # what is drawn later moves nothing out of sight
        visit.settle()
        boxes = [part.bounding_box() for part in (page.get_by_role("heading", name="Packing"), byte)]
        return all(0 <= box["y"] < box["y"] + box["height"] <= height for box in boxes)

    visit.go("")
    page.get_by_role("link", name="Two int4 in a byte").click()
    assert is_in_sight()
    page.goto(page.url)  # the link itself
    assert is_in_sight()
    page.get_by_role("textbox", name="Codes or numbers").fill("0x2 0x3 0x4")
    page.get_by_role("textbox", name="Codes or numbers").press("Enter")
    page.get_by_text("byte 1 = 0x04", exact=True).wait_for()
    assert is_in_sight()


def test_a_click_flips_a_bit(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x2a")
    page.get_by_role("switch", name="sign bit 7").click()
    assert bits(page) == "10101010"  # at once
    assert page.locator("[data-part=code]").text_content() == "0xAA = 170"  # at once, from the table
    assert page.locator("[data-part=value]").text_content() == "−0.3125"
    visit.address_has("at=0xAA")
    agrees(visit)
    assert page.get_by_role("switch", name="sign bit 7").get_attribute("aria-checked") == "true"


def test_eight_rapid_clicks_all_count(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x00")
    page.evaluate(  # within one turn: no answer of the server can come between
        """() => {
            const roots = [...document.querySelectorAll('*')].map(element => element.shadowRoot);
            const root = roots.find(found => found?.querySelector('.picture [data-bit]'));
            for (const bit of root.querySelectorAll('[data-bit]')) bit.dispatchEvent(new MouseEvent('click'));
        }"""
    )
    assert bits(page) == "11111111"
    for button in page.get_by_role("switch").all():  # and eight more, as fast as a hand never is
        button.click()
    page.get_by_role("switch").first.click()
    assert bits(page) == "10000000"
    visit.address_has("at=0x80")
    agrees(visit)
    assert bits(page) == "10000000"


def test_a_format_is_typed_in_the_list(visit: Visit) -> None:
    page = visit.go("rounding?x=0.3&opset=23")
    box = page.get_by_role("combobox", name="Format")
    box.fill("E4M3, bias=8, nan=negative-zero, inf=0")
    box.press("Enter")
    visit.address_has("fmt=e4m3,bias=8,inf=0,nan=negative-zero&saturate=1&opset=28")
    message = "None: ONNX has no number for e4m3,bias=8,inf=0,nan=negative-zero."
    page.get_by_text(message).wait_for(state="attached")  # in a closed disclosure
    box.fill("e9m30")
    box.press("Enter")
    page.get_by_role("alert").filter(has_text="a code of 2 to 32 bits").wait_for()
    visit.settle()
    visit.address_has("fmt=e4m3,bias=8,inf=0,nan=negative-zero")  # it stays
    assert box.input_value() == "e4m3,bias=8,inf=0,nan=negative-zero"
    page.get_by_role("link", name="Anatomy", exact=True).click()
    page.get_by_role("switch", name="sign bit 7").wait_for()
    assert len(bits(page)) == 8


def test_dragging_paints_bits(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x00")
    page.get_by_role("switch").nth(7).wait_for()
    boxes = [button.bounding_box() for button in page.get_by_role("switch").all()]
    page.mouse.move(boxes[2]["x"] + 5, boxes[2]["y"] + 5)
    page.mouse.down()
    for box in boxes[3:7]:
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5, steps=4)
    page.mouse.up()
    page.mouse.move(boxes[7]["x"] + 5, boxes[7]["y"] + 5)
    assert bits(page) == "00111110"
    visit.address_has("at=0x3E")
    agrees(visit)


def test_keys_alone(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x7e")
    page.get_by_role("switch").first.focus()
    page.keyboard.press("Space")
    assert bits(page) == "11111110"
    page.keyboard.press("End")
    page.keyboard.press("Space")
    assert bits(page) == "11111111"
    page.keyboard.press("ArrowUp")
    assert bits(page) == "00000000"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert bits(page) == "11111101"
    visit.address_has("at=0xFD")
    agrees(visit)
    codes = page.get_by_role("group", name="Codes")
    codes.get_by_role("button", pressed=True, name="FD").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    visit.address_has("at=0xEC")
    agrees(visit)
    assert bits(page) == "11101100"


def test_every_control_is_reached_by_tab(visit: Visit) -> None:
    page = visit.go("anatomy")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(
            """() => {
                let at = document.activeElement;
                while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
                return at.getAttribute('aria-label') || at.innerText;
            }"""
        ))  # fmt: skip
    text = "|".join(sorted(filter(None, reached)))
    for name in ("Anatomy", "Rounding", "bit 7", "previous", "Table of codes", "0x2A"):
        assert name in text, name


def test_the_grid_selects(visit: Visit) -> None:
    page = visit.go("anatomy?fmt=float4_e2m1fn&at=0x1")
    page.get_by_role("group", name="Codes").get_by_role("button").nth(7).click()
    shown(visit, "0x7 = 7")
    assert bits(page) == "0111"
    visit.open("Table of codes")
    page.get_by_role("group", name="Table of codes").get_by_role("button").nth(9).click()
    shown(visit, "0x9 = 9")
    assert bits(page) == "1001"


def test_the_table_stays_open_in_a_format_of_another_width(visit: Visit) -> None:
    page = visit.go("anatomy")
    visit.open("Table of codes")
    for name, title in (("float16", "Codes nearby, float16"), ("float6_e2m3fn", "All codes, float6_e2m3fn")):
        box = page.get_by_role("combobox", name="Format", exact=False)
        box.fill(name)
        box.press("Enter")
        visit.address_has(f"fmt={name}")
        page.get_by_text(title, exact=True).locator("visible=true").wait_for()


def test_a_link_restores_a_page_and_back_goes_back(visit: Visit) -> None:
    page = visit.go("rounding?x=464&fmt=float8_e4m3fn&saturate=0&opset=23&line=binades")
    assert page.get_by_role("textbox", name="Number").input_value() == "464"
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="largest + 1 step").click()
    visit.address_has("x=480")
    page.keyboard.press("Escape")
    visit.open("Link and code")
    page.locator("code", has_text="x=480").first.wait_for()
    copied = page.locator("code").first.inner_text()
    assert "saturate=0" in copied
    other = Visit(page.context.browser, visit.address)
    assert (
        other.go(copied.removeprefix(visit.address + "/")).get_by_role("textbox", name="Number").input_value() == "480"
    )
    other.context.close()
    page.go_back()
    page.wait_for_function("() => document.querySelector('input[type=text]').value === '464'")


@pytest.mark.parametrize("visit", [{"phone": True}, {}], indirect=True, ids=["phone", "wide"])
def test_the_menu_takes_the_number_and_the_format_along(visit: Visit) -> None:
    page = visit.go("rounding?x=464&fmt=float8_e5m2")
    for row in PAGES:
        assert page.get_by_role("link", name=row.title, exact=True).is_visible()  # also on a phone
    entries = page.evaluate("history.length")
    page.get_by_role("link", name="Anatomy", exact=True).click()
    visit.address_has("anatomy?fmt=float8_e5m2&at=464")
    shown(visit, "0x5F = 95")  # 448: 464 is no value of it
    page.get_by_role("link", name="Saturation", exact=True).click()
    page.get_by_role("heading", name="Saturation", exact=True).wait_for()
    page.get_by_role("link", name="Cast & BitCast", exact=True).click()
    visit.address_has("at=464&target=float8_e5m2")
    visit.settle()
    assert page.get_by_role("textbox", name="Code or number").input_value() == "464"
    assert page.evaluate("history.length") == entries + 3


def test_the_table_is_downloaded_at_every_click(visit: Visit) -> None:
    page = visit.go("anatomy?fmt=float4_e2m1fn&at=0x1")
    visit.open("Table of codes")
    for _ in range(12):
        with page.expect_download() as caught:
            page.get_by_role("button", name="CSV").click()
        lines = caught.value.path().read_text(encoding="utf-8").splitlines()
        assert lines[0] == "code,bits,class,value,hex_float"
        assert len(lines) == 17
        visit.settle()  # the click's run is over: one that the next click cuts short would drop the file


@pytest.mark.parametrize("visit", [{"phone": True}], indirect=True)
def test_a_table_that_goes_on_shows_it(visit: Visit) -> None:
    page = visit.go("rounding")
    visit.open("All values and codes as a table")
    table = page.get_by_role("region", name="All rounding modes")
    assert table.evaluate("table => table.scrollWidth > table.clientWidth")
    assert table.evaluate("table => getComputedStyle(table).backgroundAttachment") == "local, local, scroll, scroll"
    right = table.get_by_role("columnheader", name="value").bounding_box()
    assert right["x"] + right["width"] <= 390  # what matters most is in sight
    chances = page.get_by_role("region", name="Stochastic roundings")
    right = chances.get_by_role("columnheader", name="P(upper)").bounding_box()
    assert right["x"] + right["width"] <= 390


def test_a_refused_file_ends_the_page(visit: Visit) -> None:
    page = visit.page
    page.goto(f"{visit.address}/quantize?origin=file")
    page.get_by_text("Choose a file to go on").wait_for()
    page.get_by_text("4MB per file").wait_for()
    page.locator("input[type=file]").set_input_files(
        {"name": "w.npy", "mimeType": "application/octet-stream", "buffer": b"PK"}
    )
    page.get_by_role("alert").filter(has_text="the file").wait_for()
    visit.settle()
    assert page.locator("summary", has_text="Link").count() == 0


def test_a_bad_link_shows_a_message(visit: Visit) -> None:
    page = visit.go("saturation?opset=3&fmt=%3Cscript%3E")
    page.get_by_role("alert").filter(has_text="must be a whole number from 19 to 28").wait_for()
    assert page.locator("script:text('alert')").count() == 0


def test_a_cell_of_saturation_opens_anatomy(visit: Visit) -> None:
    page = visit.go("saturation?opset=23")
    visit.open("The tables of Cast")
    page.get_by_role("link", name="80 -nan").first.click()
    shown(visit, "0x80 = 128")
    page.get_by_role("switch").first.wait_for()
    assert bits(page) == "10000000"


@pytest.mark.parametrize("visit", [{"dark": True}], indirect=True)
def test_dark_by_the_systems_choice(visit: Visit) -> None:
    page = visit.go("anatomy")
    assert page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor") == "rgb(20, 22, 28)"
    button = page.get_by_role("switch").first
    assert button.evaluate("button => getComputedStyle(button.querySelector('rect')).fill") == "rgb(74, 35, 18)"
