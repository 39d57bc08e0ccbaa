"""What rows of a weight lose when they become codes of a scheme."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats, add_blocks, add_scaled
from ...ops.codes import decode
from ...spec.formats import FLOAT32, Format
from .dequantize import Parameters, scaled_codes
from .scheme import Scheme

__all__ = ["add_losses"]

Array = np.ndarray[Any, Any]

PART = 1 << 18
"""Elements of blocks that are decoded and compared at once: they stay in a core's cache."""


def add_losses(stats: ErrorStats, x: Array, fmt: Format, scheme: Scheme, codes: Array, parameters: Parameters) -> bool:
    """Compare rows of a weight with what `dequantize` makes of their codes, and take in what was lost.

    Parameters
    ----------
    stats : ErrorStats
        Takes it in.
    x, fmt : numpy.ndarray, Format
        The rows, as unsigned codes of a float of up to 32 bits.
    scheme, codes, parameters
        As `dequantize` takes them; without zero points.

    Returns
    -------
    bool
        False where a block has a value that is not finite.
    """
    if scheme.blocks is None:
        add_scaled(stats, x, fmt, scaled_codes(scheme, codes, parameters, x.shape[1]))
        return True
    if scheme.blocks.decoder is None:
        return add_blocks(stats, scheme.blocks.name, x, fmt, codes)
    finite, step, kind = True, max(1, PART // x.shape[1]), scheme.blocks
    for start, first in itertools.product(range(0, len(x), step), range(0, x.shape[1], PART)):  # rows may be wide
        part = x[start : start + step, first : first + PART]
        at, stop = first // kind.size * kind.nbytes, (first + part.shape[1]) // kind.size * kind.nbytes
        blocks = np.ascontiguousarray(codes[start : start + step, at:stop])
        values = part.view(np.float32) if fmt == FLOAT32 else np.asarray(decode(part, fmt, to=np.float32))
        back = np.empty(part.shape, np.float32)
        kind.decode(blocks.reshape(-1, kind.nbytes), back.reshape(-1, kind.size))
        stats.add(values.reshape(-1), back.reshape(-1))
        finite = finite and bool(np.isfinite(back).all())
    return finite
