"""Tiny checkpoints in the quantization layouts in use, in two shards, with an index and a config.json."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from support.checkpoint_files import raw_file

BITS = {"F8_E4M3": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BF16": 16, "F16": 16, "I16": 16, "F32": 32, "I32": 32,
        "U32": 32, "I64": 64, "F4": 4, "BOOL": 8}  # fmt: skip
Tensors = dict[str, tuple[str, tuple[int, ...]]]

INDEX = "model.safetensors.index.json"
SHARDS = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"


KEY = "quantization_config"


@dataclass(frozen=True)
class Checkpoint:
    """Tensors as (type, shape): codes and what they need, of which the last lies in another shard; `quantization`."""

    codes: str
    quantized: Tensors
    quantization: object
    ordinary: tuple[str, ...] = ()
    key: str = KEY


P = "model.layers.0.mlp.up_proj"
E = "model.layers.0.mlp.experts"
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}
CT = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"]}
CT4 = {**CT, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4}}}}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4"}


def typed(text: str, module: str = "") -> Tensors:
    """Return tensors of a module by names, types and shapes: "weight F8_E4M3 4x8, bias F32"."""
    found: Tensors = {}
    for one in text.split(", "):
        name, kind, *shape = one.split()
        found[f"{module}.{name}" if module else name] = kind, tuple(map(int, shape[0].split("x"))) if shape else ()
    return found


def layout(module: str, text: str, quantization: object = None, *ordinary: str, key: str = KEY) -> Checkpoint:
    """Return a checkpoint with a weight, the first of the tensors, and ordinary tensors of its module."""
    quantized, others = typed(text, module), tuple(f"{module}.{name}" if module else name for name in ordinary)
    return Checkpoint(next(iter(quantized)), quantized, quantization, others, key)


LAYOUTS = {
    "deepseek v3": layout(P, "weight F8_E4M3 4x8, weight_scale_inv F32 1x1", FP8, "bias"),
    "deepseek v4": layout("layers.0.attn.wq_a", "weight F8_E4M3 4x8, scale F8_E8M0 1x1", FP8),
    "deepseek v4 experts": layout("layers.0.ffn.experts.0.w1", "weight I8 4x16, scale F8_E8M0 4x1", FP8),
    "transformers 5 experts": layout(E, "gate_up_proj F8_E4M3 2x4x8, gate_up_proj_scales_inv F32 2x1x1", FP8),
    "transformers 5 experts, other spelling": layout(E, "gate_up_proj F8_E4M3 2x4x8, gate_up_proj_scale_inv F32 2x1x1",
        FP8),
    "gpt-oss": layout(
        "model.layers.0", "mlp.experts.gate_up_proj_blocks U8 2x4x1x16, mlp.experts.gate_up_proj_scales U8 2x4x1",
        {"quant_method": "mxfp4"}, "mlp.experts.gate_up_proj_bias", "self_attn.sinks"),
    "gpt-oss as OpenAI has it": layout("block.0.mlp", "mlp1_weight.blocks U8 2x4x1x16, mlp1_weight.scales U8 2x4x1",
        {"quant_method": "mxfp4"}, "mlp1_bias"),
    "compressed-tensors fp8": layout(P, "weight F8_E4M3 4x8, input_scale F32 1, weight_scale BF16 4x1", CT, "bias"),
    "compressed-tensors int8": layout(P, "weight I8 4x8, weight_scale BF16 4x1", CT, "bias"),
    "compressed-tensors w4a16": layout(P, "weight_packed I32 4x1, weight_shape I64 2, weight_g_idx I32 8, "
        "weight_zero_point I32 1x1, weight_scale BF16 4x1", CT4, "bias"),
    "compressed-tensors nvfp4": layout(P, "weight_packed U8 4x8, weight_global_scale F32 1, "
        "input_global_scale F32 1, weight_scale F8_E4M3 4x1", CT, "bias"),
    "compressed-tensors mxfp4": layout(P, "weight_packed U8 4x16, weight_scale U8 4x1", CT, "bias"),
    "compressed-tensors mxfp8": layout(P, "weight F8_E4M3 4x32, weight_scale U8 4x1", CT, "bias"),
    "modelopt fp8": layout(P, "weight F8_E4M3 4x8, input_scale F32, weight_scale F32", MODELOPT, "bias"),
    "modelopt nvfp4": layout(P, "weight U8 4x8, weight_scale F8_E4M3 4x1, input_scale F32, weight_scale_2 F32",
        MODELOPT, "bias"),
    "comfyui, older": layout("", "model.layers.0.mlp.up_proj.weight F8_E4M3 4x8, scaled_fp8 F8_E4M3 2, "
        "model.layers.0.mlp.up_proj.scale_input F32, model.layers.0.mlp.up_proj.scale_weight F32", None,
        "model.layers.0.mlp.up_proj.bias"),
    "comfyui, a mark alone": layout("model.diffusion_model", "model.layers.0.mlp.up_proj.weight F8_E4M3 4x8, "
        "scaled_fp8 F8_E4M3 0"),
    "comfyui": layout(P, "weight F8_E4M3 4x8, comfy_quant U8 27, weight_scale F32", None, "bias"),
    "comfyui nvfp4": layout(P, "weight U8 16x8, comfy_quant U8 19, weight_scale F8_E4M3 128x4, weight_scale_2 F32",
        None, "bias"),
    "awq": layout(P, "qweight I32 8x1, qzeros I32 1x1, scales F16 1x8", {"quant_method": "awq", "bits": 4}, "bias"),
    "gptq": layout(P, "qweight I32 1x8, qzeros I32 1x1, g_idx I32 8, scales F16 1x8",
        {"quant_method": "gptq", "bits": 4}, "bias"),
    "mistral": layout("layers.0.attention.wq", "weight F8_E4M3 4x8, qscale_act F32, qscale_weight F32",
        {"qformat_weight": "fp8_e4m3"}, key="quantization"),
    "mlx": layout(P, "weight U32 4x1, biases BF16 4x1, scales BF16 4x1", {"group_size": 64, "bits": 4},
        key="quantization"),
    "bitsandbytes nf4": layout(P, "weight U8 16x1, weight.quant_map F32 16, weight.nested_absmax F32 1, "
        "weight.nested_quant_map F32 256, weight.quant_state.bitsandbytes__nf4 U8 9, weight.absmax U8 1",
        {"quant_method": "bitsandbytes", "load_in_4bit": True}, "bias"),
    "bitsandbytes int8": layout(P, "weight I8 4x8, weight_format U8, SCB F32 4",
        {"quant_method": "bitsandbytes", "load_in_8bit": True}, "bias"),
    "hqq": layout(P, "W_q U8 4x4, zero F16 4x1, scale F16 4x1", {"quant_method": "hqq"}, "bias"),
    "quanto": layout(P, "weight._data I8 4x8, weight._scale BF16 4x1", {"quant_method": "quanto"}, "bias"),
    "quanto qint4": layout(P, "weight._data._data U8 2x8, weight._shift BF16 4x1, weight._scale BF16 4x1",
        {"quant_method": "quanto"}, "bias"),  # optimum-quanto 0.2.7
    "quanto, scales in parts": layout(P, "weight._data._packed U8 2x8, weight._scale._scale BF16 4x1, "
        "weight._scale._data I8 4x1", {"quant_method": "new"}, "bias"),
    "parts in parts": layout(P, "_data._data._data I32 4x8, _data._shift F32 4x1", {"quant_method": "new"}, "bias"),
    "torchao": layout(P, "_weight_qdata F8_E4M3 4x8, _weight_scale F32 4x1", {"quant_method": "torchao"}, "bias"),
    "lowprec": layout(P, "weight F8_E4M3 4x8, weight_scale F32 4", None, "bias"),
    "lowprec, a name without a module": layout("", "W I8 4x8, W_scale F32 4"),
    "lowprec mx": layout(P, "weight F4 4x32, weight_scale F8_E8M0 4x1", None, "bias"),
    "unknown scale": layout(P, "weight F8_E4M3 4x8, s F32 4x1", None, "bias"),
    "unknown scale of bytes": layout(P, "weight U8 4x8, s F32 4x1", None, "bias"),
    "unknown scale of an expert": layout(E, "w1 F8_E4M3 2x4x8, w1_factor F32 2"),
    "unknown scale of another name": layout(E, "w1 F8_E4M3 2x4x8, amax1 F32 2"),
}  # fmt: skip

REFUSED = (
    "comfyui, a mark alone", "mlx", "bitsandbytes nf4", "bitsandbytes int8",
    "hqq", "quanto", "quanto qint4", "quanto, scales in parts", "parts in parts", "torchao",
    "unknown scale", "unknown scale of bytes", "unknown scale of an expert",
    "unknown scale of another name",
)  # fmt: skip
"""Layouts whose weights cannot be dequantized."""

TOOLS = {
    "mlx": "MLX", "bitsandbytes nf4": "bitsandbytes", "bitsandbytes int8": "bitsandbytes", "quanto": "quanto",
    "quanto qint4": "quanto", "torchao": "torchao",
}  # fmt: skip
"""Whose they are, as messages name them."""

READ = tuple(name for name in LAYOUTS if name not in REFUSED)
"""Layouts whose weights can."""

INTEGERS = {
    f"{P}.weight_shape": np.array([4, 8]),
    f"{P}.weight_g_idx": np.zeros(8, np.int32),
    f"{P}.g_idx": np.zeros(8, np.int32),
}
"""What tensors of integers hold that say how others are read."""

DESCRIPTIONS = {
    len(text): np.frombuffer(text, np.uint8) for text in (b'{"format": "float8_e4m3fn"}', b'{"format": "nvfp4"}')
}
"""What ComfyUI's descriptions say, by their lengths."""

