"""The history in a browser: steps are one entry, decisions one each; links and menu do not load the app again."""

from __future__ import annotations

from typing import Any

from support.browser import Visit


def shows(visit: Visit, code: str) -> None:
    visit.page.wait_for_function(
        """code => [...document.querySelectorAll('*')].map(element => element.shadowRoot).some(root => root
            && [...root.querySelectorAll('[role=switch] text')].map(text => text.textContent).join('') === code)""",
        arg=code,
    )


def entries(page: Any) -> int:
    return int(page.evaluate("history.length"))


def test_back_and_forward_step_through_decisions(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x2a")
    visit.open("Table of codes")
    before = entries(page)
    for click in range(20):
        page.get_by_role("switch").nth(click % 8).click()
    visit.address_has("at=0xDA")  # the upper four bits were flipped three times, the others twice
    visit.settle()
    assert entries(page) == before + 1
    page.get_by_role("radio", name="exact").click()
    visit.address_has("show=exact")
    page.get_by_role("button", name="previous").click()
    visit.address_has("at=0xDB")
    page.get_by_role("button", name="previous").click()
    visit.address_has("at=0xDC")
    visit.settle()
    assert entries(page) == before + 3
    for code, rest in (("11011010", "show=exact"), ("11011010", "at=0xDA&show=decimal"), ("00101010", "at=0x2a")):
        page.go_back()
        visit.address_has(rest)
        shows(visit, code)
    page.go_forward()
    shows(visit, "11011010")
    visit.address_has("at=0xDA&show=decimal")
    visit.settle()
    page.get_by_role("switch").last.click()  # goes on with the steps of this entry
    visit.address_has("at=0xDB&show=decimal")
    page.go_back()
    shows(visit, "00101010")


def test_a_typed_code_is_an_entry_of_its_own(visit: Visit) -> None:
    page = visit.go("anatomy?at=0x2a")
    before = entries(page)
    page.get_by_role("switch").first.click()
    visit.address_has("at=0xAA")
    visit.type("Code or number", "0x11")
    visit.address_has("at=0x11")
    page.get_by_role("group", name="Codes").get_by_role("button").nth(7).click()
    visit.address_has("at=0x07")
    page.get_by_role("group", name="Codes").get_by_role("button").nth(8).click()
    visit.address_has("at=0x08")
    assert entries(page) == before + 3
    page.go_back()
    shows(visit, "00010001")
    page.go_back()
    shows(visit, "10101010")


def test_a_slider_makes_one_entry(visit: Visit) -> None:
    page = visit.go("quantize?show=result&block=32")
    before = entries(page)
    page.get_by_role("slider", name="Block size").focus()
    for block in (33, 34, 35):
        page.keyboard.press("ArrowRight")
        visit.address_has(f"block={block}")
    assert entries(page) == before + 1
    page.go_back()
    page.wait_for_function("document.querySelector('input[type=range]').value === '32'")


def test_links_do_not_load_the_app_again(visit: Visit) -> None:
    page = visit.go("rounding?x=464&saturate=0&opset=23")
    page.evaluate("window.sameDocument = true")
    visit.open("All values and codes as a table")
    page.locator(".lp-open").get_by_role("link", name="Cast & BitCast").click()
    visit.address_has("conversion?source=float32&at=464&target=float8_e4m3fn&saturate=0&round_mode=up&opset=23")
    page.get_by_role("heading", level=1, name="Cast & BitCast", exact=True).wait_for()
    visit.open("Each cast step by step")
    page.locator(".lp-open").get_by_role("link", name="Anatomy").click()
    shows(visit, "01111110")  # 448: 464 is no value of it
    visit.settle()
    page.go_back()
    page.get_by_role("heading", level=1, name="Cast & BitCast", exact=True).wait_for()
    assert page.evaluate("window.sameDocument")


def test_back_from_the_bare_address_leaves(visit: Visit) -> None:
    visit.go("saturation")
    page = visit.go("")
    page.go_back()
    page.get_by_role("heading", level=1, name="Saturation").wait_for()
    page.go_forward()
    page.get_by_role("heading", level=1, name="A number format is a ruler").wait_for()
