"""Calls of the linear operators that came before: found by dtypes, shapes and options, and carried out at once."""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..arrays.libraries import is_torch
from ..arrays.torch_tensors import LOWEST, mark_written
from ..plans.cast_plan import make_plan
from ..plans.granularity import expanded
from ..spec.formats import FLOAT64, INT32, Format
from ..spec.interned import CACHED
from ..spec.opset_rules import cast_rules
from .job import Job
from .program import make_program
from .scale_operands import scale_steps, zero_point_steps
from .thread_count import PARALLEL_FROM, is_small, shared

__all__ = [
    "DEQUANTIZED", "QUANTIZED", "LinearKey", "address_of", "described", "is_name", "names_format", "remember",
    "run_known", "run_known_tensor", "takes",
]  # fmt: skip

QUANTIZED = _kernels.LinearCalls(CACHED)
DEQUANTIZED = _kernels.LinearCalls(CACHED)


class LinearKey(NamedTuple):
    """What names a call of a linear operator: where it is remembered; operands and options as the caller gave them."""

    calls: _kernels.LinearCalls
    scale: Any
    zero_point: Any
    options: tuple[Any, ...]


def run_known(
    calls: _kernels.LinearCalls, x: Any, scale: Any, zero_point: Any, out: Any, options: tuple[Any, ...]
) -> Any:
    """Carry out a call for a NumPy array where one of its kind came before; else return None, with nothing done."""
    if is_small(0):  # larger arrays are not remembered
        return calls.run(x, scale, zero_point, out, options, 1)
    return shared(x.size, calls.run, x, scale, zero_point, out, options)


def run_known_tensor(
    calls: _kernels.LinearCalls, x: Any, scale: Any, zero_point: Any, out: Any, options: tuple[Any, ...]
) -> Any:
    """Do what `run_known` does for a torch tensor; the caller has checked that torch traces and transforms nothing."""
    torch = sys.modules.get("torch")
    if torch is None or type(x) is not torch.Tensor:
        return None
    tensor = torch.Tensor
    try:
        call = calls.find(described(x, tensor), described(scale, tensor), described(zero_point, tensor), options)
    except RuntimeError:  # a nested tensor has no shape
        return None
    if call is None:
        return None
    memory, factor, offset = address_of(x, tensor), address_of(scale, tensor), address_of(zero_point, tensor)
    if memory is None or factor is None or offset is None:
        return None
    steps = None
    if out is None:
        same_shape = x.shape == call.shape
        result = torch.empty_like(x, dtype=call.dtype) if same_shape else x.new_empty(call.shape, dtype=call.dtype)
        target = result.data_ptr()
    elif takes(out, call.shape, call.dtype, tensor):
        result, target = out, out.data_ptr()
        steps = None if out.is_contiguous() else out.stride()
    else:
        return None
    operands = memory, factor, offset, scale, zero_point, target, steps
    if not (call.run_addresses(*operands, 1) if is_small(0) else shared(x.numel(), call.run_addresses, *operands)):
        return None
    if out is not None:
        mark_written(out)
    return result


def described(operand: Any, tensor: Any) -> Any:
    """Return what a key holds of an operand, as the table of the calls describes it."""
    return (operand.dtype, operand.shape) if type(operand) is tensor else operand


def address_of(operand: Any, tensor: Any) -> int | None:
    """Return where a dense tensor on the CPU lies, 0 for what is no tensor; None if that cannot be said."""
    if type(operand) is not tensor:
        return 0
    try:
        if not (operand.is_cpu and operand.is_contiguous()) or operand.is_neg() or operand.is_nested:
            return None
        address: int = operand.data_ptr()
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return None
    return address if address >= LOWEST else None


