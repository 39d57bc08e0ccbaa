"""Write golden/ anew: a tiny Llama as llm-compressor quantizes it, and what compressed-tensors dequantizes it to.

For each preset golden/PRESET is the folder that llm-compressor writes; golden/digests.json has the first 16 hex digits
of the SHA-256 of each tensor's bytes once `CompressedTensorsDequantizer` has made it bfloat16, those of the
model before it was quantized, and the versions of the packages. golden/experts.json has types, shapes and digests of
what llm-compressor makes of a mixture of experts, all of them in one tensor, and golden/tied.json of a model whose head
is the embedding, and which modules it ignores in that model once transformers has loaded it. The pins of the packages
exclude others, so run it in an environment of its own, from the root of the repository; with "llama", "experts" or
"tied" for these alone:

    pip install llmcompressor==0.14.0.1 compressed-tensors==0.19.0 torch==2.13.0 ml_dtypes==0.6.0
    python tests/checkpoints/renew_golden_files.py
"""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from support.golden import digest, digests_of  # noqa: E402
from support.tiny_models import experts, experts_config, llama, llama_config, tied_llama, write_folder  # noqa: E402

GOLDEN = HERE / "golden"
PRESETS = ("FP8_DYNAMIC", "FP8_BLOCK", "W8A8", "W4A16", "MXFP4A16", "MXFP8A16", "NVFP4A16")
IGNORED = ["lm_head", "model.embed_tokens"]
ROUTERS = "re:.*gate$"
"""How llm-compressor's examples ignore the layers that choose among experts."""
PRESETS_OF_TIED = ("FP8_DYNAMIC", "NVFP4A16")
PACKAGES = ("llmcompressor", "compressed-tensors", "torch")


def dequantized(folder: Path) -> dict[str, str]:
    """Return the digests of what compressed-tensors makes of a folder in bfloat16."""
    import torch
    from compressed_tensors.entrypoints.convert.converters.ct_dequantizer import CompressedTensorsDequantizer
    from safetensors.torch import load_file

    tensors: dict[str, Any] = {}
    for file in sorted(folder.glob("*.safetensors")):
        tensors.update(load_file(file))
    digests = {}
    for name, values in sorted(CompressedTensorsDequantizer(str(folder)).process(tensors).items()):
        if values.dtype != torch.bfloat16:
            raise TypeError(f"{name} is {values.dtype}")
        digests[name] = digest(values.contiguous().view(torch.uint8).numpy().tobytes())
    return digests


def versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in PACKAGES}


def model_free(
    tensors: dict[str, Any], config: dict[str, Any], presets: tuple[str, ...], ignored: list[str]
) -> dict[str, Any]:
    """Return what llm-compressor makes of the files of a model: its configuration, and digests."""
    from llmcompressor import model_free_ptq

    source = {name: digest(values.tobytes()) for name, values in sorted(tensors.items())}
    golden: dict[str, Any] = {"versions": versions(), "source": source}
    with tempfile.TemporaryDirectory() as temporary:
        folder = write_folder(Path(temporary, "source"), tensors, config)
        for preset in presets:
            target = Path(temporary, preset)
            model_free_ptq(str(folder), str(target), scheme=preset, ignore=ignored, device="cpu")
            written = json.loads((target / "config.json").read_text(encoding="utf-8"))
            golden[preset] = {"quantization_config": written["quantization_config"], "tensors": digests_of(target)}
    return golden


def renew_experts() -> None:
    """Quantize a mixture of experts, all of which are in one tensor."""
    golden = model_free(experts(), experts_config(), PRESETS, [*IGNORED, ROUTERS])
    (GOLDEN / "experts.json").write_text(json.dumps(golden, indent=1) + "\n")


def renew_tied() -> None:
    """Quantize a model whose head is the embedding: its files, and the model that transformers makes of them."""
    from llmcompressor import oneshot
    from llmcompressor.modifiers.quantization import QuantizationModifier
    from transformers import AutoModelForCausalLM

    tensors, config = tied_llama()
    golden = model_free(tensors, config, PRESETS_OF_TIED, IGNORED)
    golden["ignored"] = {}
    for preset in PRESETS_OF_TIED:
        with tempfile.TemporaryDirectory() as temporary:
            folder = write_folder(Path(temporary, "source"), tensors, config)
            model = AutoModelForCausalLM.from_pretrained(folder)
            oneshot(model=model, recipe=QuantizationModifier(targets="Linear", scheme=preset, ignore=["lm_head"]))
            model.save_pretrained(Path(temporary, preset), save_compressed=True)
            written = json.loads(Path(temporary, preset, "config.json").read_text(encoding="utf-8"))
            golden["ignored"][preset] = written["quantization_config"]["ignore"]
    (GOLDEN / "tied.json").write_text(json.dumps(golden, indent=1) + "\n")


def renew_llama() -> None:
    """Quantize with every preset, and write the files."""
    from llmcompressor import model_free_ptq

    tensors = llama()
    digests: dict[str, Any] = {
        "versions": versions(),
        "source": {name: digest(values.tobytes()) for name, values in sorted(tensors.items())},
    }
    for preset in PRESETS:
        shutil.rmtree(GOLDEN / preset, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        source = write_folder(Path(temporary, "llama"), tensors, llama_config())
        for preset in PRESETS:
            target = GOLDEN / preset
            model_free_ptq(str(source), str(target), scheme=preset, ignore=IGNORED, device="cpu")
            digests[preset] = dequantized(target)
            for file in target.iterdir():
                file.chmod(0o644)
    (GOLDEN / "digests.json").write_text(json.dumps(digests, indent=1) + "\n")


if __name__ == "__main__":
    chosen = sys.argv[1:] or ["llama", "experts", "tied"]
    for name in chosen:
        {"llama": renew_llama, "experts": renew_experts, "tied": renew_tied}[name]()
