"""A type of GGUF: blocks of bytes, each with the codes and the scales of some consecutive elements of a row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BlockType"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class BlockType:
    """How a block is spelled in bytes.

    Attributes
    ----------
    name : str
        As GGUF has it.
    size, nbytes : int
        How many elements a block has, and how many bytes.
    decode : callable
        Write the values of blocks, uint8 with a row to each, to float32 with a row to each.
    encode : callable, optional
        Return blocks of finite values, float32 with a row to each; None where blocks are only read.
    """

    name: str
    size: int
    nbytes: int
    decode: Callable[[Array, Array], None]
    encode: Callable[[Array], Array] | None = None

    def row_bytes(self, columns: int) -> int:
        """Return how many bytes a row of whole blocks takes."""
        return columns // self.size * self.nbytes
