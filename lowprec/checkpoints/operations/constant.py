"""A small tensor that planning has computed from a stored one, and writes in its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...loss.error_stats import ErrorStats
from ...spec.formats import Format
from ..chunks import Chunk, ElementCut
from ..containers.container import OutputTensor, StoredTensor
from .operation import Array, Operation, Summary
from .workspace import Workspace

__all__ = ["Constant"]


@dataclass(frozen=True, slots=True)
class Constant(Operation):
    """A tensor with known content.

    Attributes
    ----------
    tensor : StoredTensor
        The tensor in whose place it stands.
    name, fmt, shape : str, Format, tuple of int
        Its own.
    content : bytes
        Its elements, little-endian.
    """

    tensor: StoredTensor
    name: str
    fmt: Format
    shape: tuple[int, ...]
    content: bytes
    converts = False

    @property
    def summary(self) -> Summary:
        """The types before and after."""
        tensor = self.tensor
        source = tensor.fmt.name if tensor.fmt else tensor.type_name
        return Summary(tensor.name, tensor.shape, source, self.fmt.name, None, tensor.location.nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the tensor."""
        yield OutputTensor(self.name, self.shape, self.fmt, len(self.content), self.tensor, "kept")

    @property
    def cut(self) -> ElementCut:
        """Into no chunks: nothing more is read."""
        return ElementCut((0, 0, 0), 8)

    @property
    def nbytes(self) -> int:
        """Nothing is read."""
        return 0

    def constants(self, shared: Any) -> Iterator[tuple[int, bytes]]:
        """Yield the content."""
        yield 0, self.content

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield nothing."""
        yield from ()
