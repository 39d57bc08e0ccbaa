"""MX and NVFP4 blocks composed of casts and array-API calls: for any library, and for what no kernel does."""

from __future__ import annotations

from typing import Any

import array_api_compat
import numpy as np

from ..._float_mode import default_mode
from ...arrays.array_memory import to_host, to_library
from ...arrays.libraries import namespace
from ...plans.block_plan import MXINT8, BlockPlan
from ...plans.cast_plan import plan_of
from ...plans.scale_shapes import Groups
from ...spec.formats import FLOAT32, FLOAT64, Format
from ...spec.scale_rules import MODELOPT, power_codes
from ..backend_choice import dispatch
from ..cublas_scale_order import swizzle
from ..jobs import BlockJob, Job
from ..largest_magnitudes import find_range
from ..nvfp4_scales import factors_of, global_scale_of, scale_codes_of, start_of, start_of_tensor

__all__ = [
    "elements_of",
    "find_scales",
    "find_start",
    "number_on_host",
    "quantize_blocks",
    "scaled_values",
]


_Array = np.ndarray[Any, Any]

_TINY = 2.0**-700
"""Below every value of an element and of its random bits, and well above the smallest double times 2**127."""


def _cast(x: Any, source: Format, target: Format, **how: Any) -> Any:
    return x if source == target else dispatch(Job(x, plan_of(source, target), **how))


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
def find_scales(x: Any, plan: BlockPlan, axis: int, block: int, start: _Array | None) -> _Array:
    """Return the codes of the scales of blocks, on the host.

    Parameters
    ----------
    x : array
        Of any library that is not lazy; holds the source of the plan.
    plan, axis, block
        As in `BlockJob`.
    start : numpy.ndarray or None
        What the rule of a global scale starts from: float32, 0-d.
    """
    xp = namespace(x)
    magnitudes, special = _finite(_cast(x, plan.source, FLOAT64), xp)
    shape = tuple(x.shape)
    count = -(-shape[axis] // block)
    if 0 in shape:
        return np.zeros((*shape[:axis], count, *shape[axis + 1 :]), plan.scale.code_dtype)
    block = min(block, shape[axis])
    largest = _on_host(xp.max(_in_blocks(magnitudes, axis, block, xp), axis=axis + 1)).view(np.float64)
    codes = _scale_codes(largest, plan, start)
    if plan.specials == "nan":
        marks = xp.astype(special, xp.uint8)
        bad = _on_host(xp.max(_in_blocks(marks, axis, block, xp), axis=axis + 1))
        codes = np.where(bad != 0, plan.scale.code_dtype.type(plan.scale.nan_code or 0), codes)
    return codes


def _scale_codes(largest: _Array, plan: BlockPlan, start: _Array | None) -> _Array:
    """Return the codes of scales for largest magnitudes in float64."""
    if start is None:
        return power_codes(largest, plan.element, plan.scale, plan.scale_rule)
    return scale_codes_of(largest.astype(np.float32), start, plan)


def find_start(x: Any, plan: BlockPlan) -> _Array:
    """Return what the rule of a global scale starts from for the largest magnitude of an array: float32, 0-d."""
    (largest,) = find_range(x, plan.source, Groups((), ()))
    return start_of_tensor(_on_host(largest).view(np.float64), plan)


@default_mode
def _factors(scales: _Array, plan: BlockPlan, start: _Array | None) -> tuple[_Array, bool]:
    """Return what elements are divided by, or multiplied by, and which of both; NaN where a scale is NaN."""
    if start is not None:
        return factors_of(scales, start, plan)
    exponents = scales.astype(np.int32) - plan.scale.bias
    return np.where(scales == plan.scale.nan_code, np.nan, np.ldexp(1.0, exponents)), False


@default_mode
def scaled_values(x: Any, scales: _Array, plan: BlockPlan, axis: int, block: int, start: _Array | None) -> Any:
    """Return the elements over their scales, in the source of the plan's last cast; +0 where a scale is NaN.

    Parameters are those of `find_scales`, and what it returned.
    """
    xp, shape = namespace(x), tuple(x.shape)
    fmt = plan.last.source
    values = _cast(x, plan.source, fmt)
    if 0 in shape:
        return values
    host, multiplies = _factors(scales, plan, start)
    host = host.astype(fmt.dtype)
    factors = host if xp is np else to_library(host.view(fmt.code_dtype), fmt, x)
    factors = _spread(factors, shape, axis, min(block, shape[axis]), xp)
    device = array_api_compat.device(values)
    zero = xp.zeros((), dtype=values.dtype, device=device)
    if plan.source == FLOAT64 == fmt:
        tiny = xp.asarray(_TINY, dtype=values.dtype, device=device)
        values = xp.where((xp.abs(values) < tiny) & (values != zero), xp.where(values < zero, -tiny, tiny), values)
    with np.errstate(all="ignore"):
        scaled = values * factors if multiplies else values / factors
    scaled = xp.where(xp.isinf(values) | (values == zero), values, scaled)
    if plan.scale_rule == MODELOPT:  # the sign is that of a comparison with 0
        scaled = xp.where(scaled == zero, zero, scaled)
    return xp.where(xp.isnan(factors), zero, scaled)


def elements_of(values: Any, job: BlockJob, *, codes: bool = False, out: Any = None) -> Any:
    """Return the elements of scaled values, in their storage dtype or as unsigned codes, packed where asked for."""
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


def number_on_host(x: Any) -> _Array:
    """Return one float32 of any library as a 0-d NumPy array."""
    return to_host(x).view(np.float32).reshape(())


def quantize_blocks(job: BlockJob) -> tuple[Any, ...]:
    """Carry out a block quantization in calls of the library; scales are computed on the host."""
    job.check_out()
    x, plan, axis, block = job.x, job.plan, job.axis, job.block
    factor = None
    if plan.two_levels:
        factor = find_start(x, plan) if job.global_scale is None else start_of(number_on_host(job.global_scale), plan)
    scales = find_scales(x, plan, axis, block, factor)
    values = scaled_values(x, scales, plan, axis, block, factor)
    out = job.out or (None, None, None)
    elements = elements_of(values, job, out=out[0])
    kept = [to_library(swizzle(scales, axis) if job.swizzled else scales, plan.scale, x)]
    if factor is not None:
        kept.append(to_library(global_scale_of(factor, plan).view(np.uint32), FLOAT32, x))
    if job.out is not None:
        for target, result in zip(job.out[1:], kept, strict=True):
            target[...] = result
        return job.out
    return (elements, *kept)
