"""Blocks of bytes that hold the codes and the scales of some consecutive elements of a row, as GGUF has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...spec.formats import Format

__all__ = ["BlockType", "Encoding"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Encoding:
    """How blocks are written.

    Attributes
    ----------
    encode : callable
        Return blocks, uint8 with a row to each, of finite values, float32 with a row to each.
    codes : Format, optional
        The format that has the range of the codes; None where no number is beyond it.
    factors : callable, optional
        Return what the codes of blocks are multiplied by, float32 in a column; 1 stands for 0.
    """

    encode: Callable[[Array], Array]
    codes: Format | None = None
    factors: Callable[[Array], Array] | None = None


@dataclass(frozen=True, slots=True)
class BlockType:
    """How a block is spelled in bytes.

    Attributes
    ----------
    name : str
        As the file format has it.
    size, nbytes : int
        How many elements a block has, and how many bytes.
    decode : callable
        Write the values of blocks, uint8 with a row to each, to float32 with a row to each.
    encoding : Encoding, optional
        How blocks are written; None where they are only read.
    """

    name: str
    size: int
    nbytes: int
    decode: Callable[[Array, Array], None]
    encoding: Encoding | None = None

    def row_bytes(self, columns: int) -> int:
        """Return how many bytes a row of whole blocks takes."""
        return columns // self.size * self.nbytes
