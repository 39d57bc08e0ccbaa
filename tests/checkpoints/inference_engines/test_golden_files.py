"""Checkpoints that llm-compressor wrote are dequantized to the bits that compressed-tensors makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.golden import digest
from support.paths import TESTS
from support.tiny_models import INDEX, llama, llama_config

from lowprec.checkpoints import convert

GOLDEN = TESTS / "checkpoints" / "golden"
DIGESTS: dict[str, Any] = json.loads((GOLDEN / "digests.json").read_text(encoding="utf-8"))
PRESETS = sorted(DIGESTS.keys() - {"versions", "source"})


def tensors_of(folder: Path) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return the type, the shape and the bytes of every tensor of a folder."""
    found = {}
    for file in sorted(folder.glob("*.safetensors")):
        content = file.read_bytes()
        start = 8 + int.from_bytes(content[:8], "little")
        for name, entry in json.loads(content[8:start]).items():
            if name != "__metadata__":
                begin, end = (start + offset for offset in entry["data_offsets"])
                found[name] = entry["dtype"], tuple(entry["shape"]), content[begin:end]
    return found


def test_there_are_golden_files() -> None:
    assert len(PRESETS) == 7
    assert all((GOLDEN / preset).is_dir() for preset in PRESETS)
    assert {name: digest(values.tobytes()) for name, values in llama().items()} == DIGESTS["source"]


@pytest.mark.parametrize("preset", PRESETS)
def test_dequantized_to_the_bits_of_compressed_tensors(preset: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    convert(GOLDEN / preset, out, to="bfloat16")
    tensors, shapes = tensors_of(out), {name: values.shape for name, values in llama().items()}
    assert {name: digest(content) for name, (_, _, content) in tensors.items()} == DIGESTS[preset]
    assert {name: (dtype, shape) for name, (dtype, shape, _) in tensors.items()} == {
        name: ("BF16", shape) for name, shape in shapes.items()
    }
    assert json.loads((out / INDEX).read_text(encoding="utf-8"))["weight_map"].keys() == shapes.keys()
    config = json.loads((out / "config.json").read_text(encoding="utf-8"))
    assert "quantization_config" not in config
    assert {"torch_dtype": "bfloat16", **config} == {**config, **llama_config()}
