"""Experts of a layer in one tensor: recipes make of them what they make of experts stored one by one, or keep them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, configuration, convert_fails
from support.golden import GOLDEN, PRESETS, digests_of, tensors_of
from support.tiny_models import (
    BFLOAT16,
    EXPERTS,
    HIDDEN,
    INDEX,
    INNER,
    experts,
    experts_config,
    separate_experts,
    write_folder,
)
from support.typed_tensors import F8, converted, read_tensors, write_model

from lowprec.checkpoints import check, convert
from lowprec.checkpoints.recipes import RECIPES as ALL_RECIPES

Array = np.ndarray[Any, Any]
RECIPES = [one.name for one in ALL_RECIPES if one.layout in ("compressed-tensors", "modelopt")]
DIGESTS: dict[str, Any] = json.loads((GOLDEN / "experts.json").read_text(encoding="utf-8"))
GATE_UP, DOWN = f"{EXPERTS}.gate_up_proj", f"{EXPERTS}.down_proj"
SINGLE = {
    f"{EXPERTS}.{number}.{projection}_proj.weight" for number in range(3) for projection in ("gate", "up", "down")
}
OTHERS, ROUTERS = ["lm_head", "model.embed_tokens"], "re:.*gate$"


@pytest.fixture
def stacked() -> Path:
    return write_folder(Path("stacked"), experts(), experts_config())


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_same_as_of_experts_one_by_one(recipe: str, stacked: Path) -> None:
    separate = write_folder(Path("separate"), separate_experts(), experts_config())
    report = convert(stacked, "one", recipe=recipe, verify=True)
    other = convert(separate, "two", recipe=recipe)
    assert tensors_of(Path("one")) == tensors_of(Path("two"))
    assert configuration(Path("one")) == configuration(Path("two"))
    places = [json.loads(Path(name, INDEX).read_text(encoding="utf-8")) for name in ("one", "two")]
    assert places[0]["weight_map"].keys() == places[1]["weight_map"].keys()
    assert places[0]["metadata"] == places[1]["metadata"]
    assert {one.name for one in report.tensors if one.action == "converted"} == SINGLE
    assert (report.total.bytes_before, report.total.bytes_after) == (other.total.bytes_before, other.total.bytes_after)
    assert report.total.sqnr_db == other.total.sqnr_db
    assert not [one for one in check(Path("one")) if one.misread]


@pytest.mark.parametrize(("recipe", "preset"), PRESETS.items())
def test_the_bytes_of_llm_compressor(recipe: str, preset: str, stacked: Path) -> None:
    convert(stacked, "out", recipe=recipe)
    assert digests_of(Path("out")) == DIGESTS[preset]["tensors"]
    assert configuration(Path("out"))["quantization_config"] == DIGESTS[preset]["quantization_config"]


def test_gate_and_up_of_an_expert_share_the_second_scale() -> None:
    """The engine has one for both: 2688 / absmax of the two, in bfloat16; other experts have others."""
    tensors = experts()
    tensors[GATE_UP][:] = 0.25
    tensors[GATE_UP][0, INNER // 2, 0], tensors[GATE_UP][1, 0, 0] = 8, 64
    convert(write_folder(Path("in"), tensors, experts_config()), Path("out"), recipe="nvfp4a16")
    written = read_tensors(Path("out"))
    for number, expected in enumerate([336, 42, 10752]):
        for projection in ("gate", "up"):
            assert written[f"{EXPERTS}.{number}.{projection}_proj.weight_global_scale"].tolist() == [expected]


def test_names_of_the_tensor_and_of_an_expert(stacked: Path) -> None:
    """What is kept is listed, and stays as it was."""

    def kept(pattern: str, dry_run: bool = True) -> set[str]:
        report = convert(stacked, "out", recipe="fp8-dynamic", dry_run=dry_run, keep=pattern or ())
        return {one.name for one in report.tensors if one.action == "kept" and one.name.startswith(EXPERTS)}

    assert not kept("")
    assert kept(DOWN) == {name for name in SINGLE if ".down_proj" in name}
    assert kept(f"{EXPERTS}.2.up_proj") == {f"{EXPERTS}.2.up_proj.weight"}
    call_fails(r"has no tensor or module that `keep` '.*3\.up_proj' names", kept, f"{EXPERTS}.3.up_proj")
    names = kept("*.experts.1.*", dry_run=False)
    assert names == {name for name in SINGLE if ".1." in name}
    listed = sorted(name.removesuffix(".weight") for name in names)
    assert configuration(Path("out"))["quantization_config"]["ignore"] == [*OTHERS, *listed, ROUTERS]
    written = read_tensors(Path("out"))
    assert all(written[name].tobytes() == separate_experts()[name].tobytes() for name in names)


def with_shapes(gate_up: tuple[int, ...], down: tuple[int, ...]) -> dict[str, Array]:
    random = np.random.RandomState(3)
    shapes = {GATE_UP: gate_up, DOWN: down}
    made = {name: (random.standard_normal(shape) * 0.05).astype(BFLOAT16) for name, shape in shapes.items()}
    return {**experts(), **made, "model.layers.0.self_attn.o_proj.weight": np.ones((HIDDEN, HIDDEN), BFLOAT16)}


H, I = 3 * HIDDEN, INNER // 2  # noqa: E741
NOT_TOLD = {
    "as Llama 4 has them": ((3, H, 2 * I), (3, I, H), H, "its last axis has the outputs, not the inputs"),
    "as gpt-oss has them": ((3, I, 2 * I), (3, I, I), I, "its last axis has the outputs, not the inputs"),
    "all sides equal": ((3, H, H), (3, H, H), H, "both axes could be the inputs"),
    "they contradict": ((3, 2 * I, H), (3, I, H), H, "both axes could be the inputs"),
    "none fits": ((3, 2 * I, H), (3, H, I), 640, "no axis has the length 640, the hidden_size of config.json"),
    "unknown": ((3, 2 * I, H), (3, H, I), None, "config.json has no hidden_size"),
    "odd": ((3, 2 * I + 1, H), (3, H, I), H, rf"its shape [3, {2 * I + 1}, {H}] is none of experts"),
    "empty": ((0, 2 * I, H), (0, H, I), H, "it is empty"),
}


@pytest.mark.parametrize("recipe", ["fp8-dynamic", "modelopt-fp8", "deepseek-fp8"])
@pytest.mark.parametrize("case", NOT_TOLD)
def test_where_the_inputs_cannot_be_told_they_are_kept(recipe: str, case: str) -> None:
    gate_up, down, hidden, why = NOT_TOLD[case]
    tensors, config = with_shapes(gate_up, down), experts_config()
    config.pop("hidden_size")
    folder = write_folder(Path("in"), tensors, {**config, **({"hidden_size": hidden} if hidden else {})})
    report = convert(folder, "out", recipe=recipe)
    written = read_tensors(Path("out"))
    for name in (GATE_UP, DOWN):
        assert written[name].tobytes() == tensors[name].tobytes()
        assert [why in one.why for one in report.tensors if one.name == name] == [True]
    assert any("experts" in text and why in text for text in report.remarks)
    quantization = configuration(Path("out"))["quantization_config"]
    ignored = quantization["modules_to_not_convert" if recipe == "deepseek-fp8" else "ignore"]
    assert {EXPERTS, r"re:model\.layers\.0\.mlp\.experts\."} & set(ignored)
    assert not {one for one in written if one.startswith(f"{EXPERTS}.") and "scale" in one}


@pytest.mark.parametrize("where", ["text_config", "llm_config"])
def test_one_tensor_of_a_layer_is_enough(where: str) -> None:
    """Of a square one nothing can be told, of the other one it can; the text model has the hidden_size."""
    tensors = with_shapes((3, H, H), (3, H, H // 2))
    config = {name: one for name, one in experts_config().items() if name != "hidden_size"}
    folder = write_folder(Path("in"), tensors, {**config, where: {"hidden_size": H}})
    written = converted(folder, "out", recipe="fp8-dynamic")
    assert written[f"{EXPERTS}.1.up_proj.weight"].shape == (H // 2, H)
    assert written[f"{EXPERTS}.1.down_proj.weight"].shape == (H, H // 2)
    largest = np.abs(tensors[GATE_UP][1, H // 2 :].astype(np.float32)).max(axis=1, keepdims=True)
    scales = (largest / np.float32(448)).astype(BFLOAT16)
    assert written[f"{EXPERTS}.1.up_proj.weight_scale"].tobytes() == scales.tobytes()


def quantized(folder: Path, scales: Array) -> tuple[Path, Array]:
    """Write gate and up of experts in FP8, with scales; return their values too."""
    codes = np.random.RandomState(1).standard_normal((3, 2 * I, H)).astype(F8)
    config = {**experts_config(), "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    source = {GATE_UP: codes, f"{GATE_UP}_scale_inv": scales}
    block = -(-2 * I // scales.shape[1]), -(-H // scales.shape[2])
    spread = np.repeat(np.repeat(scales, block[0], axis=1), block[1], axis=2)
    values = (codes.astype(np.float32) * spread).astype(BFLOAT16)
    return write_model(folder, {"a.safetensors": source}, config), values


@pytest.mark.parametrize("recipe", ["nvfp4a16", "fp8-dynamic", "modelopt-fp8"])
def test_rows_of_a_quantized_weight(recipe: str) -> None:
    scales = np.random.RandomState(2).uniform(0.01, 0.1, (3, 2, 3)).astype(np.float32)
    source, values = quantized(Path("in"), scales)
    report = convert(source, "one", recipe=recipe, verify=True)
    plain = write_folder(Path("plain"), {GATE_UP: values}, experts_config(), shards=1)
    convert(plain, "two", recipe=recipe)
    assert tensors_of(Path("one")) == tensors_of(Path("two"))
    assert len(report.tensors) == 6
    assert report.total.bytes_before == values.size + scales.nbytes


def test_experts_that_share_scales_are_kept() -> None:
    """A block of 256 rows has rows of gate and up: all become bfloat16."""
    folder = Path("in")
    source, values = quantized(folder, np.full((3, 1, 3), 0.5, np.float32))
    config = configuration(folder)
    config["quantization_config"]["weight_block_size"] = [256, 128]
    (folder / "config.json").write_text(json.dumps(config))
    convert_fails("has no weight that the recipe fp8-dynamic quantizes", source, "out", recipe="fp8-dynamic")
    assert converted(source, "out", to="bfloat16")[GATE_UP].tobytes() == values.tobytes()
