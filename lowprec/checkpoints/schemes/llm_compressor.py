"""Quantization with the scales and the arithmetic of llm-compressor, in the type of the weight.

A scale is the largest magnitude of what shares it over half the range of the codes, rounded to the type of the weight;
so is the quotient that becomes a code. Powers of two (MX) and two levels of scales (NVFP4) have rules of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode, encode
from ...ops.quantize import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT4, INT8, Format
from .packing import pack_nibbles, pack_words
from .scheme import GlobalScale, Grid, Packing, Scheme
from .tool import Tool

__all__ = ["TOOL", "code_format", "global_scale", "has_nonfinite", "quantize", "rule"]

Array = np.ndarray[Any, Any]

HALF_RANGES = {FLOAT8_E4M3FN: 448.0, INT8: 127.5, INT4: 7.5}
"""Half the range of the codes: of integers (2^n − 1) / 2."""

SMALLEST_NVFP4_SCALE = 0.125
"""What stands for a scale of 0, llm-compressor's eps of float8_e4m3fn."""

LARGEST_NVFP4 = 2688.0
"""The largest FP4 value times the largest scale in float8_e4m3fn."""

INTEGERS = {4: INT4, 8: INT8}


def has_nonfinite(x: Array, fmt: Format) -> bool:
    """Whether there is a NaN or an infinity among codes of `fmt`."""
    return bool(x.size) and int((x & fmt.magnitude_mask).max()) > fmt.max_code


