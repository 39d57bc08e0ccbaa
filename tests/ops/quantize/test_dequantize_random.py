"""Random calls of DequantizeLinear by Hypothesis, against the array oracle and the exact one."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from support.quantize_cases import codes, expect_dequantized, tiers_and_threads
from support.quantize_strategies import FEW_ELEMENTS, MANY, Call, dequantize_calls, exact_dequantize

import lowprec as lp


@pytest.mark.slow
@MANY
@given(call=dequantize_calls())
def test_random_calls(tally: Counter[str], call: Call) -> None:
    inputs = call["x"], call["scale"], call["zero_point"]
    result = call["options"].get("output_dtype") or call["types"].scale
    expected = expect_dequantized(*inputs, call["types"], call["options"])
    if expected.size <= FEW_ELEMENTS:
        assert expected.reshape(-1).tolist() == exact_dequantize(call)
    tally["DequantizeLinear, random calls"] += 1
    for who in tiers_and_threads(threads=(2,)):
        got = codes(lp.dequantize_linear(*inputs, **call["options"]), result)
        tally["DequantizeLinear, elements of random calls"] += got.size
        assert got.shape == expected.shape, who
        assert got.tolist() == expected.tolist(), who
