"""Tensors that are written as they are: copies, scales only where an engine can divide by them, and constants."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ...loss.error_stats import ErrorStats
from ...spec.formats import Format
from ..chunks import ALIGNMENT, Chunk, ElementCut
from ..containers.container import OutputTensor, StoredTensor
from ..weights.quantized_weight import fail
from .operation import Array, Operation, Summary, Workspace

__all__ = ["Constant", "Copy", "CopyScales"]


@dataclass(frozen=True, slots=True)
class Copy(Operation):
    """A copy of a tensor, under another name if one is given; its chunks are counted in bytes."""

    tensor: StoredTensor
    name: str = ""
    converts = False

    @property
    def summary(self) -> Summary:
        """The tensor's own type."""
        tensor = self.tensor
        fmt = tensor.fmt.name if tensor.fmt else tensor.type_name
        return Summary(tensor.name, tensor.shape, fmt, fmt, None, tensor.location.nbytes)

    def outputs(self) -> Iterator[OutputTensor]:
        """Yield the copy."""
        tensor = self.tensor
        name, nbytes = self.name or tensor.name, tensor.location.nbytes
        yield OutputTensor(name, tensor.shape, tensor.fmt, nbytes, tensor, "kept", axis=tensor.axis, block=tensor.block)

    def part(self, name: str, first: int, count: int) -> Copy | None:
        """Return the same of some rows."""
        columns = self.tensor.shape[-1]
        tensor = self.tensor.part(name, first * columns, (count, columns))
        return None if tensor is None else replace(self, tensor=tensor)

    @property
    def cut(self) -> ElementCut:
        """Between any bytes."""
        return ElementCut((1, 1, self.tensor.location.nbytes), 8, align=ALIGNMENT)

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield the bytes."""
        yield 0, chunk.start, workspace.read(self.tensor, chunk.start, chunk.size)


@dataclass(frozen=True, slots=True)
class CopyScales(Copy):
    """A copy of scales of one byte, the signed ones of which are refused, NaN and infinities."""

    def convert(
        self, chunk: Chunk, workspace: Workspace, shared: Any, stats: ErrorStats
    ) -> Iterator[tuple[int, int, Array]]:
        """Yield the bytes; raise FileError for what no engine can divide by, as reading the values does."""
        fmt, content = self.tensor.fmt, workspace.read(self.tensor, chunk.start, chunk.size)
        if fmt is not None and content.size and int(content.max()) > fmt.max_code:
            raise fail(self.tensor, "has a scale that is NaN, infinite or negative")
        yield 0, chunk.start, content


@dataclass(frozen=True, slots=True)
class Constant(Operation):
    """A small tensor that planning has computed from a stored one, and writes in its place.

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
