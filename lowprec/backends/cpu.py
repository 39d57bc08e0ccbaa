"""Host memory by the compiled loops: NumPy arrays, torch tensors on the CPU, JAX arrays on the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.array_memory import check_out, empty_codes, from_codes, to_codes
from ..arrays.libraries import has_host_memory, is_torch, is_traced
from ..arrays.torch_tensors import mark_written
from ..plans.plan import Method
from ..spec.rounding_modes import Stream
from .jobs import BlockJob, Job
from .kernels_of_plan import make_program
from .mx_nvfp4_blocks import quantize_blocks
from .prepared_calls import run_block_call, run_call
from .scales_for_kernels import ready_scales
from .threads import shared

__all__ = ["accepts", "reads", "run"]

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)


def reads(x: Any) -> bool:
    """Whether the elements of an array lie in host memory: then operands may be NumPy arrays, whatever `x` is."""
    return type(x) is np.ndarray or has_host_memory(x)


def accepts(job: Job | BlockJob) -> bool:
    """Whether the elements lie in host memory."""
    if (job.stream is not None and job.later_seed is not None) or (
        isinstance(job, Job) and job.plan.method is Method.TEXT
    ):
        return False
    return type(job.x) is np.ndarray or (reads(job.x) and not any(map(is_traced, job.arrays)))


def run(job: Job | BlockJob) -> Any:
    """Carry out a job."""
    if isinstance(job, BlockJob):
        results = run_block_call(job)
        return quantize_blocks(job) if results is None else results
    result = run_call(job)
    return _run_any(job) if result is None else result


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
    operands = None if job.scales is None else ready_scales(job, n, dst)
    _run_codes(program, src, dst, n, operands, job.stream)
    if operands is not None:
        operands.keep_memory()
    if out_codes is None:
        return from_codes(dst, dtype, x)
    if dst is not out_codes:  # the kernels could not write there
        out_codes[...] = dst
    if is_torch(out):
        mark_written(out)
    return out


def _run_codes(
    program: _kernels.Program,
    src: _Array,
    dst: _Array,
    n: int,
    operands: _kernels.Operands | None,
    stream: Stream | None,
) -> None:
    """Run the kernels from one array of codes to another; packed ones are 1-D bytes."""
    if src.flags.c_contiguous and dst.flags.c_contiguous:
        shared(n, _kernels.run, program, src.reshape(-1).view(_BYTE), dst.reshape(-1).view(_BYTE), n, operands, stream)
    elif n:
        if program.src_bits < 8 or program.dst_bits < 8:  # packed bytes have an axis
            src, dst = (side.reshape(1) if side.ndim == 0 else side for side in (src, dst))
        shared(n, _kernels.run_strided, program, src, dst, operands, stream)
