"""Quantizing a weight by a recipe: the arithmetic of a tool, in the tensors of a layout; one matrix after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ...ops.scales import largest_magnitudes
from ...spec.formats import Format
from ..arithmetic.chunks import Chunk
from ..containers.container import OutputTensor
from ..containers.tensors import StoredTensor
from ..layouts.output import CODES, GLOBAL_SCALE, SCALES, Output
from ..layouts.weight import Weight, fail
from ..schemes.dequantize import Parameters
from ..schemes.llm_compressor import has_nonfinite
from ..schemes.losses import add_losses
from ..schemes.scheme import Scheme
from ..schemes.tiles import ROWS as TILE_ROWS
from ..schemes.tiles import to_blocked
from ..schemes.tool import Tool
from .operation import Array, Operation, Summary
from .workspace import Workspace

__all__ = ["Quantize"]

PART = 1 << 20
"""Elements that are quantized and compared at once: they stay in a core's cache."""


@dataclass(frozen=True, slots=True)
class Quantize(Operation):
    """A weight as codes and scales.

    Attributes
    ----------
    tensor, fmt : StoredTensor, Format
        The weight, a matrix or a stack of them, and its format.
    scheme, tool : Scheme, Tool
        How it is stored, and whose arithmetic computes that.
    layout : tuple of Output
        The tensors that it becomes.
    fused : str
        What the weights have in common that share a second scale.
    transposed : bool
        Whether the last two axes are exchanged when it is quantized.
    weight : Weight, optional
        The quantized weight whose values, in float32, are quantized anew; `tensor` has its codes.
    """

    tensor: StoredTensor
    fmt: Format
    scheme: Scheme
    tool: Tool
    layout: tuple[Output, ...]
    fused: str
    transposed: bool = False
    weight: Weight | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the values."""
        return self.tensor.shape if self.weight is None else self.weight.shape

    @property
    def summary(self) -> Summary:
        """The formats; codes in words are integers of their number of bits."""
        tensor, scheme = self.tensor, self.scheme
        source, nbytes = self.fmt.name, tensor.location.nbytes
        if self.weight is not None:
            source, nbytes = self.weight.scheme.codes_name, sum(one.location.nbytes for one in self.weight.tensors)
        target = f"int{scheme.bits}" if scheme.bits else scheme.codes_name
        scale = scheme.scale.name if scheme.blocks is None else None
        return Summary(tensor.name, self.shape, source, target, scale, nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the tensors of the layout."""
        for one in self.layout:
            fmt, blocks = (one.fmt, "") if one.blocks is None else (None, one.blocks.name)
            yield OutputTensor(one.name, one.shape, fmt, one.nbytes, self.tensor, one.role, blocks=blocks)

    @property
    def _matrix(self) -> tuple[int, int]:
        """The rows and columns of a matrix as it is quantized."""
        *_, rows, columns = self.shape
        return (columns, rows) if self.transposed else (rows, columns)

    def _rows(self, elements: int) -> int:
        """Return how many rows have about so many elements, a multiple of the rows of a block or a tile of scales."""
        unit = TILE_ROWS if self.scheme.tiles else max(1, self.scheme.grid.rows)
        return max(unit, elements // self._matrix[1] // unit * unit)

    def chunks(self, nbytes: int) -> Iterator[Chunk]:
        """Cut between blocks of rows; a matrix whose axes are exchanged is read whole, since a row needs all of it."""
        *stack, length, inner = self.shape
        step = length if self.transposed else self._rows(nbytes // self.fmt.code_dtype.itemsize)
        for matrix in range(math.prod(stack)):
            for first in range(0, length, step):
                yield Chunk((matrix * length + first) * inner, (1, min(step, length - first), inner), 0)

    def chunk_bytes(self, chunk: Chunk) -> int:
        """Return the bytes of a chunk of the weight."""
        return chunk.size * self.fmt.code_dtype.itemsize

    @property
    def measured(self) -> tuple[int, ...] | None:
        """One magnitude, where a scale is for all of the tensor."""
        return None if self.tool.second_scale is None or not self._has_global_scale else ()

    @property
    def _has_global_scale(self) -> bool:
        return any(one.role == GLOBAL_SCALE for one in self.layout)

    @property
    def group(self) -> str:
        """The modules that engines fuse."""
        return self.fused

    def measure(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield the largest magnitudes of parts of a chunk."""
        for _, part in self._parts(chunk, workspace):
            yield 0, np.asarray(largest_magnitudes(part, source=self.fmt))

    def share(self, magnitudes: Array) -> np.float32:
        """Return the second scale."""
        if self.tool.second_scale is None:
            raise ValueError(f"{self.tool.name} has no second scale")
        return self.tool.second_scale(float(magnitudes), self.fmt)

    def constants(self, shared: Any) -> Iterator[tuple[int, bytes]]:
        """Yield the second scale, and what the plan knew."""
        for number, one in enumerate(self.layout):
            content = shared.tobytes() if one.role == GLOBAL_SCALE else one.content
            if content is not None:
                yield number, content

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield scales and codes of some rows at a time."""
        rows, unit = self._matrix[0], max(1, self.scheme.grid.rows)
        roles = [one.role for one in self.layout]
        for row, part in self._parts(chunk, workspace):
            found = []
            for start, piece in self._pieces(part):
                scales, codes = self.tool.quantize(piece, self.fmt, self.scheme, shared)
                self._compare(piece, codes, scales, shared, stats)
                yield roles.index(CODES), (row + start) * codes.shape[1], codes.reshape(-1)
                found.append(scales)
            if SCALES in roles:
                matrix, inside = divmod(row, rows)
                scales = np.concatenate(found)
                stored = to_blocked(scales) if self.scheme.tiles else scales
                at = (matrix * -(-rows // unit) + inside // unit) * stored[:1].nbytes
                yield roles.index(SCALES), at, stored.reshape(-1).view(np.uint8)

    def _parts(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield some rows of a chunk at a time, as they are quantized, and which row of all matrices is the first.

        Rows are unsigned codes; raise FileError if one of them is no finite number.
        """
        x = self._read(chunk, workspace)
        first, step = chunk.start // self._matrix[1], self._rows(PART)
        for start in range(0, self._matrix[0] if self.transposed else len(x), step):
            part = x[start : start + step]
            if self.transposed:
                strip = np.ascontiguousarray(x[:, start : start + step])  # dense, its columns are near each other
                part = np.ascontiguousarray(strip.T)
            if has_nonfinite(part, self.fmt):
                raise fail(self.tensor, "has a NaN or an infinity, which has no scale")
            yield first + start, part

    def _pieces(self, part: Array) -> Iterator[tuple[int, Array]]:
        """Yield what of a part is quantized at once, and its first row: rows whose scales are in one tile are many."""
        step = max(1, PART // part.shape[1]) if self.scheme.tiles else len(part)
        for start in range(0, len(part), step):
            yield start, part[start : start + step]

    def _compare(self, part: Array, codes: Array, scales: Array, shared: Any, stats: ErrorStats) -> None:
        """Count what the codes of a part lose."""
        index = np.arange(len(part)) // max(1, self.scheme.grid.rows)
        if not add_losses(stats, part, self.fmt, self.scheme, codes, Parameters(scales[index], None, shared)):
            raise fail(self.tensor, f"has numbers too large for {self.scheme.codes_name}")

    def _read(self, chunk: Chunk, workspace: Workspace) -> Array:
        """Return a chunk as rows of unsigned codes."""
        _, rows, columns = chunk.shape
        if self.weight is None:
            return workspace.load(self.tensor, chunk).codes(0, chunk.size).reshape(rows, columns)
        workspace.nbytes += self.weight.scheme.row_bytes(columns) * rows
        values = workspace.arithmetic.buffer("values", np.float32, chunk.size).reshape(rows, columns)
        return workspace.rows(self.weight).read(chunk.start // columns, rows, values).view(np.uint32)
