"""Block quantizations in any library: in host memory, lazily, traced, or in calls of the library."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..arrays.jax_seeds import seed_number
from ..arrays.libraries import (
    call_back,
    check_out,
    check_readable,
    from_codes,
    has_host_memory,
    is_dask,
    is_jax,
    is_torch,
    is_traced,
    to_codes,
    to_host,
    to_library,
)
from ..arrays.torch_tensors import mark_written
from ..plans.plan import copy_plan
from ..spec.formats import FLOAT32
from ..spec.rounding_modes import LaterSeed, make_stream
from . import block_dask
from .block_job import BlockJob
from .block_loops import block_program, fits_packed, quantize_dense
from .block_values import elements_of, find_scales, find_start, scaled_values
from .dispatch import dispatch
from .jax import check_traced_seed
from .job import Job
from .nvfp4_rules import global_scale_of, start_of
from .swizzle import swizzle

__all__ = ["run_blocks"]

_Array = np.ndarray[Any, Any]


def run_blocks(job: BlockJob) -> tuple[Any, ...]:
    """Carry out a block quantization; the results are in the library and on the device of ``job.x``."""
    check_readable(job.x)
    job = job._replace(block=min(job.block, max(job.x.shape[job.axis], 1)))  # it is no longer than its axis
    if job.out is not None:
        for out, (shape, dtype) in zip(job.out, job.results, strict=True):
            check_out(out, job.x, shape, dtype)
    if job.stream is not None and isinstance(job.stream.seed, LaterSeed):
        check_traced_seed(job.x)
        return _run_traced(job)
    if is_dask(job.x):
        return block_dask.run(job)
    if is_traced(job.x) or is_traced(job.global_scale):
        return _run_traced(job)
    if has_host_memory(job.x) or is_jax(job.x):
        return _run_host(job)
    return _run_library(job)


def _codes_of(job: BlockJob) -> tuple[_Array, ...]:
    """Return the results for a NumPy array as unsigned codes; they are ``job.out`` where that is given."""
    x, plan, axis, block = job.x, job.plan, job.axis, job.block
    factor = None
    if plan.two_levels:
        factor = find_start(x, plan) if job.global_scale is None else start_of(job.global_scale, plan)
    kept = [None, None] if job.out is None else job.out
    direct = job.packed and fits_packed(plan.element, job.spread, block)
    program = block_program(plan, direct) if x.size else None
    if program is None:
        scales = find_scales(x, plan, axis, block, factor)
        elements = elements_of(scaled_values(x, scales, plan, axis, block, factor), job, codes=True)
    else:
        elements = _output(kept[0], job.results[0][0] if direct else x.shape)
        scales = _output(None if job.swizzled else kept[1], job.scale_shape)
        codes = np.ascontiguousarray(to_codes(x))
        quantize_dense(program, codes, plan, (elements, scales), job.spread, block, factor, job.stream)
        if job.packed and not direct:
            elements = dispatch(Job(elements, copy_plan(plan.element), codes=True, packed=True))
    scales = swizzle(scales, axis) if job.swizzled else scales
    return (elements, scales) if factor is None else (elements, scales, global_scale_of(factor, plan).view(np.uint32))


def _output(out: _Array | None, shape: tuple[int, ...]) -> _Array:
    """Return memory for codes of a byte: that of the caller where the loops can write to it."""
    if out is not None and out.shape == shape and out.flags.c_contiguous and out.dtype == np.uint8:
        return out
    return np.empty(shape, np.uint8)


def _on_host(x: Any) -> _Array:
    return to_host(x).view(np.float32).reshape(())


def _host_job(job: BlockJob) -> BlockJob:
    """Return the job for the NumPy array with the elements of ``job.x``."""
    factor = None if job.global_scale is None else _on_host(job.global_scale)
    x = to_host(job.x)
    out = None if job.out is None else tuple(map(to_codes, job.out))
    if out is not None and any(np.may_share_memory(x, one) for one in out):
        out = None
    return job._replace(x=x.view(job.plan.source.dtype), global_scale=factor, out=out)


def _store(codes: _Array, out: Any) -> Any:
    """Write codes to an array of the caller, unless it holds them."""
    swapped = isinstance(out, np.ndarray) and not out.dtype.isnative
    memory = to_codes(out)
    if not (codes.base is not None and np.shares_memory(codes, memory)):
        memory[...] = codes.byteswap() if swapped else codes
    if is_torch(out):
        mark_written(out)
    return out


def _run_host(job: BlockJob) -> tuple[Any, ...]:
    results = _codes_of(_host_job(job))
    if job.out is not None:
        return tuple(_store(codes, out) for codes, out in zip(results, job.out, strict=True))
    pairs = zip(results, job.results, strict=True)
    return tuple(from_codes(codes, dtype, job.x) for codes, (_, dtype) in pairs)


def _one_result(x: _Array, *operands: _Array, job: BlockJob, number: int, dtype: Any) -> _Array:
    """Return a result of a job whose array, global scale and seed are there now, as far as they were traced."""
    stream = job.stream
    if stream is not None and isinstance(stream.seed, LaterSeed):
        *operands, seed = operands
        stream = make_stream(seed_number(seed), stream.offset)
    factor = operands[0] if operands else None
    host = _host_job(job._replace(x=np.asarray(x), global_scale=factor, stream=stream))
    return _codes_of(host)[number].view(dtype)


def _run_traced(job: BlockJob) -> tuple[Any, ...]:
    """Leave a job to the moment when the traced computation runs: a call back for each result."""
    arrays, stream = [job.x] if job.global_scale is None else [job.x, job.global_scale], job.stream
    if stream is not None and isinstance(stream.seed, LaterSeed):
        arrays, stream = [*arrays, stream.seed.array], stream._replace(seed=LaterSeed(None))
    bare = job._replace(x=None, global_scale=None, stream=stream)
    return tuple(
        call_back(partial(_one_result, job=bare, number=number, dtype=dtype), shape, dtype, *arrays, elementwise=False)
        for number, (shape, dtype) in enumerate(job.results)
    )


def _run_library(job: BlockJob) -> tuple[Any, ...]:
    """Carry out a job in calls of the library; scales are computed on the host."""
    x, plan, axis, block = job.x, job.plan, job.axis, job.block
    factor = None
    if plan.two_levels:
        factor = find_start(x, plan) if job.global_scale is None else start_of(_on_host(job.global_scale), plan)
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
