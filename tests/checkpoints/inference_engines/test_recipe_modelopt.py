"""The recipes modelopt-* write what ModelOpt 0.47.0 exports, on hard weights too, and are read again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import read_json
from support.golden import GOLDEN, tensors_of
from support.tiny_models import INDEX, llama, llama_config, write_folder
from support.typed_tensors import BF16

from lowprec.checkpoints import convert
from lowprec.checkpoints.inference_engines.modelopt import fp8_scale, nvfp4_scale, quantize
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import GlobalScale, Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

FOLDERS = {"modelopt-fp8": "FP8", "modelopt-fp8-dynamic": "FP8_ROWS", "modelopt-nvfp4": "NVFP4"}
DIGESTS: dict[str, Any] = json.loads((GOLDEN / "modelopt" / "digests.json").read_text(encoding="utf-8"))
P = "model.layers.0.mlp.down_proj"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Return a model whose q, k and v, and gate and up, lie in different shards."""
    return write_folder(tmp_path / "llama", llama(), llama_config())


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
    ours, theirs = (one / "hf_quant_config.json" for one in (out, GOLDEN / "modelopt" / folder))
    assert ours.read_text(encoding="utf-8").strip() == theirs.read_text(encoding="utf-8").strip()
    assert read_json(out / INDEX)["weight_map"].keys() == tensors_of(out).keys()
    assert {one.name for one in report.tensors if one.action == "converted"} == {
        name for name in llama() if name.endswith("_proj.weight")
    }


def test_nvfp4_is_dequantized_to_the_bits_of_modelopt(model: Path, tmp_path: Path) -> None:
    """But for the sign of zeros, which ModelOpt does not decode."""
    convert(model, tmp_path / "out", recipe="modelopt-nvfp4")
    convert(tmp_path / "out", tmp_path / "back", to="bfloat16")
    found = tensors_of(tmp_path / "back")
    for name, expected in DIGESTS["NVFP4"].items():
        codes = np.frombuffer(found[name][2], "<u2")
        unsigned = np.where(codes == 0x8000, 0, codes).astype("<u2")
        assert hashlib.sha256(unsigned.tobytes()).hexdigest()[:16] == expected


def test_what_it_means_for_inputs_is_said(model: Path, tmp_path: Path) -> None:
    remarks = {name: convert(model, tmp_path / name, recipe=name, dry_run=True).remarks for name in FOLDERS}
    assert "input_scale is 1" in remarks["modelopt-fp8"][0]
    assert "448" in remarks["modelopt-fp8"][0]
    assert remarks["modelopt-fp8-dynamic"] == []
    assert "inputs of layers are not quantized" in remarks["modelopt-nvfp4"][0]


def test_rows_that_are_not_divided_into_groups_are_kept(tmp_path: Path) -> None:
    odd = np.ones((128, 24), BF16)
    source = write_folder(tmp_path / "llama", {**llama(), f"{P}.weight": odd}, llama_config())
    report = convert(source, tmp_path / "out", recipe="modelopt-nvfp4")
    why = {one.name: one.why for one in report.tensors}
    assert why[f"{P}.weight"] == "its rows are not divided into groups of 16"
    assert P in read_json(tmp_path / "out" / "hf_quant_config.json")["quantization"]["exclude_modules"]
    assert P in read_json(tmp_path / "out" / "config.json")["quantization_config"]["ignore"]


NVFP4 = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR)
TENSOR = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0))
ROWS = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(1, 0))
FORMATS = {"bfloat16": BFLOAT16, "float16": FLOAT16, "float32": FLOAT32}
CASES = [(name, part) for name in FORMATS for part in ("0", "1")]


def edges(name: str, part: str) -> tuple[np.ndarray, Format, dict[str, bytes], float]:
    """Return a weight as codes, its format, what ModelOpt makes of it, and its largest magnitude."""
    fmt, prefix = FORMATS[name], f"{name}.{part}."
    stored = tensors_of(GOLDEN / "modelopt", "edges.safetensors")
    _, shape, content = stored[prefix + "x"]
    x = np.frombuffer(content, fmt.code_dtype).reshape(shape)
    largest = float(np.abs(x.view(fmt.dtype).astype(np.float64)).max())
    made = {key.removeprefix(prefix): one for key, (_, _, one) in stored.items() if key.startswith(prefix)}
    return x, fmt, made, largest


@pytest.mark.parametrize(("name", "part"), CASES)
@pytest.mark.parametrize(
    ("kind", "scheme", "scale_of"), [("nvfp4", NVFP4, nvfp4_scale), ("fp8", TENSOR, fp8_scale), ("rows", ROWS, None)]
)
def test_the_bytes_of_hard_weights(kind: str, scheme: Scheme, scale_of: Any, name: str, part: str) -> None:
    """NVFP4, FP8 with a scale to a tensor, and to a row."""
    x, fmt, expected, largest = edges(name, part)
    shared = None if scale_of is None else scale_of(largest, fmt)
    scales, codes = quantize(x, fmt, scheme, shared)
    assert codes.tobytes() == expected[f"{kind}.codes"]
    assert codes.shape == (len(x), x.shape[1] // (2 if kind == "nvfp4" else 1))
    if kind == "fp8":
        assert shared.tobytes() == expected["fp8.scale"]
        assert scales.tobytes() == expected["fp8.scale"] * len(x)
    else:
        assert scales.tobytes() == expected[f"{kind}.scales"]
        assert shared is None or shared.tobytes() == expected["nvfp4.second"]
    assert kind == "nvfp4" or scales.shape == (len(x), 1)


@pytest.mark.parametrize("largest", [1.5, 6.0, 12.0])
def test_negative_zero_is_zero_at_any_factor(largest: float) -> None:
    """A factor is `largest` / 6, below 1, 1 and above: codes are 0 for -0, 7 for 6 factors and F for minus 6."""
    row = np.array([[-0.0, largest, -largest, -0.0] * 4], np.float32)
    scales, codes = quantize(row.view(np.uint32), FLOAT32, NVFP4, np.float32(largest / 2688))
    assert scales.tolist() == [[0x7E]]
    assert codes.tolist() == [[0x70, 0x0F] * 4]


@pytest.mark.parametrize("fmt", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize(
    ("scheme", "scale_of", "second", "scale"),
    [(NVFP4, nvfp4_scale, 1 / 448, 0x38), (TENSOR, fp8_scale, 1.0, 0x3F800000), (ROWS, None, None, 0x3F800000)],
    ids=["nvfp4", "tensor", "rows"],
)
def test_a_weight_of_zeros_has_finite_scales(
    fmt: Format, scheme: Scheme, scale_of: Any, second: float | None, scale: int
) -> None:
    """ModelOpt's export writes scales of 0 and NaN, and codes that are NaN or 6, but for a scale to a row."""
    x = np.zeros((2, 32), fmt.code_dtype)
    shared = None if scale_of is None else scale_of(0.0, fmt)
    assert shared is None or shared == np.float32(second)
    scales, codes = quantize(x, fmt, scheme, shared)
    assert set(scales.reshape(-1).tolist()) == {scale}
    assert not codes.any()
