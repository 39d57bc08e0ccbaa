"""The presets of `lowprec convert --preset`: how weights are stored, and for which engines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT8, UINT8, Format
from .scheme import GlobalScale, Grid, Packing, Scheme

__all__ = ["PRESETS", "Preset", "find_preset"]


@dataclass(frozen=True, slots=True)
class Preset:
    """How the weights of a model are stored.

    Attributes
    ----------
    name, title : str
        Ours, and llm-compressor's.
    scheme : Scheme
        How the weights are stored; its format of scales stands for the type of the weight unless `own_scale`.
    own_scale : bool
        Whether scales have a format of their own.
    activations : tuple
        What the configuration says of a layer's inputs beyond the defaults, in pairs; None where they stay as they are.
    summary : str
        What is written, in a line.
    """

    name: str
    title: str
    scheme: Scheme
    own_scale: bool
    activations: tuple[tuple[str, Any], ...] | None
    summary: str

    def scheme_of(self, fmt: Format) -> Scheme:
        """Return how a weight in `fmt` is stored."""
        return self.scheme if self.own_scale else replace(self.scheme, scale=fmt)

    def problem(self, shape: tuple[int, ...]) -> str:
        """Return why a weight of a shape cannot be stored so, or nothing."""
        columns, width = shape[-1], self.scheme.grid.columns
        if self.scheme.grid.rows == 1 and width and columns % width:
            return f"its rows are not divided into groups of {width}"
        return ""


_TOKEN = (("dynamic", True), ("strategy", "token"))
_GROUP = (("dynamic", True), ("group_size", 128), ("strategy", "group"))

PRESETS = (
    Preset(
        "fp8-dynamic", "FP8_DYNAMIC", Scheme(FLOAT8_E4M3FN, Packing.NONE, BFLOAT16, Grid(1, 0)), False, _TOKEN,
        "FP8, a scale to a row",
    ),
    Preset(
        "fp8-block", "FP8_BLOCK", Scheme(FLOAT8_E4M3FN, Packing.NONE, BFLOAT16, Grid(128, 128)), False, _GROUP,
        "FP8, a scale to 128 x 128",
    ),
    Preset(
        "int8", "W8A8", Scheme(INT8, Packing.NONE, BFLOAT16, Grid(1, 0)), False, (*_TOKEN, ("type", "int")),
        "int8, a scale to a row",
    ),
    Preset(
        "w4a16", "W4A16", Scheme(UINT8, Packing.WORDS, BFLOAT16, Grid(1, 128), bits=4), False, None,
        "4-bit integers in 32-bit words, a scale to 128 columns",
    ),
    Preset(
        "w4a16-g32", "W4A16", Scheme(UINT8, Packing.WORDS, BFLOAT16, Grid(1, 32), bits=4), False, None,
        "4-bit integers in 32-bit words, a scale to 32 columns",
    ),
    Preset(
        "mxfp4a16", "MXFP4A16", Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32)), True, None,
        "FP4, a power of two to 32 columns",
    ),
    Preset(
        "mxfp8", "MXFP8A16", Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT8_E8M0FNU, Grid(1, 32)), True, None,
        "FP8, a power of two to 32 columns",
    ),
    Preset(
        "nvfp4a16", "NVFP4A16",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.INVERSE), True, None,
        "FP4, an FP8 scale to 16 columns, a float32 scale to a tensor or to those that engines fuse",
    ),
)  # fmt: skip
"""All of them are written as llm-compressor writes them, in the layout compressed-tensors."""


def find_preset(name: object, parameter: str = "preset") -> Preset:
    """Return the preset of a name; raise ValueError if there is none."""
    for preset in PRESETS:
        if preset.name == name:
            return preset
    raise ValueError(f"`{parameter}` must be one of {', '.join(one.name for one in PRESETS)}; got {name!r}")
