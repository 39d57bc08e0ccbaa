"""A browser walks through Saturation from the bare address: drag, type, saturate, opset, a link to Anatomy."""

from __future__ import annotations

from typing import Any

import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow


class Walk:
    """A visitor who enters by the menu; after each action the controls, the picture and the address agree."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        self.page.goto(visit.address)
        link = self.page.get_by_role("link", name="Saturation", exact=True).first
        link.click()
        self.page.locator(".place > svg").wait_for()
        self.settle()

    def settle(self) -> None:
        """Wait until the page is at rest, and compare what it shows with its address and its link."""
        self.visit.settle()
        agrees(self.visit)
        asked = dict(part.split("=") for part in self.page.evaluate("location.search.slice(1)").split("&") if part)
        number = self.page.locator(".st-key-saturation-x input").input_value()
        opset = self.page.locator(".st-key-saturation-opset [aria-checked=true]").inner_text()
        is_on = self.page.get_by_role("switch", name="saturate").is_checked()
        assert (number, opset, is_on) == (
            asked.get("x", "1000"), asked.get("opset", "28"), asked.get("saturate", "1") == "1",
        )  # fmt: skip
        assert self.page.locator("[data-part=number]").text_content() == number.replace("-", "−")

    def type(self, number: str) -> None:
        field = self.page.locator(".st-key-saturation-x input")
        field.fill(number)
        field.press("Enter")
        self.visit.address_has(f"x={number}")
        self.settle()

    def opset(self, number: int) -> None:
        self.page.get_by_role("radio", name=str(number), exact=True).click()
        self.visit.address_has(f"opset={number}")
        self.settle()

    def results(self) -> dict[str, list[str]]:
        """Return what each format makes of the number, Inf and NaN, as the links of the picture say."""
        labels = self.page.locator("svg a").evaluate_all("links => links.map(link => link.getAttribute('aria-label'))")
        found: dict[str, list[str]] = {}
        for label in labels:
            result, name = label.partition(". Open")[0].partition(";")[0].split(" becomes ")[1].split(" in ")
            found.setdefault(name, []).append(result)
        return found

    def seen(self) -> str:
        return str(self.page.locator(".place").inner_text())


@pytest.fixture
def walk(visit: Visit) -> Walk:
    return Walk(visit)


@pytest.mark.parametrize("opset", [19, 23])
def test_1e10_at_opsets_19_and_23(walk: Walk, opset: int) -> None:
    """The menu, the number, the opset: three actions."""
    walk.type("1e10")
    walk.opset(opset)
    found = walk.results()
    assert found["float8_e4m3fn"] == ["448", "448", "NaN"]
    assert found["float8_e4m3fnuz"] == ["240", "NaN", "NaN"]  # Inf becomes 240 at opset 24
    assert found["bfloat16"][0] == "9999220736"
    assert found["int8"][0] == "0"
    assert walk.seen().count("since opset 23") == (opset < 23)
    assert "since opset 28" in walk.seen()


def test_the_number_is_dragged(walk: Walk) -> None:
    page = walk.page
    box = page.locator("[data-drag]").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 105, y, steps=6)  # two decades
    assert page.locator("[data-part=number]").text_content() == "10"
    assert page.locator("[data-part=row0]").first.text_content() == "10"
    assert "x=10" not in page.url.split("&")
    page.mouse.up()
    walk.visit.address_has("x=10")
    walk.settle()
    assert walk.results()["float4_e2m1fn"][0] == "6"
    page.locator("[data-drag]").focus()
    page.keyboard.press("ArrowRight")
    walk.visit.address_has("x=11")
    walk.settle()
    page.go_back()
    walk.settle()


def test_saturate_and_a_result_that_opens_anatomy(walk: Walk) -> None:
    page = walk.page
    assert walk.results()["float8_e4m3fn"] == ["448", "448", "NaN"]
    page.get_by_text("saturate", exact=True).first.click()
    walk.visit.address_has("saturate=0")
    walk.settle()
    assert walk.results()["float8_e4m3fn"] == ["NaN", "NaN", "NaN"]
    assert "becomes NaN" in walk.seen()
    page.locator("svg a[aria-label*='Inf becomes Inf in float8_e5m2.']").click()
    walk.visit.address_has("anatomy?fmt=float8_e5m2&at=0x7C")
    page.go_back()
    page.locator(".place > svg [data-drag]").wait_for()
    walk.settle()


@pytest.mark.parametrize("visit", [{"phone": True}, {"phone": True, "dark": True}], indirect=True)
def test_the_picture_is_on_the_first_screen_of_a_telephone(visit: Visit) -> Any:
    visit.page.goto(f"{visit.address}/saturation")
    picture = visit.page.locator(".place > svg")
    picture.wait_for()
    visit.settle()
    box = picture.bounding_box()
    assert box["y"] < 300
    assert box["width"] <= 358
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= 390
