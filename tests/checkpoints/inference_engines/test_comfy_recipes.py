"""Which tensors the recipes for ComfyUI quantize, by the names that diffusion models give them; folders; faults."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.command_line import fail, run
from support.typed_tensors import Tensors, read_tensors, write_tensors

from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.container import FileRegion, StoredTensor
from lowprec.checkpoints.recipes import find_recipe
from lowprec.spec.formats import BFLOAT16

pytestmark = pytest.mark.usefixtures("working_folder")

BF16 = np.dtype(ml_dtypes.bfloat16)
RECIPES = ("comfy-fp8", "comfy-mxfp8", "comfy-nvfp4")

QUANTIZED = (
    "double_blocks.0.img_attn.qkv", "double_blocks.18.txt_mlp.2", "double_blocks.0.img_mod.lin",  # Flux
    "single_blocks.37.linear1", "single_blocks.0.modulation.lin",
    "model.diffusion_model.joint_blocks.3.x_block.attn.qkv",  # SD3
    "blocks.0.self_attn.q", "blocks.39.cross_attn.k_img", "blocks.0.ffn.0", "vace_blocks.0.ffn.2",  # Wan
    "transformer_blocks.0.attn.to_out.0", "transformer_blocks.59.img_mlp.net.0.proj",
    "transformer_blocks.7.img_mod.1", "transformer_blocks.0.attn2.to_k", "transformer_blocks.27.ff.net.2",
    "transformer_blocks.0.audio_attn1.to_v",  # LTX
    "layers.0.attention.qkv", "layers.29.feed_forward.w1",  # Z-Image
    "model.diffusion_model.input_blocks.4.1.transformer_blocks.0.attn1.to_q",  # SDXL
    "double_blocks.19.img_mlp.fc1", "single_blocks.0.linear2",  # Hunyuan
)  # fmt: skip

KEPT = {
    "not in a numbered block": (
        "proj_out", "head.head", "noise_refiner.0.attention.qkv", "double_stream_modulation_img.lin", "x_embedder",
        "time_projection.1", "text_embedding.2", "caption_projection", "img_in", "time_in.in_layer",
        "final_layer.linear", "final_layer.adaLN_modulation.1", "cap_embedder.1",
    ),
    "a norm": ("transformer_blocks.0.norm1.linear", "blocks.0.self_attn.norm_q"),
    "an embedding": (
        "txt_in.individual_token_refiner.blocks.0.self_attn_qkv", "input_blocks.1.0.emb_layers.1",
        "time_text_embed.blocks.0.linear",
    ),
    "modulation by the time step (adaLN)": (
        "layers.0.adaLN_modulation.0", "joint_blocks.0.context_block.adaLN_modulation.1",
        "blocks.2.adaln_modulation_mlp.1",
    ),
    "a gate": ("transformer_blocks.0.attn1.to_gate_logits", "double_stream_blocks.0.block.ff_i.gate"),
    "conditioning": (
        "distilled_guidance_layer.layers.0.in_layer", "llm_adapter.blocks.0.mlp.0", "nerf_blocks.0.param_generator",
        "video_embeddings_connector.transformer_1d_blocks.0.attn1.to_q", "face_adapter.fuser_blocks.0.linear1_kv",
    ),
    "part of a text encoder or an autoencoder": (
        "text_encoders.t5xxl.transformer.encoder.block.0.layer.0.SelfAttention.q", "vae.decoder.blocks.0.attn.q",
        "conditioner.embedders.0.transformer.text_model.encoder.layers.0.self_attn.q_proj",
        "first_stage_model.decoder.blocks.0.attn.q", "cond_stage_model.model.layers.0.self_attn.q_proj",
    ),
}  # fmt: skip


def why(recipe: str, name: str, shape: tuple[int, ...] = (32, 32)) -> str:
    tensor = StoredTensor(name, shape, BFLOAT16, "BF16", FileRegion(Path("x"), 0, 2 * int(np.prod(shape))))
    found = find_recipe(recipe)
    return found.why_unfit(tensor) or found.why_kept(tensor) or found.problem(tensor)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("module", QUANTIZED)
def test_weights_of_repeated_blocks_are_quantized(recipe: str, module: str) -> None:
    assert why(recipe, f"{module}.weight") == ""
    assert why(recipe, f"{module}.bias").startswith("no .weight of two axes")
    assert why(recipe, f"{module}.weight", (32, 32, 1, 1)).startswith("no .weight of two axes")


@pytest.mark.parametrize(("reason", "module"), [(reason, one) for reason, names in KEPT.items() for one in names])
def test_what_converters_keep_is_kept(reason: str, module: str) -> None:
    assert why("comfy-nvfp4", f"{module}.weight") == reason


@pytest.mark.parametrize(
    ("recipe", "shape", "reason"),
    [
        ("comfy-nvfp4", (40, 32), "its rows are not a multiple of 16"),
        ("comfy-nvfp4", (32, 40), "its rows are not divided into groups of 16"),
        ("comfy-mxfp8", (48, 32), "its rows are not a multiple of 32"),
        ("comfy-mxfp8", (32, 48), "its rows are not divided into groups of 32"),
        ("comfy-fp8", (1, 3), ""),
        ("comfy-fp8", (0, 3), "it is empty"),
    ],
)
def test_shapes_that_comfyui_would_pad_are_kept(recipe: str, shape: tuple[int, int], reason: str) -> None:
    assert why(recipe, "blocks.0.ffn.0.weight", shape) == reason


def model() -> Tensors:
    rng = np.random.default_rng(4)
    return {
        "blocks.0.q.weight": (rng.standard_normal((64, 64)) / 8).astype(BF16),
        "blocks.1.q.weight": (rng.standard_normal((160, 32)) * 9).astype(np.float16),
        "blocks.1.k.weight": np.zeros((32, 32), BF16),
        "head.weight": np.ones((4, 4), BF16),
    }


@pytest.mark.parametrize(("recipe", "least"), [("comfy-fp8", 30), ("comfy-mxfp8", 30), ("comfy-nvfp4", 20)])
def test_there_and_back(recipe: str, least: float, capsys: pytest.CaptureFixture[str]) -> None:
    before = model()
    write_tensors(Path("x.safetensors"), before)
    report = convert("x.safetensors", "y.safetensors", recipe=recipe)
    rates = [one.sqnr_db for one in report.tensors if one.sqnr_db is not None and np.isfinite(one.sqnr_db)]
    assert rates
    assert min(rates) > least
    out = run("convert", "y.safetensors", "z.safetensors", "--to", "float16", "--progress", "none", capsys=capsys)
    assert "remark" not in out
    after = read_tensors(Path("z.safetensors"))
    assert after.keys() == before.keys()
    for name, expected in before.items():
        loss = np.abs(after[name].astype(np.float64) - expected.astype(np.float64)).max()
        assert loss <= np.abs(expected.astype(np.float64)).max() / 6


def test_a_folder_of_files() -> None:
    """Files of a folder need no config.json; what they describe stands in themselves."""
    Path("in").mkdir()
    for number, (name, tensor) in enumerate(model().items()):
        write_tensors(Path("in", f"diffusion-0000{number}.safetensors"), {name: tensor})
    convert("in", "out", recipe="comfy-nvfp4")
    tensors = read_tensors(Path("out"))
    assert {name for name in tensors if name.endswith("comfy_quant")} == {
        f"blocks.{name}.comfy_quant" for name in ("0.q", "1.q", "1.k")
    }
    assert {json.loads(one.tobytes())["format"] for name, one in tensors.items() if "comfy" in name} == {"nvfp4"}
    single = write_tensors(Path("x.safetensors"), model())
    convert(single, "y.safetensors", recipe="comfy-nvfp4")
    whole = read_tensors(Path("y.safetensors"))
    assert whole.keys() == tensors.keys()
    assert all(whole[name].tobytes() == tensors[name].tobytes() for name in whole)
    convert("out", "back", to="bfloat16")
    assert read_tensors(Path("back")).keys() == model().keys()


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_without_a_scale(number: float, capsys: pytest.CaptureFixture[str]) -> None:
    tensors = model()
    tensors["blocks.0.q.weight"][3, 5] = number
    write_tensors(Path("x.safetensors"), tensors)
    for recipe in RECIPES:
        text = fail(
            "convert", "x.safetensors", "y.safetensors", "--recipe", recipe, "--progress", "none", capsys=capsys
        )
        assert text == "x.safetensors: 'blocks.0.q.weight': has a NaN or an infinity, which has no scale"


def test_names_may_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    write_tensors(Path("x.safetensors"), model())
    run("convert", "x.safetensors", "y.safetensors", "--recipe", "comfy-fp8", "--keep", "blocks.1.*", capsys=capsys)
    assert {name for name in read_tensors(Path("y.safetensors")) if "comfy" in name} == {"blocks.0.q.comfy_quant"}
    convert("x.safetensors", "w.safetensors", recipe="comfy-fp8", also="head", keep="re:.*[qk]")
    assert {name for name in read_tensors(Path("w.safetensors")) if "comfy" in name} == {"head.comfy_quant"}
    write_tensors(Path("x.safetensors"), {"head.weight": np.ones((4, 4), BF16)})
    text = fail("convert", "x.safetensors", "z.safetensors", "--recipe", "comfy-fp8", capsys=capsys)
    assert text == (
        "x.safetensors: has no weight that the recipe comfy-fp8 quantizes; 'head.weight', BF16 (4, 4): not in a "
        "numbered block; --also quantizes what is kept for its name"
    )
