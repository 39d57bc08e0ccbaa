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


def test_int4_packed_with_a_scale_for_each_token() -> None:
    k = keys()
    scale = k.abs().amax(-1, keepdim=True) / 7
    cache = torch.zeros(BATCH * HEADS * TOKENS * SIZE // 2, dtype=torch.uint8)
    lp.quantize_linear(k, scale, output_dtype="int4", packed=True, out=cache)
    codes = (k / scale).round().clamp(-8, 7).to(torch.int32)
    low, high = codes.reshape(-1, 2).unbind(1)
    assert torch.equal(cache.int(), low & 15 | (high & 15) << 4)  # the first element is in the low bits
    back = lp.dequantize_linear(cache, scale, source="int4", packed=True, shape=k.shape)
    assert torch.equal(back, codes.float() * scale)


def test_one_call_for_each_way() -> None:
    k = keys()
    q = lp.quantize(k, "int4", axis=-1, block_size=SIZE, packed=True)  # one scale for each token of each head
    scale = k.abs().amax(-1, keepdim=True) / 7
    assert torch.equal(q.scale, scale)
    assert torch.equal(q.dequantize(), (k / scale).round().clamp(-8, 7) * scale)
    assert q.codes.numel() == k.numel() // 2
