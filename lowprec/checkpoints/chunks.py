"""A tensor cut into chunks: whole bytes and whole groups of what shares a scale, or whole rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["ALIGNMENT", "Chunk", "Cut", "ElementCut", "RowCut", "row_chunks", "split_chunks"]


ALIGNMENT = 8
"""So many elements are whole bytes in every packed format."""


class Chunk(NamedTuple):
    """A chunk: its first element, its shape, and the index of its first element along the middle axis."""

    start: int
    shape: tuple[int, int, int]
    first: int

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)


def split_chunks(shape: tuple[int, int, int], most: int, unit: int = 1, align: int = ALIGNMENT) -> Iterator[Chunk]:
    """Cut a shape of three axes, in C order, into chunks of about `most` elements or fewer.

    A chunk has all of the axes after the first one that it cuts, so its elements are contiguous. The middle axis is cut
    between groups of `unit` alone. Every chunk starts at a multiple of `align`, a power of two; where no finer cut
    does, chunks are larger than `most`.
    """
    outer, length, inner = shape
    slab = length * inner
    if slab == 0 or outer == 0:
        return
    row = _step(max(1, most // inner), math.lcm(unit, align // math.gcd(inner, align)))
    if slab <= most or (outer > 1 and slab % align) or (row >= length and inner <= most):
        step = _step(max(1, most // slab), align // math.gcd(slab, align))
        for o in range(0, outer, step):
            yield Chunk(o * slab, (min(step, outer - o), length, inner), 0)
    elif inner <= most or unit > 1 or (length > 1 and inner % align):
        for o in range(outer):
            for d in range(0, length, row):
                yield Chunk(o * slab + d * inner, (1, min(row, length - d), inner), d)
    else:
        step = _step(most, align)
        for o in range(outer * length):
            for i in range(0, inner, step):
                yield Chunk(o * inner + i, (1, 1, min(step, inner - i)), o % length)


def _step(wanted: int, unit: int) -> int:
    """Return the largest multiple of a unit that is not more than wanted, or one unit."""
    return max(unit, wanted - wanted % unit)


def row_chunks(shape: tuple[int, ...], elements: int, unit: int) -> Iterator[Chunk]:
    """Cut a matrix, or a stack of them, into whole rows of about so many elements: a multiple of `unit` but at ends.

    A chunk's start is counted in elements, and its shape is that of one matrix.
    """
    *stack, rows, columns = shape
    if columns == 0:
        return
    step = max(unit, elements // columns // unit * unit)
    for matrix in range(math.prod(stack)):
        for first in range(0, rows, step):
            yield Chunk((matrix * rows + first) * columns, (1, min(step, rows - first), columns), 0)


class Cut(ABC):
    """Where a tensor may be cut, and how many bytes of memory are counted for it."""

    @abstractmethod
    def chunks(self, nbytes: int) -> Iterator[Chunk]:
        """Yield chunks of about so many bytes, or of more where nothing smaller is possible."""

    @abstractmethod
    def chunk_bytes(self, chunk: Chunk) -> int:
        """Return how many bytes a chunk takes."""

    @property
    def smallest(self) -> int:
        """How many bytes the smallest chunk takes, of which the first one is the largest."""
        first = next(self.chunks(1), None)
        return 0 if first is None else self.chunk_bytes(first)


@dataclass(frozen=True, slots=True)
class ElementCut(Cut):
    """A cut between elements, or along the middle one of three axes between groups of `unit`.

    Each element counts `bits`, and a chunk has at least `least` elements; `align` is as in `split_chunks`.
    """

    shape: tuple[int, int, int]
    bits: int
    unit: int = 1
    align: int = 1
    least: int = 0

    def chunks(self, nbytes: int) -> Iterator[Chunk]:
        """Yield chunks as `split_chunks` does."""
        return split_chunks(self.shape, max(8 * nbytes // self.bits, self.least), self.unit, self.align)

    def chunk_bytes(self, chunk: Chunk) -> int:
        """Return the bytes of the elements."""
        return chunk.size * self.bits // 8


@dataclass(frozen=True, slots=True)
class RowCut(Cut):
    """A cut of a matrix, or of each one of a stack, between multiples of `unit` rows, each of which counts so much."""

    shape: tuple[int, ...]
    row_bytes: int
    unit: int = 1

    def chunks(self, nbytes: int) -> Iterator[Chunk]:
        """Yield chunks as `row_chunks` does."""
        return row_chunks(self.shape, nbytes // max(1, self.row_bytes) * self.shape[-1], self.unit)

    def chunk_bytes(self, chunk: Chunk) -> int:
        """Return the bytes of the rows."""
        return chunk.shape[1] * self.row_bytes
