"""Scales in the order that cuBLAS reads, and back, in array-API calls.

The scales are a matrix: a column for each place of a block along its axis, a row for each index of the other axes, in C
order. It is padded with zeros to whole tiles of 128 rows and 4 columns. Tiles follow each other row by row; within one
the scale at (outer, inner) has the offset ``(outer % 32) * 16 + (outer // 32) * 4 + inner``.
"""

from __future__ import annotations

import math
from typing import Any

import array_api_compat

from ..arrays.libraries import namespace
from ..plans.block_plan import TILE

__all__ = ["swizzle", "unswizzle"]


_ROWS, _COLUMNS = TILE
_INTERLEAVED = 32


def _padded(x: Any, rows: int, columns: int, xp: Any) -> Any:
    device = array_api_compat.device(x)
    for axis, count in enumerate((rows, columns)):
        lengths = tuple(count if axis == other else length for other, length in enumerate(x.shape))
        if count:
            x = xp.concat([x, xp.zeros(lengths, dtype=x.dtype, device=device)], axis=axis)
    return x


def swizzle(scales: Any, axis: int) -> Any:
    """Return scales, of a dtype that the library computes with, in tiles: 1-D."""
    xp = namespace(scales)
    if 0 in scales.shape:
        return xp.zeros((0,), dtype=scales.dtype, device=array_api_compat.device(scales))
    columns = scales.shape[axis]
    rows = math.prod(scales.shape[:axis]) * math.prod(scales.shape[axis + 1 :])
    matrix = xp.reshape(xp.moveaxis(scales, axis, -1), (rows, columns))
    matrix = _padded(matrix, -rows % _ROWS, -columns % _COLUMNS, xp)
    down, across = matrix.shape[0] // _ROWS, matrix.shape[1] // _COLUMNS
    tiles = xp.reshape(matrix, (down, _ROWS // _INTERLEAVED, _INTERLEAVED, across, _COLUMNS))
    return xp.reshape(xp.permute_dims(tiles, (0, 3, 2, 1, 4)), (-1,))


def unswizzle(tiles: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Return the scales of a shape from their tiles, 1-D."""
    xp = namespace(tiles)
    if 0 in shape:
        return xp.zeros(shape, dtype=tiles.dtype, device=array_api_compat.device(tiles))
    others = (*shape[:axis], *shape[axis + 1 :])
    rows, columns = math.prod(others), shape[axis]
    down, across = -(-rows // _ROWS), -(-columns // _COLUMNS)
    matrix = xp.reshape(tiles, (down, across, _INTERLEAVED, _ROWS // _INTERLEAVED, _COLUMNS))
    matrix = xp.reshape(xp.permute_dims(matrix, (0, 3, 2, 1, 4)), (down * _ROWS, across * _COLUMNS))
    return xp.moveaxis(xp.reshape(matrix[:rows, :columns], (*others, columns)), -1, axis)
