"""Write golden/modelopt/ anew: a tiny Llama as ModelOpt quantizes and exports it, and what hard weights become.

golden/modelopt/NVFP4, FP8 and FP8_ROWS are what `export_hf_checkpoint` writes with `W4A16_NVFP4_CFG`, `FP8_DEFAULT_CFG`
and `FP8_PER_CHANNEL_PER_TOKEN_CFG`, without data to calibrate with; of config.json its description of the quantization.
edges.safetensors has small weights of each type (`T.x`), and what `NVFP4QTensor.quantize` (`T.nvfp4.*`) and the export
of FP8 (`T.fp8.*`, `T.rows.*`) make of them. digests.json has the first 16 hex digits of the SHA-256 of each weight in
NVFP4 once ModelOpt has made it bfloat16, and the versions of the packages. (ModelOpt multiplies FP8 by scales that it
rounds to bfloat16 first, as no engine does.) "relabelled" has those of the golden files in the other layout, as
`convert` stores them and compressed-tensors or ModelOpt dequantizes them; the script stops where
`ModelOptNvfp4Converter` has other tensors than `convert`. From the root of the repository:

    pip install . torch==2.13.0 transformers==5.23.0 accelerate==1.15.0 safetensors==0.8.0 compressed-tensors==0.20.0
    pip install --no-deps nvidia-modelopt==0.47.0 omegaconf==2.4.0 antlr4-python3-runtime==4.9.3 pulp==3.3.2
    pip install --no-deps scipy==1.17.1
    python tests/checkpoints/renew_modelopt_files.py
"""

from __future__ import annotations

import copy
import hashlib
import importlib.metadata
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from compressed_tensors.entrypoints.convert.converters.ct_dequantizer import CompressedTensorsDequantizer
from compressed_tensors.entrypoints.convert.converters.modelopt_nvfp4 import ModelOptNvfp4Converter
from modelopt.torch import quantization as mtq
from modelopt.torch.export import export_hf_checkpoint
from modelopt.torch.export.quant_utils import get_weight_scaling_factor, to_quantized_weight
from modelopt.torch.quantization.qtensor import NVFP4QTensor
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from lowprec.checkpoints import convert

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from support.tiny_models import llama, llama_config, write_folder  # noqa: E402

GOLDEN = HERE / "golden" / "modelopt"
CONFIGURATIONS = {"NVFP4": "W4A16_NVFP4_CFG", "FP8": "FP8_DEFAULT_CFG", "FP8_ROWS": "FP8_PER_CHANNEL_PER_TOKEN_CFG"}
PACKAGES = ("nvidia-modelopt", "compressed-tensors", "transformers", "torch")
TYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
Tensors = dict[str, torch.Tensor]


def digest(values: torch.Tensor) -> str:
    content = values.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def export(source: Path, name: str, folder: Path) -> None:
    """Quantize the model in `source` with a configuration, and write what ModelOpt exports."""
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
    mtq.quantize(model, copy.deepcopy(getattr(mtq, CONFIGURATIONS[name])), forward_loop=None)
    with tempfile.TemporaryDirectory() as temporary:
        export_hf_checkpoint(model, dtype=torch.bfloat16, export_dir=temporary)
        folder.mkdir()
        for file in ("model.safetensors", "hf_quant_config.json"):
            shutil.copyfile(Path(temporary, file), folder / file)
        entry = json.loads(Path(temporary, "config.json").read_text())["quantization_config"]
    config = {**llama_config(), "quantization_config": entry}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def tensors_of(folder: Path) -> Tensors:
    tensors: Tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
    return tensors


def dequantized(folder: Path) -> dict[str, str]:
    """Return the digests of the weights in NVFP4 of a folder as ModelOpt dequantizes them."""
    tensors, digests = tensors_of(folder), {}
    for name, codes in sorted(tensors.items()):
        scale, second = tensors.get(f"{name}_scale"), tensors.get(f"{name}_scale_2")
        if scale is not None and second is not None:
            stored = NVFP4QTensor(torch.Size((codes.shape[0], 2 * codes.shape[1])), torch.bfloat16, codes)
            values = stored.dequantize(torch.bfloat16, scale=scale, double_scale=second, block_sizes={-1: 16})
            digests[name] = digest(values)
    return digests


