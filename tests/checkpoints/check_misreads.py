"""Check that what `lowprec check` calls an error is misread by transformers, without an error of its own.

A tiny Qwen3-MoE is converted by the recipe for block FP8 and then spoilt in a way each: its list of modules, its
scales, its description. transformers loads every folder as an accelerator would, in modules that keep codes and scales;
where `check` finds errors, keys must be missing or unexpected, and where it finds none, none may be.
A tiny Llama and a tiny Gemma 3 whose heads are their embeddings are spoilt likewise, in what says which modules are
not quantized; there the logits of compressed-tensors count too, held against those of `--to bfloat16`.
Not a part of the test suite, whose environment has no transformers. From the root of the repository:

    pip install . transformers==5.23.0 accelerate==1.15.0 torch==2.13.0 safetensors==0.8.0
    python tests/checkpoints/check_misreads.py

It prints a line to each folder, and exits with 1 if `check` and transformers disagree.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import unittest.mock
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, Gemma3TextConfig, LlamaConfig, Qwen3MoeConfig
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

import lowprec as lp

MODULE = "model.layers.0.self_attn.q_proj"
SCALES = f"{MODULE}.weight_scale_inv"
SIZES = {
    "hidden_size": 256, "intermediate_size": 256, "moe_intermediate_size": 128, "num_hidden_layers": 2, "head_dim": 64,
    "num_attention_heads": 4, "num_key_value_heads": 2, "num_experts": 4, "num_experts_per_tok": 2, "vocab_size": 64,
}  # fmt: skip

Spoil = Callable[[dict[str, Any], dict[str, torch.Tensor]], None]


def listed(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    config["quantization_config"]["modules_to_not_convert"].append(MODULE)


def plain(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    scales = tensors.pop(SCALES).repeat_interleave(128, 0).repeat_interleave(128, 1)
    tensors[f"{MODULE}.weight"] = (tensors[f"{MODULE}.weight"].float() * scales).bfloat16()


def without_scales(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    del tensors[SCALES]


def renamed(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    tensors[f"{MODULE}.weight_scale"] = tensors.pop(SCALES)


def without_description(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    del config["quantization_config"]


CASES: dict[str, Spoil | None] = {
    "as it is written": None,
    "quantized, and listed as plain": listed,
    "plain, and not listed": plain,
    "no scales": without_scales,
    "scales of another name": renamed,
    "no quantization_config": without_description,
}


def compare(title: str, folder: Path) -> bool:
    """Compare what `check` and transformers say of a folder."""
    errors = [one for one in lp.checkpoints.check(folder) if one.misread]
    unfit: object
    with unittest.mock.patch.object(FineGrainedFP8HfQuantizer, "validate_environment"):
        try:
            _, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True)
            unfit = {key: len(names) for key, names in info.items() if names}
        except RuntimeError as error:
            unfit = str(error)[:90]
    good = bool(errors) == bool(unfit)
    text = str(errors[0]) if errors else "no error"
    print(f"{title:48} {'ok' if good else 'DIFFERS':8} transformers: {unfit or 'all keys fit'}; check: {text}")
    return good


def spoilt(folder: Path, right: Path, spoil: Spoil | None) -> Path:
    """Write a folder, changed in one of the ways."""
    shutil.copytree(right, folder)
    if spoil is not None:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        tensors = load_file(folder / "model.safetensors")
        spoil(config, tensors)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    return folder


def head_not_listed(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    for key in ("ignore", "modules_to_not_convert"):
        if key in config["quantization_config"]:
            config["quantization_config"][key] = ["model.embed_tokens"]


def said_by_default(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Of Gemma alone: a Llama has a head of its own then."""
    del config["tie_word_embeddings"]
    head_not_listed(config, tensors)


