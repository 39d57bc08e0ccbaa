"""The operators of torch are what they say: torch's opcheck compares schema, fake kernel, strides and autograd."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("torch")

import torch

import lowprec as lp
import lowprec.torch_ops

OPERATORS = torch.ops.lowprec


def _samples() -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    x, codes = torch.randn(4, 6), torch.arange(9, dtype=torch.uint8)
    scale, zero, blocks = torch.rand(4) + 0.1, torch.zeros(4, dtype=torch.int8), torch.rand(4, 2) + 0.1
    images = torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last)
    for view in (x, x.t(), x[:, ::2], x[:1].expand(3, 6), images, images[:, :, ::2], x[:0], x[0, 0]):
        yield OPERATORS.cast, (view, "float8_e4m3fn"), {}
        yield OPERATORS.dynamic_quantize_linear, (view if view.numel() else x,), {}
    yield OPERATORS.cast, (x.clone().requires_grad_(), "int4"), {"saturate": False}
    yield OPERATORS.bitcast, (x.t()[::2], "uint32"), {}
    yield OPERATORS.bitcast, (codes, "int4"), {"source": "float4_e2m1fn"}
    yield OPERATORS.encode, (x.t(), "float32"), {}
    yield OPERATORS.encode, (x.t(), "float6_e2m3fn"), {"packed": True}
    yield OPERATORS.decode, (codes, "float6_e3m2fn"), {"packed": True, "shape": [3, 4]}
    yield OPERATORS.decode, (codes[::2], "float8_e5m2"), {"to": "bfloat16"}
    yield OPERATORS.quantize_linear, (x, scale, zero), {"axis": 0}
    yield OPERATORS.quantize_linear, (x, blocks), {"block_size": 3, "output_dtype": "int4", "packed": True}
    yield OPERATORS.dequantize_linear, (x.to(torch.int8).t(), scale, zero), {"axis": 1}
    tiles = {"axis": [0, 1], "block_size": [2, 3]}
    yield OPERATORS.quantize_linear, (x, blocks[:2], zero[:2, None].expand(2, 2)), tiles
    yield OPERATORS.dequantize_linear, (x.to(torch.int8), blocks[:2]), tiles
    yield OPERATORS.dequantize_linear, (codes, scale[0]), {"packed": True, "shape": [3, 6], "source": "int4"}
    yield OPERATORS.number, (x, 0.3, "float16"), {}


def _check_operators(samples: Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]], *skipped: str) -> None:
    """Compare schema, fake kernel and strides, autograd and dynamic shapes with what operators do."""
    checks = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    checks = [name for name in checks if name not in skipped]
    for operator, arguments, options in samples:
        done = torch.library.opcheck(operator.default, arguments, options, test_utils=checks)
        assert done == dict.fromkeys(checks, "SUCCESS")


@pytest.mark.slow
def test_operators_are_what_they_say() -> None:
    _check_operators(_samples())


def _block_samples() -> Iterator[tuple[Any, tuple[Any, ...], dict[str, Any]]]:
    x, scale = torch.randn(4, 6), torch.rand(4) + 0.1
    for view in (x, x.t(), x[:, ::2], x[:1].expand(3, 6), x[:0], x[:, :0]):
        yield OPERATORS.absmax_scale, (view, "int8"), {}
        yield OPERATORS.absmax_scale, (view, "int8"), {"axis": [0], "scale_format": "float8_e8m0fnu"}
        yield OPERATORS.minmax_scale, (view, "int4"), {"axis": [-1], "block_size": [4]}
        yield OPERATORS.minmax_scale, (view, "uint8"), {"axis": [1, 0], "block_size": [2, 3]}
        yield OPERATORS.mx_quantize, (view,), {"axis": 0, "block_size": 3}
        yield OPERATORS.mx_quantize, (view, "int8"), {"swizzled": True}
        yield OPERATORS.nvfp4_quantize, (view,), {"packed": True}
        yield OPERATORS.nvfp4_quantize, (view, scale[:1]), {"rounding": "stochastic", "seed": -2, "random_bits": 3}
        elements, powers = lp.mx_quantize(view.contiguous(), "float6_e2m3fn", axis=0, block_size=2)
        yield OPERATORS.mx_dequantize, (elements, powers), {"source": "float6_e2m3fn", "axis": 0, "block_size": 2}
        packed = lp.pack(elements, "float6_e2m3fn"), powers
        held = {"source": "float6_e2m3fn", "axis": 0, "block_size": 2, "packed": True, "shape": list(view.shape)}
        yield OPERATORS.mx_dequantize, packed, held
        yield OPERATORS.nvfp4_dequantize, lp.nvfp4_quantize(view), {"output_dtype": "bfloat16"}
    yield OPERATORS.nvfp4_quantize, (x.clone().requires_grad_(), scale[0].clone().requires_grad_()), {}


@pytest.mark.slow
def test_operators_of_blocks_are_what_they_say() -> None:
    _check_operators(_block_samples(), "test_schema")  # which multiplies results, and torch has no product of float8
    x = torch.randn(4, 6)
    for function, operands in ((OPERATORS.mx_quantize, (x,)), (OPERATORS.nvfp4_quantize, (x, torch.rand(1) + 0.1))):
        results = function(*operands)
        places = [one.data_ptr() for one in (*operands, *results)]
        assert len(set(places)) == len(places)  # no result shares memory
