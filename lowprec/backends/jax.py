"""JAX arrays that are traced, called back when the computation runs, or lie on an accelerator, by way of the host."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays.array_words import array_kind
from ..arrays.jax_seeds import seed_number
from ..arrays.libraries import call_back, check_out, from_codes, is_jax, is_traced, namespace, to_host
from ..spec.rounding_modes import make_stream
from . import eager
from .job import Job

__all__ = ["accepts", "check_traced_seed", "run"]


def accepts(job: Job) -> bool:
    """Whether one of the arrays is JAX's, or the seed is one that it traces."""
    return job.later_seed is not None or any(map(is_jax, job.arrays))


def check_traced_seed(x: Any) -> None:
    """Raise TypeError unless the seed of an array may be one that JAX traces."""
    if not is_jax(x):
        kind = f"{array_kind(namespace(x))}: pass `jnp.asarray(...)` of it"
        raise TypeError(f"`x` must be a JAX array where `seed` is one that JAX traces; got {kind}")


def run(job: Job) -> Any:
    """Leave a job to the moment when a traced computation runs, or carry it out in host memory."""
    later, arrays = job.later_seed, job.arrays
    if later is not None:
        check_traced_seed(job.x)
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
        return eager.run(replace(job, x=x, scales=scales, out=None, storage=(dtype, job.extend), stream=stream))

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
