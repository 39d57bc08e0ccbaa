"""The page Arithmetic without a browser: what it opens with, its controls, examples, odd links, and every state."""

from __future__ import annotations

import time
from typing import Any

import pytest
from support.explorer_pages import asked, charts, copied, healthy, page, sent, texts
from support.explorer_states.arithmetic import states

from lowprec.explorer.pages.arithmetic.operation_view import EXAMPLES
from lowprec.explorer.pages.arithmetic.sum_view import summed
from lowprec.explorer.shared.link import write


def by_label(elements: Any, label: str) -> Any:
    return next(element for element in elements if element.label == label)


def words(test: Any) -> str:
    return " ".join(texts(test).split())


def captions(test: Any) -> str:
    return "\n".join(caption.value for caption in test.caption)


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


def test_a_sum_follows_its_controls() -> None:
    test = page("arithmetic")
    healthy(by_label(test.selectbox, "Order").set_value("compensated").run())
    assert asked(test, "method") == "compensated"
    assert "What a step loses is kept and added in the next one." in words(test)
    healthy(by_label(test.selectbox, "Order").set_value("pairwise").run())
    assert "Every number other than zero that was added changed the sum." in words(test)
    assert "has no running sum" in captions(test)
    assert sent(test, "picture")[0]["drag"] is None
    healthy(by_label(test.selectbox, "Order").set_value("sequential").run())
    healthy(by_label(test.selectbox, "Accumulator").set_value("float16").run())
    assert "From step 2049 on" in words(test)
    healthy(by_label(test.number_input, "Step to look at").set_value(2050).run())
    assert "Step 2050 of 4096: tie: the lower neighbour is even." in captions(test)
    assert "2050 ←" in texts(test)
    healthy(by_label(test.slider, "Runs").set_value(0).run())
    assert "mean of" not in texts(test)
    assert "accumulate_runs" not in copied_python(test)
    healthy(by_label(test.selectbox, "Terms").set_value("normal").run())
    healthy(by_label(test.number_input, "n").set_value(30).run())
    healthy(by_label(test.selectbox, "Multiplied by").set_value("terms").run())
    healthy(by_label(test.selectbox, "Products are rounded").set_value("accumulator").run())
    assert "factors=terms, product='float16'" in copied_python(test)
    healthy(by_label(test.selectbox, "Rounding").set_value("stochastic_a").run())
    assert "rounding='stochastic_a', seed=0" in copied_python(test)


def copied_python(test: Any) -> str:
    return str(test.code[1].value)


def test_an_operation_follows_its_controls() -> None:
    test = healthy(page("arithmetic", show="operation"))
    assert "tie: the lower neighbour is even; lost: 1." in words(test)
    assert "make_node('Add', ['a', 'b'], ['y'])" in copied(test)[2]
    healthy(by_label(test.text_input, "b").set_value("0.1").run())
    assert "b is no value of bfloat16: rounded to it first, as Cast does." in words(test)
    healthy(by_label(test.selectbox, "Operation").set_value("fused_multiply_add").run())
    assert len(test.text_input) == 3
    assert any("no fused multiply-add" in text.value for text in test.text)
    healthy(by_label(test.selectbox, "Format").set_value("float8_e8m0fnu").run())
    healthy(by_label(test.selectbox, "Rounding").set_value("stochastic").run())
    assert "stochastic, seed 0 ←" in texts(test)


RESULTS = {
    "256 + 1": "tie: the lower neighbour is even",
    "0.1 + 0.2": "With the numbers as they were typed the exact result is 0.3",
    "240 + 240": "rounds beyond the largest value, sat_finite: the largest value",
    "cancellation": "The result differs from that by 2.34375 %",
    "Inf − Inf": "Inf - Inf: the operation is invalid and gives NaN",
    "−0 + 0": "Operands of opposite signs cancel: +0",
    "1 / 0": "Division by zero gives Inf",
    "1 / 3": "nearer to the",
    "fused": "exact: x is a value of the format; lost: 0",
}


@pytest.mark.parametrize("label", RESULTS)
def test_examples(label: str) -> None:
    assert set(RESULTS) == {name for name, _ in EXAMPLES}
    test = page("arithmetic", show="operation")
    healthy(by_label(test.button, label).click().run())
    assert RESULTS[label] in words(test)


ODD = ["", "seven", "<script>alert(1)</script>", "1/0", "--1"]


@pytest.mark.parametrize("odd", ODD)
def test_odd_texts_give_a_message_and_the_default(odd: str) -> None:
    for query in (
        {"terms": "value", "value": odd},
        {"terms": "typed", "typed": odd},
        {"terms": "typed", "factor": "typed", "factors": odd},
        {"factor": "value", "by": odd},
        {"show": "operation", "a": odd},
        {"show": "operation", "op": "fused_multiply_add", "c": odd},
    ):
        test = page("arithmetic", **{"n": "20", **query})
        assert not test.exception
        assert "<script>" not in texts(test)
        assert len(test.error) == 1
        assert "The page goes on with" in test.error[0].value.replace("\\", "")


def test_odd_links_give_a_message() -> None:
    for query in ({"fmt": "int8"}, {"n": "5000"}, {"n": "0"}, {"runs": "1000"}, {"method": "sorted"}, {"step": "-1"},
                  {"source": "bool"}, {"op": "power"}, {"seed": "x"}, {"fmt": "binary16p2se"}):  # fmt: skip
        test = page("arithmetic", **query)
        assert not test.exception
        assert len(test.warning) == 1
    lists = page("arithmetic", terms="typed", typed="1 2", factor="typed", factors="1")
    assert "must be as many as the terms, 2; got 1" in lists.error[0].value.replace("\\", "")
    assert len(lists.error) == 1


def test_every_state() -> None:
    for state in states():
        healthy(page("arithmetic", **write(state)))
