"""Where the elements of a chunk are in the whole tensor, in C order: which random numbers are theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

__all__ = ["Places"]

BATCH = 1 << 14
"""Runs whose places are computed together."""


@dataclass(frozen=True, slots=True)
class Places:
    """Contiguous elements of a tensor.

    Attributes
    ----------
    start : int
        The first one, counted in the order of memory.
    fortran : tuple of int
        The shape of a tensor of two axes or more in Fortran order; nothing where memory is in C order.
    """

    start: int = 0
    fortran: tuple[int, ...] = ()

    def runs(self, start: int, n: int) -> Iterator[tuple[slice, int]]:
        """Yield elements that follow each other in C order: which of `n` ones from `start` on, and the first's place.

        In Fortran order they are those along the last axis, which memory has at a distance.
        """
        first = self.start + start
        if not self.fortran:
            yield slice(0, n), first
            return
        *leading, last = self.fortran
        slab = math.prod(leading)
        for begin in range(0, min(slab, n), BATCH):
            index, inside = np.divmod(first + np.arange(begin, min(begin + BATCH, slab, n)), slab)
            rows = np.zeros_like(inside)
            for length, row in zip(leading, np.unravel_index(inside, leading, order="F"), strict=True):
                rows = rows * length + row
            for number, place in enumerate((rows * last + index).tolist(), begin):
                yield slice(number, n, slab), place
