"""Host memory by the compiled loops: NumPy arrays, torch tensors on the CPU, JAX arrays on the CPU."""

from __future__ import annotations

import math
import sys
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.libraries import (
    check_out,
    check_readable,
    empty_codes,
    extends,
    from_codes,
    has_host_memory,
    is_torch,
    is_traced,
    namespace,
    storage_dtype,
    to_codes,
)
from ..arrays.torch_tensors import LOWEST, dispatched, mark_written
from ..plans.cast_plan import Plan, Rule
from ..spec.interned import CACHED
from ..spec.packing import packed_bytes
from ..spec.rounding_rules import Stream
from .cpu_operands import cpu_operands
from .job import CallKey, Job
from .linear_calls import LinearKey, names_format, remember, takes
from .program import make_program
from .thread_count import PARALLEL_FROM, is_small, shared

__all__ = ["accepts", "reads", "run", "run_known"]

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)


def reads(x: Any) -> bool:
    """Whether the elements of an array lie in host memory: then operands may be NumPy arrays, whatever `x` is."""
    return type(x) is np.ndarray or has_host_memory(x)


def accepts(job: Job) -> bool:
    """Whether the elements lie in host memory."""
    if job.plan.rule is Rule.TEXT or job.later_seed is not None:
        return False
    return type(job.x) is np.ndarray or (reads(job.x) and not any(map(is_traced, job.arrays)))


def run(job: Job) -> Any:
    """Carry out a job."""
    x, result = job.x, None
    if isinstance(job.key, LinearKey):
        remember(job, job.key)
    if _remember(job):
        result = run_known(x, job.key, job.out)
    elif job.storage is None and type(x) is np.ndarray:
        result = _run_dense(job)
    elif job.same_shape and job.out is None and is_torch(x) and not _is_known(job):  # else it was refused before
        result = _run_tensor(x, _same_shape_call(job.plan, job.codes, namespace(x)), job.stream)
    return _run_any(job) if result is None else result


# ---- small dense arrays, by calls that came before


_KnownCall = tuple[Plan, bool, _kernels.Program, Any]
"""What a call comes to: its plan, whether codes are returned, the program, the dtype of the result in its library."""

_known: dict[type, dict[tuple[Any, CallKey], _KnownCall]] = {}
"""Class of an array → (its dtype, the key of a call) → what it comes to."""


def run_known(x: Any, key: CallKey, out: Any) -> Any:
    """Carry out a call for a NumPy array or a torch tensor where one with its key came before; else return None.

    A tensor that torch's dispatcher must see is refused too; the caller has checked that nothing is traced.
    """
    try:
        known = _known[type(x)][x.dtype, key]
    except (KeyError, TypeError):  # TypeError: what cannot be a key is named by the checks
        return None
    plan, codes, program, dtype = known
    if type(x) is np.ndarray:
        n = x.size
        if is_small(n):
            result = _kernels.run_same_shape(program, x, dtype, out, 1)
        else:
            result = shared(n, _kernels.run_same_shape, program, x, dtype, out)
    else:
        result = _run_tensor(x, known) if out is None else _run_into_tensor(x, known, out)
        if result is None:
            if dispatched(x, out):
                return None
            check_readable(x)
    return _run_any(Job(x, plan, codes=codes, out=out)) if result is None else result


def _is_known(job: Job) -> bool:
    return job.key is not None and (job.x.dtype, job.key) in _known.get(type(job.x), {})


def _remember(job: Job) -> bool:
    """Let `run_known` find what a job comes to; False where it knows, or cannot carry out such jobs."""
    x, key = job.x, job.key
    names = tuple(name for name in key if name is not None) if isinstance(key, tuple) else (key,)
    if not (isinstance(x, np.ndarray) or is_torch(x)) or not all(map(names_format, names)):
        return False
    if job.storage is not None or _is_known(job):  # another storage dtype: the key says nothing of it
        return False
    known = _known.setdefault(type(x), {})
    if len(known) >= CACHED:
        known.clear()
    known[x.dtype, key] = _same_shape_call(job.plan, job.codes, namespace(x))
    return True


@lru_cache(maxsize=CACHED)
def _same_shape_call(plan: Plan, codes: bool, xp: Any) -> _KnownCall:
    """Return what converts dense arrays of a library to others of the same shape."""
    dtype = storage_dtype(plan.target.code_dtype.name if codes else plan.target, xp)
    return plan, codes, make_program(plan, extend=not codes and extends(plan.target, xp)), dtype


@lru_cache(maxsize=CACHED)
def _dense_program(plan: Plan, codes: bool, packed: bool, unpacked: bool) -> tuple[_kernels.Program, np.dtype[Any]]:
    """Return what converts a dense NumPy array, and the dtype of the result."""
    dtype = plan.target.dtype if not (codes or packed) else _BYTE if packed else plan.target.code_dtype
    return make_program(plan, packed=packed, unpacked=unpacked), dtype


def _run_dense(job: Job) -> Any:
    """Convert a dense NumPy array into another one; None, with nothing done, if one of them is not."""
    x, plan, out, shape = job.x, job.plan, job.out, job.shape
    if not x.flags.c_contiguous:
        return None
    program, dtype = _dense_program(plan, job.codes, job.packed, shape is not None)
    if job.stream is not None:
        program = program.with_stream(*job.stream)
    n = x.size if shape is None else math.prod(shape)
    shape = (packed_bytes(n, plan.target),) if job.packed else x.shape if shape is None else shape
    if out is None:
        out = np.empty(shape, dtype)
    elif type(out) is not np.ndarray or out.dtype != dtype or out.shape != shape:
        return None
    operands = None if job.scales is None else cpu_operands(job, n, run)
    if is_small(n):
        return out if _kernels.run_arrays(program, x, out, n, operands, 1) else None
    return out if shared(n, _kernels.run_arrays, program, x, out, n, operands) else None


def _run_tensor(x: Any, known: _KnownCall, stream: Stream | None = None) -> Any:
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
    _, _, program, dtype = known
    if stream is not None:
        program = program.with_stream(*stream)
    result = torch.empty_like(x, dtype=dtype)
    if is_small(n):
        _kernels.run_addresses(program, address, result.data_ptr(), n, 1)
    else:
        shared(n, _kernels.run_addresses, program, address, result.data_ptr(), n)
    return result


def _run_into_tensor(x: Any, known: _KnownCall, out: Any) -> Any:
    """Convert a torch tensor into another one of the same shape and any strides; None, with nothing done, if it cannot.

    It cannot where their elements share memory, or might, and where they are many.
    """
    torch = sys.modules["torch"]
    _, _, program, dtype = known
    tensor = torch.Tensor
    if type(x) is not tensor or not takes(out, x.shape, dtype, tensor):
        return None
    try:
        if not x.is_cpu or x.is_neg() or x.is_nested or x.data_ptr() < LOWEST:
            return None
    except RuntimeError:  # what is sparse, or wraps another tensor, has no address
        return None
    places = x.data_ptr(), out.data_ptr(), tuple(x.shape), x.stride(), out.stride()
    if not is_small(x.numel()) or not _kernels.run_tensors(program, *places, 1):
        return None
    mark_written(out)
    return out


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
    if job.stream is not None:
        program = program.with_stream(*job.stream)
    n = math.prod(job.values_shape)
    _run_codes(program, src, dst, n, None if job.scales is None else cpu_operands(job, n, run))
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
        if program.src_bits < 8 or program.dst_bits < 8:  # packed bytes have an axis
            src, dst = (side.reshape(1) if side.ndim == 0 else side for side in (src, dst))
        shared(n, _kernels.run_strided, program, src, dst, operands)
