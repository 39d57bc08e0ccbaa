"""What shares a scale: of a weight that is stored, and as `scale` asks for it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ops.scales import scale_codes
from ...spec.formats import NUMERIC, Format
from ...spec.scalar_arguments import shown

__all__ = ["SCALE_FORMATS", "SCALE_SUFFIX", "Grid", "ScaleLayout", "parse_scale_layout"]

Array = np.ndarray[Any, Any]

SCALE_FORMATS = tuple(fmt for fmt in NUMERIC if fmt.is_float and (fmt.bits in (16, 32) or not fmt.has_zero))
"""What QuantizeLinear takes for scales."""

SCALE_SUFFIX = "_scale"
"""What is added to a tensor's name for its scales."""

LARGEST_BLOCK = 1 << 16


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


@dataclass(frozen=True, slots=True)
class ScaleLayout:
    """Which elements share a scale: all (``"tensor"``), those at one index of an axis, or a block of the last axis.

    `rule` is the scale rule of scales that are powers of two; None for ``"floor"``.
    """

    kind: str
    fmt: Format
    axis: int = 0
    block_size: int = 0
    rule: str | None = None

    def scale_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a tensor's scales."""
        if self.kind == "tensor":
            return ()
        if self.kind == "axis":
            return (shape[self.axis],)
        return (*shape[:-1], -(-shape[-1] // self.block_size))

    def scale_codes(self, magnitudes: np.ndarray[Any, Any], to: Format) -> np.ndarray[Any, Any]:
        """Return the codes of the scales of largest magnitudes, float64."""
        return scale_codes(magnitudes, to, self.fmt, self.rule or "floor")

    def has_axis(self, shape: tuple[int, ...]) -> bool:
        """Whether a tensor has the axis along which scales run."""
        return self.kind != "axis" or -len(shape) <= self.axis < len(shape)

    def problem(self, shape: tuple[int, ...], fortran: bool) -> str:
        """Return why a tensor cannot be scaled so, or nothing."""
        if self.kind == "tensor":
            return ""
        if self.kind == "axis":
            if not self.has_axis(shape):
                return f"it has no axis {self.axis}"
            return "each element would have a scale" if len(shape) < 2 else ""
        if not shape:
            return "it has no axis"
        return "its rows are not contiguous" if fortran and len(shape) > 1 else ""

    def view(self, shape: tuple[int, ...], fortran: bool) -> tuple[int, int, int]:
        """Return the memory of a tensor as three axes, the middle one of which runs along the scales."""
        if self.kind == "tensor":
            return (1, 1, math.prod(shape))
        if self.kind == "block":
            return (math.prod(shape[:-1]), shape[-1], 1)
        axis = self.axis % len(shape)
        if fortran:
            shape, axis = shape[::-1], len(shape) - 1 - axis
        return (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


def parse_scale_layout(text: object, fmt: Format) -> ScaleLayout | None:
    """Return what ``none``, ``tensor``, ``axis:N`` or ``block:B`` asks for; raise ValueError for anything else."""
    if isinstance(text, str):
        if text == "none":
            return None
        if text == "tensor":
            return ScaleLayout("tensor", fmt)
        match = re.fullmatch(r"axis:(-?[0-9]{1,2})|block:([0-9]{1,5})", text)
        if match and match[1]:
            return ScaleLayout("axis", fmt, axis=int(match[1]))
        if match and 1 <= int(match[2]) <= LARGEST_BLOCK:
            return ScaleLayout("block", fmt, block_size=int(match[2]))
    raise ValueError(f"`scale` must be none, tensor, axis:N or block:B, B from 1 to {LARGEST_BLOCK}; got {shown(text)}")
