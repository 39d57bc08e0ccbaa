"""Check that transformers reads folders as lowprec does, and misreads those that `lowprec check` calls wrong.

No key may be missing, unexpected or mismatched, and models are held against `lowprec convert --to bfloat16`:

- `dequantized`: all tensors and logits have its bits where transformers dequantizes golden/ (compressed-tensors), a
  gpt-oss in MXFP4 and a DeepSeek V3 in block FP8, tiny, with random codes, and both as recipes write them. So do the
  weights as compressed-tensors makes them: alone where a block of FP8 reaches over the edge of its weight, since
  transformers 5.23 divides rows by rows of scales, and so takes blocks of another size or refuses them. Block FP8 is
  also loaded as an accelerator would load it, in modules that keep codes and scales.
- `tied`: models whose head is the embedding (Llama, Qwen 2 and 3, Gemma 3 of text alone, and with its vision tower), by
  every recipe: the same logits where weights alone are quantized, else at most `NATS` apart.
- `heads`: the names of heads in lowprec, and those of every language model that transformers makes from its default
  configuration, on the device "meta": a linear layer that is tied, or else the output embeddings.
- `spoilt`: a Qwen3-MoE in block FP8, a Llama and a Gemma 3 whose heads are their embeddings, each spoilt in a way: its
  list of modules, its scales, its description. Where `lowprec check` finds errors, transformers must misread the folder
  without an error of its own, and where it finds none, it must not.

Not a part of the test suite, whose environment has no transformers. From the root of the repository, with names of
these for them alone:

    pip install . transformers==5.23.0 compressed-tensors==0.20.0 accelerate==1.15.0 torch==2.13.0 safetensors==0.8.0
    python tests/checkpoints/check_transformers.py

It prints a line to each folder, and exits with 1 if something differs.
"""

from __future__ import annotations

import functools
import itertools
import json
import shutil
import sys
import tempfile
import unittest.mock
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import transformers
from compressed_tensors.entrypoints.convert.converters.ct_dequantizer import CompressedTensorsDequantizer
from compressed_tensors.entrypoints.convert.converters.fp8block_dequantizer import FP8BlockDequantizer
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModelForCausalLM,
    CompressedTensorsConfig,
    DeepseekV3Config,
    FineGrainedFP8Config,
    Gemma3Config,
    Gemma3TextConfig,
    GptOssConfig,
    LlamaConfig,
    Mxfp4Config,
    PreTrainedConfig,
    Qwen2Config,
    Qwen3Config,
    Qwen3MoeConfig,
    SiglipVisionConfig,
)
from transformers.models.auto import modeling_auto
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

from lowprec.checkpoints import check, convert
from lowprec.checkpoints.recipes import RECIPES
from lowprec.checkpoints.weights.tensor_selection import head_of

GOLDEN = Path(__file__).parent / "golden"
TOKENS = torch.arange(12)[None]
NATS = 0.001
"""The most that logits of quantized inputs may differ: a wrong head makes thousands, or NaN."""

AS_CODES = unittest.mock.patch.object(FineGrainedFP8HfQuantizer, "validate_environment")
"""Has block FP8 loaded as an accelerator would load it, but on the CPU."""

Tensors = dict[str, torch.Tensor]


def tensors_of(folder: Path) -> Tensors:
    tensors: Tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
    return tensors


def save(folder: Path, tensors: Tensors) -> None:
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def differences(a: Tensors, b: Tensors) -> list[str]:
    return sorted(name for name in a.keys() | b.keys() if name not in a or name not in b or not same(a[name], b[name]))


class Model:
    """A model that transformers has loaded: its tensors, and which keys did not fit."""

    def __init__(self, folder: Path, config: Any = None, kind: Any = AutoModelForCausalLM) -> None:
        options = {} if config is None else {"quantization_config": config}
        self._model, info = kind.from_pretrained(folder, dtype=torch.bfloat16, output_loading_info=True, **options)
        self.unfit = {key: sorted(map(str, names)) for key, names in info.items() if names}
        self.tensors = dict(self._model.state_dict())

    def logits(self, tokens: torch.Tensor = TOKENS) -> torch.Tensor:
        with torch.no_grad():
            values: torch.Tensor = self._model.eval()(tokens).logits
        return values