def edges(dtype: torch.dtype) -> torch.Tensor:
    """Return a weight of one row to each difficulty; no row of it is all of one kind."""
    x = torch.randn(12, 64, generator=torch.Generator().manual_seed(3)) * 0.05
    x[1] = 0
    x[2, :16] = 0
    x[3, ::3] = -0.0
    x[4] *= 2.0**-20
    x[5] *= 1000
    x[6, 5] = 30000
    x[7, 16:32] = 0
    x[7, 20] = -(2.0**-24)
    x[8] = torch.tensor([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5, 6]).repeat(8) * 2  # halfway between FP4 codes
    x[9] = -x[8]
    if dtype != torch.float16:
        x[10] *= 2.0**-126
        x[11, :8] = 2.0**100  # so large that others, divided by its scale, are 0
        x[11, 8:16] = -(2.0**-60)
    return x.to(dtype)


def edge_tensors() -> Tensors:
    """Return hard weights, and what ModelOpt makes of them."""
    found: Tensors = {}
    for name, dtype in TYPES.items():
        whole = edges(dtype)
        for part, x in {f"{name}.0": whole[:10], f"{name}.1": whole}.items():
            found[f"{part}.x"] = x.clone()
            stored, scale, second = NVFP4QTensor.quantize(x.clone(), 16)
            found |= {f"{part}.nvfp4.codes": stored._quantized_data, f"{part}.nvfp4.scales": scale}
            found[f"{part}.nvfp4.second"] = second
            scale = x.abs().max().float() / 448.0
            found[f"{part}.fp8.scale"] = scale
            found[f"{part}.fp8.codes"] = to_quantized_weight(x, scale, "fp8")
            found |= rows_of(part, x)
    return {key: one.contiguous() for key, one in found.items()}


def rows_of(part: str, x: torch.Tensor) -> Tensors:
    """Return what a layer with the weight `x` is exported as, with a scale to a row."""
    layer = torch.nn.Linear(x.shape[1], x.shape[0], bias=False, dtype=x.dtype)
    with torch.no_grad():
        layer.weight.copy_(x)
    model = torch.nn.Sequential(layer)
    mtq.quantize(model, copy.deepcopy(mtq.FP8_PER_CHANNEL_PER_TOKEN_CFG), forward_loop=None)
    scale = get_weight_scaling_factor(model[0])
    return {f"{part}.rows.scales": scale, f"{part}.rows.codes": to_quantized_weight(x, scale, "fp8_pc_pt")}


def relabelled(folder: Path) -> dict[str, Any]:
    """Store golden files in the other layout, in a folder; return digests of the weights that the peers read there."""
    convert(HERE / "golden" / "NVFP4A16", folder / "modelopt", layout="modelopt")
    found: dict[str, Any] = {"modelopt": dequantized(folder / "modelopt")}
    for name in ("NVFP4", "FP8"):
        target = folder / name
        convert(GOLDEN / name, target, layout="compressed-tensors")
        made = CompressedTensorsDequantizer(str(target)).process(tensors_of(target))
        found[name] = {key: digest(one.bfloat16()) for key, one in sorted(made.items()) if key.endswith("_proj.weight")}
    ours, theirs = tensors_of(folder / "NVFP4"), tensors_of(GOLDEN / "NVFP4")
    theirs = ModelOptNvfp4Converter(targets=["re:.*_proj$"]).process(theirs)
    if {name: digest(one) for name, one in ours.items()} != {name: digest(one) for name, one in theirs.items()}:
        raise ValueError("ModelOptNvfp4Converter has other tensors than convert")
    return found


def main() -> None:
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir(parents=True)
    digests: dict[str, Any] = {"versions": {name: importlib.metadata.version(name) for name in PACKAGES}}
    with tempfile.TemporaryDirectory() as temporary:
        source = write_folder(Path(temporary, "llama"), llama(), llama_config())
        for name in CONFIGURATIONS:
            export(source, name, GOLDEN / name)
        digests["NVFP4"] = dequantized(GOLDEN / "NVFP4")
        digests["relabelled"] = relabelled(Path(temporary))
    save_file(edge_tensors(), GOLDEN / "edges.safetensors")
    (GOLDEN / "edges.safetensors").chmod(0o644)
    (GOLDEN / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    main()
