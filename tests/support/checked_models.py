"""Small models in quantized layouts that engines read, and the errors that `check` finds in them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from lowprec.checkpoints import Finding, check
from lowprec.cli import main
from support.checkpoint_files import everything
from support.typed_tensors import BF16, F8, Array, nibbles, words, write_model

Tensors = dict[str, Array]
PROJECTIONS = [f"model.layers.{i}.{name}" for i in range(2) for name in ("self_attn.q_proj", "mlp.up_proj")]
Q, UP = "model.layers.1.self_attn.q_proj", "model.layers.1.mlp.up_proj"


def plain() -> Tensors:
    """Return what no engine quantizes."""
    norms = {f"model.layers.{i}.input_layernorm.weight": np.ones(256, BF16) for i in range(2)}
    gates = {f"model.layers.{i}.mlp.gate.weight": np.ones((4, 256), BF16) for i in range(2)}
    ends = {name: np.ones((8, 256), BF16) for name in ("model.embed_tokens.weight", "lm_head.weight")}
    return {**ends, **norms, **gates}


def each(make: Callable[[], Tensors]) -> Tensors:
    """Return the tensors of every projection."""
    return {f"{module}.{name}": array for module in PROJECTIONS for name, array in make().items()}


def codes(shape: tuple[int, int] = (192, 256)) -> Array:
    """Return E4M3 codes up to the largest, 448, without NaN."""
    return (np.arange(shape[0] * shape[1], dtype=np.uint32) % 0x7F).astype(np.uint8).view(F8).reshape(shape)


def deepseek() -> tuple[Tensors, dict[str, Any]]:
    scales = np.full((2, 2), 2.0**-10, np.float32)
    config = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
    return {**each(lambda: {"weight": codes(), "weight_scale_inv": scales.copy()}), **plain()}, config


def compressed(fmt: str, ignore: tuple[str, ...] = ("lm_head", "re:.*gate$"), **weights: Any) -> dict[str, Any]:
    group = {"targets": ["Linear"], "weights": {"symmetric": True, **weights}}
    said = {"quant_method": "compressed-tensors", "format": fmt, "ignore": list(ignore)}
    return {**said, "config_groups": {"group_0": group}}


def channel() -> tuple[Tensors, dict[str, Any]]:
    made = each(lambda: {"weight": codes(), "weight_scale": np.full((192, 1), 0.001, BF16)})
    return {**made, **plain()}, compressed("float-quantized", num_bits=8, type="float", strategy="channel")


def pack() -> tuple[Tensors, dict[str, Any]]:
    numbers = np.random.default_rng(0).integers(0, 16, (192, 256))
    shape, scales = np.array([192, 256]), np.ones((192, 2), BF16)
    made = each(lambda: {"weight_packed": words(numbers, 4), "weight_shape": shape, "weight_scale": scales})
    return {**made, **plain()}, compressed("pack-quantized", num_bits=4, type="int", strategy="group", group_size=128)


def nvfp4() -> tuple[Tensors, dict[str, Any]]:
    made = each(lambda: {
        "weight_packed": nibbles(np.full((192, 256), 7)), "weight_scale": np.full((192, 16), 200, F8),
        "weight_global_scale": np.full(1, 5000, np.float32),
    })  # fmt: skip
    config = compressed("nvfp4-pack-quantized", num_bits=4, type="float", strategy="tensor_group", group_size=16)
    return {**made, **plain()}, config


def modelopt() -> tuple[Tensors, dict[str, Any]]:
    made = each(lambda: {
        "weight": nibbles(np.full((192, 256), 7)), "weight_scale": np.full((192, 16), 200, F8),
        "weight_scale_2": np.array(0.0002, np.float32), "input_scale": np.array(0.01, np.float32),
    })  # fmt: skip
    config = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "ignore": ["lm_head", "*.mlp.gate"]}
    return {**made, **plain()}, config


def gpt_oss() -> tuple[Tensors, dict[str, Any]]:
    made = {}
    for i in range(2):
        experts = f"model.layers.{i}.mlp.experts."
        made[experts + "gate_up_proj_blocks"] = np.full((2, 64, 4, 16), 0x31, np.uint8)
        made[experts + "gate_up_proj_scales"] = np.full((2, 64, 4), 120, np.uint8)
        made[f"model.layers.{i}.self_attn.q_proj.weight"] = np.ones((64, 64), BF16)
    ignored = ["model.layers.*.self_attn", "model.layers.*.mlp.gate", "model.embed_tokens", "lm_head"]
    return {**made, **plain()}, {"quant_method": "mxfp4", "modules_to_not_convert": ignored}


Model = Callable[[], tuple[Tensors, dict[str, Any]]]
MODELS: tuple[Model, ...] = (deepseek, channel, pack, nvfp4, modelopt, gpt_oss)


def write(tensors: Tensors, quantization: Any, folder: str = "model", **config: Any) -> Path:
    names, half = sorted(tensors), len(tensors) // 2
    parts = {"a.safetensors": names[:half], "b.safetensors": names[half:]}
    shards = {file: {name: tensors[name] for name in part} for file, part in parts.items()}
    entry = {"quantization_config": quantization} if quantization is not None else {}
    return write_model(Path(folder), shards, {"torch_dtype": "bfloat16", **entry, **config})


def errors(path: Path | str, **arguments: Any) -> list[Finding]:
    return [one for one in check(path, **arguments) if one.misread]


def only(path: Path | str, kind: str, tensor: str, text: str, count: int = 1) -> None:
    """Look for one error alone, and that the command's status says so."""
    before = everything(Path(path)) if Path(path).is_dir() else None
    found = errors(path)
    assert [(one.kind, one.tensor, one.count) for one in found] == [(kind, tensor, count)], [str(one) for one in found]
    assert text in found[0].text
    assert main(["check", str(path), "--progress", "none"]) == 1
    assert before is None or everything(Path(path)) == before
