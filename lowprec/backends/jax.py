"""JAX arrays that are traced, called back when the computation runs, or lie on an accelerator, by way of the host."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..arrays.array_memory import check_out, from_codes, to_host
from ..arrays.libraries import array_kind, call_back, is_jax, is_traced, namespace, seed_number
from ..spec.rounding_modes import LaterSeed, make_stream
from .backend_choice import dispatch
from .jobs import BlockJob, Job

__all__ = ["accepts", "run"]

_Array = np.ndarray[Any, Any]


def accepts(job: Job | BlockJob) -> bool:
    """Whether one of the arrays is JAX's, or the seed is one that it traces."""
    return job.later_seed is not None or any(map(is_jax, job.arrays))


def _check_traced_seed(x: Any) -> None:
    """Raise TypeError unless the seed of an array may be one that JAX traces."""
    if not is_jax(x):
        kind = f"{array_kind(namespace(x))}: pass `jnp.asarray(...)` of it"
        raise TypeError(f"`x` must be a JAX array where `seed` is one that JAX traces; got {kind}")


def run(job: Job | BlockJob) -> Any:
    """Leave a job to the moment when a traced computation runs, or carry it out in host memory."""
    return _quantize_blocks(job) if isinstance(job, BlockJob) else _convert(job)


def _convert(job: Job) -> Any:
    later, arrays = job.later_seed, job.arrays
    if later is not None:
        _check_traced_seed(job.x)
        arrays = [*arrays, later.array]
    shape, dtype = job.result_shape, job.dtype
    if job.out is not None:
        check_out(job.out, job.x, shape, dtype)

    def task(x: Any, *operands: Any) -> Any:
        scales, stream = job.scales, job.stream
        if later is not None and stream is not None:
            *operands, seed = operands  # type: ignore[assignment]
            stream = make_stream(seed_number(seed), stream.offset)
        if scales is not None:
            scale, zero_point = (*operands, None)[:2]
            scales = scales._replace(scale=scale, zero_point=zero_point)
        return dispatch(
            replace(job, x=x, scales=scales, out=None, storage=(dtype, job.extend), stream=stream), at_once=True
        )

    if any(map(is_traced, arrays)):
        # Under vmap each row is an array of its own, whose elements count from the first of the stream.
        elementwise = job.scales is None and not job.packed and job.shape is None and job.stream is None
        target = job.plan.target
        if elementwise or not target.is_float or target.bits not in (8, 16):
            return call_back(task, shape, dtype, *arrays, elementwise=elementwise)
        # Rows are collected in a loop, in which XLA rounds narrow floats to what they are: NaN gets another code there.
        seen = target.code_dtype
        codes = call_back(lambda *held: task(*held).view(seen), shape, seen, *arrays, elementwise=False)
        return sys.modules["jax"].lax.bitcast_convert_type(codes, dtype)
    result = task(*(np.asarray(array) for array in arrays))
    return from_codes(to_host(result), dtype, job.x)


def _quantize_now(x: _Array, *operands: _Array, job: BlockJob) -> tuple[_Array, ...]:
    """Return the results of a job whose array, global scale and seed are there now, as far as they were traced."""
    stream = job.stream
    if stream is not None and isinstance(stream.seed, LaterSeed):
        *operands, seed = operands
        stream = make_stream(seed_number(seed), stream.offset)
    factor = np.asarray(operands[0]) if operands else None
    results: tuple[_Array, ...] = dispatch(
        job._replace(x=np.asarray(x), global_scale=factor, stream=stream, out=None), at_once=True
    )
    return results


def _one_result(*arrays: _Array, job: BlockJob, number: int, dtype: Any) -> _Array:
    return _quantize_now(*arrays, job=job)[number].view(dtype)


def _quantize_blocks(job: BlockJob) -> tuple[Any, ...]:
    """Leave a block quantization to the moment when a traced computation runs: a call back for each result."""
    job.check_out()
    arrays, stream = job.arrays, job.stream
    if stream is not None and isinstance(stream.seed, LaterSeed):
        _check_traced_seed(job.x)
        arrays, stream = [*arrays, stream.seed.array], stream._replace(seed=LaterSeed(None))
    bare = job._replace(x=None, global_scale=None, stream=stream, key=None)
    if not any(map(is_traced, arrays)):
        results = _quantize_now(*map(np.asarray, arrays), job=bare)
        pairs = zip(results, job.results, strict=True)
        return tuple(from_codes(to_host(result), dtype, job.x) for result, (_, dtype) in pairs)
    return tuple(
        call_back(partial(_one_result, job=bare, number=number, dtype=dtype), shape, dtype, *arrays, elementwise=False)
        for number, (shape, dtype) in enumerate(job.results)
    )
