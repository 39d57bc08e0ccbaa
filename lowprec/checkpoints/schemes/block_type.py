"""Blocks of bytes that hold the codes and the scales of some consecutive elements of a row, as GGUF has them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...backends.blocks import decode_blocks, encode_blocks
from ...spec.formats import Format

__all__ = ["BlockType"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class BlockType:
    """How a block is spelled in bytes.

    Attributes
    ----------
    name : str
        As the file format has it.
    size, nbytes : int
        How many elements a block has, and how many bytes.
    decoder : callable, optional
        Write the values of blocks, uint8 with a row to each, to float32 with a row to each; None where compiled loops
        have the name of the type.
    encoder : callable, optional
        Return blocks, uint8, of finite values, which are unsigned codes of a format; None where compiled loops do, or
        nothing does.
    is_written : bool
        Whether blocks are made of values.
    """

    name: str
    size: int
    nbytes: int
    decoder: Callable[[Array, Array], None] | None = None
    encoder: Callable[[Array, Format], Array] | None = None
    is_written: bool = False

    def decode(self, blocks: Array, out: Array) -> None:
        """Write the values of blocks, uint8 with a row to each, to dense float32 with a row to each."""
        if self.decoder is None:
            decode_blocks(self.name, blocks, out)
        else:
            self.decoder(blocks, out)

    def encode(self, x: Array, fmt: Format) -> Array:
        """Return the bytes of blocks of finite values, unsigned codes of a float of up to 32 bits; whole blocks."""
        if self.encoder is not None:
            return self.encoder(x, fmt).reshape(-1)
        out = np.empty(self.row_bytes(x.size), np.uint8)
        encode_blocks(self.name, x, fmt, out)
        return out

    def row_bytes(self, columns: int) -> int:
        """Return how many bytes a row of whole blocks takes."""
        return columns // self.size * self.nbytes
