"""One block quantization to be carried out: an array, its plan, how blocks lie in it and how the results are wanted."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..arrays.libraries import namespace, storage_dtype
from ..plans.block_plan import BlockPlan
from ..spec.formats import FLOAT32
from ..spec.packing import packed_bytes
from ..spec.rounding_modes import Stream

__all__ = ["TILE", "BlockJob"]

TILE = 128, 4
"""Rows and columns of a tile of swizzled scales."""


class BlockJob(NamedTuple):
    """One block quantization.

    Attributes
    ----------
    x : array
        Holds the source of the plan.
    plan : BlockPlan
        Formats and rules.
    axis, block : int
        The axis along which blocks lie, from 0 up, and their size.
    global_scale : array or None
        float32, 0-d, in the library of `x`; None where it is to be found, or there is none.
    stream : Stream or None
        The random numbers of a stochastic rounding.
    packed : bool
        Whether the elements are wanted as packed bytes.
    swizzled : bool
        Whether the scales are wanted in tiles.
    out : tuple of array or None
        Where the results go.
    """

    x: Any
    plan: BlockPlan
    axis: int
    block: int
    global_scale: Any = None
    stream: Stream | None = None
    packed: bool = False
    swizzled: bool = False
    out: tuple[Any, ...] | None = None

    @property
    def scale_shape(self) -> tuple[int, ...]:
        """The shape of the scales before they are swizzled."""
        shape = tuple(self.x.shape)
        return (*shape[: self.axis], -(-shape[self.axis] // self.block), *shape[self.axis + 1 :])

    @property
    def spread(self) -> tuple[int, int, int]:
        """The shape of `x` with its axes merged to (outer, the axis of the blocks, inner)."""
        shape = tuple(self.x.shape)
        return math.prod(shape[: self.axis]), shape[self.axis], math.prod(shape[self.axis + 1 :])

    @property
    def results(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shapes and the dtypes of the results, in the library of `x`."""
        shape, scales, xp = tuple(self.x.shape), self.scale_shape, namespace(self.x)
        elements = (shape, storage_dtype(self.plan.stored, xp))
        if self.packed:
            elements = (packed_bytes(math.prod(shape), self.plan.stored),), storage_dtype("uint8", xp)
        if self.swizzled:
            scales = (swizzled_size(scales, self.axis),)
        both = [elements, (scales, storage_dtype(self.plan.scale, xp))]
        return [*both, ((), storage_dtype(FLOAT32, xp))] if self.plan.two_levels else both


def swizzled_size(scales: tuple[int, ...], axis: int) -> int:
    """Return how many scales there are in tiles, padding included."""
    columns = scales[axis]
    rows = math.prod(scales[:axis]) * math.prod(scales[axis + 1 :])
    return -(-rows // TILE[0]) * TILE[0] * (-(-columns // TILE[1]) * TILE[1])
