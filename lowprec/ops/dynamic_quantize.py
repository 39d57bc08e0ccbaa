"""The scale and the zero point that the range of the values asks for, as DynamicQuantizeLinear has them."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat as compat
import numpy as np

from .. import _kernels
from ..arrays.libraries import call_back, has_host_memory, is_dask, is_traced, namespace, to_host, to_library
from ..backends import dask
from ..backends.dispatch import dispatch
from ..backends.job import Job
from ..plans.cast_plan import make_plan
from ..spec.formats import FLOAT32, UINT8
from ..spec.operator_versions import cast_rules

__all__ = ["range_of"]

_SINGLE, _BYTE = FLOAT32, UINT8


def _steps(x: Any, xp: Any) -> tuple[Any, Any]:
    """Return scale and zero point, step by step as the operator's function body; a zero point of NaN becomes 0."""
    zero = xp.zeros((), dtype=x.dtype, device=compat.device(x))
    low, high = xp.minimum(xp.min(x), zero), xp.maximum(xp.max(x), zero)
    with np.errstate(all="ignore"):
        scale = xp.asarray((high - low) / 255)
        nan = xp.full((), math.nan, dtype=x.dtype, device=compat.device(x))
        scale = xp.where(xp.isnan(scale), nan, scale)  # without the sign and the payload of that in x
        initial = xp.asarray(xp.round(xp.clip(zero - low / scale, 0, 255)))
    return scale, dispatch(Job(initial, make_plan(_SINGLE, _BYTE, cast_rules(_SINGLE, _BYTE))))


def _both(x: Any, xp: Any) -> tuple[Any, Any]:
    pair: tuple[Any, Any] = _kernels.in_default_mode(lambda: _steps(x, xp))  # XLA's threads flush subnormals
    return pair


def _of_block(least: Any, most: Any, *, wanted: str) -> Any:
    """Return one of the two, of the least and the greatest value of all blocks of a Dask array."""
    xp = compat.array_namespace(least)
    ends = xp.stack([xp.asarray(least), xp.asarray(most)])
    return _both(ends, xp)[wanted == "zero_point"]


def range_of(x: Any) -> tuple[Any, Any]:
    """Return the scale, float32, and the zero point, uint8, of float32 values: 0-d, in the library of `x`."""
    if is_dask(x):
        ends = x.min(), [(x.max(), ())]
        kinds = (("scale", _SINGLE), ("zero_point", _BYTE))
        scale, zero = (dask.blockwise(_of_block, *ends, fmt.dtype, name, wanted=name) for name, fmt in kinds)
        return scale, zero
    if is_traced(x):
        tasks = (lambda host: _both(host, np)[0]), (lambda host: _both(host, np)[1])
        scale, zero = (
            call_back(task, (), fmt.dtype, x, elementwise=False)
            for task, fmt in zip(tasks, (_SINGLE, _BYTE), strict=True)
        )
        return scale, zero
    if has_host_memory(x):
        values = to_host(x).view(_SINGLE.dtype)
        scale, zero = (np.asarray(one) for one in _both(values, np))
        return to_library(scale.view(np.uint32), _SINGLE, x), to_library(zero, _BYTE, x)
    return _both(x, namespace(x))
