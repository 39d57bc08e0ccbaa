"""The first line of `lowprec inspect`: what a checkpoint is, its layers, its bytes, and its bytes in bfloat16."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.command_line import run
from support.golden import GOLDEN
from support.typed_tensors import BF16, E8M0, F8, Array, read_tensors, write_model, write_tensors

import lowprec as lp

BLOCKS = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}


def headline(path: Path | str) -> str:
    first = run("inspect", str(path)).splitlines()[0]
    assert first.startswith(f"{path}: ")
    return first.removeprefix(f"{path}: ")


@pytest.mark.parametrize(
    ("preset", "text"),
    [("FP8_BLOCK", "block FP8 128x128"), ("FP8_DYNAMIC", "FP8 per row"), ("MXFP4A16", "MXFP4"), ("MXFP8A16", "MXFP8"),
     ("NVFP4A16", "NVFP4"), ("W4A16", "int4 in groups of 128"), ("W8A8", "int8 per row")],
)  # fmt: skip
def test_compressed_tensors(preset: str, text: str) -> None:
    """The bytes in bfloat16 are those of a conversion."""
    line = headline(GOLDEN / preset)
    nbytes = sum(one.nbytes for one in lp.checkpoints.inspect(GOLDEN / preset))
    lp.convert(GOLDEN / preset, "out", to="bfloat16")
    plain = sum(array.nbytes for array in read_tensors(Path("out")).values())
    sizes = [f"{n / 1024:.3g} KiB" for n in (nbytes, plain)]
    assert line == f"compressed-tensors {text}, 1 layer: {sizes[0]}; to bfloat16 {sizes[1]}"


def block_fp8(layers: int, scales: tuple[int, int] = (1, 2)) -> dict[str, Array]:
    names = [f"model.layers.{i}.mlp.up_proj.weight" for i in range(layers)]
    codes, factors = np.zeros((128, 256), F8), np.ones(scales, np.float32)
    return {f"{name}{end}": one for name in names for end, one in (("", codes), ("_scale_inv", factors))}


V4 = {
    "layers.0.ffn.experts.0.w1.weight": np.zeros((256, 128), np.int8),
    "layers.0.ffn.experts.0.w1.scale": np.ones((256, 8), E8M0),
    "layers.0.attn.wq_a.weight": np.zeros((64, 128), F8), "layers.0.attn.wq_a.scale": np.ones((1, 1), E8M0),
}  # fmt: skip
LAYERS = {f"model.layers.{i}.w": np.zeros((32, 100), BF16) for i in range(32)}
STACKS = {
    **{f"double_blocks.{i}.w": np.zeros(100, BF16) for i in range(3)}, "single_blocks.0.w": np.zeros(100, np.float32),
}  # fmt: skip
COLUMNS = {"w": np.zeros((3, 5), np.int8), "w_scale": np.ones(5, np.float32)}


@pytest.mark.parametrize(
    ("kind", "tensors", "text"),
    [
        # 61 layers of 32,768 bytes of codes and 8 of scales are 1952.48 KiB; in bfloat16, 61 * 65536 are 3904 KiB
        ("folder", block_fp8(61), "DeepSeek block FP8 128x128, 61 layers: 1.91 MiB; to bfloat16 3.81 MiB"),
        ("folder", V4, "DeepSeek V4 MXFP4 and DeepSeek V4 block FP8 128x128, 1 layer: 42 KiB; to bfloat16 144 KiB"),
        ("folder", block_fp8(1, (3, 3)), "; cannot be dequantized: 'model.layers.0.mlp.up_proj.weight_scale_inv': has"),
        ("npz", COLUMNS, "lowprec int8 per column: 35 B; to bfloat16 30 B"),  # 3 * 5 codes, 5 scales of 4 bytes
        ("safetensors", {**LAYERS, "norm": np.ones(8, np.float32)}, "bfloat16, 32 layers: 200 KiB"),
        ("safetensors", STACKS, "bfloat16 and float32, 3 double_blocks, 1 single_block: 0.98 KiB"),
        ("safetensors", {"w": np.zeros(0, np.int8)}, "int8: 0 B"),
        ("safetensors", {"w": np.zeros(999, np.int8)}, "int8: 999 B"),
        ("safetensors", {"w": np.zeros(1000, np.int8)}, "int8: 0.98 KiB"),
        ("safetensors", {"w": np.zeros(1 << 20, np.int8)}, "int8: 1 MiB"),
    ],
)  # fmt: skip
def test_what_it_is_and_its_bytes(kind: str, tensors: dict[str, Array], text: str) -> None:
    """A layout that is broken is listed all the same."""
    path = Path(f"x.{kind}")
    if kind == "folder":
        write_model(path, {"a.safetensors": tensors}, BLOCKS)
    elif kind == "npz":
        np.savez(path, **tensors)
    else:
        write_tensors(path, tensors)
    found = headline(path)
    assert text in found if text.startswith(";") else found == text
