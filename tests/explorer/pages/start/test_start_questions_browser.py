"""Fifteen questions, each answered by the app alone in at most three actions from its bare address."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from support.agreeing_controls import agrees
from support.browser import Visit

pytestmark = pytest.mark.slow

MOST_ACTIONS = 3
_HAS = """(part, text) => part.textContent.replace(/\\s+/g, '').includes(text.replace(/\\s+/g, ''))"""


class Walk:
    """A visitor who begins at the bare address and counts every click and every text that is typed."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page, self.actions = visit, visit.go(""), 0

    def _act(self) -> None:
        self.actions += 1
        assert self.actions <= MOST_ACTIONS

    def link(self, name: str) -> None:
        """Click a link, of an example or of the menu."""
        self._act()
        self.page.get_by_role("link", name=name, exact=True).click()
        self.page.wait_for_url(re.compile("/(?!start)[a-z]+"))
        self.page.locator("summary", has_text="Link").wait_for()
        self.visit.settle()
        agrees(self.visit)

    def press(self, name: str, role: str = "button") -> None:
        """Click a button, or a switch."""
        self._act()
        self.page.get_by_role(role, name=name, exact=True).first.click()
        self.visit.settle()
        agrees(self.visit)

    def open(self, label: str) -> None:
        """Open a disclosure."""
        self._act()
        self.page.locator("summary", has_text=label).click()
        self.visit.settle()
        agrees(self.visit)

    def toggle(self, label: str) -> None:
        """Turn a switch by its label."""
        self._act()
        self.page.get_by_text(label, exact=True).first.click()
        self.visit.settle()
        agrees(self.visit)

    def choose(self, label: str, option: str) -> None:
        """Choose from a list."""
        self._act()
        self.page.get_by_role("combobox", name=label).first.click()
        self.page.get_by_role("option", name=option, exact=True).click()
        self.visit.settle()
        agrees(self.visit)

    def type(self, label: str, text: str) -> None:
        """Type into a field."""
        self._act()
        field = self.page.get_by_label(label, exact=True).first
        field.fill(text)
        field.press("Enter")
        self.visit.settle()
        agrees(self.visit)

    def says(self, text: str) -> None:
        """Wait until the page shows a text, as a visitor reads it: blanks and line ends are one.

        A closed disclosure that has it is opened, which is an action.
        """
        self.page.wait_for_function(f"text => ({_HAS})(document.querySelector('[data-testid=stMain]'), text)", arg=text)
        details = self.page.locator("details:not([open])")
        for place in range(details.count()):
            if details.nth(place).evaluate(_HAS, text):
                self._act()
                details.nth(place).locator("summary").first.click()
                return


@pytest.fixture
def walk(visit: Visit) -> Walk:
    return Walk(visit)


def test_why_448_and_not_480(walk: Walk) -> None:
    walk.link("Why 448 and not 480")
    walk.says("480 would be 0x7F, which is NaN.")


def test_why_465_becomes_448_or_nan(walk: Walk) -> None:
    walk.link("465 becomes 448, or NaN")
    walk.says("465 rounds beyond 448, the largest value of float8_e4m3fn: saturate makes it 448.")
    walk.toggle("saturate")
    walk.says("465 → NaN")
    walk.says("465 rounds beyond 448")
    walk.says("no Inf")


def test_e4m3fn_against_e4m3fnuz(walk: Walk) -> None:
    walk.link("Two float8 that look alike")
    walk.open("All facts of the formats")
    for fact in ("bias ≠ 7 8", "largest ≠ 448 240", "NaN codes ≠ 0x7F, 0xFF 0x80", "code of −0 ≠ 0x80 none"):
        walk.says(fact)


def test_what_e8m0_up_does_to_3(walk: Walk) -> None:
    walk.link("A format of powers of two")
    walk.says("round_mode up 4 yes")
    walk.says("round_mode down 2 yes")