def takes(out: Any, shape: tuple[int, ...], dtype: Any, tensor: Any) -> bool:
    """Whether a torch tensor, of any strides, is memory of the host for a result of a shape and a dtype."""
    try:
        return (
            type(out) is tensor and out.dtype == dtype and out.shape == shape and out.is_cpu
            and not (out.requires_grad or out.is_neg() or out.is_nested) and out.data_ptr() >= LOWEST
        )  # fmt: skip
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return False


def names_format(option: object) -> bool:
    """Whether an option is what names a format for all time, and equals no option that means something else.

    So are names, formats and dtypes, but no numbers: one may equal another one of another type.
    """
    torch = sys.modules.get("torch")
    return (
        type(option) in (str, type) or isinstance(option, (Format, np.dtype))
        or (torch is not None and isinstance(option, torch.dtype))
    )  # fmt: skip


def is_name(option: object) -> bool:
    """Whether an option means the same for all time, where its type is a part of the key."""
    return type(option) in (int, bool, tuple, type(None)) or names_format(option)


def remember(job: Job, key: LinearKey) -> None:
    """Let `run_known` or `run_known_tensor` find what a job on a small array comes to."""
    key = key._replace(scale=_plain(key.scale), zero_point=_plain(key.zero_point))
    calls, scale, zero_point, options = key
    x = job.x
    if is_torch(x):
        x, scale, zero_point = (described(array, type(x)) for array in (x, scale, zero_point))
    elif type(x) is not np.ndarray:
        return
    if not all(map(is_name, options)) or calls.knows(x, scale, zero_point, options):
        return
    if (call := _linear_call(job, key)) is not None:
        calls.remember(x, scale, zero_point, options, call)


def _plain(operand: Any) -> Any:
    """Return a scalar that the table of the calls takes for a Python number as that."""
    return operand.item() if type(operand) in (np.float64, np.int64) else operand


def _is_held(scalar: Any, job: Job, held: Any) -> bool:
    """Whether an operand is no NumPy scalar, or one that is read as it is: no number, and beside a NumPy array."""
    return not isinstance(scalar, np.generic) or (type(job.x) is np.ndarray and scalar.dtype == held.dtype)


def _linear_call(job: Job, key: LinearKey) -> _kernels.LinearCall | None:
    plan, scales, n = job.plan, job.scales, math.prod(job.values_shape)
    assert scales is not None
    assert plan.scaling is not None
    if not 0 < n < PARALLEL_FROM or job.storage is not None:
        return None
    if not (_is_held(key.scale, job, scales.scale) and _is_held(key.zero_point, job, scales.zero_point)):
        return None
    fmt, granularity = scales.format, scales.granularity
    spread = expanded(granularity, n, (None, None))[0]
    repeat = granularity.inner if spread.inner < granularity.inner else 1
    tile = spread.length // (granularity.length * repeat)
    steps, bits, count = scale_steps(plan.scaling, fmt), fmt.storage_bits, math.prod(scales.scale.shape)
    if isinstance(key.scale, (int, float)) and not isinstance(key.scale, np.generic):
        if fmt.is_integer:
            return None
        steps, bits = (make_plan(FLOAT64, fmt, cast_rules(FLOAT64, fmt)), *steps), FLOAT64.bits
    elif math.prod(key.scale.shape) != count:  # those of tiles, repeated
        return None
    codes, zero_format = plan.codes, plan.codes
    if type(key.zero_point) is int:
        if plan.scaling.zero_point is not None and not codes.is_integer:
            return None
        zero_format = INT32
    zero_steps = zero_point_steps(plan, zero_format)
    return _kernels.LinearCall(
        make_program(plan, extend=job.extend, packed=job.packed, unpacked=job.shape is not None),
        job.dtype,
        job.result_shape,
        n,
        spread,
        (count, repeat, tile),
        bits,
        tuple(map(make_program, steps)),
        zero_format.storage_bits,
        None if zero_steps is None else tuple(map(make_program, zero_steps)),
        codes.is_integer,
        (int(codes.min), int(codes.max)) if codes.is_integer else (0, 0),
    )
