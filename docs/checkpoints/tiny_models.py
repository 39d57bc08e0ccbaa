"""Writes the tiny models of the pages on checkpoints to the current folder: Llama, V3, V4, oss and two single files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp

FP8 = {"quant_method": "fp8", "fmt": "e4m3", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}


class Numbers:
    """Random numbers of a model, the same in each run."""

    def __init__(self) -> None:
        self.random = np.random.RandomState(0)

    def bfloat16(self, *shape: int, size: float = 0.05) -> Any:
        """Return weights in bfloat16."""
        return lp.cast(self.random.standard_normal(shape).astype(np.float32) * np.float32(size), "bfloat16")

    def float32(self, *shape: int, size: float = 1.0) -> Any:
        """Return weights in float32."""
        return (self.random.standard_normal(shape) * size).astype(np.float32)

    def fp8(self, *shape: int) -> Any:
        """Return codes of float8_e4m3fn."""
        return lp.cast(self.float32(*shape, size=50), "float8_e4m3fn")

    def integers(self, low: int, high: int, *shape: int, dtype: str = "uint8") -> Any:
        """Return integers."""
        return self.random.randint(low, high, shape).astype(dtype)


def write_folder(name: str, config: dict[str, Any], *shards: dict[str, Any]) -> None:
    """Write a folder as those of the Hugging Face Hub: config.json, and one file or shards with an index."""
    folder = Path(name)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    if len(shards) == 1:
        lp.checkpoints.save(folder / "model.safetensors", shards[0])
        return
    weight_map: dict[str, str] = {}
    for number, tensors in enumerate(shards, 1):
        file = f"model-{number:05}-of-{len(shards):05}.safetensors"
        lp.checkpoints.save(folder / file, tensors)
        weight_map |= dict.fromkeys(tensors, file)
    total = sum(tensor.nbytes for tensors in shards for tensor in tensors.values())
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index), encoding="utf-8")


def llama() -> None:
    """Write a Llama of one layer in bfloat16."""
    numbers = Numbers()
    shapes = {
        "self_attn.q_proj": (128, 128), "self_attn.k_proj": (64, 128), "self_attn.v_proj": (64, 128),
        "self_attn.o_proj": (128, 128), "mlp.gate_proj": (256, 128), "mlp.up_proj": (256, 128),
        "mlp.down_proj": (128, 256), "input_layernorm": (128,), "post_attention_layernorm": (128,),
    }  # fmt: skip
    tensors = {f"model.layers.0.{name}.weight": numbers.bfloat16(*shape) for name, shape in shapes.items()}
    tensors |= {f"{name}.weight": numbers.bfloat16(32, 128) for name in ("model.embed_tokens", "lm_head")}
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "torch_dtype": "bfloat16"}
    write_folder("Llama", config, tensors)


def deepseek_v3() -> None:
    """Write two shards of block FP8, codes and their scales apart."""
    numbers = Numbers()
    up, down = "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.down_proj.weight"
    first = {
        "model.embed_tokens.weight": lp.cast(numbers.float32(16, 256), "bfloat16"),
        up: numbers.fp8(384, 256),
        "model.layers.0.mlp.gate.weight": numbers.float32(4, 256),
    }
    second = {
        f"{up}_scale_inv": np.full((3, 2), 3e-4, np.float32),
        down: numbers.fp8(256, 384),
        f"{down}_scale_inv": np.full((2, 3), 5e-4, np.float32),
    }
    config = {"model_type": "deepseek_v3", "torch_dtype": "bfloat16", "quantization_config": FP8}
    write_folder("V3", config, first, second)


def deepseek_v4() -> None:
    """Write an expert in FP4 and a layer of block FP8 with scales that are powers of two."""
    numbers = Numbers()
    expert, attention = "layers.0.ffn.experts.0.w1", "layers.0.attn.wq_a"
    scales = 2.0 ** numbers.integers(-9, -5, 128, 4, dtype="float32")
    tensors = {
        f"{expert}.weight": numbers.integers(-128, 128, 128, 64, dtype="int8"),
        f"{expert}.scale": lp.cast(scales, "float8_e8m0fnu"),
        f"{attention}.weight": numbers.fp8(128, 128),
        f"{attention}.scale": lp.cast(np.full((1, 1), 2.0**-11, np.float32), "float8_e8m0fnu"),
    }
    quantized = {"quantization_config": {**FP8, "scale_fmt": "ue8m0"}}
    write_folder("V4", {"model_type": "deepseek_v4", "expert_dtype": "fp4", **quantized}, tensors)


def gpt_oss() -> None:
    """Write two experts in MXFP4 as Hugging Face has those of gpt-oss."""
    numbers = Numbers()
    experts = "model.layers.0.mlp.experts"
    tensors = {
        f"{experts}.gate_up_proj_blocks": numbers.integers(0, 256, 2, 128, 2, 16),
        f"{experts}.gate_up_proj_scales": numbers.integers(118, 124, 2, 128, 2),
        f"{experts}.gate_up_proj_bias": numbers.bfloat16(2, 128),
        f"{experts}.down_proj_blocks": numbers.integers(0, 256, 2, 64, 2, 16),
        f"{experts}.down_proj_scales": numbers.integers(118, 124, 2, 64, 2),
        f"{experts}.down_proj_bias": numbers.bfloat16(2, 64),
        "model.layers.0.mlp.router.weight": numbers.bfloat16(2, 64),
        "model.layers.0.self_attn.q_proj.weight": numbers.bfloat16(64, 64),
    }
    quantized = {"quantization_config": {"quant_method": "mxfp4"}}
    write_folder("oss", {"model_type": "gpt_oss", "dtype": "bfloat16", **quantized}, tensors)


def flux() -> None:
    """Write a file with the names of a diffusion model."""
    numbers = Numbers()
    shapes = {
        "double_blocks.0.img_mlp.0.weight": (256, 128), "double_blocks.0.img_mlp.0.bias": (256,),
        "double_blocks.0.img_attn.norm.query_norm.scale": (128,), "single_blocks.0.linear1.weight": (384, 128),
        "img_in.weight": (128, 64), "final_layer.linear.weight": (64, 128),
    }  # fmt: skip
    lp.checkpoints.save("flux.safetensors", {name: numbers.bfloat16(*shape) for name, shape in shapes.items()})


def fp8_of_ocp() -> None:
    """Write one weight of four numbers in float8_e4m3fn, with a scale."""
    name, values = "model.layers.0.mlp.up_proj.weight", np.array([[448, -0.0, 1, -3.5]], np.float32)
    tensors = {name: lp.cast(values, "float8_e4m3fn"), f"{name}_scale_inv": np.full((1, 1), 0.125, np.float32)}
    lp.checkpoints.save("ocp.safetensors", tensors)


if __name__ == "__main__":
    for write in (llama, deepseek_v3, deepseek_v4, gpt_oss, flux, fp8_of_ocp):
        write()
