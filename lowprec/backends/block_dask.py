"""Block quantizations of Dask arrays: tasks that find the scales of a chunk, and tasks that divide by them."""

from __future__ import annotations

import importlib
import itertools
import math
from typing import Any

import numpy as np

from ..arrays.libraries import namespace, storage_dtype
from ..plans.block_plan import BlockPlan
from .block_job import BlockJob
from .block_values import elements_of, find_scales, scaled_values
from .nvfp4_rules import global_scale_of, start_of, start_of_tensor
from .ranges import Groups, find_range
from .swizzle import swizzle
from .thread_count import one_thread

__all__ = ["run"]


def _whole_blocks(x: Any, axis: int, block: int) -> Any:
    """Move the borders between chunks along the axis down to multiples of the block size."""
    if any(math.isnan(length) for length in x.shape):
        raise ValueError(f"`x` must have chunks of known sizes (see its compute_chunk_sizes); got {x.chunks}")
    borders = itertools.accumulate(x.chunks[axis][:-1])
    ends = [0, *(border // block * block for border in borders), x.shape[axis]]
    lengths = tuple(after - before for before, after in itertools.pairwise(ends) if after > before)
    return x.rechunk({axis: lengths or (0,)})


def _start_task(value: Any, *, plan: BlockPlan, given: bool) -> Any:
    return start_of(value, plan) if given else start_of_tensor(np.asarray(value), plan)


def _global_task(start: Any, *, plan: BlockPlan) -> Any:
    return global_scale_of(np.asarray(start), plan)


def _scales_task(x: Any, start: Any = None, *, plan: BlockPlan, axis: int, block: int) -> Any:
    with one_thread():
        return find_scales(np.asarray(x).view(plan.source.dtype), plan, axis, block, start)


def _values_task(x: Any, scales: Any, start: Any = None, *, plan: BlockPlan, axis: int, block: int) -> Any:
    with one_thread():
        return scaled_values(np.asarray(x).view(plan.source.dtype), scales, plan, axis, block, start)


def run(job: BlockJob) -> tuple[Any, ...]:
    """Leave a job to a task for each chunk; no chunk ends within a block."""
    plan, axis, block = job.plan, job.axis, job.block
    x = _whole_blocks(job.x, axis, block)
    blockwise, xp = importlib.import_module("dask.array").blockwise, namespace(x)
    axes = tuple(range(x.ndim))
    start = job.global_scale
    if plan.two_levels:
        given, number = start is not None, {"plan": plan, "dtype": np.float32, "meta": np.empty((), np.float32)}
        (start,) = (start,) if given else find_range(x, plan.source, Groups((), ()))
        start = start.map_blocks(_start_task, given=given, **number)
    operand = () if start is None else (start, ())
    options = {"plan": plan, "axis": axis, "block": block, "align_arrays": False}
    lengths = tuple(-(-length // block) for length in x.chunks[axis])
    scales = blockwise(
        _scales_task, axes, x, axes, *operand, dtype=np.uint8, adjust_chunks={axis: lengths},
        meta=np.empty((0,) * x.ndim, np.uint8), token="lowprec-block-scales", **options,
    )  # fmt: skip
    dtype = plan.last.source.dtype
    values = blockwise(
        _values_task, axes, x, axes, scales, axes, *operand, dtype=dtype,
        meta=np.empty((0,) * x.ndim, dtype), token="lowprec-block-values", **options,
    )  # fmt: skip
    elements = elements_of(values, job)
    scales = swizzle(scales, axis) if job.swizzled else scales
    results = (elements, scales.astype(storage_dtype(plan.scale, xp)))
    return results if start is None else (*results, start.map_blocks(_global_task, **number))
