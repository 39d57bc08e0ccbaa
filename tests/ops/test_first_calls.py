"""How many Python functions run in a call that none like it came before: of the call, not of imports."""

from __future__ import annotations

import pytest
from support.paths import printed

COUNT = """
import sys
import numpy as np
import lowprec as lp
x, scale, codes = np.ones((4, 64), np.float32), np.ones(64, np.float32), np.ones((4, 64), np.int8)
other, others = np.ones((5, 9), np.float32), np.ones(9, np.float32)
lp.cast(x, "float16")  # what is imported at the first use
lp.quantize_linear(x.astype(np.float16), scale.astype(np.float16), axis=1, output_dtype="uint8")
lp.mx_quantize(x, "float8_e5m2"), lp.nvfp4_quantize(x.astype(np.float16))
calls = 0
def count(frame, event, argument):
    global calls
    calls += event == "call"
{before}
sys.setprofile(count)
{call}
sys.setprofile(None)
print(calls)
"""
QUANTIZE = "lp.quantize_linear(x, scale, axis=1, output_dtype='int8')"


@pytest.mark.parametrize(("call", "before", "most"), [
    ("lp.cast(x, 'float8_e4m3fn')", "", 150), (QUANTIZE, "", 150),
    ("lp.dequantize_linear(codes, scale, axis=1)", "", 150), ("lp.mx_quantize(x, 'float4_e2m1fn')", "", 150),
    ("lp.nvfp4_quantize(x)", "", 150), ("lp.quantize_linear(other, others, axis=1, output_dtype='int8')", QUANTIZE, 60),
    (QUANTIZE, QUANTIZE, 3),
])  # fmt: skip
def test_first_calls_run_few_functions(call: str, before: str, most: int) -> None:
    assert 0 < int(printed(COUNT.format(call=call, before=before))) <= most
