"""The arithmetic of comfy-kitchen: FP8 with a scale to a tensor, MXFP8, and NVFP4 with the high nibble first.

The results are those of comfy-kitchen 0.2.40 on a CPU, bit for bit, but for weights of which it makes NaN or infinities
(all of them 0, or tiny).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode, encode
from ...ops.quantize import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT16, FLOAT32, Format
from .factors import multiply
from .magnitudes import float_magnitudes, scales_by_rule
from .packing import swap_nibbles
from .scheme import Packing, Scheme
from .tool import Tool

__all__ = ["FP8_TOOL", "MXFP8_TOOL", "NVFP4_TOOL"]

Array = np.ndarray[Any, Any]

NAME = "comfy-kitchen 0.2.40"

LARGEST_FP8 = 448.0

LARGEST_NVFP4 = 2688.0
"""The largest FP4 value times the largest scale in float8_e4m3fn."""

SMALLEST_NORMAL = np.float32(2.0**-126)


def fp8_scale(largest: float, fmt: Format) -> np.float32:
    """Return the scale of a tensor in FP8: its largest magnitude over 448, rounded to the type of the weight.

    Where the reciprocal is not finite in that type, ComfyUI takes that of its largest number for float16; a power of
    two stands for it in the other types.
    """
    scale = _rounded(largest / LARGEST_FP8, fmt)
    if np.isfinite(_reciprocal(scale, fmt)):
        return scale
    return np.float32(1) / np.float32(FLOAT16.max) if fmt == FLOAT16 else SMALLEST_NORMAL


def nvfp4_scale(largest: float, fmt: Format) -> np.float32:
    """Return the second scale of NVFP4: the largest magnitude over 2688, rounded to the type of the weight.

    Where that is 0, the quotient in float32 stands for it, or a power of two.
    """
    scale = np.float32(largest) / np.float32(LARGEST_NVFP4)
    return _rounded(scale, fmt) or scale or SMALLEST_NORMAL


def _rounded(value: float | np.float32, fmt: Format) -> np.float32:
    return np.float32(np.float32(value).astype(fmt.dtype))


def _reciprocal(scale: np.float32, fmt: Format) -> np.float32:
    with np.errstate(all="ignore"):
        return _rounded(np.float32(1) / scale, fmt)


def quantize_fp8(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None) -> tuple[Array, Array]:
    """Return the scale, once to each row, and codes of x times its reciprocal, both rounded to the type of x."""
    if second is None:
        raise ValueError("FP8 needs the scale of the whole tensor")
    factor = np.asarray(_reciprocal(second, fmt))
    if fmt == FLOAT32:
        codes = multiply(x, fmt, factor, scheme.codes)
    else:
        codes = np.asarray(encode(multiply(x, fmt, factor, fmt), scheme.codes, source=fmt))
    return np.full((len(x), 1), second).view(np.uint32), codes.view(np.uint8)


def quantize_mxfp8(
    x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None, *, scale_rule: str | None = None
) -> tuple[Array, Array]:
    """Return exponents, of the power of two from the largest magnitude over 448 on, and codes.

    The logarithm is rounded to float32 before it is rounded up. A block of zeros has exponent code 0. A `scale_rule`
    of `absmax_scale` stands for this one.
    """
    values = x.view(fmt.dtype)
    largest = float_magnitudes(x, fmt, scheme.grid)
    with np.errstate(divide="ignore"):
        logarithms = np.log2((largest / np.float32(LARGEST_FP8)).astype(np.float64)).astype(np.float32)
    scales = np.where(largest == 0, 0, np.clip(np.ceil(logarithms) + 127, 1, 254)).astype(np.uint8)
    scales = scales if scale_rule is None else scales_by_rule(x, fmt, scheme, scale_rule)
    codes = _codes(_without_zero_blocks(values, largest == 0), scales.view(FLOAT8_E8M0FNU.dtype), scheme)
    return scales, codes


def quantize_nvfp4(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None) -> tuple[Array, Array]:
    """Return scales in float8_e4m3fn, and codes of x over scale times second scale; 0 where that product is 0."""
    if second is None:
        raise ValueError("NVFP4 needs the second scale")
    largest = float_magnitudes(x, fmt, scheme.grid)
    with np.errstate(over="ignore"):
        local = np.minimum(largest / np.float32(FLOAT4_E2M1FN.max) / second, np.float32(LARGEST_FP8))
    scales = np.asarray(encode(local, FLOAT8_E4M3FN)).view(np.uint8)
    factors = second * np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32))
    values = _without_zero_blocks(x.view(fmt.dtype), factors == 0)
    codes = _codes(values, np.where(factors == 0, np.float32(1), factors), scheme)
    return scales, swap_nibbles(codes)


def _without_zero_blocks(values: Array, zero: Array) -> Array:
    """Return rows with 0 where a block is to be all zeros: −0 would keep its sign."""
    if not zero.any():
        return values
    blocks = np.where(zero[:, :, np.newaxis], values.dtype.type(0), values.reshape(*zero.shape, -1))
    return np.asarray(blocks).reshape(values.shape)


def _codes(values: Array, scales: Array, scheme: Scheme) -> Array:
    """Return codes of values over the scales of their blocks, narrow ones two to a byte, the first one low."""
    packed = scheme.packing is not Packing.NONE
    codes = quantize_linear(
        values, scales, axis=1, block_size=scheme.grid.columns, output_dtype=scheme.codes, packed=packed
    )
    return np.asarray(codes).view(np.uint8).reshape(len(values), -1)


def rule_of_fp8(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of FP8; T is the type of the weight, T(…) rounds to it."""
    return (
        f"scale  = T(absmax of the tensor / {LARGEST_FP8:g})",
        f"code   = {scheme.codes.name}(T(x * T(1 / scale)))",
        "value  = code * scale",
    )


def rule_of_mxfp8(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of MXFP8."""
    return (
        f"scale  = 2^ceil(log2(absmax / {LARGEST_FP8:g})), byte 0 for zeros",
        f"code   = {scheme.codes.name}(x / scale)",
        "value  = code * scale",
    )


def rule_of_nvfp4(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of NVFP4; T is the type of the weight, T(…) rounds to it."""
    return (
        f"second = T(absmax of the tensor / {LARGEST_NVFP4:g})",
        f"scale  = {scheme.scale.name}(absmax / {scheme.codes.max:g} / second), in float32",
        f"code   = {scheme.codes.name}(x / (scale * second)), 0 where that scale is 0",
        "value  = code * (scale * second)",
    )


FP8_TOOL = Tool(NAME, quantize_fp8, fp8_scale, rule_of_fp8)
MXFP8_TOOL = Tool(NAME, quantize_mxfp8, rule=rule_of_mxfp8, takes_scale_rule=True)
NVFP4_TOOL = Tool(NAME, quantize_nvfp4, nvfp4_scale, rule_of_nvfp4)
