"""DynamicQuantizeLinear-11 against its function body in exact arithmetic, each step rounded to float32."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from support.array_libraries import Library
from support.compare import compare, tiers_and_threads
from support.optional import optional
from support.quantize_cases import generator

import lowprec as lp
from lowprec import reference
from lowprec.backends import cpu
from lowprec.ops import dynamic_quantize_linear as implementation
from lowprec.reference.exact_quantize import dynamic_quantize
from lowprec.reference.whole_arrays import quantized
from lowprec.spec.formats import as_format

torch: Any = optional("torch")

FLOAT32, UINT8 = as_format("float32"), as_format("uint8")


def _check(x: np.ndarray, got: tuple[Any, Any, Any], tally: Counter[str], what: str) -> None:
    y, scale, zero_point = (np.asarray(part) for part in got)
    assert (y.dtype, scale.dtype, zero_point.dtype) == (np.uint8, np.float32, np.uint8)
    assert (scale.shape, zero_point.shape) == ((), ())
    numbers = x.astype(np.float64)
    ends = [np.nan] if np.isnan(numbers).any() else [numbers.min(), numbers.max()]  # only they decide both
    _, factor, offset = dynamic_quantize([float(end) for end in ends])
    if np.isnan(scale):  # which of several NaNs is kept is left open
        assert reference.encode(factor, FLOAT32) == 0x7FC00000, what
    else:
        assert scale.view(np.uint32) == reference.encode(factor, FLOAT32), (what, x)
    assert zero_point == offset, (what, x)
    factors, offsets = np.full(x.shape, float(factor)), np.full(x.shape, float(offset))
    compare(tally, "DynamicQuantizeLinear", y, quantized(numbers, factors, offsets, UINT8, precision=FLOAT32), what, x)


DIRECTED = {
    "zero": [0.0], "minus zero": [-0.0], "zeros": [0.0, -0.0, 0.0], "one": [1.0], "minus one": [-1.0],
    "positive": [1.0, 2.5, 255.0], "negative": [-0.5, -3.25, -1e-3], "both": [-1.0, 2.0, 0.49999997],
    "nan": [np.nan], "a nan": [1.0, np.nan, -2.0], "minus nan": [-np.nan, 0.0], "inf": [np.inf, 1.0, -1.0, 0.0],
    "minus inf": [-np.inf, 1.0], "both inf": [np.inf, -np.inf, 0.0, 1.0], "range beyond": [3e38, -3e38, 1.0, 0.0],
    "the largest": [3.4028235e38, 1.0], "tiny": [1e-45], "minus tiny": [-1e-45, 0.0], "both tiny": [1e-45, -1e-45],
    "subnormal scale": [1e-38, -3e-39, 5e-39], "subnormal": [3e-39, -1e-42, 0.0], "halves": [-127.5, 127.5, 0.5, 1.5],
    "tie of the zero point": [-0.5, 254.5], "even tie": [-1.5, 253.5], "two-fifths": [-102.0, 153.0, 51.0],
}  # fmt: skip


@pytest.mark.parametrize("name", DIRECTED)
def test_directed(name: str, tally: Counter[str]) -> None:
    x = np.array(DIRECTED[name], np.float32)
    for who in tiers_and_threads():
        for opset in (11, 28):
            _check(x, lp.dynamic_quantize_linear(x, opset=opset), tally, f"{who}, {name}")


def test_large_arrays(tally: Counter[str]) -> None:
    x = generator("shapes").normal(3, 50, (1300, 900)).astype(np.float32)
    for who in tiers_and_threads():
        _check(x, lp.dynamic_quantize_linear(x), tally, who)
    for view in (x.T, x[::-2]):
        _check(view, lp.dynamic_quantize_linear(view), tally, "strided")


@pytest.mark.parametrize("name", DIRECTED)
def test_libraries(xp: Library, name: str, tally: Counter[str]) -> None:
    x = np.array(DIRECTED[name], np.float32)
    held = xp.wrap(x)
    with np.errstate(all="ignore"):  # what array_api_strict computes in
        got = xp.call(lp.dynamic_quantize_linear, held)
    assert all(xp.same_place(part, held) for part in got)
    _check(x, tuple(map(xp.unwrap, got)), tally, name)


@pytest.mark.parametrize("name", DIRECTED)
def test_tensors_off_the_host(name: str, tally: Counter[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cpu, implementation):
        monkeypatch.setattr(module, "has_host_memory", lambda x: False)
    x = np.array(DIRECTED[name], np.float32)
    _check(x, lp.dynamic_quantize_linear(torch.from_numpy(x.copy())), tally, name)


@pytest.mark.parametrize("code", [0x7FC00001, 0xFFFFFFFF, 0x7F800001])
def test_the_scale_of_a_range_with_nan_is_the_canonical_nan(code: int) -> None:
    x = np.array([1.0, 0.0, -2.0], np.float32)
    x.view(np.uint32)[1] = code
    _, scale, zero_point = lp.dynamic_quantize_linear(x)
    assert (int(scale.view(np.uint32)), int(zero_point)) == (0x7FC00000, 0)
