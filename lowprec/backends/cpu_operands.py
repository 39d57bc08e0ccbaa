"""Scales and zero points of host memory as the compiled loops read them: dense, in native byte order, in long runs."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.libraries import to_codes
from ..plans.cast_plan import Plan
from ..plans.granularity import Granularity, expanded
from ..spec.formats import Format
from .job import Job, Scales
from .scale_operands import Run, loop_operands

__all__ = ["cpu_operands"]

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)
_NUMPY = (np.ndarray, np.generic)


def _flat(x: Any) -> _Array:
    """Return host memory as one dense row in native byte order."""
    if type(x) is np.ndarray and x.flags.carray and x.dtype.isnative:
        return x.reshape(-1)
    codes = to_codes(x)
    if isinstance(x, _NUMPY) and not x.dtype.isnative:
        codes = codes.byteswap()
    return np.ascontiguousarray(codes).reshape(-1)


def cpu_operands(job: Job, n: int, run: Run) -> _kernels.Operands:
    """Return what the kernels read of scales; those of one scale are remembered, for small calls."""
    plan, scales = job.plan, job.scales
    assert scales is not None
    scale, fmt, zero_point, granularity = scales
    if granularity.axis is None and isinstance(scale, _NUMPY):
        if zero_point is None:
            return _operands_of_one(plan, fmt, granularity, n, run, scale.tobytes(), scale.dtype)
        if isinstance(zero_point, _NUMPY):
            zero = zero_point.tobytes(), zero_point.dtype
            return _operands_of_one(plan, fmt, granularity, n, run, scale.tobytes(), scale.dtype, *zero)
    return _make_operands(plan, scales, n, run, copies=job.out is not None)


@lru_cache(maxsize=4096)
def _operands_of_one(
    plan: Plan, fmt: Format, granularity: Granularity, n: int, run: Run, *contents: Any
) -> _kernels.Operands:
    """Return the operands of one scale, and of one zero point if there is one: the bytes and the dtype of each."""
    scale, *zero_point = map(np.frombuffer, contents[::2], contents[1::2])
    return _make_operands(plan, Scales(scale, fmt, zero_point[0] if zero_point else None, granularity), n, run)


def _make_operands(plan: Plan, scales: Scales, n: int, run: Run, *, copies: bool = False) -> _kernels.Operands:
    """Return scales and zero points as the loops read them; copies where the result may be written over them."""
    scale, zero_point = loop_operands(plan, scales, run)
    if zero_point is not None:
        zero_point = _flat(zero_point)
        if plan.codes.is_integer and not zero_point.any():  # a sum with 0 is a change to a float -0 alone
            zero_point = None
    granularity, (scale, zero_point) = expanded(scales.granularity, n, (_flat(scale), zero_point))
    if copies:
        scale, zero_point = scale.copy(), None if zero_point is None else zero_point.copy()
    zero_bytes = None if zero_point is None else zero_point.view(_BYTE)
    return _kernels.Operands(scale.view(_BYTE), zero_bytes, scale.itemsize, n, granularity)
