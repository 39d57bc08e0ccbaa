"""Calls on torch tensors that transforms must not change, each of one tensor of (6, 8) float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import lowprec as lp

_generator = torch.Generator().manual_seed(13)
_OFFSET, _SCALE, _BLOCKS = 5, torch.rand(6, generator=_generator) + 0.1, torch.rand(6, 2, generator=_generator) + 0.1
_ZERO = torch.tensor([3, -5, 0, 7, 127, -128], dtype=torch.int8)
_POWERS = lp.cast(_BLOCKS, "float8_e8m0fnu")
_ROW = lp.formats["float8_e5m2"]


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


def _int4(x: Any) -> Any:
    return lp.encode(x, "int4", packed=True)


# Options, spellings and layouts beside the calls of test_torch_every_function.py.
CALLS: dict[str, Callable[[Any], Any]] = {
    "cast to a dtype": lambda x: lp.cast(x, torch.bfloat16), "cast to a row": lambda x: lp.cast(x, _ROW, opset=21),
    "cast to a number": lambda x: lp.cast(x, 22),
    "cast to powers": lambda x: lp.cast(x, "float8_e8m0fnu", round_mode="nearest"),
    "cast from codes": lambda x: lp.cast(lp.encode(x, "bfloat16"), "float16", source=torch.bfloat16),
    "cast transposed": lambda x: lp.cast(x.t(), "float16"), "cast slices": lambda x: lp.cast(x[:, ::2], "bool"),
    "encode packed": lambda x: lp.encode(x[:, :7], "float6_e3m2fn", packed=True),
    "decode": lambda x: lp.decode(lp.encode(x, "float16"), "float16", to="bfloat16"),
    "decode packed flat": lambda x: lp.decode(_int4(x), "uint4", packed=True, shape=47, to="int16"),
    "quantize per axis": lambda x: lp.quantize_linear(x, _SCALE, _ZERO, axis=-2, precision="float64"),
    "quantize per axis, one offset": lambda x: lp.quantize_linear(x, _SCALE, -3, axis=0, output_dtype="int4"),
    "quantize blocks": lambda x: lp.quantize_linear(
        x, _POWERS, axis=1, block_size=4, output_dtype="float4_e2m1fn", packed=True
    ),
    "quantize tiles": lambda x: lp.quantize_linear(
        x, _BLOCKS[:3], axis=(0, 1), block_size=(2, 4), output_dtype="float8_e4m3fn"
    ),
    "quantize codes": lambda x: lp.quantize_linear(
        lp.encode(x, "bfloat16"), _BLOCKS[0, 0], source="bfloat16", output_dtype="float8_e5m2",
        saturate=False, out=torch.zeros(6, 8, dtype=torch.float8_e5m2),
    ),
    "dequantize per axis": lambda x: lp.dequantize_linear(
        lp.cast(x, "int8"), _SCALE, _ZERO, axis=0, output_dtype="float16"
    ),
    "dequantize tiles": lambda x: lp.dequantize_linear(lp.cast(x, "int8"), _BLOCKS[:3], axis=(0, 1), block_size=(2, 4)),
    "dequantize blocks": lambda x: lp.dequantize_linear(
        _int4(x), lp.encode(_BLOCKS, "float8_e8m0fnu"), 1, source="int4", scale_format="float8_e8m0fnu",
        block_size=4, packed=True, shape=(6, 8), output_dtype="bfloat16", axis=1,
    ),
    "absmax": lambda x: lp.absmax_scale(x, "float8_e4m3fn"),
    "absmax per axis": lambda x: lp.absmax_scale(x, "int8", axis=-2, scale_format="bfloat16"),
    "absmax blocks": lambda x: lp.absmax_scale(
        x.t(), "float4_e2m1fn", axis=0, block_size=3, scale_format="float8_e8m0fnu", scale_rule="rceil"
    ),
    "absmax tiles": lambda x: lp.absmax_scale(x.double(), _ROW, axis=(1, -2), block_size=(3, 4)),
    "minmax per axis": lambda x: lp.minmax_scale(x.bfloat16(), "int4", axis=1),
    "minmax blocks": lambda x: lp.minmax_scale(x, 21, axis=1, block_size=5),
    "mx to int8": lambda x: lp.mx_quantize(x.half(), "int8", axis=0, block_size=64, specials="ignore"),
    "mx packed": lambda x: lp.mx_quantize(x[:, :7].t(), "float6_e3m2fn", scale_rule="even", packed=True),
    "mx swizzled": lambda x: lp.mx_quantize(x, "float8_e4m3fn", block_size=3, swizzled=True),
    "mx values of int8": lambda x: lp.mx_dequantize(*lp.mx_quantize(x, "int8"), output_dtype="bfloat16"),
    "mx values packed": lambda x: lp.mx_dequantize(
        *lp.mx_quantize(x, "float6_e2m3fn", axis=0, block_size=2, packed=True), source="float6_e2m3fn", axis=0,
        block_size=2, packed=True, shape=x.shape,
    ),
    "nvfp4 of a double": lambda x: lp.nvfp4_quantize(x.double(), axis=0, scale_rule="torchao", packed=True),
    "nvfp4 by a tensor": lambda x: lp.nvfp4_quantize(x, global_scale=_BLOCKS[:1, 0], specials="ignore"),
    "nvfp4 stochastic": lambda x: lp.nvfp4_quantize(x, global_scale=_BLOCKS[0, 0], rounding="stochastic_a", seed=5),
    "nvfp4 values": lambda x: lp.nvfp4_dequantize(*lp.nvfp4_quantize(x), output_dtype="float16"),
    "nvfp4 values, a number": lambda x: lp.nvfp4_dequantize(*lp.nvfp4_quantize(x, global_scale=2)[:2], 2),
    "nvfp4 values packed": lambda x: lp.nvfp4_dequantize(
        *lp.nvfp4_quantize(x, packed=True, swizzled=True), packed=True, shape=(6, 8), swizzled=True
    ),
}  # fmt: skip
