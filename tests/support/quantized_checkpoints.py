"""Tiny checkpoints in the quantization layouts in use, in two shards, with an index and a config.json."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from support.checkpoint_files import raw_file
from support.paths import table

BITS = {"F8_E4M3": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BF16": 16, "F16": 16, "I16": 16, "F32": 32, "I32": 32,
        "U32": 32, "I64": 64, "F4": 4, "BOOL": 8}  # fmt: skip
Tensors = dict[str, tuple[str, tuple[int, ...]]]

INDEX = "model.safetensors.index.json"
SHARDS = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
KEY = "quantization_config"


@dataclass(frozen=True)
class Checkpoint:
    """Tensors as (type, shape): codes and what they need, of which the last lies in another shard; `quantization`."""

    codes: str
    quantized: Tensors
    quantization: object
    ordinary: tuple[str, ...] = ()
    key: str = KEY


P = "model.layers.0.mlp.up_proj"


def typed(text: str, module: str = "") -> Tensors:
    """Return tensors of a module by names, types and shapes: "weight F8_E4M3 4x8, bias F32"."""
    found: Tensors = {}
    for one in text.split(", "):
        name, kind, *shape = one.split()
        found[f"{module}.{name}" if module else name] = kind, tuple(map(int, shape[0].split("x"))) if shape else ()
    return found


def layout(module: str, text: str, quantization: object, ordinary: Sequence[str], key: str) -> Checkpoint:
    """Return a checkpoint with a weight, the first of the tensors, and ordinary tensors of its module."""
    quantized, others = typed(text, module), tuple(f"{module}.{name}" if module else name for name in ordinary)
    return Checkpoint(next(iter(quantized)), quantized, quantization, others, key)


TABLE: dict[str, dict[str, Any]] = table(__file__)
LAYOUTS = {
    name: layout(row["module"], row["tensors"], row.get("quantization"), row.get("ordinary", ()), row.get("key", KEY))
    for name, row in TABLE.items()
}
REFUSED = tuple(name for name, row in TABLE.items() if "refused" in row)
"""Layouts whose weights cannot be dequantized."""

TOOLS = {name: row["tool"] for name, row in TABLE.items() if "tool" in row}
"""Whose they are, as messages name them."""

READ = tuple(name for name in LAYOUTS if name not in REFUSED)
"""Layouts whose weights can."""

INTEGERS = {
    f"{P}.weight_shape": np.array([4, 8]),
    f"{P}.weight_g_idx": np.zeros(8, np.int32),
    f"{P}.g_idx": np.zeros(8, np.int32),
}
"""What tensors of integers hold that say how others are read."""

DESCRIPTIONS = {
    len(text): np.frombuffer(text, np.uint8) for text in (b'{"format": "float8_e4m3fn"}', b'{"format": "nvfp4"}')
}
"""What ComfyUI's descriptions say, by their lengths."""

ORDINARY = ("lm_head.weight", "model.norm.weight")
"""BF16 tensors of every checkpoint that the quantization does not concern."""


def name_of_values(checkpoint: Checkpoint) -> str:
    """Return the name that a weight has where it is not quantized."""
    for end in ("_blocks", ".blocks", "_packed"):
        if checkpoint.codes.endswith(end):
            return checkpoint.codes.removesuffix(end)
    return checkpoint.codes.replace(".qweight", ".weight")


def tensors_of(checkpoint: Checkpoint) -> Tensors:
    return {**checkpoint.quantized, **dict.fromkeys((*checkpoint.ordinary, *ORDINARY), ("BF16", (4, 8)))}


def content(shape: tuple[int, ...], type_name: str, seed: int) -> bytes:
    """Return bytes none of which, in any of the types, is a NaN or makes one."""
    n = math.prod(shape) * BITS[type_name] // 8
    return bytes((seed + 7 * i) % 0x38 + 1 for i in range(n))


def write(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> Path:
    """Write a safetensors file."""
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    parts, at = [], 0
    for seed, (name, (type_name, shape)) in enumerate(tensors.items()):
        known = DESCRIPTIONS.get(math.prod(shape)) if name.endswith(".comfy_quant") else INTEGERS.get(name)
        parts.append(content(shape, type_name, seed) if known is None else known.tobytes())
        header[name] = {"dtype": type_name, "shape": shape, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    return raw_file(path, header, b"".join(parts))


def config_of(checkpoint: Checkpoint) -> dict[str, object]:
    before, after = {"model_type": "llama", "note": "größer"}, {"torch_dtype": "bfloat16", "rope": {"theta": 1e4}}
    entry = {checkpoint.key: checkpoint.quantization} if checkpoint.quantization is not None else {}
    return {**before, **entry, **after}


def write_folder(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint: the last tensor that the codes need lies in the second shard, with all ordinary ones."""
    folder.mkdir()
    tensors = tensors_of(checkpoint)
    *_, last = checkpoint.quantized
    places = {name: SHARDS[name == last or name not in checkpoint.quantized] for name in tensors}
    for shard in SHARDS:
        write(folder / shard, {name: one for name, one in tensors.items() if places[name] == shard})
    fields = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / INDEX).write_text(json.dumps(fields))
    text = json.dumps(config_of(checkpoint), indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    return folder
