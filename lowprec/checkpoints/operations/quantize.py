"""Quantizing a weight by a recipe: the arithmetic of a tool, in the tensors of a layout; one matrix after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats, count_beyond
from ...ops.codes import decode
from ...ops.scales import largest_magnitudes
from ...spec.formats import FLOAT32, Format
from ..arithmetic.chunks import Chunk
from ..containers.container import OutputTensor
from ..containers.tensors import StoredTensor
from ..files.errors import FileError
from ..layouts.output import CODES, GLOBAL_SCALE, SCALES, Output
from ..schemes.dequantize import Parameters, dequantize
from ..schemes.llm_compressor import code_format, has_nonfinite
from ..schemes.scheme import Scheme
from ..schemes.tiles import ROWS as TILE_ROWS
from ..schemes.tiles import to_blocked
from ..schemes.tool import Tool
from .operation import Array, Operation, Summary
from .workspace import Workspace

__all__ = ["Quantize"]

PART = 1 << 18
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
    """

    tensor: StoredTensor
    fmt: Format
    scheme: Scheme
    tool: Tool
    layout: tuple[Output, ...]
    fused: str
    transposed: bool = False

    @property
    def summary(self) -> Summary:
        """The formats; codes in words are integers of their number of bits."""
        tensor, scheme = self.tensor, self.scheme
        target = f"int{scheme.bits}" if scheme.bits else scheme.codes.name
        return Summary(tensor.name, tensor.shape, self.fmt.name, target, scheme.scale.name, tensor.location.nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the tensors of the layout."""
        for one in self.layout:
            nbytes = math.prod(one.shape) * one.fmt.storage_bits // 8
            yield OutputTensor(one.name, one.shape, one.fmt, nbytes, self.tensor, one.role)

    @property
    def _matrix(self) -> tuple[int, int]:
        """The rows and columns of a matrix as it is quantized."""
        *_, rows, columns = self.tensor.shape
        return (columns, rows) if self.transposed else (rows, columns)

    def _rows(self, elements: int) -> int:
        """Return how many rows have about so many elements, a multiple of the rows of a block or a tile of scales."""
        unit = TILE_ROWS if self.scheme.tiles else max(1, self.scheme.grid.rows)
        return max(unit, elements // self._matrix[1] // unit * unit)

    def chunks(self, nbytes: int) -> Iterator[Chunk]:
        """Cut between blocks of rows; a matrix whose axes are exchanged is read whole, since a row needs all of it."""
        *_, length, inner = self.tensor.shape
        step = length if self.transposed else self._rows(nbytes // self.fmt.code_dtype.itemsize)
        for matrix in range(math.prod(self.tensor.shape[:-2])):
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
        """Yield the largest magnitude of a chunk."""
        yield 0, np.asarray(largest_magnitudes(self._codes(chunk, workspace), source=self.fmt))

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
                yield roles.index(CODES), (row + start) * codes.shape[1], codes.reshape(-1)
                self._compare(piece, codes, scales, shared, workspace, stats)
                found.append(scales)
            if SCALES in roles:
                matrix, inside = divmod(row, rows)
                scales = np.concatenate(found)
                stored = to_blocked(scales) if self.scheme.tiles else scales
                at = (matrix * -(-rows // unit) + inside // unit) * stored[:1].nbytes
                yield roles.index(SCALES), at, stored.reshape(-1).view(np.uint8)

    def _parts(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield some rows of a chunk at a time, as they are quantized, and which row of all matrices is the first."""
        x = self._codes(chunk, workspace)
        first, step = chunk.start // self._matrix[1], self._rows(PART)
        if self.transposed:
            for start in range(0, x.shape[1], step):
                strip = np.ascontiguousarray(x[:, start : start + step])  # dense, its columns are near each other
                yield first + start, np.ascontiguousarray(strip.T)
            return
        for start in range(0, len(x), step):
            yield first + start, x[start : start + step]

    def _pieces(self, part: Array) -> Iterator[tuple[int, Array]]:
        """Yield what of a part is quantized at once, and its first row: rows whose scales are in one tile are many."""
        step = max(1, PART // part.shape[1]) if self.scheme.tiles else len(part)
        for start in range(0, len(part), step):
            yield start, part[start : start + step]

    def _compare(
        self, part: Array, codes: Array, scales: Array, shared: Any, workspace: Workspace, stats: ErrorStats
    ) -> None:
        """Count what the codes of a part lose."""
        step, unit = max(1, PART // part.shape[1]), max(1, self.scheme.grid.rows)
        index = np.arange(len(part)) // unit
        for start in range(0, len(part), step):
            x = part[start : start + step]
            values = x.view(np.float32) if self.fmt == FLOAT32 else np.asarray(decode(x, self.fmt, to=np.float32))
            back = workspace.arithmetic.buffer("back", np.float32, x.size).reshape(x.shape)
            parameters = Parameters(scales[index[start : start + step]], None, shared)
            dequantize(self.scheme, codes[start : start + step], parameters, back)
            stats.add(values.reshape(-1), back.reshape(-1))
            stats.saturated += _saturated(values, self.scheme, parameters)

    def _codes(self, chunk: Chunk, workspace: Workspace) -> Array:
        """Return a chunk as rows of unsigned codes; raise FileError if one of them is no finite number."""
        codes = workspace.load(self.tensor, chunk).codes(0, chunk.size).reshape(chunk.shape[1:])
        if has_nonfinite(codes, self.fmt):
            raise FileError(f"{ascii(self.tensor.name)[:80]}: has a NaN or an infinity, which has no scale")
        return codes


def _saturated(values: Array, scheme: Scheme, parameters: Parameters) -> int:
    """Return how many elements round beyond the range of the codes."""
    scales, fmt = parameters.factors(scheme)
    factors = np.asarray(decode(scales, fmt, to=np.float32))
    columns = values.shape[1]
    if factors.shape[1] > 1:
        factors = np.repeat(factors, scheme.grid.columns, axis=1)[:, :columns]
    with np.errstate(all="ignore"):
        ratio = (values / factors).reshape(-1)
    largest = float(np.abs(ratio).max(initial=0))
    return count_beyond(ratio, code_format(scheme), nearest=True, peak=largest if math.isfinite(largest) else math.inf)
