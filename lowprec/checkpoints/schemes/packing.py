"""Codes of 2 to 8 bits in 32-bit words: rows are strings of bits, the first code in the lowest ones."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["unpack_words"]

Array = np.ndarray[Any, Any]


def unpack_words(rows: Array, bits: int, columns: int) -> Array:
    """Return the codes in rows of little-endian words, uint8, one code to a byte."""
    if bits == 8:
        return np.ascontiguousarray(rows[:, :columns])
    string = np.unpackbits(rows, axis=1, count=columns * bits, bitorder="little").reshape(len(rows), columns, bits)
    return np.packbits(string, axis=2, bitorder="little")[:, :, 0]
