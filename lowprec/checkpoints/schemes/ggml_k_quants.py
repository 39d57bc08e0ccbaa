"""The block types of GGUF with 256 elements in groups with scales of their own, K-quants and IQ4_XS: their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from .ggml_blocks import IQ4_VALUES, half, lookup, multiply, nibbles, take_bits

__all__ = ["decode_iq4_xs", "decode_q2_k", "decode_q3_k", "decode_q4_k", "decode_q5_k", "decode_q6_k"]

Array = np.ndarray[Any, Any]

PAIRS = (0, 2, 4, 6)
"""Shifts of the 2-bit codes of a byte."""


def _times(scale: Array, integers: Array) -> Array:
    """Return the scale of a block times the integers of its groups, float32."""
    with np.errstate(all="ignore"):
        return scale * integers.astype(np.float32)


def _subtract(out: Array, least: Array) -> None:
    """Take one number away from each group of a row."""
    groups = out.reshape(len(out), least.shape[1], -1)
    with np.errstate(all="ignore"):
        np.subtract(groups, least[:, :, np.newaxis], out=groups)


def _rows(blocks: Array, start: int, end: int, width: int) -> Array:
    """Return some bytes of all blocks in rows of a width."""
    return np.ascontiguousarray(blocks[:, start:end]).reshape(-1, width)


def decode_q2_k(blocks: Array, out: Array) -> None:
    """Read 16 bytes of a 4-bit scale and a 4-bit least value, 64 bytes of 2-bit codes, their two float16 factors."""
    codes = take_bits(_rows(blocks, 16, 80, 32), PAIRS, 3).reshape(len(blocks), 256)
    multiply(codes, _times(half(blocks, 80), blocks[:, :16] & 15), out)
    _subtract(out, _times(half(blocks, 82), blocks[:, :16] >> 4))


def decode_q3_k(blocks: Array, out: Array) -> None:
    """Read 32 bytes of high bits, 64 bytes of 2-bit codes, 12 bytes of 6-bit scales offset by 32, a float16 factor.

    A high bit that is 0 takes 4 away.
    """
    codes = take_bits(_rows(blocks, 32, 96, 32), PAIRS, 3).reshape(len(blocks), 256)
    codes |= take_bits(blocks[:, :32], tuple(range(8)), 1) << 2
    low = nibbles(blocks[:, 96:104])
    scales = low | take_bits(blocks[:, 104:108], PAIRS, 3) << 4
    factors = _times(half(blocks, 108), scales.view(np.int8) - np.int8(32))
    multiply(codes.view(np.int8) - np.int8(4), factors, out)


def _scales_and_least(blocks: Array) -> tuple[Array, Array]:
    """Return the 8 scales and 8 least values, of 6 bits each, that are packed in 12 bytes of a block after its factors.

    The first four of each are the low bits of bytes 0 to 3 and 4 to 7; the last four have their low bits in bytes 8 to
    11 and their two high ones in the high bits of the former.
    """
    first, second, third = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate((first & 63, (third & 15) | (first >> 2 & 48)), axis=1)
    least = np.concatenate((second & 63, (third >> 4) | (second >> 2 & 48)), axis=1)
    return _times(half(blocks, 0), scales), _times(half(blocks, 2), least)


def decode_q4_k(blocks: Array, out: Array) -> None:
    """Read two float16 factors, 12 bytes of scales and least values, 128 bytes of two codes."""
    scales, least = _scales_and_least(blocks)
    codes = nibbles(_rows(blocks, 16, 144, 32)).reshape(len(blocks), 256)
    multiply(codes, scales, out)
    _subtract(out, least)


def decode_q5_k(blocks: Array, out: Array) -> None:
    """Read the same as Q4_K, with 32 bytes of high bits before the codes."""
    scales, least = _scales_and_least(blocks)
    codes = nibbles(_rows(blocks, 48, 176, 32)).reshape(len(blocks), 256)
    codes |= take_bits(blocks[:, 16:48], tuple(range(8)), 1) << 4
    multiply(codes, scales, out)
    _subtract(out, least)


def decode_q6_k(blocks: Array, out: Array) -> None:
    """Read 128 bytes of low nibbles, 64 bytes of two high bits, 16 x int8 scales, a float16; codes are offset by 32."""
    codes = nibbles(_rows(blocks, 0, 128, 64)).reshape(len(blocks), 256)
    codes |= take_bits(_rows(blocks, 128, 192, 32), PAIRS, 3).reshape(len(blocks), 256) << 4
    scales = _times(half(blocks, 208), blocks[:, 192:208].view(np.int8))
    multiply(codes.view(np.int8) - np.int8(32), scales, out)


def decode_iq4_xs(blocks: Array, out: Array) -> None:
    """Read a float16 factor, 2 + 4 bytes of 6-bit scales offset by 32, 128 bytes of two codes of IQ4_NL's table."""
    high = take_bits(blocks[:, 2:4].reshape(-1, 1), PAIRS, 3).reshape(len(blocks), 8)
    low = nibbles(blocks[:, 4:8].reshape(-1, 1)).reshape(len(blocks), 8)
    scales = _times(half(blocks, 0), (low | high << 4).view(np.int8) - np.int8(32))
    codes = nibbles(_rows(blocks, 8, 136, 16)).reshape(len(blocks), 256)
    multiply(lookup(IQ4_VALUES, codes), scales, out)
