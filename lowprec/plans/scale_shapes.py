"""Which scale belongs to which element: per tensor, axis, block or tile, from the shapes."""

from __future__ import annotations

import math
from typing import NamedTuple

from ..spec.scalar_arguments import as_integer, shown

__all__ = [
    "Broadcast",
    "Granularity",
    "Groups",
    "Repetition",
    "broadcast_of",
    "expanded",
    "granularity_of",
    "scale_groups",
    "tile_axes",
    "tiles_of",
]


_PATTERN = 1024
"""Scales of a short pattern are repeated up to about so many, so that the kernels meet long runs: in larger arrays."""

_VECTORS = 64
"""Elements that a loop converts together: a pattern is a multiple of them where that makes it not much longer."""


class Granularity(NamedTuple):
    """How scales spread over an array in C order, its axes merged to (outer, the quantization axis, inner).

    Element (outer, position, inner) has the scale number
    ``(outer * outer_step + position // block) * width + (inner if width > 1 else 0)``.
    """

    axis: int | None  # None per tensor
    inner: int
    length: int
    block: int
    outer_step: int
    width: int


class Repetition(NamedTuple):
    """How the scales of tiles become those of blocks: along one axis, each of them is repeated for its elements."""

    axis: int
    block: int
    length: int  # of the array; the last block may be cut short


class Broadcast(NamedTuple):
    """How scales of the rank of an array become those along one axis, 1-D, or those of blocks as long as an axis."""

    shape: tuple[int, ...]


def _axis_of(axis: object, rank: int) -> int:
    number = as_integer(axis)
    if number is None:
        raise ValueError(f"`axis` must be an integer; got {shown(axis)}")
    if rank <= 1 and number == 1:  # the default, where there is but one axis or none
        return 0
    axes = max(rank, 1)  # ONNX's range for 0-d is empty, its default included: 0-d counts as 1-D, as NumPy has it
    if not -axes <= number < axes:
        raise ValueError(f"`axis` must be from {-axes} to {axes - 1} for `x` of {rank} dimensions; got {shown(number)}")
    return number % axes


def _block_of(block_size: object) -> int:
    number = as_integer(block_size)
    if number is None or number < 0:
        wanted = "an integer from 0 up, 0 where there are no blocks"
        raise ValueError(f"`block_size` must be {wanted}; got {shown(block_size)}")
    return number


