"""The golden files of tests/checkpoints, and the tensors of a folder as they lie in its files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from support.checkpoint_files import parse
from support.paths import TESTS

GOLDEN = TESTS / "checkpoints" / "golden"
PRESETS = {
    "fp8-dynamic": "FP8_DYNAMIC", "fp8-block": "FP8_BLOCK", "int8": "W8A8", "w4a16": "W4A16", "mxfp4a16": "MXFP4A16",
    "mxfp8": "MXFP8A16", "nvfp4a16": "NVFP4A16",
}  # fmt: skip
"""Recipes, and the folder that llm-compressor wrote of each."""


def tensors_of(folder: Path, pattern: str = "*.safetensors") -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return the type, the shape and the bytes of every tensor of a folder."""
    found = {}
    for file in sorted(folder.glob(pattern)):
        header, content = parse(file)
        header.pop("__metadata__", None)
        for name, entry in header.items():
            found[name] = entry["dtype"], tuple(entry["shape"]), content[slice(*entry["data_offsets"])]
    return found


def digest(content: bytes) -> str:
    """Return what stands for tensors in the digests.json of golden files."""
    return hashlib.sha256(content).hexdigest()[:16]


def digests_of(folder: Path) -> dict[str, list[Any]]:
    """Return the type, the shape and the digest of every tensor of a folder, as JSON has them."""
    return {name: [kind, list(shape), digest(one)] for name, (kind, shape, one) in sorted(tensors_of(folder).items())}
