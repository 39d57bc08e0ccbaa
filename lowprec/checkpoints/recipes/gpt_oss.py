"""MXFP4 as gpt-oss stores its experts: the arithmetic of triton_kernels."""

from __future__ import annotations

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E8M0FNU
from ..layouts import gpt_oss_output as layout
from ..schemes.scheme import Grid, Packing, Scheme
from ..schemes.triton_kernels import TOOL
from .recipe import TRANSFORMERS, Recipe
from .selection import experts_module, why_no_experts

__all__ = ["RECIPES"]

RECIPES = (
    Recipe(
        "gptoss-mxfp4",
        "the experts of gpt-oss in FP4, a power of two to 32 inputs",
        layout.NAME,
        "transformers, vLLM, llama.cpp",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32)),
        False,
        TOOL,
        layout.outputs,
        layout.describe,
        why_no_experts,
        ignored=experts_module,
        transposed=True,
        models=("gpt_oss",),
        checked=TRANSFORMERS,
    ),
)
