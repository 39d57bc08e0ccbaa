"""What rows of a weight lose when they become codes of a scheme."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats, count_beyond
from ...loss.scaled_stats import add_scaled
from ...ops.codes import decode
from ...spec.formats import FLOAT32, Format
from .block_type import BlockType
from .dequantize import Parameters, dequantize, scaled_codes
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
    finite, step, kind = True, max(1, PART // x.shape[1]), scheme.blocks
    for start, first in itertools.product(range(0, len(x), step), range(0, x.shape[1], PART)):  # rows may be wide
        part = x[start : start + step, first : first + PART]
        at, stop = first // kind.size * kind.nbytes, (first + part.shape[1]) // kind.size * kind.nbytes
        blocks = np.ascontiguousarray(codes[start : start + step, at:stop])
        values = part.view(np.float32) if fmt == FLOAT32 else np.asarray(decode(part, fmt, to=np.float32))
        here = replace(parameters, scales=parameters.scales[start : start + step])
        back = dequantize(scheme, blocks, here, np.empty(part.shape, np.float32))
        stats.add(values.reshape(-1), back.reshape(-1))
        stats.saturated += _saturated(values, kind, blocks)
        finite = finite and bool(np.isfinite(back).all())
    return finite


def _saturated(values: Array, kind: BlockType, blocks: Array) -> int:
    """Return how many elements round beyond the range of the codes in their blocks."""
    encoding = kind.encoding
    if encoding is None or encoding.factors is None or encoding.codes is None:
        return 0
    factors = encoding.factors(blocks.reshape(-1, kind.nbytes))
    with np.errstate(all="ignore"):
        ratio = (values.reshape(-1, kind.size) / factors).reshape(-1)
    largest = float(np.abs(ratio).max(initial=0))
    return count_beyond(ratio, encoding.codes, nearest=True, peak=largest if math.isfinite(largest) else math.inf)
