"""Recipes write the same bytes in any cut: whole tensors, or parts of small chunks, on one thread and on several."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.golden import GOLDEN, PRESETS, tensors_of
from support.tiny_models import experts, experts_config, llama, llama_config, write_folder
from support.typed_tensors import BF16, random_codes, random_scales, write_in_turn

from lowprec.checkpoints import convert

X = "model.layers.2.mlp.experts."


def random_model(folder: Path, shapes: dict[str, tuple[int, ...]], **config: Any) -> Path:
    random = np.random.RandomState(5)
    tensors = {name: (random.standard_normal(shape) * 0.05).astype(BF16) for name, shape in shapes.items()}
    return write_in_turn(folder, tensors, config)


def deepseek(folder: Path) -> Path:
    """Write matrices and stacked experts whose sides are no whole blocks."""
    shapes: dict[str, tuple[int, ...]] = {"layers.0.o_proj.weight": (192, 320), "layers.1.down_proj.weight": (300, 100)}
    return random_model(
        folder, {**shapes, f"{X}gate_up_proj": (3, 200, 192), f"{X}down_proj": (3, 192, 100)}, hidden_size=192
    )


def gpt_oss(folder: Path) -> Path:
    return random_model(folder, {f"{X}gate_up_proj": (3, 64, 50), f"{X}down_proj": (3, 96, 64)}, model_type="gpt_oss")


def fnuz(folder: Path) -> Path:
    """Write FP8 of MI300 in which one code of 240, the last one, decides about all rows."""
    codes = random_codes((300, 64)).view(np.uint8)
    codes[codes == 0x80], codes[-1, -1] = 3, 0x7F
    tensors = {"a.weight": codes.view(ml_dtypes.float8_e4m3fnuz), "a.weight_scale": random_scales((300, 1), BF16)}
    return write_in_turn(folder, tensors, {"quantization_config": {"quant_method": "compressed-tensors"}})


SOURCES: dict[str, Callable[[Path], Path]] = {
    "llama": lambda folder: write_folder(folder, llama(), llama_config()),
    "experts": lambda folder: write_folder(folder, experts(), experts_config()),
    "deepseek": deepseek, "gpt-oss": gpt_oss, "fnuz": fnuz,
    "W4A16": lambda _: GOLDEN / "W4A16", "MXFP4A16": lambda _: GOLDEN / "MXFP4A16",
}  # fmt: skip
RECIPES = {
    "llama": [*PRESETS, "w4a16-g32"], "experts": ["nvfp4a16"], "deepseek": ["deepseek-fp8", "deepseek-fp8-ue8m0"],
    "gpt-oss": ["gptoss-mxfp4"], "fnuz": ["fn"],
    "W4A16": [*PRESETS, "w4a16-g32", "deepseek-fp8", "deepseek-fp8-ue8m0"],
    "MXFP4A16": [*PRESETS, "w4a16-g32", "deepseek-fp8", "deepseek-fp8-ue8m0"],
}  # fmt: skip
QUICK = {("llama", "nvfp4a16"), ("llama", "fp8-block"), ("W4A16", "int8"), ("MXFP4A16", "deepseek-fp8")}
"""Of the sources with many recipes; of the others all are quick, on several threads."""

SEVERAL = {"threads": 3, "max_memory": "110M"}
CASES = [
    pytest.param(source, recipe, options, marks=() if quick and options is SEVERAL else pytest.mark.slow)
    for source, recipes in RECIPES.items()
    for recipe in recipes
    for quick in [len(recipes) < 3 or (source, recipe) in QUICK]
    for options in ({"threads": 1}, SEVERAL, *[{"resume": True}] * (source == "experts"))
]


@pytest.mark.parametrize(("source", "recipe", "options"), CASES)
def test_the_same_bytes_in_any_cut(
    source: str, recipe: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = SOURCES[source](tmp_path / "in")
    whole = convert(folder, tmp_path / "whole", recipe=recipe)
    for operation in ("quantize", "lossless", "change_codes"):
        monkeypatch.setattr(f"lowprec.checkpoints.operations.{operation}.PART", 1)
    monkeypatch.setattr("lowprec.checkpoints.memory_limit.LARGEST_CHUNK", 1 << 12)
    cut = convert(folder, tmp_path / "cut", recipe=recipe, **options)
    assert tensors_of(tmp_path / "cut") == tensors_of(tmp_path / "whole")
    assert [(one.inexact, one.max_abs_error) for one in cut.tensors] == [
        (one.inexact, one.max_abs_error) for one in whole.tensors
    ]
    assert (source, recipe) != ("MXFP4A16", "deepseek-fp8") or any(one.inexact for one in cut.tensors)
