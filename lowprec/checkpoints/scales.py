"""From the largest magnitudes to scales."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ops.codes import decode, encode
from ..spec.float_mode import default_mode
from ..spec.formats import Format
from .recipe import Scaling

__all__ = ["peaks", "scales_for"]

Array = np.ndarray[Any, Any]


def peaks(codes: Array, fmt: Format, scaling: Scaling, scratch: Array) -> Array:
    """Return the largest finite magnitudes of a box, as codes: one, one to the middle axis, or one to a block.

    Codes of floats without their sign are in the order of their magnitudes.

    Parameters
    ----------
    codes : numpy.ndarray
        Unsigned, of the box's three axes.
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
    found = rows[:, :whole].reshape(rows.shape[0], -1, size).max(axis=2, initial=0)
    if whole < rows.shape[1]:
        found = np.concatenate([found, rows[:, whole:].max(axis=1, keepdims=True)], axis=1)
    return np.ascontiguousarray(found)


@default_mode
def scales_for(largest: Array, source: Format, to: Format, fmt: Format) -> Array:
    """Return the codes of scales.

    For formats with a mantissa: the largest magnitude over the largest value of `to`, both in float64, rounded once and
    kept between the smallest and the largest positive value of the format. For powers of two, the rule of OCP MX:
    floor(log2(largest magnitude)) less the exponent of the largest value of `to`. 1 where there is no magnitude.

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

    Notes
    -----
    Source: OCP Microscaling Formats (MX) 1.0, section 6.3.
    """
    magnitude = np.asarray(decode(largest, source, to="float64"))
    if fmt.has_zero:
        with np.errstate(under="ignore"):
            quotient = np.clip(magnitude / float(to.max), fmt.smallest_subnormal, fmt.max)
        return np.asarray(encode(np.where(magnitude == 0, 1.0, quotient), fmt))
    exponents = np.frexp(magnitude)[1] - 1 - (math.frexp(to.max)[1] - 1)
    lowest, highest = -fmt.bias, fmt.max_code - fmt.bias
    exponents = np.where(magnitude == 0, 0, np.clip(exponents, lowest, highest))
    return np.asarray((exponents + fmt.bias).astype(fmt.code_dtype))
