"""FP8 codes of OCP's formats as those of MI300, or the other way, and their scales: an operation for each tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ...spec.formats import Format
from ..chunks import Chunk, ElementCut, RowCut, row_chunks
from ..containers.container import OutputTensor, StoredTensor
from ..files.errors import FileError
from ..schemes.dequantize import dequantize
from ..schemes.lossless import code_map, group_errors, multiply_scales, requantize
from ..schemes.scale_grid import Grid
from ..weights.quantized_weight import Weight
from .operation import Array, Operation, Summary, Workspace

__all__ = ["ChangeCodes", "MultiplyScales"]

PART = 1 << 18
"""Elements that are changed and compared at once: they stay in a core's cache."""

ROW = Grid(1, 0)


@dataclass(frozen=True, slots=True)
class ChangeCodes(Operation):
    """The codes of a weight in another format.

    If the other format lacks one of its numbers at the scale that it would get, all codes are rounded at the scale that
    they have instead.

    Attributes
    ----------
    weight : Weight
        The weight.
    target : Format
        The other format.
    """

    weight: Weight
    target: Format

    @property
    def tensor(self) -> StoredTensor:  # type: ignore[override]
        """The codes."""
        return self.weight.codes

    @property
    def summary(self) -> Summary:
        """The formats."""
        codes, scheme = self.weight.codes, self.weight.scheme
        names = scheme.codes.name, self.target.name, scheme.scale.name
        return Summary(codes.name, codes.shape, *names, codes.location.nbytes, is_lossless=True)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the codes under their name."""
        codes = self.weight.codes
        yield OutputTensor(codes.name, codes.shape, self.target, codes.location.nbytes, codes, "codes")

    @property
    def cut(self) -> RowCut:
        """Between rows, counted in float32."""
        return RowCut((self.weight.rows, self.weight.columns), 4 * self.weight.columns)

    @property
    def measured(self) -> tuple[int, ...] | None:
        """Whether a code has no counterpart; nothing where all have one."""
        return () if code_map(self.weight.scheme.codes, self.target).beyond.any() else None

    @property
    def group(self) -> str:
        """The codes and their scales."""
        return self.weight.codes.name

    def measure(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield 1 for a chunk with a code that has no counterpart."""
        codes = workspace.read(self.weight.codes, chunk.start, chunk.size)
        yield 0, np.asarray(float(code_map(self.weight.scheme.codes, self.target).beyond[codes].any()))

    def share(self, magnitudes: Array) -> bool:
        """Return whether the codes are rounded at the scale that they have."""
        return bool(magnitudes)

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield codes of some rows at a time; count the rows that are not exact."""
        weight, columns = self.weight, self.weight.columns
        scheme, changes = weight.scheme, code_map(weight.scheme.codes, self.target)
        reader = workspace.rows(weight)
        for part in row_chunks(chunk.shape[1:], PART, 1):
            first, count = (chunk.start + part.start) // columns, part.shape[1]
            source, parameters = reader.codes(first, count), reader.parameters(first, count)
            workspace.nbytes += source.nbytes
            if changes.nonfinite[source].any():
                raise FileError(
                    f"{ascii(weight.name)[:80]}: has a code that is no number, and is one in {self.target.name}"
                )
            codes = requantize(source, scheme.codes, self.target) if shared else changes.codes[source]
            yield 0, first * columns, codes.reshape(-1)
            scales, _ = multiply_scales(parameters.scales, scheme.scale, 1 if shared else changes.factor)
            values, back = (
                workspace.arithmetic.buffer(name, np.float32, part.size).reshape(count, columns)
                for name in ("values", "back")
            )
            dequantize(scheme, source, parameters, values)
            dequantize(replace(scheme, codes=self.target), codes, replace(parameters, scales=scales), back)
            stats.add(values.reshape(-1), back.reshape(-1))
            stats.inexact += int(np.count_nonzero(group_errors(values, back, ROW)))


@dataclass(frozen=True, slots=True)
class MultiplyScales(Operation):
    """Scales times a power of two, unless the codes that they belong to were rounded at the scales that they have.

    Attributes
    ----------
    tensor, fmt : StoredTensor, Format
        The scales and their format; bytes may be exponents.
    factor : float
        The power of two.
    codes : ChangeCodes or None
        What becomes of the codes; None for scales of other things.
    """

    tensor: StoredTensor
    fmt: Format
    factor: float
    codes: ChangeCodes | None = None
    converts = False

    @property
    def summary(self) -> Summary:
        """The tensor's own format."""
        tensor = self.tensor
        return Summary(tensor.name, tensor.shape, self.fmt.name, self.fmt.name, None, tensor.location.nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the scales under their name."""
        tensor = self.tensor
        yield OutputTensor(tensor.name, tensor.shape, tensor.fmt, tensor.location.nbytes, tensor, "scale")

    @property
    def cut(self) -> ElementCut:
        """Between any scales, counted in float64, in which products are computed."""
        return ElementCut((1, 1, self.tensor.size), 64)

    @property
    def measured(self) -> tuple[int, ...] | None:
        """As of the codes."""
        return None if self.codes is None else self.codes.measured

    @property
    def group(self) -> str:
        """The codes and their scales."""
        return "" if self.codes is None else self.codes.group

    def measure(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield nothing: it is for the codes to say."""
        workspace.read(self.tensor, chunk.start * self._width, chunk.size * self._width)
        yield from ()

    def share(self, magnitudes: Array) -> bool:
        """Return whether the scales stay."""
        return bool(magnitudes)

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield the products of a chunk."""
        content = workspace.read(self.tensor, chunk.start * self._width, chunk.size * self._width)
        if not shared:
            scales, is_exact = multiply_scales(content.view(self.fmt.code_dtype), self.fmt, self.factor)
            if not is_exact:
                name = ascii(self.tensor.name)[:80]
                raise FileError(f"{name}: has a scale of which {self.factor} times is no number in {self.fmt.name}")
            content = scales.view(np.uint8)
        yield 0, chunk.start * self._width, content

    @property
    def _width(self) -> int:
        return self.fmt.code_dtype.itemsize
