"""The page Arithmetic without a browser: what it opens with, its controls, examples, odd links, and every state."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.explorer_pages import charts, healthy, page, sent, texts

from lowprec.explorer.pages.arithmetic.operation_view import EXAMPLES
from lowprec.explorer.pages.arithmetic.sum_view import summed


def by_label(elements: Any, label: str) -> Any:
    return next(element for element in elements if element.label == label)


def words(test: Any) -> str:
    return " ".join(texts(test).split())


def test_it_opens_with_4096_ones_in_bfloat16() -> None:
    test = healthy(page("arithmetic"))
    assert "From step 257 on nothing that is added changes the sum: it stays 256." in words(test)
    assert "256 + 1 = 257; the neighbours are 256 and 258; tie: the lower neighbour is even." in words(test)
    assert "mean of 32 runs" in words(test)
    (sent_picture,) = sent(test, "picture")
    wide, narrow = (one["svg"] for one in sent_picture["drawings"])
    assert "from step 257 on the sum stays as it is" in wide
    assert "mean of 32 runs" in wide
    assert "256 + 1 = 257" in narrow
    assert sent_picture["drag"]["field"] == "step"
    assert not charts(test)


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
    healthy(by_label(test.button, label).click().run())
    assert RESULTS[label] in words(test)
