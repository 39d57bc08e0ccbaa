"""The rows that a recipe quantizes: those of a stored tensor, or the values of a weight that is quantized already."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...loss.error_stats import ErrorStats
from ...ops.codes import encode
from ...spec.formats import FLOAT32, Format
from ..arithmetic.chunk_arithmetic import Array, bytes_of
from ..arithmetic.chunks import Chunk
from ..containers.tensors import StoredTensor
from ..element_rules import ElementRules
from ..layouts.weight import Weight
from .workspace import Workspace

__all__ = ["Part", "Rows", "StoredRows", "WeightRows"]


class Part(NamedTuple):
    """Some rows.

    Attributes
    ----------
    first : int
        The number of the first one.
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


@dataclass(frozen=True, slots=True)
class Rows(ABC):
    """A matrix that is read some rows at a time.

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
    def name(self) -> str:
        """The name of the matrix."""
        return self.tensor.name

    @property
    def shape(self) -> tuple[int, ...]:
        """Its rows and columns."""
        return self.tensor.shape

    @property
    def source(self) -> str:
        """The format that is stored."""
        return self.tensor.fmt.name if self.tensor.fmt else self.tensor.type_name

    @property
    def nbytes(self) -> int:
        """How many bytes all stored tensors take that belong to it."""
        return self.tensor.location.nbytes

    @property
    def width(self) -> int:
        """How many bytes an element takes while it is read."""
        return self.fmt.code_dtype.itemsize

    @abstractmethod
    def parts(self, first: int, count: int, step: int, workspace: Workspace) -> Iterator[Part]:
        """Yield so many rows from the first on, `step` at a time; each part is valid until the next."""


@dataclass(frozen=True, slots=True)
class StoredRows(Rows):
    """A tensor of floats, cast first where there are rules for that."""

    rules: ElementRules | None = None

    def parts(self, first: int, count: int, step: int, workspace: Workspace) -> Iterator[Part]:
        """Read all rows at once."""
        columns = self.shape[1]
        chunk = Chunk(first * columns, (1, count, columns), 0)
        source = workspace.load(self.tensor, chunk)
        if self.rules is None:
            codes = source.codes(0, chunk.size)
        else:
            content = workspace.arithmetic.buffer("cast", np.uint8, bytes_of(chunk.size, self.fmt, False))
            workspace.arithmetic.cast(source, chunk.size, self.rules, content, ErrorStats())
            codes = content.view(self.fmt.code_dtype)
        rows = codes.reshape(count, columns)
        for start in range(0, count, step):
            part = rows[start : start + step]
            yield Part(first + start, part, self.fmt, part, self.fmt)


@dataclass(frozen=True, slots=True)
class WeightRows(Rows):
    """The values of a quantized weight, rounded to the format; they are never stored."""

    weight: Weight

    @property
    def name(self) -> str:
        """The name of the values."""
        return self.weight.name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.weight.shape

    @property
    def source(self) -> str:
        """The format of the codes."""
        return self.weight.scheme.code_name

    @property
    def nbytes(self) -> int:
        """The bytes of all tensors of the weight."""
        return sum(tensor.location.nbytes for tensor in self.weight.tensors)

    @property
    def width(self) -> int:
        """The bytes of a value."""
        return 4

    def parts(self, first: int, count: int, step: int, workspace: Workspace) -> Iterator[Part]:
        """Read the codes of a part, multiply them by their scales and round."""
        rows, columns = workspace.rows(self.weight), self.shape[1]
        for start in range(first, first + count, step):
            here = min(step, first + count - start)
            values = workspace.arithmetic.buffer("values", np.float32, here * columns).reshape(here, columns)
            rows.read(start, here, values)
            workspace.nbytes += self.weight.scheme.row_bytes(columns) * here
            codes = np.asarray(encode(values, self.fmt)).view(self.fmt.code_dtype)
            yield Part(start, codes, self.fmt, values.view(np.uint32), FLOAT32)
