"""Run those who read what recipes write, and write docs/checkpoints/readers.txt, the table of readers.md.

Every recipe quantizes tiny models with random weights: a Llama, one with tied embeddings, and mixtures of experts. Each
result is then read by

- transformers: the logits are compared with those of the same folder after `--to bfloat16`;
- vLLM's loader (check_vllm_loader.py): every parameter of the model must be filled; no layer is run;
- the tool of the layout: compressed-tensors' dequantizers, comfy-kitchen's and gguf-py's functions; every weight must
  have the bits that `--to bfloat16` gives it (float32 for GGUF).

Not a part of the test suite, whose environment has none of them. vLLM asks for older versions of two of them: install
it alone, without its packages for GPUs. From the root of the repository:

    pip install . torch==2.13.0 transformers==5.23.0 compressed-tensors==0.20.0 accelerate==1.15.0 safetensors==0.8.0
    pip install gguf==0.19.0 && pip install --no-deps comfy-kitchen==0.2.40 vllm==0.33.0 xgrammar==0.2.8
    pip install apache-tvm-ffi==0.1.11 aiohttp blake3 cachetools cbor2 cloudpickle diskcache einops ijson \
        'fastapi[standard]' jsonschema llguidance mistral_common msgspec openai orjson oss-harmony \
        partial-json-parser pillow prometheus-fastapi-instrumentator py-cpuinfo pybase64 python-json-logger \
        pyzmq setproctitle tiktoken watchfiles
    python tests/checkpoints/check_readers.py

With names of recipes it runs these alone and prints the rows, without writing anything.
tests/checkpoints/checking/test_readers.py compares the page with the recipes and with `lowprec check`.
"""

from __future__ import annotations

import datetime
import importlib.metadata
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import comfy_kitchen
import gguf
import numpy as np
import torch
import transformers
from check_transformers import Model, Tensors, differences, divergence, save, tensors_of, write_plain
from check_vllm_loader import unfilled
from compressed_tensors.entrypoints.convert.converters.ct_dequantizer import CompressedTensorsDequantizer
from compressed_tensors.entrypoints.convert.converters.fp8block_dequantizer import FP8BlockDequantizer
from transformers import DeepseekV3Config, GptOssConfig, LlamaConfig, MixtralConfig, Qwen3MoeConfig

import lowprec as lp
from lowprec.checkpoints.containers.gguf_file import GgufFile
from lowprec.checkpoints.recipes import RECIPES, Recipe

TABLE = Path(__file__).parents[2] / "docs" / "checkpoints" / "readers.txt"
TOKENS = torch.arange(24)[None] % 32
GAIN = 2.0
"""Weights are so many times as large as initialised: logits then depend on them."""

NEAR = 0.01
"""The largest Kullback-Leibler divergence of logits that quantized inputs of layers make; wrong weights make 0.08."""

_SIZES = {
    "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64,
    "max_position_embeddings": 64,
}  # fmt: skip
_EXPERTS = {"num_experts_per_tok": 2, "tie_word_embeddings": False}
_LLAMA = {**_SIZES, "intermediate_size": 512, "head_dim": 64}
MODELS: dict[str, Callable[[], Any]] = {
    "dense": lambda: LlamaConfig(**_LLAMA, tie_word_embeddings=False),
    "tied": lambda: LlamaConfig(**_LLAMA, tie_word_embeddings=True),
    "Qwen3-MoE": lambda: Qwen3MoeConfig(
        **_SIZES, **_EXPERTS, intermediate_size=256, moe_intermediate_size=128, head_dim=64, num_experts=4
    ),
    "Mixtral": lambda: MixtralConfig(**_SIZES, **_EXPERTS, intermediate_size=128, num_local_experts=4),
    "DeepSeek-V3": lambda: DeepseekV3Config(
        **{**_SIZES, "num_key_value_heads": 4}, **_EXPERTS, intermediate_size=256, moe_intermediate_size=128,
        n_routed_experts=4, n_group=1, topk_group=1, first_k_dense_replace=1, num_mtp_layers=0, q_lora_rank=128,
        kv_lora_rank=128, qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, topk_method="noaux_tc",
    ),
}  # fmt: skip
OTHERS: dict[str, Callable[[], Any]] = {
    "gpt-oss": lambda: GptOssConfig(
        **_SIZES, **_EXPERTS, intermediate_size=128, num_local_experts=4, head_dim=64, initial_context_length=64
    )
}
"""Models for recipes that are for one type of model."""

