"""One small source for each kind of container, and the contents of a converted one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support import gguf_files
from support.checkpoint_files import everything, save, values
from support.optional import optional
from support.sharded_checkpoint import checkpoint

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


def _npy(path: Path) -> Path:
    np.save(path, X["w"])
    return path


def _npz(path: Path) -> Path:
    np.savez(path, **X)
    return path


SOURCES: dict[str, tuple[Callable[[Path], Path], str]] = {
    "safetensors": (lambda f: save(f / "x.safetensors", X), "y.safetensors"),
    "npy": (lambda f: _npy(f / "x.npy"), "y.npz"),
    "npz": (lambda f: _npz(f / "x.npz"), "y.npz"),
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
