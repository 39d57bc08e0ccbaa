"""The presets of llm-compressor: its arithmetic, in the layout of compressed-tensors."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from ...spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, INT8, UINT8
from ..containers.tensors import StoredTensor
from ..layouts import compressed_tensors_output as layout
from ..schemes.llm_compressor import TOOL
from ..schemes.scheme import GlobalScale, Grid, Packing, Scheme
from .experts import Experts, experts_module_of
from .recipe import TRANSFORMERS, Recipe
from .selection import linear_module

__all__ = ["RECIPES"]

_TOKEN = (("dynamic", True), ("strategy", "token"))
_GROUP = (("dynamic", True), ("group_size", 128), ("strategy", "group"))


def _ignored(tensor: StoredTensor) -> str:
    """Return what the list of layers that are kept says of a tensor: of experts, an expression for all their layers."""
    module = experts_module_of(tensor)
    return f"re:{re.escape(module)}\\." if module else linear_module(tensor)


def _recipe(
    name: str, preset: str, summary: str, scheme: Scheme, activations: tuple[tuple[str, Any], ...] | None = None,
) -> Recipe:  # fmt: skip
    """Return the recipe for a preset; `activations` is what it says of a layer's inputs beyond the defaults."""
    return Recipe(
        name,
        summary,
        layout.NAME,
        "vLLM, SGLang, transformers",
        scheme,
        scheme.scale == BFLOAT16,
        TOOL,
        layout.outputs,
        partial(layout.describe, preset, None if activations is None else dict(activations)),
        ignored=_ignored,
        listed=layout.listed,
        experts=Experts.SEPARATE,
        checked=f"llm-compressor 0.14.0.1 with compressed-tensors {layout.VERSION}: the same bytes; {TRANSFORMERS}",
    )


RECIPES = (
    _recipe(
        "fp8-dynamic", "FP8_DYNAMIC", "FP8, a scale to a row",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, BFLOAT16, Grid(1, 0)), _TOKEN,
    ),
    _recipe(
        "fp8-block", "FP8_BLOCK", "FP8, a scale to 128 x 128",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, BFLOAT16, Grid(128, 128)), _GROUP,
    ),
    _recipe(
        "int8", "W8A8", "int8, a scale to a row",
        Scheme(INT8, Packing.NONE, BFLOAT16, Grid(1, 0)), (*_TOKEN, ("type", "int")),
    ),
    _recipe(
        "w4a16", "W4A16", "4-bit integers in 32-bit words, a scale to 128 columns",
        Scheme(UINT8, Packing.WORDS, BFLOAT16, Grid(1, 128), bits=4),
    ),
    _recipe(
        "w4a16-g32", "W4A16", "4-bit integers in 32-bit words, a scale to 32 columns",
        Scheme(UINT8, Packing.WORDS, BFLOAT16, Grid(1, 32), bits=4),
    ),
    _recipe(
        "mxfp4a16", "MXFP4A16", "FP4, a power of two to 32 columns",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32)),
    ),
    _recipe(
        "mxfp8", "MXFP8A16", "FP8, a power of two to 32 columns",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT8_E8M0FNU, Grid(1, 32)),
    ),
    _recipe(
        "nvfp4a16", "NVFP4A16", "FP4, an FP8 scale to 16 columns, a float32 scale to tensors that are fused",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.INVERSE),
    ),
)  # fmt: skip
