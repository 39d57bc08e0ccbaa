"""One small source for each kind of container, a checkpoint in two shards among them; what a converted one holds."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support import gguf_files
from support.checkpoint_files import everything, save, values
from support.optional import optional

onnx: Any = optional("onnx")
helper: Any = optional("onnx:helper")
numpy_helper: Any = optional("onnx:numpy_helper")

X = {"w": values((64, 64)), "i": np.arange(7)}


def write_onnx(path: Path, location: str | None = None, **weights: Any) -> Path:
    """Write a model of weights alone, their bytes in another file if one is named."""
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(x, name) for name, x in weights.items()])
    path.parent.mkdir(exist_ok=True)
    outside = {"save_as_external_data": True, "location": location, "size_threshold": 0} if location else {}
    onnx.save(helper.make_model(graph), path, **outside)
    return path


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


def _saved(path: Path, save: Callable[..., None], *arrays: Any, **named: Any) -> Path:
    save(path, *arrays, **named)
    return path


SOURCES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "safetensors": (lambda f: save(f / "x.safetensors", X), "y.safetensors"),
    "npy": (lambda f: _saved(f / "x.npy", np.save, X["w"]), "y.npz"),
    "npz": (lambda f: _saved(f / "x.npz", np.savez, **X), "y.npz"),
    "onnx": (lambda f: write_onnx(f / "in" / "x.onnx", "w.bin", w=X["w"]), "y.onnx"),
    "folder": (lambda f: checkpoint(f / "in"), "out"),
    "gguf": (lambda f: gguf_files.write(f / "x.gguf", X), "y.safetensors"),
}


def contents(kind: str, target: Path) -> Any:
    """Return what a converted container holds, in a form that compares."""
    if kind == "onnx":
        found = onnx.load(target).graph.initializer[0]
        return found.data_type, found.raw_data
    return everything(target) if kind == "folder" else target.read_bytes()
