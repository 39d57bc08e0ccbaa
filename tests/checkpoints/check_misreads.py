"""Check that what `lowprec check` calls an error is misread by transformers, without an error of its own.

A tiny Qwen3-MoE is converted by the recipe for block FP8 and then spoilt in a way each: its list of modules, its
scales, its description. transformers loads every folder as an accelerator would, in modules that keep codes and scales;
where `check` finds errors, keys must be missing or unexpected, and where it finds none, none may be.
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
from transformers import AutoModelForCausalLM, Qwen3MoeConfig
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
    with unittest.mock.patch.object(FineGrainedFP8HfQuantizer, "validate_environment"):
        _, info = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True)
    unfit = {key: len(names) for key, names in info.items() if names}
    good = bool(errors) == bool(unfit)
    text = str(errors[0]) if errors else "no error"
    print(f"{title:32} {'ok' if good else 'DIFFERS':8} transformers: {unfit or 'all keys fit'}; check: {text}")
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
            folder = work / str(number)
            shutil.copytree(work / "right", folder)
            if spoil is not None:
                config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
                tensors = load_file(folder / "model.safetensors")
                spoil(config, tensors)
                (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
                save_file(tensors, folder / "model.safetensors", {"format": "pt"})
            good = compare(title, folder) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
