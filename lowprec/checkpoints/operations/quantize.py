"""Quantizing a weight by a recipe: the arithmetic of a tool, in the tensors of a layout; one matrix after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ..chunks import Chunk, RowCut
from ..containers.container import OutputTensor, StoredTensor
from ..files.errors import FileError
from ..schemes.absmax import NotFiniteError, largest_magnitude
from ..schemes.dequantize import Parameters, add_losses
from ..schemes.packing import ROWS as TILE_ROWS
from ..schemes.packing import to_blocked
from ..schemes.scheme import Scheme, Tool
from ..weights.engine_interface import CODES, GLOBAL_SCALE, SCALES, Output
from ..weights.quantized_weight import fail
from .operation import Array, Operation, Summary, Workspace
from .rows import Part, Rows

__all__ = ["Quantize"]

PART = 1 << 20
"""Elements that are read, quantized and compared at once: between compiled loops, threads wait for the interpreter."""


@dataclass(frozen=True, slots=True)
class Quantize(Operation):
    """A weight as codes and scales.

    Attributes
    ----------
    rows : Rows
        The weight, a matrix or a stack of them.
    scheme, tool : Scheme, Tool
        How it is stored, and whose arithmetic computes that.
    layout : tuple of Output
        The tensors that it becomes.
    fused : str
        What the weights have in common that share a second scale.
    """

    rows: Rows
    scheme: Scheme
    tool: Tool
    layout: tuple[Output, ...]
    fused: str

    @property
    def tensor(self) -> StoredTensor:  # type: ignore[override]
        """The tensor that is read."""
        return self.rows.tensor

    @property
    def summary(self) -> Summary:
        """The formats; codes in words are integers of their number of bits."""
        rows, scheme = self.rows, self.scheme
        scale = scheme.scale.name if scheme.blocks is None else None
        return Summary(rows.name, rows.shape, rows.source, scheme.code_name, scale, rows.nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the tensors of the layout."""
        for one in self.layout:
            fmt, blocks = (one.fmt, "") if one.blocks is None else (None, one.blocks.name)
            yield OutputTensor(one.name, one.shape, fmt, one.nbytes, self.tensor, one.role, blocks=blocks)

    @property
    def _unit(self) -> int:
        """Between how many rows alone the matrix is cut: those of a block, or of a tile of scales."""
        return TILE_ROWS if self.scheme.tiles else self.scheme.grid.unit

    def _rows(self, elements: int) -> int:
        """Return how many rows have about so many elements, a multiple of the unit."""
        return max(self._unit, elements // self.rows.matrix[1] // self._unit * self._unit)

    @property
    def cut(self) -> RowCut:
        """Between blocks of rows."""
        return self.rows.cut(self._unit)

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
        for part in self._parts(chunk, workspace):
            with self._named():
                yield 0, np.asarray(largest_magnitude(part.codes, part.fmt))

    def share(self, magnitudes: Array) -> np.float32:
        """Return the second scale."""
        if self.tool.second_scale is None:
            raise ValueError(f"{self.tool.name} has no second scale")
        return self.tool.second_scale(float(magnitudes), self.rows.fmt)

    def constants(self, shared: Any) -> Iterator[tuple[int, bytes]]:
        """Yield the second scale, and what the plan knew."""
        for number, one in enumerate(self.layout):
            content = shared.tobytes() if one.role == GLOBAL_SCALE else one.content
            if content is not None:
                yield number, content

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield codes of some rows at a time, then the scales of all."""
        rows, unit = self.rows.matrix[0], self.scheme.grid.unit
        roles = [one.role for one in self.layout]
        found, first = [], -1
        for part in self._parts(chunk, workspace):
            first = part.first if first < 0 else first
            for piece in self._pieces(part):
                scales, codes = self._quantized(piece, shared)
                self._compare(piece, codes, scales, shared, stats)
                yield roles.index(CODES), piece.first * codes.shape[1], codes.reshape(-1)
                found.append(scales)
        if SCALES in roles and found:
            matrix, inside = divmod(first, rows)
            scales = np.concatenate(found)
            stored = to_blocked(scales) if self.scheme.tiles else scales
            at = (matrix * -(-rows // unit) + inside // unit) * stored[:1].nbytes
            yield roles.index(SCALES), at, stored.reshape(-1).view(np.uint8)

    def _quantized(self, part: Part, shared: Any) -> tuple[Array, Array]:
        with self._named():
            if self.scheme.blocks is not None:  # elsewhere whoever computes a scale looks at every element
                largest_magnitude(part.codes, part.fmt)
            return self.tool.quantize(part.codes, part.fmt, self.scheme, shared)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Raise FileError if an element is no finite number."""
        try:
            yield
        except NotFiniteError:
            name = ascii(self.rows.name)[:80]
            raise FileError(f"{name}: has a NaN or an infinity, which has no scale") from None

    def _pieces(self, part: Part) -> Iterator[Part]:
        """Yield what of a part is quantized at once: rows whose scales are in one tile are many."""
        count = len(part.codes)
        step = max(1, PART // part.codes.shape[1]) if self.scheme.tiles else count
        for start in range(0, count, step):
            yield part.piece(start, start + step)

    def _compare(self, part: Part, codes: Array, scales: Array, shared: Any, stats: ErrorStats) -> None:
        """Count what the codes of a part lose."""
        parameters = Parameters(scales[np.arange(len(codes)) // self.scheme.grid.unit], None, shared)
        if not add_losses(stats, part.values, part.values_fmt, self.scheme, codes, parameters):
            raise fail(self.tensor, f"has numbers too large for {self.scheme.code_name}")

    def _parts(self, chunk: Chunk, workspace: Workspace) -> Iterator[Part]:
        """Return the rows of a chunk, some at a time."""
        return self.rows.parts(chunk, self._rows(PART), workspace)
