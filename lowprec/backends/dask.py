"""Dask arrays: a task for each chunk, whose arguments are plans and numbers; nothing is computed here."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays.array_memory import check_out
from ..arrays.libraries import is_dask, namespace
from ..arrays.storage_dtypes import extends, storage_dtype
from ..plans.block_plan import BlockPlan
from ..plans.plan import Plan, copy_plan
from ..plans.scale_shapes import Granularity, Groups, granularity_of
from ..spec.formats import Format, as_format
from ..spec.packing import group, packed_bytes
from ..spec.rounding_modes import Stream
from .array_api.blocks import elements_of, find_scales, scaled_values
from .backend_choice import dispatch
from .cublas_scale_order import swizzle
from .jobs import BlockJob, Job, Scales
from .largest_magnitudes import find_range
from .nvfp4_scales import global_scale_of, start_of, start_of_tensor
from .threads import one_thread

__all__ = ["accepts", "blockwise", "run"]


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


def _quantize_blocks(job: BlockJob) -> tuple[Any, ...]:
    """Leave a block quantization to a task for each chunk; no chunk ends within a block."""
    job.check_out()
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


_Task = Callable[..., Any]


def _meta(x: Any, ndim: int, dtype: Any) -> Any:
    """Return an empty array of the library that the blocks of `x` belong to."""
    namespace(x._meta)  # raises for blocks that are masked or sparse
    return np.empty_like(x._meta, shape=(0,) * ndim, dtype=dtype)


def _map_blocks(task: _Task, x: Any, dtype: Any, label: str, /, **names: object) -> Any:
    """Return the Dask array of the results of `task` for every block, which keeps its shape.

    Where the options name a stream, a task gets the place of its block in the array besides the block.
    """
    chosen = {"dtype": dtype, "meta": _meta(x, x.ndim, dtype), "token": f"lowprec-{label}"}
    return x.map_blocks(task, *_first_elements(x.chunks, names), **chosen, **names)


def _check_known(x: Any, parameter: str) -> None:
    if any(math.isnan(length) for length in x.shape):
        raise ValueError(f"`{parameter}` must have chunks of known sizes (see its compute_chunk_sizes); got {x.chunks}")


def _first_elements(chunks: tuple[tuple[int, ...], ...], names: dict[str, object]) -> tuple[Any, ...]:
    """Return the C-order index of the first element of each block, in an array of blocks of one number.

    Only where the options of a task name a stream: nothing else depends on the place of a block.
    """
    if names.get("stream") is None:
        return ()
    first = np.zeros([len(lengths) for lengths in chunks], np.int64)
    step = 1
    for axis, lengths in reversed(list(enumerate(chunks))):
        starts = np.array([0, *itertools.accumulate(lengths)][:-1], np.int64) * step
        first += starts.reshape([-1 if other == axis else 1 for other in range(first.ndim)])
        step *= sum(lengths)
    return (importlib.import_module("dask.array").from_array(first, chunks=1),)


def _rechunk_multiples(x: Any, multiple: int, axis: int = 0) -> Any:
    """Move the borders between the chunks along an axis down to multiples of a number."""
    borders = itertools.accumulate(x.chunks[axis][:-1])
    ends = [0, *(border // multiple * multiple for border in borders), x.shape[axis]]
    lengths = tuple(after - before for before, after in itertools.pairwise(ends) if after > before)
    return x.rechunk({axis: lengths or (0,)})


def _reshaped(x: Any, shape: tuple[int, ...]) -> Any:
    """Return a Dask array in another shape; Dask itself refuses some of no elements."""
    if x.size != 0:
        return x.reshape(shape)
    return namespace(x).zeros(tuple(max(length, 0) for length in shape), dtype=x.dtype)


def _pack(task: _Task, x: Any, fmt: Format, label: str, /, **names: object) -> Any:
    """Return the packed codes that `task` returns for blocks of whole bytes, in C order of the whole array."""
    _check_known(x, "x")
    flat = _rechunk_multiples(_reshaped(x, (-1,)), group(fmt)[0])
    lengths = tuple(packed_bytes(length, fmt) for length in flat.chunks[0])
    chosen = {"dtype": np.uint8, "chunks": (lengths,), "meta": _meta(x, 1, np.uint8), "token": f"lowprec-{label}"}
    return flat.map_blocks(task, *_first_elements(flat.chunks, names), **chosen, **names)


def _unpack(
    task: _Task, packed: Any, fmt: Format, shape: tuple[int, ...], dtype: Any, label: str, /, **names: object
) -> Any:
    """Return the array of `shape` from packed codes, of which `task` unpacks as many as the bytes of a block hold."""
    cut = _rechunk_multiples(packed, group(fmt)[1])
    lengths = tuple(length * 8 // fmt.bits for length in cut.chunks[0])
    chosen = {"dtype": dtype, "chunks": (lengths,), "meta": _meta(packed, 1, dtype), "token": f"lowprec-{label}"}
    flat = cut.map_blocks(task, *_first_elements((lengths,), names), **chosen, **names)
    return _reshaped(flat[: math.prod(shape)], shape)


def _align_scales(
    x: Any, operands: Sequence[Any], granularity: Granularity
) -> tuple[Any, list[tuple[Any, tuple[int, ...]]]]:
    """Return `x` and its scales and zero points in blocks that belong together, the latter with their axes in `x`.

    Where scales go by blocks along an axis, no chunk of `x` may end within one: such borders are moved.
    """
    _check_known(x, "x")
    axis, blocked = granularity.axis, granularity.outer_step > 0
    if axis is None:
        return x, [(operand.reshape(()), ()) for operand in operands]
    if not blocked:
        return x, [(operand.rechunk((x.chunks[axis],)), (axis,)) for operand in operands]
    x = _rechunk_multiples(x, granularity.block, axis)
    lengths = tuple(-(-length // granularity.block) for length in x.chunks[axis])
    chunks = (*x.chunks[:axis], lengths, *x.chunks[axis + 1 :])
    return x, [(operand.rechunk(chunks), tuple(range(x.ndim))) for operand in operands]


def blockwise(
    task: _Task,
    x: Any,
    operands: Sequence[tuple[Any, tuple[int, ...]]],
    dtype: Any,
    label: str,
    /,
    **names: object,
) -> Any:
    """Return the results of `task` for each block of `x` and of the blocks of operands along the same axes."""
    axes = tuple(range(x.ndim))
    pairs = itertools.chain.from_iterable([(x, axes), *operands])
    return importlib.import_module("dask.array").blockwise(
        task, axes, *pairs, dtype=dtype, meta=_meta(x, x.ndim, dtype), token=f"lowprec-{label}",
        align_arrays=False, **names,
    )  # fmt: skip


# ---- jobs


def accepts(job: Job | BlockJob) -> bool:
    """Whether the array is one of Dask's; those of blocks have no seed that JAX traces."""
    return is_dask(job.x) and (isinstance(job, Job) or job.later_seed is None)


