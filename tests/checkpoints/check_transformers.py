"""Check that transformers loads what `lowprec convert --to bfloat16` makes of quantized folders, as it loads those.

Each quantized folder is loaded by transformers, which dequantizes it, and so is our folder in bfloat16. No key may be
missing, unexpected or mismatched; all tensors and the logits of both models must have the same bits. The folders:
those in golden/ (compressed-tensors), a gpt-oss in MXFP4 and a DeepSeek V3 in block FP8, tiny and with random codes,
and the same models in bfloat16, converted by the recipes for their layouts.
The recipes' block FP8 is also loaded as an accelerator would load it, in modules that keep codes and scales.
What compressed-tensors makes of the weights is compared as well: alone where a block of FP8 reaches over the edge of
its weight, since transformers 5.23 divides rows by rows of scales, and so takes blocks of another size or refuses them.
Not a part of the test suite, whose environment has no transformers. From the root of the repository:

    pip install . transformers==5.23.0 compressed-tensors==0.20.0 accelerate==1.15.0 torch==2.13.0 safetensors==0.8.0
    python tests/checkpoints/check_transformers.py

It prints a line to each folder, and exits with 1 if one differs.
"""

from __future__ import annotations

import functools
import json
import sys
import tempfile
import unittest.mock
from collections.abc import Callable
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
    GptOssConfig,
    Mxfp4Config,
)
from transformers.quantizers.quantizer_finegrained_fp8 import FineGrainedFP8HfQuantizer

from lowprec.checkpoints import convert

GOLDEN = Path(__file__).parent / "golden"
TOKENS = torch.arange(12)[None]
EXPERTS = "model.layers.1.mlp.experts", 4
"""The module of DeepSeek's experts, and how many there are."""

Tensors = dict[str, torch.Tensor]


def tensors_of(folder: Path) -> Tensors:
    tensors: Tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
    return tensors


def same(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether tensors have the same type, shape and bits."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def differences(a: Tensors, b: Tensors) -> list[str]:
    """Return the names of tensors that are not the same in both."""
    return sorted(name for name in a.keys() | b.keys() if name not in a or name not in b or not same(a[name], b[name]))


class Model:
    """A model that transformers has loaded: its tensors, its logits, and which keys did not fit."""

    def __init__(self, folder: Path, config: Any = None) -> None:
        options = {} if config is None else {"quantization_config": config}
        model, info = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.bfloat16, output_loading_info=True, **options
        )
        self.unfit = {key: sorted(map(str, names)) for key, names in info.items() if names}
        with torch.no_grad():
            self.logits = model.eval()(TOKENS).logits
        self.tensors = dict(model.state_dict())


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


def write_plain(folder: Path, config: Any) -> None:
    """Write a model with random weights in bfloat16."""
    torch.manual_seed(11)
    AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).save_pretrained(folder)


def write(folder: Path, config: Any, quantize: Callable[..., Tensors], description: dict[str, Any]) -> None:
    """Write a model with random weights, and quantize those that are to be."""
    write_plain(folder, config)
    random, tensors = torch.Generator().manual_seed(12), {}
    for name, values in tensors_of(folder).items():
        tensors.update(quantize(name, values, random))
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "quantization_config": description}))


def gpt_oss_config() -> Any:
    return GptOssConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_local_experts=4, vocab_size=32, head_dim=16,
        num_attention_heads=4, num_key_value_heads=2, num_experts_per_tok=2, max_position_embeddings=64,
        rope_parameters={"rope_type": "default", "rope_theta": 150000.0},
    )  # fmt: skip


def gpt_oss(folder: Path) -> Any:
    """Write a gpt-oss, and return with which configuration transformers dequantizes it."""
    write(folder, gpt_oss_config(), mxfp4, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]})
    return Mxfp4Config(dequantize=True)


def deepseek_config(hidden: int = 128, inner: int = 256) -> Any:
    return DeepseekV3Config(
        hidden_size=hidden, intermediate_size=inner, moe_intermediate_size=128, num_hidden_layers=2, vocab_size=32,
        n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, num_mtp_layers=0,
        num_attention_heads=4, num_key_value_heads=4, q_lora_rank=128, kv_lora_rank=96, qk_rope_head_dim=32,
        qk_nope_head_dim=32, v_head_dim=32, max_position_embeddings=64,
    )  # fmt: skip


def deepseek(folder: Path, hidden: int = 128, inner: int = 256, scale: torch.dtype = torch.float32) -> Any:
    """Write a DeepSeek V3, and return with which configuration transformers dequantizes it."""
    description = {
        "quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]
    }  # fmt: skip
    write(folder, deepseek_config(hidden, inner), functools.partial(block_fp8, scale=scale), description)
    return FineGrainedFP8Config(weight_block_size=(128, 128), dequantize=True)


def compare(title: str, quantized: Path, config: Any) -> bool:
    """Load a quantized folder and our folder in bfloat16, print a line, and return whether they agree."""
    ours = quantized.with_name(quantized.name + "-bf16")
    convert(quantized, ours, to="bfloat16")
    mine, peer = Model(ours), Model(quantized, config)
    different = differences(mine.tensors, peer.tensors)
    equal = same(mine.logits, peer.logits)
    finite = bool(mine.logits.isfinite().all())
    good = not different and not mine.unfit and not peer.unfit and finite and equal
    print(
        f"{title:24} {'ok' if good else 'DIFFERS':8} keys that do not fit: ours {mine.unfit or 'none'}, "
        f"theirs {peer.unfit or 'none'}; {len(mine.tensors)} tensors, {len(different)} differ {different[:3]}; "
        f"logits {'equal' if equal else 'differ'}"
    )
    return good


