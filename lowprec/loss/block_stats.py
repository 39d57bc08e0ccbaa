"""Blocks that hold codes and scales, compared with the values they were made of: error statistics in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _kernels
from ..backends.blocks import as_bytes, to_single
from ..spec.formats import Format
from .error_stats import ErrorStats

__all__ = ["add_blocks"]

Array = np.ndarray[Any, Any]

PART = 1 << 20
"""Elements that are compared in one call, which takes less than 2**31."""


def add_blocks(stats: ErrorStats, kind: str, x: Array, source: Format, blocks: Array) -> bool:
    """Compare elements with the values of their blocks in float32, and take in what was lost.

    An element saturates where its quotient by the scale of its block, rounded to float32, rounds beyond the codes.

    Parameters
    ----------
    stats : ErrorStats
        Takes it in.
    kind : str
        The type of the blocks: one of `_kernels`.
    x, source : numpy.ndarray, Format
        Unsigned codes of a float of up to 32 bits, in native byte order; whole blocks.
    blocks : numpy.ndarray
        Their bytes.

    Returns
    -------
    bool
        False where a finite element became a value that is not.
    """
    load, flat, became, finite = to_single(source), x.reshape(-1), as_bytes(blocks), True
    for start in range(0, flat.size, PART):
        part = flat[start : start + PART]
        here = became[start * became.size // flat.size : (start + part.size) * became.size // flat.size]
        counts, saturated = _kernels.compare_blocks(kind, load, as_bytes(part), here, part.size)
        stats.add_counts(part.size, counts)
        stats.saturated += saturated
        finite = finite and math.isfinite(counts[-1])  # the sum of the squares of errors
    return finite
