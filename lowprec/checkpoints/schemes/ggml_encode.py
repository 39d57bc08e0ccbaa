"""Blocks of GGUF from values: the arithmetic of ggml's reference quantizers, in float32 and without fused operations.

Values are finite. A largest magnitude whose scale has no finite reciprocal is stored as zeros. Rows of 32 elements are
shorter than what NumPy is fast at: where possible, loops run over all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import encode
from ...ops.quantize import quantize_linear
from ...spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT16, Format

__all__ = ["encode_bf16", "encode_f16", "encode_mxfp4", "encode_q4_0", "encode_q8_0"]

Array = np.ndarray[Any, Any]

MAGNITUDE, SIGN = np.uint32(0x7FFFFFFF), np.uint32(0x80000000)
"""The bits of a float32: those of finite magnitudes, read as integers, are in the order of the magnitudes."""

BELOW_HALF = np.uint32(0x3EFFFFFF)
"""The largest float32 below 0.5: with it, adding and cutting off rounds to nearest, ties away from 0."""

DROPPED = np.uint32(0xFFF)
"""Bits of a float32 that can be one sticky bit: what is left has more bits than the middle of two FP4 values."""

TOWARD_ZERO = np.float32(1 + 2.0**-14)
"""A scale times this takes quotients in the middle of two FP4 values below it, and no others across it."""


def _maximum(integers: Array) -> Array:
    """Return the maximum of each row, in a column; the length of rows is a power of two."""
    flat = integers.reshape(-1)
    while flat.size > len(integers):
        flat = np.maximum(flat[::2], flat[1::2])
    return flat[:, np.newaxis]


def _largest(x: Array) -> Array:
    """Return the largest magnitude of each row, in a column."""
    return _maximum((x.view(np.uint32) & MAGNITUDE).view(np.int32)).view(np.float32)


def _extreme(x: Array) -> Array:
    """Return of each row, in a column, the first number with the largest magnitude."""
    positive = _maximum(x.view(np.int32))
    negative = _maximum(x.view(np.uint32))  # numbers with a sign are the larger ones
    with_sign = negative >= SIGN
    magnitude = np.where(with_sign, negative & MAGNITUDE, 0).astype(np.int32)
    extreme = np.where(with_sign & (magnitude > positive), negative, positive.view(np.uint32)).view(np.float32)
    both = np.flatnonzero(with_sign & (magnitude == positive))
    if both.size:
        rows = x[both]
        first = np.abs(rows).argmax(axis=1)
        extreme[both] = np.take_along_axis(rows, first[:, np.newaxis], axis=1)
    return extreme


def _reciprocal(scale: Array) -> Array:
    """Return the reciprocals of scales, 0 where they are not finite."""
    with np.errstate(all="ignore"):
        inverse = np.divide(np.float32(1), scale)
    inverse[~np.isfinite(inverse)] = 0
    return inverse


def _half(numbers: Array) -> Array:
    """Return numbers as bytes of float16."""
    with np.errstate(all="ignore"):
        return numbers.astype(np.float16).view(np.uint8)


def _pairs(codes: Array) -> Array:
    """Return two codes to a byte: the first 16 of a row in the low bits, the others in the high bits."""
    words = codes.view(np.uint64)
    pairs = np.empty((len(codes), 2), np.uint64)
    for column in range(2):
        np.left_shift(words[:, 2 + column], 4, out=pairs[:, column])
        pairs[:, column] |= words[:, column]
    return pairs.view(np.uint8)


def encode_q8_0(x: Array) -> Array:
    """Return blocks whose scale is the largest magnitude over 127; codes are divided by it before it is rounded."""
    blocks = np.empty((len(x), 34), np.uint8)
    scale = _largest(x) / np.float32(127)
    products = x * _reciprocal(scale)
    halves = products.view(np.uint32) & SIGN
    halves |= BELOW_HALF
    products += halves.view(np.float32)
    blocks[:, :2] = _half(scale)
    blocks[:, 2:] = products.astype(np.int8).view(np.uint8)
    return blocks


def encode_q4_0(x: Array) -> Array:
    """Return blocks whose scale takes the first number of largest magnitude to −8, the code 0."""
    blocks = np.empty((len(x), 18), np.uint8)
    scale = _extreme(x) / np.float32(-8)
    products = x * _reciprocal(scale)
    products += np.float32(8.5)
    codes = products.astype(np.int8).view(np.uint8)
    codes -= codes >> 4  # 16 becomes 15
    blocks[:, :2] = _half(scale)
    blocks[:, 2:] = _pairs(codes)
    return blocks


def encode_mxfp4(x: Array) -> Array:
    """Return blocks whose scale is 2^(floor(log2(largest)) − 2); ties of codes go toward 0, and 0 has no sign.

    The logarithm is rounded to float32. Exponents below the range are 0; in ggml they wrap around.
    """
    blocks = np.empty((len(x), 17), np.uint8)
    largest = _largest(x)
    with np.errstate(divide="ignore"):
        exponents = np.floor(np.log2(largest)) + np.float32(125)
    exponents = np.maximum(exponents, 0).astype(np.uint8)
    scales = np.ldexp(TOWARD_ZERO, exponents.astype(np.int32) - 127)
    codes = quantize_linear(_sticky(x), scales, axis=1, block_size=32, output_dtype=FLOAT4_E2M1FN)
    bits = np.asarray(codes).view(np.uint8)
    bits *= bits != 8
    blocks[:, :1] = exponents
    blocks[:, 1:] = _pairs(bits)
    return blocks


def _sticky(x: Array) -> Array:
    """Return numbers with their last bits as one sticky bit, which decides on which side of a tie they lie."""
    bits = x.view(np.uint32)
    if not np.bitwise_or.reduce(bits, axis=None) & DROPPED:
        return x
    odd = (bits & DROPPED) + DROPPED
    odd |= bits
    odd &= ~DROPPED
    return odd.view(np.float32)


def _encoded(x: Array, fmt: Format) -> Array:
    return np.asarray(encode(x, fmt)).view(np.uint8).reshape(len(x), 2)


def encode_bf16(x: Array) -> Array:
    """Return bfloat16, rounded to nearest, ties to even."""
    return _encoded(x, BFLOAT16)


def encode_f16(x: Array) -> Array:
    """Return float16, rounded to nearest, ties to even; Inf beyond its range."""
    return _encoded(x, FLOAT16)
