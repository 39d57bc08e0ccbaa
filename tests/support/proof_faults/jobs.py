"""Conversions that meet faults: one for each kind of container and of recipe, and what a folder then holds."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support import gguf_files
from support.checkpoint_files import everything, save, values
from support.containers import SOURCES, onnx
from support.optional import Missing
from support.resumed_conversions import three_shards

State = dict[str, bytes]
"""Files of a target by name; those of ONNX's data under a name of their own."""


@dataclass(frozen=True)
class Job:
    """A conversion.

    Attributes
    ----------
    build : callable
        Writes the source into a folder and returns it.
    target : str
        The name of the target.
    new, old : tuple of str
        Options of the conversion, and of the one that made the target before.
    """

    build: Callable[[Path], Path]
    target: str
    new: tuple[str, ...]
    old: tuple[str, ...]


def _job(build: Callable[[Path], Path], target: str, new: str, old: str = "--to float64") -> Job:
    return Job(build, target, (*new.split(), "--threads", "2", "--progress", "none"), tuple(old.split()))


def _of(kind: str) -> Callable[[Path], Path]:
    return SOURCES[kind][0]


def _shards(folder: Path) -> Path:
    return three_shards(folder / "in")


def _large(folder: Path) -> Path:
    return save(folder / "x.safetensors", {"a.weight": values((1024, 1024), 7), "b": values((300, 999), 8)})


def _weights(folder: Path) -> Path:
    tensors = {"blk.0.ffn_up.weight": np.arange(-1024, 1024, dtype=np.float32).reshape(8, 256), "n": values((7,), 1)}
    return gguf_files.write(folder / "x.gguf", tensors)


JOBS: dict[str, Job] = {
    "npy": _job(_of("npy"), "y.npy", "--to float16"), "npy to npz": _job(_of("npy"), "y.npz", "--to float8_e4m3fn"),
    "npz": _job(_of("npz"), "y.npz", "--to float16"),
    "safetensors": _job(_of("safetensors"), "y.safetensors", "--to float8_e4m3fn"),
    "scales": _job(_of("safetensors"), "y.safetensors", "--to int8 --scale axis:0"),
    "verify": _job(_of("safetensors"), "y.safetensors", "--to float16 --verify"),
    "folder": _job(_of("folder"), "out", "--to float16"),
    "folder, resumed": _job(_shards, "out", "--to float16 --resume"),
    "fp8-dynamic": _job(_shards, "out", "--recipe fp8-dynamic"), "mxfp4": _job(_shards, "out", "--recipe mxfp4a16"),
    "nvfp4, resumed": _job(_shards, "out", "--recipe nvfp4a16 --resume"),
    "w4a16": _job(_shards, "out", "--recipe w4a16-g32"), "onnx": _job(_of("onnx"), "y.onnx", "--to float16"),
    "gguf": _job(_weights, "y.gguf", "--recipe q8_0", "--recipe bf16"),
    "gguf to safetensors": _job(_of("gguf"), "y.safetensors", "--to float16"),
}  # fmt: skip
"""Jobs by name."""

BIG: dict[str, Job] = {
    "4 MB cast": _job(_large, "y.safetensors", "--to float8_e4m3fn"),
    "4 MB in blocks": _job(
        _large, "y.safetensors", "--to float4_e2m1fn --scale block:32 --scale-format float8_e8m0fnu"
    ),
}
"""Jobs whose buffers are larger than what Python allocates meanwhile."""

if isinstance(gguf_files.gguf, Missing):
    JOBS = {name: job for name, job in JOBS.items() if "gguf" not in name}


def state(job: Job, folder: Path) -> State:
    """Return what the target holds: nothing where it is not there."""
    target = folder / job.target
    if target.is_dir():
        return everything(target)
    if not target.exists():
        return {}
    found = {job.target: target.read_bytes()}
    if target.suffix == ".onnx":
        data = rb"y\.onnx(?:\.[0-9a-f]+)?\.data"
        for name in {one.decode() for one in re.findall(data, found[job.target])}:
            path = folder / name
            found["data"] = path.read_bytes() if path.exists() else b"missing"
        # The name of the data differs from run to run, and with its length those of the messages around it.
        found[job.target] = _without_names(found[job.target])
    return found


def _without_names(model: bytes) -> bytes:
    try:
        proto = onnx.load_model_from_string(model)
    except Exception as error:  # a torn model is a state like others
        return repr(error).encode()
    for tensor in proto.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "data"
    return bytes(proto.SerializeToString(deterministic=True))


def leftovers(job: Job, folder: Path) -> set[str]:
    """Return the names next to the target that do not belong to it."""
    target = folder / job.target
    own = {job.target}
    if target.suffix == ".onnx" and target.is_file():
        model = target.read_bytes()
        own |= {one.name for one in folder.iterdir() if one.name.encode() in model}
    return {one.name for one in folder.iterdir()} - own
