"""Dequantizing a weight chunk by chunk: rows or, where its axes are exchanged, one matrix after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...loss.error_stats import ErrorStats
from ...spec.formats import FLOAT32
from ..arithmetic.chunk_arithmetic import Arithmetic, Array, SourceBytes, bytes_of
from ..arithmetic.chunks import Chunk
from ..containers.tensors import TensorReader
from ..layouts.weight import Weight, fail
from ..layouts.weight_reader import WeightReader
from ..recipe import Recipe
from ..schemes.dequantize import Parameters, dequantize

__all__ = ["Dequantizer", "check_weight_chunks", "weight_chunks"]

PART = 1 << 18
"""Elements that are dequantized, rounded and compared at once: they stay in a core's cache."""


def weight_chunks(weight: Weight, nbytes: int) -> Iterator[Chunk]:
    """Cut a weight into chunks of about `nbytes` in float32: their first row, and a shape of one matrix.

    A weight whose axes are exchanged is cut into its matrices.
    """
    rows, columns = weight.rows, weight.columns
    if rows * columns == 0:
        return
    step = weight.shape[-2] if weight.transposed else max(1, nbytes // (4 * columns))
    for first in range(0, rows, step):
        yield Chunk(first, (1, min(step, rows - first), columns), 0)


def check_weight_chunks(weight: Weight, nbytes: int) -> None:
    """Raise FileError if a row, or a matrix whose axes are exchanged, takes more than twice `nbytes`."""
    size = weight.scheme.row_bytes(weight.columns) * weight.shape[-2] if weight.transposed else 4 * weight.columns
    if size > 2 * nbytes:
        raise fail(weight.codes, "cannot be dequantized within `max_memory`: a row or a matrix of it is too large")


class Dequantizer:
    """Dequantizes one weight.

    Parameters
    ----------
    weight : Weight
        The weight.
    reader : TensorReader
        The open files of a worker.
    arithmetic : Arithmetic
        Its arithmetic, with buffers that are reused.
    """

    def __init__(self, weight: Weight, reader: TensorReader, arithmetic: Arithmetic) -> None:
        self.weight = weight
        self._rows, self._arithmetic = WeightReader(weight, reader), arithmetic

    def convert(self, chunk: Chunk, recipe: Recipe, stats: ErrorStats) -> Iterator[tuple[int, Array]]:
        """Yield results, uint8, and the offsets of their bytes in the output."""
        _, count, columns = chunk.shape
        if self.weight.transposed:
            yield from self._exchanged(chunk, recipe, stats)
            return
        step = max(1, PART // columns)
        for first in range(chunk.start, chunk.start + count, step):
            here = min(step, chunk.start + count - first)
            values = self._buffer("values", here, columns)
            self._rows.read(first, here, values)
            yield bytes_of(first * columns, recipe.to, False), self._rounded(values, recipe, stats)

    def _exchanged(self, chunk: Chunk, recipe: Recipe, stats: ErrorStats) -> Iterator[tuple[int, Array]]:
        """Yield strips of columns as rows: the matrix is read whole, since each column needs every row of codes."""
        _, rows, columns = chunk.shape
        codes, parameters = self._rows.codes(chunk.start, rows), self._rows.parameters(chunk.start, rows)
        group = self.weight.scheme.grid.columns
        step = math.lcm(group, 2) * max(1, PART // (rows * math.lcm(group, 2)))
        bits, dtype = self.weight.scheme.codes.bits, recipe.to.code_dtype
        for first in range(0, columns, step):
            last = min(first + step, columns)
            strip = np.ascontiguousarray(codes[:, first * bits // 8 : last * bits // 8])
            scales = np.ascontiguousarray(parameters.scales[:, first // group : -(-last // group)])
            values = self._buffer("values", rows, last - first)
            dequantize(self.weight.scheme, strip, Parameters(scales), values)
            result = self._rounded(values, recipe, stats).view(dtype).reshape(rows, last - first)
            exchanged = self._arithmetic.buffer("exchanged", dtype, result.size).reshape(last - first, rows)
            exchanged[:] = result.T
            at = (chunk.start * columns + first * rows) * dtype.itemsize
            yield at, exchanged.reshape(-1).view(np.uint8)

    def _buffer(self, name: str, rows: int, columns: int) -> Array:
        return self._arithmetic.buffer(name, np.float32, rows * columns).reshape(rows, columns)

    def _rounded(self, values: Array, recipe: Recipe, stats: ErrorStats) -> Array:
        """Return values in the target's format, as bytes, and count what rounding them loses."""
        result = self._arithmetic.buffer("result", np.uint8, bytes_of(values.size, recipe.to, False))
        content = values.reshape(-1).view(np.uint8)
        self._arithmetic.cast(SourceBytes(content, FLOAT32), values.size, recipe, result, stats)
        return result
