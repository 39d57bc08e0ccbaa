"""The rows that a recipe quantizes: those of a stored tensor, or the values of a weight that is quantized already."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...loss.error_stats import ErrorStats
from ...ops.encode_pack import encode
from ...spec.formats import FLOAT32, Format
from ..chunks import Chunk, RowCut, row_chunks
from ..containers.container import StoredTensor
from ..schemes.cast import Array, ElementRules, bytes_of
from ..schemes.dequantize import Parameters, dequantize
from ..weights.quantized_weight import Weight
from .operation import Workspace

__all__ = ["Part", "Rows"]


class Part(NamedTuple):
    """Some rows.

    Attributes
    ----------
    first : int
        The number of the first one, counted in all matrices.
    codes, fmt : numpy.ndarray, Format
        Rows of unsigned codes to be quantized.
    values, values_fmt : numpy.ndarray, Format
        What they were before they were rounded to that format; the same where they were not.
    """

    first: int
    codes: Array
    fmt: Format
    values: Array
    values_fmt: Format

    def piece(self, start: int, stop: int) -> Part:
        """Return some of the rows."""
        codes, values = self.codes[start:stop], self.values[start:stop]
        return Part(self.first + start, codes, self.fmt, values, self.values_fmt)


@dataclass(frozen=True, slots=True)
class Rows:
    """A matrix, or a stack of them, that is read some rows at a time.

    Attributes
    ----------
    tensor : StoredTensor
        What is read: the rows, or the codes of a weight.
    fmt : Format
        The format of the rows.
    name, shape, source, nbytes
        What a report says of the values: their name and shape, the format that is stored, the bytes of all tensors that
        belong to them.
    stored : tuple of int
        The shape in the order of memory.
    is_exchanged : bool
        Whether the rows are columns in memory, so that each needs the whole matrix.
    row_bytes : int
        How many bytes a row takes in memory while it is read.
    rules : ElementRules, optional
        How the elements of a tensor are cast first.
    weight : Weight, optional
        The weight whose values these are, rounded to the format; they are never stored.
    """

    tensor: StoredTensor
    fmt: Format
    name: str
    shape: tuple[int, ...]
    source: str
    nbytes: int
    stored: tuple[int, ...]
    is_exchanged: bool
    row_bytes: int
    rules: ElementRules | None = None
    weight: Weight | None = None

    @classmethod
    def of_tensor(
        cls, tensor: StoredTensor, fmt: Format, rules: ElementRules | None = None, *, transposed: bool = False
    ) -> Rows:
        """Return the rows of a tensor of floats; its axes may be exchanged."""
        source, nbytes = tensor.fmt.name if tensor.fmt else tensor.type_name, tensor.location.nbytes
        row_bytes = tensor.shape[-1] * fmt.code_dtype.itemsize
        return cls(tensor, fmt, tensor.name, tensor.shape, source, nbytes, tensor.shape, transposed, row_bytes, rules)

    @classmethod
    def of_weight(cls, weight: Weight, fmt: Format, *, transposed: bool = False) -> Rows:
        """Return the rows of the values of a weight; axes that are exchanged twice are as they were."""
        is_exchanged, scheme = weight.transposed != transposed, weight.scheme
        # Codes, where a matrix is read whole; else the values are in memory.
        row_bytes = scheme.row_bytes(weight.columns) if is_exchanged else 4 * weight.columns
        return cls(
            weight.codes, fmt, weight.name, weight.plain_shape, scheme.code_name, weight.nbytes, weight.shape,
            is_exchanged, row_bytes, weight=weight,
        )  # fmt: skip

    @property
    def matrix(self) -> tuple[int, int]:
        """How many rows and columns a matrix has."""
        *_, rows, columns = self.stored
        return (columns, rows) if self.is_exchanged else (rows, columns)

    def cut(self, unit: int) -> RowCut:
        """Cut between rows, in multiples of `unit`; a matrix of exchanged axes is read whole, a row needs all of it."""
        return RowCut(self.stored, self.row_bytes, max(1, self.stored[-2]) if self.is_exchanged else unit)

    def parts(self, chunk: Chunk, step: int, workspace: Workspace) -> Iterator[Part]:
        """Yield the rows of a chunk, `step` at a time; each part is valid until the next."""
        if self.weight is not None:
            yield from _values(self.weight, self, chunk, step, workspace)
            return
        first = chunk.start // self.matrix[1]
        if self.is_exchanged:
            x = self._codes(chunk, workspace)
            for start in range(0, x.shape[1], step):
                strip = np.ascontiguousarray(x[:, start : start + step])  # dense, its columns are near each other
                part = np.ascontiguousarray(strip.T)
                yield Part(first + start, part, self.fmt, part, self.fmt)
            return
        for piece in row_chunks(chunk.shape, step * chunk.shape[2], 1):
            part = self._codes(piece._replace(start=chunk.start + piece.start), workspace)
            yield Part(first + piece.start // chunk.shape[2], part, self.fmt, part, self.fmt)

    def _codes(self, chunk: Chunk, workspace: Workspace) -> Array:
        source = workspace.load(self.tensor, chunk)
        if self.rules is None:
            return source.codes(0, chunk.size).reshape(chunk.shape[1:])
        content = workspace.arithmetic.buffer("cast", np.uint8, bytes_of(chunk.size, self.fmt, False))
        workspace.arithmetic.cast(source, chunk.size, self.rules, content, ErrorStats())
        return content.view(self.fmt.code_dtype).reshape(chunk.shape[1:])


def _values(weight: Weight, rows: Rows, chunk: Chunk, step: int, workspace: Workspace) -> Iterator[Part]:
    """Multiply the codes of a part by their scales, and round."""
    reader = workspace.rows(weight)
    _, count, columns = chunk.shape
    first = chunk.start // columns
    workspace.nbytes += weight.scheme.row_bytes(columns) * count
    if rows.is_exchanged:
        parameters = reader.shared_parameters(first, count)
        for start, values in _strips(weight, reader.codes(first, count), parameters, step):
            yield _rounded(chunk.start // count + start, values, rows.fmt)
        return
    for start in range(first, first + count, step):
        here = min(step, first + count - start)
        values = workspace.arithmetic.buffer("values", np.float32, here * columns).reshape(here, columns)
        yield _rounded(start, reader.read(start, here, values), rows.fmt)


def _rounded(first: int, values: Array, fmt: Format) -> Part:
    return Part(first, np.asarray(encode(values, fmt)).view(fmt.code_dtype), fmt, values.view(np.uint32), FLOAT32)


def _strips(weight: Weight, codes: Array, parameters: Parameters, step: int) -> Iterator[tuple[int, Array]]:
    """Yield strips of columns as rows: whole groups of scales, and whole words of codes."""
    scheme, columns = weight.scheme, weight.columns
    width = scheme.grid.columns
    unit = math.lcm(width or 1, 32, step)
    for first in range(0, columns, unit):
        last = min(first + unit, columns)
        strip = np.ascontiguousarray(codes[:, scheme.row_bytes(first) : scheme.row_bytes(last)])
        here = parameters.columns(first // width, -(-last // width)) if width else parameters.columns()
        values = np.empty((len(codes), last - first), np.float32)
        dequantize(scheme, strip, here, values)
        yield first, np.ascontiguousarray(values.T)
