"""One of the tensors that a quantized weight is stored in: its role, name, type and shape."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec.formats import Format

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
    """

    role: str
    name: str
    fmt: Format
    shape: tuple[int, ...]
    content: bytes | None = None
