"""What else a dequantized checkpoint has: its configuration, other tensors; the same bytes in any pieces."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.checkpoint_files import everything
from support.command_line import run
from support.typed_tensors import (
    BF16,
    F8,
    in_blocks,
    nibbles,
    random_codes,
    random_scales,
    read_tensors,
    rounded,
    words,
    write_model,
    write_tensors,
)

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

W = "model.layers.0.mlp.up_proj.weight"
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}


CONFIG = """{
  "architectures": ["größer"], "dtype":"float16",
  "text_config": {"torch_dtype" : "float8_e4m3fn", "hidden":  8},
  "vision_config": {"dtype": "float32"},
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
  "rope": 1e4
}
"""
PLAIN = """{
  "architectures": ["größer"], "dtype":"bfloat16",
  "text_config": {"torch_dtype" : "bfloat16", "hidden":  8},
  "vision_config": {"dtype": "float32"},
  "rope": 1e4
}
"""


def block_model(rows: int = 300, columns: int = 260) -> tuple[Path, bytes]:
    """Write a model of DeepSeek's layout, and return the bytes of its weight in bfloat16."""
    codes, scales = random_codes((rows, columns)), random_scales((-(-rows // 128), -(-columns // 128)))
    other = {
        W + "_scale_inv": scales, "model.norm.weight": np.array([1.0000001, 2], np.float32),
        "lm_head.weight": np.array([[1.5]], np.float16), "ids": np.arange(3),
        "model.layers.0.self_attn.k_proj.k_scale": np.array([0.5], np.float32),
    }  # fmt: skip
    folder = write_model(Path("in"), {"a.safetensors": {W: codes}, "b.safetensors": other}, CONFIG)
    return folder, rounded(codes.astype(np.float32) * in_blocks(scales, codes.shape), "bfloat16")


def test_the_configuration_and_other_tensors() -> None:
    source, expected = block_model()
    (source / "tokenizer.json").write_text("{}")
    report = convert(source, "out", to="bfloat16")
    assert Path("out/config.json").read_text(encoding="utf-8") == PLAIN
    assert Path("out/tokenizer.json").read_text() == "{}"
    result = read_tensors(Path("out"))
    assert result.keys() == {W, "model.norm.weight", "lm_head.weight", "ids"}
    assert result[W].tobytes() == expected
    assert result["model.norm.weight"].dtype == np.float32  # routers' biases and norms lose nothing
    assert result["lm_head.weight"].dtype == BF16
    assert {one.name for one in report.tensors if one.action == "converted"} == {W, "lm_head.weight"}
    places = json.loads(Path("out/model.safetensors.index.json").read_text())["weight_map"]
    assert places == {W: "a.safetensors", **dict.fromkeys(result.keys() - {W}, "b.safetensors")}


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    block_model()
    run("convert", "in", "out", "--to", "bfloat16", "--verify", "--progress", "none", capsys=capsys)
    convert("in", "again", to="bfloat16")
    assert everything(Path("out")) == everything(Path("again"))
    assert not Path("dry").exists()
    text = run("convert", "in", "dry", "--to", "bfloat16", "--dry-run", "--progress", "none", capsys=capsys)
    assert W in text
    assert not Path("dry").exists()


def test_weights_are_dequantized_together() -> None:
    codes, scales = random_codes((4, 8)), random_scales((1, 1))
    tensors = {f"{name}.weight{end}": one for name in "ab" for end, one in (("", codes), ("_scale_inv", scales))}
    write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": FP8})
    for patterns in ({"include": "a.*"}, {"exclude": "b.*"}):
        with pytest.raises(FileError, match=r"'b.weight': would stay quantized, and 'a.weight' would not"):
            convert("in", "out", to="bfloat16", **patterns)
    assert not Path("out").exists()


def test_patterns_fit_codes_or_values() -> None:
    """Codes in words have another name than their values."""
    codes = np.random.default_rng(4).integers(0, 16, (2, 6, 64))
    tensors = {"norm.weight": np.ones(64, np.float32)}
    for name, one in zip("ab", codes, strict=True):
        tensors[f"{name}.weight_packed"] = words(one, 4)
        tensors |= {f"{name}.weight_shape": np.array([6, 64]), f"{name}.weight_scale": random_scales((6, 2), BF16)}
    config = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4}}}}
    write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": config})
    for out, include in (("packed", "*_packed"), ("weight", "*.weight")):
        convert("in", out, to="bfloat16", include=include)
        assert read_tensors(Path(out)).keys() == {"norm.weight", "a.weight", "b.weight"}


PIECES = {
    "lowprec.checkpoints.memory_limit.LARGEST_CHUNK": 1 << 12,
    "lowprec.checkpoints.operations.dequantize.PART": 300,
    "lowprec.checkpoints.weights.quantized_weight.SMALL": 0,
}


def mixed_model() -> Path:
    """Write weights of many layouts in one file, and no configuration."""
    rng = np.random.default_rng(12)
    fp4, scales = rng.integers(0, 16, (3, 12, 96)), rng.integers(110, 140, (3, 12, 3), np.uint8)
    tensors = {
        "a_blocks": nibbles(fp4).reshape(3, 12, 3, 16), "a_scales": scales,
        "b.weight": random_codes((300, 260)), "b.weight_scale_inv": random_scales((3, 3)),
        "c.weight_packed": words(rng.integers(0, 8, (70, 96)), 3), "c.weight_shape": np.array([70, 96]),
        "c.weight_scale": random_scales((70, 3), BF16),
        "c.weight_zero_point": np.ascontiguousarray(words(rng.integers(0, 8, (3, 70)), 3).T),
        "d.weight": nibbles(rng.integers(0, 16, (70, 96))), "d.weight_scale": random_scales((70, 6)).astype(F8),
        "d.weight_scale_2": random_scales(()), "e": random_codes((5, 40, 30)), "e_scale": random_scales((40,)),
    }  # fmt: skip
    return write_tensors(Path("x.safetensors"), tensors)


def test_pieces_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed_model()
    convert("x.safetensors", "whole.safetensors", to="bfloat16", threads=1)
    assert read_tensors(Path("whole.safetensors")).keys() == {"a", "b.weight", "c.weight", "d.weight", "e"}
    for name, value in PIECES.items():
        monkeypatch.setattr(name, value)
    convert("x.safetensors", "parts.safetensors", to="bfloat16", threads=3, verify=True)
    assert Path("parts.safetensors").read_bytes() == Path("whole.safetensors").read_bytes()
