"""How the numbers of a quantized weight are stored: codes, their packing, their scales; the tool that computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from ...backends.ggml_blocks import decode_blocks, encode_blocks
from ...spec.formats import Format
from .scale_grid import Grid

__all__ = [
    "BlockType", "GlobalScale", "Packing", "Scheme", "Tool", "WordOrder", "codes_text", "scheme_name",
    "scheme_text",
]  # fmt: skip

Array = np.ndarray[Any, Any]

_MX_GROUP = 32


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


def codes_text(scheme: Scheme) -> str:
    """Return the kind of the codes: FP8, FP4, int8, int4."""
    if scheme.packing is Packing.WORDS:
        return f"int{scheme.bits}"
    return f"{'FP' if scheme.codes.is_float else 'int'}{scheme.codes.bits}"


def _is_mx(scheme: Scheme) -> bool:
    """Whether groups of 32 share a scale that is a power of two, as in the OCP MX formats."""
    powers = scheme.scale.is_float and not scheme.scale.has_zero
    return powers and (scheme.grid.rows, scheme.grid.columns) == (1, _MX_GROUP)


def scheme_name(scheme: Scheme) -> str:
    """Return the name that people use: MXFP4, NVFP4, block FP8 128x128, int8 per row, int4 in groups of 128."""
    if scheme.blocks is not None:
        return scheme.blocks.name
    codes, grid = codes_text(scheme), scheme.grid
    if scheme.codes.is_float and _is_mx(scheme):
        return f"MX{codes}"
    if scheme.global_scale is not GlobalScale.NONE:
        return f"NV{codes}"
    if grid.rows > 1 and grid.columns > 1:
        return f"block {codes} {grid.rows}x{grid.columns}"
    if grid.rows == 1 and grid.columns:
        return f"{codes} in groups of {grid.columns}"
    return f"{codes} per {grid.text().removeprefix('a ')}"


def scheme_text(scheme: Scheme) -> str:
    """Return codes and scales in a line: float8_e4m3fn, a float32 scale to 128 x 128."""
    if scheme.blocks is not None:
        return f"{scheme.blocks.name}: {scheme.blocks.nbytes} bytes to {scheme.blocks.size} columns"
    codes = f"{scheme.bits}-bit integers in words" if scheme.packing is Packing.WORDS else scheme.codes.name
    text = f"{codes}, a {scheme.scale.name} scale to {scheme.grid.text()}"
    second = {GlobalScale.FACTOR: ", times a second one", GlobalScale.INVERSE: ", divided by a second one"}
    return text + second.get(scheme.global_scale, "") + (", in tiles of 128 x 4" if scheme.tiles else "")


@dataclass(frozen=True, slots=True)
class Tool:
    """How a tool quantizes.

    Attributes
    ----------
    name : str
        The tool's.
    quantize : callable
        Takes rows of a weight, as unsigned codes of a format, all finite, with whole blocks of rows; that format; the
        scheme; and the scale of the whole tensor or None. Returns unsigned codes of the scales, a row and a column to
        each scale, and rows of bytes of the codes. Where there is no other scale than that of the whole tensor, it is
        returned for each row.
    second_scale : callable, optional
        Takes the largest magnitude of a tensor, or of all tensors that share the scale, and their format; returns the
        scale of the whole tensor.
    rule : callable, optional
        Takes a scheme; returns the formulas of scales and codes, in lines for people.
    takes_scale_rule : bool
        Whether `quantize` takes a keyword `scale_rule`, where scales are powers of two: the name of a rule in place of
        the tool's own, None for that.
    """

    name: str
    quantize: Callable[..., tuple[Array, Array]]
    second_scale: Callable[[float, Format], np.float32] | None = None
    rule: Callable[[Scheme], Sequence[str]] | None = None
    takes_scale_rule: bool = False
