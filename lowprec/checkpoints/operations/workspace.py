"""What one worker has for all operations: open files, buffers, and a count of the bytes that were read."""

from __future__ import annotations

import numpy as np

from ..chunks import Chunk
from ..containers.container import StoredTensor, TensorReader
from ..schemes.cast import Arithmetic, Array, Places, SourceBytes
from ..weights.quantized_weight import Weight, WeightReader

__all__ = ["Workspace"]


class Workspace:
    """Files and buffers of one worker.

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
