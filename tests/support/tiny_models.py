"""A tiny Llama with random weights, shaped as real ones are: the same bytes with every version of NumPy."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from safetensors.numpy import save_file

Array = np.ndarray[Any, Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
INDEX = "model.safetensors.index.json"
HIDDEN, INNER, HEAD, VOCABULARY = 128, 256, 32, 16
"""Sizes of its layer: columns are multiples of 128, as llm-compressor wants them, rows are not all."""

PROJECTIONS = {
    "self_attn.q_proj": (HIDDEN, HIDDEN),
    "self_attn.k_proj": (HEAD, HIDDEN),
    "self_attn.v_proj": (HEAD, HIDDEN),
    "self_attn.o_proj": (HIDDEN, HIDDEN),
    "mlp.gate_proj": (INNER, HIDDEN),
    "mlp.up_proj": (INNER, HIDDEN),
    "mlp.down_proj": (HIDDEN, INNER),
}


def _weights(rows: int, columns: int, random: np.random.RandomState) -> Array:
    return (random.standard_t(5, (rows, columns)) * 0.05).astype(np.float32).astype(BFLOAT16)


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


def llama_config() -> dict[str, Any]:
    """Return its config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": 1,
        "num_attention_heads": HIDDEN // HEAD,
        "num_key_value_heads": 1,
        "head_dim": HEAD,
        "vocab_size": VOCABULARY,
        "rms_norm_eps": 1e-5,
        "max_position_embeddings": 64,
        "torch_dtype": "bfloat16",
        "tie_word_embeddings": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }


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