def expression(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    config["quantization_config"]["ignore"] = ["re:.*lm_head"]


def of_projections(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    (group,) = config["quantization_config"]["config_groups"].values()
    group["targets"] = ["re:.*_proj$"]
    config["quantization_config"]["ignore"] = []


def of_the_head_too(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    of_projections(config, tensors)
    (group,) = config["quantization_config"]["config_groups"].values()
    group["targets"].append("re:.*head$")


def without_a_list(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    del config["quantization_config"]["modules_to_not_convert"]


def other_head(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    config["tie_word_embeddings"] = False
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].flip(0).contiguous()


def other_head_not_listed(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    other_head(config, tensors)
    head_not_listed(config, tensors)


def quantized_head_of_a_tied_model(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Take the codes of a projection, of as many columns, for those of the head."""
    head_not_listed(config, tensors)
    for name in [name for name in tensors if name.startswith(f"{MODULE}.")]:
        tensors[name.replace(MODULE, "lm_head")] = tensors[name].clone()


def quantized_head(config: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    config["tie_word_embeddings"] = False
    quantized_head_of_a_tied_model(config, tensors)


TIED: dict[str, tuple[tuple[str, ...], Spoil | None]] = {
    "as it is written": (("fp8-dynamic", "w4a16", "deepseek-fp8"), None),
    "the head is not listed": (("fp8-dynamic", "w4a16", "nvfp4a16", "deepseek-fp8"), head_not_listed),
    "and tied by default": (("fp8-dynamic",), said_by_default),
    "listed by an expression": (("fp8-dynamic", "w4a16"), expression),
    "groups of projections alone": (("fp8-dynamic", "w4a16"), of_projections),
    "a group that names the head": (("fp8-dynamic", "w4a16"), of_the_head_too),
    "no list": (("deepseek-fp8",), without_a_list),
    "a head of its own": (("fp8-dynamic", "w4a16", "deepseek-fp8"), other_head),
    "and it is not listed": (("fp8-dynamic", "w4a16", "deepseek-fp8"), other_head_not_listed),
    "a quantized head": (("fp8-dynamic", "w4a16", "deepseek-fp8"), quantized_head),
    "a quantized head, said to be tied": (("fp8-dynamic", "w4a16", "deepseek-fp8"), quantized_head_of_a_tied_model),
}
"""Ways to spoil a model with a tied head, and by which recipes it is written."""

NATS = 0.01
"""The most that logits of quantized inputs may differ: a wrong head makes thousands, or NaN."""


def logits(folder: Path) -> torch.Tensor:
    """Return what a model makes of some tokens; raise ValueError where keys do not fit."""
    model, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True)
    if unfit := {key: sorted(map(str, names)) for key, names in info.items() if names}:
        raise ValueError(f"keys do not fit: {unfit}")
    with torch.no_grad():
        return model.eval()(torch.arange(12)[None]).logits.float()


def why_misread(folder: Path, plain: Path) -> str:
    """Return how transformers misreads a folder of compressed-tensors, or nothing."""
    lp.convert(folder, plain, to="bfloat16")
    expected = logits(plain).log_softmax(-1)
    try:
        found = logits(folder).log_softmax(-1)
    except (AttributeError, RuntimeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"[:90]
    nats = float((expected.exp() * (expected - found)).sum(-1).mean())
    return "" if nats < NATS else f"{nats:.3g} nats from the dequantized model"


def compare_tied(title: str, folder: Path) -> bool:
    """Compare what `check` and transformers say of a folder with a tied head."""
    if "deepseek" in title:
        return compare(title, folder)
    errors = [one for one in lp.checkpoints.check(folder) if one.misread]
    why = why_misread(folder, folder.with_name(folder.name + "-plain"))
    good = bool(errors) == bool(why)
    text = str(errors[0]) if errors else "no error"
    print(f"{title:48} {'ok' if good else 'DIFFERS':8} transformers: {why or 'the same logits'}; check: {text}")
    return good


def compare_models(work: Path) -> bool:
    """Spoil models with tied heads."""
    good, sizes = True, {name: size for name, size in SIZES.items() if "moe" not in name and "experts" not in name}
    sizes["vocab_size"] = 256  # as many as a projection has outputs
    for config in (LlamaConfig(**sizes, tie_word_embeddings=True), Gemma3TextConfig(**sizes)):
        source = work / config.model_type
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(source)
        for number, (title, (recipes, spoil)) in enumerate(TIED.items()):
            for recipe in recipes if spoil is not said_by_default or not isinstance(config, LlamaConfig) else ():
                right = work / f"{config.model_type}-{recipe}"
                if not right.exists():
                    lp.convert(source, right, recipe=recipe)
                folder = spoilt(right.with_name(f"{right.name}-{number}"), right, spoil)
                good = compare_tied(f"{recipe}: {title}", folder) and good
    return good


def main() -> int:
    """Spoil a folder in each of the ways."""
    transformers.logging.set_verbosity_error()
    good = True
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        torch.manual_seed(0)
        AutoModelForCausalLM.from_config(Qwen3MoeConfig(**SIZES), dtype=torch.bfloat16).save_pretrained(work / "source")
        lp.convert(work / "source", work / "right", recipe="deepseek-fp8")
        for number, (title, spoil) in enumerate(CASES.items()):
            folder = spoilt(work / str(number), work / "right", spoil)
            good = compare(title, folder) and good
        good = compare_models(work) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
