"""The rows that a recipe quantizes: those of a stored tensor, or the values of a weight that is quantized already."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
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
from .workspace import Workspace

__all__ = ["Part", "Rows", "StoredRows", "WeightRows"]


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
class Rows(ABC):
    """A matrix, or a stack of them, that is read some rows at a time.

    Attributes
    ----------
    tensor : StoredTensor
        What is read.
    fmt : Format
        The format of the rows.
    """

    tensor: StoredTensor
    fmt: Format

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the values."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""

    @property
    @abstractmethod
    def source(self) -> str:
        """The format that is stored."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """How many bytes all stored tensors take that belong to it."""

    @property
    @abstractmethod
    def stored(self) -> tuple[int, ...]:
        """The shape in the order of memory."""

    @property
    @abstractmethod
    def is_exchanged(self) -> bool:
        """Whether the rows are columns in memory, so that each needs the whole matrix."""

    @property
    def matrix(self) -> tuple[int, int]:
        """How many rows and columns a matrix has."""
        *_, rows, columns = self.stored
        return (columns, rows) if self.is_exchanged else (rows, columns)

    @abstractmethod
    def row_bytes(self, columns: int) -> int:
        """Return how many bytes so many elements, next to each other in memory, take while they are read."""

    def cut(self, unit: int) -> RowCut:
        """Cut between rows, in multiples of `unit`; a matrix of exchanged axes is read whole, a row needs all of it."""
        *_, rows, columns = self.stored
        return RowCut(self.stored, self.row_bytes(columns), max(1, rows) if self.is_exchanged else unit)

    @abstractmethod
    def parts(self, chunk: Chunk, step: int, workspace: Workspace) -> Iterator[Part]:
        """Yield the rows of a chunk, `step` at a time; each part is valid until the next."""


@dataclass(frozen=True, slots=True)
class StoredRows(Rows):
    """A tensor of floats, cast first where there are rules for that; its axes may be exchanged."""

    rules: ElementRules | None = None
    transposed: bool = False

    @property
    def name(self) -> str:
        """The tensor's."""
        return self.tensor.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The tensor's."""
        return self.tensor.shape

    @property
    def source(self) -> str:
        """The tensor's format."""
        return self.tensor.fmt.name if self.tensor.fmt else self.tensor.type_name

    @property
    def nbytes(self) -> int:
        """The tensor's bytes."""
        return self.tensor.location.nbytes

    @property
    def stored(self) -> tuple[int, ...]:
        """The tensor's shape."""
        return self.tensor.shape

    @property
    def is_exchanged(self) -> bool:
        """Whether they are to be exchanged."""
        return self.transposed

    def row_bytes(self, columns: int) -> int:
        """Return the bytes of the tensor's elements."""
        return columns * self.fmt.code_dtype.itemsize

    def parts(self, chunk: Chunk, step: int, workspace: Workspace) -> Iterator[Part]:
        """Read some rows, or all of a matrix where they are its columns."""
        first = chunk.start // self.matrix[1]
        if self.transposed:
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


@dataclass(frozen=True, slots=True)
class WeightRows(Rows):
    """The values of a quantized weight, rounded to the format; they are never stored."""

    weight: Weight
    transposed: bool = False

    @property
    def name(self) -> str:
        """The name of the values."""
        return self.weight.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values where the weight is not quantized."""
        return self.weight.plain_shape

    @property
    def source(self) -> str:
        """The format of the codes."""
        return self.weight.scheme.code_name

    @property
    def nbytes(self) -> int:
        """The bytes of all tensors of the weight."""
        return sum(tensor.location.nbytes for tensor in self.weight.tensors)

    @property
    def stored(self) -> tuple[int, ...]:
        """The shape in the order of the codes."""
        return self.weight.shape

    @property
    def is_exchanged(self) -> bool:
        """Whether the codes have other rows than are wanted: axes that are exchanged twice are as they were."""
        return self.weight.transposed != self.transposed

    def row_bytes(self, columns: int) -> int:
        """Return the bytes of the codes where a matrix is read whole; else the values are in memory."""
        return self.weight.scheme.row_bytes(columns) if self.is_exchanged else 4 * columns

    def parts(self, chunk: Chunk, step: int, workspace: Workspace) -> Iterator[Part]:
        """Multiply the codes of a part by their scales, and round."""
        reader = workspace.rows(self.weight)
        _, count, columns = chunk.shape
        first = chunk.start // columns
        workspace.nbytes += self.weight.scheme.row_bytes(columns) * count
        if self.is_exchanged:
            for start, values in self._strips(reader.codes(first, count), reader.shared_parameters(first, count), step):
                yield self._part(chunk.start // count + start, values)
            return
        for start in range(first, first + count, step):
            here = min(step, first + count - start)
            values = workspace.arithmetic.buffer("values", np.float32, here * columns).reshape(here, columns)
            yield self._part(start, reader.read(start, here, values))

    def _part(self, first: int, values: Array) -> Part:
        codes = np.asarray(encode(values, self.fmt)).view(self.fmt.code_dtype)
        return Part(first, codes, self.fmt, values.view(np.uint32), FLOAT32)

    def _strips(self, codes: Array, parameters: Parameters, step: int) -> Iterator[tuple[int, Array]]:
        """Yield strips of columns as rows: whole groups of scales, and whole words of codes."""
        scheme, columns = self.weight.scheme, self.weight.columns
        width = scheme.grid.columns
        unit = math.lcm(width or 1, 32, step)
        for first in range(0, columns, unit):
            last = min(first + unit, columns)
            strip = np.ascontiguousarray(codes[:, scheme.row_bytes(first) : scheme.row_bytes(last)])
            here = parameters.columns(first // width, -(-last // width)) if width else parameters.columns()
            values = np.empty((len(codes), last - first), np.float32)
            dequantize(scheme, strip, here, values)
            yield first, np.ascontiguousarray(values.T)