def divergence(expected: torch.Tensor, found: torch.Tensor) -> float:
    """Return the mean Kullback-Leibler divergence of logits, in nats."""
    expected, found = (one.float().log_softmax(-1) for one in (expected, found))
    return float((expected.exp() * (expected - found)).sum(-1).mean())


def said(title: str, good: bool, text: str) -> bool:
    """Print a line; return whether it says that things agree."""
    print(f"{title:48} {'ok' if good else 'DIFFERS':8} {text}", flush=True)
    return good


def in_bfloat16(folder: Path) -> Path:
    """Return our folder in bfloat16, made if it is not there."""
    plain = folder.with_name(f"{folder.name}-bf16")
    if not plain.exists():
        convert(folder, plain, to="bfloat16")
    return plain


# --- dequantized ---


def random_codes(shape: tuple[int, ...], random: torch.Generator) -> torch.Tensor:
    """Return random bytes, no NaN of float8_e4m3fn among them."""
    codes = torch.randint(0, 256, shape, dtype=torch.uint8, generator=random)
    return torch.where(codes & 0x7F == 0x7F, codes ^ 1, codes)


def mxfp4(name: str, weight: torch.Tensor, random: torch.Generator) -> Tensors:
    """Return codes and scales of experts, which are stored as [experts, rows, groups, 16]."""
    if not name.endswith(("experts.gate_up_proj", "experts.down_proj")):
        return {name: weight}
    experts, columns, rows = weight.shape
    scales = torch.randint(115, 125, (experts, rows, columns // 32), dtype=torch.uint8, generator=random)
    return {f"{name}_blocks": random_codes((*scales.shape, 16), random), f"{name}_scales": scales}


def block_fp8(name: str, weight: torch.Tensor, random: torch.Generator, scale: torch.dtype) -> Tensors:
    """Return codes and factors to blocks of 128 by 128 of every projection."""
    if name.endswith("e_score_correction_bias"):
        return {name: torch.rand(weight.shape, generator=random) * 10}
    if "_proj" not in name:
        return {name: weight}
    grid = (-(-weight.shape[0] // 128), -(-weight.shape[1] // 128))
    return {
        name: random_codes(tuple(weight.shape), random).view(torch.float8_e4m3fn),
        f"{name}_scale_inv": (torch.rand(grid, generator=random) * 1e-3 + 1e-5).to(scale),
    }


def write_plain(folder: Path, config: Any, kind: Any = AutoModelForCausalLM) -> Path:
    """Write a model with random weights in bfloat16."""
    torch.manual_seed(11)
    kind.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)
    return folder


def write(folder: Path, config: Any, quantize: Callable[..., Tensors], description: dict[str, Any]) -> Path:
    """Write a model with random weights, and quantize those that are to be."""
    random, tensors = torch.Generator().manual_seed(12), {}
    for name, values in tensors_of(write_plain(folder, config)).items():
        tensors.update(quantize(name, values, random))
    save(folder, tensors)
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "quantization_config": description}))
    return folder


GPT_OSS = GptOssConfig(
    hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_local_experts=4, vocab_size=32, head_dim=16,
    num_attention_heads=4, num_key_value_heads=2, num_experts_per_tok=2, max_position_embeddings=64,
    rope_parameters={"rope_type": "default", "rope_theta": 150000.0},
)  # fmt: skip
OF_GPT_OSS = {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}
OF_DEEPSEEK = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
MXFP4, FP8 = Mxfp4Config(dequantize=True), FineGrainedFP8Config(weight_block_size=(128, 128), dequantize=True)
"""The configurations with which transformers dequantizes them."""

EXPERTS = "model.layers.1.mlp.experts", 4
"""The module of DeepSeek's experts, and how many there are."""


def deepseek(hidden: int = 128, inner: int = 256) -> Any:
    return DeepseekV3Config(
        hidden_size=hidden, intermediate_size=inner, moe_intermediate_size=128, num_hidden_layers=2, vocab_size=32,
        n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, num_mtp_layers=0,
        num_attention_heads=4, num_key_value_heads=4, q_lora_rank=128, kv_lora_rank=96, qk_rope_head_dim=32,
        qk_nope_head_dim=32, v_head_dim=32, max_position_embeddings=64,
    )  # fmt: skip


