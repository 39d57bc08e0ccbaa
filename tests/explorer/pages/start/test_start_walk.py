"""Start in a browser: a number that is dragged, cards, the lesson; seventeen questions in three actions at most."""

from __future__ import annotations

import io
import re

import numpy as np
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


# ---- questions, each answered by the app alone from its bare address


MOST_ACTIONS = 3
_HAS = """(part, text) => part.textContent.replace(/\\s+/g, '').includes(text.replace(/\\s+/g, ''))"""
_MAIN_HAS = f"text => ({_HAS})(document.querySelector('[data-testid=stMain]'), text)"

QUESTIONS: dict[str, list[tuple[str, ...]]] = {
    "why 448 and not 480": [
        ("link", "Why 448 and not 480"), ("says", "480 would be 0x7F, which is NaN.")],
    "why 465 becomes 448, or NaN": [
        ("link", "465 becomes 448, or NaN"),
        ("says", "465 rounds beyond 448, the largest value of float8_e4m3fn: saturate makes it 448."),
        ("toggle", "saturate"), ("says", "465 → NaN"), ("says", "465 rounds beyond 448"), ("says", "no Inf")],
    "e4m3fn against e4m3fnuz": [
        ("link", "Two float8 that look alike"), ("open", "All facts of the formats"), ("says", "bias ≠ 7 8"),
        ("says", "largest ≠ 448 240"), ("says", "NaN codes ≠ 0x7F, 0xFF 0x80"), ("says", "code of −0 ≠ 0x80 none")],
    "what e8m0 up does to 3": [
        ("link", "A format of powers of two"), ("says", "round_mode up 4 yes"), ("says", "round_mode down 2 yes")],
    "why a cast through float32 differs": [
        ("link", "Rounded twice"),
        ("says", "Through float32 the result is 1 (0x3F80), directly 1.0078125 (0x3F81)"),
        ("says", "float32 rounds x to 1.00390625, the midpoint of two bfloat16 values, and the tie goes to the even "
         "code.")],
    "which block size and format": [
        ("link", "MXFP4 or NVFP4"),
        ("says", "NVFP4 (blocks of 16, 4.516 bits per value): ≈20.46 dB, ≈2.02 dB more than MXFP4 (blocks of 32, rule "
         "floor"),
        ("says", "Of all block sizes, NVFP4 loses least with blocks of 8"), ("choose", "Distribution", "student-t"),
        ("says", "≈20.79 dB, ≈3.42 dB more than MXFP4 (blocks of 32, rule floor")],
    "how many values lie between 1 and 2": [
        ("link", "Anatomy"), ("says", "values v, 1 ≤ v < 2 8, 7 of them above 1")],
    "which byte two int4 make": [
        ("link", "Two int4 in a byte"), ("says", "0x2 0x3 → byte 0x32"), ("type", "Codes or numbers", "0x7 0xA"),
        ("says", "0x7 0xA → byte 0xA7")],
    "4096 ones in bfloat16": [
        ("link", "Arithmetic"),
        ("says", "From step 257 on nothing that is added changes the sum: it stays 256."),
        ("says", "256 + 1 = 257; the neighbours are 256 and 258; tie: the lower neighbour is even")],
    "what stochastic rounding does to that": [
        ("link", "Arithmetic"), ("says", "bfloat16, stochastic: mean of 32 runs 4106.5"), ("says", "exact 4096")],
    "why symmetric int8 loses -128": [
        ("link", "Quantize"), ("open", "Why symmetric int8 loses −128"),
        ("says", "int8 has −128 but no 128, so the scale is the largest |x| over 127, and no number becomes −128."),
        ("drawn", "saturates: 1 becomes 0.9921875")],
    "what a matrix product loses": [
        ("link", "Quantize"), ("open", "Error of a matrix product"),
        ("says", "The product loses about as much as the weights"), ("press", "outlier channels", "radio"),
        ("says", "W is the tensor, its last axis that of the inputs")],
    "what rounding to odd prevents": [
        ("link", "Cast & BitCast"), ("press", "examples"), ("press", "What to-odd prevents"),
        ("says", "Through float32 the result is 1.0078125 (0x3F81), directly the same."),
        ("button", "through float32, by ONNX's Cast: 1"), ("button", "through float32, to odd: 1.0078125")],
    # the tie 1.125 · 2^-14 is 1/9 off
    "the largest relative error of e5m2 in its normal range": [
        ("link", "Errors"), ("choose", "Range", "float8_e5m2: normal range"),
        ("drawn", "at most ≈11.11 %, at ≈6.866e−5")],
    # 0.1 is 0.10009765625 in bfloat16; the neighbours in e5m2 are 0.09375 and 0.109375
    "0.1 through bfloat16 and e5m2": [
        ("link", "Cast & BitCast"), ("press", "examples"), ("press", "0.1 through bfloat16 to e5m2"),
        ("says", "Through bfloat16 the result is 0.09375 (0x2E), directly the same.")],
    # floor(log2 5) less 2, the exponent of 6, is 0: the scale is 2^0, the byte 127; up to 0.25 numbers become 0
    "scale byte and zeros of an MXFP4 block whose largest is 5": [
        ("link", "Quantize"), ("open", "A block byte by byte"), ("press", "Example: largest 5"),
        ("says", "11 of its 32 elements are 0."), ("drawn", "7F")],
    "a tensor of one's own in int4 and NVFP4": [
        ("link", "Quantize"), ("press", "file", "radio"), ("upload", ""),
        ("button", "int4, blocks of 128: row 0, column 0"), ("button", "NVFP4, blocks of 16: row 0, column 0")],
}  # fmt: skip
"""What a visitor does, and what the page then says, as a visitor reads it: blanks and line ends are one."""


