"""What ModelOpt writes without data to calibrate with: its arithmetic, in its layout."""

from __future__ import annotations

from functools import partial

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT32
from ..layouts import modelopt_output as layout
from ..schemes import modelopt
from ..schemes.scheme import GlobalScale, Grid, Packing, Scheme
from .experts import Experts
from .recipe import Recipe
from .selection import experts_module

__all__ = ["RECIPES"]

COMPARED = f"ModelOpt {layout.VERSION}: the same codes and scales"

RECIPES = (
    Recipe(
        "modelopt-fp8",
        "FP8, a float32 scale to tensors that are fused; inputs become FP8 as they are, with the scale 1",
        layout.NAME,
        "TensorRT-LLM, vLLM, SGLang",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0)),
        False,
        modelopt.FP8,
        layout.static_outputs,
        partial(layout.describe, layout.FP8),
        ignored=experts_module,
        experts=Experts.SEPARATE,
        checked=COMPARED,
        remark="input_scale is 1, since nothing was calibrated: inputs of layers beyond 448 saturate in the engine "
        "(modelopt-fp8-dynamic has a scale to each token)",
    ),
    Recipe(
        "modelopt-fp8-dynamic",
        "FP8, a float32 scale to a row; inputs become FP8 with a scale to each token",
        layout.NAME,
        "TensorRT-LLM, vLLM",
        Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(1, 0)),
        False,
        modelopt.FP8_ROWS,
        layout.outputs,
        partial(layout.describe, layout.FP8_ROWS),
        ignored=experts_module,
        experts=Experts.SEPARATE,
        checked=COMPARED,
    ),
    Recipe(
        "modelopt-nvfp4",
        "FP4, an FP8 scale to 16 columns, a float32 scale to tensors that are fused; inputs stay as they are",
        layout.NAME,
        "TensorRT-LLM, vLLM",
        Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR),
        False,
        modelopt.NVFP4,
        layout.outputs,
        partial(layout.describe, layout.NVFP4_WEIGHTS),
        ignored=experts_module,
        experts=Experts.SEPARATE,
        checked=COMPARED,
        remark="inputs of layers are not quantized (W4A16_NVFP4): a scale for them would need data to calibrate with",
    ),
)