def compare(title: str, quantized: Path, config: Any) -> bool:
    mine, peer = Model(in_bfloat16(quantized)), Model(quantized, config)
    different, ours, theirs = differences(mine.tensors, peer.tensors), mine.logits(), peer.logits()
    equal = same(ours, theirs) and bool(ours.isfinite().all())
    return said(
        title, equal and not (different or mine.unfit or peer.unfit),
        f"keys that do not fit: ours {mine.unfit or 'none'}, theirs {peer.unfit or 'none'}; {len(mine.tensors)} "
        f"tensors, {len(different)} differ {different[:3]}; logits {'equal' if equal else 'differ'}",
    )  # fmt: skip


def compare_tensors(peer: Any, quantized: Path) -> bool:
    """Compare the tensors of our folder with what a class of compressed-tensors makes of the quantized ones."""
    theirs = peer.process(tensors_of(quantized))
    different = differences(tensors_of(in_bfloat16(quantized)), theirs)
    text = f"{type(peer).__name__}: {len(theirs)} tensors, {len(different)} differ {different[:3]}"
    return said("", not different, text)


def compare_deepseek(folder: Path) -> bool:
    """Compare DeepSeeks with scales of three types, and the tensors of one whose blocks reach over its edges."""
    good = True
    for scale in (torch.float32, torch.bfloat16, torch.float8_e8m0fnu):
        title = str(scale).removeprefix("torch.")
        made = write(folder / title, deepseek(), functools.partial(block_fp8, scale=scale), OF_DEEPSEEK)
        good &= compare(f"DeepSeek, {title}", made, FP8)
        good &= compare_tensors(FP8BlockDequantizer.from_pretrained(str(made)), made)
    quantize = functools.partial(block_fp8, scale=torch.float32)
    edges = write(folder / "edges", deepseek(192, 320), quantize, OF_DEEPSEEK)
    unfit = Model(in_bfloat16(edges)).unfit
    good &= said("the same, 192 and 320", not unfit, f"keys that do not fit: ours {unfit or 'none'}")
    return good & compare_tensors(FP8BlockDequantizer.from_pretrained(str(edges)), edges)


def stacked(tensors: Tensors, module: str, experts: int) -> Tensors:
    """Return tensors with the weights of all experts of a module, and their scales, as transformers stacks them."""
    tensors = dict(tensors)
    for end in ("", "_scale_inv"):
        if f"{module}.0.down_proj.weight{end}" in tensors:
            gate, up, down = (
                torch.stack([tensors.pop(f"{module}.{number}.{last}_proj.weight{end}") for number in range(experts)])
                for last in ("gate", "up", "down")
            )
            tensors[f"{module}.gate_up_proj{end}"] = torch.cat((gate, up), dim=1)
            tensors[f"{module}.down_proj{end}"] = down
    return tensors


def compare_recipes(folder: Path) -> bool:
    """Compare models that the recipes for these layouts quantize."""
    good = True
    for recipe, config, peer in (
        ("deepseek-fp8", deepseek(), FP8), ("deepseek-fp8-ue8m0", deepseek(), FP8), ("gptoss-mxfp4", GPT_OSS, MXFP4),
    ):  # fmt: skip
        plain, quantized = write_plain(folder / f"{recipe}-source", config), folder / recipe
        convert(plain, quantized, recipe=recipe)
        good &= compare(recipe, quantized, peer)
        source, ours, stored = (tensors_of(one) for one in (plain, in_bfloat16(quantized), quantized))
        changed = [name for name in sorted(source) if not same(source[name], ours[name])]
        expected = [name for name in sorted(source) if name not in stored or not same(source[name], stored[name])]
        fits = changed == expected and {n: x.shape for n, x in source.items()} == {n: x.shape for n, x in ours.items()}
        good &= said("", fits, f"{len(changed)} of {len(source)} tensors are quantized")
        if peer is FP8:
            good &= compare_tensors(FP8BlockDequantizer.from_pretrained(str(quantized)), quantized)
    for recipe in ("deepseek-fp8", "deepseek-fp8-ue8m0"):
        for title, sizes in (("stacked", (128, 256)), ("edges", (192, 320))):
            plain = write_plain(folder / f"{recipe}-{title}-source", deepseek(*sizes))
            if title == "stacked":
                save(plain, stacked(tensors_of(plain), *EXPERTS))
            convert(plain, folder / f"{recipe}-{title}", recipe=recipe)
            good &= compare_codes(f"{recipe}, {title}", folder / f"{recipe}-{title}")
    unfit = Model(folder / "deepseek-fp8-stacked", FP8).unfit
    print(f"a limit of theirs: stacked experts are not dequantized, keys that do not fit: {unfit or 'none'}")
    return good


