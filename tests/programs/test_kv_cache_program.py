"""A program that keeps keys and values of attention in float8 and int4, and appends tokens to preallocated tensors."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import torch

import lowprec as lp

BATCH, HEADS, TOKENS, SIZE = 2, 3, 5, 8


def keys() -> torch.Tensor:
    return torch.randn(BATCH, HEADS, TOKENS, SIZE, generator=torch.Generator().manual_seed(3))


def test_float8_with_a_scale_for_each_head() -> None:
    k = keys()
    scale = k.abs().amax((2, 3), keepdim=True) / 448
    cache = torch.zeros(BATCH, HEADS, 2 * TOKENS, SIZE, dtype=torch.float8_e4m3fn)
    for token in range(TOKENS):  # the output of each step has strides, and its dtype says the format
        lp.quantize_linear(k[:, :, token : token + 1], scale, out=cache[:, :, token : token + 1])
    by_torch = (k / scale).clamp(-448, 448).to(torch.float8_e4m3fn)
    assert scale.shape == (BATCH, HEADS, 1, 1)
    assert torch.equal(cache[:, :, :TOKENS].view(torch.uint8), by_torch.view(torch.uint8))
    assert not cache[:, :, TOKENS:].view(torch.uint8).any()
    back = lp.dequantize_linear(cache[:, :, :TOKENS], scale)
    assert torch.equal(back, by_torch.float() * scale)
