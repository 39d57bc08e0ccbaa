"""Quantization with the scales and the arithmetic of ModelOpt: FP8 with a scale to a tensor or a row, and NVFP4.

ModelOpt writes NaN for a weight that is all zeros where the scale is one for the whole tensor. Here such a weight has
the scale that ModelOpt gives to a row of zeros: the one of the largest code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode, encode
from ...ops.quantize import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32, Format
from .factors import divide
from .magnitudes import clear_negative_zeros, float_magnitudes
from .scheme import Grid, Packing, Scheme
from .tool import Tool

__all__ = ["FP8", "FP8_ROWS", "NVFP4", "fp8_scale", "nvfp4_scale", "quantize", "rule"]

Array = np.ndarray[Any, Any]

LARGEST_FP8, LARGEST_FP4 = np.float32(FLOAT8_E4M3FN.max), np.float32(FLOAT4_E2M1FN.max)

SMALLEST_FP8 = np.float32(2.0**-9)
"""The least positive float8_e4m3fn: no NVFP4 scale is smaller."""


def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`; finite where `second` was found.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        FP4 with scales in FP8, or FP8 with scales in float32.
    second : numpy.float32, optional
        The scale of the whole tensor, from `nvfp4_scale` or `fp8_scale`; FP8 without it has a scale to a row.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of `scheme.scale`, a row and a column to each scale, that of a whole tensor in each row; rows of
        bytes.

    Raises
    ------
    NotFiniteError
        If scales are computed here, and an element is a NaN or an infinity.
    """
    with np.errstate(all="ignore"):
        if scheme.packing is Packing.LOW_FIRST and second is not None:
            return _nvfp4(x, fmt, scheme.grid, second)
        return _fp8_rows(x, fmt) if second is None else _fp8_tensor(x, fmt, second)


def nvfp4_scale(largest: float, fmt: Format) -> np.float32:
    """Return NVFP4's second scale, a factor, for the largest magnitude of all tensors that share it."""
    return _scale(largest, LARGEST_FP4 * LARGEST_FP8, LARGEST_FP4)


def fp8_scale(largest: float, fmt: Format) -> np.float32:
    """Return the scale of FP8 for the largest magnitude of all tensors that share it."""
    return _scale(largest, LARGEST_FP8, LARGEST_FP8)


def _scale(largest: float, divisor: np.float32, otherwise: np.float32) -> np.float32:
    with np.errstate(under="ignore"):
        scale = np.float32(largest) / divisor
    return np.float32(scale if scale > 0 else otherwise / divisor)


def _nvfp4(x: Array, fmt: Format, grid: Grid, second: np.float32) -> tuple[Array, Array]:
    ratios = float_magnitudes(x, fmt, grid) / (LARGEST_FP4 * second)
    ratios[ratios == 0] = 1
    scales = np.asarray(encode(np.clip(ratios, SMALLEST_FP8, LARGEST_FP8), FLOAT8_E4M3FN)).view(np.uint8)
    factors = np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32)) * second
    # A quotient of 0 has no sign: −0 itself, and what becomes 0 by a factor above 1.
    width = grid.columns
    if factors.max(initial=0) > 1:
        zero = x.view(fmt.dtype).astype(np.float32) / np.repeat(factors, width, axis=1) == 0
        x = np.where(zero, x.dtype.type(0), x)
    values = x.view(fmt.dtype)
    codes = quantize_linear(values, factors, axis=1, block_size=width, output_dtype=FLOAT4_E2M1FN, packed=True)
    packed = np.asarray(codes)
    clear_negative_zeros(packed, x, fmt)
    return scales, packed.reshape(len(x), -1)


def _fp8_tensor(x: Array, fmt: Format, scale: np.float32) -> tuple[Array, Array]:
    """Return the scale for each row, and codes of quotients that are rounded to the type of the weight first."""
    if fmt == FLOAT32:
        codes = divide(x, fmt, scale, FLOAT8_E4M3FN)
    else:
        codes = np.asarray(encode(divide(x, fmt, scale, fmt), FLOAT8_E4M3FN, source=fmt))
    return np.full((len(x), 1), scale, np.float32).view(np.uint32), codes.view(np.uint8)


def _fp8_rows(x: Array, fmt: Format) -> tuple[Array, Array]:
    """Return a scale to each row, and codes; a largest magnitude is at least the least normal number of its type."""
    largest = float_magnitudes(x, fmt, Grid(1, 0))
    scales = np.where(largest == 0, LARGEST_FP8, np.maximum(largest, np.float32(fmt.smallest_normal))) / LARGEST_FP8
    codes = quantize_linear(x.view(fmt.dtype), scales[:, 0], axis=0, output_dtype=FLOAT8_E4M3FN)
    return scales.view(np.uint32), np.asarray(codes).view(np.uint8)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes; T is the type of the weight, T(…) rounds to it."""
    top, to = LARGEST_FP8, scheme.codes.name
    if scheme.packing is Packing.LOW_FIRST:
        return (
            f"second = absmax of the tensors that are fused / {LARGEST_FP4 * LARGEST_FP8:g}, in float32",
            f"scale  = {scheme.scale.name}(absmax / ({LARGEST_FP4:g} * second)), at least 2^-9; 1 for zeros",
            f"code   = {to}(x / (scale * second)); -0 as 0",
            "value  = code * (scale * second)",
        )
    if scheme.grid.rows:
        least = "absmax is at least the least normal number of T, and 1 the scale of zeros"
        return f"scale  = absmax / {top:g}, in float32; {least}", f"code   = {to}(x / scale)", "value  = code * scale"
    return (
        f"scale  = absmax of the tensors that are fused / {top:g}, in float32; 1 for zeros",
        f"code   = {to}(T(x / scale))",
        "value  = code * scale",
    )


FP8 = Tool("ModelOpt", quantize, fp8_scale, rule)
FP8_ROWS = Tool("ModelOpt", quantize, rule=rule)
NVFP4 = Tool("ModelOpt", quantize, nvfp4_scale, rule)
