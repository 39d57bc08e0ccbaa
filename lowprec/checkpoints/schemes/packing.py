"""Codes of 2 to 8 bits in bytes: strings of bits in 32-bit words, and two codes to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["pack_nibbles", "pack_words", "swap_nibbles", "unpack_words"]

Array = np.ndarray[Any, Any]


def unpack_words(rows: Array, bits: int, columns: int) -> Array:
    """Return the codes in rows of little-endian words, uint8, one code to a byte."""
    if bits == 8:
        return np.ascontiguousarray(rows[:, :columns])
    string = np.unpackbits(rows, axis=1, count=columns * bits, bitorder="little").reshape(len(rows), columns, bits)
    return np.packbits(string, axis=2, bitorder="little")[:, :, 0]


def pack_words(codes: Array, bits: int) -> Array:
    """Return rows of codes, one to a byte, as rows of little-endian words, uint8: the inverse of `unpack_words`."""
    rows, columns = codes.shape
    nbytes = 4 * -(-columns * bits // 32)
    if bits == 4 and columns % 8 == 0:
        return pack_nibbles(codes)
    if bits == 8:
        return np.pad(codes, ((0, 0), (0, nbytes - columns)))
    string = np.unpackbits(codes[:, :, np.newaxis], axis=2, count=bits, bitorder="little").reshape(rows, -1)
    packed = np.packbits(string, axis=1, bitorder="little")
    return np.pad(packed, ((0, 0), (0, nbytes - packed.shape[1])))


def pack_nibbles(codes: Array) -> Array:
    """Return rows of 4-bit codes, one to a byte and an even number to a row, as two to a byte, the first one low."""
    packed: Array = codes[:, ::2] | codes[:, 1::2] << 4
    return packed


def swap_nibbles(packed: Array) -> Array:
    """Return bytes of two 4-bit codes each with the two exchanged."""
    swapped: Array = packed << 4 | packed >> 4
    return swapped
