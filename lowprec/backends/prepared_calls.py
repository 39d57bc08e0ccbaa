"""What a call comes to, prepared once for the compiled call cache: its key, its program, the route of its scales."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..arrays.libraries import is_torch, namespace
from ..arrays.storage_dtypes import extends, storage_dtype
from ..arrays.torch_tensors import mark_written
from ..plans.cast_plan import plan_of
from ..plans.plan import Plan
from ..plans.scale_shapes import Groups
from ..spec.formats import FLOAT64, Format
from ..spec.memo import CACHED
from ..spec.rounding_modes import FIRST
from ..spec.scale_rules import global_formula
from .ggml_blocks import to_single
from .jobs import BlockJob, Job
from .kernels_of_plan import make_program
from .largest_magnitudes import have_order, range_steps
from .mx_nvfp4_blocks import block_program, fits_packed
from .scales_for_kernels import scale_route
from .threads import PARALLEL_FROM, shared

__all__ = [
    "ABSMAX",
    "CASTS",
    "CallKey",
    "DEQUANTIZED",
    "MINMAX",
    "MX",
    "NVFP4",
    "QUANTIZED",
    "is_tensor_in_memory",
    "remember",
    "run_block_call",
    "run_call",
    "run_cast",
    "run_dequantized",
    "run_known",
    "run_quantized",
    "scale_call",
]


CASTS = _kernels.CallCache(CACHED, shared, by_shape=False)
"""Calls of `cast` and of what else converts without scales; the function's name is the first option."""

QUANTIZED = _kernels.CallCache(CACHED, shared, by_shape=True)
DEQUANTIZED = _kernels.CallCache(CACHED, shared, by_shape=True)

run_cast = CASTS.run
run_quantized = QUANTIZED.run
run_dequantized = DEQUANTIZED.run
"""Bound once: to bind a method is a twentieth of a small call."""

_NO_STREAM = None, FIRST
"""The seed and the offset of calls without random numbers."""

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


def know_tensors() -> None:
    """Let compiled calls take tensors of torch, where that is there."""
    torch = sys.modules.get("torch")
    if torch is not None:
        functions = getattr(torch.Tensor, "__dlpack_c_exchange_api__", None)
        _kernels.set_tensors(torch.Tensor, torch.empty_like, mark_written, functions, PARALLEL_FROM)


def is_tensor_in_memory(x: Any) -> bool:
    """Whether an array is a torch tensor that lies in memory of the host as it is."""
    know_tensors()
    return _kernels.is_tensor_in_memory(x)


def run_call(job: Job) -> Any:
    """Carry out a job on dense memory, and keep what it comes to where it has a key; None where it is none of those."""
    x, key, stream = job.x, job.key, job.stream
    if job.storage is not None or not (type(x) is np.ndarray or is_torch(x)):
        return None
    if type(x) is not np.ndarray:
        know_tensors()
    scale = zero_point = None
    if key is None:
        call = None if job.scales is not None else _plain_call(job)
    else:
        scale, zero_point = _plain(key.scale), _plain(key.zero_point)
        has_names = are_names(key.options)
        found = key.calls.find(x, scale, zero_point, key.options) if has_names else None
        if found is not None and found.needs_out == key.needs_out:
            return None  # which it did just now
        call = _plain_call(job) if job.scales is None else _scaled_call(job, key)
        if call is not None and has_names:
            key.calls.remember(x, scale, zero_point, key.options, call)
    if call is None:
        return None
    return shared(math.prod(job.values_shape), call.run, x, scale, zero_point, *(stream or _NO_STREAM), job.out)


def _plain(operand: Any) -> Any:
    """Return a scalar that the table of the calls takes for a Python number as that."""
    return operand.item() if type(operand) in (np.float64, np.int64) else operand


_PLAIN = {int, bool, tuple, str, type, type(None)}
"""Types of options that mean the same for all time."""


def _names_format(option: object) -> bool:
    """Whether an option is what names a format for all time."""
    torch = sys.modules.get("torch")
    return isinstance(option, (Format, np.dtype)) or (torch is not None and isinstance(option, torch.dtype))


def are_names(options: tuple[Any, ...]) -> bool:
    """Whether every option means the same for all time."""
    return not [option for option in options if type(option) not in _PLAIN and not _names_format(option)]


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
    plan, scales, shape = job.plan, job.scales, job.values_shape
    n = math.prod(shape)
    assert scales is not None
    assert plan.scaling is not None
    if not 0 < n < PARALLEL_FROM or len(shape) > _MOST_AXES:
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
        program, job.dtype, shape, seeded=job.stream is not None, needs_out=key.needs_out, route=route
    )


