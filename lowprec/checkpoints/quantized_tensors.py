"""The tensors in which `save` stores what `lowprec.quantize` made: codes ``W``, and scales ``W_scale`` for `open`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.cast import cast
from ..ops.codes import decode
from ..ops.interchange import held_codes
from ..ops.quantized import Quantized
from ..spec.formats import BFLOAT16, Format, as_format
from ..spec.packing import is_packable
from .containers.tensors import InMemory, StoredTensor
from .files.errors import FileError
from .layouts import scaled
from .schemes.scheme import Grid

__all__ = ["stored_scales"]

Array = np.ndarray[Any, Any]


def stored_scales(name: str, quantized: Quantized, packs: bool, parameter: str) -> tuple[Array, Format, int | None]:
    """Return the scales of a quantized array as they are stored, their format, and the axis along which they run.

    Raises ValueError, which names `parameter`, for what `open` would not read back.
    """
    q, fmt = quantized, quantized.format
    shape = tuple(q.shape)
    if len(shape) != q.rank:
        raise _refused(parameter, "is several that are stacked: save each of them")
    if packs and is_packable(fmt) and shape and shape[-1] * fmt.bits % 8:
        raise _refused(parameter, f"has rows of {shape[-1]} codes, which end within a byte: name an .npz file")
    scale_format = as_format(q.scale_format)
    scale = held_codes(q.scale, scale_format, parameter)
    if q.scheme == "mx" and fmt.is_integer:  # codes of MXINT8 count 64ths; bfloat16 has every 64th of a power of two
        scale_format = BFLOAT16
        scale = np.asarray(cast(np.asarray(decode(scale, q.scale_format)) * np.float32(2**-6), BFLOAT16))
    axis = q.axis if isinstance(q.axis, int) and not q.block_size else None
    shapes = [()] if scale.size == 1 else [scale.shape]
    if axis == 0 and len(shape) == 2:
        shapes.append((shape[0], 1))
    for lengths in shapes:
        noted = axis if packs and len(lengths) == 1 else None  # .safetensors says which axis it is
        if _is_read_back(q, fmt, (lengths, scale_format, noted)):
            return scale.reshape(lengths), scale_format, noted
    sharing = f"axis {q.axis}, block_size {q.block_size}"
    raise _refused(parameter, f"has scales that a file does not tell, {sharing} of shape {shape}")


def _refused(parameter: str, why: str) -> ValueError:
    return ValueError(f"`{parameter}` must be a quantized array that `open` can read; it {why}")


def _is_read_back(q: Quantized, fmt: Format, scales: tuple[tuple[int, ...], Format, int | None]) -> bool:
    """Whether a reader finds, from shapes and formats, the scale that each code has."""
    shape, (lengths, scale_format, noted) = tuple(q.shape), scales
    codes = StoredTensor("W", shape, fmt, fmt.name, InMemory(b""))
    stored = StoredTensor("W_scale", lengths, scale_format, scale_format.name, InMemory(b""), axis=noted)
    try:
        found = scaled.grid(codes, stored)
    except FileError:
        return False
    columns, rows = (shape[-1] if shape else 1), math.prod(shape[:-1])
    expected = _columns_and_rows(q, shape, columns, rows)
    return expected is not None and _same(found, *expected, columns, rows)


def _columns_and_rows(q: Quantized, shape: tuple[int, ...], columns: int, rows: int) -> tuple[int, Array] | None:
    """Return how many columns share a scale, and the row of scales of each row; None for what no reader has."""
    if q.axis is None:
        return columns, np.zeros(rows, np.int64)
    if not isinstance(q.axis, int) or not isinstance(q.block_size, int):
        return None
    axis, last = q.axis % len(shape), q.axis % len(shape) == len(shape) - 1
    if q.block_size:
        return (q.block_size, np.arange(rows)) if last else None
    if last:
        return 1, np.zeros(rows, np.int64)
    return columns, np.arange(rows) // math.prod(shape[axis + 1 : -1]) % shape[axis]


def _same(found: Grid, width: int, index: Array, columns: int, rows: int) -> bool:
    """Whether a grid has a scale to so many columns, and these rows of scales."""
    if not rows or not columns:
        return True
    same_columns = min(found.columns or columns, columns) == min(width, columns)
    return same_columns and np.array_equal(found.indices(0, rows, rows), index)
