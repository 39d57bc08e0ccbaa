"""From the largest magnitudes to scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode
from ...ops.scales import scale_codes
from ...spec.formats import Format
from ..recipe import ScaleLayout

__all__ = ["absmax_codes", "scales_for"]

Array = np.ndarray[Any, Any]


def absmax_codes(codes: Array, fmt: Format, scaling: ScaleLayout, scratch: Array) -> Array:
    """Return the largest finite magnitudes of a chunk, as codes: one, one to each index of the middle axis or block.

    Codes of floats without their sign are in the order of their magnitudes.

    Parameters
    ----------
    codes : numpy.ndarray
        Unsigned, with the chunk's three axes.
    fmt : Format
        Theirs.
    scaling : Scaling
        Which elements share a scale.
    scratch : numpy.ndarray
        As `codes`; written over.

    Returns
    -------
    numpy.ndarray
        0-d, 1-D, or 2-D for blocks: the outer axis, and the blocks along the middle one. 0 where nothing is finite.
    """
    np.bitwise_and(codes, fmt.magnitude_mask, out=scratch)
    if scratch.max(initial=0) > fmt.max_code:
        scratch[scratch > fmt.max_code] = 0  # NaN and Inf
    if scaling.kind == "tensor":
        return np.asarray(scratch.max(initial=0))
    if scaling.kind == "axis":
        return np.asarray(scratch.max(axis=(0, 2), initial=0))
    size, rows = scaling.block_size, scratch[:, :, 0]
    whole = rows.shape[1] - rows.shape[1] % size
    magnitudes = rows[:, :whole].reshape(rows.shape[0], -1, size).max(axis=2, initial=0)
    if whole < rows.shape[1]:
        magnitudes = np.concatenate([magnitudes, rows[:, whole:].max(axis=1, keepdims=True)], axis=1)
    return np.ascontiguousarray(magnitudes)


def scales_for(absmax: Array, source: Format, to: Format, fmt: Format) -> Array:
    """Return the codes of scales by the rules of `lowprec.absmax_scale`.

    Parameters
    ----------
    largest : numpy.ndarray
        Codes of magnitudes, from `peaks`.
    source, to, fmt : Format
        The format of `largest`, the one converted to, and that of the scales.

    Returns
    -------
    numpy.ndarray
        Unsigned codes of `fmt`, the shape of `largest`.
    """
    return scale_codes(np.asarray(decode(absmax, source, to="float64")), to, fmt)
