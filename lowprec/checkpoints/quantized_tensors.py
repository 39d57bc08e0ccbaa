"""The tensors in which `save` stores what `lowprec.quantize` made: codes ``W``, and scales ``W_scale`` for `open`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..ops.cast import cast
from ..ops.codes import decode
from ..ops.interchange import held_codes
from ..ops.quantized import Quantized
from ..spec.formats import BFLOAT16, Format, as_format
from .containers.tensors import InMemory, StoredTensor
from .files.errors import FileError
from .layouts import scaled
from .schemes.scheme import Grid

__all__ = ["StoredScales", "stored_scales"]

Array = np.ndarray[Any, Any]


class StoredScales(NamedTuple):
    """Scales as a file has them; `axis` and `block` are what .safetensors notes of them, as in `OutputTensor`."""

    scale: Array
    format: Format
    axis: int | None = None
    block: tuple[int, int] | None = None


def stored_scales(quantized: Quantized, notes: bool, parameter: str) -> StoredScales:
    """Return the scales of a quantized array as they are stored; `notes` says whether the file can say what they share.

    Raises ValueError, which names `parameter`, for what `open` would not read back.
    """
    q, shape = quantized, tuple(quantized.shape)
    if len(shape) != q.rank:
        raise _refused(parameter, "is several that are stacked: save each of them")
    fmt = as_format(q.scale_format)
    scale = held_codes(q.scale, fmt, parameter)
    if q.scheme == "mx" and q.format.is_integer:  # codes of MXINT8 count 64ths; bfloat16 has 64ths of powers of two
        fmt = BFLOAT16
        scale = np.asarray(cast(np.asarray(decode(scale, q.scale_format)) * np.float32(2**-6), BFLOAT16))
    stored = _readable(q, scale, fmt, notes)
    if stored is not None:
        return stored
    other = ": name a .safetensors file" if not notes and _readable(q, scale, fmt, True) else ""
    sharing = f"axis {q.axis}, block_size {q.block_size}"
    raise _refused(parameter, f"has scales that a file does not tell, {sharing} of shape {shape}{other}")


def _refused(parameter: str, why: str) -> ValueError:
    return ValueError(f"`{parameter}` must be a quantized array that `open` can read; it {why}")


def _readable(q: Quantized, scale: Array, fmt: Format, notes: bool) -> StoredScales | None:
    """Return the scales so that a reader takes them for what they are; None if there is no way."""
    is_taken = False
    for stored in _plain_ways(q, scale, fmt, notes):
        found = _grid(q, stored)
        if found is not None and _is_expected(found, q):
            return stored
        is_taken = is_taken or found is not None
    block = _block(q) if notes and not is_taken else None  # a copy that loses the note is then no other weight
    stored = StoredScales(scale, fmt, block=block)
    found = None if block is None else _grid(q, stored)
    return stored if found is not None and _is_expected(found, q) else None


def _plain_ways(q: Quantized, scale: Array, fmt: Format, notes: bool) -> Iterator[StoredScales]:
    """Yield the scales in the shapes from which readers know what shares them, or know it with a note of the axis."""
    axis = None if q.block_size else q.axis
    if scale.size == 1:
        yield StoredScales(scale.reshape(()), fmt)
    else:
        yield StoredScales(scale, fmt, axis if notes and scale.ndim == 1 and isinstance(axis, int) else None)
    if axis == 0 and len(q.shape) == 2:
        yield StoredScales(scale.reshape(-1, 1), fmt)


def _lengths(q: Quantized) -> dict[int, int]:
    """Return the block sizes by their axes; nothing where there are no blocks."""
    if not q.block_size:
        return {}
    axes: Any = q.axis if isinstance(q.axis, tuple) else (q.axis,)
    sizes: Any = q.block_size if isinstance(q.block_size, tuple) else (q.block_size,)
    return dict(zip(axes, sizes, strict=True))


def _block(q: Quantized) -> tuple[int, int] | None:
    """Return the rows and columns of a block; None where there are none, or where they lie along other axes."""
    lengths = {axis - q.rank: size for axis, size in _lengths(q).items()}
    return (lengths.get(-2, 1), lengths.get(-1, 1)) if lengths and lengths.keys() <= {-2, -1} else None


def _grid(q: Quantized, scales: StoredScales) -> Grid | None:
    """Return what a reader takes, from shapes, formats and notes, for the scale of each code; None for nothing."""
    scale, fmt, axis, block = scales
    codes = StoredTensor("W", tuple(q.shape), q.format, q.format.name, InMemory(b""))
    stored = StoredTensor("W_scale", scale.shape, fmt, fmt.name, InMemory(b""), axis=axis, block=block)
    try:
        return scaled.grid(codes, stored)
    except FileError:
        return None


def _is_expected(found: Grid, q: Quantized) -> bool:
    """Whether a grid has a scale to as many columns as the array, and the same rows of scales."""
    shape = tuple(q.shape)
    columns, rows = (shape[-1] if shape else 1), math.prod(shape[:-1])
    if not rows or not columns:
        return True
    width, index = _columns_and_rows(q, shape, columns, rows)
    same_columns = min(found.columns or columns, columns) == min(width, columns)
    return same_columns and np.array_equal(found.indices(0, rows, rows), index)


def _columns_and_rows(q: Quantized, shape: tuple[int, ...], columns: int, rows: int) -> tuple[int, Array]:
    """Return how many columns share a scale, and the row of scales of each row."""
    last = len(shape) - 1
    if lengths := _lengths(q):
        index: Array = np.arange(math.prod(q.scale.shape[:-1])).reshape(tuple(q.scale.shape[:-1]))
        for axis, size in lengths.items():
            if axis != last:
                index = np.repeat(index, min(size, shape[axis]), axis).take(range(shape[axis]), axis)
        return lengths.get(last, 1), index.reshape(-1)
    if not isinstance(q.axis, int):  # one scale for all
        return columns, np.zeros(rows, np.int64)
    if q.axis == last:
        return 1, np.zeros(rows, np.int64)
    return columns, np.arange(rows) // math.prod(shape[q.axis + 1 : -1]) % shape[q.axis]