def compare_tensors(peer: Any, quantized: Path) -> bool:
    """Compare the tensors of our folder with what a class of compressed-tensors makes of the quantized ones."""
    theirs = peer.process(tensors_of(quantized))
    different = differences(tensors_of(quantized.with_name(quantized.name + "-bf16")), theirs)
    verdict = "DIFFERS" if different else "ok"
    print(f"{'':24} {verdict:8} {type(peer).__name__}: {len(theirs)} tensors, {len(different)} differ {different[:3]}")
    return not different


def compare_deepseek(folder: Path) -> bool:
    """Compare DeepSeeks with scales of three types, and the tensors of one whose blocks reach over its edges."""
    good = True
    for scale in (torch.float32, torch.bfloat16, torch.float8_e8m0fnu):
        title = str(scale).removeprefix("torch.")
        config = deepseek(folder / title, scale=scale)
        good &= compare(f"DeepSeek, {title}", folder / title, config)
        good &= compare_tensors(FP8BlockDequantizer.from_pretrained(str(folder / title)), folder / title)
    edges = folder / "edges"
    deepseek(edges, 192, 320)
    convert(edges, folder / "edges-bf16", to="bfloat16")
    unfit = Model(folder / "edges-bf16").unfit
    print(f"{'the same, 192 and 320':24} {'DIFFERS' if unfit else 'ok':8} keys that do not fit: ours {unfit or 'none'}")
    return good & compare_tensors(FP8BlockDequantizer.from_pretrained(str(edges)), edges) & (not unfit)


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
    fp8 = FineGrainedFP8Config(weight_block_size=(128, 128), dequantize=True)
    good = True
    for recipe, config, peer in (
        ("deepseek-fp8", deepseek_config(), fp8),
        ("deepseek-fp8-ue8m0", deepseek_config(), fp8),
        ("gptoss-mxfp4", gpt_oss_config(), Mxfp4Config(dequantize=True)),
    ):
        quantized = folder / recipe
        write_plain(folder / f"{recipe}-source", config)
        convert(folder / f"{recipe}-source", quantized, recipe=recipe)
        good &= compare(recipe, quantized, peer)
        source, ours = tensors_of(folder / f"{recipe}-source"), tensors_of(folder / f"{recipe}-bf16")
        changed = [name for name in sorted(source) if not same(source[name], ours[name])]
        stored = tensors_of(quantized)
        expected = [name for name in sorted(source) if name not in stored or not same(source[name], stored[name])]
        fits = changed == expected and {n: x.shape for n, x in source.items()} == {n: x.shape for n, x in ours.items()}
        print(f"{'':24} {'ok' if fits else 'DIFFERS':8} {len(changed)} of {len(source)} tensors are quantized")
        good &= fits
        if peer is fp8:
            good &= compare_tensors(FP8BlockDequantizer.from_pretrained(str(quantized)), quantized)
    for recipe in ("deepseek-fp8", "deepseek-fp8-ue8m0"):
        for title, sizes in (("stacked", (128, 256)), ("edges", (192, 320))):
            plain = folder / f"{recipe}-{title}-source"
            write_plain(plain, deepseek_config(*sizes))
            if title == "stacked":
                save_file(stacked(tensors_of(plain), *EXPERTS), plain / "model.safetensors", {"format": "pt"})
            convert(plain, folder / f"{recipe}-{title}", recipe=recipe)
            good &= compare_codes(f"{recipe}, {title}", folder / f"{recipe}-{title}")
    unfit = Model(folder / "deepseek-fp8-stacked", fp8).unfit
    print(f"{'':24} a limit of theirs: stacked experts are not dequantized, keys that do not fit: {unfit or 'none'}")
    return good


def compare_codes(title: str, quantized: Path) -> bool:
    """Load a folder of block FP8 as an accelerator would, but on the CPU; compare the codes and the scales in it."""
    with unittest.mock.patch.object(FineGrainedFP8HfQuantizer, "validate_environment"):
        model, info = AutoModelForCausalLM.from_pretrained(quantized, dtype=torch.bfloat16, output_loading_info=True)
    unfit = {key: sorted(map(str, names)) for key, names in info.items() if names}
    wide = (torch.float8_e8m0fnu, torch.float32)  # modules for ue8m0 have scales in that type, stored in float32
    loaded = {name: x.float() if x.dtype in wide else x for name, x in model.state_dict().items()}
    stored = stacked(tensors_of(quantized), *EXPERTS)
    # The router's bias is float32 in the model, whatever it is stored as.
    different = [name for name in differences(stored, loaded) if not name.endswith("e_score_correction_bias")]
    codes = sum(x.dtype == torch.float8_e4m3fn for x in loaded.values())
    good = not unfit and not different
    print(
        f"{title:24} {'ok' if good else 'DIFFERS':8} loaded as codes: keys that do not fit: {unfit or 'none'}; "
        f"{len(loaded)} tensors, {codes} in FP8, {len(different)} differ {different[:3]}"
    )
    return good


def compare_preset(preset: str, folder: Path) -> bool:
    """Compare what transformers and compressed-tensors make of the folder of a preset."""
    quantized = folder / preset
    quantized.symlink_to(GOLDEN / preset)
    good = compare(preset, quantized, CompressedTensorsConfig(dequantize=True))
    return compare_tensors(CompressedTensorsDequantizer(str(quantized)), quantized) and good


def main() -> int:
    print(f"transformers {transformers.__version__}, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        good = compare("gpt-oss, MXFP4", folder / "gpt-oss", gpt_oss(folder / "gpt-oss"))
        good &= compare_deepseek(folder)
        good &= compare_recipes(folder)
        for preset in sorted(path.parent.name for path in GOLDEN.glob("*/config.json")):
            good &= compare_preset(preset, folder)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
