"""Host memory by the compiled loops: NumPy arrays, torch tensors on the CPU, JAX arrays on the CPU."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.libraries import (
    carrier,
    check_out,
    empty_codes,
    extends,
    from_codes,
    has_host_memory,
    is_torch,
    is_traced,
    namespace,
    to_codes,
)
from ..arrays.torch_state import LOWEST, mark_written
from ..plans.cast import Plan, Rule
from ..plans.granularity import Granularity, expanded
from ..spec.formats import Format
from ..spec.interned import CACHED
from ..spec.packing import packed_bytes
from .job import Job, Scales
from .operands import loop_operands
from .program import make_program
from .threads import PARALLEL_FROM, is_small, shared

__all__ = ["accepts", "cast_as_before", "remember_cast", "run"]

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)
_NUMPY = (np.ndarray, np.generic)


def accepts(job: Job) -> bool:
    """Whether the elements lie in host memory."""
    if job.plan.rule is Rule.TEXT:
        return False
    return type(job.x) is np.ndarray or (has_host_memory(job.x) and not any(map(is_traced, job.arrays)))


def run(job: Job) -> Any:
    """Carry out a job."""
    x = job.x
    result = None
    if job.carrier is not None:
        return _run_any(job)
    if type(x) is np.ndarray:
        result = _run_dense(job)
    elif job.scales is None and job.shape is None and job.out is None and not (job.codes or job.packed):
        result = _run_tensor(x, *_tensor_program(job.plan, namespace(x)))
    return _run_any(job) if result is None else result


# ---- dense arrays


_programs: dict[type, dict[tuple[Any, object], tuple[Any, ...]]] = {}
"""Class of an array → (its dtype, name or row of a target) → the plan of a cast without other options, and what
`_dense_program` or `_tensor_program` returned for it."""


@lru_cache(maxsize=CACHED)
def _dense_program(plan: Plan, codes: bool, packed: bool, unpacked: bool) -> tuple[_kernels.Program, np.dtype[Any]]:
    """Return what converts a dense NumPy array, and the dtype of the result."""
    dtype = plan.target.dtype if not (codes or packed) else _BYTE if packed else plan.target.code_dtype
    return make_program(plan, packed=packed, unpacked=unpacked), dtype


@lru_cache(maxsize=CACHED)
def _tensor_program(plan: Plan, xp: Any) -> tuple[_kernels.Program, Any]:
    """Return what converts a dense torch tensor, and the dtype of the result."""
    dtype = carrier(plan.target, xp)
    return make_program(plan, extend=extends(plan.target, xp)), dtype


def remember_cast(x: Any, to: object, plan: Plan) -> None:
    """Let `cast_as_before` find the plan of a cast that names the target so and has no other option.

    Numbers are left out: one may equal another one of another type.
    """
    if plan.rule is Rule.TEXT or not isinstance(to, (str, Format)):
        return
    found: tuple[Any, ...]
    if type(x) is np.ndarray:
        found = _dense_program(plan, False, False, False)
    elif is_torch(x):
        found = _tensor_program(plan, namespace(x))
    else:
        return
    known = _programs.setdefault(type(x), {})
    if len(known) >= CACHED:
        known.clear()
    known[x.dtype, to] = plan, *found


def cast_as_before(x: Any, to: object, out: Any) -> Any:
    """Cast a NumPy array or a torch tensor the way its dtype was cast before; None if it was not."""
    try:
        found = _programs[type(x)][x.dtype, to]
    except (KeyError, TypeError):  # TypeError: what cannot be a key is named by the checks
        return None
    if type(x) is not np.ndarray:
        return _run_tensor(x, *found[1:]) if out is None else None
    plan, program, dtype = found
    n = x.size
    if is_small(n):
        result = _kernels.run_same_shape(program, x, dtype, out, 1)
    else:
        result = shared(n, _kernels.run_same_shape, program, x, dtype, out)
    return _run_any(Job(x, plan, out=out)) if result is None else result


def _run_dense(job: Job) -> Any:
    """Convert a dense NumPy array into another one; None, with nothing done, if one of them is not."""
    x, plan, out, shape = job.x, job.plan, job.out, job.shape
    if not x.flags.c_contiguous:
        return None
    program, dtype = _dense_program(plan, job.codes, job.packed, shape is not None)
    n = x.size if shape is None else math.prod(shape)
    shape = (packed_bytes(n, plan.target),) if job.packed else x.shape if shape is None else shape
    if out is None:
        out = np.empty(shape, dtype)
    elif type(out) is not np.ndarray or out.dtype != dtype or out.shape != shape:
        return None
    operands = None if job.scales is None else _operands(job, n)
    if is_small(n):
        return out if _kernels.run_arrays(program, x, out, n, operands, 1) else None
    return out if shared(n, _kernels.run_arrays, program, x, out, n, operands) else None


def _run_tensor(x: Any, program: _kernels.Program, dtype: Any) -> Any:
    """Convert a torch tensor to another one of the same shape; None, with nothing done, if it is not dense.

    A dense tensor is one row of host memory, with few enough elements for torch to allocate the result: memory for
    larger ones comes from NumPy, in huge pages.
    """
    torch = sys.modules.get("torch")
    if torch is None or type(x) is not torch.Tensor:
        return None
    try:
        if not (x.is_cpu and x.is_contiguous()) or x.is_neg() or x.is_nested:
            return None
        n, address = x.numel(), x.data_ptr()
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return None
    if n >= PARALLEL_FROM or (address < LOWEST and n):
        return None
    result = torch.empty_like(x, dtype=dtype)
    if is_small(n):
        _kernels.run_addresses(program, address, result.data_ptr(), n, 1)
    else:
        shared(n, _kernels.run_addresses, program, address, result.data_ptr(), n)
    return result


# ---- any strides and byte order


def _run_any(job: Job) -> Any:
    """Convert host memory of any layout."""
    x, out, plan = job.x, job.out, job.plan
    src = to_codes(x)
    if not src.flags.aligned or (job.shape is not None and not src.flags.c_contiguous):
        src = src.copy()
    shape, dtype = job.result_shape, job.dtype
    out_codes = None
    if out is not None:
        check_out(out, x, shape, dtype)
        out_codes = to_codes(out)
        if np.may_share_memory(src, out_codes):
            src = src.copy()
    if out_codes is not None and out_codes.flags.aligned and (out_codes.flags.c_contiguous or not job.packed):
        dst = out_codes
    else:
        code_dtype = _BYTE if job.packed else plan.target.code_dtype
        dst = empty_codes(shape, code_dtype, x, src if shape == src.shape else None)
    program = make_program(
        plan,
        extend=job.extend,
        swap=isinstance(x, np.ndarray) and not x.dtype.isnative,
        swap_out=isinstance(out, np.ndarray) and not out.dtype.isnative,
        packed=job.packed,
        unpacked=job.shape is not None,
    )
    n = math.prod(job.values_shape)
    _run_codes(program, src, dst, n, None if job.scales is None else _operands(job, n))
    if out_codes is None:
        return from_codes(dst, dtype, x)
    if dst is not out_codes:  # the kernels could not write there
        out_codes[...] = dst
    if is_torch(out):
        mark_written(out)
    return out


def _run_codes(program: _kernels.Program, src: _Array, dst: _Array, n: int, operands: _kernels.Operands | None) -> None:
    """Run the kernels from one array of codes to another; packed ones are 1-D bytes."""
    if src.flags.c_contiguous and dst.flags.c_contiguous:
        shared(n, _kernels.run, program, src.reshape(-1).view(_BYTE), dst.reshape(-1).view(_BYTE), n, operands)
    elif n:
        if src.shape == dst.shape and program.src_bits >= 8 <= program.dst_bits and operands is None:
            src, dst = _merge_axes(src, dst)
        else:
            src, dst = (side.reshape(1) if side.ndim == 0 else side for side in (src, dst))
        shared(n, _kernels.run_strided, program, src, dst, operands)


def _merge_axes(a: _Array, b: _Array) -> tuple[_Array, _Array]:
    """View two arrays of one shape with as few axes as their strides allow, in the order of b's memory."""
    a, b = a.squeeze(), b.squeeze()
    axes = sorted(range(b.ndim), key=lambda axis: -abs(b.strides[axis]))
    a, b = a.transpose(axes), b.transpose(axes)
    shape: list[int] = []
    for axis in reversed(range(b.ndim)):
        joins = axis + 1 < b.ndim and all(
            view.strides[axis] == view.strides[axis + 1] * view.shape[axis + 1] for view in (a, b)
        )
        if joins:
            shape[0] *= b.shape[axis]
        else:
            shape.insert(0, b.shape[axis])
    shape = shape or [1]
    return a.reshape(shape), b.reshape(shape)


