"""Dask arrays: one task a block, whose arguments are plans and numbers, nothing computed before it is asked for.

Dask hashes the arguments of a task into its key, all fields of a plan and its formats, so two formats never share one.
No dtype of ml_dtypes is among them: codes travel between tasks in uint8 and uint16.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..arrays.libraries import namespace
from ..plans.granularity import Granularity
from ..spec.formats import Format
from ..spec.packing import group, packed_bytes

__all__ = ["beside", "each", "joined", "pack", "unpack"]

_Task = Callable[..., Any]


def _meta(x: Any, ndim: int, dtype: Any) -> Any:
    """Return an empty array of the library that the blocks of `x` belong to."""
    namespace(x._meta)  # raises for blocks that are masked or sparse
    return np.empty_like(x._meta, shape=(0,) * ndim, dtype=dtype)


def each(task: _Task, x: Any, dtype: Any, label: str, /, **names: object) -> Any:
    """Return the Dask array of what `task` makes of every block, its shape kept."""
    return x.map_blocks(task, dtype=dtype, meta=_meta(x, x.ndim, dtype), token=f"lowprec-{label}", **names)


def _check_known(x: Any, parameter: str) -> None:
    if any(math.isnan(length) for length in x.shape):
        raise ValueError(f"`{parameter}` must have chunks of known sizes (see its compute_chunk_sizes); got {x.chunks}")


def _cut(x: Any, multiple: int, axis: int = 0) -> Any:
    """Move the borders between the chunks along an axis down to multiples of a number."""
    borders = itertools.accumulate(x.chunks[axis][:-1])
    ends = [0, *(border // multiple * multiple for border in borders), x.shape[axis]]
    lengths = tuple(after - before for before, after in itertools.pairwise(ends) if after > before)
    return x.rechunk({axis: lengths or (0,)})


def pack(task: _Task, x: Any, fmt: Format, label: str, /, **names: object) -> Any:
    """Return the packed codes that `task` makes of blocks of whole bytes, in C order of the whole array."""
    _check_known(x, "x")
    flat = _cut(x.reshape(-1), group(fmt)[0])
    lengths = tuple(packed_bytes(length, fmt) for length in flat.chunks[0])
    meta = _meta(x, 1, np.uint8)
    return flat.map_blocks(task, dtype=np.uint8, chunks=(lengths,), meta=meta, token=f"lowprec-{label}", **names)


def unpack(
    task: _Task, packed: Any, fmt: Format, shape: tuple[int, ...], dtype: Any, label: str, /, **names: object
) -> Any:
    """Return the array of `shape` from packed codes, of which `task` unpacks as many as the bytes of a block hold."""
    cut = _cut(packed, group(fmt)[1])
    lengths = tuple(length * 8 // fmt.bits for length in cut.chunks[0])
    meta = _meta(packed, 1, dtype)
    flat = cut.map_blocks(task, dtype=dtype, chunks=(lengths,), meta=meta, token=f"lowprec-{label}", **names)
    return flat[: math.prod(shape)].reshape(shape)


def beside(x: Any, operands: Sequence[Any], spread: Granularity) -> tuple[Any, list[tuple[Any, tuple[int, ...]]]]:
    """Return `x` and its scales and zero points in blocks that belong together, the latter with their axes in `x`.

    Where scales go by blocks along an axis, no chunk of `x` may end within one: such borders are moved.
    """
    _check_known(x, "x")
    axis, blocked = spread.axis, spread.outer_step > 0
    if axis is None:
        return x, [(operand.reshape(()), ()) for operand in operands]
    if not blocked:
        return x, [(operand.rechunk((x.chunks[axis],)), (axis,)) for operand in operands]
    x = _cut(x, spread.block, axis)
    lengths = tuple(-(-length // spread.block) for length in x.chunks[axis])
    chunks = (*x.chunks[:axis], lengths, *x.chunks[axis + 1 :])
    return x, [(operand.rechunk(chunks), tuple(range(x.ndim))) for operand in operands]


def joined(
    task: _Task,
    x: Any,
    operands: Sequence[tuple[Any, tuple[int, ...]]],
    dtype: Any,
    label: str,
    /,
    **names: object,
) -> Any:
    """Return what `task` makes of each block of `x` and of the blocks of operands along the same axes."""
    axes = tuple(range(x.ndim))
    pairs = itertools.chain.from_iterable([(x, axes), *operands])
    return importlib.import_module("dask.array").blockwise(
        task, axes, *pairs, dtype=dtype, meta=_meta(x, x.ndim, dtype), token=f"lowprec-{label}",
        align_arrays=False, **names,
    )  # fmt: skip