def granularity_of(
    shape: tuple[int, ...], scale: tuple[int, ...], axis: object, block_size: object, blocks: bool, axes: bool
) -> Granularity:
    """Return how a scale of one shape spreads over an array of another, or raise ValueError.

    `blocks` and `axes` tell whether the opset has blocked and per-axis scales.
    """
    where, block = _axis_of(axis, len(shape)), _block_of(block_size)
    inner = math.prod(shape[where + 1 :])
    if block:
        if not blocks:
            raise ValueError(f"`block_size` must be 0 before opset 21; got {shown(block)}")
        wanted = (*shape[:where], -(-shape[where] // block), *shape[where + 1 :]) if shape else None
        if scale != wanted:
            raise ValueError(
                f"`scale` must have shape {wanted or 'with the axis divided'} for `x` of shape {shape}, axis {where}, "
                f"block_size {shown(block)}; got {scale}"
            )
        length = max(shape[where], 1)
        return Granularity(where, max(inner, 1), length, min(block, length), max(wanted[where], 1), max(inner, 1))
    if math.prod(scale) == 1 and (len(scale) <= 1 or scale == (1,) * len(shape)):
        return Granularity(None, max(math.prod(shape), 1), 1, 1, 0, 1)
    if not axes:
        raise ValueError(f"`scale` must have one element before opset 13; got shape {scale}")
    if len(scale) != 1 or not shape or scale[0] != shape[where]:
        per_axis = f", shape ({shape[where]},) for axis {where}" if shape else ""
        raise ValueError(
            f"`scale` must have one element{per_axis}, or a `block_size` and the rank of `x`, "
            f"for `x` of shape {shape}; got shape {scale}"
        )
    return Granularity(where, max(inner, 1), max(shape[where], 1), 1, 0, 1)


def broadcast_of(
    shape: tuple[int, ...], scale: tuple[int, ...], blocks: bool, axes: bool
) -> tuple[Granularity, Broadcast | None]:
    """Return how a scale of the rank of an array, with its lengths or 1, spreads over it, or raise ValueError.

    Examples
    --------
    >>> broadcast_of((2, 3, 5), (1, 3, 1), blocks=True, axes=True)
    (Granularity(axis=1, inner=5, length=3, block=1, outer_step=0, width=1), Broadcast(shape=(3,)))
    >>> broadcast_of((2, 3, 5), (2, 3, 1), blocks=True, axes=True)
    (Granularity(axis=2, inner=1, length=5, block=5, outer_step=1, width=1), Broadcast(shape=(2, 3, 1)))
    """
    if len(scale) != len(shape) or any(one not in (1, length) for one, length in zip(scale, shape, strict=True)):
        wanted = f"for each axis of `x` of shape {shape} its length or 1, or there must be a `block_size`"
        raise ValueError(f"`scale` must have {wanted}; got shape {scale}")
    own = [axis for axis, length in enumerate(scale) if length != 1]
    if len(own) <= 1:
        spread = granularity_of(shape, tuple(scale[axis] for axis in own), own[0] if own else 0, 0, blocks, axes)
        return spread, Broadcast((scale[own[0]],)) if own else None
    shared = [axis for axis in range(len(shape)) if axis not in own]
    along, block = (shared[-1], max(shape[shared[-1]], 1)) if shared else (len(shape) - 1, 1)
    repeated = tuple(1 if shared and axis == along else length for axis, length in enumerate(shape))
    return granularity_of(shape, repeated, along, block, blocks, axes), Broadcast(repeated)


def _integers(values: object, parameter: str, wanted: str) -> tuple[int, ...]:
    """Return two integers, or raise ValueError."""
    numbers = [as_integer(value) for value in values] if isinstance(values, (tuple, list)) else []
    if len(numbers) != 2 or None in numbers:
        raise ValueError(f"`{parameter}` must be {wanted}; got {shown(values)}")
    return tuple(number for number in numbers if number is not None)


def tile_axes(axis: object, block_size: object) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the two axes and the two block sizes of tiles as integers, None where there is one of each."""
    if not (isinstance(axis, (tuple, list)) or isinstance(block_size, (tuple, list))):
        return None
    axes = _integers(axis, "axis", "two integers where `block_size` is two")
    if as_integer(block_size) == 0:
        wanted = "a `block_size` of two integers, or `scale` the rank of `x` with the length 1 along all other axes"
        raise ValueError(f"`axis` must have {wanted}, where it is two; got {shown(axis)}")
    return axes, _integers(block_size, "block_size", "two integers where `axis` is two")


def tiles_of(
    shape: tuple[int, ...], scale: tuple[int, ...], axes: tuple[int, ...], blocks: tuple[int, ...]
) -> tuple[Granularity, Repetition]:
    """Return how the scales of tiles are repeated along the first axis, and how they spread then, or raise ValueError.

    Examples
    --------
    >>> tiles_of((5, 6), (3, 2), (0, 1), (2, 4))
    (Granularity(axis=1, inner=1, length=6, block=4, outer_step=2, width=1), Repetition(axis=0, block=2, length=5))
    """
    rank = len(shape)
    if any(not -rank <= number < rank for number in axes) or axes[0] % rank == axes[1] % rank:
        wanted = f"two different axes from {-rank} to {rank - 1} for `x` of {rank} dimensions"
        raise ValueError(f"`axis` must be {wanted}; got {shown(axes)}")
    if min(blocks) < 1:
        raise ValueError(f"`block_size` must be positive along both axes; got {shown(blocks)}")
    (first, rows), (second, columns) = sorted(zip((number % rank for number in axes), blocks, strict=True))
    wanted_scale = list(shape)
    wanted_scale[first], wanted_scale[second] = -(-shape[first] // rows), -(-shape[second] // columns)
    if scale != tuple(wanted_scale):
        raise ValueError(
            f"`scale` must have shape {tuple(wanted_scale)} for `x` of shape {shape}, axis {shown(axes)}, "
            f"block_size {shown(blocks)}; got {scale}"
        )
    repeated = (*scale[:first], shape[first], *scale[first + 1 :])
    spread = granularity_of(shape, repeated, second, columns, blocks=True, axes=True)
    return spread, Repetition(first, min(rows, max(shape[first], 1)), shape[first])


def expanded(spread: Granularity, n: int) -> tuple[Granularity, int, int]:
    """Return how the scales of a short per-axis pattern spread once repeated, how often each is, and then all of them.

    Few long runs take the place of many short ones.
    """
    axis, inner, length, block, outer_step, width = spread
    repeat = tile = 1
    if axis is None or outer_step or n <= _PATTERN or length * inner > 64 * _PATTERN:
        return spread, repeat, tile
    if 1 < inner < 64:
        repeat, length, inner = inner, length * inner, 1
    if inner == 1 and length < _PATTERN and n > length:
        whole = _VECTORS // math.gcd(length, _VECTORS)
        whole = whole if whole * length <= 4 * _PATTERN else 1
        tile = -(-min(_PATTERN, n) // (whole * length)) * whole
    return Granularity(axis, inner, length * tile, block, outer_step, width), repeat, tile


def scale_groups(rank: int, axis: object, block_size: object) -> Groups:
    """Return which elements of an array of a rank share a scale, or raise ValueError."""
    if axis is None:
        if as_integer(block_size) != 0:
            raise ValueError(f"`axis` must be given with a `block_size`; got None with {shown(block_size)}")
        return Groups((), ())
    axes, blocks = (
        tuple(map(as_integer, one if isinstance(one, (tuple, list)) else (one,))) for one in (axis, block_size)
    )
    if len(axes) not in (1, 2) or any(one is None or not -rank <= one < rank for one in axes):
        raise ValueError(f"`axis` must be an axis of `x`, from {-rank} to {rank - 1}, or two; got {shown(axis)}")
    numbers = [one % rank for one in axes if one is not None]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"`axis` must be two different axes; got {shown(axis)}")
    if len(blocks) != len(numbers) or any(block is None or block < 0 for block in blocks):
        wanted = "an integer from 0 up" if len(numbers) == 1 else "two positive integers, as `axis` has two axes"
        raise ValueError(f"`block_size` must be {wanted}; got {shown(block_size)}{_other_axes(rank, numbers, blocks)}")
    if blocks == (0,):
        return Groups(tuple(numbers), ())
    if 0 in blocks:
        raise ValueError(f"`block_size` must be positive along each axis; got {shown(block_size)}")
    pairs = sorted((axis, block or 0) for axis, block in zip(numbers, blocks, strict=True))
    return Groups(tuple(axis for axis, _ in pairs), tuple(block for _, block in pairs))


def _other_axes(rank: int, axes: list[int], blocks: tuple[int | None, ...]) -> str:
    """Return how the other axes say that each pair of indices has its scale, where two axes were named for it."""
    others = [axis for axis in range(rank) if axis not in axes]
    if len(axes) != 2 or blocks != (0,) or len(others) not in (1, 2):
        return ""
    along = f"axis={others[0]}" if len(others) == 1 else f"axis={tuple(others)}"
    lengths = ", ".join(f"x.shape[{axis}]" for axis in others)
    return f" (a scale to each pair of indices: {along}, block_size={lengths if len(others) == 1 else f'({lengths})'})"


class Groups(NamedTuple):
    """Which elements share a scale: all, those at one index of an axis, or blocks along an axis or two."""

    axes: tuple[int, ...]  # none where all elements share one
    blocks: tuple[int, ...]  # the block length along each axis; none for whole slices along one axis

    def shape_of(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the scales of an array."""
        if not self.axes:
            return ()
        if not self.blocks:
            return (shape[self.axes[0]],)
        lengths = list(shape)
        for axis, block in zip(self.axes, self.blocks, strict=True):
            lengths[axis] = -(-shape[axis] // block)
        return tuple(lengths)

    def within(self, shape: tuple[int, ...]) -> Groups:
        """Return the groups of an array of a shape: a block longer than its axis is one that is as long."""
        blocks = (min(block, max(shape[axis], 1)) for axis, block in zip(self.axes, self.blocks, strict=False))
        return Groups(self.axes, tuple(blocks))