class Walk:
    """A visitor who begins at the bare address; every click and every text that is typed is an action."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page, self.actions = visit, visit.go(""), 0

    def act(self, kind: str, name: str, more: str) -> None:
        self.actions += 1
        assert self.actions <= MOST_ACTIONS
        if kind == "link":  # of an example or of the menu
            self.page.get_by_role("link", name=name, exact=True).click()
            self.page.wait_for_url(re.compile("/(?!start)[a-z]+"))
            self.page.locator("summary", has_text="Link").wait_for()
        elif kind == "press":
            self.page.get_by_role(more or "button", name=name, exact=True).first.click()
        elif kind == "open":
            self.page.locator("summary", has_text=name).click()
        elif kind == "toggle":
            self.page.get_by_text(name, exact=True).first.click()
        elif kind == "choose":
            self.page.get_by_role("combobox", name=name).first.click()
            self.page.get_by_role("option", name=more, exact=True).click()
        elif kind == "type":
            self.visit.type(name, more)
        else:
            stream = io.BytesIO()
            np.save(stream, np.arange(1, 257, dtype=np.float32).reshape(2, 128))
            file = {"name": "mine.npy", "mimeType": "application/octet-stream", "buffer": stream.getvalue()}
            self.page.locator("input[type=file]").set_input_files(file)
            return
        self.visit.settle()
        agrees(self.visit)

    def says(self, text: str) -> None:
        """Wait until the page shows a text; a closed disclosure that has it is opened, which is an action."""
        self.page.wait_for_function(_MAIN_HAS, arg=text)
        details = self.page.locator("details:not([open])")
        for place in range(details.count()):
            if details.nth(place).evaluate(_HAS, text):
                self.actions += 1
                assert self.actions <= MOST_ACTIONS
                details.nth(place).locator("summary").first.click()
                return


@pytest.mark.parametrize("question", QUESTIONS)
def test_question(visit: Visit, question: str) -> None:
    walk = Walk(visit)
    for kind, name, *more in QUESTIONS[question]:
        if kind == "says":
            walk.says(name)
        elif kind == "drawn":
            walk.page.get_by_text(name, exact=True).locator("visible=true").first.wait_for()
        elif kind == "button":
            walk.page.get_by_role("button", name=name, exact=False).first.wait_for()
        else:
            walk.act(kind, name, *more or [""])
