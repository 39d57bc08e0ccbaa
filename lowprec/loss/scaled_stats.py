"""Codes that have scales, compared with the values they were made of: error statistics in one pass over memory."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..backends.cpu import run
from ..backends.job import Job
from ..backends.program import make_program
from ..backends.scales_for_kernels import ready_scales, resolve_operands
from ..plans.cast_plan import make_plan
from ..plans.quantize_plan import DEQUANTIZE, QuantizeOptions
from ..spec.formats import FLOAT32, Format
from ..spec.interned import CACHED
from ..spec.opset_rules import cast_rules
from .error_stats import ErrorStats

__all__ = ["ScaledCodes", "add_scaled"]

Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)
_SINGLE = FLOAT32


@lru_cache(maxsize=CACHED)
def _load(source: Format) -> _kernels.Program | None:
    """Return the program that makes float32 values, None where the source holds them."""
    return None if source == _SINGLE else make_program(make_plan(source, _SINGLE, cast_rules(source, _SINGLE)))


@lru_cache(maxsize=CACHED)
def _range(target: Format, zero_point: int) -> tuple[float, float]:
    """Return the least and the greatest float32 that round to a value of the range, as `count_beyond` has it.

    A tie beyond an end goes to the even code: outside, where the code of the end is odd.
    """
    if target.is_integer:
        low, high = int(target.min) - zero_point, int(target.max) - zero_point
        return _limit(low - 0.5, low), _limit(high + 0.5, high)
    limit = float(target.max) + math.ldexp(0.5, target.emax - target.mantissa_bits)
    return _limit(-limit, target.max_code), _limit(limit, target.max_code)


def _limit(tie: float, end: int) -> float:
    """Return a tie, or the float32 before it where it is outside."""
    return float(np.nextafter(np.float32(tie), np.float32(0)) if end % 2 else np.float32(tie))


class ScaledCodes(NamedTuple):
    """Codes and scales as `dequantize_linear` takes them.

    Attributes
    ----------
    codes, fmt : numpy.ndarray, Format
        Dense codes, as bytes or in unsigned integers, and their format.
    scale : numpy.ndarray
        A scale for all, for each index of the axis or for each block, in a dtype of its own.
    zero_point : int, optional
        The code of 0, where it is not 0.
    axis, block_size : int or two ints
        As in `dequantize_linear`.
    packed : bool
        Whether codes are packed.
    ends : tuple of float, optional
        The least and the greatest quotient, float32, that the rounding kept in the range; None for nearest even.
    """

    codes: Array
    fmt: Format
    scale: Array
    zero_point: Any = None
    axis: int | tuple[int, int] = 1
    block_size: int | tuple[int, int] = 0
    packed: bool = False
    ends: tuple[float, float] | None = None


def add_scaled(stats: ErrorStats, x: Array, source: Format, scaled: ScaledCodes) -> None:
    """Compare elements with what `dequantize_linear` makes of their codes in float32, and take in what was lost.

    A finite element saturates where its quotient by the scale, rounded to float32, is finite and rounds beyond the
    range of the codes less the zero point.

    Parameters
    ----------
    stats : ErrorStats
        Takes it in.
    x : numpy.ndarray
        Unsigned codes of `source`, dense and in native byte order, of the shape that the scales ask for.
    source : Format
        A float of up to 32 bits.
    scaled : ScaledCodes
        What they became.
    """
    if not x.size:
        return
    fmt, packed, zero = scaled.fmt, scaled.packed, scaled.zero_point
    codes = scaled.codes.reshape(-1).view(_BYTE)
    held, shape = (codes, x.shape) if packed else (codes.view(fmt.code_dtype).reshape(x.shape), None)
    options = QuantizeOptions(scaled.axis, scaled.block_size, _SINGLE, packed=packed, source=fmt)
    plan, scales = resolve_operands(DEQUANTIZE, held, scaled.scale, zero, options, shape)
    counts, saturated = _kernels.compare_scaled(
        _load(source), make_program(plan, unpacked=packed), x.reshape(-1).view(_BYTE), codes, x.size,
        ready_scales(Job(held, plan, scales, shape=shape), x.size, run), *(scaled.ends or _range(fmt, zero or 0)),
    )  # fmt: skip
    stats.add_counts(x.size, counts)
    stats.saturated += saturated
