"""Arrays of codes in memory of their own, in every layout, with what must stay as it is around them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, Any]

LAYOUTS = ("C", "C", "C", "F", "permuted", "strided", "negative", "broadcast", "unaligned", "odd strides", "sub-view")
"""How elements lie; C order is the most frequent. The last has a margin of bytes at both ends."""


class Geometry(NamedTuple):
    """Where the elements of an array lie: strides in bytes, the first element, and how many bytes there are."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    extent: int
    layout: str


def draw_geometry(rng: np.random.Generator, shape: tuple[int, ...], itemsize: int, layout: str) -> Geometry:
    """Return strides of a layout; the memory ends with the last element, so that one byte more is beyond it."""
    rank = len(shape)
    order = list(range(rank))  # from the slowest axis to the fastest
    if layout == "F":
        order = order[::-1]
    elif layout != "C":
        order = [int(axis) for axis in rng.permutation(rank)] if rng.random() < 0.5 or layout == "permuted" else order
    strides, step, repeated = [0] * rank, itemsize, layout == "broadcast"
    if layout == "odd strides":
        step += int(rng.integers(1, 4))
    for axis in reversed(order):
        factor = int(rng.integers(1, 4)) if layout in ("strided", "negative") else 1
        strides[axis] = 0 if repeated and rng.random() < 0.5 else step * factor
        step *= max(shape[axis], 1) * factor if strides[axis] else 1
    if layout == "negative":
        strides = [-stride if rng.random() < 0.6 else stride for stride in strides]
    reach = [stride * max(length - 1, 0) for stride, length in zip(strides, shape, strict=True)]
    below = -sum(min(part, 0) for part in reach)
    above = sum(max(part, 0) for part in reach) + itemsize
    start = below
    if layout == "unaligned" and itemsize > 1:
        start += int(rng.integers(1, itemsize))
    elif layout == "sub-view":
        start += itemsize * int(rng.integers(0, 70))
    extent = start + above if math.prod(shape) else start
    if layout == "unaligned":  # memory that ends before a page without access starts where its last byte says
        extent += int(rng.integers(0, 2))
    elif layout == "sub-view":
        extent += itemsize * int(rng.integers(0, 70))
    return Geometry(shape, tuple(strides), start, extent, layout)


class Memory:
    """A buffer of exactly so many bytes, filled at random, and a copy of what it held before a call."""

    def __init__(self, rng: np.random.Generator, size: int) -> None:
        self.raw = np.empty(size, np.uint8)  # a buffer of its own: what reads past it is found by a sanitizer
        self.raw[:] = rng.integers(0, 256, size, np.uint8)
        self.before = self.raw.copy()


class Placed(NamedTuple):
    """An array as the caller has it, and the unsigned integers that it holds, dense and in the order of the machine."""

    array: Array
    codes: Array
    memory: Memory
    geometry: Geometry

    def __str__(self) -> str:
        order = "" if self.array.dtype.isnative else ", other byte order"
        kept = "" if self.array.flags.writeable else ", read-only"
        place = f"strides {self.geometry.strides} from byte {self.geometry.start}"
        return f"{self.array.dtype}{self.array.shape} {self.geometry.layout} ({place}{order}{kept})"


def view(memory: Memory, geometry: Geometry, dtype: Any) -> Array:
    """Return the array of a geometry in a memory."""
    if not math.prod(geometry.shape):
        return np.empty(geometry.shape, dtype)
    return np.ndarray(geometry.shape, dtype, memory.raw, geometry.start, geometry.strides)


def place(rng: np.random.Generator, codes: Array, dtype: Any, *, layout: str | None = None) -> Placed:
    """Write codes, unsigned integers as wide as `dtype`, to memory in a layout that is drawn unless it is given."""
    dtype, codes = np.dtype(dtype), np.asarray(codes)
    layout = str(rng.choice(LAYOUTS)) if layout is None else layout
    geometry = draw_geometry(rng, codes.shape, dtype.itemsize, layout)
    memory = Memory(rng, geometry.extent)
    if codes.size:  # elements that share their memory are equal
        first = tuple(slice(0, 1) if not stride else slice(None) for stride in geometry.strides)
        codes = np.array(np.broadcast_to(codes[first], codes.shape))
    swaps = dtype.isbuiltin == 1 and dtype.itemsize > 1 and rng.random() < 0.1
    unsigned = np.dtype(f"u{dtype.itemsize}")
    view(memory, geometry, unsigned.newbyteorder() if swaps else unsigned)[...] = codes
    array = view(memory, geometry, dtype.newbyteorder() if swaps else dtype)
    if rng.random() < 0.2:
        array.flags.writeable = False
    memory.before = memory.raw.copy()
    return Placed(array, codes, memory, geometry)
