"""Saturation in a browser, from the bare address: drag, type, saturate, opset, a link to Anatomy."""

from __future__ import annotations

from support.browser import Visit
from support.explorer_controls import agrees


def results(visit: Visit) -> dict[str, list[str]]:
    """Return what each format makes of the number, Inf and NaN, as the links of the picture say."""
    found: dict[str, list[str]] = {}
    for link in visit.page.locator("svg a").all():
        label = link.get_attribute("aria-label")
        result, name = label.partition(". Open")[0].partition(";")[0].split(" becomes ")[1].split(" in ")
        found.setdefault(name, []).append(result)
    return found


def agree(visit: Visit, address: str, number: str) -> None:
    """Check that the controls, the address and the picture have the same number."""
    agrees(visit, address)
    assert visit.page.locator("[data-part=number]").text_content() == number


def test_the_number_and_the_opset(visit: Visit) -> None:
    """1e10 at opset 19 takes the menu, the number, the opset: three actions."""
    page = visit.enter("Saturation")
    field = page.locator(".st-key-saturation-x input")
    field.fill("1e10")
    field.press("Enter")
    agree(visit, "x=1e10", "1e10")
    for opset in (19, 23):
        page.get_by_role("radio", name=str(opset), exact=True).click()
        agree(visit, f"opset={opset}", "1e10")
        found = results(visit)
        assert found["float8_e4m3fn"] == ["448", "448", "NaN"]
        assert found["float8_e4m3fnuz"] == ["240", "NaN", "NaN"]  # Inf becomes 240 at opset 24
        assert (found["bfloat16"][0], found["int8"][0]) == ("9999220736", "0")
        seen = page.locator(".place").inner_text()
        assert seen.count("since opset 23") == (opset < 23)
        assert "since opset 28" in seen


def test_the_number_is_dragged(visit: Visit) -> None:
    page = visit.enter("Saturation")
    box = page.locator("[data-drag]").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 105, y, steps=6)  # two decades
    assert page.locator("[data-part=number]").text_content() == "10"
    assert page.locator("[data-part=row0]").first.text_content() == "10"
    assert "x=10" not in page.url.split("&")
    page.mouse.up()
    agree(visit, "x=10", "10")
    assert results(visit)["float4_e2m1fn"][0] == "6"
    page.locator("[data-drag]").focus()
    page.keyboard.press("ArrowRight")
    agree(visit, "x=11", "11")
    page.go_back()
    visit.settle()
    agrees(visit)


def test_saturate_and_a_result_that_opens_anatomy(visit: Visit) -> None:
    page = visit.enter("Saturation")
    assert results(visit)["float8_e4m3fn"] == ["448", "448", "NaN"]
    page.get_by_text("saturate", exact=True).first.click()
    agree(visit, "saturate=0", "1000")
    assert results(visit)["float8_e4m3fn"] == ["NaN", "NaN", "NaN"]
    assert "becomes NaN" in page.locator(".place").inner_text()
    page.locator("svg a[aria-label*='Inf becomes Inf in float8_e5m2.']").click()
    visit.address_has("anatomy?fmt=float8_e5m2&at=0x7C")
    page.go_back()
    page.locator(".place > svg [data-drag]").wait_for()
    visit.settle()
    agree(visit, "saturate=0", "1000")
