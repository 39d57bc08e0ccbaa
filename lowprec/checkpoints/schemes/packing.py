"""Codes of 2 to 8 bits in bytes: strings of bits in 32-bit words, and two codes to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["swap_nibbles", "unpack_words"]

Array = np.ndarray[Any, Any]


def unpack_words(rows: Array, bits: int, columns: int) -> Array:
    """Return the codes in rows of little-endian words, uint8, one code to a byte."""
    if bits == 8:
        return np.ascontiguousarray(rows[:, :columns])
    string = np.unpackbits(rows, axis=1, count=columns * bits, bitorder="little").reshape(len(rows), columns, bits)
    return np.packbits(string, axis=2, bitorder="little")[:, :, 0]


def swap_nibbles(packed: Array) -> Array:
    """Return bytes of two 4-bit codes each with the two exchanged."""
    swapped: Array = packed << 4 | packed >> 4
    return swapped
