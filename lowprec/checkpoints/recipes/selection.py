"""Which weights of a model recipes quantize: by their names, shapes and types."""

from __future__ import annotations

import re

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32
from ..containers.tensors import StoredTensor
from .experts import experts_module_of

__all__ = [
    "FORMATS", "experts_module", "fused_group", "linear_module", "module_of", "why_no_experts", "why_no_matrix",
    "why_not_linear",
]  # fmt: skip

FORMATS = (BFLOAT16, FLOAT16, FLOAT32)

KEPT = re.compile(
    r"(^|[._])(lm_head|head|output|embed\w*|wte|wpe|norm\w*|\w*norm|router|vision\w*|visual|audio\w*|gate)($|\.)"
)
"""Parts of the names of modules that engines do not quantize: heads, embeddings, norms, routers, towers."""

FUSED = (("q_proj", "k_proj", "v_proj"), ("gate_proj", "up_proj"), ("w1", "w3"), ("q_a_proj", "kv_a_proj_with_mqa"),
         ("wq_a", "wkv_a_with_mqa"))  # fmt: skip
"""Modules that engines fuse, so that their weights have one second scale."""


def module_of(name: str) -> str:
    """Return the module of a weight."""
    return name.removesuffix(".weight")


def why_no_matrix(tensor: StoredTensor) -> str:
    """Return why a tensor is not the weight of a module, with two axes and of a type that is quantized, or nothing."""
    if not tensor.name.endswith(".weight") or len(tensor.shape) != 2 or tensor.fmt not in FORMATS:
        return f"no weight of two axes in {', '.join(fmt.name for fmt in FORMATS)}"
    return ""


def why_no_experts(tensor: StoredTensor) -> str:
    """Return why a tensor is not the weights of all experts of a layer, of a type that is quantized, or nothing."""
    if not experts_module_of(tensor) or tensor.fmt not in FORMATS:
        return f"no weights of experts, of three axes, in {', '.join(fmt.name for fmt in FORMATS)}"
    return ""


def why_not_linear(tensor: StoredTensor) -> str:
    """Return why a name is not that of a linear layer in a repeated block which engines quantize, or nothing."""
    if not re.search(r"\.\d+\.", tensor.name):
        return "not in a repeated block"
    return "engines keep it" if KEPT.search(module_of(tensor.name)) else ""


def linear_module(tensor: StoredTensor) -> str:
    """Return the linear layer whose weight a tensor is, or nothing.

    Modules whose name ends with "norm" are no linear layers.
    """
    module = module_of(tensor.name)
    return module if module != tensor.name and len(tensor.shape) == 2 and not module.endswith("norm") else ""


def experts_module(tensor: StoredTensor) -> str:
    """Return the module of experts, or the linear layer, whose weight a tensor is, or nothing."""
    return experts_module_of(tensor) or linear_module(tensor)


def fused_group(name: str) -> str:
    """Return what the names of weights have in common that share a second scale."""
    before, _, last = module_of(name).rpartition(".")
    fused = next((names for names in FUSED if last in names), (last,))
    return f"{before}.{'+'.join(fused)}"
