"""Quantization with the scales and the arithmetic of llm-compressor, in the type of the weight.

A scale is the largest magnitude of what shares it over half the range of the codes, rounded to the type of the weight;
so is the quotient that becomes a code. Powers of two (MX) and two levels of scales (NVFP4) have rules of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode, encode
from ...ops.quantize import quantize_linear
from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT4, INT8, UINT4, Format
from .magnitudes import clear_negative_zeros, float_magnitudes, group_magnitudes, scales_by_rule
from .scheme import GlobalScale, Packing, Scheme
from .tool import Tool

__all__ = ["TOOL", "code_format", "global_scale", "quantize", "rule"]

Array = np.ndarray[Any, Any]

HALF_RANGES = {FLOAT8_E4M3FN: 448.0, INT8: 127.5, INT4: 7.5}
"""Half the range of the codes: of integers (2^n − 1) / 2."""

SMALLEST_NVFP4_SCALE = 0.125
"""What stands for a scale of 0, llm-compressor's eps of float8_e4m3fn."""

LARGEST_NVFP4 = 2688.0
"""The largest FP4 value times the largest scale in float8_e4m3fn."""

INTEGERS = {4: (INT4, UINT4)}
"""Codes in words, by their bits: the integers they stand for, and what is stored."""


def quantize(
    x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None, *, scale_rule: str | None = None
) -> tuple[Array, Array]:
    """Return scales and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`; with blocks of rows, whole ones.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : numpy.float32, optional
        NVFP4's second scale, from `global_scale`.
    scale_rule : str, optional
        The rule of `absmax_scale` for scales that are powers of two; None for the tool's own.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of `scheme.scale`, a row and a column to each scale; rows of bytes.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    if scheme.global_scale is not GlobalScale.NONE and second is not None:
        return _nvfp4(x, fmt, scheme, second)
    if scheme.scale != FLOAT8_E8M0FNU:
        return _symmetric(x, fmt, scheme)
    scales = _mx_scales(x, fmt, scheme) if scale_rule is None else scales_by_rule(x, fmt, scheme, scale_rule)
    return scales, _codes(x, fmt, scales.view(FLOAT8_E8M0FNU.dtype), scheme)


def global_scale(largest: float, fmt: Format) -> np.float32:
    """Return NVFP4's second scale, which divides, for the largest magnitude of all tensors that share it.

    It is 1 / largest times 2688, each step rounded to the type of the weight; 1 where that is no finite number.
    """
    with np.errstate(all="ignore"):
        reciprocal = np.float32(np.divide(np.float32(1), np.float32(largest)).astype(fmt.dtype))
        scale = np.float32(np.multiply(reciprocal, np.float32(LARGEST_NVFP4)).astype(fmt.dtype))
    return scale if np.isfinite(scale) else np.float32(1)


def _codes(x: Array, fmt: Format, scales: Array, scheme: Scheme) -> Array:
    """Return rows of bytes, the codes of `x` over its scales; the quotients are rounded to the type of the scales."""
    grid, to, zero = scheme.grid, scheme.codes, None
    scales = np.repeat(scales, grid.rows, axis=0)[: len(x)] if grid.rows > 1 else scales
    axis, block = (1, grid.columns) if grid.columns else (0, 0)
    factors = np.ascontiguousarray(scales if block else scales[:, 0])
    packs = scheme.packing is Packing.LOW_FIRST
    if scheme.packing is Packing.WORDS:
        # Recipes have whole groups of 4-bit codes, a multiple of 8: a row of words is a row of packed codes.
        (_, to), zero, packs = INTEGERS[scheme.bits], 1 << (scheme.bits - 1), True
    codes = quantize_linear(
        x.view(fmt.dtype), factors, zero, axis=axis, block_size=block, output_dtype=to, packed=packs
    )
    packed = np.asarray(codes).view(np.uint8)
    if to == FLOAT4_E2M1FN:  # their sign is that of the quotient, which is 0 for −0
        clear_negative_zeros(packed, x, fmt)
    return packed.reshape(len(x), -1)


def code_format(scheme: Scheme) -> Format:
    """Return the format of the codes; those in words are integers of their number of bits."""
    return INTEGERS[scheme.bits][0] if scheme.packing is Packing.WORDS else scheme.codes


def _rounded(values: Any, fmt: Format) -> Array:
    """Return float32 values rounded to a format, as its codes."""
    return np.asarray(encode(values, fmt))


def _symmetric(x: Array, fmt: Format, scheme: Scheme) -> tuple[Array, Array]:
    """Return scales in the type of the weight, and codes; eps of the type stands for a scale of 0."""
    largest = float_magnitudes(x, fmt, scheme.grid)
    scales = _rounded(largest / np.float32(HALF_RANGES[code_format(scheme)]), fmt)
    scales[scales == 0] = _rounded(np.float32(2.0**-fmt.mantissa_bits), fmt)
    return scales, _codes(x, fmt, scales.view(fmt.dtype), scheme)


def _mx_scales(x: Array, fmt: Format, scheme: Scheme) -> Array:
    """Return exponents of scales that are powers of two.

    The exponent goes up from 1.75 times a power of two on, for FP8 elements too; a group of zeros has exponent code 0.
    """
    largest = group_magnitudes(x, fmt, scheme.grid).astype(np.int32)
    emax = int(np.floor(np.log2(scheme.codes.max)))
    exponents = (largest + (1 << (fmt.mantissa_bits - 2))) >> fmt.mantissa_bits
    exponents += 127 - emax - fmt.bias
    scales = np.clip(exponents, 0, 254, out=exponents).astype(np.uint8)
    scales[largest == 0] = 0
    return scales


def _nvfp4(x: Array, fmt: Format, scheme: Scheme, second: np.float32) -> tuple[Array, Array]:
    """Return scales in float8_e4m3fn, and codes of x over scale / second."""
    largest = float_magnitudes(x, fmt, scheme.grid)
    local = np.asarray(decode(_rounded(largest / np.float32(FLOAT4_E2M1FN.max), fmt), fmt, to=np.float32))
    with np.errstate(over="ignore"):
        scales = _rounded(second * local, FLOAT8_E4M3FN)
    scales[scales == 0] = _rounded(np.float32(SMALLEST_NVFP4_SCALE), FLOAT8_E4M3FN)
    factors = np.asarray(decode(scales, FLOAT8_E4M3FN, to=np.float32)) / second
    return scales, _codes(x, fmt, factors, scheme)


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


TOOL = Tool("llm-compressor", quantize, global_scale, rule, takes_scale_rule=True)
