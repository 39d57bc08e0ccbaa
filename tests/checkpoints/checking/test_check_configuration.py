"""`lowprec check`: configurations that are not true of the tensors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checked_models import (
    MODELS,
    PROJECTIONS,
    UP,
    Model,
    channel,
    deepseek,
    errors,
    modelopt,
    nvfp4,
    only,
    pack,
    plain,
    write,
)
from support.tiny_models import llama, llama_config
from support.tiny_models import write_folder as write_llama
from support.typed_tensors import BF16, E8M0

import lowprec as lp
from lowprec.checkpoints import check
from lowprec.cli import main

pytestmark = pytest.mark.usefixtures("working_folder")

# --- config.json ---


def test_no_description() -> None:
    """What `lowprec convert --to float8_e4m3fn --scale block:32` makes of a model: transformers loads it as garbage."""
    write_llama(Path("in"), llama(), llama_config())
    lp.convert("in", "out", to="float8_e4m3fn", scale="block:32", include="*_proj.weight")
    found = errors("out")
    assert [one.kind for one in found] == ["configuration"]
    assert "is lowprec FP8 in groups of 32 (and 6 more weights are quantized), and config.json has no" in found[0].text
    Path("out/config.json").unlink()
    assert not errors("out")


def test_codes_that_only_lowprec_names() -> None:
    write_llama(Path("in"), llama(), llama_config())
    lp.convert("in", "out", to="int4", scale="block:32", include="*_proj.weight")
    kinds = {one.kind for one in errors("out")}
    assert kinds == {"configuration", "types"}


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_quantized_but_the_description(model: Model) -> None:
    write(plain(), model()[1])
    only("model", "configuration", "", "says that the model is quantized")


@pytest.mark.parametrize(
    ("model", "changes", "text"),
    [(deepseek, {"weight_block_size": [64, 64]}, "fits no weight of shape [192, 256] in blocks of 64 x 64"),
     (deepseek, {"weight_block_size": None}, "is block FP8 128x128; config.json has no weight_block_size"),
     (deepseek, {"fmt": "e5m2"}, "has float8_e4m3fn codes; config.json says fmt 'e5m2'"),
     (deepseek, {"activation_scheme": "static"}, "has no input_scale"),
     (deepseek, {"quant_method": "awq"}, "128x128 (and 3 more weights are quantized); config.json says"),
     (deepseek, {"quant_method": "compressed-tensors"}, "config.json says that the method is 'compressed-tensors'"),
     (modelopt, {"quant_algo": "FP8"}, "is NVFP4; quant_algo is 'FP8'"),
     (modelopt, {"quant_algo": None}, "is NVFP4; there is no quant_algo"),
     (modelopt, {"group_size": 32}, "has groups of 16; group_size is 32"),
     (nvfp4, {"quant_method": "fp8"}, "NVFP4 (and 3 more weights are quantized); config.json says"),
     (nvfp4, {"format": "mxfp4-pack-quantized"}, "is NVFP4; config.json says format 'mxfp4-pack-quantized'"),
     (channel, {"format": "int-quantized"}, "is FP8 per row; config.json says format 'int-quantized'"),
     (channel, {"config_groups": {}}, "no group of config.json is for it")],
)  # fmt: skip
def test_a_description_of_something_else(model: Model, changes: dict[str, Any], text: str) -> None:
    tensors, config = model()
    found = errors(write(tensors, {**config, **changes}))
    assert found
    assert text in found[0].text
    assert main(["check", "model", "--progress", "none"]) == 1


@pytest.mark.parametrize(
    ("model", "changes", "text"),
    [(channel, {"strategy": "tensor"}, "strategy 'tensor'"), (channel, {"num_bits": 4}, "num_bits '4'"),
     (channel, {"type": "int"}, "type 'int'"), (channel, {"symmetric": False}, "there are no zero points"),
     (channel, {"strategy": "group", "group_size": 128}, "strategy 'group' of 128"),
     (channel, {"strategy": "block", "block_structure": [128, 128]}, "strategy 'block' of [128, 128]|fits no weight"),
     (pack, {"group_size": 64}, "strategy 'group' of 64"), (pack, {"num_bits": 8}, "fits no weight of [8] bits"),
     (nvfp4, {"group_size": 32}, "strategy 'tensor_group' of 32")],
)  # fmt: skip
def test_a_group_of_something_else(model: Model, changes: dict[str, Any], text: str) -> None:
    tensors, config = model()
    config["config_groups"]["group_0"]["weights"].update(changes)
    found = errors(write(tensors, config))
    assert {one.count for one in found} == {2}
    assert all(any(part in one.text for part in text.split("|")) for one in found)


@pytest.mark.parametrize("algorithm", ["NVFP4", "W4A16_NVFP4"])
def test_scales_of_inputs_of_modelopt(algorithm: str) -> None:
    """VLLM reads W4A16_NVFP4 without them; for NVFP4 it would take what happens to be in memory."""
    tensors, config = modelopt()
    tensors = {name: array for name, array in tensors.items() if not name.endswith("input_scale")}
    found = errors(write(tensors, {**config, "quant_algo": algorithm}))
    assert [one.count for one in found] == ([2, 2] if algorithm == "NVFP4" else [])
    assert all("has no input_scale, which engines need with quant_algo NVFP4" in one.text for one in found)


@pytest.mark.parametrize("dynamic", [True, False, "local"])
def test_scales_of_inputs_of_compressed_tensors(dynamic: object) -> None:
    tensors, config = nvfp4()
    config["config_groups"]["group_0"]["input_activations"] = {"num_bits": 4, "dynamic": dynamic}
    found = errors(write(tensors, config))
    assert [one.count for one in found] == ([] if dynamic is True else [2, 2])
    assert all("that inputs have a scale of their own, and there is none" in one.text for one in found)
    scales = {f"{module}.input_global_scale": np.ones(1, np.float32) for module in PROJECTIONS}
    assert not errors(write({**tensors, **scales}, config, "right"))


JUNK = (None, True, -1, 1e999, "", "re:(", "*", [], [None], [[]], {}, {"g": 3}, {"g": {"targets": 3, "weights": {}}},
        {"g": {"weights": None}}, [0, 0], ["128", 128], 2**70)  # fmt: skip


@pytest.mark.parametrize("model", [deepseek, channel, modelopt])
def test_configurations_of_strangers(model: Model) -> None:
    """Whatever stands there is judged, or an error that names a file, but never a traceback."""
    tensors, config = model()
    folder = write(tensors, config)
    for key in (*config, "scale_fmt", "ignored_layers"):
        for junk in JUNK:
            text = json.dumps({"quantization_config": {**config, key: junk}})
            (folder / "config.json").write_text(text)
            assert all(isinstance(str(one), str) for one in check(folder, values=False))
    for key in ("quant_algo", "group_size", "exclude_modules"):
        for junk in JUNK:
            (folder / "hf_quant_config.json").write_text(json.dumps({"quantization": {key: junk}}))
            check(folder, values=False)


def test_groups_for_some_modules() -> None:
    """A module's own group counts, not the one for all layers."""
    tensors, config = channel()
    general = config["config_groups"]["group_0"]
    wrong = {"targets": ["re:.*up_proj"], "weights": {**general["weights"], "num_bits": 4}}
    config["config_groups"] = {"all": general, "some": wrong}
    only(write(tensors, config), "configuration", "model.layers.0.mlp.up_proj.weight", "num_bits '4'", 2)


