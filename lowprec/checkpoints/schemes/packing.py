"""Codes of 2 to 8 bits in bytes and words, in every engine's order; scales in tiles.

Within a tile the scales of rows r, r + 32, r + 64 and r + 96 follow each other, four columns of each. Tiles of the same
128 rows are contiguous. Scales that fill up a tile are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "ROWS", "columns_to_rows", "deinterleave", "from_blocked", "swap_nibbles", "tiled_shape", "to_blocked",
    "unpack_words",
]  # fmt: skip

Array = np.ndarray[Any, Any]

LOW_NIBBLES = 0x0F0F0F0F0F0F0F0F

INTERLEAVED = (0, 2, 4, 6, 1, 3, 5, 7)
"""Which of eight columns each nibble of a word has, from the lowest on, in `WordOrder.INTERLEAVED`."""

ROWS, COLUMNS = 128, 4
"""How many rows and columns of scales are a tile."""

QUARTER = ROWS // 4


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


def tiled_shape(rows: int, columns: int) -> tuple[int, int]:
    """Return the shape of tiles of a matrix of scales: its rows and columns, rounded up to whole tiles.

    Examples
    --------
    >>> tiled_shape(130, 3)
    (256, 4)
    """
    return -(-rows // ROWS) * ROWS, -(-columns // COLUMNS) * COLUMNS


def to_blocked(scales: Array) -> Array:
    """Return a matrix of scales in tiles, in the shape of whole tiles.

    Parameters
    ----------
    scales : numpy.ndarray
        A row to each row of the weight, a byte to each scale.

    Examples
    --------
    Row 32 comes after the four columns of row 0:

    >>> import numpy as np
    >>> to_blocked(np.arange(40, dtype=np.uint8).reshape(40, 1)).reshape(-1)[:20].tolist()
    [0, 0, 0, 0, 32, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    """
    rows, columns = tiled_shape(*scales.shape)
    padded = np.zeros((rows, columns), scales.dtype)
    padded[: scales.shape[0], : scales.shape[1]] = scales
    tiles = padded.reshape(rows // ROWS, 4, QUARTER, columns // COLUMNS, COLUMNS)
    return np.ascontiguousarray(tiles.transpose(0, 3, 2, 1, 4)).reshape(rows, columns)


def from_blocked(tiles: Array, rows: int, columns: int) -> Array:
    """Return the matrix of scales in tiles: the inverse of `to_blocked`.

    Parameters
    ----------
    tiles : numpy.ndarray
        Whole tiles, in any shape.
    rows, columns : int
        Of the scales.

    Examples
    --------
    >>> import numpy as np
    >>> scales = np.arange(390, dtype=np.uint16).reshape(130, 3)
    >>> bool((from_blocked(to_blocked(scales), 130, 3) == scales).all())
    True
    """
    high, wide = tiled_shape(rows, columns)
    matrix = tiles.reshape(high // ROWS, wide // COLUMNS, QUARTER, 4, COLUMNS).transpose(0, 3, 2, 1, 4)
    return np.ascontiguousarray(matrix.reshape(high, wide)[:rows, :columns])
