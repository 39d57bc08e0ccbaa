"""Jobs in array-API calls: the caller's array as `array_api_cast` reads it, the result as its library carries it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.libraries import check_out, namespace, native, reinterpret
from ..plans.cast_plan import make_plan
from ..spec import packing
from ..spec.formats import Format, as_format
from ..spec.operator_versions import NEWEST, CastRules, version_of
from . import array_api_cast, array_api_quantize
from .job import Job, Scales
from .scales_for_kernels import check_zero_point

__all__ = ["accepts", "run"]

_NEWEST_RULES = CastRules(version_of(NEWEST), True, "up")


def _unsigned(fmt: Format) -> Format:
    """Return the unsigned integer as wide as the format's storage dtype."""
    return as_format(fmt.code_dtype)


def _read(x: Any, source: Format, xp: Any) -> Any:
    """Return `x` as `array_api_cast` takes it: in the format's own dtype, or as uint8 / uint16 codes."""
    own = native(source, xp)
    guest = isinstance(own, np.dtype) and own.isbuiltin != 1  # a dtype of ml_dtypes, which CuPy may not compute with
    if source.is_float and (source.bits <= 8 or guest) and own is not None and x.dtype == own:
        return x.view(getattr(xp, source.code_dtype.name))
    is_direct = own is None or x.dtype == own
    if is_direct or (source.is_float and source.bits <= 16):
        return x
    if source.is_float:
        return reinterpret(x, source, xp)
    return array_api_cast.cast_array(x, make_plan(_unsigned(source), source, _NEWEST_RULES), xp)


def _deliver(job: Job, result: Any, dtype: Any) -> Any:
    """Return codes, or values, of the target as `dtype`, in `out` where there is one."""
    x, target, out = job.x, job.plan.target, job.out
    xp = namespace(x)
    if job.packed:
        result = packing.pack(result, target, xp)
    elif result.dtype != dtype and target.is_float:
        result = reinterpret(result, target if dtype == native(target, xp) else _unsigned(target), xp)
    elif result.dtype != dtype:
        result = xp.astype(result, dtype)  # masked codes from int8, or bools
    if out is None:
        return result
    check_out(out, x, result.shape, dtype)
    try:
        out[...] = result
    except ValueError as error:  # of a library that does not say beforehand that memory is read-only
        raise ValueError(f"`out` must be writable; {xp.__name__} says: {error}") from None
    return out


def accepts(job: Job) -> bool:
    """Whether the library can do it: every one is tried, and lacks a dtype at most."""
    return True


def run(job: Job) -> Any:
    """Carry out a job in the library and on the device of the array."""
    x, plan, dtype, extend = job.x, job.plan, job.dtype, job.extend
    xp, target = namespace(x), plan.target
    codes = packing.unpack(x, plan.source, job.shape, xp) if job.shape is not None else _read(x, plan.source, xp)
    if job.scales is not None:
        check_zero_point(plan, job.scales, run)
        scales = _readable(job, job.scales, xp)
        result = array_api_quantize.quantize_array(codes, plan, scales, xp, extend=extend, stream=job.stream)
    else:
        if dtype != native(target, xp) and not extend and target.is_integer and target.bits >= 8:
            plan = make_plan(plan.source, _unsigned(target), _NEWEST_RULES)  # an integer's code: the number mod 2**bits
        result = array_api_cast.cast_array(codes, plan, xp, extend=extend, stream=job.stream)
    return _deliver(job, result, dtype)


def _readable(job: Job, scales: Scales, xp: Any) -> Scales:
    """Return scales whose arrays `array_api_quantize` reads."""
    zero_point = scales.zero_point
    if zero_point is not None:
        has_use = job.plan.scaling is not None and job.plan.scaling.zero_point is not None
        zero_point = _read(zero_point, job.plan.codes, xp) if has_use else None
    return scales._replace(scale=_read(scales.scale, scales.format, xp), zero_point=zero_point)
