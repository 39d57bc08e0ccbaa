"""Codes of 2 to 8 bits in bytes: strings of bits in 32-bit words, and two codes to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["columns_to_rows", "deinterleave", "pack_words", "swap_nibbles", "unpack_words"]

Array = np.ndarray[Any, Any]

LOW_NIBBLES = 0x0F0F0F0F0F0F0F0F

INTERLEAVED = (0, 2, 4, 6, 1, 3, 5, 7)
"""Which of eight columns each nibble of a word has, from the lowest on, in `WordOrder.INTERLEAVED`."""


def unpack_words(rows: Array, bits: int, columns: int) -> Array:
    """Return the codes in rows of little-endian words, uint8, one code to a byte."""
    if bits == 8:
        return np.ascontiguousarray(rows[:, :columns])
    string = np.unpackbits(rows, axis=1, count=columns * bits, bitorder="little").reshape(len(rows), columns, bits)
    return np.packbits(string, axis=2, bitorder="little")[:, :, 0]


def pack_words(codes: Array, bits: int) -> Array:
    """Return rows of codes as rows of little-endian words, uint8; the bits of a row fill whole words."""
    if bits == 8:
        return codes
    string = np.unpackbits(codes[:, :, None], axis=2, count=bits, bitorder="little")
    return np.packbits(string.reshape(len(codes), -1), axis=1, bitorder="little")


def columns_to_rows(words: Array, bits: int) -> Array:
    """Return rows of words for rows of uint32 in which each column is a string of bits."""
    rows, columns = len(words) * 32 // bits, words.shape[1]
    strings = np.ascontiguousarray(words.astype("<u4", copy=False).T).view(np.uint8)
    codes = unpack_words(strings.reshape(columns, -1), bits, rows)
    return pack_words(np.ascontiguousarray(codes.T), bits)


def deinterleave(words: Array) -> Array:
    """Return rows of words of 4-bit codes, uint8, for rows of uint32 in the order of AWQ."""
    result = np.zeros_like(words)
    for place, column in enumerate(INTERLEAVED):
        result |= (words >> np.uint32(4 * place) & np.uint32(15)) << np.uint32(4 * column)
    return result.astype("<u4", copy=False).view(np.uint8)


def swap_nibbles(packed: Array) -> Array:
    """Return bytes of two 4-bit codes each with the two exchanged."""
    swapped = np.empty(packed.shape, np.uint8)
    words, result = np.ascontiguousarray(packed).reshape(-1), swapped.reshape(-1)
    if words.size % 8 == 0:  # eight at a time
        words, result = words.view(np.uint64), result.view(np.uint64)
    low = words.dtype.type(LOW_NIBBLES & np.iinfo(words.dtype).max)
    np.bitwise_and(words, low, out=result)
    result <<= 4
    high = words >> 4
    high &= low
    result |= high
    return swapped
