"""How the numbers of a quantized weight are stored: the codes, their packing, the scales and what shares them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from ...spec.formats import Format
from .block_type import BlockType

__all__ = ["GlobalScale", "Grid", "Packing", "Scheme", "WordOrder"]

Array = np.ndarray[Any, Any]


class Packing(Enum):
    """How codes narrower than a byte share bytes."""

    NONE = "each code has bytes of its own"
    LOW_FIRST = "the first code in the low bits, as ONNX, OCP MX and safetensors have it"
    HIGH_FIRST = "the first code in the high bits, as ComfyUI has it"
    WORDS = "a row is a string of bits in little-endian 32-bit words; codes are offset by half their range"


class WordOrder(Enum):
    """Where the codes of `Packing.WORDS` lie in a file; whoever reads them brings them into the order of `ROWS`."""

    ROWS = "a row is a string of bits; so is a column of zero points"
    INTERLEAVED = "a word has the columns 0, 2, 4, 6, 1, 3, 5, 7 of eight, as AWQ has it; so do zero points"
    COLUMNS = "a column is a string of bits, as GPTQ has it, and a row of zero points is one"


class GlobalScale(Enum):
    """What a second scale, one for all of a tensor, does."""

    NONE = "there is none"
    FACTOR = "scales are multiplied by it"
    INVERSE = "scales are divided by it"


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
class Scheme:
    """How the numbers of a weight are stored.

    Attributes
    ----------
    codes : Format
        The format of the codes; uint8 for `Packing.WORDS`.
    packing : Packing
        How codes share bytes.
    scale : Format
        The format of the scales.
    grid : Grid
        Which elements share one.
    global_scale : GlobalScale
        Whether there is a second scale.
    bits : int
        For `Packing.WORDS`: how many bits a code takes, 2 to 8.
    word_order : WordOrder
        For `Packing.WORDS`: where the codes lie in a file.
    zero_offset : int
        For `Packing.WORDS`: what is added to stored zero points, modulo the number of codes.
    tiles : bool
        Whether scales are stored in tiles of 128 rows and 4 columns, as `schemes/tiles.py` says.
    blocks : BlockType, optional
        The blocks of bytes in which codes and scales of a row are stored together; `scale` and `grid` are then those of
        factors besides, if there are any, and of the blocks where they are written.
    powers_of_two : bool
        Whether all scales are, although their format has other values.
    signed_scales : bool
        Whether scales may be negative, as where integers are quantized over their full range; others are an error.
    """

    codes: Format
    packing: Packing
    scale: Format
    grid: Grid
    global_scale: GlobalScale = GlobalScale.NONE
    bits: int = 0
    word_order: WordOrder = WordOrder.ROWS
    zero_offset: int = 0
    tiles: bool = False
    blocks: BlockType | None = None
    powers_of_two: bool = False
    signed_scales: bool = field(default=False, compare=False)

    @property
    def code_name(self) -> str:
        """The name of the format of the codes; those in words are integers of their number of bits."""
        if self.blocks is not None:
            return self.blocks.name
        return f"int{self.bits}" if self.bits else self.codes.name

    def row_bytes(self, columns: int) -> int:
        """Return how many bytes the codes of a row take."""
        if self.blocks is not None:
            return self.blocks.row_bytes(columns)
        if self.packing is Packing.NONE:
            return columns * (self.codes.storage_bits // 8)
        if self.packing is Packing.WORDS:
            return 4 * -(-columns * self.bits // 32)
        return columns * self.codes.bits // 8