def run(job: Job | BlockJob) -> Any:
    """Leave a job to a task for each block."""
    if isinstance(job, BlockJob):
        return _quantize_blocks(job)
    if job.out is not None:
        check_out(job.out, job.x, job.x.shape, job.dtype)
    return _run_cast(job) if job.scales is None else _run_quantization(job, job.scales)


def _label(plan: Plan) -> str:
    return f"{plan.source.name}-{plan.target.name}"


_Result = tuple[str, bool]
"""`Job.storage` of a task: the name of the format whose dtype the result has, whether integers are sign-extended."""


def _storage(result: _Result) -> tuple[Any, bool]:
    name, extend = result
    return as_format(name).dtype, extend


class _Whole(NamedTuple):
    """The array that a block is a part of, where the block draws random numbers."""

    stream: Stream
    shape: tuple[int, ...]


def _pieces(block: tuple[int, ...], first: int, whole: _Whole) -> Iterator[tuple[tuple[slice, ...], Stream]]:
    """Return parts of a block whose elements follow one another in the whole array, and the streams of these.

    They keep all axes. `first` is the index of the first element of the block in the whole array.
    """
    cut = max((axis for axis in range(1, len(block)) if block[axis] != whole.shape[axis]), default=0)
    steps = [math.prod(whole.shape[axis + 1 :]) for axis in range(cut)]
    for index in itertools.product(*map(range, block[:cut])):
        place = first + sum(number * step for number, step in zip(index, steps, strict=True))
        part = tuple(slice(number, number + 1) for number in index)
        yield part, whole.stream._replace(offset=whole.stream.offset + place)


def _run_block(job: Job, first: Any, whole: _Whole | None, part_of: Callable[[Job, tuple[slice, ...]], Job]) -> Any:
    """Carry out the job of one block, on one thread: Dask runs many at a time.

    `part_of` returns the job of a part of the block.
    """
    with one_thread():
        if whole is None:
            return dispatch(job, at_once=True)
        pieces = list(_pieces(job.values_shape, int(first.reshape(-1)[0]), whole))
        if len(pieces) == 1:
            return dispatch(replace(job, stream=pieces[0][1]), at_once=True)
        result = np.empty_like(job.x, dtype=job.dtype, shape=job.result_shape)
        for part, stream in pieces:
            result[part] = dispatch(replace(part_of(job, part), stream=stream), at_once=True)
        return result