def test_scales_of_another_name() -> None:
    tensors, config = deepseek()
    renamed = {name.replace("weight_scale_inv", "weight_scale"): array for name, array in tensors.items()}
    found = errors(write(renamed, config))
    assert all("engines look for weight_scale_inv" in one.text for one in found)
    assert found


def test_scales_that_ue8m0_has_not() -> None:
    tensors, config = deepseek()
    config["scale_fmt"] = "ue8m0"
    assert not errors(write(tensors, config, "right"))
    tensors[f"{UP}.weight_scale_inv"][0, 1] = 0.003
    only(
        write(tensors, config), "values", f"{UP}.weight_scale_inv", "no powers of two; config.json says scale_fmt ue8m0"
    )


def test_deepseek_v4() -> None:
    """The FP4 of its experts is in no block, and config.json does not speak of it."""
    tensors, config = deepseek()
    experts = {f"layers.0.ffn.experts.{i}.w1.weight": np.full((64, 64), 0x21, np.int8) for i in range(2)}
    scales = {f"layers.0.ffn.experts.{i}.w1.scale": np.full((64, 4), 2.0**-9, E8M0) for i in range(2)}
    assert not errors(write({**tensors, **experts, **scales}, {**config, "scale_fmt": "ue8m0"}))


@pytest.mark.parametrize("text", ["", "{", "[1]", '"x"'])
def test_a_configuration_that_is_none(text: str) -> None:
    folder = write(*deepseek())
    (folder / "config.json").write_text(text)
    kinds = {(one.kind, one.tensor == "") for one in errors(folder)}
    assert ("files", True) in kinds


