"""Random calls of QuantizeLinear by Hypothesis, against the array oracle and the exact one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from support.quantize_cases import codes, expect_quantized, tiers_and_threads
from support.quantize_strategies import FEW_ELEMENTS, MANY, Call, exactly_quantized, quantize_calls

import lowprec as lp


@pytest.mark.slow
@MANY
@given(call=quantize_calls())
def test_random_calls(tally: Counter[str], call: Call) -> None:
    inputs = call["x"], call["scale"], call["zero_point"]
    result = call["types"].y
    expected = expect_quantized(*inputs, call["types"], call["options"])
    if expected.size <= FEW_ELEMENTS:
        assert expected.reshape(-1).tolist() == exactly_quantized(call)
    tally["QuantizeLinear, random calls"] += 1
    for who in tiers_and_threads(threads=(2,)):
        got = codes(lp.quantize_linear(*inputs, **call["options"]), result)
        tally["QuantizeLinear, elements of random calls"] += got.size
        assert got.shape == expected.shape, who
        assert got.tolist() == expected.tolist(), who
