"""Models whose head is the embedding: configurations list the head, and `check` finds those that do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checked_models import (
    Model,
    Tensors,
    channel,
    deepseek,
    errors,
    gpt_oss,
    modelopt,
    nvfp4,
    only,
    pack,
    write,
)
from support.checkpoint_files import convert_fails, read_json
from support.golden import GOLDEN, digests_of
from support.tiny_models import llama, llama_config, tied_llama, write_folder
from support.typed_tensors import BF16

from lowprec.checkpoints import convert
from lowprec.checkpoints.recipes import RECIPES as ALL_RECIPES

TIED: dict[str, Any] = json.loads((GOLDEN / "tied.json").read_text(encoding="utf-8"))
"""What llm-compressor makes of a model with a tied head, and which modules it ignores."""

EMBEDDING = "model.embed_tokens"
BOTH = ["lm_head", EMBEDDING]
RECIPES = [
    recipe.name for recipe in ALL_RECIPES if recipe.layout in ("compressed-tensors", "FP8 of DeepSeek", "modelopt")
]


def lists(folder: Path) -> list[list[str]]:
    entry = read_json(folder / "config.json")["quantization_config"]
    found = [entry[key] for key in ("ignore", "modules_to_not_convert", "ignored_layers") if key in entry]
    path = folder / "hf_quant_config.json"
    return [*found, read_json(path)["quantization"]["exclude_modules"]] if path.exists() else found


def written(folder: Path, config: dict[str, Any], *more: str) -> Path:
    """Write a Llama without its head, with further weights of 4 x 128."""
    tensors = tied_llama()[0]
    tensors |= {f"{module}.weight": np.ones((4, 128), BF16) for module in more}
    return write_folder(folder, tensors, {**llama_config(), **config})


@pytest.mark.parametrize(("recipe", "preset"), [("fp8-dynamic", "FP8_DYNAMIC"), ("nvfp4a16", "NVFP4A16")])
def test_the_bytes_of_llm_compressor(recipe: str, preset: str) -> None:
    convert(write_folder(Path("llama"), *tied_llama()), Path("out"), recipe=recipe)
    assert digests_of(Path("out")) == TIED[preset]["tensors"]
    entry = read_json(Path("out/config.json"))["quantization_config"]
    assert entry == TIED[preset]["quantization_config"]
    assert set(TIED["ignored"][preset]) == {"lm_head"} <= set(entry["ignore"])


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_head_is_listed(recipe: str) -> None:
    """In every layout with such a list: engines make a linear layer of it, stored or not."""
    convert(write_folder(Path("llama"), *tied_llama()), Path("out"), recipe=recipe)
    assert lists(Path("out")) == [BOTH] * (2 if recipe.startswith("modelopt") else 1)
    assert errors(Path("out")) == []
    if recipe == "deepseek-fp8":
        convert("out", "again", recipe="w4a16")
        assert lists(Path("again")) == [BOTH]


@pytest.mark.parametrize(
    ("config", "head"),
    [({"tie_word_embeddings": None}, "lm_head"), ({"tie_word_embeddings": False}, "lm_head"),
     ({"model_type": "gemma3", "text_config": {"tie_word_embeddings": True}}, "lm_head"),
     ({"model_type": "whisper"}, "proj_out"), ({"model_type": "bert"}, "cls.predictions.decoder"),
     ({"model_type": "xlm-roberta"}, "lm_head.decoder"), ({"model_type": "blip-2"}, "language_model.lm_head"),
     ({"model_type": ["llama"]}, "lm_head"), ({"text_config": 3}, "lm_head")],
)  # fmt: skip
def test_what_the_head_is_called(config: dict[str, Any], head: str) -> None:
    """As in transformers. An embedding without a head is tied, since many models do not say so."""
    convert(written(Path("in"), config), Path("out"), recipe="int8")
    assert lists(Path("out")) == [sorted([head, EMBEDDING])]


def test_the_head_of_a_model_whose_embedding_has_another_name() -> None:
    """config.json says then that it is tied; what is no language model lists none."""
    tensors = {"blocks.0.fc.weight": np.ones((4, 128), BF16)}
    for tied, expected in ((True, ["lm_head"]), (False, [])):
        folder = write_folder(Path(f"{tied}"), tensors, {"tie_word_embeddings": tied}, shards=1)
        convert(folder, f"out-{tied}", recipe="int8")
        assert lists(Path(f"out-{tied}")) == [expected]


def test_towers_are_listed_as_a_whole() -> None:
    """Gemma 3 stores vision_tower.vision_model.…, which is model.vision_tower.… in transformers 5.23."""
    modules = [f"vision_tower.vision_model.encoder.layers.{i}.mlp.fc1" for i in range(2)]
    folder = written(Path("in"), {"tie_word_embeddings": True}, *modules, "model.multi_modal_projector.linear_1")
    convert(folder, "out", recipe="int8")
    towers = [r"re:.*\bmulti_modal_projector\b", r"re:.*\bvision_tower\b"]
    assert lists(Path("out")) == [[*BOTH, *towers]]
    assert errors(Path("out")) == []
    convert(folder, "part", recipe="int8", also=modules[0])
    assert lists(Path("part")) == [[*BOTH, towers[0], modules[1]]]
    assert errors(Path("part")) == []
    convert(folder, "fp8", recipe="deepseek-fp8")  # whose list transformers renames
    assert lists(Path("fp8")) == [[*BOTH, "model.multi_modal_projector.linear_1", *modules]]


@pytest.mark.parametrize(("recipe", "layout"), [("modelopt-nvfp4", "compressed-tensors"), ("nvfp4a16", "modelopt")])
def test_another_layout(recipe: str, layout: str) -> None:
    """The head is listed although the source, as lowprec 0.2.0 wrote it, does not list it."""
    convert(write_folder(Path("llama"), *tied_llama()), Path("source"), recipe=recipe)
    for name in ("config.json", "hf_quant_config.json"):
        path = Path("source", name)
        if path.exists():
            path.write_text(path.read_text().replace('"lm_head",', ""))
    assert len(errors(Path("source"))) == 1
    convert("source", "out", layout=layout)
    assert lists(Path("out")) == [BOTH] * (2 if layout == "modelopt" else 1)
    assert errors(Path("out")) == []


def test_a_tied_head_is_not_quantized() -> None:
    """Where a file has it all the same: transformers would give it the embedding's weight, without scales."""
    tied = write_folder(Path("tied"), llama(), {**llama_config(), "tie_word_embeddings": True})
    convert_fails("lm_head must not be quantized, since config", tied, "out", recipe="int8", also="lm_head")
    untied = write_folder(Path("untied"), llama(), llama_config())
    convert(untied, "out", recipe="int8", also="lm_head")
    assert lists(Path("out")) == [[EMBEDDING]]
    assert errors(Path("out")) == []


