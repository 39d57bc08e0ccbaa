"""A tiny Llama with random weights, shaped as real ones are: the same bytes with every version of NumPy."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from support.safetensors_writer import save_file

Array = np.ndarray[Any, Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INDEX = "model.safetensors.index.json"
HIDDEN, INNER, HEAD, VOCABULARY = 128, 256, 32, 16
"""Sizes of its layer: columns are multiples of 128, as llm-compressor wants them, rows are not all."""

PROJECTIONS = {
    "self_attn.q_proj": (HIDDEN, HIDDEN), "self_attn.k_proj": (HEAD, HIDDEN), "self_attn.v_proj": (HEAD, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN), "mlp.gate_proj": (INNER, HIDDEN), "mlp.up_proj": (INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}  # fmt: skip


def _weights(rows: int, columns: int, random: np.random.RandomState) -> Array:
    return (random.standard_t(5, (rows, columns)) * 0.05).astype(np.float32).astype(BFLOAT16)


def _copied(make: Callable[[], dict[str, Array]]) -> Callable[[], dict[str, Array]]:
    """Compute tensors once, and return copies that a test may change."""
    cached = functools.cache(make)
    return functools.wraps(make)(lambda: {name: one.copy() for name, one in cached().items()})


@_copied
def llama() -> dict[str, Array]:
    """Return the tensors of a Llama of one layer in bfloat16, with what is hard to quantize in them.

    A row and a block of zeros, zeros of both signs, a row of tiny and one of large numbers, an outlier.
    """
    random = np.random.RandomState(7)
    ones = np.ones(HIDDEN, BFLOAT16)
    tensors = {"model.embed_tokens.weight": _weights(VOCABULARY, HIDDEN, random)}
    for module, (rows, columns) in PROJECTIONS.items():
        weight = tensors[f"model.layers.0.{module}.weight"] = _weights(rows, columns, random)
        weight[3] = 0
        weight[5, :32] = 0
        weight[7, ::3] = -0.0
        weight[9] *= BFLOAT16.type(2.0**-100)
        weight[11] *= BFLOAT16.type(1000)
        weight[13, 4] = 30000
    for norm in ("layers.0.input_layernorm", "layers.0.post_attention_layernorm", "norm"):
        tensors[f"model.{norm}.weight"] = ones
    return {**tensors, "lm_head.weight": _weights(VOCABULARY, HIDDEN, random)}


EXPERTS = "model.layers.0.mlp.experts"
"""The module of the experts."""

ROUTER = "model.layers.0.mlp.gate.weight"
"""What chooses among them."""


@_copied
def experts() -> dict[str, Array]:
    """Return the tensors of a model like it, of one layer with a router and three experts, all of these in two tensors.

    What is hard to quantize is in some rows of gate, up and down projections of different experts. Gate and up of an
    expert have the same largest magnitude: llm-compressor's way without a model does not give them one second scale.
    """
    random = np.random.RandomState(8)
    tensors = {name: one for name, one in llama().items() if "_proj." not in name}
    gate_up = np.stack([_weights(INNER, HIDDEN * 3, random) for _ in range(3)])
    down = np.stack([_weights(HIDDEN * 3, INNER // 2, random) for _ in range(3)])
    gate_up[0, INNER // 2 + 1] = 0
    gate_up[1, 5, :32] = 0
    gate_up[1, INNER // 2 + 3, ::3] = -0.0
    gate_up[2, 7] *= BFLOAT16.type(1000)
    gate_up[:, [2, INNER // 2 + 2], 5] = 4096, -4096
    down[0, 9] *= BFLOAT16.type(2.0**-100)
    down[2, 13, 4] = 30000
    projections = {f"{EXPERTS}.gate_up_proj": gate_up, f"{EXPERTS}.down_proj": down}
    return {**tensors, ROUTER: _weights(3, HIDDEN * 3, random), **projections}


def separate_experts() -> dict[str, Array]:
    """Return the same model with a tensor to each layer of each expert, sliced by hand."""
    tensors = experts()
    gate_up, down = tensors.pop(f"{EXPERTS}.gate_up_proj"), tensors.pop(f"{EXPERTS}.down_proj")
    for number in range(3):
        tensors[f"{EXPERTS}.{number}.gate_proj.weight"] = np.ascontiguousarray(gate_up[number, : INNER // 2])
        tensors[f"{EXPERTS}.{number}.up_proj.weight"] = np.ascontiguousarray(gate_up[number, INNER // 2 :])
        tensors[f"{EXPERTS}.{number}.down_proj.weight"] = np.ascontiguousarray(down[number])
    return tensors


def experts_config() -> dict[str, Any]:
    """Return the config.json of both: the axes of the experts differ, so that hidden_size tells them apart."""
    return {**llama_config(), "hidden_size": HIDDEN * 3, "moe_intermediate_size": INNER // 2}


def llama_config() -> dict[str, Any]:
    """Return its config.json."""
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": HIDDEN, "intermediate_size": INNER,
        "num_hidden_layers": 1, "num_attention_heads": HIDDEN // HEAD, "num_key_value_heads": 1, "head_dim": HEAD,
        "vocab_size": VOCABULARY, "rms_norm_eps": 1e-5, "max_position_embeddings": 64, "torch_dtype": "bfloat16",
        "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip


def tied_llama() -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the same Llama with its embedding for a head, which is not stored then, and its config.json."""
    tensors = {name: values for name, values in llama().items() if name != "lm_head.weight"}
    return tensors, {**llama_config(), "tie_word_embeddings": True}


def write_folder(folder: Path, tensors: dict[str, Array], config: dict[str, Any], shards: int = 2) -> Path:
    """Write a checkpoint whose tensors lie in its shards in turn: those of q, k and v in different ones."""
    folder.mkdir()
    places = {name: f"model-{i % shards + 1:05d}-of-{shards:05d}.safetensors" for i, name in enumerate(tensors)}
    for file in sorted(set(places.values())):
        save_file({name: one for name, one in tensors.items() if places[name] == file}, folder / file, {"format": "pt"})
    total = sum(one.nbytes for one in tensors.values())
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": total}, "weight_map": places}, indent=2))
    (folder / "config.json").write_text(json.dumps(config, indent=2))
    return folder
