"""Calls in host memory: what a job comes to, kept for the calls that follow, and carried out at once."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..arrays.libraries import extends, is_torch, namespace, storage_dtype
from ..arrays.torch_tensors import LOWEST, mark_written
from ..plans.cast_plan import Plan
from ..spec.formats import Format
from ..spec.interned import CACHED
from .job import Job
from .program import make_program
from .scales_for_kernels import scale_route
from .thread_count import PARALLEL_FROM, is_small, shared

__all__ = [
    "CASTS", "DEQUANTIZED", "QUANTIZED", "CallKey", "address_of", "described", "is_name", "is_tensor_in_memory",
    "run_call", "run_known_tensor",
]  # fmt: skip

CASTS = _kernels.CallCache(CACHED, shared, by_shape=False)
"""Calls of `cast` and of what else converts without scales; the function's name is the first option."""

QUANTIZED = _kernels.CallCache(CACHED, shared, by_shape=True)
DEQUANTIZED = _kernels.CallCache(CACHED, shared, by_shape=True)

_MOST_AXES = 8
"""Axes of a result whose shape is a part of the call."""


class CallKey(NamedTuple):
    """What names a call: where it is remembered; operands and options as the caller gave them.

    `needs_out` says whether it was `out` that said of which dtype the result is.
    """

    calls: _kernels.CallCache
    options: tuple[Any, ...]
    scale: Any = None
    zero_point: Any = None
    needs_out: bool = False


# ---- calls that came before


def run_known_tensor(
    calls: _kernels.CallCache,
    x: Any,
    scale: Any,
    zero_point: Any,
    options: tuple[Any, ...],
    seed: Any,
    offset: Any,
    out: Any,
) -> Any:
    """Do what `CallCache.run` does for a torch tensor; the caller has checked that torch traces and transforms nothing.

    None too for many elements: memory for such results comes from NumPy, in huge pages.
    """
    torch = sys.modules.get("torch")
    if torch is None or type(x) is not torch.Tensor:
        return None
    try:
        if calls.by_shape:
            tensor = torch.Tensor
            call = calls.find(described(x, tensor), described(scale, tensor), described(zero_point, tensor), options)
        else:
            call = calls.find(x.dtype, None, None, options)
    except RuntimeError:  # a nested tensor has no shape
        return None
    return None if call is None else _run_tensor(call, x, scale, zero_point, seed, offset, out, torch)


def _run_tensor(
    call: _kernels.HostCall, x: Any, scale: Any, zero_point: Any, seed: Any, offset: Any, out: Any, torch: Any
) -> Any:
    memory = address_of(x, torch.Tensor)
    if out is not None:
        return _run_into_tensor(call, memory, x, scale, zero_point, seed, offset, out, torch.Tensor)
    if memory is None:
        return None
    if call.same_shape:
        n = x.numel()
        if n >= PARALLEL_FROM:
            return None
        result = torch.empty_like(x, dtype=call.dtype)
        if is_small(n):
            return result if call.run_addresses(memory, n, seed, offset, result.data_ptr(), 1) else None
    else:
        shape = call.shape
        n = x.numel() if shape is None else math.prod(shape)
        if n >= PARALLEL_FROM or call.needs_out:
            return None
        if call.packed:
            result = x.new_empty(call.bytes_of(n), dtype=call.dtype)
        elif shape == x.shape:
            result = torch.empty_like(x, dtype=call.dtype)
        else:
            result = x.new_empty(shape, dtype=call.dtype)
    done = _run_addresses(call, memory, n, seed, offset, result.data_ptr(), scale, zero_point, None, torch.Tensor)
    return result if done else None