# ---- scales


def _flat(x: Any) -> _Array:
    """Return host memory as one dense row in native byte order."""
    if type(x) is np.ndarray and x.flags.carray and x.dtype.isnative:
        return x.reshape(-1)
    codes = to_codes(x)
    if isinstance(x, _NUMPY) and not x.dtype.isnative:
        codes = codes.byteswap()
    return np.ascontiguousarray(codes).reshape(-1)


def _operands(job: Job, n: int) -> _kernels.Operands:
    """Return what the kernels read of scales; those of one scale are remembered, for small calls."""
    plan, scales = job.plan, job.scales
    assert scales is not None
    scale, fmt, zero_point, granularity = scales
    if granularity.axis is not None or not isinstance(scale, _NUMPY):
        return _make_operands(plan, scales, n, copies=job.out is not None)
    one = scale.tobytes(), scale.dtype
    if zero_point is None:
        return _operands_of_one(plan, fmt, granularity, n, one)
    return _operands_of_one(plan, fmt, granularity, n, one, (zero_point.tobytes(), zero_point.dtype))


@lru_cache(maxsize=4096)
def _operands_of_one(
    plan: Plan, fmt: Format, granularity: Granularity, n: int, *contents: tuple[bytes, np.dtype[Any]]
) -> _kernels.Operands:
    """Return the operands of one scale, and of one zero point if there is one."""
    scale, *zero_point = (np.frombuffer(memory, dtype) for memory, dtype in contents)
    return _make_operands(plan, Scales(scale, fmt, zero_point[0] if zero_point else None, granularity), n)


def _make_operands(plan: Plan, scales: Scales, n: int, *, copies: bool = False) -> _kernels.Operands:
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
