"""Check that transformers loads models whose head is the embedding, as every recipe that it reads writes them.

Tiny models (Llama, Qwen 2 and 3, Gemma 3 of text alone, and with its vision tower) are converted by each recipe. No key
may be missing or unexpected, `lowprec check` may find no error, and the logits are held against those of our folder in
bfloat16: the same bits where weights alone are quantized, else at most `NATS` apart, since the inputs of layers are
quantized too. DeepSeek's FP8 is dequantized on the CPU, and is also loaded as an accelerator would load it.
The names of heads in lowprec are compared with those of every language model that transformers makes from its
default configuration, on the device "meta": a linear layer that is tied, or else the output embeddings.
Not a part of the test suite, whose environment has no transformers. From the root of the repository:

    pip install . transformers==5.23.0 compressed-tensors==0.20.0 accelerate==1.15.0 torch==2.13.0 safetensors==0.8.0
    python tests/checkpoints/check_tied_heads.py

It prints a line to each folder, and exits with 1 if something differs.
"""

from __future__ import annotations

import sys
import tempfile
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import (
    Gemma3Config,
    Gemma3TextConfig,
    LlamaConfig,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    SiglipVisionConfig,
)
from transformers.models.auto import modeling_auto
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

import lowprec as lp
from lowprec.checkpoints.recipes import RECIPES as ALL_RECIPES
from lowprec.checkpoints.weights.tensor_selection import head_of

TOKENS = torch.arange(12)[None]
SIZES = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 64,
    "num_key_value_heads": 2, "vocab_size": 64, "max_position_embeddings": 64, "tie_word_embeddings": True,
}  # fmt: skip
VISION = {
    "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 28,
    "patch_size": 14,
}  # fmt: skip
RECIPES = [recipe.name for recipe in ALL_RECIPES if recipe.layout in ("compressed-tensors", "FP8 of DeepSeek")]
QUANTIZED_INPUTS = ("fp8-dynamic", "fp8-block", "int8")
NATS = 0.001

MAPPINGS = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
)  # fmt: skip


def models() -> Iterator[tuple[str, Any, Any]]:
    """Yield names of models, their classes and their configurations."""
    plain = transformers.AutoModelForCausalLM
    for make in (LlamaConfig, Qwen2Config, Qwen3Config, Gemma3TextConfig):
        yield make.model_type, plain, make(**SIZES)
    text, vision = Gemma3TextConfig(**SIZES).to_dict(), SiglipVisionConfig(**VISION).to_dict()
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    yield "gemma3", transformers.AutoModelForImageTextToText, config


def older(folder: Path) -> None:
    """Name the tensors of a vision tower as the published files of Gemma 3 do."""
    path = folder / "model.safetensors"
    tensors = load_file(path)
    names = {name: name.replace("vision_tower.", "vision_tower.vision_model.", 1) for name in tensors}
    save_file({names[name]: tensor for name, tensor in tensors.items()}, path, {"format": "pt"})


def loaded(kind: Any, folder: Path) -> tuple[Any, dict[str, list[str]]]:
    """Return a model as transformers loads it, and which keys do not fit."""
    model, info = kind.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True)
    return model.eval(), {key: sorted(map(str, names)) for key, names in info.items() if names}


def logits(model: Any) -> torch.Tensor:
    with torch.no_grad():
        values: torch.Tensor = model(TOKENS).logits.float()
    return values


def compare(title: str, kind: Any, folder: Path, recipe: str) -> bool:
    """Load a quantized folder and our folder in bfloat16, print a line, and return whether they agree."""
    plain = folder.with_name(f"{folder.name}-bf16")
    lp.convert(folder, plain, to="bfloat16")
    expected, unfit = loaded(kind, plain)
    text, good = "", not unfit
    try:
        model, unfit = loaded(kind, folder)
        mine, theirs = logits(expected), logits(model)
        nats = float((mine.softmax(-1) * (mine.log_softmax(-1) - theirs.log_softmax(-1))).sum(-1).mean())
        good &= nats <= NATS if recipe in QUANTIZED_INPUTS else torch.equal(mine, theirs)
        text = f"{nats:.2g} nats apart"
    except AttributeError as error:
        good, text = False, f"{type(error).__name__}: {error}"
    errors = [str(one) for one in lp.checkpoints.check(folder) if one.misread]
    if recipe.startswith("deepseek"):
        with unittest.mock.patch.object(FineGrainedFP8HfQuantizer, "validate_environment"):
            _, stray = loaded(kind, folder)
        unfit = unfit or stray
    good &= not unfit and not errors
    print(
        f"{title:36} {'ok' if good else 'DIFFERS':8} logits: {text}; keys that do not fit: {unfit or 'none'}; "
        f"check: {errors or 'no error'}"
    )
    return bool(good)


def compare_models(work: Path) -> bool:
    """Convert every model by every recipe."""
    good = True
    for name, kind, config in models():
        torch.manual_seed(0)
        kind.from_config(config, dtype=torch.bfloat16).save_pretrained(work / name)
        titles = [name]
        if name == "gemma3":
            kind.from_config(config, dtype=torch.bfloat16).save_pretrained(work / "gemma3, as published")
            older(work / "gemma3, as published")
            titles.append("gemma3, as published")
        for title in titles:
            for recipe in RECIPES:
                folder = work / f"{title}-{recipe}"
                lp.convert(work / title, folder, recipe=recipe)
                good = compare(f"{title}, {recipe}", kind, folder, recipe) and good
    return good


def tie(config: Any, depth: int = 0) -> None:
    """Say that the embedding is the head, in a configuration and those inside it."""
    config.tie_word_embeddings = True
    for inner in list(vars(config).values()) if depth < 3 else ():
        if isinstance(inner, PreTrainedConfig):
            tie(inner, depth + 1)


def head(name: str) -> tuple[str, list[str]]:
    """Return the type of a class of models, and the modules that may be its head."""
    kind = getattr(transformers, name)
    config = kind.config_class()
    tie(config)
    with torch.device("meta"):
        model = kind(config)
    linear = {name: one for name, one in model.named_modules() if isinstance(one, torch.nn.Linear)}
    tied = {key.removesuffix(".weight") for pair in model.all_tied_weights_keys.items() for key in pair}
    output = model.get_output_embeddings()
    return config.model_type, sorted(one for one in linear if one in tied or linear[one] is output)


def compare_heads() -> bool:
    """Compare the names of heads with those of all models that can be made."""
    classes = {kind for mapping in MAPPINGS for kind in getattr(modeling_auto, mapping).values()}
    wrong, right, other = [], 0, []
    for name in sorted(one for kind in classes for one in ([kind] if isinstance(kind, str) else kind)):
        try:
            model, heads = head(name)
        except Exception as error:  # defaults that make no model, or that want packages
            other.append(f"{name} ({type(error).__name__})")
            continue
        if not heads:
            other.append(f"{name} (no linear layer)")
        elif head_of({"model_type": model}) in heads:
            right += 1
        else:
            wrong.append(f"{name}: {heads[:3]}, not {head_of({'model_type': model})}")
    print(f"{'names of heads':36} {'DIFFERS' if wrong else 'ok':8} {right} right, wrong: {wrong or 'none'}")
    print(f"{'':36} not compared: {len(other)}, {', '.join(other)}")
    return not wrong


def main() -> int:
    transformers.logging.set_verbosity_error()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as temporary:
        good = compare_models(Path(temporary))
    return 0 if compare_heads() and good else 1


if __name__ == "__main__":
    sys.exit(main())
