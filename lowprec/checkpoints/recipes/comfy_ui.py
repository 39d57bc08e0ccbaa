"""Diffusion models for ComfyUI: the arithmetic of comfy-kitchen, in ComfyUI's layout."""

from __future__ import annotations

import re
from functools import partial

from ...spec.formats import FLOAT8_E4M3FN
from ..containers.tensors import StoredTensor
from ..layouts import comfy_ui_output as layout
from ..layouts.comfy_ui import SCHEMES
from ..schemes.comfy_kitchen import FP8_TOOL, MXFP8_TOOL, NVFP4_TOOL
from ..schemes.tool import Tool
from .recipe import Recipe
from .selection import module_of, why_no_matrix

__all__ = ["RECIPES"]

BLOCK = re.compile(r"(^|[._])(\w*blocks?|\w*layers?)\.\d+\.")
"""A block that is repeated: double_blocks.0, single_blocks.0 (Flux, Hunyuan), joint_blocks.0 (SD3), blocks.0 (Wan,
Cosmos), transformer_blocks.0 (Qwen-Image, LTX, SDXL), layers.0 (Z-Image, Lumina)."""

OTHER_MODELS = re.compile(r"^(cond_stage_model|conditioner|text_encoders?|first_stage_model|vae|audio_vae|vocoder)\.")
"""Text encoders and autoencoders in a file with a diffusion model."""

KEPT = (
    (
        re.compile(
            r"distilled_guidance_layer|(^|\.)(nerf_blocks|llm_adapter|face_adapter|face_encoder|motion_encoder|"
            r"audio_injector|casual_audio_encoder|cond_encoder|control_adapter|frame_packer)\.|connector\."
        ),
        "conditioning",
    ),
    (re.compile(r"norm|(^|[._])ln(_|\d|\.|$)"), "a norm"),
    (re.compile(r"embed|(^|[._])emb($|[._])|(^|[._])(img|txt|time|vector|guidance|vision)_in($|\.)"), "an embedding"),
    (re.compile(r"adaln", re.IGNORECASE), "modulation by the time step (adaLN)"),
    (re.compile(r"(^|\.)(first|final|last)_layer\."), "a first or last layer"),
    (re.compile(r"(^|[._])(gate|router|to_gate_logits)$"), "a gate"),
)
"""Parts of the names of modules that converters for ComfyUI keep, inside and around repeated blocks; what they are.

Other modulation in repeated blocks (``img_mod``, ``modulation``) they quantize: a quarter of the numbers of Flux.1, and
a third of Qwen-Image's.
"""


def why_unfit(multiple: int, tensor: StoredTensor) -> str:
    """Return why a tensor is no weight that ComfyUI would store without padding, or nothing.

    ComfyUI pads rows to a multiple, and has the true shape from its model; a file with padded rows says nothing of it.
    """
    rows = tensor.shape[0] if tensor.shape else 0
    return why_no_matrix(tensor) or (f"its rows are not a multiple of {multiple}" if rows % multiple else "")


def why_kept(tensor: StoredTensor) -> str:
    """Return why a weight is not quantized for its name, or nothing."""
    if OTHER_MODELS.search(tensor.name):
        return "part of a text encoder or an autoencoder"
    if not BLOCK.search(tensor.name):
        return "not in a repeated block"
    module = module_of(tensor.name)
    return next((what for pattern, what in KEPT if pattern.search(module)), "")


def _alone(name: str) -> str:
    """Return nothing: every weight has a second scale of its own."""
    return ""


def _recipe(name: str, summary: str, fmt: str, tool: Tool) -> Recipe:
    """Return the recipe for a format of ComfyUI."""
    scheme = SCHEMES[fmt]
    return Recipe(
        name,
        summary,
        layout.NAME,
        "ComfyUI",
        scheme,
        False,
        tool,
        layout.outputs,
        layout.describe,
        partial(why_unfit, scheme.grid.columns or 1),
        why_kept,
        _alone,
        checked=f"{tool.name}: the same codes and scales",
    )


RECIPES = (
    _recipe("comfy-fp8", "FP8, a float32 scale to a tensor", str(FLOAT8_E4M3FN.torch_name), FP8_TOOL),
    _recipe("comfy-mxfp8", "FP8, a power of two to 32 columns", "mxfp8", MXFP8_TOOL),
    _recipe("comfy-nvfp4", "FP4, an FP8 scale to 16 columns, a float32 scale to a tensor", "nvfp4", NVFP4_TOOL),
)
