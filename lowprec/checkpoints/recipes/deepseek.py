"""Block FP8 as DeepSeek V3 stores it: DeepGEMM's arithmetic, scales in float32 or powers of two."""

from __future__ import annotations

import re
from functools import partial

from ...spec.formats import FLOAT8_E4M3FN, FLOAT32
from ..containers.tensors import StoredTensor
from ..layouts import fp8_output as layout
from ..schemes.deep_gemm import TOOL, UE8M0
from ..schemes.scheme import Grid, Packing, Scheme
from ..schemes.tool import Tool
from .experts import Experts
from .recipe import TRANSFORMERS, Recipe
from .selection import FORMATS, experts_module, module_of, why_no_experts, why_no_matrix, why_not_linear

__all__ = ["RECIPES", "why_kept", "why_unfit"]

KEPT = re.compile(r"\.(eh_proj|weights_proj)$")
"""Linear layers that DeepSeek keeps: of the layer that predicts further tokens, of the indexer of sparse attention."""


def why_unfit(tensor: StoredTensor) -> str:
    """Return why a tensor is neither a matrix nor the weights of all experts of a layer, or nothing."""
    if why_no_matrix(tensor) and why_no_experts(tensor):
        return f"no weight of two axes, or of experts in three, in {', '.join(fmt.name for fmt in FORMATS)}"
    return ""


def why_kept(tensor: StoredTensor) -> str:
    """Return why a name is not that of a layer which DeepSeek quantizes, or nothing."""
    return why_not_linear(tensor) or ("engines keep it" if KEPT.search(module_of(tensor.name)) else "")


def _recipe(name: str, scale_format: str, summary: str, tool: Tool) -> Recipe:
    return Recipe(
        name,
        summary,
        layout.NAME,
        "vLLM, SGLang, transformers",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(128, 128), powers_of_two=bool(scale_format)),
        False,
        tool,
        layout.outputs,
        partial(layout.describe, scale_format),
        why_unfit,
        why_kept,
        ignored=experts_module,
        experts=Experts.WHOLE,
        checked=TRANSFORMERS,
    )


RECIPES = (
    _recipe("deepseek-fp8", "", "FP8, a float32 scale to 128 x 128", TOOL),
    _recipe("deepseek-fp8-ue8m0", "ue8m0", "FP8, a power of two in float32 to 128 x 128", UE8M0),
)
