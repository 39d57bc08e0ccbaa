"""The page Arithmetic without a browser: how quick it is, and its examples."""

from __future__ import annotations

import time

import pytest
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