def _run_addresses(
    call: _kernels.HostCall,
    memory: int,
    n: int,
    seed: Any,
    offset: Any,
    result: int,
    scale: Any,
    zero_point: Any,
    steps: tuple[int, ...] | None,
    tensor: Any,
) -> bool:
    if call.scaled:
        factor, zero = address_of(scale, tensor), 0 if zero_point is None else address_of(zero_point, tensor)
        if factor is None or zero is None:
            return False
        if is_small(n):
            return call.run_addresses(memory, n, seed, offset, result, 1, factor, zero, scale, zero_point, steps)
        operands: tuple[Any, ...] = factor, zero, scale, zero_point, steps
    else:
        operands = ()
    return shared(n, lambda count: call.run_addresses(memory, n, seed, offset, result, count, *operands))


def _run_into_tensor(
    call: _kernels.HostCall,
    memory: int | None,
    x: Any,
    scale: Any,
    zero_point: Any,
    seed: Any,
    offset: Any,
    out: Any,
    tensor: Any,
) -> Any:
    """Carry out a call into a tensor of any steps along its axes; where no shape is kept the array may have any too."""
    shape = x.shape if call.shape is None else call.shape
    n = math.prod(shape)
    if n >= PARALLEL_FROM or not _takes(out, (call.bytes_of(n),) if call.packed else shape, call.dtype, tensor):
        return None
    dense = out.is_contiguous()
    if memory is not None and (dense or call.scaled):
        steps = None if dense else out.stride()
        done = _run_addresses(call, memory, n, seed, offset, out.data_ptr(), scale, zero_point, steps, tensor)
    elif call.same_shape and not call.seeded and is_small(n) and _has_address(x):
        done = call.run_tensors(x.data_ptr(), tuple(shape), x.stride(), out.data_ptr(), out.stride(), 1)
    else:
        return None
    if not done:
        return None
    mark_written(out)
    return out


def described(operand: Any, tensor: Any) -> Any:
    """Return what a key holds of an operand, as the table of the calls describes it."""
    return (operand.dtype, operand.shape) if type(operand) is tensor else operand


def address_of(operand: Any, tensor: Any) -> int | None:
    """Return where a dense tensor on the CPU lies, 0 for what is no tensor; None if that cannot be said.

    An empty one may lie anywhere.
    """
    if type(operand) is not tensor:
        return 0
    try:
        if not (operand.is_cpu and operand.is_contiguous()) or operand.is_neg() or operand.is_nested:
            return None
        address: int = operand.data_ptr()
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return None
    return address if address >= LOWEST or operand.numel() == 0 else None


def is_tensor_in_memory(x: Any) -> bool:
    """Whether an array is a torch tensor that lies in memory of the host as it is."""
    torch = sys.modules.get("torch")
    return torch is not None and type(x) is torch.Tensor and _has_address(x)


def _has_address(x: Any) -> bool:
    """Whether a torch tensor, of any strides, lies in memory of the host as it is."""
    try:
        return bool(x.is_cpu and not x.is_neg() and not x.is_nested and x.data_ptr() >= LOWEST)
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return False


def _takes(out: Any, shape: tuple[int, ...], dtype: Any, tensor: Any) -> bool:
    """Whether a torch tensor, of any strides, is memory of the host for a result of a shape and a dtype."""
    return (
        type(out) is tensor and out.dtype == dtype and not out.is_nested and out.shape == shape
        and not out.requires_grad and _has_address(out)
    )  # fmt: skip


# ---- what a job comes to


def run_call(job: Job) -> Any:
    """Carry out a job on dense memory, and keep what it comes to where it has a key; None where it is none of those."""
    x, key, stream = job.x, job.key, job.stream
    in_numpy = type(x) is np.ndarray
    if job.storage is not None or not (in_numpy or (is_torch(x) and type(x) is sys.modules["torch"].Tensor)):
        return None
    operands: tuple[Any, Any] = None, None
    if key is None:
        call = None if job.scales is not None else _plain_call(job)
    else:
        operands = _plain(key.scale), _plain(key.zero_point)
        known = _described_all(key.calls, x, *operands)
        has_names = all(map(is_name, key.options))
        found = key.calls.find(*known, key.options) if has_names else None
        if found is not None and found.needs_out == key.needs_out:
            return None  # which it did just now
        call = _plain_call(job) if job.scales is None else _scaled_call(job, key)
        if call is not None and has_names:
            key.calls.remember(*known, key.options, call)
    if call is None:
        return None
    scale, zero_point = operands
    seed, offset = (None, 0) if stream is None else stream
    if in_numpy:
        return shared(math.prod(job.values_shape), call.run, x, scale, zero_point, seed, offset, job.out)
    return _run_tensor(call, x, scale, zero_point, seed, offset, job.out, sys.modules["torch"])


