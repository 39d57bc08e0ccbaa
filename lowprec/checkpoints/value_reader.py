"""Reading the values of a tensor, or of some of its rows, chunk by chunk into one array."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.cast import cast
from ..spec.custom_formats import why_not_converted
from ..spec.formats import FLOAT32, Format, is_in_table, own_dtype
from .containers.tensors import StoredTensor, TensorReader
from .layouts.weight import Weight, fail
from .layouts.weight_reader import WeightReader, read_packed

__all__ = ["check_shape", "read_plain", "read_values", "values_format"]

Array = np.ndarray[Any, Any]

CHUNK = 1 << 21
"""Elements that are read at once where they do not go straight into the result."""


_MOST_AXES = 64
_MOST_ELEMENTS = np.iinfo(np.intp).max // 16
"""NumPy counts the bytes of an array with axes of length 0 taken for 1; the widest elements have 16."""


def check_shape(one: StoredTensor | Weight, shape: tuple[int, ...]) -> None:
    """Raise FileError for a shape that NumPy has not: with more axes, or, without elements, with too long ones."""
    if len(shape) > _MOST_AXES or math.prod(length for length in shape if length) > _MOST_ELEMENTS:
        tensor = one if isinstance(one, StoredTensor) else one.codes
        raise fail(tensor, f"has the shape {str(list(shape))[:200]}, which no array can have")


def values_format(tensor: StoredTensor, wanted: Format | None) -> Format | None:
    """Return the format in which the values of a tensor are read, None for its own: codes of others are no values.

    Those of a described format for which ml_dtypes has no dtype are read as float32. Raises FileError where float32
    does not hold them.
    """
    fmt = tensor.fmt
    if fmt is None or is_in_table(fmt):
        return wanted
    if problem := why_not_converted(fmt):
        raise fail(tensor, f"holds codes of {fmt.name}, {problem} (raw=True reads the codes)")
    return FLOAT32 if wanted is None and own_dtype(fmt) is None else wanted


def read_plain(tensor: StoredTensor, reader: TensorReader, rows: range | None, to: Format | None) -> Array:
    """Return a tensor, or rows of it, in its own format or, where `to` is given, cast to that.

    Only the bytes of these rows are read, unless the file has the axes the other way round.
    """
    fmt = tensor.fmt
    if fmt is None:
        raise fail(tensor, f"holds no numbers that can be read ({tensor.fixed or tensor.type_name})")
    result = fmt if to is None else to
    if rows is None or tensor.fortran:
        flat = _elements(tensor, fmt, reader, range(tensor.size), result)
        whole = flat.reshape(tensor.shape[::-1]).T if tensor.fortran else flat.reshape(tensor.shape)
        return whole if rows is None else whole[rows.start : rows.stop].copy()
    width = math.prod(tensor.shape[1:])
    flat = _elements(tensor, fmt, reader, range(rows.start * width, rows.stop * width), result)
    return flat.reshape(len(rows), *tensor.shape[1:])


def _elements(tensor: StoredTensor, fmt: Format, reader: TensorReader, which: range, to: Format) -> Array:
    """Return some elements, numbered in the order of the file."""
    out = np.empty(len(which), to.dtype)
    if to is fmt and not tensor.packed:
        reader.read_into(out.view(np.uint8), tensor.location, tensor.bytes_of(which.start))
        if tensor.swapped:
            out.view(fmt.code_dtype).byteswap(inplace=True)
        return out
    for start in range(0, len(which), CHUNK):
        end = min(start + CHUNK, len(which))
        values = _chunk(tensor, fmt, reader, which.start + start, end - start)
        out[start:end] = values if to is fmt else cast(values, to, source=fmt)
    return out


def _chunk(tensor: StoredTensor, fmt: Format, reader: TensorReader, first: int, count: int) -> Array:
    """Return some elements in their own format."""
    if tensor.packed:
        return read_packed(reader, tensor, fmt, first, count)
    content = np.empty(tensor.bytes_of(count), np.uint8)
    reader.read_into(content, tensor.location, tensor.bytes_of(first))
    codes = content.view(fmt.code_dtype)
    return (codes.byteswap() if tensor.swapped else codes).view(fmt.dtype)


def read_values(weight: WeightReader, rows: range | None, to: Format) -> Array:
    """Return the values of a quantized weight, or of the given part of its first axis, in a format of floats."""
    stored = weight.weight
    shape = stored.plain_shape
    if len(stored.shape) < 2:
        out = np.empty(shape, to.dtype)
        if out.size:
            weight.read(0, 1, out.reshape(1, stored.columns))
        return out if rows is None else out[rows.start : rows.stop].copy()
    rows = range(shape[0]) if rows is None else rows
    out = np.empty((len(rows), *shape[1:]), to.dtype)
    if not out.size:
        return out
    inner = math.prod(stored.shape[1:-1])
    first, count, columns = rows.start * inner, len(rows) * inner, stored.columns
    step = max(1, CHUNK // max(1, columns))
    if not stored.transposed:
        flat = out.reshape(count, columns)
        for start in range(0, count, step):
            end = min(start + step, count)
            weight.read(first + start, end - start, flat[start:end])
        return out
    some = slice(None)
    if len(shape) == 2:  # one matrix, whose columns are asked for
        first, some = 0, slice(rows.start, rows.stop)
    matrices = out.reshape(-1, *out.shape[-2:])
    height = stored.shape[-2]
    buffer = np.empty((min(step, height), columns), to.dtype)
    for index, matrix in enumerate(matrices):
        for start in range(0, height, step):
            end = min(start + step, height)
            values = weight.read(first + index * height + start, end - start, buffer[: end - start])
            matrix[:, start:end] = values[:, some].T
    return out