def compare_codes(title: str, quantized: Path) -> bool:
    """Compare the codes and the scales in a folder of block FP8."""
    with AS_CODES:
        model = Model(quantized)
    wide = (torch.float8_e8m0fnu, torch.float32)  # modules for ue8m0 have scales in that type, stored in float32
    loaded = {name: x.float() if x.dtype in wide else x for name, x in model.tensors.items()}
    # The router's bias is float32 in the model, whatever it is stored as.
    found = differences(stacked(tensors_of(quantized), *EXPERTS), loaded)
    different = [name for name in found if not name.endswith("e_score_correction_bias")]
    codes = sum(x.dtype == torch.float8_e4m3fn for x in loaded.values())
    return said(
        title, not model.unfit and not different,
        f"loaded as codes: keys that do not fit: {model.unfit or 'none'}; {len(loaded)} tensors, {codes} in FP8, "
        f"{len(different)} differ {different[:3]}",
    )  # fmt: skip


def dequantized(folder: Path) -> bool:
    good = compare("gpt-oss, MXFP4", write(folder / "gpt-oss", GPT_OSS, mxfp4, OF_GPT_OSS), MXFP4)
    good &= compare_deepseek(folder) & compare_recipes(folder)
    for preset in sorted(path.parent.name for path in GOLDEN.glob("*/config.json")):
        quantized = folder / preset
        quantized.symlink_to(GOLDEN / preset)
        good &= compare(preset, quantized, CompressedTensorsConfig(dequantize=True))
        good &= compare_tensors(CompressedTensorsDequantizer(str(quantized)), quantized)
    return good


# --- tied heads ---

SIZES = {
    "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 2, "num_attention_heads": 4, "head_dim": 64,
    "num_key_value_heads": 2, "vocab_size": 64, "max_position_embeddings": 64, "tie_word_embeddings": True,
}  # fmt: skip
VISION = {
    "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 2, "image_size": 28,
    "patch_size": 14,
}  # fmt: skip
FOR_FOLDERS = [recipe.name for recipe in RECIPES if recipe.layout in ("compressed-tensors", "FP8 of DeepSeek")]
QUANTIZED_INPUTS = ("fp8-dynamic", "fp8-block", "int8")


def why_misread(folder: Path, recipe: str, kind: Any = AutoModelForCausalLM, *, codes: bool) -> str:
    """Return how transformers misreads a folder that a recipe wrote, or nothing.

    `codes` says that it is loaded as an accelerator would load it; no layer is run then.
    """
    try:
        if codes:
            with AS_CODES:
                unfit = Model(folder, kind=kind).unfit
            return f"keys do not fit: {unfit}" if unfit else ""
        expected, found = Model(in_bfloat16(folder), kind=kind), Model(folder, kind=kind)
        if expected.unfit or found.unfit:
            return f"keys do not fit: {expected.unfit or found.unfit}"
        ours, theirs = expected.logits(), found.logits()
    except (AttributeError, RuntimeError) as error:
        return f"{type(error).__name__}: {error}"[:90]
    apart = divergence(ours, theirs)
    good = apart <= NATS if recipe in QUANTIZED_INPUTS else torch.equal(ours, theirs)
    return "" if good else f"{apart:.3g} nats from the dequantized model"


def agree(title: str, folder: Path, recipe: str, kind: Any = AutoModelForCausalLM, *, right: bool = False) -> bool:
    """Compare what transformers and `check` say of a folder; nothing is wrong with one that is `right`."""
    ways = [recipe.startswith("deepseek"), False] if right else [recipe.startswith("deepseek")]
    why = next((why for codes in dict.fromkeys(ways) if (why := why_misread(folder, recipe, kind, codes=codes))), "")
    errors = [str(one) for one in check(folder) if one.misread]
    good = bool(errors) == bool(why) and not (right and errors)
    return said(
        f"{recipe}: {title}", good, f"transformers: {why or 'as bfloat16'}; check: {(errors or ['no error'])[0]}"
    )


