"""Scales of blocks in tiles, as cuBLAS reads them: 128 rows and 4 columns of scales in 512 consecutive bytes.

Within a tile the scales of rows r, r + 32, r + 64 and r + 96 follow each other, four columns of each. Tiles of the same
128 rows are contiguous. Scales that fill up a tile are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["COLUMNS", "ROWS", "from_blocked", "tiled_shape", "to_blocked"]

Array = np.ndarray[Any, Any]

ROWS, COLUMNS = 128, 4
"""How many rows and columns of scales are a tile."""

QUARTER = ROWS // 4


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
