"""A lossless step from one scheme to another, chunk by chunk, and the proof of that in each group of a scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ..chunks import Chunk, RowCut, row_chunks
from ..containers.container import OutputTensor, StoredTensor
from ..files.errors import FileError
from ..schemes.dequantize import Parameters, dequantize
from ..schemes.lossless import STEPS, LosslessStep, ScaleError, group_errors
from ..schemes.scheme import Scheme
from ..weights.engine_interface import CODES, SCALES, Output
from ..weights.quantized_weight import Weight, fail
from .operation import Array, Operation, Summary, Workspace
from .rows import Rows

__all__ = ["Lossless", "find_step"]

PART = 1 << 18
"""Elements that are converted and compared at once: they stay in a core's cache."""


@dataclass(frozen=True, slots=True)
class Lossless(Operation):
    """A quantized weight in another scheme.

    Attributes
    ----------
    weight : Weight
        The weight, a matrix or a stack of them.
    scheme : Scheme
        How it is stored then.
    layout : tuple of Output
        The tensors that it becomes.
    step : LosslessStep
        How.
    """

    weight: Weight
    scheme: Scheme
    layout: tuple[Output, ...]
    step: LosslessStep

    @property
    def tensor(self) -> StoredTensor:  # type: ignore[override]
        """The tensor with the codes."""
        return self.weight.codes

    @property
    def summary(self) -> Summary:
        """The formats, and all tensors of the weight."""
        weight, scheme = self.weight, self.scheme
        names = weight.scheme.code_name, scheme.code_name, scheme.scale.name
        return Summary(weight.name, weight.plain_shape, *names, weight.nbytes, is_lossless=True)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the tensors of the layout."""
        for one in self.layout:
            nbytes = math.prod(one.shape) * one.fmt.storage_bits // 8
            yield OutputTensor(one.name, one.shape, one.fmt, nbytes, self.tensor, one.role)

    @property
    def cut(self) -> RowCut:
        """Between rows that share a scale, counted in float32."""
        return RowCut(self.weight.shape, 4 * self.weight.columns, self.scheme.grid.unit)

    def constants(self, shared: Any) -> Iterator[tuple[int, bytes]]:
        """Yield what the plan knew."""
        for number, one in enumerate(self.layout):
            if one.content is not None:
                yield number, one.content

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield scales and codes of some rows at a time; count the groups that are not exact."""
        weight, scheme, columns = self.weight, self.scheme, self.weight.columns
        numbers = {one.role: number for number, one in enumerate(self.layout)}
        reader, rows = workspace.rows(weight), weight.shape[-2]
        high = scheme.grid.rows or rows
        for part in row_chunks((1, *chunk.shape[1:]), PART, scheme.grid.unit):
            first, count = (chunk.start + part.start) // columns, part.shape[1]
            source, parameters = reader.codes(first, count), reader.parameters(first, count)
            workspace.nbytes += source.nbytes
            values, back = (
                workspace.arithmetic.buffer(name, np.float32, part.size).reshape(count, columns)
                for name in ("values", "back")
            )
            dequantize(weight.scheme, source, parameters, values)
            if not np.isfinite(values).all():
                raise FileError(f"{ascii(weight.name)[:80]}: has a NaN or an infinity, which has no scale")
            try:
                scales, codes = self.step.convert(source, parameters.scales, values, weight.scheme, scheme)
            except ScaleError as error:
                raise fail(weight.scales or self.tensor, str(error)) from None
            yield numbers[CODES], first * codes.shape[1], codes.reshape(-1)
            matrix, inside = divmod(first, rows)
            at = (matrix * -(-rows // high) + inside // high) * scales[:1].nbytes
            yield numbers[SCALES], at, np.ascontiguousarray(scales).reshape(-1).view(np.uint8)
            dequantize(scheme, codes, Parameters(scales[np.arange(count) // high]), back)
            stats.add(values.reshape(-1), back.reshape(-1))
            stats.inexact += int(np.count_nonzero(group_errors(values, back, scheme.grid)))


def find_step(weight: Weight, rows: Rows, scheme: Scheme, layout: tuple[Output, ...]) -> Lossless | None:
    """Return the operation by which a weight gets a scheme; None where its values must be quantized again."""
    computed = {one.role for one in layout if one.content is None}
    is_more = any(one is not None for one in (weight.global_scale, weight.zero_points, weight.groups))
    if weight.scales is None or rows.is_exchanged or is_more or scheme.tiles or computed != {CODES, SCALES}:
        return None
    step = next((one for one in STEPS if one.fits(weight.scheme, scheme, rows.matrix)), None)
    return None if step is None else Lossless(weight, scheme, layout, step)
