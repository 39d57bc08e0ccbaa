"""Dequantizing a weight: rows or, where its axes are exchanged, one matrix after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ...spec.formats import FLOAT32
from ..chunks import Chunk, RowCut
from ..containers.container import OutputTensor, StoredTensor
from ..schemes.cast import ElementRules, Places, SourceBytes, bytes_of
from ..schemes.dequantize import dequantize
from ..weights.quantized_weight import Weight
from .operation import Array, Operation, Summary, Workspace

__all__ = ["Dequantize"]

PART = 1 << 18
"""Elements that are dequantized, rounded and compared at once: they stay in a core's cache."""

_FIRST = Places()


@dataclass(frozen=True, slots=True)
class Dequantize(Operation):
    """The values of a quantized weight, cast to a format."""

    weight: Weight
    rules: ElementRules

    @property
    def tensor(self) -> StoredTensor:  # type: ignore[override]
        """The tensor with the codes."""
        return self.weight.codes

    @property
    def summary(self) -> Summary:
        """The formats of codes and scales, and all tensors of the weight."""
        weight, scales = self.weight, self.weight.scales
        source = weight.scheme.code_name
        scale, shape = (None, None) if scales is None else (weight.scheme.scale.name, scales.shape)
        return Summary(weight.name, weight.plain_shape, source, self.rules.to.name, scale, weight.nbytes, shape)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the values."""
        weight, to = self.weight, self.rules.to
        nbytes = bytes_of(weight.rows * weight.columns, to, False)
        yield OutputTensor(weight.name, weight.plain_shape, to, nbytes, self.tensor, "codes", self.rules)

    def part(self, name: str, first: int, count: int) -> Dequantize | None:
        """Return the same of some rows, if they have scales of their own."""
        weight = self.weight.part(name, first, count)
        return None if weight is None else replace(self, weight=weight)

    @property
    def cut(self) -> RowCut:
        """Between rows, counted in float32, or between matrices, counted as codes."""
        weight, columns = self.weight, self.weight.columns
        if weight.transposed:
            return RowCut(weight.shape, weight.scheme.row_bytes(columns), max(1, weight.shape[-2]))
        return RowCut((weight.rows, columns), 4 * columns)

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield the values of a chunk, as rows or as strips of columns."""
        _, count, columns = chunk.shape
        start = chunk.start // columns
        workspace.nbytes += self.weight.scheme.row_bytes(columns) * count
        if self.weight.transposed:
            yield from self._exchanged(chunk, workspace, stats)
            return
        rows, step = workspace.rows(self.weight), max(1, PART // columns)
        for first in range(start, start + count, step):
            here = min(step, start + count - first)
            values = _values(workspace, here, columns)
            rows.read(first, here, values)
            result = self._rounded(values, workspace, stats, Places(first * columns))
            yield 0, bytes_of(first * columns, self.rules.to, False), result

    def _exchanged(self, chunk: Chunk, workspace: Workspace, stats: ErrorStats) -> Iterator[tuple[int, int, Array]]:
        """Yield strips of columns as rows: the matrix is read whole, since each column needs every row of codes."""
        _, rows, columns = chunk.shape
        reader, scheme = workspace.rows(self.weight), self.weight.scheme
        row = chunk.start // columns
        codes, parameters = reader.codes(row, rows), reader.shared_parameters(row, rows)
        group, dtype = scheme.grid.columns, self.rules.to.code_dtype
        unit = math.lcm(group, 32)  # whole groups of scales, and whole words of codes
        step = unit * max(1, PART // (rows * unit))
        for first in range(0, columns, step):
            last = min(first + step, columns)
            strip = np.ascontiguousarray(codes[:, scheme.row_bytes(first) : scheme.row_bytes(last)])
            values = _values(workspace, rows, last - first)
            dequantize(scheme, strip, parameters.columns(first // group, -(-last // group)), values)
            start = chunk.start + first * rows
            if self.rules.is_random:  # the random numbers go by the order of the result
                strip = _exchange(values, workspace)
                yield 0, start * dtype.itemsize, self._rounded(strip, workspace, stats, Places(start))
                continue
            result = self._rounded(values, workspace, stats).view(dtype).reshape(rows, last - first)
            yield 0, start * dtype.itemsize, _exchange(result, workspace).reshape(-1).view(np.uint8)

    def _rounded(self, values: Array, workspace: Workspace, stats: ErrorStats, places: Places = _FIRST) -> Array:
        """Return values in the target's format, as bytes, and count what rounding them loses."""
        result = workspace.arithmetic.buffer("result", np.uint8, bytes_of(values.size, self.rules.to, False))
        content = values.reshape(-1).view(np.uint8)
        workspace.arithmetic.cast(SourceBytes(content, FLOAT32), values.size, self.rules, result, stats, places)
        return result


def _exchange(matrix: Array, workspace: Workspace) -> Array:
    """Return a matrix with its axes exchanged."""
    exchanged = workspace.arithmetic.buffer("exchanged", matrix.dtype, matrix.size).reshape(matrix.shape[::-1])
    exchanged[:] = matrix.T
    return exchanged


def _values(workspace: Workspace, rows: int, columns: int) -> Array:
    return workspace.arithmetic.buffer("values", np.float32, rows * columns).reshape(rows, columns)