def models() -> Iterator[tuple[str, Any, Any]]:
    """Yield names of models, their classes and their configurations."""
    for make in (LlamaConfig, Qwen2Config, Qwen3Config, Gemma3TextConfig):
        yield make.model_type, AutoModelForCausalLM, make(**SIZES)
    text, vision = Gemma3TextConfig(**SIZES).to_dict(), SiglipVisionConfig(**VISION).to_dict()
    config = Gemma3Config(text_config=text, vision_config=vision, mm_tokens_per_image=4)
    for name in ("gemma3", "gemma3, as published"):
        yield name, transformers.AutoModelForImageTextToText, config


def tied(work: Path) -> bool:
    good = True
    for name, kind, config in models():
        source = write_plain(work / name, config, kind)
        if "published" in name:  # where the tensors of the vision tower have an older name
            tensors = tensors_of(source)
            save(
                source, {one.replace("vision_tower.", "vision_tower.vision_model.", 1): x for one, x in tensors.items()}
            )
        for recipe in FOR_FOLDERS:
            folder = work / f"{name}-{recipe}"
            convert(source, folder, recipe=recipe)
            good &= agree(name, folder, recipe, kind, right=True)
    return good


# --- names of heads ---

MAPPINGS = (
    "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", "MODEL_FOR_SPEECH_SEQ_2_SEQ_MAPPING_NAMES",
    "MODEL_FOR_MASKED_LM_MAPPING_NAMES",
)  # fmt: skip


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
    shared = {key.removesuffix(".weight") for pair in model.all_tied_weights_keys.items() for key in pair}
    output = model.get_output_embeddings()
    return config.model_type, sorted(one for one in linear if one in shared or linear[one] is output)


def heads(_: Path) -> bool:
    classes = {kind for mapping in MAPPINGS for kind in getattr(modeling_auto, mapping).values()}
    wrong, right, other = [], 0, []
    for name in sorted(one for kind in classes for one in ([kind] if isinstance(kind, str) else kind)):
        try:
            model, found = head(name)
        except Exception as error:  # defaults that make no model, or that want packages
            other.append(f"{name} ({type(error).__name__})")
            continue
        if not found:
            other.append(f"{name} (no linear layer)")
        elif head_of({"model_type": model}) in found:
            right += 1
        else:
            wrong.append(f"{name}: {found[:3]}, not {head_of({'model_type': model})}")
    text = f"{right} right, wrong: {wrong or 'none'}; not compared: {len(other)}, {', '.join(other)}"
    return said("names of heads", not wrong, text)


# --- spoilt ---

MODULE = "model.layers.0.self_attn.q_proj"
SCALES = f"{MODULE}.weight_scale_inv"
Spoil = Callable[[dict[str, Any], Tensors], object]
"""What changes a configuration and tensors; the configuration of the quantization is an entry of it."""


def plain(config: dict[str, Any], tensors: Tensors) -> None:
    scales = tensors.pop(SCALES).repeat_interleave(128, 0).repeat_interleave(128, 1)
    tensors[f"{MODULE}.weight"] = (tensors[f"{MODULE}.weight"].float() * scales).bfloat16()


def listing(*names: str, also: bool = False) -> Spoil:
    """Return what puts names into the list of modules that are not quantized, or adds them."""

    def spoil(config: dict[str, Any], _: Tensors) -> None:
        entry = config["quantization_config"]
        key = "ignore" if "ignore" in entry else "modules_to_not_convert"
        entry[key] = [*(entry[key] if also else []), *names]

    return spoil


def targeting(*targets: str) -> Spoil:
    """Return what has the only group name its modules, and lists none."""

    def spoil(config: dict[str, Any], tensors: Tensors) -> None:
        (group,) = config["quantization_config"]["config_groups"].values()
        group["targets"] = [*targets]
        listing()(config, tensors)

    return spoil


def other_head(config: dict[str, Any], tensors: Tensors) -> None:
    config["tie_word_embeddings"] = False
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].flip(0).contiguous()


