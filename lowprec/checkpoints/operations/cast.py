"""Casting a tensor, element by element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats
from ...spec.formats import Format
from ..chunks import ALIGNMENT, Chunk, ElementCut
from ..containers.container import OutputTensor, StoredTensor
from ..schemes.cast import ElementRules, bytes_of
from .operation import Array, Operation, Summary, Workspace

__all__ = ["Cast"]


@dataclass(frozen=True, slots=True)
class Cast(Operation):
    """A cast of all elements of a tensor; `suffix` is added to its name."""

    tensor: StoredTensor
    fmt: Format
    rules: ElementRules
    suffix: str = ""

    @property
    def summary(self) -> Summary:
        """The formats."""
        tensor = self.tensor
        return Summary(tensor.name, tensor.shape, self.fmt.name, self.rules.to.name, None, tensor.location.nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the codes."""
        tensor, to = self.tensor, self.rules.to
        nbytes = bytes_of(tensor.size, to, self.rules.packs)
        yield OutputTensor(tensor.name + self.suffix, tensor.shape, to, nbytes, tensor, "codes", self.rules)

    def part(self, name: str, first: int, count: int) -> Cast | None:
        """Return the same of some rows."""
        columns = self.tensor.shape[-1]
        tensor = self.tensor.part(name, first * columns, (count, columns))
        return None if tensor is None else replace(self, tensor=tensor)

    @property
    def cut(self) -> ElementCut:
        """Between any elements that start a byte."""
        bits = max(self.fmt.storage_bits, self.rules.to.storage_bits)
        align = ALIGNMENT if self.tensor.packed or self.rules.packs else 1
        return ElementCut((1, 1, self.tensor.size), bits, align=align)

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield the codes of a chunk."""
        source, rules = workspace.load(self.tensor, chunk), self.rules
        result = workspace.arithmetic.buffer("result", np.uint8, bytes_of(chunk.size, rules.to, rules.packs))
        workspace.arithmetic.cast(source, chunk.size, rules, result, stats, workspace.places(self.tensor, chunk))
        yield 0, bytes_of(chunk.start, rules.to, rules.packs), result
