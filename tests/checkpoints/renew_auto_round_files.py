"""Write golden/auto_round/ anew: layers of a tiny Llama as auto-round quantizes and exports it, and as it reads them.

Each folder has some tensors of what `AutoRound.quantize_and_save` writes without data to calibrate with, and of
config.json its description of the quantization. digests.json has the first 16 hex digits of the SHA-256 of each weight
in float16, and its shape: as the layers multiply by it that transformers and auto-round make of the whole export or,
where there are none for a CPU, as auto-round's `dequantize_gemm` computes it (AWQ); for llm_compressor, which is in the
layout of compressed-tensors, as transformers and compressed-tensors dequantize it. And the versions of the packages.
From the root of the repository:

    pip install torch==2.13.0 transformers==5.23.0 accelerate==1.15.0 safetensors==0.8.0 datasets==5.2.0 requests
    pip install --no-deps compressed-tensors==0.20.0 loguru==0.7.3 auto-round==0.16.1 py-cpuinfo==9.0.0
    python tests/checkpoints/renew_auto_round_files.py
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from auto_round import AutoRound
from auto_round.export.export_to_awq.utils import dequantize_gemm
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, CompressedTensorsConfig, LlamaConfig, LlamaForCausalLM

GOLDEN = Path(__file__).parent / "golden" / "auto_round"
LAYER = "model.layers.0."
KEPT = (f"{LAYER}self_attn.k_proj.", f"{LAYER}self_attn.o_proj.", f"{LAYER}mlp.down_proj.", "model.norm.")
MIXED = {
    f"{LAYER}mlp.down_proj": {"bits": 8}, f"{LAYER}self_attn.k_proj": {"bits": 16}, "o_proj": {"group_size": 64},
}  # fmt: skip
SETTINGS: dict[str, tuple[str, dict[str, Any]]] = {
    "gptq": ("auto_round", {"bits": 4, "group_size": 32, "sym": True}),
    "gptq_rows": ("auto_round:auto_gptq", {"bits": 4, "group_size": -1, "sym": True}),
    "gptqmodel": ("auto_round:gptqmodel", {"bits": 4, "group_size": 32, "sym": True}),
    "2_bits": ("auto_round", {"bits": 2, "group_size": 32, "sym": False}),
    "3_bits": ("auto_round", {"bits": 3, "group_size": 32, "sym": True}),
    "5_bits": ("auto_round", {"bits": 5, "group_size": 32, "sym": False}),
    "awq": ("auto_round:auto_awq", {"bits": 4, "group_size": 32, "sym": False}),
    "awq_symmetric": ("auto_round:auto_awq", {"bits": 4, "group_size": 32, "sym": True}),
    "llm_compressor_w4a16": ("llm_compressor", {"scheme": "W4A16", "group_size": 32}),
    "llm_compressor_int8": ("llm_compressor", {"scheme": "INT8_W8A8"}),
    "mixed": ("auto_round", {"bits": 4, "group_size": 32, "sym": True, "layer_config": MIXED}),
}
PACKAGES = ("auto-round", "compressed-tensors", "transformers", "torch")


class NoTokenizer:
    """What auto-round saves with a model."""

    pad_token = None

    def save_pretrained(self, *args: Any, **options: Any) -> None:
        """Write nothing."""


def llama() -> LlamaForCausalLM:
    """Return a model with a row of zeros, zeros of both signs and an outlier in each layer."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32, hidden_size=64, intermediate_size=96, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=32, tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).half()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight[3] = 0
                weight[5, ::3] = -0.0
                weight[7, 4] = 30
    return model


def export(name: str, folder: Path) -> Path:
    form, options = SETTINGS[name]
    quantizer = AutoRound(llama(), tokenizer=NoTokenizer(), iters=0, disable_opt_rtn=True, **options)
    quantizer.quantize_and_save(str(folder), format=form)
    return next(folder.rglob("config.json")).parent


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return what the layers of a loaded model multiply their inputs by, outputs as rows."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16, device_map="cpu")
    result = {}
    for name, layer in model.named_modules():
        if hasattr(layer, "qweight"):
            with patch("torch.matmul", lambda x, weight: weight):
                weight = layer(torch.zeros(layer.infeatures, layer.infeatures, dtype=torch.float16))
            result[f"{name}.weight"] = weight.reshape(layer.infeatures, -1).T.contiguous()
    return result


def dequantized_weights(folder: Path) -> dict[str, torch.Tensor]:
    """Return the weights of compressed-tensors' linear layers."""
    config = CompressedTensorsConfig(run_compressed=False)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float16, quantization_config=config)
    return {name: one.detach().contiguous() for name, one in model.named_parameters() if name.endswith("_proj.weight")}


def awq_weights(tensors: dict[str, torch.Tensor], size: int) -> dict[str, torch.Tensor]:
    """Return the weights of AWQ's tensors, outputs as rows."""
    modules = [name.removesuffix(".qweight") for name in tensors if name.endswith(".qweight")]
    parts = {one: [tensors[f"{one}.{part}"] for part in ("qweight", "qzeros", "scales")] for one in modules}
    return {f"{one}.weight": dequantize_gemm(*part, 4, size).T.contiguous() for one, part in parts.items()}


def main() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    said: dict[str, Any] = {"versions": {one: importlib.metadata.version(one) for one in PACKAGES}}
    for name in SETTINGS:
        with tempfile.TemporaryDirectory() as temporary:
            source = export(name, Path(temporary))
            tensors = load_file(source / "model.safetensors")
            values = awq_weights(tensors, 32) if name.startswith("awq") else weights(source)
            values = values or dequantized_weights(source)
            expected = {one: weight for one, weight in values.items() if one.startswith(KEPT)}
            entry = json.loads((source / "config.json").read_text())["quantization_config"]
        (GOLDEN / name).mkdir(parents=True)
        kept = {one: tensor for one, tensor in tensors.items() if one.startswith(KEPT)}
        save_file(kept, GOLDEN / name / "model.safetensors")
        config = {"model_type": "llama", "torch_dtype": "float16", "quantization_config": entry}
        (GOLDEN / name / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        said[name] = {
            one: [hashlib.sha256(weight.numpy().tobytes()).hexdigest()[:16], list(weight.shape)]
            for one, weight in sorted(expected.items())
        }
    (GOLDEN / "digests.json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main()
