"""Quantizing a tensor as QuantizeLinear does, with new scales for the whole of it, an axis or blocks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ...spec.formats import Format
from ...spec.packing import packed_bytes
from ..chunks import ALIGNMENT, Chunk, ElementCut
from ..containers.container import OutputTensor, StoredTensor
from ..schemes.cast import ElementRules, bytes_of
from ..schemes.scale_grid import SCALE_SUFFIX, ScaleRequest
from .operation import Array, Operation, Summary, Workspace

__all__ = ["Scale"]

MEASURED_BYTES = 16
"""What a scale takes while it is found: a largest magnitude in float64, its code and copies of them."""

SMALLEST_SLICE, LARGEST_SLICE = 64, 1 << 18
"""Elements that have one scale of an axis and are read once, not twice: scales take little next to them."""


@dataclass(frozen=True, slots=True)
class Scale(Operation):
    """A quantization of a tensor; the codes come first, then the scales."""

    tensor: StoredTensor
    fmt: Format
    rules: ElementRules
    scaling: ScaleRequest
    suffix: str = ""

    @property
    def summary(self) -> Summary:
        """The formats."""
        tensor = self.tensor
        return Summary(
            tensor.name, tensor.shape, self.fmt.name, self.rules.to.name, self.scaling.fmt.name, tensor.location.nbytes
        )

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the codes and the scales."""
        tensor, to, fmt = self.tensor, self.rules.to, self.scaling.fmt
        nbytes = bytes_of(tensor.size, to, self.rules.packs)
        yield OutputTensor(tensor.name + self.suffix, tensor.shape, to, nbytes, tensor, "codes", self.rules)
        shape = self.scaling.scale_shape(tensor.shape)
        nbytes = packed_bytes(int(np.prod(shape, dtype=object)), fmt)
        axis = None if self.scaling.block_size else self.scaling.axis
        axis = None if axis is None else axis % len(tensor.shape)
        yield OutputTensor(tensor.name + SCALE_SUFFIX, shape, fmt, nbytes, tensor, "scale", self.rules, axis)

    @property
    def cut(self) -> ElementCut:
        """Between scales, counted in the wider format."""
        bits = max(self.fmt.storage_bits, self.rules.to.storage_bits)
        align = ALIGNMENT if self.tensor.packed or self.rules.packs else 1
        view = self.rules.view(self.tensor.shape, self.tensor.fortran)
        return ElementCut(view, bits, self.rules.unit, align, self._slice)

    @property
    def _slice(self) -> int:
        """How many elements have one scale of an axis, where they follow each other and a chunk can have them; or 0."""
        outer, _, inner = self.rules.view(self.tensor.shape, self.tensor.fortran)
        fits = outer == 1 and SMALLEST_SLICE <= inner <= LARGEST_SLICE
        return inner if self.scaling.axis is not None and fits else 0

    @property
    def held(self) -> int:
        """The scales of the whole tensor, where blocks do not have theirs."""
        return 0 if self.measured is None else MEASURED_BYTES * int(np.prod(self.measured, dtype=object))

    @property
    def measured(self) -> tuple[int, ...] | None:
        """The scales' shape, unless what shares one is measured when it is quantized."""
        alone = self.scaling.block_size or self._slice
        return None if alone else self.scaling.scale_shape(self.tensor.shape)

    def measure(self, chunk: Chunk, workspace: Workspace) -> Iterator[tuple[int, Array]]:
        """Yield the largest magnitudes of parts of a chunk."""
        return workspace.arithmetic.absmax(workspace.load(self.tensor, chunk), chunk, self.scaling)

    def share(self, magnitudes: Array) -> Array:
        """Return the codes of the scales."""
        return self.scaling.scale_codes(magnitudes, self.rules.to)

    def constants(self, shared: Any) -> Iterator[tuple[int, bytes]]:
        """Yield the scales that no chunk has."""
        if shared is not None:
            yield 1, shared.tobytes()

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield the scales that the chunk has, and the codes."""
        source, rules, tensor = workspace.load(self.tensor, chunk), self.rules, self.tensor
        result = workspace.arithmetic.buffer("result", np.uint8, bytes_of(chunk.size, rules.to, rules.packs))
        places = workspace.places(tensor, chunk)
        scales = workspace.arithmetic.quantize(source, chunk, rules, shared, result, stats, places)
        if shared is None:
            length, size = rules.view(tensor.shape, tensor.fortran)[1], rules.unit
            first = chunk.first if self._slice else chunk.start // length * -(-length // size) + chunk.first // size
            yield 1, first * scales.itemsize, scales.view(np.uint8)
        yield 0, bytes_of(chunk.start, rules.to, rules.packs), result
