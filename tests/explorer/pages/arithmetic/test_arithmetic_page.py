"""The page Arithmetic: how quick it is, its examples; in a browser every control is read back."""

from __future__ import annotations

import time

import pytest
from support.browser import Visit
from support.explorer_controls import agrees
from support.explorer_pages import healthy, page, texts

from lowprec.explorer.pages.arithmetic.operation_view import EXAMPLES
from lowprec.explorer.pages.arithmetic.sum_view import summed


def test_it_is_quick() -> None:
    test = page("arithmetic")
    took = []
    for _ in range(3):
        summed.cache_clear()
        start = time.process_time()
        healthy(test.run())
        took.append(time.process_time() - start)
    assert min(took) < 0.6  # 0.22 s on a quiet core of 2026


RESULTS = {
    "256 + 1": "tie: the lower neighbour is even",
    "0.1 + 0.2": "With the numbers as they were typed the exact result is 0.3",
    "240 + 240": "rounds beyond the largest value, sat_finite: the largest value",
    "cancellation": "The result differs from that by 2.34375 %",
    "Inf − Inf": "Inf - Inf: the operation is invalid and gives NaN", "−0 + 0": "Operands of opposite signs cancel: +0",
    "1 / 0": "Division by zero gives Inf", "1 / 3": "nearer to the",
    "fused": "exact: x is a value of the format; lost: 0",
}  # fmt: skip


@pytest.mark.parametrize("label", RESULTS)
def test_examples(label: str) -> None:
    assert set(RESULTS) == {name for name, _ in EXAMPLES}
    test = page("arithmetic", show="operation")
    healthy(next(button for button in test.button if button.label == label).click().run())
    assert RESULTS[label] in " ".join(texts(test).split())


def test_a_sum_and_an_operation(visit: Visit) -> None:
    page = visit.enter("Arithmetic")
    page.get_by_text("From step 257 on nothing that is added changes the sum: it stays 256.").wait_for()
    agrees(visit)
    page.get_by_role("button", name="pairwise: 4096, exact").first.click()
    agrees(visit, "method=pairwise")
    page.get_by_text("A sum by pairs has no running sum").wait_for()
    page.get_by_role("button", name="sequential: 256, −120 ulp").first.click()
    page.get_by_role("slider", name="Step").first.press("End")
    visit.address_has("step=4096")
    page.get_by_text("step 4096", exact=True).locator("visible=true").first.wait_for()
    agrees(visit)
    page.get_by_role("radio", name="One operation").click()
    agrees(visit, "show=operation")
    page.get_by_role("button", name="examples").click()
    page.get_by_role("button", name="240 + 240").click()
    visit.address_has("fmt=float8_e4m3fn")
    page.keyboard.press("Escape")
    agrees(visit)
    page.get_by_text("rounds beyond the largest value, sat_finite: the largest value").first.wait_for()
    page.get_by_role("button", name="toward zero: 448").first.click()
    agrees(visit, "rounding=toward_zero")
    page.get_by_text("all values and codes as tables").click()
    page.get_by_role("link", name="0x7E").first.click()
    page.wait_for_url("**/anatomy?**")
