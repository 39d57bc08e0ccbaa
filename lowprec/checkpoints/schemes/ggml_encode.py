"""Blocks of GGUF from values: the arithmetic of ggml's reference quantizers, in float32 and without fused operations.

Values are finite. A largest magnitude whose scale has no finite reciprocal is stored as zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.quantize import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN

__all__ = ["encode_mxfp4", "encode_q4_0", "encode_q4_1", "encode_q5_0", "encode_q5_1", "encode_q8_0"]

Array = np.ndarray[Any, Any]

BELOW_HALF = np.float32(0.5 - 2.0**-25)
"""The largest float32 below 0.5: with it, adding and cutting off rounds to nearest, ties away from 0."""

DROPPED = np.uint32(0xFFF)
"""Bits of a float32 that can be one sticky bit: what is left has more bits than the middle of two FP4 values."""

TOWARD_ZERO = np.float32(1 + 2.0**-14)
"""Quotients by a scale times this lie below the middle of two FP4 values where they would be on it, and nowhere else."""


def _largest(x: Array) -> Array:
    """Return the largest of each row, in a column; the length of rows is a power of two."""
    while x.shape[1] > 1:
        middle = x.shape[1] // 2
        x = np.maximum(x[:, :middle], x[:, middle:])
    return x


def _extreme(x: Array) -> Array:
    """Return of each row, in a column, the first number with the largest magnitude."""
    magnitudes = np.abs(x)
    first = (magnitudes == _largest(magnitudes)).argmax(axis=1)
    return np.take_along_axis(x, first[:, np.newaxis], axis=1)


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


def _unsigned(x: Array, inverse: Array, offset: float, largest: int) -> Array:
    """Return products plus an offset as codes: what is behind the point is cut off."""
    codes = np.multiply(x, inverse)
    codes += np.float32(offset)
    return np.minimum(codes.astype(np.uint8), np.uint8(largest))


def _pairs(codes: Array) -> Array:
    """Return two codes to a byte: the first half of a row in the low bits, the second one in the high bits."""
    middle = codes.shape[1] // 2
    high = codes[:, middle:] << 4
    high |= codes[:, :middle] & 15
    return high


def _fifth_bits(codes: Array) -> Array:
    """Return the highest of 5 bits of each code, 8 to a byte."""
    return np.packbits(codes >> 4, axis=1, bitorder="little")


def encode_q8_0(x: Array) -> Array:
    """Return blocks whose scale is the largest magnitude over 127; the codes follow from the scale before its rounding."""
    blocks = np.empty((len(x), 34), np.uint8)
    scale = _largest(np.abs(x)) / np.float32(127)
    products = x * _reciprocal(scale)
    products += np.copysign(BELOW_HALF, products)
    blocks[:, :2] = _half(scale)
    blocks[:, 2:] = products.astype(np.int8).view(np.uint8)
    return blocks


def _offset_codes(x: Array, half_range: int) -> tuple[Array, Array]:
    """Return scales and unsigned codes; the number of largest magnitude gets the code 0, half a range below the middle."""
    scale = _extreme(x) / np.float32(-half_range)
    return _half(scale), _unsigned(x, _reciprocal(scale), half_range + 0.5, 2 * half_range - 1)


def _ranged_codes(x: Array, largest: int) -> tuple[Array, Array, Array]:
    """Return scales, least values, and codes from 0 to the largest that divide the range of a block."""
    least = -_largest(-x)
    with np.errstate(over="ignore"):
        scale = (_largest(x) - least) / np.float32(largest)
    return _half(scale), _half(least), _unsigned(x - least, _reciprocal(scale), 0.5, largest)


def encode_q4_0(x: Array) -> Array:
    """Return blocks of a float16 scale and 4-bit codes."""
    scale, codes = _offset_codes(x, 8)
    return np.concatenate((scale, _pairs(codes)), axis=1)


def encode_q5_0(x: Array) -> Array:
    """Return blocks of a float16 scale, high bits and 4-bit codes."""
    scale, codes = _offset_codes(x, 16)
    return np.concatenate((scale, _fifth_bits(codes), _pairs(codes)), axis=1)


def encode_q4_1(x: Array) -> Array:
    """Return blocks of a float16 scale, a float16 least value and 4-bit codes."""
    scale, least, codes = _ranged_codes(x, 15)
    return np.concatenate((scale, least, _pairs(codes)), axis=1)


def encode_q5_1(x: Array) -> Array:
    """Return blocks of a float16 scale, a float16 least value, high bits and 4-bit codes."""
    scale, least, codes = _ranged_codes(x, 31)
    return np.concatenate((scale, least, _fifth_bits(codes), _pairs(codes)), axis=1)


def encode_mxfp4(x: Array) -> Array:
    """Return blocks whose scale is 2^(floor(log2(largest)) − 2); ties of codes go toward 0, and 0 has no sign.

    The logarithm is rounded to float32. Exponents below the range are 0; in ggml they wrap around.
    """
    largest = _largest(np.abs(x))
    with np.errstate(divide="ignore"):
        exponents = np.where(largest > 0, np.floor(np.log2(largest)) + np.float32(125), np.float32(0))
    exponents = np.maximum(exponents, 0).astype(np.uint8)
    scales = np.ldexp(TOWARD_ZERO, exponents.astype(np.int32) - 127)
    codes = quantize_linear(_sticky(x), scales, axis=1, block_size=32, output_dtype=FLOAT4_E2M1FN)
    pairs = np.asarray(codes).view(np.uint8)
    pairs[pairs == 8] = 0
    return np.concatenate((exponents, _pairs(pairs)), axis=1)


def _sticky(x: Array) -> Array:
    """Return numbers with their last bits as one sticky bit, which decides on which side of a tie they lie."""
    bits = x.view(np.uint32)
    if not np.bitwise_or.reduce(bits, axis=None) & DROPPED:
        return x
    odd = (bits & DROPPED) + DROPPED
    odd |= bits
    odd &= ~DROPPED
    return odd.view(np.float32)
