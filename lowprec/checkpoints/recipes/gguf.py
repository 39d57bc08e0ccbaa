"""The types of GGUF: ggml's arithmetic, for the tensors that llama.cpp quantizes if all get one type."""

from __future__ import annotations

from functools import partial

from ..containers.gguf_file import GgufFile
from ..containers.tensors import StoredTensor
from ..layouts import gguf as layout
from ..schemes.block_type import BlockType
from ..schemes.ggml import BLOCK_TYPES, TOOL, WHOLE_TYPES
from .recipe import Recipe
from .selection import FORMATS

__all__ = ["RECIPES"]

SMALL = (
    "_norm.weight", "ffn_gate_inp.weight", "ffn_gate_tid2eid.weight", "altup", "laurel", "per_layer_model_proj",
    "ssm_conv1d", "shortconv.conv.weight", "indexer.k_proj.weight", "indexer.q_proj.weight", "time_mix_first.weight",
    "time_mix_w0.weight", "time_mix_w1.weight", "time_mix_w2.weight", "time_mix_v0.weight", "time_mix_v1.weight",
    "time_mix_v2.weight", "time_mix_a0.weight", "time_mix_a1.weight", "time_mix_a2.weight", "time_mix_g1.weight",
    "time_mix_g2.weight", "time_mix_decay_w1.weight", "time_mix_decay_w2.weight", "time_mix_lerp_fused.weight",
    "attn_rel_b.weight", ".position_embd", "sam.pos_embd", "sam.neck.", "sam.net_", ".rel_pos", ".patch_embd",
    ".patch_merger", "a.rvq.codebook", "mm.a.code_embd",
)  # fmt: skip
"""Parts of the names of tensors that llama.cpp does not quantize: norms, routers, small and positional tensors."""

NAMES = ("position_embd.weight", "token_types.weight")
"""Names of such tensors."""


def _why_unfit(kind: BlockType, tensor: StoredTensor) -> str:
    """Return why a tensor cannot be stored in a type for what it is, or nothing."""
    if tensor.type_name == kind.name:
        return f"{kind.name} already"
    if tensor.fmt is None and tensor.type_name not in BLOCK_TYPES:
        return "its blocks are only copied"
    if tensor.fmt not in (*FORMATS, None):
        return "no floats of 16 or 32 bits"
    if not tensor.name.endswith("weight") or all(length <= 1 for length in tensor.shape[:-1]):
        return "no weight of two axes"
    return ""


def _why_kept(tensor: StoredTensor) -> str:
    """Return why llama.cpp would keep a tensor for its name, or nothing."""
    return "llama.cpp keeps it" if tensor.name in NAMES or any(part in tensor.name for part in SMALL) else ""


def _recipe(name: str, kind: BlockType, summary: str) -> Recipe:
    return Recipe(
        name=name,
        summary=summary,
        layout=layout.NAME,
        readers="llama.cpp",
        scheme=layout.scheme_of(kind),
        source_scales=False,
        tool=TOOL,
        outputs=layout.outputs,
        describe=layout.describe,
        why_unfit=partial(_why_unfit, kind),
        why_kept=_why_kept,
        ignored=lambda tensor: "",
        containers=(GgufFile,),
        mixes_types=True,
    )


RECIPES = (
    _recipe("q8_0", BLOCK_TYPES["Q8_0"], "GGUF: 8-bit integers, an F16 scale to 32 columns"),
    _recipe("q4_0", BLOCK_TYPES["Q4_0"], "GGUF: 4-bit integers, an F16 scale to 32 columns"),
    _recipe("mxfp4", BLOCK_TYPES["MXFP4"], "GGUF: FP4, a power of two to 32 columns"),
    _recipe("bf16", WHOLE_TYPES["BF16"], "GGUF: BF16"),
    _recipe("f16", WHOLE_TYPES["F16"], "GGUF: F16"),
)
