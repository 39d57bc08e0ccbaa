"""A recipe on a checkpoint that is quantized already: one pass is two, and nothing of the old quantization is left."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import configuration, convert_fails, read_json
from support.golden import GOLDEN, PRESETS, tensors_of
from support.tiny_models import INDEX
from support.typed_tensors import (
    BF16,
    F8,
    FP4,
    Array,
    in_blocks,
    nibbles,
    random_codes,
    random_scales,
    write_in_turn,
    write_model,
    write_tensors,
)

from lowprec.checkpoints import check, convert

P = "model.layers.0.mlp.down_proj"
BLOCKS = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}


def in_two_steps(source: Path, folder: Path, recipe: str, **options: Any) -> Path:
    """Convert to bfloat16, and that by the recipe."""
    convert(source, folder / "plain", to="bfloat16")
    convert(folder / "plain", folder / "two", recipe=recipe, **options)
    return folder / "two"


STEPS = [
    ("W4A16", "fp8-block"), ("W4A16", "fp8-dynamic"), ("W4A16", "nvfp4a16"), ("W4A16", "w4a16-g32"), ("W8A8", "w4a16"),
    ("FP8_BLOCK", "int8"), ("FP8_BLOCK", "mxfp8"), ("FP8_DYNAMIC", "nvfp4a16"), ("NVFP4A16", "fp8-block"),
    ("NVFP4A16", "mxfp4a16"), ("MXFP8A16", "fp8-dynamic"), ("MXFP4A16", "int8"), ("W4A16", "deepseek-fp8"),
    ("MXFP8A16", "deepseek-fp8-ue8m0"), ("MXFP4A16", "nvfp4a16"), ("NVFP4A16", "nvfp4a16"),
]  # fmt: skip
COMFY = ("comfy-fp8", "comfy-mxfp8", "comfy-nvfp4")


@pytest.mark.parametrize(("source", "recipe"), STEPS)
def test_one_pass_is_two(source: str, recipe: str) -> None:
    report = convert(GOLDEN / source, "one", recipe=recipe, verify=True)
    one, two = Path("one"), in_two_steps(GOLDEN / source, Path(), recipe)
    assert (tensors_of(one), configuration(one)) == (tensors_of(two), configuration(two))
    assert read_json(one / INDEX) == read_json(two / INDEX)
    made = [one for one in report.tensors if one.action == "converted"]
    assert len(made) == 7
    assert all(one.lossless is None for one in made)
    assert {path.name for path in Path().iterdir()} == {"one", "plain", "two"}


@pytest.mark.parametrize("source", [*COMFY, "padded"])
@pytest.mark.parametrize("recipe", COMFY)
def test_one_pass_is_two_for_a_file(source: str, recipe: str) -> None:
    """FP8 with one scale and NVFP4 of the same recipe too."""
    one, plain, two = (Path(f"{name}.safetensors") for name in ("one", "plain", "two"))
    convert(GOLDEN / "comfy" / f"{source}.safetensors", one, recipe=recipe, verify=True)
    convert(GOLDEN / "comfy" / f"{source}.safetensors", plain, to="bfloat16")
    convert(plain, two, recipe=recipe)
    assert one.read_bytes() == two.read_bytes()


@pytest.mark.parametrize(("recipe", "source"), [one for one in PRESETS.items() if one[0] != "nvfp4a16"])
def test_the_same_scheme_again_is_a_copy(recipe: str, source: str) -> None:
    """Codes and scales are llm-compressor's own."""
    report = convert(GOLDEN / source, "out", recipe=recipe, verify=True)
    made = [one for one in report.tensors if one.action == "converted"]
    assert tensors_of(Path("out")) == tensors_of(GOLDEN / source)
    assert configuration(Path("out")) == configuration(GOLDEN / source)
    assert [(one.lossless, one.inexact, one.max_abs_error, one.sqnr_db) for one in made] == [(True, 0, 0, np.inf)] * 7


def deepseek() -> dict[str, Array]:
    """Scales in another shard, a wide norm, a float16 weight beside, a scale of the cache, a kept quantized head."""
    return {
        W: random_codes((130, 256)), f"{W}_scale_inv": random_scales((2, 2)),
        "lm_head.weight": random_codes((16, 128), 3), "lm_head.weight_scale_inv": random_scales((1, 1)),
        Q: np.linspace(-1, 1, 64 * 128).reshape(64, 128).astype(np.float16),
        "model.norm.weight": np.array([1.0000001, 2], np.float32),
        "model.layers.0.self_attn.k_proj.k_scale": np.array([0.5], np.float32),
    }  # fmt: skip


def modelopt() -> dict[str, Array]:
    """NVFP4 with its second scale, and the file that describes it."""
    return {
        W: nibbles(NVFP4), f"{W}_scale": np.abs(random_codes((32, 8), 4)),
        f"{W}_scale_2": np.array(0.01, np.float32), f"{P}.input_scale": np.array(2, np.float32),
    }  # fmt: skip


def gpt_oss() -> dict[str, Array]:
    """Three axes, which are exchanged: w4a16 does not quantize them."""
    rng = np.random.default_rng(5)
    return {
        f"{E}_blocks": rng.integers(0, 256, (2, 8, 2, 16), np.uint8),
        f"{E}_scales": rng.integers(118, 130, (2, 8, 2), np.uint8), Q: rng.standard_normal((16, 128)).astype(BF16),
    }  # fmt: skip


