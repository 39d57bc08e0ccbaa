"""The formulas of scales for formats, and what the kernels make of ranges by them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..spec.formats import Format
from ..spec.interned import CACHED
from ..spec.scale_rules import rule_addend

__all__ = [
    "global_formula", "global_scale", "power_codes", "range_formula", "range_scales", "symmetric_formula",
    "symmetric_scales",
]  # fmt: skip

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)


@lru_cache(maxsize=CACHED)
def symmetric_formula(to: Format, fmt: Format, rule: str = "floor") -> _kernels.ScaleFormula:
    """Return the formula of a scale in a format for the largest magnitude of what `to` will hold."""
    if fmt.has_zero:
        least, greatest = fmt.smallest_subnormal, float(fmt.max)
        return _kernels.ScaleFormula("symmetric", most=float(to.max), least=least, greatest=greatest)
    addend, emax = rule_addend(to, rule)
    return _kernels.ScaleFormula("power", greatest=fmt.max_code, addend=addend, offset=1023 + emax - fmt.bias)


@lru_cache(maxsize=CACHED)
def range_formula(to: Format) -> _kernels.ScaleFormula:
    """Return the formula of a scale and a zero point for the range of what an integer format will hold."""
    return _kernels.ScaleFormula("range", least=int(to.min), greatest=int(to.max))


@lru_cache(maxsize=CACHED)
def global_formula(element: Format, scale: Format) -> _kernels.ScaleFormula:
    """Return the formula of the global scale of blocks, by the formats of their elements and scales."""
    most = float(element.max) * float(scale.max)
    return _kernels.ScaleFormula("global", most=most, least=2.0**-149, greatest=math.inf)


def _doubles(ends: Any) -> _Array:
    return np.asarray(ends, np.float64, order="C")


def _bytes(x: _Array) -> _Array:
    return x.reshape(-1).view(_BYTE)


def symmetric_scales(largest: Any, to: Format, fmt: Format) -> _Array:
    """Return the scales of largest magnitudes before they are rounded to their format, in float64."""
    largest = _doubles(largest)
    scales = np.empty(largest.shape)
    symmetric_formula(to, fmt).run(None, _bytes(largest), _bytes(scales), None)
    return scales


def power_codes(largest: Any, to: Format, fmt: Format, rule: str) -> _Array:
    """Return the codes of powers of two for largest magnitudes; 0 where there is no magnitude."""
    largest = _doubles(largest)
    codes = np.empty(largest.shape, np.int32)
    symmetric_formula(to, fmt, rule).run(None, _bytes(largest), None, _bytes(codes))
    return np.asarray(codes.astype(fmt.code_dtype))


def range_scales(low: Any, high: Any, to: Format) -> tuple[_Array, _Array]:
    """Return the scales of ranges, float32, and their zero points, int32."""
    low, high = _doubles(low), _doubles(high)
    scales, zeros = np.empty(high.shape, np.float32), np.empty(high.shape, np.int32)
    range_formula(to).run(_bytes(low), _bytes(high), _bytes(scales), _bytes(zeros))
    return scales, zeros


def global_scale(largest: Any, element: Format, scale: Format) -> _Array:
    """Return the global scale of blocks for the largest magnitude of an array: float32, 0-d."""
    largest = _doubles(largest)
    found = np.empty(largest.shape, np.float32)
    global_formula(element, scale).run(None, _bytes(largest), _bytes(found), None)
    return found
