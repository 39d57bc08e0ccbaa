"""Large checkpoints: random codes in block FP8 as DeepSeek stores it and MXFP4 as gpt-oss does; weights in BF16."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import gguf
import ml_dtypes
import numpy as np

PIECE = 8 << 20
ROWS, COLUMNS = 4096, 7168
"""A projection of DeepSeek V3."""

WIDTH = 4096
"""Of the layers of a Llama."""

HIDDEN = 2880
"""Of gpt-oss, whose experts are [2 * HIDDEN, HIDDEN] and [HIDDEN, HIDDEN]."""

Array = np.ndarray[Any, Any]
Entries = dict[str, tuple[str, tuple[int, ...], Array]]
"""By name: the type, the shape, and bytes that are repeated to fill the tensor."""


LLAMA, GPT_OSS = ("llama", "LlamaForCausalLM"), ("gpt_oss", "GptOssForCausalLM")

SIZES = {"F32": 4, "BF16": 2}
"""Bytes of an element, of other types one."""


def write(folder: Path, entries: Entries, quantization: dict[str, Any] | None, model: tuple[str, str] = LLAMA) -> None:
    """Write a folder of one file and a config.json; `model` is its type and its class."""
    folder.mkdir()
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape, _) in entries.items():
        start, end = end, end + int(np.prod(shape)) * SIZES.get(dtype, 1)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with Path(folder, "model.safetensors").open("wb") as stream:
        stream.write(len(text).to_bytes(8, "little") + text)
        for name, (_, _, content) in entries.items():
            start, end = header[name]["data_offsets"]
            for at in range(start, end, content.size):
                stream.write(content[: min(content.size, end - at)])
        stream.flush()
        os.fsync(stream.fileno())
    config: dict[str, Any] = {"model_type": model[0], "architectures": [model[1]], "torch_dtype": "bfloat16"}
    if quantization is not None:
        config["quantization_config"] = quantization
    Path(folder, "config.json").write_text(json.dumps(config))


def block_fp8(folder: Path, size: int) -> None:
    """Write about so many bytes of weights in float8_e4m3fn with float32 factors to blocks of 128 by 128."""
    random = np.random.default_rng(20261122)
    codes = random.standard_normal(PIECE, np.float32).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    grid = (ROWS // 128, COLUMNS // 128)
    factors = (random.random(grid, np.float32) * np.float32(1e-3)).view(np.uint8).reshape(-1)
    entries: Entries = {}
    for number in range(max(1, size // (ROWS * COLUMNS))):
        name = f"model.layers.{number}.mlp.up_proj.weight"
        entries[name] = "F8_E4M3", (ROWS, COLUMNS), codes
        entries[f"{name}_scale_inv"] = "F32", grid, factors
    write(folder, entries, {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]})


def gpt_oss(folder: Path, size: int) -> None:
    """Write about so many bytes of experts in MXFP4: one layer."""
    random = np.random.default_rng(20261122)
    codes = random.integers(0, 256, PIECE, np.uint8)
    exponents = random.integers(115, 125, PIECE, np.uint8)
    experts = max(1, size // (3 * HIDDEN * HIDDEN // 32 * 17))
    entries: Entries = {}
    for name, rows in (("gate_up_proj", 2 * HIDDEN), ("down_proj", HIDDEN)):
        shape = (experts, rows, HIDDEN // 32)
        entries[f"model.layers.0.mlp.experts.{name}_blocks"] = "U8", (*shape, 16), codes
        entries[f"model.layers.0.mlp.experts.{name}_scales"] = "U8", shape, exponents
    write(folder, entries, {"quant_method": "mxfp4"})


def bf16_numbers() -> Array:
    """Return the bytes of normal numbers in BF16."""
    numbers = np.float32(0.02) * np.random.default_rng(20261122).standard_normal(PIECE // 2, np.float32)
    return numbers.astype(ml_dtypes.bfloat16).view(np.uint8)


def bf16_gpt_oss(folder: Path, size: int) -> None:
    """Write about so many bytes of experts of gpt-oss in BF16: one layer, whose inputs are the second axis."""
    content, experts = bf16_numbers(), max(1, size // (6 * HIDDEN * HIDDEN))
    shapes = {"gate_up_proj": (experts, HIDDEN, 2 * HIDDEN), "down_proj": (experts, HIDDEN, HIDDEN)}
    names = {f"model.layers.0.mlp.experts.{name}": shape for name, shape in shapes.items()}
    write(folder, {name: ("BF16", shape, content) for name, shape in names.items()}, None, GPT_OSS)


def bf16_gguf(folder: Path, size: int) -> None:
    """Write about so many bytes of weights in BF16 as model.gguf: projections of 4096 by 4096."""
    folder.mkdir()
    rows = np.resize(bf16_numbers(), (WIDTH, 2 * WIDTH))
    writer = gguf.GGUFWriter(folder / "model.gguf", "llama")
    for layer in range(max(1, size // rows.nbytes)):
        writer.add_tensor(f"blk.{layer}.ffn_up.weight", rows, raw_dtype=gguf.GGMLQuantizationType.BF16)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def bf16_model(folder: Path, size: int) -> None:
    """Write about so many bytes of weights in BF16, normal numbers: layers of two projections of 4096 by 4096."""
    content = bf16_numbers()
    shape, layers = (WIDTH, WIDTH), range(max(1, size // (4 * WIDTH * WIDTH)))
    names = (f"model.layers.{layer}.mlp.{which}_proj.weight" for layer in layers for which in ("gate", "up"))
    write(folder, dict.fromkeys(names, ("BF16", shape, content)), None)


JOBS = {"block FP8": (block_fp8, 1.1, 0.8, 128), "gpt-oss MXFP4": (gpt_oss, 2.5, 2.5, 256)}
"""By title: what writes the checkpoint, and the goals: wall and CPU time over a plain copy, peak MiB."""

SCALES = {
    "FP8, a scale to a row": {"to": "float8_e4m3fn", "scale": "axis:0"},
    "FP8, one scale": {"to": "float8_e4m3fn", "scale": "tensor"},
    "FP8, a scale to 128": {"to": "float8_e4m3fn", "scale": "block:128"},
    "MXFP4": {"to": "float4_e2m1fn", "scale": "block:32", "scale_format": "float8_e8m0fnu"},
    "int8, a scale to a row": {"to": "int8", "scale": "axis:0"},
    "int4, a scale to 128": {"to": "int4", "scale": "block:128"},
}
"""Conversions with scales, by title: the options of `convert`."""

GOALS = {
    "fp8-dynamic": 1.3, "fp8-block": 1.3, "int8": 1.4, "w4a16": 1.4, "w4a16-g32": 1.4, "mxfp4a16": 1.6, "mxfp8": 1.6,
    "nvfp4a16": 1.6, "FP8, a scale to a row": 1.3, "FP8, one scale": 1.3, "FP8, a scale to 128": 1.3, "MXFP4": 1.6,
    "int8, a scale to a row": 1.4, "int4, a scale to 128": 1.4, "q8_0": 1.6, "q4_0": 1.6, "mxfp4": 1.6,
}  # fmt: skip
"""CPU time over a plain copy, at most, by recipe or title; other recipes have none."""