def test_why_a_cast_through_float32_differs(walk: Walk) -> None:
    walk.link("Rounded twice")
    walk.says("Through float32 the result is 1 (0x3F80), directly 1.0078125 (0x3F81)")
    walk.says("float32 rounds x to 1.00390625, the midpoint of two bfloat16 values, and the tie goes to the even code.")


def test_which_block_size_and_format(walk: Walk) -> None:
    walk.link("MXFP4 or NVFP4")
    walk.says(
        "NVFP4 (blocks of 16, 4.516 bits per value): ≈20.46 dB, ≈2.02 dB more than MXFP4 (blocks of 32, rule floor"
    )
    walk.says("Of all block sizes, NVFP4 loses least with blocks of 8")
    walk.choose("Distribution", "student-t")
    walk.says("≈20.79 dB, ≈3.42 dB more than MXFP4 (blocks of 32, rule floor")


def test_how_many_values_lie_between_1_and_2(walk: Walk) -> None:
    walk.link("Anatomy")
    walk.says("values v, 1 ≤ v < 2 8, 7 of them above 1")


def test_which_byte_two_int4_make(walk: Walk) -> None:
    walk.link("Two int4 in a byte")
    walk.says("0x2 0x3 → byte 0x32")
    walk.type("Codes or numbers", "0x7 0xA")
    walk.says("0x7 0xA → byte 0xA7")


def test_4096_ones_in_bfloat16(walk: Walk) -> None:
    walk.link("Arithmetic")
    walk.says("From step 257 on nothing that is added changes the sum: it stays 256.")
    walk.says("256 + 1 = 257; the neighbours are 256 and 258; tie: the lower neighbour is even")


def test_what_stochastic_rounding_does_to_that(walk: Walk) -> None:
    walk.link("Arithmetic")
    walk.says("bfloat16, stochastic: mean of 32 runs 4106.5")
    walk.says("exact 4096")


def test_why_symmetric_int8_loses_128(walk: Walk) -> None:
    walk.link("Quantize")
    walk.open("Why symmetric int8 loses −128")
    walk.says("int8 has −128 but no 128, so the scale is the largest |x| over 127, and no number becomes −128.")
    walk.page.get_by_text("saturates: 1 becomes 0.9921875").locator("visible=true").first.wait_for()


def test_what_a_matrix_product_loses(walk: Walk) -> None:
    walk.link("Quantize")
    walk.open("Error of a matrix product")
    walk.says("The product loses about as much as the weights")
    walk.press("outlier channels", "radio")
    walk.says("W is the tensor, its last axis that of the inputs")


def test_0_1_through_bfloat16_and_e5m2(walk: Walk) -> None:
    """0.1 is 0.10009765625 in bfloat16; the neighbours in e5m2 are 0.09375 and 0.109375."""
    walk.link("Cast & BitCast")
    walk.press("examples")
    walk.press("0.1 through bfloat16 to e5m2")
    walk.says("Through bfloat16 the result is 0.09375 (0x2E), directly the same.")


def test_scale_byte_and_zeros_of_an_mxfp4_block_whose_largest_is_5(walk: Walk) -> None:
    """floor(log2 5) less 2, the exponent of 6, is 0: the scale is 2^0, the byte 127; up to 0.25 numbers become 0."""
    walk.link("Quantize")
    walk.open("A block byte by byte")
    walk.press("Example: largest 5")
    walk.says("11 of its 32 elements are 0.")
    walk.page.get_by_text("7F", exact=True).locator("visible=true").first.wait_for()


def test_a_tensor_of_ones_own_in_int4_and_nvfp4(walk: Walk) -> None:
    stream = io.BytesIO()
    np.save(stream, np.arange(1, 257, dtype=np.float32).reshape(2, 128))
    walk.link("Quantize")
    walk.press("file", "radio")
    walk.page.locator("input[type=file]").set_input_files(
        {"name": "mine.npy", "mimeType": "application/octet-stream", "buffer": stream.getvalue()}
    )  # the third action
    for name in ("int4, blocks of 128: row 0, column 0", "NVFP4, blocks of 16: row 0, column 0"):
        walk.page.get_by_role("button", name=name, exact=False).first.wait_for()
