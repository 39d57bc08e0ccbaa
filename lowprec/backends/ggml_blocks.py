"""Blocks that hold codes and scales, as in GGUF files: blocks from values, and values of blocks."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..plans.cast_plan import plan_of
from ..spec.formats import FLOAT32, Format
from ..spec.memo import CACHED
from .kernels_of_plan import make_program

__all__ = ["as_bytes", "decode_blocks", "encode_blocks", "to_single"]


Array = np.ndarray[Any, Any]


@lru_cache(maxsize=CACHED)
def to_single(source: Format) -> _kernels.Program | None:
    """Return the program that makes float32 values, None where the source holds them."""
    return None if source == FLOAT32 else make_program(plan_of(source, FLOAT32))


def as_bytes(x: Array) -> Array:
    """Return the bytes of an array, which are those of a copy where it is not dense."""
    return x.reshape(-1).view(np.uint8)


def encode_blocks(kind: str, x: Array, fmt: Format, out: Array) -> None:
    """Write blocks of finite values, on one thread.

    Parameters
    ----------
    kind : str
        The type of the blocks: one of `_kernels`.
    x, fmt : numpy.ndarray, Format
        Unsigned codes of a float of up to 32 bits, in native byte order; whole blocks.
    out : numpy.ndarray
        uint8, 1-D and dense.
    """
    _kernels.encode_blocks(kind, to_single(fmt), as_bytes(x), out, x.size)


def decode_blocks(kind: str, blocks: Array, out: Array) -> None:
    """Write the values of blocks, on one thread; NaN comes out canonical, with the sign of the scale that was NaN.

    Parameters
    ----------
    kind : str
        The type of the blocks: one of `_kernels`.
    blocks, out : numpy.ndarray
        Bytes, and dense float32 for the values.
    """
    if not out.flags.c_contiguous:
        raise ValueError("`out` must be dense")
    _kernels.decode_blocks(kind, as_bytes(blocks), as_bytes(out), out.size)