def tied(model: Model, key: str = "", listed: object = None) -> tuple[Tensors, dict[str, Any]]:
    """Return a model without its head, and with another list of modules."""
    tensors, config = model()
    del tensors["lm_head.weight"]
    return tensors, {**config, **({key: listed} if key else {})}


OTHERS = {deepseek: "modules_to_not_convert", channel: "ignore", pack: "ignore", nvfp4: "ignore", modelopt: "ignore"}


@pytest.mark.parametrize(("model", "key"), OTHERS.items())
def test_a_tied_head_that_is_not_listed(model: Model, key: str) -> None:
    gates = ["*.mlp.gate"] if model is modelopt else ["re:.*gate$"]
    right = [*gates, "lm_head"]
    said = {"tie_word_embeddings": True, "architectures": ["LlamaForCausalLM"]}
    only(
        write(*tied(model, key, gates), "wrong", **said), "configuration", "lm_head", "is not stored (tied to the embed"
    )
    only(write(*tied(model, key, gates), "default"), "configuration", "lm_head", "config.json does not list it")
    assert not errors(write(*tied(model, key, right), "right", **said))
    text = {"text_config": {"tie_word_embeddings": False}}
    assert not errors(write(*tied(model, key, gates), "untied", **text))
    assert not errors(write(*tied(model, key, gates), "headless", architectures=["LlamaModel"]))


GATES = "re:.*gate$"


@pytest.mark.parametrize(
    ("model", "key", "listed", "targets", "found"),
    [(channel, "ignore", ["re:.*lm_head", GATES], None, 0), (channel, "ignore", ["re:lm_head$", GATES], None, 0),
     (channel, "ignore", [GATES], ["Linear"], 1), (channel, "ignore", [GATES], ["re:.*_proj$"], 0),
     (channel, "ignore", [GATES], ["re:.*_proj$", "re:lm_head"], 1),
     (channel, "ignore", [GATES], ["LlamaAttention", "re:.*_proj"], 0), (deepseek, "", None, None, 0),
     (gpt_oss, "modules_to_not_convert", ["model.layers.*.self_attn"], None, 0)],
)  # fmt: skip
def test_what_keeps_a_tied_head(
    model: Model, key: str, listed: list[str] | None, targets: list[str] | None, found: int
) -> None:
    """Expressions, groups that it is not in, FP8 of DeepSeek without a list, gpt-oss, whose experts alone count."""
    tensors, config = tied(model, key, listed)
    if targets:
        config["config_groups"]["group_0"]["targets"] = targets
    assert [one.tensor for one in errors(write(tensors, config))] == ["lm_head"] * found


def test_a_plain_head_in_a_list_of_fp8() -> None:
    tensors, config = deepseek()
    only(write(tensors, {**config, "modules_to_not_convert": []}), "configuration", "lm_head", "is not quantized, and")
    assert not errors(write(tensors, {**config, "modules_to_not_convert": ["lm_head"]}, "right"))


@pytest.mark.parametrize("model", [deepseek, channel])
def test_a_quantized_head_that_is_said_to_be_tied(model: Model) -> None:
    tensors, config = model()
    del tensors["lm_head.weight"]
    for name in [name for name in tensors if name.startswith("model.layers.1.mlp.up_proj.")]:
        tensors[name.replace("model.layers.1.mlp.up_proj", "lm_head")] = tensors[name]
    config = {**config, "ignore": ["re:.*gate$"]} if model is channel else config
    assert not errors(write(tensors, config, "untied", tie_word_embeddings=False))
    only(
        write(tensors, config, "tied", tie_word_embeddings=True), "configuration", "lm_head",
        "is quantized, and config.json says that it is the embedding",
    )  # fmt: skip
