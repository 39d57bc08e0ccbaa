"""What shares a scale: as shapes of scales tell it, as rows and columns, in words; as `scale` asks for it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ops.scales import scale_codes
from ...spec.formats import NUMERIC, Format
from ...spec.scalar_arguments import shown

__all__ = [
    "SCALE_FORMATS", "SCALE_SUFFIX", "Grid", "GridError", "ScaleRequest", "grid_of", "noted_grid",
    "parse_scale_request",
]  # fmt: skip

Array = np.ndarray[Any, Any]

SCALE_FORMATS = tuple(fmt for fmt in NUMERIC if fmt.is_float and (fmt.bits in (16, 32) or not fmt.has_zero))
"""What QuantizeLinear takes for scales."""

SCALE_SUFFIX = "_scale"
"""What is added to a tensor's name for its scales."""

LARGEST_BLOCK = 1 << 16


class GridError(ValueError):
    """Scales have a shape that fits no weight of another shape."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Which elements of a weight share a scale.

    A weight is a matrix: its last axis are the columns, all other axes the rows.

    Attributes
    ----------
    rows, columns : int
        How many rows and columns share a scale; 0 for all of them.
    period : int
        After how many rows a new matrix of scales starts, as with experts; 0 for never.
    repeats : bool
        Whether all periods have the same scales.
    """

    rows: int
    columns: int
    period: int = 0
    repeats: bool = False

    @property
    def unit(self) -> int:
        """How many rows a matrix is cut between multiples of: those that share a scale, one where all do."""
        return max(1, self.rows)

    def extent(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Return how many rows and columns of a matrix share a scale, at most those that it has."""
        *_, rows, columns = (1, 1, *shape)
        return min(self.rows or rows, rows), min(self.columns or columns, columns)

    def text(self) -> str:
        """Return which elements share a scale, without a noun: a tensor, a row, 128 x 128, 32 columns."""
        if not self.rows and not self.columns:
            return "a matrix" if self.period else "a tensor"
        if not self.columns:
            return "a row" if self.rows == 1 else f"{self.rows} rows"
        if not self.rows:
            return "a column" if self.columns == 1 else f"{self.columns} columns of all rows"
        return f"{self.columns} columns" if self.rows == 1 else f"{self.rows} x {self.columns}"

    def shape(self, rows: int, columns: int) -> tuple[int, int]:
        """Return how many rows and columns of scales a weight has."""
        wide = -(-columns // self.columns) if self.columns else 1
        period = self.period or rows
        high = -(-period // self.rows) if self.rows else 1
        return high if self.repeats or not self.period else high * (rows // self.period), wide

    def indices(self, first: int, count: int, rows: int) -> Array:
        """Return the row of scales of each of `count` rows from `first` on."""
        period = self.period or rows
        number, inside = np.divmod(np.arange(first, first + count), period)
        high = -(-period // self.rows) if self.rows else 1
        height = min(self.rows, max(rows, 1))  # a configuration may say any integer
        index: Array = inside // height if height else np.zeros_like(inside)
        return index if self.repeats else index + number * high


def grid_of(shape: tuple[int, ...], scales: tuple[int, ...], block: tuple[int, int] | None = None) -> Grid:
    """Return which elements share a scale, from the shapes.

    Parameters
    ----------
    shape : tuple of int
        The weight's.
    scales : tuple of int
        The shape of one scale; one to a row, with or without a last axis of 1; one to a block of rows and columns; each
        of these for every index of the first axis where the weight has three.
    block : tuple of int, optional
        The rows and columns of a block, if the checkpoint names them; scales of as many axes as the weight must fit.

    Raises
    ------
    GridError
        If the shape of the scales is none of these.
    """
    *experts, rows, columns = (*(1,) * (2 - len(shape)), *shape)
    in_blocks = len(scales) == len(shape) >= 2 and scales[:-2] == shape[:-2]
    if block and in_blocks:
        blocks = [block]
    elif math.prod(scales) == 1:
        return Grid(0, 0)
    elif experts and scales in [(*experts, *(1,) * n) for n in range(3)]:
        return Grid(0, 0, rows)
    elif columns > 1 and scales in [(*experts, rows), (*experts, rows, 1)]:
        return Grid(1, 0, rows)
    else:
        blocks = [(1, _width(columns, scales[-1])), (128, 128), (64, 64), (256, 256)] if in_blocks else []
    for height, width in blocks:
        if width and (-(-rows // height), -(-columns // width)) == scales[-2:]:
            return Grid(height, width, rows)
    blocked = f" in blocks of {block[0]} x {block[1]}" if block else ""
    raise GridError(f"has the shape {list(scales)}, which fits no weight of shape {list(shape)}{blocked}")


def _width(columns: int, count: int) -> int:
    """Return how many columns share a scale where a row has `count` scales; 0 if no length fits."""
    if count and columns % count == 0:
        return columns // count
    return next((width for width in (16, 32, 64, 128) if -(-columns // width) == count), 0)


def noted_grid(
    shape: tuple[int, ...], scales: tuple[int, ...], axis: int | None, block: tuple[int, int] | None
) -> Grid:
    """Return the same where one scale to each index of an axis is possible too, and a file may note axis or block."""
    if scales == ():
        return Grid(0, 0)
    if block is not None and len(shape) == len(scales) == 1:
        return grid_of((1, *shape), (1, *scales), block)
    if block is not None or (len(scales) == len(shape) and scales[:-1] == shape[:-1]):
        return grid_of(shape, scales, block)
    axes = [one for one, length in enumerate(shape) if scales == (length,) and axis in (None, one)]
    if len(axes) != 1:
        why = "fits no axis" if not axes else f"fits the axes {', '.join(map(str, axes))}"
        raise GridError(f"has the shape {list(scales)}, which {why} of a tensor of shape {list(shape)}")
    if axes[0] == len(shape) - 1:
        return Grid(0, 1, 0, repeats=True)
    inner = math.prod(shape[axes[0] + 1 : -1]) or 1  # a weight without elements has its scales too
    return Grid(inner, 0, shape[axes[0]] * inner, repeats=True)


@dataclass(frozen=True, slots=True)
class ScaleRequest:
    """Which elements of a tensor, of any number of axes, shall share a scale.

    Attributes
    ----------
    fmt : Format
        The format of the scales.
    axis : int or None
        The axis along which scales run; None for one scale.
    block_size : int
        How many elements along the axis share one, which is the last one then; 0 for one scale to each index.
    rule : str or None
        The scale rule of scales that are powers of two; None for ``"floor"``.
    """

    fmt: Format
    axis: int | None = None
    block_size: int = 0
    rule: str | None = None

    def scale_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a tensor's scales."""
        if self.axis is None:
            return ()
        return (*shape[:-1], -(-shape[-1] // self.block_size)) if self.block_size else (shape[self.axis],)

    def scale_codes(self, magnitudes: np.ndarray[Any, Any], to: Format) -> np.ndarray[Any, Any]:
        """Return the codes of the scales of largest magnitudes, float64."""
        return scale_codes(magnitudes, to, self.fmt, self.rule or "floor")

    def has_axis(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor has the axis that was asked for."""
        return self.axis is None or bool(self.block_size) or -len(shape) <= self.axis < len(shape)

    def problem(self, shape: tuple[int, ...], fortran: bool) -> str:
        """Return why a tensor cannot be scaled so, or nothing."""
        if self.block_size:
            if not shape:
                return "it has no axis"
            return "its rows are not contiguous" if fortran and len(shape) > 1 else ""
        if not self.has_axis(shape):
            return f"it has no axis {self.axis}"
        return "each element would have a scale" if self.axis is not None and len(shape) < 2 else ""

    def view(self, shape: tuple[int, ...], fortran: bool) -> tuple[int, int, int]:
        """Return the memory of a tensor as three axes, the middle one of which runs along the scales."""
        if self.axis is None:
            return (1, 1, math.prod(shape))
        axis = self.axis % len(shape)
        if fortran:
            shape, axis = shape[::-1], len(shape) - 1 - axis
        return (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


def parse_scale_request(text: object, fmt: Format) -> ScaleRequest | None:
    """Return what ``none``, ``tensor``, ``axis:N`` or ``block:B`` asks for; raise ValueError for anything else."""
    if isinstance(text, str):
        if text == "none":
            return None
        if text == "tensor":
            return ScaleRequest(fmt)
        match = re.fullmatch(r"axis:(-?[0-9]{1,2})|block:([0-9]{1,5})", text)
        if match and match[1]:
            return ScaleRequest(fmt, int(match[1]))
        if match and 1 <= int(match[2]) <= LARGEST_BLOCK:
            return ScaleRequest(fmt, -1, int(match[2]))
    raise ValueError(f"`scale` must be none, tensor, axis:N or block:B, B from 1 to {LARGEST_BLOCK}; got {shown(text)}")
