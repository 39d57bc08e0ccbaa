"""Anatomy in a browser: bits by clicks, by dragging and by keys, the codes nearby, the table and its file."""

from __future__ import annotations

from support.browser import Visit
from support.explorer_controls import agrees

CLICK_ALL = """() => {
    const roots = [...document.querySelectorAll('*')].map(element => element.shadowRoot);
    const root = roots.find(found => found?.querySelector('.picture [data-bit]'));
    for (const bit of root.querySelectorAll('[data-bit]')) bit.dispatchEvent(new MouseEvent('click'));
}"""
"""Within one turn: no answer of the server can come between."""

FOCUSED = """() => {
    let at = document.activeElement;
    while (at.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at.getAttribute('aria-label') || at.innerText;
}"""


def test_bits_by_the_mouse(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x2a")
    page.get_by_role("switch", name="sign bit 7").click()
    assert visit.bits() == "10101010"  # at once, from the table
    assert page.locator("[data-part=code]").text_content() == "0xAA = 170"
    assert page.locator("[data-part=value]").text_content() == "−0.3125"
    agrees(visit, "at=0xAA")
    assert page.get_by_role("switch", name="sign bit 7").get_attribute("aria-checked") == "true"
    visit.type("Code or number", "0x00")
    visit.address_has("at=0x00")
    page.evaluate(CLICK_ALL)
    assert visit.bits() == "11111111"
    for button in page.get_by_role("switch").all():  # and eight more, as fast as a hand never is
        button.click()
    page.get_by_role("switch").first.click()
    assert visit.bits() == "10000000"
    agrees(visit, "at=0x80")
    boxes = [button.bounding_box() for button in page.get_by_role("switch").all()]
    page.mouse.move(boxes[2]["x"] + 5, boxes[2]["y"] + 5)
    page.mouse.down()
    for box in boxes[3:7]:
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 5, steps=4)
    page.mouse.up()
    page.mouse.move(boxes[7]["x"] + 5, boxes[7]["y"] + 5)
    assert visit.bits() == "10111110"
    agrees(visit, "at=0xBE")


def test_keys_alone(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x7e")
    page.get_by_role("switch").first.focus()
    for keys, bits in (
        ("Space", "11111110"), ("End Space", "11111111"), ("ArrowUp", "00000000"),
        ("ArrowDown ArrowLeft Enter", "11111101"),
    ):  # fmt: skip
        for key in keys.split():
            page.keyboard.press(key)
        assert visit.bits() == bits
    agrees(visit, "at=0xFD")
    page.get_by_role("group", name="Codes").get_by_role("button", pressed=True, name="FD").focus()
    for key in ("ArrowUp", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    agrees(visit, "at=0xEC")
    assert visit.bits() == "11101100"
    page.reload()
    visit.arrive("Anatomy")
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(FOCUSED))
    text = "|".join(sorted(filter(None, reached)))
    for name in ("Anatomy", "Rounding", "bit 7", "previous", "Table of codes", "0xEC"):
        assert name in text, name


def test_the_table_of_codes(visit: Visit) -> None:
    """Its cells select; each click downloads it; it stays open in a format of another width, where it is another."""
    page = visit.go("anatomy?fmt=float4_e2m1fn&at=0x1")
    for group, place, bits in (("Codes", 7, "0111"), ("Table of codes", 9, "1001")):
        if group != "Codes":
            visit.open(group)
        page.get_by_role("group", name=group, exact=True).get_by_role("button").nth(place).click()
        agrees(visit, f"at=0x{place}")
        assert visit.bits() == bits
    for _ in range(12):
        with page.expect_download() as caught:
            page.get_by_role("button", name="CSV").click()
        lines = caught.value.path().read_text(encoding="utf-8").splitlines()
        assert (lines[0], len(lines)) == ("code,bits,class,value,hex_float", 17)
        visit.settle()  # the click's run is over: one that the next click cuts short would drop the file
    for name, title in (("float16", "Codes nearby, float16"), ("float6_e2m3fn", "All codes, float6_e2m3fn")):
        visit.type("Format", name, "combobox", exact=False)
        visit.address_has(f"fmt={name}")
        page.get_by_text(title, exact=True).locator("visible=true").wait_for()
