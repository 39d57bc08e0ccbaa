"""Calls on torch tensors that transforms must not change, each of one tensor of (6, 8) float32."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import lowprec as lp
from support.paths import TESTS

_generator = torch.Generator().manual_seed(13)
SCALE, BLOCKS = torch.rand(6, generator=_generator) + 0.1, torch.rand(6, 2, generator=_generator) + 0.1
ZERO = torch.tensor([3, -5, 0, 7, 127, -128], dtype=torch.int8)
POWERS = lp.cast(BLOCKS, "float8_e8m0fnu")
ROW = lp.formats["float8_e5m2"]
STOCHASTIC: dict[str, Any] = {"rounding": "stochastic", "seed": 2**64 - 3, "random_bits": 9, "offset": 5}


def sample(seed: int = 0) -> Any:
    """Return values of every kind."""
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(seed)) * 30
    x[0] = torch.tensor([math.nan, -math.nan, math.inf, -math.inf, -0.0, 1e-42, 448.0, 1e9])
    return x


def bits(found: Any) -> Any:
    """Return dtype, shape and codes of a tensor, or of each of several."""
    if isinstance(found, (tuple, list)):
        return [bits(x) for x in found]
    assert type(found) is torch.Tensor
    return found.dtype, found.shape, found.contiguous().view(getattr(torch, f"int{8 * found.itemsize}")).tolist()


def codes(x: Any, fmt: str = "float4_e2m1fn") -> Any:
    return lp.encode(x, fmt)


def packed(x: Any) -> Any:
    return lp.encode(x, "float4_e2m1fn", packed=True)


def int4(x: Any) -> Any:
    return lp.encode(x, "int4", packed=True)


def scales(x: Any) -> Any:
    return x.abs().nan_to_num(1.0).amax(1).clamp(min=1.0)


def mx(x: Any) -> Any:
    return lp.mx_quantize(x, block_size=4)


def nvfp4(x: Any) -> Any:
    return lp.nvfp4_quantize(x, block_size=4)


def like(x: Any, *dtypes: torch.dtype) -> Any:
    return tuple(torch.empty_like(x[:, : 8 >> number], dtype=dtype) for number, dtype in enumerate(dtypes))


FILE = TESTS / "torch_ops/calls.txt"
CALLS: dict[str, Callable[[Any], Any]] = {
    name: eval(compile(f"lambda x: {' '.join(call.split())}", str(FILE), "eval"))
    for name, call in re.findall(r"^(\w[\w, ]*): (.+(?:\n    .+)*)", FILE.read_text(encoding="utf-8"), re.MULTILINE)
}
FUNCTIONS = {name: CALLS.pop(name) for name in list(CALLS) if name.endswith((" plain", " into", " seeded"))}
"""Calls of every public function; in `CALLS` options, spellings and layouts beside them."""