# --- modules that are listed ---


@pytest.mark.parametrize(
    ("model", "key", "pattern"),
    [(deepseek, "modules_to_not_convert", UP), (deepseek, "modules_to_not_convert", "model.layers.1.mlp"),
     (deepseek, "ignored_layers", UP), (deepseek, "modules_to_not_convert", r"model\.layers\.1\.mlp\.up.*"),
     (channel, "ignore", UP), (channel, "ignore", "re:.*layers.1.mlp"), (nvfp4, "ignore", "re:.*1.mlp.up_proj$"),
     (modelopt, "ignore", "*layers.1.mlp*"), (modelopt, "exclude_modules", "model.layers.1.mlp")],
)  # fmt: skip
def test_a_module_that_is_listed_and_quantized(model: Model, key: str, pattern: str) -> None:
    tensors, config = model()
    config[key] = [*config.get(key, ["lm_head"]), pattern]
    only(write(tensors, config), "configuration", UP, "is quantized, and config.json lists it")


@pytest.mark.parametrize("model", [deepseek, channel, nvfp4, modelopt, pack])
def test_a_module_that_is_not_listed_and_plain(model: Model) -> None:
    """Others of its name are quantized: an engine would expect codes and scales here too."""
    tensors, config = model()
    tensors = {name: array for name, array in tensors.items() if not name.startswith(f"{UP}.")}
    tensors[f"{UP}.weight"] = np.ones((192, 256), BF16)
    only(write(tensors, config), "configuration", UP, "is not quantized, others of its name are")
    key = "modules_to_not_convert" if model is deepseek else "ignore"
    write(tensors, {**config, key: [*config.get(key, ["lm_head"]), UP]}, "right")
    assert not errors("right")


@pytest.mark.parametrize(("model", "inside"), [(channel, True), (channel, False), (modelopt, True), (modelopt, False)])
def test_linear_layers_that_are_plain_everywhere_are_listed(model: Model, inside: bool) -> None:
    """Routers and embeddings need not be: engines keep them as they are."""
    tensors, config = model()
    name = "model.layers.1.self_attn.o_proj" if inside else "lm_head"
    tensors[f"{name}.weight"] = np.ones((192, 256), BF16)
    config["ignore"] = ["lm_head"] if inside else []
    only(write(tensors, config), "configuration", name, "engines expect codes if it is a linear layer")
    write(tensors, {**config, "ignore": [*config["ignore"], name]}, "right")
    found = check("right")
    assert not [one for one in found if one.misread]
    assert ("model.layers.0.mlp.gate", 2) in {(one.tensor, one.count) for one in found}


def test_patterns_that_are_no_expressions() -> None:
    tensors, config = deepseek()
    config["modules_to_not_convert"] = ["lm_head", "(", "*", "["]
    assert not errors(write(tensors, config))


# --- hf_quant_config.json ---


def hf(**changes: Any) -> str:
    said = {"quant_algo": "NVFP4", "group_size": 16, "kv_cache_quant_algo": None,
            "exclude_modules": ["*.mlp.gate", "lm_head"], **changes}  # fmt: skip
    return json.dumps({"producer": {"name": "modelopt"}, "quantization": said})


@pytest.mark.parametrize(
    ("changes", "text"),
    [({"quant_algo": "FP8"}, "hf_quant_config.json says quant_algo 'FP8', config.json 'NVFP4'"),
     ({"group_size": 32}, "says group_size '32', config.json '16'"),
     ({"exclude_modules": ["lm_head"]}, "excludes other modules than config.json ignores: '*.mlp.gate'")],
)  # fmt: skip
def test_two_descriptions_that_differ(changes: dict[str, Any], text: str) -> None:
    folder = write(*modelopt())
    (folder / "hf_quant_config.json").write_text(hf())
    assert not errors(folder)
    (folder / "hf_quant_config.json").write_text(hf(**changes))
    only(folder, "configuration", "", text)


def test_hf_quant_config_alone() -> None:
    tensors, _ = modelopt()
    folder = write(tensors, None)
    (folder / "hf_quant_config.json").write_text(hf())
    assert not errors(folder)
    (folder / "hf_quant_config.json").write_text(hf(quant_algo="FP8"))
    assert all("is NVFP4; quant_algo is 'FP8'" in one.text for one in errors(folder))
    assert errors(folder)


def test_hf_quant_config_of_another_method() -> None:
    folder = write(*deepseek())
    (folder / "hf_quant_config.json").write_text(hf())
    only(folder, "configuration", "", "hf_quant_config.json is there, and the method of config.json is 'fp8'")
