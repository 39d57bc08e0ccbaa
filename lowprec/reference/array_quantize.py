"""The oracle of QuantizeLinear and DequantizeLinear for whole arrays: exact NumPy, one proven rounding a step."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from ..spec.formats import Format, Kind, as_format
from .array_cast import expected_from_float64
from .exact_values import decode

__all__ = ["array_values", "broadcast", "code_values", "decoded", "dequantized", "quantized", "quotient", "rounded"]

Array = np.ndarray[Any, Any]
FLOAT32, FLOAT64 = as_format("float32"), as_format("float64")


@functools.cache
def code_values(fmt: Format) -> Array:
    """Return the value of every code of a format of at most 16 bits, exactly, NaNs with their sign."""
    found = [decode(code, fmt) for code in range(1 << fmt.bits)]
    return np.array([float(value) for value in found])


def decoded(codes: Array, fmt: Format) -> Array:
    """Return what codes stand for as float64, which holds every value of 32 bits or fewer."""
    if fmt.bits <= 16:
        return code_values(fmt)[codes]
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return codes.view(fmt.dtype).astype(np.float64)


def rounded(x: Array, fmt: Format) -> Array:
    """Return float64 values rounded once to a float format of 16 bits or more, as float64 again."""
    if fmt is FLOAT64:
        return x
    with np.errstate(all="ignore"):
        return decoded(expected_from_float64(x, fmt), fmt)


def quotient(x: Array, scale: Array, precision: Format) -> Array:
    """Divide values that `precision` holds, rounded once to it.

    Through float64 where that is wider, and twice rounded is once rounded there: with at most p = 24 bits in x and
    scale, and at most p + 1 in a midpoint m between values of the format, x - m * scale is a multiple of the last
    places and so, unless zero, more than 2**-(2p + 1) of m * scale away from it. The float64 quotient, 2**-53 off at
    most, lies on the same side of m; and it neither overflows nor underflows.
    """
    assert precision is FLOAT64 or precision.mantissa_bits <= 23
    with np.errstate(all="ignore"):
        found = x / scale
    nan = np.where(np.isnan(x), x, np.where(np.isnan(scale), scale, np.nan))
    return rounded(np.where(np.isnan(found), nan, found), precision)


def quantized(
    x: Array,
    scale: Array,
    zero_point: Array | None,
    target: object,
    *,
    precision: object,
    saturate: bool = True,
    opset: int = 28,
) -> Array:
    """Return the codes that QuantizeLinear gives float64 values, scales and zero points of the same shape."""
    fmt, working = as_format(target), as_format(precision)
    found = quotient(rounded(x, working), rounded(scale, working), working)
    if fmt.kind is Kind.INT:
        low = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        whole = np.clip(np.rint(np.where(np.isnan(found), -np.inf, found)), -(2.0**40), 2.0**40)  # sums stay exact
        offset = 0.0 if zero_point is None else zero_point
        clamped = np.clip(whole + offset, low, low + 2**fmt.bits - 1).astype(np.int64)
        codes: Array = (clamped & (2**fmt.bits - 1)).astype(fmt.code_dtype)
        return codes
    if zero_point is not None and fmt.bits < 8:
        single = rounded(found, FLOAT32).astype(np.float32)
        with np.errstate(all="ignore"):
            total = (single + zero_point.astype(np.float32)).astype(np.float64)  # one correctly rounded sum
        found = np.where(np.isnan(found), found, total)
    return expected_from_float64(found, fmt, saturate=saturate, opset=opset)


def dequantized(x: Array, scale: Array, zero_point: Array | None, source: object, *, output_dtype: object) -> Array:
    """Return the codes that DequantizeLinear gives codes of `source`, with scales and zero points of the same shape."""
    fmt, result = as_format(source), as_format(output_dtype)
    value, factor = decoded(x, fmt), rounded(scale, FLOAT32)
    if zero_point is not None and not (fmt.is_float and fmt.bits == 8):
        value = value - zero_point  # exact in float64; -0 - 0 is -0, a - a is +0
    single = rounded(value, FLOAT32)
    with np.errstate(all="ignore"):
        found = single * factor  # 24 bits by 24 bits: exact in float64
    nan = np.where(np.isnan(single), single, np.where(np.isnan(factor), factor, np.nan))
    exact = rounded(np.where(np.isnan(found), nan, found), FLOAT32)
    with np.errstate(all="ignore"):
        return expected_from_float64(exact, result)


def broadcast(scale: Array, shape: tuple[int, ...], axis: int, block_size: int) -> Array:
    """Return the scale, or zero point, of every element: per tensor, per axis or per block, by index arithmetic."""
    if scale.size == 1 and not (scale.ndim == len(shape) and block_size):
        return np.full(shape, scale.reshape(-1)[0], scale.dtype)
    axis = 0 if len(shape) == 1 else axis % len(shape)
    index = list(np.indices(shape, sparse=True))
    if block_size and scale.ndim == len(shape):
        assert scale.shape[axis] == math.ceil(shape[axis] / block_size)
        index[axis] = index[axis] // block_size
        return np.broadcast_to(scale[tuple(index)], shape)
    assert scale.shape == (shape[axis],)
    return np.broadcast_to(scale[index[axis]], shape)


def array_values(codes: Any, fmt: Format) -> Array:
    """Return a NumPy array of the format (or of its codes) as float64 values; sub-byte codes may be extended."""
    array = np.asarray(codes)
    unsigned = array.view(f"u{array.dtype.itemsize}")
    if fmt.bits <= 16:
        unsigned = unsigned & np.array((1 << fmt.bits) - 1, unsigned.dtype)
    return decoded(unsigned, fmt)