def _cast_block(
    x: Any,
    first: Any = None,
    *,
    plan: Plan,
    result: _Result,
    source: str,
    packed: bool,
    unpacked: bool,
    stream: _Whole | None = None,
) -> Any:
    """Convert one block.

    `source` names the format whose dtype `x` has. A block of packed codes is unpacked to as many as its bytes hold.
    """
    if as_format(x.dtype).name != source:
        raise TypeError(f"the blocks of `x` must hold {source}, as the whole array says; one has dtype {x.dtype}")
    shape = (x.size * 8 // plan.source.bits,) if unpacked else None
    job = Job(x, plan, packed=packed, shape=shape, storage=_storage(result))
    return _run_block(job, first, stream, lambda job, part: replace(job, x=job.x[part]))


def _whole(job: Job) -> dict[str, _Whole]:
    """Return the option of a task that draws random numbers; none where nothing is random."""
    if job.stream is None:
        return {}
    if job.shape is None:
        _check_known(job.x, "x")
    return {"stream": _Whole(job.stream, job.values_shape)}


def _run_cast(job: Job) -> Any:
    x, plan, dtype = job.x, job.plan, job.dtype
    options = {
        "plan": plan,
        "result": (as_format(dtype).name, job.extend),
        "source": as_format(x.dtype).name,
        "packed": job.packed,
        "unpacked": job.shape is not None,
        **_whole(job),
    }
    if job.packed:
        return _pack(_cast_block, x, plan.target, _label(plan), **options)
    if job.shape is not None:
        return _unpack(_cast_block, x, plan.source, job.shape, dtype, _label(plan), **options)
    return _map_blocks(_cast_block, x, dtype, _label(plan), **options)


class _ScaleOptions(NamedTuple):
    """What a task reads of the options of its block."""

    format: Format
    axis: int
    block: int  # 0 where there are no blocks along the axis


def _quantize_block(
    x: Any,
    scale: Any,
    *operands: Any,
    plan: Plan,
    result: _Result,
    options: _ScaleOptions,
    stream: _Whole | None = None,
) -> Any:
    """Quantize or dequantize one block; the operands are zero points, and the place of a block that draws numbers."""
    *zeros, first = operands if stream is not None else (*operands, None)
    zero_point = zeros[0] if zeros else None

    def job_of(x: Any, scale: Any, zero_point: Any) -> Job:
        granularity = granularity_of(x.shape, scale.shape, options.axis, options.block, blocks=True, axes=True)
        return Job(x, plan, Scales(scale, options.format, zero_point, granularity), storage=_storage(result))

    def part_of(job: Job, part: tuple[slice, ...]) -> Job:
        def cut(operand: Any) -> Any:
            if operand is None or operand.ndim == 0:
                return operand
            if options.block == 0:
                return operand[part[options.axis]] if options.axis < len(part) else operand
            size = [options.block if axis == options.axis else 1 for axis in range(len(part))]
            starts = (index.start // n for index, n in zip(part, size, strict=True))
            return operand[tuple(slice(start, start + 1) for start in starts)]

        return job_of(x[part], cut(scale), cut(zero_point))

    return _run_block(job_of(x, scale, zero_point), first, stream, part_of)


def _run_quantization(job: Job, scales: Scales) -> Any:
    """Codes are unpacked before the tasks, or packed after them."""
    x, plan, granularity = job.x, job.plan, scales.granularity
    dtype, extend = job.dtype, job.extend
    if job.shape is not None:
        x = _run_cast(Job(x, copy_plan(plan.source), shape=job.shape))
    if job.packed:
        xp = namespace(x)
        dtype, extend = storage_dtype(plan.target, xp), extends(plan.target, xp)
    x, operands = _align_scales(x, scales.arrays, granularity)
    axis = 1 if granularity.axis is None else granularity.axis
    options = _ScaleOptions(scales.format, axis, granularity.block if granularity.outer_step else 0)
    whole = _whole(job)
    task = {"plan": plan, "result": (as_format(dtype).name, extend), "options": options, **whole}
    places = [(place, tuple(range(x.ndim))) for place in _first_elements(x.chunks, task)]
    result = blockwise(_quantize_block, x, [*operands, *places], dtype, _label(plan), **task)
    return _run_cast(Job(result, copy_plan(plan.target), codes=True, packed=True)) if job.packed else result
