"""Recipes for ComfyUI write the bytes that comfy-kitchen makes, and its files are dequantized to its values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import leftovers, parse
from support.golden import GOLDEN, digest, tensors_of

from lowprec.checkpoints import convert

FOLDER = GOLDEN / "comfy"
DIGESTS: dict[str, Any] = json.loads((FOLDER / "digests.json").read_text(encoding="utf-8"))
RECIPES = ("comfy-fp8", "comfy-mxfp8", "comfy-nvfp4")
P = "model.diffusion_model."


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_bytes_of_comfy_kitchen(recipe: str, tmp_path: Path) -> None:
    report = convert(FOLDER / "source.safetensors", tmp_path / "x.safetensors", recipe=recipe, verify=True)
    golden = tensors_of(FOLDER, f"{recipe}.safetensors")
    assert tensors_of(tmp_path) == golden
    assert {one.name for one in report.tensors if one.action == "converted"} == DIGESTS[recipe].keys()
    assert report.remarks == []
    assert report.total.bytes_after == sum(len(content) for _, _, content in golden.values())
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("file", [*RECIPES, "padded"])
def test_dequantized_to_the_values_of_comfy_kitchen(file: str, tmp_path: Path) -> None:
    """Products are rounded to float32; a narrower type is rounded to once.

    comfy-kitchen's eager back end, for bfloat16, rounds FP8's scales and NVFP4's products of scales to bfloat16 before
    it multiplies; its Triton kernels do not.
    """
    convert(FOLDER / f"{file}.safetensors", tmp_path / "wide.safetensors", to="float32")
    wide = tensors_of(tmp_path)
    assert {name: digest(wide[name][2]) for name in DIGESTS[file]} == DIGESTS[file]
    assert not any(name.endswith(("comfy_quant", "weight_scale", "weight_scale_2")) for name in wide)
    (tmp_path / "wide.safetensors").unlink()
    convert(FOLDER / f"{file}.safetensors", tmp_path / "x.safetensors", to="bfloat16")
    for name, (dtype, shape, content) in tensors_of(tmp_path).items():
        if name in DIGESTS[file]:
            rounded = np.frombuffer(wide[name][2], np.float32).astype(ml_dtypes.bfloat16)
            assert (dtype, shape, content) == ("BF16", wide[name][1], rounded.tobytes())


def test_the_rows_that_were_added_are_those_beyond_the_bias(tmp_path: Path) -> None:
    stored = parse(FOLDER / "padded.safetensors")[0]
    assert stored["blocks.0.a.weight"]["shape"] == [48, 48]
    convert(FOLDER / "padded.safetensors", tmp_path / "x.safetensors", to="bfloat16")
    shapes = {name: shape for name, (_, shape, _) in tensors_of(tmp_path).items()}
    assert shapes["blocks.0.a.weight"] == (40, 96)  # NVFP4 with a bias
    assert shapes["blocks.0.b.weight"] == (64, 96)  # MXFP8 without


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("part", [1, 4096])
def test_chunks_of_a_tile_change_nothing(
    recipe: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 160 rows, 128 are in the first chunk: their scales are whole tiles."""
    monkeypatch.setattr("lowprec.checkpoints.operations.quantize.PART", part)
    monkeypatch.setattr("lowprec.checkpoints.memory_limit.LARGEST_CHUNK", 1 << 12)
    convert(FOLDER / "source.safetensors", tmp_path / "x.safetensors", recipe=recipe, threads=3)
    assert tensors_of(tmp_path) == tensors_of(FOLDER, f"{recipe}.safetensors")
    monkeypatch.setattr("lowprec.checkpoints.operations.dequantize.PART", part)
    monkeypatch.setattr("lowprec.checkpoints.weights.quantized_weight.SMALL", 0)
    convert(tmp_path / "x.safetensors", tmp_path / "y.safetensors", to="float32", threads=3)
    values = tensors_of(tmp_path, "y.safetensors")
    assert {name: digest(values[name][2]) for name in DIGESTS[recipe]} == DIGESTS[recipe]


@pytest.mark.parametrize("source", [*RECIPES, "padded"])
@pytest.mark.parametrize("recipe", RECIPES)
def test_what_is_quantized_goes_through_its_values(source: str, recipe: str, tmp_path: Path) -> None:
    """In one pass, as by way of bfloat16; FP8 with one scale and NVFP4 of the same recipe too."""
    convert(FOLDER / f"{source}.safetensors", tmp_path / "one.safetensors", recipe=recipe, verify=True)
    convert(FOLDER / f"{source}.safetensors", tmp_path / "plain.safetensors", to="bfloat16")
    convert(tmp_path / "plain.safetensors", tmp_path / "two.safetensors", recipe=recipe)
    assert tensors_of(tmp_path, "one.safetensors") == tensors_of(tmp_path, "two.safetensors")
