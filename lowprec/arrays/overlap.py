"""Whether two elements of one array lie in the same memory, from its shape and strides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

__all__ = ["overlaps_itself"]


def overlaps_itself(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> bool:
    """Return whether two elements share memory; exactly, in time and memory that are linear in what the array spans.

    Parameters
    ----------
    shape, strides : sequence of int
        Of the array; strides of any sign.
    itemsize : int
        The size of an element, in the unit of the strides.

    Examples
    --------
    >>> overlaps_itself((3, 4), (0, 4), 4), overlaps_itself((3, 4), (-16, 4), 4)
    (True, False)
    >>> overlaps_itself((3, 2), (2, 3), 1), overlaps_itself((4, 2), (2, 6), 1)
    (False, True)
    """
    if 0 in shape:
        return False
    axes = sorted((abs(step), length) for step, length in zip(strides, shape, strict=True) if length > 1)
    extent, apart = itemsize, True
    for step, length in axes:
        apart = apart and step >= extent  # one step along an axis leads beyond all that the axes before reach
        extent += step * (length - 1)
    if apart:
        return False
    if math.prod(shape) * itemsize > extent:
        return True
    # Axes that are interleaved, as no slicing or transposing makes them: mark where every element starts.
    starts = np.zeros(extent, np.bool)
    np.lib.stride_tricks.as_strided(
        starts, tuple(length for _, length in axes), tuple(step for step, _ in axes)
    )[...] = True  # fmt: skip
    places = np.flatnonzero(starts)
    return len(places) < math.prod(shape) or bool((np.diff(places) < itemsize).any())