def _is_held(scalar: Any, job: Job, held: Any) -> bool:
    """Whether an operand is no NumPy scalar, or one that is read as it is: no number, and beside a NumPy array."""
    return not isinstance(scalar, np.generic) or (type(job.x) is np.ndarray and scalar.dtype == held.dtype)


ABSMAX = _kernels.CallCache(CACHED, shared, by_shape=True)
MINMAX = _kernels.CallCache(CACHED, shared, by_shape=True)
MX = _kernels.CallCache(CACHED, shared, by_shape=True)
NVFP4 = _kernels.CallCache(CACHED, shared, by_shape=True)

_Options = tuple[Any, ...]


def run_known(
    calls: _kernels.CallCache, x: Any, options: _Options, factor: Any = None, out: Any = None,
    stream: tuple[Any, Any] = _NO_STREAM,
) -> tuple[Any, ...] | None:  # fmt: skip
    """Carry out a call on a NumPy array or a torch tensor where one of its kind came before; else return None.

    `factor` is the operand that some calls have, `out` is where the results go, `stream` the seed and the offset. Of
    tensors the caller has checked that torch traces and transforms nothing.
    """
    is_array = type(x) is np.ndarray
    if not is_array and not is_torch(x):
        return None
    call = calls.find(x, factor, None, options)
    if call is None:
        return None
    n = x.size if is_array else x.numel()
    results: tuple[Any, ...] | None = shared(n, call.run, x, factor, *stream, out)
    return results


def remember(
    calls: _kernels.CallCache,
    x: Any,
    options: _Options,
    make: Callable[[], _kernels.ArrayCall | None],
    factor: Any = None,
) -> None:
    """Let `run_known` find what a call on an array comes to, which `make` returns; None for calls of another kind."""
    if is_torch(x):
        know_tensors()
    elif type(x) is not np.ndarray:
        return
    if not are_names(options) or calls.find(x, factor, None, options) is not None:
        return
    if (call := make()) is not None:
        calls.remember(x, factor, None, options, call)


def scale_call(
    x: Any, held: Format, groups: Groups, formula: _kernels.ScaleFormula, formats: tuple[Format, ...]
) -> _kernels.ScaleCall | None:
    """Return what the scales of an array come to, and its zero points, whose formats these are."""
    xp, shape, both = namespace(x), tuple(x.shape), len(formats) == 2
    if not 0 < math.prod(shape) < PARALLEL_FROM or not have_order(held, both):
        return None
    groups = groups.within(shape)
    scale, last = formats[0], formats[-1]
    rounded = scale.has_zero and not both
    mask = (1 << last.storage_bits) - 1 if extends(last, xp) and last.signed else last.code_mask
    return _kernels.ScaleCall(
        tuple((groups.shape_of(shape), storage_dtype(fmt, xp)) for fmt in formats),
        formula,
        make_program(plan_of(held, FLOAT64)),
        make_program(plan_of(FLOAT64, scale)) if rounded else None,
        (held.storage_bits, held.magnitude_mask, held.max_code),
        both,
        range_steps(shape, groups),
        (0, 0) if rounded else (last.storage_bits // 8, mask),
    )


def run_block_call(job: BlockJob) -> tuple[Any, ...] | None:
    """Carry out a block quantization on dense memory, and keep what it comes to where it has a key; None for others."""
    x, key = job.x, job.key
    if is_torch(x):
        know_tensors()
    elif type(x) is not np.ndarray:
        return None
    has_names = key is not None and are_names(key.options)
    if has_names and key.calls.find(x, key.scale, None, key.options) is not None:
        return None  # which it did just now
    call = _block_call(job)
    if call is None:
        return None
    if has_names:
        key.calls.remember(x, key.scale, None, key.options, call)
    return shared(math.prod(x.shape), call.run, x, job.global_scale, *(job.stream or _NO_STREAM), job.out)


def _block_call(job: BlockJob) -> _kernels.BlockCall | None:
    """Return what a block quantization comes to."""
    x, plan = job.x, job.plan
    size, spread = math.prod(x.shape), job.spread
    direct = job.packed and fits_packed(plan.element, spread, job.block)
    if size == 0 or job.swizzled or job.packed is not direct:
        return None
    program = block_program(plan, direct)
    if program is None:
        return None
    return _kernels.BlockCall(
        tuple(job.results),
        program,
        to_single(plan.source),
        (*spread, job.block),
        global_formula(plan.element, plan.scale) if plan.two_levels else None,
        (plan.source.storage_bits, plan.source.magnitude_mask, plan.source.max_code),
    )