def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`; with blocks of rows, whole ones. All are finite.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : numpy.float32, optional
        NVFP4's second scale, from `global_scale`.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of `scheme.scale`, a row and a column to each scale; rows of bytes.
    """
    values = x.view(fmt.dtype)
    if scheme.global_scale is not GlobalScale.NONE and second is not None:
        scales, codes = _nvfp4(values, fmt, scheme, second)
    elif scheme.scale == FLOAT8_E8M0FNU:
        scales, codes = _mx(values, fmt, scheme)
    else:
        scales, codes = _symmetric(values, fmt, scheme)
    if scheme.packing is Packing.WORDS:
        half = 1 << (scheme.bits - 1)
        return scales, pack_words((codes ^ half) & (2 * half - 1), scheme.bits)
    return scales, pack_nibbles(codes) if scheme.packing is Packing.LOW_FIRST else codes


def global_scale(largest: float, fmt: Format) -> np.float32:
    """Return NVFP4's second scale, which divides, for the largest magnitude of all tensors that share it.

    It is 1 / largest times 2688, each step rounded to the type of the weight; 1 where that is no finite number.
    """
    with np.errstate(all="ignore"):
        reciprocal = np.float32(np.divide(np.float32(1), np.float32(largest)).astype(fmt.dtype))
        scale = np.float32(np.multiply(reciprocal, np.float32(LARGEST_NVFP4)).astype(fmt.dtype))
    return scale if np.isfinite(scale) else np.float32(1)


def _magnitudes(x: Array, fmt: Format, grid: Grid) -> Array:
    """Return the largest magnitudes of what shares a scale, as codes of `fmt`: a row and a column to each scale."""
    codes = x.view(fmt.code_dtype) & fmt.magnitude_mask
    height, width = grid.rows or len(x), grid.columns or x.shape[1]
    if x.shape[1] % width == 0:
        rows = codes.reshape(len(x), -1, width).max(axis=2)
    else:
        rows = np.maximum.reduceat(codes, np.arange(0, x.shape[1], width), axis=1)
    return rows if height == 1 else np.maximum.reduceat(rows, np.arange(0, len(x), height), axis=0)


def _codes(x: Array, scales: Array, grid: Grid, to: Format) -> Array:
    """Return codes of `x` over its scales, one to a byte; the quotients are rounded to the type of the scales."""
    scales = np.repeat(scales, grid.rows, axis=0)[: len(x)] if grid.rows > 1 else scales
    axis, block = (1, grid.columns) if grid.columns else (0, 0)
    factors = np.ascontiguousarray(scales if block else scales[:, 0])
    return np.asarray(quantize_linear(x, factors, axis=axis, block_size=block, output_dtype=to)).view(np.uint8)


def code_format(scheme: Scheme) -> Format:
    """Return the format of the codes; those in words are integers of their number of bits."""
    return INTEGERS[scheme.bits] if scheme.packing is Packing.WORDS else scheme.codes


def _symmetric(x: Array, fmt: Format, scheme: Scheme) -> tuple[Array, Array]:
    """Return scales in the type of the weight, and codes; eps of the type stands for a scale of 0."""
    to = code_format(scheme)
    largest = _magnitudes(x, fmt, scheme.grid).view(fmt.dtype)
    scales = np.divide(largest, fmt.dtype.type(HALF_RANGES[to]), dtype=np.float32).astype(fmt.dtype)
    scales[scales == 0] = fmt.dtype.type(2.0**-fmt.mantissa_bits)
    return scales.view(fmt.code_dtype), _codes(x, scales, scheme.grid, to)


def _mx(x: Array, fmt: Format, scheme: Scheme) -> tuple[Array, Array]:
    """Return exponents of scales that are powers of two, and codes.

    The exponent goes up from 1.75 times a power of two on, for FP8 elements too; a group of zeros has exponent code 0.
    """
    largest = _magnitudes(x, fmt, scheme.grid).astype(np.int64)
    exponents = ((largest + (1 << (fmt.mantissa_bits - 2))) >> fmt.mantissa_bits) - fmt.bias
    emax = int(np.floor(np.log2(scheme.codes.max)))
    scales = np.clip(exponents - emax + 127, 0, 254).astype(np.uint8)
    scales[largest == 0] = 0
    factors = scales.view(FLOAT8_E8M0FNU.dtype)
    return scales, _codes(_without_negative_zero(x, scheme.codes), factors, scheme.grid, scheme.codes)


def _nvfp4(x: Array, fmt: Format, scheme: Scheme, second: np.float32) -> tuple[Array, Array]:
    """Return scales in float8_e4m3fn, and codes of x over scale / second."""
    largest = _magnitudes(x, fmt, scheme.grid).view(fmt.dtype)
    local = np.divide(largest, fmt.dtype.type(FLOAT4_E2M1FN.max), dtype=np.float32).astype(fmt.dtype)
    with np.errstate(over="ignore"):
        scales = np.asarray(encode(np.clip(second * local.astype(np.float32), -448, 448), FLOAT8_E4M3FN)).view(np.uint8)
    smallest = np.asarray(encode(np.float32(SMALLEST_NVFP4_SCALE), FLOAT8_E4M3FN)).view(np.uint8)
    scales = np.where(scales == 0, smallest, scales)
    factors = np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32)) / second
    wide = _without_negative_zero(x, scheme.codes).astype(np.float32)
    return scales, _codes(wide, factors, scheme.grid, scheme.codes)


def _without_negative_zero(x: Array, to: Format) -> Array:
    """Return `x` with 0 for −0 where the codes are FP4: llm-compressor gives them the sign of the quotient, 0 of −0."""
    return np.where(x == 0, x.dtype.type(0), x) if to == FLOAT4_E2M1FN else x


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes; T is the type of the weight, T(…) rounds to it."""
    to = code_format(scheme)
    if scheme.global_scale is not GlobalScale.NONE:
        return (
            f"second = float32(T(T(1 / absmax of the tensors that are fused) * {LARGEST_NVFP4:g})), 1 where not finite",
            f"scale  = {scheme.scale.name}(T(absmax / {to.max:g}) * second), {SMALLEST_NVFP4_SCALE:g} where that is 0",
            f"code   = {to.name}(x / (scale / second)), in float32; -0 as 0",
            "value  = code * (scale / second)",
        )
    if scheme.scale == FLOAT8_E8M0FNU:
        emax = int(np.floor(np.log2(to.max)))
        return (
            f"scale  = 2^(e - {emax}): e is the exponent of absmax, one more from 1.75 * 2^e on; byte 0 for zeros",
            f"code   = {to.name}(x / scale)" + ("; -0 as 0" if to == FLOAT4_E2M1FN else ""),
            "value  = code * scale",
        )
    offset = f", stored as code + {1 << (scheme.bits - 1)}" if scheme.packing is Packing.WORDS else ""
    return (
        f"scale  = T(absmax / {HALF_RANGES[to]:g}), the eps of T where that is 0",
        f"code   = {to.name}(T(x / scale)), saturated{offset}",
        "value  = code * scale",
    )


TOOL = Tool("llm-compressor", quantize, global_scale, rule)
