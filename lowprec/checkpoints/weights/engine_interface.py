"""What the file of an engine offers and reads: a tensor that a weight is stored in, and values of a description."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...spec.formats import Format
from ..files.errors import FileError
from ..schemes.scale_grid import Grid
from ..schemes.scheme import BlockType

__all__ = [
    "CODES", "GLOBAL_SCALE", "SCALES", "Output", "block_of", "check_module_lists", "described_block",
    "described_grid", "described_group", "wrong_value",
]  # fmt: skip

CODES, SCALES, GLOBAL_SCALE = "codes", "scales", "global_scale"
"""The roles of what is computed: codes, scales, a scale in float32 of a whole tensor. Others have their content."""

MODULE_LISTS = ("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules")
"""Where a configuration lists modules that are not quantized."""


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


def wrong_value(key: str, must: str, value: object) -> FileError:
    """Return an error about an entry of a configuration."""
    return FileError(f"config.json: {key} must be {must}; got {ascii(value)[:40]}")


def block_of(value: object) -> tuple[int, int] | None:
    """Return the rows and columns of a block as a configuration has them; None for anything else."""
    if isinstance(value, list) and len(value) == 2 and all(type(n) is int and n > 0 for n in value):
        return value[0], value[1]
    return None


def described_block(description: Mapping[str, Any], key: str, *, text: bool = False) -> tuple[int, int] | None:
    """Return the rows and columns of a block; None where the configuration names none.

    With `text`, "128x128" is one too, as older files of compressed-tensors have it.
    """
    value = description.get(key)
    match = re.fullmatch("([1-9][0-9]{0,8})x([1-9][0-9]{0,8})", value) if text and isinstance(value, str) else None
    block = (int(match[1]), int(match[2])) if match else block_of(value)
    if value is not None and block is None:
        raise wrong_value(key, "a list of two positive integers, rows and columns", value)
    return block


def described_group(description: Mapping[str, Any], key: str = "group_size") -> int | None:
    """Return how many elements share a scale, -1 for all of a row; None where the configuration does not say."""
    size = description.get(key)
    if size is not None and (type(size) is not int or not (size > 0 or size == -1)):
        raise wrong_value(key, "a positive integer or -1", size)
    return size


def described_grid(weights: Mapping[str, Any]) -> Grid | None:
    """Return which elements share a scale, as a group of compressed-tensors says it; None where it does not."""
    size, block = weights.get("group_size"), described_block(weights, "block_structure", text=True)
    strategy = weights.get("strategy") or ("group" if size else None)
    if strategy in ("group", "tensor_group"):
        return Grid(1, size) if type(size) is int and size > 0 else None
    if strategy == "block":
        return Grid(*block) if block else None
    return {"tensor": Grid(0, 0), "channel": Grid(1, 0)}.get(str(strategy))


def check_module_lists(description: Mapping[str, Any]) -> None:
    """Raise FileError unless the lists of modules that are not quantized are lists of names."""
    for key in MODULE_LISTS:
        value = description.get(key)
        if value is not None and not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
            raise wrong_value(key, "a list of names of modules", value)
