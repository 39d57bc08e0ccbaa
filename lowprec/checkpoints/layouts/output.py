"""One of the tensors that a quantized weight is stored in: its role, name, type and shape."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...spec.formats import Format
from ..schemes.block_type import BlockType

__all__ = ["CODES", "GLOBAL_SCALE", "SCALES", "Output"]

CODES, SCALES, GLOBAL_SCALE = "codes", "scales", "global_scale"
"""The roles of what is computed: codes, scales, a scale in float32 of a whole tensor. Others have their content."""


@dataclass(frozen=True, slots=True)
class Output:
    """A tensor of a quantized weight.

    Attributes
    ----------
    role, name : str
        What it holds, and its full name.
    fmt, shape : Format, tuple of int
        Its type and shape in the file.
    content : bytes, optional
        Its bytes, where they follow from the plan.
    blocks : BlockType, optional
        The blocks that its rows consist of, which then count instead of the type.
    """

    role: str
    name: str
    fmt: Format
    shape: tuple[int, ...]
    content: bytes | None = None
    blocks: BlockType | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes it takes."""
        if self.blocks is not None:
            return math.prod(self.shape[:-1]) * self.blocks.row_bytes(self.shape[-1])
        return math.prod(self.shape) * self.fmt.storage_bits // 8