def quantized_head(config: dict[str, Any], tensors: Tensors) -> None:
    """Take the codes of a projection, of as many columns, for those of the head."""
    for name in [name for name in tensors if name.startswith(f"{MODULE}.")]:
        tensors[name.replace(MODULE, "lm_head")] = tensors[name].clone()


def without_a_list(config: dict[str, Any], tensors: Tensors) -> None:
    del config["quantization_config"]["modules_to_not_convert"]


def untied(config: dict[str, Any], tensors: Tensors) -> None:
    config["tie_word_embeddings"] = False


UNLISTED = listing("model.embed_tokens")
ONE, TWO = ("deepseek-fp8",), ("fp8-dynamic", "w4a16")
WAYS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[Spoil, ...]]] = {
    "as it is written": (("qwen3_moe", "llama", "gemma3_text"), (*TWO, *ONE), ()),
    "quantized, and listed as plain": (("qwen3_moe",), ONE, (listing(MODULE, also=True),)),
    "plain, and not listed": (("qwen3_moe",), ONE, (plain,)),
    "no scales": (("qwen3_moe",), ONE, (lambda _, tensors: tensors.pop(SCALES),)),
    "scales of another name": (
        ("qwen3_moe",), ONE, (lambda _, tensors: tensors.update({f"{MODULE}.weight_scale": tensors.pop(SCALES)}),)),
    "no quantization_config": (("qwen3_moe",), ONE, (lambda config, _: config.pop("quantization_config"),)),
    "the head is not listed": (("llama", "gemma3_text"), (*TWO, "nvfp4a16", *ONE), (UNLISTED,)),
    "and tied by default": (  # of Gemma alone: a Llama has a head of its own then
        ("gemma3_text",), TWO[:1], (lambda config, _: config.pop("tie_word_embeddings"), UNLISTED)),
    "listed by an expression": (("llama", "gemma3_text"), TWO, (listing("re:.*lm_head"),)),
    "groups of projections alone": (("llama", "gemma3_text"), TWO, (targeting("re:.*_proj$"),)),
    "a group that names the head": (("llama", "gemma3_text"), TWO, (targeting("re:.*_proj$", "re:.*head$"),)),
    "no list": (("llama", "gemma3_text"), ONE, (without_a_list,)),
    "a head of its own": (("llama", "gemma3_text"), (*TWO, *ONE), (other_head,)),
    "and it is not listed": (("llama", "gemma3_text"), (*TWO, *ONE), (other_head, UNLISTED)),
    "a quantized head": (("llama", "gemma3_text"), (*TWO, *ONE), (untied, UNLISTED, quantized_head)),
    "a quantized head, said to be tied": (("llama", "gemma3_text"), (*TWO, *ONE), (UNLISTED, quantized_head)),
}  # fmt: skip
"""Ways to spoil models, which ones, and by which recipes they are written."""


def spoilt(work: Path) -> bool:
    sizes = {**SIZES, "intermediate_size": 256, "vocab_size": 256}  # as many as a projection has outputs
    experts = {"moe_intermediate_size": 128, "num_experts": 4, "num_experts_per_tok": 2, "tie_word_embeddings": False}
    for config in (LlamaConfig(**sizes), Gemma3TextConfig(**sizes), Qwen3MoeConfig(**{**sizes, **experts})):
        write_plain(work / config.model_type, config)
    good = True
    for title, (names, recipes, spoils) in WAYS.items():
        for name, recipe in itertools.product(names, recipes):
            right, folder = work / f"{name}-{recipe}", work / f"{name}-{recipe}-{title}"
            if not right.exists():
                convert(work / name, right, recipe=recipe)
            shutil.copytree(right, folder)
            config, tensors = json.loads((right / "config.json").read_text()), tensors_of(right)
            for spoil in spoils:
                spoil(config, tensors)
            (folder / "config.json").write_text(json.dumps(config))
            save(folder, tensors)
            good &= agree(f"{name}, {title}", folder, recipe)
    return good


def main() -> int:
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    good = True
    for part in (dequantized, tied, heads, spoilt):
        if not sys.argv[1:] or part.__name__ in sys.argv[1:]:
            with tempfile.TemporaryDirectory() as temporary:
                good &= part(Path(temporary))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
