"""The recipes modelopt-* write the tensors and descriptions that ModelOpt 0.47.0 exports, and are read again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import read_json
from support.golden import GOLDEN, tensors_of
from support.tiny_models import BFLOAT16, INDEX, llama, llama_config, write_folder

from lowprec.checkpoints import convert
from lowprec.checkpoints.recipes import RECIPES

FOLDERS = {"modelopt-fp8": "FP8", "modelopt-fp8-dynamic": "FP8_ROWS", "modelopt-nvfp4": "NVFP4"}
DIGESTS: dict[str, Any] = json.loads((GOLDEN / "modelopt" / "digests.json").read_text(encoding="utf-8"))
P = "model.layers.0.mlp.down_proj"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model whose q, k and v, and gate and up, lie in different shards."""
    return write_folder(tmp_path / "llama", llama(), llama_config())


def test_each_recipe_has_a_golden_folder() -> None:
    assert [recipe.name for recipe in RECIPES if recipe.layout == "modelopt"] == list(FOLDERS)
    assert {path.name for path in (GOLDEN / "modelopt").iterdir() if path.is_dir()} == set(FOLDERS.values())
    assert DIGESTS["versions"]["nvidia-modelopt"] == "0.47.0"


@pytest.mark.parametrize(("recipe", "folder"), FOLDERS.items())
def test_the_bytes_of_modelopt(recipe: str, folder: str, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = convert(model, out, recipe=recipe, verify=True)
    golden, found = tensors_of(GOLDEN / "modelopt" / folder), tensors_of(out)
    if recipe == "modelopt-fp8":  # ModelOpt has a scale of the input from calibration, or none
        added = {name: found.pop(name) for name in list(found) if name.endswith(".input_scale")}
        assert set(added.values()) == {("F32", (), np.float32(1).tobytes())}
        assert len(added) == 7
    assert found == golden
    config, expected = read_json(out / "config.json"), read_json(GOLDEN / "modelopt" / folder / "config.json")
    assert json.dumps(config["quantization_config"]) == json.dumps(expected["quantization_config"])
    assert read_json(out / "hf_quant_config.json") == read_json(GOLDEN / "modelopt" / folder / "hf_quant_config.json")
    assert read_json(out / INDEX)["weight_map"].keys() == tensors_of(out).keys()
    assert {one.name for one in report.tensors if one.action == "converted"} == {
        name for name in llama() if name.endswith("_proj.weight")
    }


@pytest.mark.parametrize("recipe", FOLDERS)
def test_the_file_is_modelopts_to_the_byte(recipe: str, model: Path, tmp_path: Path) -> None:
    """hf_quant_config.json has the same text, for people who compare."""
    convert(model, tmp_path / "out", recipe=recipe)
    golden = GOLDEN / "modelopt" / FOLDERS[recipe] / "hf_quant_config.json"
    assert (tmp_path / "out" / "hf_quant_config.json").read_text(encoding="utf-8").strip() == golden.read_text().strip()


@pytest.mark.parametrize("recipe", FOLDERS)
def test_fused_weights_share_the_scale_of_a_tensor(recipe: str, model: Path, tmp_path: Path) -> None:
    convert(model, tmp_path / "out", recipe=recipe)
    last = "weight_scale_2" if recipe == "modelopt-nvfp4" else "weight_scale"
    found = tensors_of(tmp_path / "out")
    q, k, gate, up = (found[f"model.layers.0.{name}_proj.{last}"][2] for name in
                      ("self_attn.q", "self_attn.k", "mlp.gate", "mlp.up"))  # fmt: skip
    assert ((q, gate) == (k, up)) == (recipe != "modelopt-fp8-dynamic")


def test_nvfp4_is_dequantized_to_the_bits_of_modelopt(model: Path, tmp_path: Path) -> None:
    """But for the sign of zeros, which ModelOpt does not decode."""
    convert(model, tmp_path / "out", recipe="modelopt-nvfp4")
    convert(tmp_path / "out", tmp_path / "back", to="bfloat16")
    found = tensors_of(tmp_path / "back")
    for name, expected in DIGESTS["NVFP4"].items():
        codes = np.frombuffer(found[name][2], "<u2")
        unsigned = np.where(codes == 0x8000, 0, codes).astype("<u2")
        assert hashlib.sha256(unsigned.tobytes()).hexdigest()[:16] == expected


@pytest.mark.parametrize("recipe", ["modelopt-fp8", "modelopt-fp8-dynamic"])
def test_fp8_is_dequantized_to_codes_times_scales(recipe: str, model: Path, tmp_path: Path) -> None:
    convert(model, tmp_path / "out", recipe=recipe)
    convert(tmp_path / "out", tmp_path / "back", to="float32")
    golden = tensors_of(GOLDEN / "modelopt" / FOLDERS[recipe])
    for name in (name for name in golden if name.endswith("_proj.weight")):
        _, shape, content = golden[name]
        _, scale_shape, scale = golden[f"{name}_scale"]
        values = np.frombuffer(content, "V1").view("u1").reshape(shape)
        table = np.array([fp8_value(code) for code in range(256)], np.float32)
        factors = np.frombuffer(scale, "<f4").reshape((*scale_shape, 1))
        expected = table[values] * factors
        assert tensors_of(tmp_path / "back")[name][2] == expected.tobytes()


def fp8_value(code: int) -> float:
    """Return the value of a code of float8_e4m3fn that is finite."""
    exponent, mantissa = code >> 3 & 15, code & 7
    magnitude = (8 + mantissa) * 2.0 ** (exponent - 10) if exponent else mantissa * 2.0**-9
    return -magnitude if code & 128 else magnitude


def test_what_it_means_for_inputs_is_said(model: Path, tmp_path: Path) -> None:
    remarks = {name: convert(model, tmp_path / name, recipe=name, dry_run=True).remarks for name in FOLDERS}
    assert "input_scale is 1" in remarks["modelopt-fp8"][0]
    assert "448" in remarks["modelopt-fp8"][0]
    assert remarks["modelopt-fp8-dynamic"] == []
    assert "inputs of layers are not quantized" in remarks["modelopt-nvfp4"][0]


@pytest.mark.parametrize("recipe", FOLDERS)
def test_a_weight_of_zeros(recipe: str, tmp_path: Path) -> None:
    """ModelOpt 0.47 exports NaN for it with modelopt-fp8 and modelopt-nvfp4; here it stays zeros."""
    zeros = np.zeros((128, 256), BFLOAT16)
    source = write_folder(tmp_path / "llama", {**llama(), f"{P}.weight": zeros}, llama_config())
    convert(source, tmp_path / "out", recipe=recipe)
    convert(tmp_path / "out", tmp_path / "back", to="bfloat16")
    assert tensors_of(tmp_path / "back")[f"{P}.weight"] == ("BF16", (128, 256), zeros.tobytes())


def test_rows_that_are_not_divided_into_groups_are_kept(tmp_path: Path) -> None:
    odd = np.ones((128, 24), BFLOAT16)
    source = write_folder(tmp_path / "llama", {**llama(), f"{P}.weight": odd}, llama_config())
    report = convert(source, tmp_path / "out", recipe="modelopt-nvfp4")
    why = {one.name: one.why for one in report.tensors}
    assert why[f"{P}.weight"] == "its rows are not divided into groups of 16"
    assert P in read_json(tmp_path / "out" / "hf_quant_config.json")["quantization"]["exclude_modules"]
    assert P in read_json(tmp_path / "out" / "config.json")["quantization_config"]["ignore"]
