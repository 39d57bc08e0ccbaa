"""Recipes write the bytes of llm-compressor and ModelOpt 0.47.0, and are dequantized to their bits; what they keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, configuration, convert_fails, read_json
from support.golden import GOLDEN, PRESETS, digest, tensors_of
from support.safetensors_writer import save_file
from support.tiny_models import INDEX, llama, llama_config, write_folder
from support.typed_tensors import BF16, read_tensors

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.inference_engines.modelopt import fp8_scale, nvfp4_scale, quantize
from lowprec.checkpoints.recipes import RECIPES as ALL_RECIPES
from lowprec.checkpoints.recipes import Recipe
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import GlobalScale, Packing, Scheme
from lowprec.spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT16, FLOAT32, Format

P = "model.layers.0.mlp.down_proj"
PROJECTED = {name for name in llama() if name.endswith("_proj.weight")}


@pytest.fixture
def model() -> Path:
    return write_folder(Path("llama"), llama(), llama_config())


@pytest.mark.parametrize(("recipe", "title"), PRESETS.items())
def test_the_bytes_of_llm_compressor(recipe: str, title: str, model: Path) -> None:
    report = convert(model, "out", recipe=recipe, verify=True)
    golden = tensors_of(GOLDEN / title)
    assert tensors_of(Path("out")) == golden
    assert configuration(Path("out")) == configuration(GOLDEN / title)
    index = json.loads(Path("out", INDEX).read_text(encoding="utf-8"))
    assert index["weight_map"].keys() == golden.keys()
    assert index["metadata"]["total_size"] == sum(len(content) for _, _, content in golden.values())
    assert report.total.bytes_after == index["metadata"]["total_size"]
    assert {one.name for one in report.tensors if one.action == "converted"} == PROJECTED
    assert min(one.sqnr_db for one in report.tensors if one.sqnr_db is not None) > 15


DIGESTS: dict[str, Any] = json.loads((GOLDEN / "digests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("preset", PRESETS.values())
def test_dequantized_to_the_bits_of_compressed_tensors(preset: str) -> None:
    """By `convert` and by `open`; `check` finds nothing in them."""
    convert(GOLDEN / preset, "out", to="bfloat16")
    tensors, shapes = tensors_of(Path("out")), {name: values.shape for name, values in llama().items()}
    assert {name: digest(content) for name, (_, _, content) in tensors.items()} == DIGESTS[preset]
    assert {name: one[:2] for name, one in tensors.items()} == {name: ("BF16", shape) for name, shape in shapes.items()}
    assert read_json(Path("out", INDEX))["weight_map"].keys() == shapes.keys()
    assert configuration(Path("out")) == llama_config()
    with lp.checkpoints.open(GOLDEN / preset) as checkpoint:
        assert {name: digest(x.tobytes()) for name, x in checkpoint.items()} == DIGESTS[preset]
        assert {x.dtype for x in checkpoint.values()} == {BF16}
    (finding,) = lp.checkpoints.check(GOLDEN / preset)
    assert (finding.kind, finding.misread, finding.text.endswith(": 7 weights")) == ("layout", False, True)


def test_groups_of_32(model: Path) -> None:
    """Scales are max / 7.5, rounded to bfloat16, and codes the rounded bfloat16 quotients plus 8."""
    convert(model, "out", recipe="w4a16-g32")
    dtype, shape, content = tensors_of(Path("out"))[f"{P}.weight_scale"]
    weight = llama()[f"{P}.weight"].astype(np.float32).reshape(128, 8, 32)
    scale = (np.abs(weight).max(axis=2) / np.float32(7.5)).astype(BF16)
    scale[scale == 0] = 2.0**-7
    assert (dtype, shape, content) == ("BF16", (128, 8), scale.tobytes())
    quotient = (weight / scale.astype(np.float32)[:, :, np.newaxis]).astype(BF16).astype(np.float32)
    codes = np.rint(np.clip(quotient, -8, 7)).astype(np.int64).reshape(128, 32, 8) + 8
    words = (codes << (4 * np.arange(8))).sum(axis=2).astype(np.uint32)
    assert tensors_of(Path("out"))[f"{P}.weight_packed"] == ("I32", (128, 32), words.tobytes())
    group = configuration(Path("out"))["quantization_config"]["config_groups"]["W4A16"]
    assert group["weights"]["group_size"] == 32


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_other_types_of_weights(dtype: Any) -> None:
    """Scales and quotients are then rounded to that type."""
    weights = {f"model.layers.0.{name}.weight": np.linspace(-3, 2, 256).reshape(2, 128).astype(dtype) for name in "ab"}
    save_file(weights, Path("x.safetensors"))
    convert("x.safetensors", "y.safetensors", recipe="int8")
    tensors = tensors_of(Path(), "y.safetensors")
    weight = weights["model.layers.0.a.weight"]
    scale = (np.abs(weight).max(axis=1, keepdims=True).astype(np.float32) / np.float32(127.5)).astype(dtype)
    assert tensors["model.layers.0.a.weight_scale"][2] == scale.tobytes()
    codes = np.rint(np.clip((weight / scale).astype(dtype).astype(np.float32), -128, 127)).astype(np.int8)
    assert tensors["model.layers.0.a.weight"] == ("I8", (2, 128), codes.tobytes())


L = "model.layers.0"


def test_what_is_kept() -> None:
    names = {
        "model.layers.0.mlp.gate.weight": (4, 128), "model.layers.0.mlp.experts.0.w1.weight": (4, 128),
        "model.layers.0.self_attn.q_norm.weight": (128,), "vision_tower.layers.0.fc.weight": (4, 128),
        "model.layers.0.odd.weight": (4, 100), "model.embed_tokens.weight": (8, 128), "lm_head.weight": (8, 128),
        "model.layers.0.mlp.experts.0.w2.weight": (4, 128),
    }  # fmt: skip
    tensors = {name: np.ones(shape, np.float32).astype(BF16) for name, shape in names.items()}
    folder = write_folder(Path("in"), tensors, {"model_type": "x"}, shards=1)
    report = convert(folder, "out", recipe="w4a16", keep="*.w2")
    assert [one.name for one in report.tensors if one.action == "converted"] == [f"{L}.mlp.experts.0.w1.weight"]
    assert configuration(Path("out"))["quantization_config"]["ignore"] == [
        "lm_head", "model.embed_tokens", "model.layers.0.mlp.experts.0.w2", "model.layers.0.odd",
        r"re:.*\bvision_tower\b", "re:.*gate$",
    ]  # fmt: skip
    written = tensors_of(Path("out"))
    for name in names:
        assert name.endswith("w1.weight") or written[name][2] == tensors[name].tobytes()


def test_patterns_of_names() -> None:
    """Globs and regular expressions, of tensors and modules; `also` adds what engines keep, if its shape allows it."""
    names = ("model.layers.0.a", "model.layers.0.mlp.gate", "model.layers.1.a", "lm_head", "model.embed_tokens")
    shapes = dict.fromkeys(names, (4, 128)) | {"lm_head": (4, 100)}
    tensors = {f"{name}.weight": np.ones(shape, np.float32).astype(BF16) for name, shape in shapes.items()}
    folder = write_folder(Path("in"), tensors, {"model_type": "x"}, shards=1)

    def converted(**options: Any) -> set[str]:
        report = convert(folder, "out", recipe="w4a16", dry_run=True, **options)
        return {one.name.removesuffix(".weight") for one in report.tensors if one.action == "converted"}

    assert converted() == {"model.layers.0.a", "model.layers.1.a"}
    assert converted(keep=r"re:.*\.0\.") == {"model.layers.1.a"}
    assert converted(keep="model.layers.1.a") == converted(keep=["*.1.a.weight"]) == {"model.layers.0.a"}
    assert converted(also=["lm_head", "re:.*gate$", "re:.*embed_tokens"], keep="*.a") == {names[1], names[4]}
    call_fails("has no tensor or module that `also` 're:a' names", converted, also="re:a")

    plain = convert(folder, "out", to="float16", exclude=["lm_head", "re:.*gate"], dry_run=True)
    kept = {"lm_head.weight", "model.layers.0.mlp.gate.weight"}
    assert {one.name for one in plain.tensors if one.action == "kept"} == kept


def test_a_remark_on_modules_that_engines_fuse(model: Path) -> None:
    report = convert(model, "a", recipe="fp8-dynamic", keep=["*.k_proj", "*.gate_proj"])
    assert report.remarks == [
        "'model.layers.0.mlp.gate_proj+up_proj' is quantized in part, and so are 1 more; "
        "vLLM fuses these modules and requires one type of them"
    ]
    report = convert(model, "b", recipe="fp8-dynamic", keep=["*.[qkv]_proj", "*.down_proj"])
    assert report.remarks == []


def of_one_weight(folder: Path, recipe: Recipe, weight: np.ndarray) -> tuple[Path, str]:
    """Write a model of one weight that a recipe takes; return its name as well."""
    name = "model.layers.0.mlp.experts.gate_up_proj" if weight.ndim == 3 else f"{P}.weight"
    name = name.replace("model.layers", "blocks") if recipe.layout == "ComfyUI" else name
    config = {"model_type": "gpt_oss" if recipe.models else "x", "hidden_size": 128 if recipe.models else 256}
    return write_folder(folder, {name: weight}, config, shards=1), name


OF_FOLDERS = [
    (recipe, shape) for recipe in ALL_RECIPES if recipe.layout != "GGUF" for shape in ((128, 256), (2, 128, 256))
    if len(shape) == (3 if recipe.models else 2) or recipe.layout == "FP8 of DeepSeek"
]  # fmt: skip


@pytest.mark.parametrize("dtype", [BF16, np.float16, np.float32])
@pytest.mark.parametrize(("number", "place"), [(np.nan, -1), (-np.inf, 0)])
@pytest.mark.parametrize(("recipe", "shape"), OF_FOLDERS, ids=lambda one: getattr(one, "name", str(one)))
def test_numbers_without_a_scale(recipe: Recipe, shape: tuple[int, ...], number: float, place: int, dtype: Any) -> None:
    weight = np.ones(shape, dtype)
    weight.reshape(-1)[place] = number
    source, name = of_one_weight(Path("in"), recipe, weight)
    convert_fails(f"'{name}': has a NaN or an infinity", source, "out", recipe=recipe.name)


@pytest.mark.parametrize(("recipe", "shape"), OF_FOLDERS, ids=lambda one: getattr(one, "name", str(one)))
def test_a_weight_of_zeros(recipe: Recipe, shape: tuple[int, ...]) -> None:
    """It stays zeros. ModelOpt 0.47 and comfy-kitchen make NaN of it; llm-compressor's second scale of NVFP4 is 1."""
    source, name = of_one_weight(Path("in"), recipe, np.zeros(shape, BF16))
    convert(source, "out", recipe=recipe.name)
    convert("out", "back", to="bfloat16")
    assert tensors_of(Path("back"))[name] == ("BF16", shape, np.zeros(shape, BF16).tobytes())
    if recipe.layout == "modelopt":
        scales = [one.astype(np.float32) for end, one in read_tensors(Path("out")).items() if "_scale" in end]
        assert all((one > 0).all() for one in scales)
    if recipe.name == "nvfp4a16":
        assert tensors_of(Path("out"))[f"{P}.weight_global_scale"][2] == np.float32(1).tobytes()


