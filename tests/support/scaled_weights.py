"""Weights in NVFP4, and in FP8 with one scale, as ModelOpt and compressed-tensors name them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from support.typed_tensors import BF16, F8, write_tensors

P = "model.layers.0.mlp.up_proj"
Q = "model.layers.0.mlp.down_proj"
ONE = np.float32(1)


def codes() -> np.ndarray:
    return np.random.RandomState(1).randint(0, 256, (8, 32)).astype(np.uint8)


def nvfp4(layout: str, second: Any = ONE, inputs: Any = None, module: str = P) -> dict[str, np.ndarray]:
    """Return a weight in NVFP4 in a layout, with a scale of its input if one is given."""
    ours = layout == "modelopt"
    blocks = np.random.RandomState(2).uniform(1, 400, (8, 4)).astype(np.float32).astype(F8)
    numbers = {"weight_scale_2" if ours else "weight_global_scale": second}
    numbers |= {} if inputs is None else {"input_scale" if ours else "input_global_scale": inputs}
    scalars = {f"{module}.{name}": np.asarray(one).reshape(() if ours else 1) for name, one in numbers.items()}
    return {f"{module}.{'weight' if ours else 'weight_packed'}": codes(), f"{module}.weight_scale": blocks, **scalars}


def fp8(scale: Any, inputs: Any = None, module: str = P) -> dict[str, np.ndarray]:
    """Return a weight in FP8 with one scale."""
    found = {f"{module}.weight": (codes() % 0x70).view(F8), f"{module}.weight_scale": np.asarray(scale)}
    return found if inputs is None else {**found, f"{module}.input_scale": np.asarray(inputs)}


def write_model(folder: Path, tensors: dict[str, np.ndarray], method: str = "modelopt", **described: Any) -> Path:
    folder.mkdir()
    plain = {"lm_head.weight": np.ones((4, 8), BF16), "model.norm.weight": np.ones(8, BF16)}
    write_tensors(folder / "model.safetensors", {**tensors, **plain})
    entry = {"quant_method": method, **described}
    text = json.dumps({"model_type": "llama", "quantization_config": entry, "note": "größer"}, ensure_ascii=False)
    (folder / "config.json").write_text(text, encoding="utf-8")
    return folder
