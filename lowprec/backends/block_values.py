"""Block quantization composed of casts and array-API calls: for any library, and for what no compiled loop does.

Scales are found on the host, in float64 and float32. An element over its scale is exact in float64: the quotient of a
power of two, but for elements so far below their scale that every rounding treats them alike.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import array_api_compat
import numpy as np

from ..arrays.libraries import has_host_memory, namespace, to_host, to_library
from ..plans.block_plan import MXINT8, BlockPlan
from ..plans.cast_plan import Plan, make_plan
from ..spec.float_mode import default_mode
from ..spec.formats import FLOAT32, FLOAT64, Format
from ..spec.interned import CACHED
from ..spec.opset_rules import cast_rules
from ..spec.scale_rules import power_codes
from .block_job import BlockJob
from .dispatch import dispatch
from .job import Job
from .ranges import Groups, find_range

__all__ = ["divisors_of", "elements_of", "find_global_scale", "find_scales", "global_scale_of", "scaled_values"]

_Array = np.ndarray[Any, Any]

_TINY = 2.0**-700
"""Below every value of an element and of its random bits, and well above the smallest double times 2**127."""

_LEAST_GLOBAL = np.float32(2.0**-149)


@lru_cache(maxsize=CACHED)
def _plan(source: Format, target: Format) -> Plan:
    return make_plan(source, target, cast_rules(source, target))


def _cast(x: Any, source: Format, target: Format, **how: Any) -> Any:
    return x if source == target else dispatch(Job(x, _plan(source, target), **how))


def _in_blocks(x: Any, axis: int, block: int, xp: Any) -> Any:
    """Return an array with the axis divided into blocks along an axis of their own, zeros where the last is short."""
    before, length, after = x.shape[:axis], x.shape[axis], x.shape[axis + 1 :]
    if length % block:
        missing = xp.zeros((*before, -length % block, *after), dtype=x.dtype, device=array_api_compat.device(x))
        x = xp.concat([x, missing], axis=axis)
    return xp.reshape(x, (*before, -(-length // block), block, *after))


def _spread(scales: Any, shape: tuple[int, ...], axis: int, block: int, xp: Any) -> Any:
    """Return scales repeated for the elements of their blocks."""
    before, after, count = shape[:axis], shape[axis + 1 :], scales.shape[axis]
    wide = xp.broadcast_to(xp.expand_dims(scales, axis=axis + 1), (*before, count, block, *after))
    wide = xp.reshape(wide, (*before, count * block, *after))
    return wide[(*(slice(None),) * axis, slice(shape[axis]), ...)]


def _finite(values: Any, xp: Any) -> tuple[Any, Any]:
    """Return the finite magnitudes, 0 for NaN and Inf, and where those are."""
    finite = xp.isfinite(values)
    zero = xp.zeros((), dtype=values.dtype, device=array_api_compat.device(values))
    return xp.where(finite, xp.abs(values), zero), ~finite


def _on_host(x: Any) -> _Array:
    return x if isinstance(x, np.ndarray) else to_host(x)


@default_mode
def find_scales(x: Any, plan: BlockPlan, axis: int, block: int, global_scale: _Array | None) -> _Array:
    """Return the codes of the scales of blocks, on the host.

    Parameters
    ----------
    x : array
        Of any library that is not lazy; holds the source of the plan.
    plan, axis, block
        As in `BlockJob`.
    global_scale : numpy.ndarray or None
        float32, 0-d.
    """
    xp = namespace(x)
    magnitudes, special = _finite(_cast(x, plan.source, FLOAT64), xp)
    shape = tuple(x.shape)
    count = -(-shape[axis] // block)
    if 0 in shape:
        return np.zeros((*shape[:axis], count, *shape[axis + 1 :]), plan.scale.code_dtype)
    block = min(block, shape[axis])
    largest = _on_host(xp.max(_in_blocks(magnitudes, axis, block, xp), axis=axis + 1)).view(np.float64)
    codes = _scale_codes(largest, plan, global_scale)
    if plan.specials == "nan":
        marks = xp.astype(special, xp.uint8)
        bad = _on_host(xp.max(_in_blocks(marks, axis, block, xp), axis=axis + 1))
        codes = np.where(bad != 0, plan.scale.code_dtype.type(plan.scale.nan_code or 0), codes)
    return codes


def _scale_codes(largest: _Array, plan: BlockPlan, global_scale: _Array | None) -> _Array:
    """Return the codes of scales for largest magnitudes in float64."""
    if global_scale is None:
        return np.asarray(power_codes(largest, plan.element, plan.scale, plan.scale_rule))
    with np.errstate(all="ignore"):
        sixth = largest.astype(np.float32) / np.float32(plan.element.max)
        wanted = np.minimum(sixth / global_scale, np.float32(plan.scale.max))
    codes = np.asarray(_cast(wanted, FLOAT32, plan.scale, codes=True))
    return np.asarray(np.maximum(codes, largest > 0).astype(codes.dtype))


@default_mode
def find_global_scale(x: Any, plan: BlockPlan) -> _Array:
    """Return the global scale that the largest magnitude of an array asks for: float32, 0-d, on the host."""
    (largest,) = find_range(x, plan.source, Groups((), ()))
    return global_scale_of(np.float32(_on_host(largest).view(np.float64)), plan)


def global_scale_of(largest: Any, plan: BlockPlan) -> _Array:
    """Return the global scale for the largest magnitude, a float32."""
    with np.errstate(under="ignore"):
        found = np.float32(largest) / np.float32(float(plan.element.max) * float(plan.scale.max))
    return np.asarray(np.float32(1) if largest == 0 else max(found, _LEAST_GLOBAL))


@default_mode
def divisors_of(scales: _Array, plan: BlockPlan, global_scale: _Array | None) -> _Array:
    """Return what elements are divided by, for codes of scales: NaN for NaN, Inf where they become zeros."""
    if global_scale is None:
        exponents = scales.astype(np.int32) - plan.scale.bias
        return np.where(scales == plan.scale.nan_code, np.nan, np.ldexp(1.0, exponents))
    with np.errstate(all="ignore"):
        divisors = np.asarray(_cast(scales.view(plan.scale.dtype), plan.scale, FLOAT32)) * global_scale
    return np.where(divisors == 0, np.float32(np.inf), divisors).astype(np.float32)


@default_mode
def scaled_values(x: Any, scales: _Array, plan: BlockPlan, axis: int, block: int, global_scale: _Array | None) -> Any:
    """Return the elements over their scales, in the source of the plan's last cast; +0 where a scale is NaN.

    Parameters are those of `find_scales`, and what it returned.
    """
    xp, shape = namespace(x), tuple(x.shape)
    fmt = plan.last.source
    values = _cast(x, plan.source, fmt)
    if 0 in shape:
        return values
    host = divisors_of(scales, plan, global_scale).astype(fmt.dtype)
    divisors = host if has_host_memory(x) and xp is np else to_library(host.view(fmt.code_dtype), fmt, x)
    divisors = _spread(divisors, shape, axis, min(block, shape[axis]), xp)
    device = array_api_compat.device(values)
    zero = xp.zeros((), dtype=values.dtype, device=device)
    if plan.source == FLOAT64 == fmt:
        tiny = xp.asarray(_TINY, dtype=values.dtype, device=device)
        values = xp.where((xp.abs(values) < tiny) & (values != zero), xp.where(values < zero, -tiny, tiny), values)
    with np.errstate(all="ignore"):
        quotients = xp.where(xp.isinf(values), values, values / divisors)
    return xp.where(xp.isnan(divisors), zero, quotients)


def elements_of(values: Any, job: BlockJob, *, codes: bool = False, out: Any = None) -> Any:
    """Return the elements of scaled values, in their carrier or as unsigned codes, packed where that is wanted."""
    if job.plan.element != MXINT8:
        return dispatch(Job(values, job.plan.last, codes=codes, packed=job.packed, out=out, stream=job.stream))
    signed = dispatch(Job(values, job.plan.last, codes=True, stream=job.stream))
    xp = namespace(signed)
    wide = xp.astype(signed, xp.int16)
    integers = xp.astype((wide & 0x7F) * (1 - 2 * (wide >> 7)), xp.int8)
    if codes:
        return np.asarray(integers).view(np.uint8)
    if out is None:
        return integers
    out[...] = integers
    return out
