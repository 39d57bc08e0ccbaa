"""What an operation is: it makes tensors of a stored one, by chunks; what a worker lends it and a report says of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ..chunks import Chunk, Cut
from ..containers.container import OutputTensor, StoredTensor, TensorReader
from ..schemes.cast import Arithmetic, Places, SourceBytes
from ..weights.quantized_weight import Weight, WeightReader

__all__ = ["Array", "Operation", "Summary", "Workspace"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Summary:
    """What a report says of an operation.

    Attributes
    ----------
    name, shape : str, tuple of int
        Of the values, which may be stored under another name and in another shape.
    source, target : str
        The formats before and after.
    scale : str or None
        The format of the scales, before or after.
    nbytes : int
        How many bytes all stored tensors take that the operation stands for.
    scale_shape : tuple of int or None
        The shape of the scales before, where the outputs have none.
    is_lossless : bool
        Whether it is a step that keeps every value, unless the error statistics count groups that are not exact.
    """

    name: str
    shape: tuple[int, ...]
    source: str
    target: str
    scale: str | None
    nbytes: int
    scale_shape: tuple[int, ...] | None = None
    is_lossless: bool = False


class Workspace:
    """What one worker has for all operations: open files, and buffers.

    Attributes
    ----------
    reader : TensorReader
        The open files.
    arithmetic : Arithmetic
        Conversions, with buffers that are reused.
    nbytes : int
        How many bytes of tensors were read, companions not counted.
    """

    def __init__(self) -> None:
        self.reader = TensorReader()
        self.arithmetic = Arithmetic()
        self.nbytes = 0
        self._rows: WeightReader | None = None

    def close(self) -> None:
        """Close all files."""
        self.reader.close()

    def read(self, tensor: StoredTensor, start: int, nbytes: int) -> Array:
        """Return bytes of a tensor, valid until the next call."""
        buffer = self.arithmetic.buffer("source", np.uint8, nbytes)
        self.reader.read_into(buffer, tensor.location, start)
        self.nbytes += nbytes
        return buffer

    def load(self, tensor: StoredTensor, chunk: Chunk) -> SourceBytes:
        """Return the elements of a chunk, in this machine's byte order; valid until the next call."""
        if tensor.fmt is None:
            raise ValueError(f"{tensor.name} holds no numbers")
        content = self.read(tensor, tensor.bytes_of(chunk.start), tensor.bytes_of(chunk.size))
        if tensor.swapped:
            content.view(tensor.fmt.code_dtype).byteswap(inplace=True)
        return SourceBytes(content, tensor.fmt, tensor.packed)

    @staticmethod
    def places(tensor: StoredTensor, chunk: Chunk) -> Places:
        """Return where the elements of a chunk are in C order."""
        return Places(chunk.start, tensor.shape if tensor.fortran and len(tensor.shape) > 1 else ())

    def rows(self, weight: Weight) -> WeightReader:
        """Return what reads the rows of a quantized weight; the last one is kept, for the next chunk."""
        if self._rows is None or self._rows.weight != weight:
            self._rows = WeightReader(weight, self.reader)
        return self._rows


class Operation(ABC):
    """What becomes of one stored tensor: an immutable value, which every worker can carry out.

    Attributes
    ----------
    tensor : StoredTensor
        The tensor, chunk by chunk of which is read.
    converts : bool
        Whether numbers are converted, so that there are error statistics.
    """

    tensor: StoredTensor
    converts: bool = True

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """What the report says."""

    @abstractmethod
    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the tensors that are made; their numbers are their positions."""

    @property
    @abstractmethod
    def cut(self) -> Cut:
        """How the tensor is cut into chunks: what they take before or after the conversion, whichever is more."""

    @abstractmethod
    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield bytes of the outputs: the number of an output, an offset in it, and content, uint8.

        `shared` is what `share` returned. The content is valid until the next one is asked for.
        """

    @property
    def nbytes(self) -> int:
        """How many bytes one pass reads of the tensor."""
        return self.tensor.location.nbytes

    def part(self, name: str, first: int, count: int) -> Operation | None:
        """Return what makes of `count` rows of the tensor, from `first` on, a matrix under a name of its own.

        None where they cannot be read by themselves.
        """
        return None

    @property
    def held(self) -> int:
        """How many bytes stay in memory for the whole conversion."""
        return 0

    @property
    def measured(self) -> tuple[int, ...] | None:
        """The shape of what must be measured of the whole tensor first; None where one pass is enough."""
        return None

    @property
    def group(self) -> str:
        """What the operations have in common whose tensors are measured together; nothing for one by itself."""
        return ""

    def measure(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield largest magnitudes of a chunk, and the index of the first of them."""
        yield from ()

    def share(self, magnitudes: Array) -> Any:
        """Return what all chunks need, from the largest magnitudes of all tensors of the group."""
        return None

    def constants(self, shared: Any) -> Iterator[tuple[int, bytes]]:
        """Yield the numbers of outputs that no chunk writes, and their content."""
        yield from ()
