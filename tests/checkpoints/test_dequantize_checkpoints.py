"""Quantized checkpoints become plain ones: codes times scales, to the bit, with names, shapes and descriptions."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import everything
from support.command_line import run
from support.typed_tensors import (
    BF16,
    E8M0,
    F8,
    FP4,
    TARGETS,
    Array,
    Tensors,
    in_blocks,
    nibbles,
    random_codes,
    random_scales,
    read_tensors,
    rounded,
    words,
    write_model,
    write_tensors,
)

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

W = "model.layers.0.mlp.up_proj.weight"
E = "model.layers.0.mlp.experts."
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}


def check(expected: dict[str, Array], tensors: Tensors, config: Any, to: str = "bfloat16") -> None:
    """Convert a model of two shards, and open it; compare names, shapes, bytes."""
    names = list(tensors)
    shards = {"a.safetensors": {n: tensors[n] for n in names[:1]}, "b.safetensors": {n: tensors[n] for n in names[1:]}}
    source = write_model(Path("in"), shards, {"quantization_config": config, "torch_dtype": "float32"})
    before = everything(source)
    convert(source, "out", to=to, verify=True)
    assert everything(source) == before
    result = read_tensors(Path("out"))
    assert result.keys() == expected.keys()
    with lp.checkpoints.open(source) as checkpoint:
        assert checkpoint.keys() == expected.keys()
        for name, x in expected.items():
            assert checkpoint.read(name, to=to).tobytes() == rounded(x, to)
            rows = slice(len(x) // 3, len(x) // 3 + 2)
            assert checkpoint.read(name, to=to, rows=rows).tobytes() == rounded(np.ascontiguousarray(x[rows]), to)
    for name, x in expected.items():
        assert (result[name].shape, result[name].dtype) == (x.shape, TARGETS[to])
        assert result[name].tobytes() == rounded(x, to)
    index = json.loads(Path("out/model.safetensors.index.json").read_text())
    assert index["weight_map"].keys() == expected.keys()
    assert index["metadata"] == {"total_size": sum(one.nbytes for one in result.values())}
    assert json.loads(Path("out/config.json").read_text()) == {"torch_dtype": to}


# --- FP8 ---


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16, E8M0], ids=str)
@pytest.mark.parametrize("ending", ["_scale_inv", ".scale"])
def test_blocks_of_deepseek(to: str, dtype: Any, ending: str) -> None:
    codes, scales = random_codes((130, 200)), random_scales((2, 2), dtype)
    name = W + "_scale_inv" if ending == "_scale_inv" else W.removesuffix("weight") + "scale"
    expected = codes.astype(np.float32) * in_blocks(scales, codes.shape)
    check({W: expected}, {W: codes, name: scales}, FP8, to)


@pytest.mark.parametrize("shape", [(1, 1), (128, 128), (127, 129), (256, 384), (300, 64), (5, 513)])
def test_shapes_of_blocks(shape: tuple[int, int]) -> None:
    codes = random_codes(shape)
    scales = random_scales((-(-shape[0] // 128), -(-shape[1] // 128)))
    expected = codes.astype(np.float32) * in_blocks(scales, shape)
    check({W: expected}, {W: codes, W + "_scale_inv": scales}, FP8)


def test_scales_of_as_many_blocks_as_rows() -> None:
    """[1, 5] for a weight of five rows are blocks and no scales of rows, although no configuration says so."""
    codes, scales = random_codes((5, 513)), random_scales((1, 5))
    write_tensors(Path("x.safetensors"), {W: codes, W + "_scale_inv": scales})
    convert("x.safetensors", "y.safetensors", to="bfloat16")
    expected = codes.astype(np.float32) * in_blocks(scales, codes.shape)
    assert read_tensors(Path("y.safetensors"))[W].tobytes() == rounded(expected, "bfloat16")


@pytest.mark.parametrize("shape", [(3,), (3, 1), (3, 1, 1), (3, 4), (3, 4, 1)])
def test_scales_of_experts_and_their_rows(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowprec.checkpoints.checkpoint.CHUNK", 16)
    codes, scales = random_codes((3, 4, 8)), random_scales(shape)
    expected = codes.astype(np.float32) * scales.reshape((*shape, 1, 1)[:3])
    check({E + "w": expected}, {E + "w": codes, E + "w_scale": scales}, {"quant_method": "fp8"})


def test_blocks_of_another_size() -> None:
    codes, scales = random_codes((100, 96)), random_scales((4, 2))
    expected = codes.astype(np.float32) * in_blocks(scales, codes.shape, 32, 64)
    check({W: expected}, {W: codes, W + "_scale_inv": scales}, {**FP8, "weight_block_size": [32, 64]})


@pytest.mark.parametrize("shape", [(), (1,)])
def test_one_scale(shape: tuple[int, ...]) -> None:
    codes, scales = random_codes((6, 40)), random_scales(shape)
    config = {"quant_method": "fp8", "activation_scheme": "static"}
    tensors = {W: codes, W + "_scale": scales, W.removesuffix("weight") + "input_scale": np.ones((), np.float32)}
    check({W: codes.astype(np.float32) * scales.reshape(())}, tensors, config)


@pytest.mark.parametrize("ending", ["_scale_inv", "_scales_inv"])
def test_fused_experts(ending: str) -> None:
    codes, scales = random_codes((3, 140, 260)), random_scales((3, 2, 3))
    name = E + "gate_up_proj"
    expected = codes.astype(np.float32) * in_blocks(scales, codes.shape)
    check({name: expected}, {name: codes, name + ending: scales}, FP8)


@pytest.mark.parametrize("rows", [1, 7])
def test_fp4_of_deepseek_v4(rows: int) -> None:
    codes = np.random.default_rng(2).integers(0, 16, (rows, 160))
    scales = random_scales((rows, 5), E8M0)
    name = "layers.0.ffn.experts.0.w1."
    tensors = {name + "weight": nibbles(codes).view(np.int8), name + "scale": scales}
    expected = FP4[codes] * np.repeat(scales.astype(np.float32), 32, 1)
    check({name + "weight": expected}, tensors, FP8)


def test_the_older_files_of_comfyui() -> None:
    codes, scale = random_codes((20, 30)), np.float32(0.037)
    p = "model.diffusion_model."
    tensors = {
        p + "a.weight": codes, p + "a.scale_weight": np.array(scale), p + "a.scale_input": np.array(1, np.float32),
        p + "scaled_fp8": np.zeros(2, F8), p + "a.bias": np.ones(3, np.float16),
    }  # fmt: skip
    write_tensors(Path("x.safetensors"), tensors)
    convert("x.safetensors", "y.safetensors", to="bfloat16")
    result = read_tensors(Path("y.safetensors"))
    assert result.keys() == {p + "a.weight", p + "a.bias"}
    assert result[p + "a.weight"].tobytes() == rounded(codes.astype(np.float32) * scale, "bfloat16")


# --- gpt-oss ---


@pytest.mark.parametrize("to", TARGETS)
def test_gpt_oss(to: str) -> None:
    """Hugging Face's names: the last two axes are exchanged. OpenAI's: they are not."""
    codes = np.random.default_rng(3).integers(0, 16, (3, 10, 96))
    scales = np.random.default_rng(4).integers(110, 140, (3, 10, 3), np.uint8)
    blocks = nibbles(codes).reshape(3, 10, 3, 16)
    expected = FP4[codes] * np.repeat(np.exp2(scales.astype(np.float32) - 127), 32, 2)
    tensors = {
        E + "gate_up_proj_blocks": blocks, E + "gate_up_proj_scales": scales,
        "block.0.mlp.mlp1_weight.blocks": blocks, "block.0.mlp.mlp1_weight.scales": scales,
    }  # fmt: skip
    result = {E + "gate_up_proj": expected.transpose(0, 2, 1), "block.0.mlp.mlp1_weight": expected}
    check(result, tensors, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}, to)


# --- ModelOpt ---


def test_modelopt() -> None:
    codes, scale = random_codes((9, 48)), np.array(0.0123, np.float32)
    fp4 = np.random.default_rng(5).integers(0, 16, (9, 48))
    local, second = random_scales((9, 3), np.float32).astype(F8), np.array(0.00321, np.float32)
    tensors = {
        "a.weight": codes, "a.weight_scale": scale, "a.input_scale": scale,
        "b.weight": nibbles(fp4), "b.weight_scale": local, "b.weight_scale_2": second, "b.input_scale": scale,
    }  # fmt: skip
    expected = {
        "a.weight": codes.astype(np.float32) * scale,
        "b.weight": FP4[fp4] * np.repeat(local.astype(np.float32) * second, 16, 1),
    }
    check(expected, tensors, {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})


@pytest.mark.parametrize("shape", [(256, 384), (128, 128)])
def test_blocks_of_modelopt(shape: tuple[int, int]) -> None:
    """FP8_PB_WO: a factor to 128 x 128, with an axis of 1 after each of its axes, as vLLM takes it."""
    codes, scales = random_codes(shape), random_scales((shape[0] // 128, 1, shape[1] // 128, 1))
    expected = codes.astype(np.float32) * in_blocks(scales[:, 0, :, 0], shape)
    config, tensors = {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"}, {W: codes, W + "_scale": scales}
    check({W: expected}, tensors, config)
    write_model(Path("blocks"), {"a.safetensors": tensors}, {"quantization_config": config})
    convert("blocks", "doubled", recipe="fnuz")
    doubled = read_tensors(Path("doubled"))[W + "_scale"]
    assert (doubled.shape, doubled.tobytes()) == (scales.shape, (2 * scales).tobytes())


def test_blocks_of_modelopt_that_do_not_fit() -> None:
    tensors = {W: random_codes((256, 384)), W + "_scale": random_scales((3, 1, 2, 1))}
    config = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"}}
    write_model(Path("in"), {"a.safetensors": tensors}, config)
    with pytest.raises(
        FileError, match=r"has the shape \[3, 2\], which fits no weight of shape \[256, 384\] in blocks"
    ):
        convert("in", "out", to="bfloat16")


def test_hf_quant_config_is_left_out() -> None:
    codes, scale = random_codes((9, 48)), np.array(0.5, np.float32)
    write_model(Path("in"), {"a.safetensors": {W: codes, W + "_scale": scale}}, {"dtype": "float16"})
    Path("in/hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    convert("in", "out", to="bfloat16")
    assert not Path("out/hf_quant_config.json").exists()
    assert Path("out/config.json").read_text() == '{"dtype": "bfloat16"}'
    assert read_tensors(Path("out"))[W].tobytes() == rounded(codes.astype(np.float32) * scale, "bfloat16")


# --- compressed-tensors ---


def ct(bits: int = 4, **weights: Any) -> dict[str, Any]:
    groups = {"group_0": {"targets": ["Linear"], "weights": {"num_bits": bits, **weights}}}
    return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}


@pytest.mark.parametrize("dtype", [np.dtype(np.float32), BF16], ids=str)
@pytest.mark.parametrize("kind", ["fp8", "int8"])
def test_channels(kind: str, dtype: Any) -> None:
    integers = np.random.default_rng(6).integers(-128, 128, (12, 20)).astype(np.int8)
    codes, scales = random_codes((12, 20)) if kind == "fp8" else integers, random_scales((12, 1), dtype)
    tensors = {W: codes, W + "_scale": scales}
    check({W: codes.astype(np.float32) * scales.astype(np.float32)}, tensors, ct(8, strategy="channel"))


def test_blocks_of_compressed_tensors() -> None:
    codes, scales = random_codes((130, 200)), random_scales((2, 2), BF16)
    expected = codes.astype(np.float32) * in_blocks(scales, codes.shape)
    check({W: expected}, {W: codes, W + "_scale": scales}, ct(8, strategy="block", block_structure=[128, 128]))


@pytest.mark.parametrize("bits", range(2, 9))
@pytest.mark.parametrize(
    ("shape", "group", "asymmetric", "ordered"),
    [((6, 64), 32, False, False), ((6, 64), 32, True, False), ((5, 64), 16, True, True), ((9, 37), 37, True, False),
     ((3, 40), 8, False, True), ((4, 33), 33, False, False)],
)  # fmt: skip
def test_words(bits: int, shape: tuple[int, int], group: int, asymmetric: bool, ordered: bool) -> None:
    rng = np.random.default_rng(bits)
    codes, half = rng.integers(0, 1 << bits, shape), 1 << (bits - 1)
    scales = random_scales((shape[0], shape[1] // group), BF16)
    columns = rng.permutation(np.arange(shape[1]) // group) if ordered else np.arange(shape[1]) // group
    zeros = rng.integers(0, 1 << bits, scales.shape) if asymmetric else np.full(scales.shape, half)
    tensors = {
        W + "_packed": words(codes, bits), W + "_shape": np.array(shape), W + "_scale": scales,
    }  # fmt: skip
    if asymmetric:
        tensors[W + "_zero_point"] = np.ascontiguousarray(words(zeros.T, bits).T)
    if ordered:
        tensors[W + "_g_idx"] = columns.astype(np.int32)
    expected = (codes - zeros[:, columns]).astype(np.float32) * scales.astype(np.float32)[:, columns]
    check({W: expected}, tensors, ct(bits, strategy="group", group_size=group))


def test_zero_points_of_bytes() -> None:
    rng = np.random.default_rng(7)
    codes, zeros = rng.integers(-128, 128, (6, 20)).astype(np.int8), rng.integers(-128, 128, (6, 1)).astype(np.int8)
    scales = random_scales((6, 1), BF16)
    expected = (codes.astype(np.int32) - zeros).astype(np.float32) * scales.astype(np.float32)
    check({W: expected}, {W: codes, W + "_scale": scales, W + "_zero_point": zeros}, ct(8, symmetric=False))


def test_fp4_of_compressed_tensors() -> None:
    codes = np.random.default_rng(8).integers(0, 16, (2, 7, 64))
    local, second = random_scales((7, 4)).astype(F8), np.array([321.5], np.float32)
    exponents = np.random.default_rng(9).integers(110, 140, (7, 2), np.uint8)
    tensors = {
        "a.weight_packed": nibbles(codes[0]), "a.weight_scale": local, "a.weight_global_scale": second,
        "a.input_global_scale": second,
        "b.weight_packed": nibbles(codes[1]), "b.weight_scale": exponents,
    }  # fmt: skip
    expected = {
        "a.weight": FP4[codes[0]] * np.repeat(local.astype(np.float32) / second, 16, 1),
        "b.weight": FP4[codes[1]] * np.repeat(np.exp2(exponents.astype(np.float32) - 127), 32, 1),
    }
    check(expected, tensors, ct(4))


def test_a_weight_that_is_not_quantized_next_to_a_scale() -> None:
    """Compressed-tensors has no codes in BF16: it keeps its values, and the scale too."""
    plain, scales = "model.layers.0.mlp.gate_proj.weight", random_scales((6, 1), BF16)
    codes, x = np.arange(240, dtype=np.int8).reshape(6, 40), random_scales((6, 40), BF16)
    kept = {plain: x.astype(np.float32), plain + "_scale": scales.astype(np.float32)}
    expected = {W: codes * scales.astype(np.float32), **kept}
    check(expected, {W: codes, W + "_scale": scales, plain: x, plain + "_scale": scales}, ct(8))


def test_mxfp8() -> None:
    codes, exponents = random_codes((5, 96)), np.random.default_rng(9).integers(110, 140, (5, 3), np.uint8)
    expected = codes.astype(np.float32) * np.repeat(np.exp2(exponents.astype(np.float32) - 127), 32, 1)
    check({W: expected}, {W: codes, W + "_scale": exponents}, ct(8, group_size=32))


CONFIG = """{
  "architectures": ["größer"], "dtype":"float16",
  "text_config": {"torch_dtype" : "float8_e4m3fn", "hidden":  8},
  "vision_config": {"dtype": "float32"},
  "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
  "rope": 1e4
}
"""
PLAIN = """{
  "architectures": ["größer"], "dtype":"bfloat16",
  "text_config": {"torch_dtype" : "bfloat16", "hidden":  8},
  "vision_config": {"dtype": "float32"},
  "rope": 1e4
}
"""


def block_model(rows: int = 300, columns: int = 260) -> tuple[Path, bytes]:
    """Write a model of DeepSeek's layout, and return the bytes of its weight in bfloat16."""
    codes, scales = random_codes((rows, columns)), random_scales((-(-rows // 128), -(-columns // 128)))
    other = {
        W + "_scale_inv": scales, "model.norm.weight": np.array([1.0000001, 2], np.float32),
        "lm_head.weight": np.array([[1.5]], np.float16), "ids": np.arange(3),
        "model.layers.0.self_attn.k_proj.k_scale": np.array([0.5], np.float32),
    }  # fmt: skip
    folder = write_model(Path("in"), {"a.safetensors": {W: codes}, "b.safetensors": other}, CONFIG)
    return folder, rounded(codes.astype(np.float32) * in_blocks(scales, codes.shape), "bfloat16")


def test_the_configuration_and_other_tensors() -> None:
    source, expected = block_model()
    (source / "tokenizer.json").write_text("{}")
    report = convert(source, "out", to="bfloat16")
    assert Path("out/config.json").read_text(encoding="utf-8") == PLAIN
    assert Path("out/tokenizer.json").read_text() == "{}"
    result = read_tensors(Path("out"))
    assert result.keys() == {W, "model.norm.weight", "lm_head.weight", "ids"}
    assert result[W].tobytes() == expected
    assert result["model.norm.weight"].dtype == np.float32  # routers' biases and norms lose nothing
    assert result["lm_head.weight"].dtype == BF16
    assert {one.name for one in report.tensors if one.action == "converted"} == {W, "lm_head.weight"}
    places = json.loads(Path("out/model.safetensors.index.json").read_text())["weight_map"]
    assert places == {W: "a.safetensors", **dict.fromkeys(result.keys() - {W}, "b.safetensors")}


def test_the_command() -> None:
    block_model()
    run("convert", "in", "out", "--to", "bfloat16", "--verify", "--progress", "none")
    convert("in", "again", to="bfloat16")
    assert everything(Path("out")) == everything(Path("again"))
    assert not Path("dry").exists()
    text = run("convert", "in", "dry", "--to", "bfloat16", "--dry-run", "--progress", "none")
    assert W in text
    assert not Path("dry").exists()


def test_weights_are_dequantized_together() -> None:
    codes, scales = random_codes((4, 8)), random_scales((1, 1))
    tensors = {f"{name}.weight{end}": one for name in "ab" for end, one in (("", codes), ("_scale_inv", scales))}
    write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": FP8})
    for patterns in ({"include": "a.*"}, {"exclude": "b.*"}):
        with pytest.raises(FileError, match=r"'b.weight': would stay quantized, and 'a.weight' would not"):
            convert("in", "out", to="bfloat16", **patterns)
    assert not Path("out").exists()


def test_patterns_fit_codes_or_values() -> None:
    """Codes in words have another name than their values."""
    codes = np.random.default_rng(4).integers(0, 16, (2, 6, 64))
    tensors = {"norm.weight": np.ones(64, np.float32)}
    for name, one in zip("ab", codes, strict=True):
        tensors[f"{name}.weight_packed"] = words(one, 4)
        tensors |= {f"{name}.weight_shape": np.array([6, 64]), f"{name}.weight_scale": random_scales((6, 2), BF16)}
    config = {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": 4}}}}
    write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": config})
    for out, include in (("packed", "*_packed"), ("weight", "*.weight")):
        convert("in", out, to="bfloat16", include=include)
        assert read_tensors(Path(out)).keys() == {"norm.weight", "a.weight", "b.weight"}


PIECES = {
    "lowprec.checkpoints.memory_limit.LARGEST_CHUNK": 1 << 12,
    "lowprec.checkpoints.operations.dequantize.PART": 300,
    "lowprec.checkpoints.weights.quantized_weight.SMALL": 0,
}


def mixed_model() -> Path:
    """Write weights of many layouts in one file, and no configuration."""
    rng = np.random.default_rng(12)
    fp4, scales = rng.integers(0, 16, (3, 12, 96)), rng.integers(110, 140, (3, 12, 3), np.uint8)
    tensors = {
        "a_blocks": nibbles(fp4).reshape(3, 12, 3, 16), "a_scales": scales,
        "b.weight": random_codes((300, 260)), "b.weight_scale_inv": random_scales((3, 3)),
        "c.weight_packed": words(rng.integers(0, 8, (70, 96)), 3), "c.weight_shape": np.array([70, 96]),
        "c.weight_scale": random_scales((70, 3), BF16),
        "c.weight_zero_point": np.ascontiguousarray(words(rng.integers(0, 8, (3, 70)), 3).T),
        "d.weight": nibbles(rng.integers(0, 16, (70, 96))), "d.weight_scale": random_scales((70, 6)).astype(F8),
        "d.weight_scale_2": random_scales(()), "e": random_codes((5, 40, 30)), "e_scale": random_scales((40,)),
    }  # fmt: skip
    return write_tensors(Path("x.safetensors"), tensors)


def test_pieces_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    mixed_model()
    convert("x.safetensors", "whole.safetensors", to="bfloat16", threads=1)
    assert read_tensors(Path("whole.safetensors")).keys() == {"a", "b.weight", "c.weight", "d.weight", "e"}
    for name, value in PIECES.items():
        monkeypatch.setattr(name, value)
    convert("x.safetensors", "parts.safetensors", to="bfloat16", threads=3, verify=True)
    assert Path("parts.safetensors").read_bytes() == Path("whole.safetensors").read_bytes()


CODES = {"int8": np.dtype(np.int8), "float8_e4m3fn": F8, "int4": ml_dtypes.int4, "float4_e2m1fn": np.dtype(np.uint8)}


def decoded(content: bytes, to: str, shape: tuple[int, ...]) -> Array:
    """Return codes of a safetensors file as numbers."""
    if to in ("int8", "float8_e4m3fn"):
        return np.frombuffer(content, CODES[to]).reshape(shape).astype(np.float32)
    pairs = np.frombuffer(content, np.uint8)
    codes = np.stack([pairs & 15, pairs >> 4], 1).reshape(shape)
    return FP4[codes] if to == "float4_e2m1fn" else ((codes ^ 8).astype(np.float32) - 8)


@pytest.mark.parametrize("to", CODES)
@pytest.mark.parametrize("shape", [(6, 64), (4, 6, 32)])
@pytest.mark.parametrize("scale", ["tensor", "axis:0", "axis:1", "axis:-1", "block:32"])
def test_our_own_files(to: str, shape: tuple[int, ...], scale: str) -> None:
    x = np.random.default_rng(10).standard_normal(shape).astype(np.float32)
    write_tensors(Path("x.safetensors"), {"W": x, "n": np.ones(3, BF16)})
    convert("x.safetensors", "y.safetensors", to=to, scale=scale, include="W")
    convert("y.safetensors", "z.safetensors", to="bfloat16")
    header, content = json_and_bytes(Path("y.safetensors"))
    codes = decoded(content[slice(*header["W"]["data_offsets"])], to, shape)
    scales = np.frombuffer(content[slice(*header["W_scale"]["data_offsets"])], np.float32)
    scales = scales.reshape(header["W_scale"]["shape"])
    if scale.startswith("axis"):
        axis = int(scale[5:]) % len(shape)
        scales = scales.reshape([-1 if one == axis else 1 for one in range(len(shape))])
    elif scale == "block:32":
        scales = np.repeat(scales, 32, -1)
    result = read_tensors(Path("z.safetensors"))
    assert result.keys() == {"W", "n"}
    assert result["W"].tobytes() == rounded(codes * scales, "bfloat16")


def json_and_bytes(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def compress(path: Path) -> None:
    """Write an archive again, with its members compressed."""
    with zipfile.ZipFile(path) as file:
        comment, members = file.comment, {one: file.read(one) for one in file.infolist()}
    with zipfile.ZipFile(path, "w") as file:
        file.comment = comment
        for one, content in members.items():
            one.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(one, content)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("to", ["int8", "int4", "float8_e4m3fn"])
def test_our_own_archives(to: str, compressed: bool) -> None:
    x = np.random.default_rng(11).standard_normal((6, 64)).astype(np.float32)
    np.savez("x.npz", W=x, V=x[:3, :2])
    convert("x.npz", "y.npz", to=to, scale="axis:0")
    with np.load("y.npz") as file:
        y = dict(file)
    if compressed:
        compress(Path("y.npz"))
    convert("y.npz", "z.npz", to="float32", verify=True)
    with np.load("z.npz") as z:
        assert set(z.files) == {"W", "V"}
        for name in z.files:
            codes = y[name].view(CODES[to]).astype(np.float32)
            assert z[name].tobytes() == (codes * y[name + "_scale"][:, None]).tobytes()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("to", ["int8", "float8_e4m3fn", "int4"])
def test_a_square(to: str, axis: int) -> None:
    """Safetensors names the axis, in a copy of the scales too; an archive does not, and there it is ambiguous."""
    ramp = np.ldexp(np.float32(1), np.arange(32))
    x = np.random.default_rng(3).standard_normal((32, 32), np.float32) * (ramp[:, np.newaxis] if axis == 0 else ramp)
    write_tensors(Path("x.safetensors"), {"W": x})
    convert("x.safetensors", "y.safetensors", to=to, scale=f"axis:{axis}")
    convert("y.safetensors", "copy.safetensors", to="bfloat16", exclude="*", raw=True)
    convert("copy.safetensors", "z.safetensors", to="float32")
    back = read_tensors(Path("z.safetensors"))["W"]
    largest = np.abs(x).max(axis=1 - axis % 2, keepdims=True)
    assert np.all(np.abs(back - x) <= largest * {"int8": 0.51 / 127, "int4": 0.51 / 7, "float8_e4m3fn": 1 / 16}[to])
    np.savez("x.npz", W=x)
    convert("x.npz", "y.npz", to=to, scale=f"axis:{axis}")
    with pytest.raises(FileError, match=r"'W_scale': .*fits the axes 0, 1 of a tensor of shape \[32, 32\]"):
        convert("y.npz", "z.npz", to="bfloat16")
    assert not Path("z.npz").exists()


@pytest.mark.parametrize("note", ['{"axis": -1}', '{"axis": true}', '{"axis": 0, "more": 1}', '{"axis": "0"}'])
def test_an_axis_that_is_none(note: str) -> None:
    tensors = {"W": np.ones((2, 2), np.int8), "W_scale": np.ones(2, np.float32)}
    write_tensors(Path("x.safetensors"), tensors, {"lowprec": f'{{"W_scale": {note}}}'})
    with pytest.raises(FileError, match="tensor 'W_scale' is not what the entry 'lowprec' of the metadata says"):
        convert("x.safetensors", "y.safetensors", to="float32")


def test_an_axis_that_does_not_fit() -> None:
    tensors = {"W": np.ones((2, 3), np.int8), "W_scale": np.ones(2, np.float32)}
    write_tensors(Path("x.safetensors"), tensors, {"lowprec": '{"W_scale": {"axis": 1}}'})
    with pytest.raises(FileError, match=r"'W_scale': .*fits no axis"):
        convert("x.safetensors", "y.safetensors", to="float32")


@pytest.mark.parametrize(
    ("shape", "scales"), [((0, 8), ()), ((0, 2, 8), ()), ((2, 0, 8), (2,)), ((2, 3, 0), (2,)), ((0, 2, 8), (0,))]
)
def test_an_empty_weight_with_scales(shape: tuple[int, ...], scales: tuple[int, ...]) -> None:
    """One scale for all elements, or for each index of an axis, is one where there are none."""
    tensors = {"W": np.zeros(shape, np.int8), "W_scale": np.ones(scales, np.float32)}
    write_tensors(Path("x.safetensors"), tensors)
    with lp.checkpoints.open("x.safetensors") as opened:
        assert opened["W"].shape == shape
    assert not [str(one) for one in lp.checkpoints.check("x.safetensors", values=True) if one.misread]
    convert("x.safetensors", "y.safetensors", to="float32")
    assert lp.checkpoints.inspect("y.safetensors")[0].shape == shape


def test_archives_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(13).standard_normal((300, 40)).astype(np.float32)
    np.savez("x.npz", W=x)
    convert("x.npz", "y.npz", to="int8", scale="axis:0")
    with np.load("y.npz") as y:
        arrays = dict(y)
    compress(Path("y.npz"))
    convert("y.npz", "whole.npz", to="float32")
    for name, value in PIECES.items():
        monkeypatch.setattr(name, value)
    convert("y.npz", "parts.npz", to="float32", verify=True)
    assert Path("parts.npz").read_bytes() == Path("whole.npz").read_bytes()
    with np.load("parts.npz") as z:
        assert z["W"].tobytes() == (arrays["W"] * arrays["W_scale"][:, None]).tobytes()
