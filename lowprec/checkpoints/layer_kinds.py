"""The kind of layer that a tensor belongs to, from its name: q_proj, experts, input_layernorm."""

from __future__ import annotations

import re

__all__ = ["layer_kind"]

_EXPERTS = re.compile(r"(\w+_)?experts?")
"""Modules of experts, whatever their own modules are called: experts, shared_experts, shared_expert."""


def layer_kind(name: str) -> str:
    """Return the last name of a tensor's module, without numbers; a name of one part is a kind of its own.

    Examples
    --------
    >>> layer_kind("model.layers.3.self_attn.q_proj.weight"), layer_kind("model.layers.3.mlp.experts.7.w1.weight")
    ('q_proj', 'experts')
    >>> layer_kind("transformer_blocks.0.attn.to_out.0.weight"), layer_kind("lm_head.weight")
    ('to_out', 'lm_head')
    """
    *module, last = re.split(r"[./]", name)
    names = [one for one in module if one and not one.isdecimal()]
    experts = next((one for one in names if _EXPERTS.fullmatch(one)), "")
    return experts or (names[-1] if names else re.sub(r"_\d+$", "", last))