ORDINARY = ("lm_head.weight", "model.norm.weight")
"""BF16 tensors of every checkpoint that the quantization does not concern."""


def name_of_values(checkpoint: Checkpoint) -> str:
    """Return the name that a weight has where it is not quantized."""
    for end in ("_blocks", ".blocks", "_packed"):
        if checkpoint.codes.endswith(end):
            return checkpoint.codes.removesuffix(end)
    return checkpoint.codes.replace(".qweight", ".weight")


def tensors_of(checkpoint: Checkpoint) -> Tensors:
    return {**checkpoint.quantized, **dict.fromkeys((*checkpoint.ordinary, *ORDINARY), ("BF16", (4, 8)))}


def content(shape: tuple[int, ...], type_name: str, seed: int) -> bytes:
    """Return bytes none of which, in any of the types, is a NaN or makes one."""
    n = math.prod(shape) * BITS[type_name] // 8
    return bytes((seed + 7 * i) % 0x38 + 1 for i in range(n))


def write(path: Path, tensors: Tensors, metadata: dict[str, str] | None = None) -> Path:
    """Write a safetensors file."""
    header: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    parts, at = [], 0
    for seed, (name, (type_name, shape)) in enumerate(tensors.items()):
        known = DESCRIPTIONS.get(math.prod(shape)) if name.endswith(".comfy_quant") else INTEGERS.get(name)
        parts.append(content(shape, type_name, seed) if known is None else known.tobytes())
        header[name] = {"dtype": type_name, "shape": shape, "data_offsets": [at, at + len(parts[-1])]}
        at += len(parts[-1])
    return raw_file(path, header, b"".join(parts))


def config_of(checkpoint: Checkpoint) -> dict[str, object]:
    before, after = {"model_type": "llama", "note": "größer"}, {"torch_dtype": "bfloat16", "rope": {"theta": 1e4}}
    entry = {checkpoint.key: checkpoint.quantization} if checkpoint.quantization is not None else {}
    return {**before, **entry, **after}


def write_folder(folder: Path, checkpoint: Checkpoint) -> Path:
    """Write a checkpoint: the last tensor that the codes need lies in the second shard, with all ordinary ones."""
    folder.mkdir()
    tensors = tensors_of(checkpoint)
    *_, last = checkpoint.quantized
    places = {name: SHARDS[name == last or name not in checkpoint.quantized] for name in tensors}
    for shard in SHARDS:
        write(folder / shard, {name: one for name, one in tensors.items() if places[name] == shard})
    fields = {"metadata": {"total_size": 0}, "weight_map": places}
    (folder / INDEX).write_text(json.dumps(fields))
    text = json.dumps(config_of(checkpoint), indent=2, ensure_ascii=False)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")
    return folder