WITH_EXPERTS = ("Qwen3-MoE", "Mixtral", "DeepSeek-V3")
READS, WRONG, FAILS, NONE = "reads", "**wrong**", "**fails**", "–"


class Outcome(NamedTuple):
    """What a reader made of a folder: a word, the divergence of logits if it has some, a message if it failed."""

    word: str
    divergence: float | None = None
    message: str = ""


Read = Callable[[Recipe, Path, Path], Outcome]


def by_transformers(recipe: Recipe, folder: Path, plain: Path) -> Outcome:
    apart = divergence(*(Model(one).logits(TOKENS) for one in (plain, folder)))
    return Outcome(READS if apart < NEAR else WRONG, apart)


def by_vllm(recipe: Recipe, folder: Path, plain: Path) -> Outcome:
    left = unfilled(folder, inputs=recipe.name in ("fp8-dynamic", "fp8-block", "int8", "modelopt-fp8"))
    return Outcome(WRONG, message=f"nothing is loaded into {left[0]}") if left else Outcome(READS)


def by_compressed_tensors(recipe: Recipe, folder: Path, plain: Path) -> Outcome:
    if recipe.layout == "compressed-tensors":
        peer: Any = CompressedTensorsDequantizer(str(folder))
    else:
        peer = FP8BlockDequantizer.from_pretrained(str(folder))
    return same_bits(peer.process(tensors_of(folder)), tensors_of(plain))


def by_comfy_kitchen(recipe: Recipe, folder: Path, plain: Path) -> Outcome:
    tensors = tensors_of(folder)
    values = {}
    with comfy_kitchen.registry.use_backend("eager"):
        for mark in [name for name in tensors if name.endswith(".comfy_quant")]:
            module = mark.removesuffix("comfy_quant")
            codes, scales = tensors[f"{module}weight"], tensors[f"{module}weight_scale"]
            if recipe.name == "comfy-fp8":
                one = comfy_kitchen.dequantize_per_tensor_fp8(codes, scales, torch.float32)
            elif recipe.name == "comfy-mxfp8":
                one = comfy_kitchen.dequantize_mxfp8(codes, scales.view(torch.float8_e8m0fnu), torch.float32)
            else:
                second = tensors[f"{module}weight_scale_2"]
                one = comfy_kitchen.dequantize_nvfp4(codes, second, scales, torch.float32)
            values[f"{module}weight"] = one.bfloat16()
    return same_bits(values, {name: one for name, one in tensors_of(plain).items() if name in values})


def by_gguf(recipe: Recipe, file: Path, plain: Path) -> Outcome:
    values = {
        one.name: torch.from_numpy(np.array(gguf.quants.dequantize(one.data, one.tensor_type), np.float32))
        for one in gguf.GGUFReader(file).tensors
    }
    return same_bits(values, tensors_of(plain.parent))


def same_bits(found: Tensors, expected: Tensors) -> Outcome:
    if not found or found.keys() != expected.keys():
        return Outcome(WRONG, message="other tensors")
    return Outcome(WRONG, message="other values") if differences(found, expected) else Outcome(READS)


TOOLS: dict[str, tuple[str, Read]] = {
    "compressed-tensors": ("compressed-tensors", by_compressed_tensors),
    "FP8 of DeepSeek": ("compressed-tensors", by_compressed_tensors),
    "ComfyUI": ("comfy-kitchen", by_comfy_kitchen),
    "GGUF": ("gguf", by_gguf),
}
PACKAGES = ("transformers", "vllm", "compressed-tensors", "comfy-kitchen", "gguf", "torch")


def outcome(read: Read, recipe: Recipe, folder: Path, plain: Path) -> Outcome:
    """Return what a reader makes of a folder; whatever it raises is its message."""
    try:
        return read(recipe, folder, plain)
    except Exception as error:
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
        text = lines[0].replace("`", "")[:120] if lines else ""
        return Outcome(FAILS, message=f"{type(cause).__name__}: {text}")


def write_model(folder: Path, kind: str) -> None:
    if folder.exists():
        return
    write_plain(folder, {**MODELS, **OTHERS}[kind]())
    tensors = tensors_of(folder)
    grown = {name: one * GAIN if one.dim() > 1 and "embed" not in name else one for name, one in tensors.items()}
    save(folder, grown)


