"""Largest magnitudes of what shares a scale, NaN and infinities noticed; products and quotients that tools share.

Magnitudes are in the order of their codes, above which are those of infinities and NaN: the largest code tells both.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...backends.cpu import run
from ...backends.jobs import Job, Scales
from ...backends.largest_magnitudes import largest_codes
from ...ops.encode_pack import decode
from ...ops.scales import scale_codes
from ...plans.cast_plan import plan_of
from ...plans.plan import Method, Plan, Scaling
from ...plans.scale_shapes import granularity_of
from ...spec.formats import FLOAT32, Format
from ...spec.memo import CACHED
from .scale_grid import Grid
from .scheme import Scheme

__all__ = [
    "NotFiniteError", "clear_negative_zeros", "divide", "float_magnitudes", "group_magnitudes", "largest_magnitude",
    "multiply", "scales_by_rule",
]  # fmt: skip

Array = np.ndarray[Any, Any]

PART = 1 << 16

FP4_SIGN = 8


class NotFiniteError(ValueError):
    """There is a NaN or an infinity, which has no scale."""


def _finite(codes: Array, fmt: Format) -> Array:
    if int(codes.max(initial=0)) > fmt.max_code:
        raise NotFiniteError
    return codes


def group_magnitudes(x: Array, fmt: Format, grid: Grid) -> Array:
    """Return the largest magnitudes of what shares a scale, as codes: a row and a column to each scale.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of unsigned codes of `fmt`; with blocks of rows, whole ones but for the last.
    fmt : Format
        A float that has a sign and a zero.
    grid : Grid
        What shares a scale.

    Raises
    ------
    NotFiniteError
        If an element is a NaN or an infinity.
    """
    height = grid.rows or len(x)
    rows = _finite(largest_codes(x, fmt, grid.columns or x.shape[1]), fmt)
    return rows if height == 1 else np.maximum.reduceat(rows, np.arange(0, len(x), height), axis=0)


def float_magnitudes(x: Array, fmt: Format, grid: Grid) -> Array:
    """Return the same in float32."""
    return np.asarray(decode(group_magnitudes(x, fmt, grid), fmt, to=np.float32))


def scales_by_rule(x: Array, fmt: Format, scheme: Scheme, scale_rule: str) -> Array:
    """Return the codes of scales that are powers of two, by a scale rule of `absmax_scale`; else as the others."""
    return scale_codes(float_magnitudes(x, fmt, scheme.grid).astype(np.float64), scheme.codes, scheme.scale, scale_rule)


def largest_magnitude(x: Array, fmt: Format) -> float:
    """Return the largest magnitude of dense codes of a float, 0 where there are none; else as `group_magnitudes`."""
    if not x.size:
        return 0.0
    codes = _finite(largest_codes(x.reshape(1, -1), fmt, PART), fmt)
    return float(decode(codes.max(keepdims=True), fmt, to=np.float32).item())


def clear_negative_zeros(packed: Array, x: Array, fmt: Format) -> None:
    """Take the sign from 4-bit float codes, two to a byte and the first one low, of elements that are −0."""
    signed = x.reshape(-1).view(f"i{x.itemsize}")
    if not signed.size or signed.min() != -fmt.sign_mask:  # −0 is the least number in two's complement
        return
    places = np.flatnonzero(signed == -fmt.sign_mask)
    for nibble in (0, 1):
        packed[places[places % 2 == nibble] // 2] &= np.uint8(0xFF ^ FP4_SIGN << 4 * nibble)


@lru_cache(maxsize=CACHED)
def _plan(method: Method, source: Format, target: Format) -> Plan:
    """Return the plan of a quantization or a dequantization that has floats at both ends."""
    return Plan(method, source, target, scaling=Scaling(FLOAT32, None, plan_of(FLOAT32, target)))


def _run(method: Method, x: Array, fmt: Format, factors: Array, target: Format, width: int) -> Array:
    granularity = granularity_of(x.shape, factors.shape, 1, width, blocks=True, axes=True)
    scales = Scales(factors, FLOAT32, None, granularity)
    return np.asarray(run(Job(x, _plan(method, fmt, target), scales, codes=True)))


def multiply(x: Array, fmt: Format, factors: Array, target: Format, width: int = 0) -> Array:
    """Return codes of the products, which are rounded to float32 and then cast to a format.

    Parameters
    ----------
    x : numpy.ndarray
        Rows of unsigned codes of `fmt`, dense.
    fmt, target : Format
        Floats of up to 32 bits: the formats before and after.
    factors : numpy.ndarray
        float32: one for all, or a row to each row and a column to every `width` columns.
    width : int, optional
        How many columns share a factor.
    """
    return _run(Method.DEQUANTIZE, x, fmt, factors, target, width)


def divide(x: Array, fmt: Format, divisor: np.float32, target: Format) -> Array:
    """Return codes of the quotients by a number, which are rounded to float32 and then cast to a format."""
    return _run(Method.QUANTIZE, x, fmt, np.asarray(divisor), target, 0)
