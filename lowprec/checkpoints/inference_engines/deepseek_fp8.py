"""Quantization with the arithmetic of DeepGEMM: FP8 in blocks of 128 x 128, computed in float32.

`per_block_cast_to_fp8`, as its releases of 2025 have it: a scale is the largest magnitude over the largest code, and
a code is the product of the number with the inverse of that ratio, not a quotient. torch, which the tool runs in,
computes that inverse as a reciprocal times the largest code and rounds both. Scales that are powers of two (ue8m0)
are the ratio rounded up; their reciprocals are exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._float_mode import default_mode
from ...spec.formats import Format
from .factors import multiply
from .magnitudes import float_magnitudes
from .scheme import Grid, Scheme
from .tool import Tool

__all__ = ["TOOL", "UE8M0", "quantize", "quantize_by_powers", "rule", "rule_of_powers"]

Array = np.ndarray[Any, Any]

SMALLEST = np.float32(1e-4)
"""What stands for a largest magnitude that is smaller, zero among them."""

_FRACTION_BITS = 23


@default_mode
def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales in float32, and codes.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of a weight as unsigned codes of `fmt`, whole blocks of rows but for the last.
    fmt : Format
        bfloat16, float16 or float32.
    scheme : Scheme
        How they are to be stored.
    second : None
        There is no second scale.

    Returns
    -------
    scales, codes : numpy.ndarray
        Unsigned codes of float32, a row and a column to each block; rows of bytes.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    largest, top = _largest(x, fmt, scheme.grid), np.float32(scheme.codes.max)
    return (largest / top).view(np.uint32), _products(x, fmt, np.reciprocal(largest) * top, scheme)


@default_mode
def quantize_by_powers(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return scales in float32 that are powers of two, and codes, as `quantize` takes and returns them."""
    ratio = (_largest(x, fmt, scheme.grid) / np.float32(scheme.codes.max)).view(np.uint32)
    scales = (ratio + np.uint32((1 << _FRACTION_BITS) - 1)) & np.uint32(0xFF << _FRACTION_BITS)
    return scales, _products(x, fmt, np.reciprocal(scales.view(np.float32)), scheme)


def _largest(x: Array, fmt: Format, grid: Grid) -> Array:
    clamped: Array = np.maximum(float_magnitudes(x, fmt, grid), SMALLEST)
    return clamped


def _products(x: Array, fmt: Format, factors: Array, scheme: Scheme) -> Array:
    """Return codes of the products with the factors, a row and a column of which each block has."""
    factors = np.repeat(factors, scheme.grid.rows, axis=0)[: len(x)]
    return multiply(x, fmt, factors, scheme.codes, scheme.grid.columns)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales and codes."""
    top, to = scheme.codes.max, scheme.codes.name
    return (
        f"scale  = absmax / {top:g}, in float32; absmax is at least {SMALLEST:g}",
        f"code   = {to}(x * ({top:g} / absmax)); the factor is 1 / absmax times {top:g}, both rounded to float32",
        "value  = code * scale",
    )


def rule_of_powers(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of scales that are powers of two, and of codes."""
    return (
        f"scale  = absmax / {scheme.codes.max:g}, rounded up to a power of two; absmax is at least {SMALLEST:g}",
        f"code   = {scheme.codes.name}(x * (1 / scale)), in float32",
        "value  = code * scale",
    )


TOOL = Tool("DeepGEMM", quantize, rule=rule)
UE8M0 = Tool("DeepGEMM, ue8m0", quantize_by_powers, rule=rule_of_powers)
