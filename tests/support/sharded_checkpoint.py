"""A checkpoint in two shards with an index, and other files in its folder."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from support.checkpoint_files import save, values

SHARDS = {
    "model-00001-of-00002.safetensors": {"a": values((32, 64), 1), "norm": values((7,), 2)},
    "model-00002-of-00002.safetensors": {"b": values((16, 64), 3, np.float16), "ids": np.arange(4)},
}
INDEX = "model.safetensors.index.json"
SHARD = "model-00002-of-00002.safetensors"


def checkpoint(folder: Path) -> Path:
    """Write two shards, their index, a config.json and files that are none of the checkpoint's."""
    folder.mkdir()
    for shard, tensors in SHARDS.items():
        save(folder / shard, tensors, {"format": "pt"})
    total = sum(x.nbytes for tensors in SHARDS.values() for x in tensors.values())
    places = {name: shard for shard, tensors in SHARDS.items() for name in tensors}
    fields = {"metadata": {"total_size": total, "note": 1}, "weight_map": places}
    (folder / INDEX).write_text(json.dumps(fields))
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "sub").mkdir()
    (folder / "sub" / "tokenizer.model").write_bytes(bytes(range(256)))
    save(folder / "other.safetensors", {"a": values((2,))})
    return folder