W, Q, E = f"{P}.weight", "model.layers.0.self_attn.q_proj.weight", "model.layers.0.mlp.experts.gate_up_proj"
NVFP4 = np.random.default_rng(2).integers(0, 16, (32, 128))
LAYOUTS: dict[str, tuple[Callable[[], dict[str, Array]], Any, dict[str, str]]] = {
    "int8": (deepseek, BLOCKS, {
        W: "I8", f"{W}_scale": "BF16", "lm_head.weight": "BF16", "model.norm.weight": "F32", Q: "I8",
        f"{Q}_scale": "BF16"}),
    "fp8-dynamic": (modelopt, None, {W: "F8_E4M3", f"{W}_scale": "BF16"}),
    "w4a16": (gpt_oss, {"quant_method": "mxfp4"}, {
        E: "BF16", **dict.fromkeys((f"{Q}_packed",), "I32"), f"{Q}_scale": "BF16", f"{Q}_shape": "I64"}),
}  # fmt: skip
"""By recipes: sources, what config.json says of them, and types of what is written."""


@pytest.mark.parametrize("recipe", LAYOUTS)
def test_other_layouts(recipe: str) -> None:
    make, described, types = LAYOUTS[recipe]
    tensors, model_type = make(), "gpt_oss" if make is gpt_oss else "x"
    config = {"torch_dtype": "float16", "model_type": model_type}
    config |= {"quantization_config": described} if described else {}
    source = write_in_turn(Path("in"), tensors, config)
    if described is None:
        (source / "hf_quant_config.json").write_text(json.dumps({"quantization": {"quant_algo": "NVFP4"}}))
    convert(source, "one", recipe=recipe)
    two = in_two_steps(source, Path(), recipe)
    written = tensors_of(Path("one"))
    assert written == tensors_of(two)
    assert configuration(Path("one")) == configuration(two)
    assert configuration(two)["torch_dtype"] == "bfloat16"
    assert not Path("one/hf_quant_config.json").exists()
    assert {name: one[0] for name, one in written.items()} == types
    if make is gpt_oss:
        assert written[E][1] == (2, 64, 8)
        return
    if make is deepseek:
        x, largest = tensors[W].astype(np.float32) * in_blocks(tensors[f"{W}_scale_inv"], (130, 256)), np.float32(127.5)
        assert configuration(two)["quantization_config"]["ignore"] == ["lm_head"]
    else:
        scales = np.repeat(tensors[f"{W}_scale"].astype(np.float32) * np.float32(0.01), 16, axis=1)
        x, largest = FP4[NVFP4] * scales, np.float32(448)
    scale = (np.abs(x.astype(BF16).astype(np.float32)).max(axis=1, keepdims=True) / largest).astype(BF16)
    assert written[f"{W}_scale"][2] == scale.tobytes()


def test_a_single_file() -> None:
    tensors = {W: random_codes((130, 256)), f"{W}_scale_inv": random_scales((2, 2))}
    write_tensors(Path("in.safetensors"), tensors)
    report = convert("in.safetensors", "out.safetensors", recipe="w4a16")
    assert report.remarks == [
        f"'{W}' was quantized already (float8_e4m3fn); errors add up",
        "config.json of the model must say how it is quantized: compressed-tensors",
    ]
    names = f"{P}.weight_packed", f"{P}.weight_scale", f"{P}.weight_shape"
    assert tensors_of(Path(), "out.safetensors").keys() == set(names)


@pytest.mark.parametrize("recipe", ["fp8-block", "fp8-dynamic", "mxfp8", "int8", "w4a16", "nvfp4a16", "deepseek-fp8",
                                    "modelopt-fp8", "modelopt-nvfp4"])  # fmt: skip
def test_a_single_file_says_itself_how_it_is_quantized(recipe: str) -> None:
    """It has no config.json: the bytes that a folder gives come back, and the description goes."""
    weight = np.random.default_rng(4).standard_normal((256, 256)).astype(np.float32).astype(BF16)
    write_model(Path("in"), {"model.safetensors": {f"{P}.weight": weight}}, {"model_type": "llama"})
    for source, name in ((Path("in"), "out"), (Path("in/model.safetensors"), "one.safetensors")):
        convert(source, Path(name), recipe=recipe)
    convert("out", "back", to="bfloat16")
    convert("one.safetensors", "back.safetensors", to="bfloat16")
    assert tensors_of(Path(), "back.safetensors") == tensors_of(Path("back"))
    assert not [one for one in check(Path("one.safetensors")) if one.misread]
    assert b"quantization_config" in Path("one.safetensors").read_bytes()
    assert b"quantization_config" not in Path("back.safetensors").read_bytes()


def test_refusals() -> None:
    nan = random_codes((130, 256)).view(np.uint8)
    nan[1, 2] = 0x7F
    scales = {f"{W}_scale_inv": random_scales((2, 2))}
    lonely = {"model.layers.0.up_proj.weight": np.ones((4, 4), np.int8)}
    awq = {f"{P}.qweight": np.ones((8, 1), np.int32), f"{P}.scales": np.ones((1, 8), np.float16)}
    for name, tensors, config, text in (
        ("nan", {W: nan.view(F8), **scales}, BLOCKS, f"{W}': has a NaN or an infinity"),
        ("shape", {W: random_codes((130, 256)), f"{W}_scale_inv": random_scales((2, 3))}, BLOCKS, "fits no weight of"),
        ("zero", {W: random_codes((130, 256)), f"{W}_scale_inv": -random_scales((2, 2))}, BLOCKS, "infinite or neg"),
        ("lonely", {W: random_codes((130, 256)), **scales, **lonely}, BLOCKS, "has codes .int8. and no scales"),
        ("unknown", awq, {"quant_method": "x"}, "is quantized already, in a way that is not known"),
    ):
        source = write_model(Path(name), {"a.safetensors": tensors}, {"quantization_config": config})
        convert_fails(text, source, "out", recipe="int8")