def _described_all(calls: _kernels.CallCache, x: Any, scale: Any, zero_point: Any) -> tuple[Any, Any, Any]:
    if type(x) is np.ndarray:
        return x, scale, zero_point
    if not calls.by_shape:
        return x.dtype, None, None
    tensor = type(x)
    return described(x, tensor), described(scale, tensor), described(zero_point, tensor)


def _plain(operand: Any) -> Any:
    """Return a scalar that the table of the calls takes for a Python number as that."""
    return operand.item() if type(operand) in (np.float64, np.int64) else operand


def _names_format(option: object) -> bool:
    """Whether an option is what names a format for all time."""
    torch = sys.modules.get("torch")
    return (
        type(option) in (str, type) or isinstance(option, (Format, np.dtype))
        or (torch is not None and isinstance(option, torch.dtype))
    )  # fmt: skip


def is_name(option: object) -> bool:
    """Whether an option means the same for all time."""
    return type(option) in (int, bool, tuple, type(None)) or _names_format(option)


def _plain_call(job: Job) -> _kernels.HostCall | None:
    """Return what a job without scales comes to."""
    if job.shape is not None and len(job.shape) > _MOST_AXES:
        return None
    return _call_of(job.plan, job.codes, job.packed, job.shape, job.stream is not None, namespace(job.x))


@lru_cache(maxsize=CACHED)
def _call_of(
    plan: Plan, codes: bool, packed: bool, shape: tuple[int, ...] | None, seeded: bool, xp: Any
) -> _kernels.HostCall:
    dtype = storage_dtype(plan.target.code_dtype.name if codes or packed else plan.target, xp)
    extend = not (codes or packed) and extends(plan.target, xp)
    program = make_program(plan, extend=extend, packed=packed, unpacked=shape is not None)
    return _kernels.HostCall(program, dtype, shape, seeded=seeded)


def _scaled_call(job: Job, key: CallKey) -> _kernels.HostCall | None:
    """Return what a job with scales on few elements comes to."""
    plan, scales, n = job.plan, job.scales, math.prod(job.values_shape)
    assert scales is not None
    assert plan.scaling is not None
    if not 0 < n < PARALLEL_FROM or len(job.values_shape) > _MOST_AXES:
        return None
    if not (_is_held(key.scale, job, scales.scale) and _is_held(key.zero_point, job, scales.zero_point)):
        return None
    number = isinstance(key.scale, (int, float)) and not isinstance(key.scale, np.generic)
    zero_number = type(key.zero_point) is int
    if number and scales.format.is_integer:
        return None
    if zero_number and plan.scaling.zero_point is not None and not plan.codes.is_integer:
        return None
    if not number and math.prod(key.scale.shape) != math.prod(scales.scale.shape):  # those of tiles, repeated
        return None
    route = scale_route(plan, scales, n, number=number, zero_number=zero_number)
    program = make_program(plan, extend=job.extend, packed=job.packed, unpacked=job.shape is not None)
    return _kernels.HostCall(
        program, job.dtype, job.values_shape, seeded=job.stream is not None, needs_out=key.needs_out, route=route
    )


def _is_held(scalar: Any, job: Job, held: Any) -> bool:
    """Whether an operand is no NumPy scalar, or one that is read as it is: no number, and beside a NumPy array."""
    return not isinstance(scalar, np.generic) or (type(job.x) is np.ndarray and scalar.dtype == held.dtype)
