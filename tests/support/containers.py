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


def _model(folder: Path) -> Path:
    folder.mkdir()
    graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(values((64, 64)), "w")])
    onnx.save(
        helper.make_model(graph), folder / "x.onnx", save_as_external_data=True, location="w.bin", size_threshold=0
    )
    return folder / "x.onnx"


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
    "onnx": (lambda f: _model(f / "in"), "y.onnx"),
    "folder": (lambda f: checkpoint(f / "in"), "out"),
    "gguf": (lambda f: gguf_files.write(f / "x.gguf", X), "y.safetensors"),
}


def contents(kind: str, target: Path) -> Any:
    """Return what a converted container holds, in a form that compares."""
    if kind == "onnx":
        found = onnx.load(target).graph.initializer[0]
        return found.data_type, found.raw_data
    return everything(target) if kind == "folder" else target.read_bytes()
