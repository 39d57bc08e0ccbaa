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


@dataclass(frozen=True)
class Checkpoint:
    """Tensors as (type, shape): codes and what they need, of which the last lies in another shard; `quantization`."""

    codes: str
    quantized: Tensors
    quantization: object
    ordinary: tuple[str, ...] = ()
    key: str = "quantization_config"


P = "model.layers.0.mlp.up_proj"
E = "model.layers.0.mlp.experts"
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128], "modules_to_not_convert": ["lm_head"]}
CT = {"quant_method": "compressed-tensors", "format": "pack-quantized", "ignore": ["lm_head"]}
CT4 = {**CT, "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4}}}}
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4"}
BIAS = (f"{P}.bias",)

LAYOUTS = {
    "deepseek v3": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("F8_E4M3", (4, 8)), f"{P}.weight_scale_inv": ("F32", (1, 1))}, FP8, BIAS
    ),
    "deepseek v4": Checkpoint(
        "layers.0.attn.wq_a.weight",
        {"layers.0.attn.wq_a.weight": ("F8_E4M3", (4, 8)), "layers.0.attn.wq_a.scale": ("F8_E8M0", (1, 1))}, FP8,
    ),
    "deepseek v4 experts": Checkpoint(
        "layers.0.ffn.experts.0.w1.weight",
        {"layers.0.ffn.experts.0.w1.weight": ("I8", (4, 16)), "layers.0.ffn.experts.0.w1.scale": ("F8_E8M0", (4, 1))},
        FP8,
    ),
    "transformers 5 experts": Checkpoint(
        f"{E}.gate_up_proj",
        {f"{E}.gate_up_proj": ("F8_E4M3", (2, 4, 8)), f"{E}.gate_up_proj_scales_inv": ("F32", (2, 1, 1))}, FP8,
    ),
    "transformers 5 experts, other spelling": Checkpoint(
        f"{E}.gate_up_proj",
        {f"{E}.gate_up_proj": ("F8_E4M3", (2, 4, 8)), f"{E}.gate_up_proj_scale_inv": ("F32", (2, 1, 1))}, FP8,
    ),
    "gpt-oss": Checkpoint(
        f"{E}.gate_up_proj_blocks",
        {f"{E}.gate_up_proj_blocks": ("U8", (2, 4, 1, 16)), f"{E}.gate_up_proj_scales": ("U8", (2, 4, 1))},
        {"quant_method": "mxfp4"}, (f"{E}.gate_up_proj_bias", "model.layers.0.self_attn.sinks"),
    ),
    "gpt-oss as OpenAI has it": Checkpoint(
        "block.0.mlp.mlp1_weight.blocks",
        {"block.0.mlp.mlp1_weight.blocks": ("U8", (2, 4, 1, 16)), "block.0.mlp.mlp1_weight.scales": ("U8", (2, 4, 1))},
        {"quant_method": "mxfp4"}, ("block.0.mlp.mlp1_bias",),
    ),
    "compressed-tensors fp8": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("F8_E4M3", (4, 8)), f"{P}.input_scale": ("F32", (1,)), f"{P}.weight_scale": ("BF16", (4, 1))},
        CT, BIAS,
    ),
    "compressed-tensors int8": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("I8", (4, 8)), f"{P}.weight_scale": ("BF16", (4, 1))}, CT, BIAS
    ),
    "compressed-tensors w4a16": Checkpoint(
        f"{P}.weight_packed",
        {f"{P}.weight_packed": ("I32", (4, 1)), f"{P}.weight_shape": ("I64", (2,)), f"{P}.weight_g_idx": ("I32", (8,)),
         f"{P}.weight_zero_point": ("I32", (1, 1)), f"{P}.weight_scale": ("BF16", (4, 1))}, CT4, BIAS,
    ),
    "compressed-tensors nvfp4": Checkpoint(
        f"{P}.weight_packed",
        {f"{P}.weight_packed": ("U8", (4, 8)), f"{P}.weight_global_scale": ("F32", (1,)),
         f"{P}.input_global_scale": ("F32", (1,)), f"{P}.weight_scale": ("F8_E4M3", (4, 1))}, CT, BIAS,
    ),
    "compressed-tensors mxfp4": Checkpoint(
        f"{P}.weight_packed", {f"{P}.weight_packed": ("U8", (4, 16)), f"{P}.weight_scale": ("U8", (4, 1))}, CT, BIAS
    ),
    "compressed-tensors mxfp8": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("F8_E4M3", (4, 32)), f"{P}.weight_scale": ("U8", (4, 1))}, CT, BIAS
    ),
    "modelopt fp8": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("F8_E4M3", (4, 8)), f"{P}.input_scale": ("F32", ()), f"{P}.weight_scale": ("F32", ())},
        MODELOPT, BIAS,
    ),
    "modelopt nvfp4": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("U8", (4, 8)), f"{P}.weight_scale": ("F8_E4M3", (4, 1)), f"{P}.input_scale": ("F32", ()),
         f"{P}.weight_scale_2": ("F32", ())}, MODELOPT, BIAS,
    ),
    "comfyui, older": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("F8_E4M3", (4, 8)), "scaled_fp8": ("F8_E4M3", (2,)), f"{P}.scale_input": ("F32", ()),
         f"{P}.scale_weight": ("F32", ())}, None, BIAS,
    ),
    "comfyui, a mark alone": Checkpoint(
        f"model.diffusion_model.{P}.weight",
        {f"model.diffusion_model.{P}.weight": ("F8_E4M3", (4, 8)),
         "model.diffusion_model.scaled_fp8": ("F8_E4M3", (0,))}, None,
    ),
    "comfyui": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("F8_E4M3", (4, 8)), f"{P}.comfy_quant": ("U8", (27,)), f"{P}.weight_scale": ("F32", ())},
        None, BIAS,
    ),
    "comfyui nvfp4": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("U8", (16, 8)), f"{P}.comfy_quant": ("U8", (19,)), f"{P}.weight_scale": ("F8_E4M3", (128, 4)),
         f"{P}.weight_scale_2": ("F32", ())}, None, BIAS,
    ),
    "awq": Checkpoint(
        f"{P}.qweight",
        {f"{P}.qweight": ("I32", (8, 1)), f"{P}.qzeros": ("I32", (1, 1)), f"{P}.scales": ("F16", (1, 8))},
        {"quant_method": "awq", "bits": 4}, BIAS,
    ),
    "gptq": Checkpoint(
        f"{P}.qweight",
        {f"{P}.qweight": ("I32", (1, 8)), f"{P}.qzeros": ("I32", (1, 1)), f"{P}.g_idx": ("I32", (8,)),
         f"{P}.scales": ("F16", (1, 8))}, {"quant_method": "gptq", "bits": 4}, BIAS,
    ),
    "mistral": Checkpoint(
        "layers.0.attention.wq.weight",
        {"layers.0.attention.wq.weight": ("F8_E4M3", (4, 8)), "layers.0.attention.wq.qscale_act": ("F32", ()),
         "layers.0.attention.wq.qscale_weight": ("F32", ())}, {"qformat_weight": "fp8_e4m3"}, key="quantization",
    ),
    "mlx": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("U32", (4, 1)), f"{P}.biases": ("BF16", (4, 1)), f"{P}.scales": ("BF16", (4, 1))},
        {"group_size": 64, "bits": 4}, key="quantization",
    ),
    "bitsandbytes nf4": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("U8", (16, 1)), f"{P}.weight.quant_map": ("F32", (16,)),
         f"{P}.weight.nested_absmax": ("F32", (1,)), f"{P}.weight.nested_quant_map": ("F32", (256,)),
         f"{P}.weight.quant_state.bitsandbytes__nf4": ("U8", (9,)), f"{P}.weight.absmax": ("U8", (1,))},
        {"quant_method": "bitsandbytes", "load_in_4bit": True}, BIAS,
    ),
    "bitsandbytes int8": Checkpoint(
        f"{P}.weight",
        {f"{P}.weight": ("I8", (4, 8)), f"{P}.weight_format": ("U8", ()), f"{P}.SCB": ("F32", (4,))},
        {"quant_method": "bitsandbytes", "load_in_8bit": True}, BIAS,
    ),
    "hqq": Checkpoint(
        f"{P}.W_q", {f"{P}.W_q": ("U8", (4, 4)), f"{P}.zero": ("F16", (4, 1)), f"{P}.scale": ("F16", (4, 1))},
        {"quant_method": "hqq"}, BIAS,
    ),
    "quanto": Checkpoint(
        f"{P}.weight._data", {f"{P}.weight._data": ("I8", (4, 8)), f"{P}.weight._scale": ("BF16", (4, 1))},
        {"quant_method": "quanto"}, BIAS,
    ),
    "quanto qint4": Checkpoint(  # names, types and shapes of optimum-quanto 0.2.7
        f"{P}.weight._data._data",
        {f"{P}.weight._data._data": ("U8", (2, 8)), f"{P}.weight._shift": ("BF16", (4, 1)),
         f"{P}.weight._scale": ("BF16", (4, 1))}, {"quant_method": "quanto"}, BIAS,
    ),
    "quanto, scales in parts": Checkpoint(
        f"{P}.weight._data._packed",
        {f"{P}.weight._data._packed": ("U8", (2, 8)), f"{P}.weight._scale._scale": ("BF16", (4, 1)),
         f"{P}.weight._scale._data": ("I8", (4, 1))}, {"quant_method": "new"}, BIAS,
    ),
    "parts in parts": Checkpoint(
        f"{P}._data._data._data",
        {f"{P}._data._data._data": ("I32", (4, 8)), f"{P}._data._shift": ("F32", (4, 1))},
        {"quant_method": "new"}, BIAS,
    ),
    "torchao": Checkpoint(
        f"{P}._weight_qdata",
        {f"{P}._weight_qdata": ("F8_E4M3", (4, 8)), f"{P}._weight_scale": ("F32", (4, 1))},
        {"quant_method": "torchao"}, BIAS,
    ),
    "lowprec": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("F8_E4M3", (4, 8)), f"{P}.weight_scale": ("F32", (4,))}, None, BIAS
    ),
    "lowprec, a name without a module": Checkpoint("W", {"W": ("I8", (4, 8)), "W_scale": ("F32", (4,))}, None),
    "lowprec mx": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("F4", (4, 32)), f"{P}.weight_scale": ("F8_E8M0", (4, 1))}, None, BIAS
    ),
    "unknown scale": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("F8_E4M3", (4, 8)), f"{P}.s": ("F32", (4, 1))}, None, BIAS
    ),
    "unknown scale of bytes": Checkpoint(
        f"{P}.weight", {f"{P}.weight": ("U8", (4, 8)), f"{P}.s": ("F32", (4, 1))}, None, BIAS
    ),
    "unknown scale of an expert": Checkpoint(
        f"{E}.w1", {f"{E}.w1": ("F8_E4M3", (2, 4, 8)), f"{E}.w1_factor": ("F32", (2,))}, None
    ),
    "unknown scale of another name": Checkpoint(
        f"{E}.w1", {f"{E}.w1": ("F8_E4M3", (2, 4, 8)), f"{E}.amax1": ("F32", (2,))}, None
    ),
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
