"""The first line of `lowprec inspect`: what a checkpoint is, its layers, its bytes, and its bytes in bfloat16."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import raw_file
from support.command_line import run
from support.golden import GOLDEN
from support.typed_tensors import BF16, F8, read_tensors, write_model, write_tensors

import lowprec as lp

pytestmark = pytest.mark.usefixtures("working_folder")


def headline(path: Path | str) -> str:
    first = run("inspect", str(path)).splitlines()[0]
    assert first.startswith(f"{path}: ")
    return first.removeprefix(f"{path}: ")


def test_block_fp8() -> None:
    """61 layers of 128 x 256: 32,768 bytes of codes, 8 of scales; in bfloat16 65,536."""
    tensors = {}
    for i in range(61):
        tensors[f"model.layers.{i}.mlp.up_proj.weight"] = np.zeros((128, 256), F8)
        tensors[f"model.layers.{i}.mlp.up_proj.weight_scale_inv"] = np.ones((1, 2), np.float32)
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    write_model(Path("model"), {"a.safetensors": tensors}, config)
    # 61 * 32776 bytes are 1952.48 KiB, 61 * 65536 are 3904 KiB
    assert headline("model") == "DeepSeek block FP8 128x128, 61 layers: 1.91 MiB; to bfloat16 3.81 MiB"


@pytest.mark.parametrize(
    ("preset", "text"),
    [("FP8_BLOCK", "block FP8 128x128"), ("FP8_DYNAMIC", "FP8 per row"), ("MXFP4A16", "MXFP4"), ("MXFP8A16", "MXFP8"),
     ("NVFP4A16", "NVFP4"), ("W4A16", "int4 in groups of 128"), ("W8A8", "int8 per row")],
)  # fmt: skip
def test_compressed_tensors(preset: str, text: str, tmp_path: Path) -> None:
    """The bytes in bfloat16 are those of a conversion."""
    line = headline(GOLDEN / preset)
    nbytes = sum(one.nbytes for one in lp.checkpoints.inspect(GOLDEN / preset))
    lp.convert(GOLDEN / preset, tmp_path / "out", to="bfloat16")
    plain = sum(array.nbytes for array in read_tensors(tmp_path / "out").values())
    sizes = [f"{n / 1024:.3g} KiB" for n in (nbytes, plain)]
    assert line == f"compressed-tensors {text}, 1 layer: {sizes[0]}; to bfloat16 {sizes[1]}"


def test_two_kinds() -> None:
    """DeepSeek V4: the experts have most of the bytes."""
    tensors = {
        "layers.0.ffn.experts.0.w1.weight": np.zeros((256, 128), np.int8),
        "layers.0.ffn.experts.0.w1.scale": np.ones((256, 8), ml_dtypes.float8_e8m0fnu),
        "layers.0.attn.wq_a.weight": np.zeros((64, 128), F8),
        "layers.0.attn.wq_a.scale": np.ones((1, 1), ml_dtypes.float8_e8m0fnu),
    }
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    write_model(Path("model"), {"a.safetensors": tensors}, config)
    text = "DeepSeek V4 MXFP4 and DeepSeek V4 block FP8 128x128, 1 layer: 42 KiB; to bfloat16 144 KiB"
    assert headline("model") == text


def test_columns() -> None:
    """3 * 5 codes and 5 scales of 4 bytes; 3 * 5 numbers of 2."""
    np.savez("x.npz", w=np.zeros((3, 5), np.int8), w_scale=np.ones(5, np.float32))
    assert headline("x.npz") == "lowprec int8 per column: 35 B; to bfloat16 30 B"


def test_plain() -> None:
    tensors = {f"model.layers.{i}.w": np.zeros((32, 100), BF16) for i in range(32)}
    write_tensors(Path("x.safetensors"), {**tensors, "norm": np.ones(8, np.float32)})
    assert headline("x.safetensors") == "bfloat16, 32 layers: 200 KiB"
    stacks = {f"double_blocks.{i}.w": np.zeros(100, BF16) for i in range(3)}
    stacks |= {f"single_blocks.{i}.w": np.zeros(100, np.float32) for i in range(1)}
    write_tensors(Path("y.safetensors"), stacks)
    text = "bfloat16 and float32, 3 double_blocks, 1 single_block: 0.98 KiB"
    assert headline("y.safetensors") == text


@pytest.mark.parametrize("size", [0, 999, 1000, 1 << 20])
def test_sizes(size: int) -> None:
    raw_file(Path("x.safetensors"), {"w": {"dtype": "I8", "shape": [size], "data_offsets": [0, size]}}, bytes(size))
    expected = {0: "int8: 0 B", 999: "int8: 999 B", 1000: "int8: 0.98 KiB", 1 << 20: "int8: 1 MiB"}
    assert headline("x.safetensors") == expected[size]


def test_a_layout_that_is_broken() -> None:
    """It is listed all the same, and `check` says more."""
    tensors = {"a.weight": np.zeros((130, 200), F8), "a.weight_scale_inv": np.ones((3, 3), np.float32)}
    config = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    write_model(Path("model"), {"a.safetensors": tensors}, config)
    assert "; cannot be dequantized: 'a.weight_scale_inv': has the shape [3, 3]" in headline("model")