FOLDERS = {"modelopt-fp8": "FP8", "modelopt-fp8-dynamic": "FP8_ROWS", "modelopt-nvfp4": "NVFP4"}
OF_MODELOPT: dict[str, Any] = json.loads((GOLDEN / "modelopt" / "digests.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("recipe", "folder"), FOLDERS.items())
def test_the_bytes_of_modelopt(recipe: str, folder: str, model: Path) -> None:
    out = Path("out")
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
    assert {one.name for one in report.tensors if one.action == "converted"} == PROJECTED


def test_nvfp4_is_dequantized_to_the_bits_of_modelopt(model: Path) -> None:
    """But for the sign of zeros, which ModelOpt does not decode."""
    convert(model, "out", recipe="modelopt-nvfp4")
    convert("out", "back", to="bfloat16")
    found = tensors_of(Path("back"))
    for name, expected in OF_MODELOPT["NVFP4"].items():
        codes = np.frombuffer(found[name][2], "<u2")
        unsigned = np.where(codes == 0x8000, 0, codes).astype("<u2")
        assert digest(unsigned.tobytes()) == expected


NVFP4 = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.FACTOR)
TENSOR = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(0, 0))
ROWS = Scheme(FLOAT8_E4M3FN, Packing.NONE, FLOAT32, Grid(1, 0))
FORMATS = {"bfloat16": BFLOAT16, "float16": FLOAT16, "float32": FLOAT32}


def edges(name: str, part: str) -> tuple[np.ndarray, Format, dict[str, bytes], float]:
    """Return a weight as codes, its format, what ModelOpt makes of it, and its largest magnitude."""
    fmt, prefix = FORMATS[name], f"{name}.{part}."
    stored = tensors_of(GOLDEN / "modelopt", "edges.safetensors")
    _, shape, content = stored[prefix + "x"]
    x = np.frombuffer(content, fmt.code_dtype).reshape(shape)
    largest = float(np.abs(x.view(fmt.dtype).astype(np.float64)).max())
    made = {key.removeprefix(prefix): one for key, (_, _, one) in stored.items() if key.startswith(prefix)}
    return x, fmt, made, largest


@pytest.mark.parametrize(("name", "part"), [(name, part) for name in FORMATS for part in ("0", "1")])
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