def write_gguf(path: Path) -> None:
    random = np.random.default_rng(0)
    writer = gguf.GGUFWriter(path, "llama")
    for name, shape in (("blk.0.ffn_up.weight", (64, 128)), ("blk.0.ffn_up_exps.weight", (4, 64, 128))):
        writer.add_tensor(name, random.standard_normal(shape).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def outcomes(recipe: Recipe, work: Path) -> Iterator[tuple[str, str, Outcome]]:
    """Yield readers, kinds of models and outcomes for a recipe."""
    tool = TOOLS.get(recipe.layout)
    if recipe.containers == (GgufFile,):
        source, target, plain = work / "source.gguf", work / "out.gguf", work / "plain"
        write_gguf(source)
        plain.mkdir()
        lp.convert(source, target, recipe=recipe.name)
        lp.convert(target, plain / "model.safetensors", to="float32")
        yield "tool", "dense", outcome(by_gguf, recipe, target, plain / "model.safetensors")
        return
    for kind in OTHERS if recipe.models else MODELS:
        source = work.parent / kind
        write_model(source, kind)
        folder, plain = work / kind, work / f"{kind}-plain"
        lp.convert(source, folder, recipe=recipe.name)
        lp.convert(folder, plain, to="bfloat16")
        readers = {"transformers": by_transformers, "vllm": by_vllm, **({"tool": tool[1]} if tool else {})}
        for name, read in readers.items():
            yield name, kind, outcome(read, recipe, folder, plain)


def cell(found: Mapping[str, Outcome], notes: list[str]) -> str:
    """Return what a reader makes of all kinds; messages become notes, each once."""
    if not found:
        return NONE
    texts = []
    for word in dict.fromkeys(one.word for one in found.values()):
        alike = {kind: one for kind, one in found.items() if one.word == word}
        numbers = [one.divergence for one in alike.values() if one.divergence is not None]
        text = f"{word} ({max(numbers) if word == READS else min(numbers):.4f})" if numbers else word
        message = next(iter(alike.values())).message
        if message:
            if message not in notes:
                notes.append(message)
            text += f" [{notes.index(message) + 1}]"
        texts.append(text if alike.keys() == set(MODELS) else f"{_kinds(list(alike))}: {text}")
    return "; ".join(texts)


def _kinds(kinds: list[str]) -> str:
    """Return kinds of models in words: all mixtures of experts have one."""
    if set(WITH_EXPERTS) <= set(kinds):
        kinds = [*(kind for kind in kinds if kind not in WITH_EXPERTS), "experts"]
    return ", ".join(kinds)


def rows(recipes: list[Recipe], work: Path) -> Iterator[str]:
    """Yield the lines of the table, and the notes after it."""
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    engines = f"transformers {versions['transformers']} | vLLM {versions['vllm']}, its loader"
    yield f"| recipe | {engines} | the layout's own tool |"
    yield "| --- | --- | --- | --- |"
    notes: list[str] = []
    for recipe in recipes:
        place = work / recipe.name
        place.mkdir()
        found: dict[str, dict[str, Outcome]] = {name: {} for name in ("transformers", "vllm", "tool")}
        for reader, kind, one in outcomes(recipe, place):
            found[reader][kind] = one
        shutil.rmtree(place)
        tool = TOOLS[recipe.layout][0] if recipe.layout in TOOLS else ""
        texts = [cell(one, notes) for one in found.values()]
        if tool:
            texts[2] = f"{tool} {versions[tool]}: {texts[2].removeprefix('dense: ')}"
        yield f"| `{recipe.name}` | {' | '.join(texts)} |"
    date = datetime.datetime.now(tz=datetime.UTC).date()
    yield f"\nRun on {date}, on the CPU, with torch {versions['torch'].partition('+')[0]}. Messages:\n"
    yield from (f"{number}. `{note}`" for number, note in enumerate(notes, 1))


def main() -> int:
    transformers.logging.set_verbosity(transformers.logging.CRITICAL)
    transformers.logging.disable_progress_bar()
    chosen = [one for one in RECIPES if not sys.argv[1:] or one.name in sys.argv[1:]]
    lines = []
    with tempfile.TemporaryDirectory() as temporary:
        for line in rows(chosen, Path(temporary)):
            print(line, flush=True)
            lines.append(line)
    if not sys.argv[1:]:
        TABLE.write_text("\n".join((*lines, "")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
