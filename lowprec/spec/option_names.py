"""The options that have a closed list of names, as types: a type checker refuses any other name.

The tuples that the checks read are made of them, or are compared with them by tests.
"""

from __future__ import annotations

from typing import Literal

__all__ = [
    "BlockRuleName", "LayoutName", "LibraryName", "NaNCodesName", "NaNName", "Nvfp4RuleName", "OverflowName",
    "ProgressName", "RecipeName", "RoundModeName", "RoundingName", "ScaleRuleName", "SpecialsName",
]  # fmt: skip

RoundingName = Literal[
    "nearest_even", "nearest_away", "nearest_zero", "toward_zero", "away_from_zero", "toward_positive",
    "toward_negative", "to_odd", "stochastic", "stochastic_a", "stochastic_b", "stochastic_c",
]  # fmt: skip
"""Which of the two neighbours a number becomes."""

OverflowName = Literal["sat_finite", "sat_propagate", "ovf_inf"]
"""What becomes of Inf, and of what rounds beyond the largest value."""

NaNName = Literal["signed", "plain", "zero", "largest"]
"""What becomes of NaN."""

RoundModeName = Literal["up", "down", "nearest"]
"""ONNX's round mode of casts to powers of two."""

ScaleRuleName = Literal["floor", "ceil", "rceil", "even", "nearest"]
"""How the largest magnitude of a block becomes a power of two."""

Nvfp4RuleName = Literal["torchao", "modelopt", "transformer_engine"]
"""Whose bits NVFP4 has."""

BlockRuleName = ScaleRuleName | Nvfp4RuleName
"""The rule of a block format, MX or NVFP4."""

SpecialsName = Literal["nan", "ignore"]
"""What a block with NaN or Inf becomes."""

NaNCodesName = Literal["ieee", "all-ones", "negative-zero", "none"]
"""Which codes of a described format are NaN."""

ProgressName = Literal["auto", "bar", "plain", "none"]
"""How the progress of a conversion is shown."""

LibraryName = Literal["numpy", "torch"]
"""Whose arrays a checkpoint is read into."""

LayoutName = Literal["compressed-tensors", "modelopt"]
"""Whose names of tensors a quantized checkpoint gets."""

RecipeName = Literal[
    "fp8-dynamic", "fp8-block", "int8", "w4a16", "w4a16-g32", "mxfp4a16", "mxfp8", "nvfp4a16", "deepseek-fp8",
    "deepseek-fp8-ue8m0", "gptoss-mxfp4", "comfy-fp8", "comfy-mxfp8", "comfy-nvfp4", "modelopt-fp8",
    "modelopt-fp8-dynamic", "modelopt-nvfp4", "q8_0", "q4_0", "mxfp4", "bf16", "f16", "fnuz", "fn",
]  # fmt: skip
"""How `convert` quantizes the weights of a model."""
