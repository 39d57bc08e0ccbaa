"""Write golden/comfy anew: a tiny diffusion model as comfy-kitchen quantizes it, and its dequantization.

source.safetensors is the model; RECIPE.safetensors holds what `QuantizedTensor.state_dict` and ComfyUI's description
make of the weights in its blocks; padded.safetensors, weights of other shapes and formats. digests.json has the
first 16 hex digits of the SHA-256 of each weight's values in float32, as comfy-kitchen's eager back end dequantizes
them, cut to the rows that the model has, and the versions of the packages. Run it from the root of the repository in an
environment of its own:

    pip install comfy-kitchen==0.2.40 torch==2.13.0 safetensors
    python tests/checkpoints/renew_comfy_golden_files.py
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import comfy_kitchen
import numpy as np
import torch
from comfy_kitchen.tensor import (
    QuantizedTensor,
    TensorCoreFP8Layout,
    TensorCoreMXFP8Layout,
    TensorCoreNVFP4Layout,
    TensorWiseINT8Layout,
)
from safetensors.torch import save_file

GOLDEN = Path(__file__).parent / "golden" / "comfy"
FORMATS = {
    "comfy-fp8": ("float8_e4m3fn", TensorCoreFP8Layout),
    "comfy-mxfp8": ("mxfp8", TensorCoreMXFP8Layout),
    "comfy-nvfp4": ("nvfp4", TensorCoreNVFP4Layout),
}
P = "model.diffusion_model."
BLOCKS = {
    "double_blocks.0.img_attn.qkv": ((160, 96), torch.bfloat16),
    "double_blocks.0.img_mod.lin": ((32, 352), torch.float16),
    "single_blocks.1.linear1": ((32, 64), torch.float32),
}
ODD = "single_blocks.1.linear2"
"""A weight whose shape fits no blocks; a scale to a tensor fits it."""

Tensors = dict[str, torch.Tensor]


def weight(shape: tuple[int, int], dtype: torch.dtype, seed: int) -> torch.Tensor:
    """Return normal numbers with rows and blocks of zeros, −0, tiny rows, outliers, ties and very different powers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 0.04
    x[1], x[2, :32], x[3, 16:32], x[4, ::7], x[5, 32:64] = 0, 0, 0, -0.0, -0.0
    x[6] *= 1e-4
    x[7, 5], x[8, 40] = 1.5, -1.25
    x[9:17] = rng.integers(-64, 65, (8, shape[1])) / 128
    x[17] *= np.exp2(rng.integers(-12, 4, shape[1]))
    x[18, :16] = [448, 447, 224, 225, 3.5, 2.5, 1.75, 1.25, 0.75, 0.25, -0.25, -0.75, 5, -5, 6, -448]
    return torch.from_numpy(x / 100).to(dtype)


def source() -> Tensors:
    tensors = {f"{P}{name}.weight": weight(*kind, seed) for seed, (name, kind) in enumerate(BLOCKS.items())}
    ones = torch.ones
    return {
        **tensors,
        f"{P}img_in.weight": weight((32, 64), torch.bfloat16, 9),
        f"{P}double_blocks.0.img_attn.norm.query_norm.scale": ones(32, dtype=torch.bfloat16),
        f"{P}double_blocks.0.img_attn.qkv.bias": ones(160, dtype=torch.bfloat16),
        f"{P}final_layer.adaLN_modulation.1.weight": ones(32, 32, dtype=torch.bfloat16),
        f"{P}{ODD}.weight": weight((24, 72), torch.bfloat16, 8),
        "text_encoders.t5.transformer.blocks.0.layer.q.weight": ones(32, 32, dtype=torch.bfloat16),
        "vae.decoder.up_blocks.0.attn.q.weight": ones(32, 32, 1, 1, dtype=torch.float32),
    }


def quantized(module: str, name: str, layout: Any, x: torch.Tensor, **options: Any) -> tuple[Tensors, torch.Tensor]:
    """Return the tensors of a weight as ComfyUI stores them, and its values in float32."""
    qdata, params = layout.quantize(x, **options)
    tensors = {f"{module}weight{end}": one for end, one in layout.state_dict_tensors(qdata, params).items()}
    for key, one in tensors.items():
        tensors[key] = (one.view(torch.uint8) if one.dtype == torch.float8_e8m0fnu else one).contiguous()
    tensors[f"{module}comfy_quant"] = torch.tensor(list(json.dumps({"format": name}).encode()), dtype=torch.uint8)
    wide = type(params)(**{**vars(params), "orig_dtype": torch.float32})
    return tensors, QuantizedTensor(qdata, layout.__name__, wide).dequantize()


def others() -> tuple[Tensors, Tensors]:
    """Return weights of other shapes and formats, and their values; with a bias it is known how many rows there are."""
    tensors: Tensors = {"blocks.0.a.bias": torch.ones(40, dtype=torch.bfloat16)}
    values: Tensors = {}
    x = weight((40, 96), torch.bfloat16, 20)
    cases = [
        ("blocks.0.a.", "nvfp4", TensorCoreNVFP4Layout, {}),
        ("blocks.0.b.", "mxfp8", TensorCoreMXFP8Layout, {}),
        ("blocks.0.c.", "float8_e5m2", TensorCoreFP8Layout, {"dtype": torch.float8_e5m2}),
        ("blocks.0.d.", "int8_tensorwise", TensorWiseINT8Layout, {}),
        ("blocks.0.e.", "int8_tensorwise", TensorWiseINT8Layout, {"per_channel": True}),
    ]
    for module, name, layout, options in cases:
        made, values[f"{module}weight"] = quantized(module, name, layout, x, **options)
        tensors |= made
    padded = torch.zeros(64, 96)
    padded[:40] = values["blocks.0.b.weight"]
    return tensors, {**values, "blocks.0.b.weight": padded}


def save(tensors: Tensors, name: str) -> None:
    save_file(tensors, GOLDEN / name)
    (GOLDEN / name).chmod(0o644)


def digest(values: torch.Tensor) -> str:
    return hashlib.sha256(values.contiguous().numpy().tobytes()).hexdigest()[:16]


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    tensors = source()
    save(tensors, "source.safetensors")
    packages = ("comfy-kitchen", "torch")
    digests: dict[str, Any] = {"versions": {name: importlib.metadata.version(name) for name in packages}}
    with comfy_kitchen.registry.use_backend("eager"):
        for recipe, (name, layout) in FORMATS.items():
            result, digests[recipe] = dict(tensors), {}
            for module in (f"{P}{block}." for block in (*BLOCKS, *[ODD] * (recipe == "comfy-fp8"))):
                made, values = quantized(module, name, layout, tensors[f"{module}weight"])
                result |= made
                digests[recipe][f"{module}weight"] = digest(values)
            save(result, f"{recipe}.safetensors")
        result, plain = others()
    save(result, "padded.safetensors")
    digests["padded"] = {name: digest(one) for name, one in plain.items()}
    (GOLDEN / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    main()
