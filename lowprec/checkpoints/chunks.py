"""A tensor cut into chunks of whole bytes and whole groups of what shares a scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ALIGNMENT", "Chunk", "split_chunks"]


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
