"""Quantized checkpoints become plain ones: codes times scales, to the bit, with names, shapes and descriptions."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, convert_fails, everything, opened
from support.command_line import run
from support.typed_tensors import (
    BF16,
    E8M0,
    F8,
    FP4,
    FP8_BLOCKS,
    TARGETS,
    Array,
    Tensors,
    W,
    compressed,
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

E = "model.layers.0.mlp.experts."
Case = tuple[dict[str, Array], Tensors, Any]
"""The values of weights, the tensors that hold them, and `quantization_config`."""


def blocks(shape: tuple[int, ...], high: int = 128, wide: int = 128, dtype: Any = np.float32, end: str = "_scale_inv",
           weight: str = W, config: Any = FP8_BLOCKS) -> Case:  # fmt: skip
    """Return FP8 codes with a scale to each block."""
    codes = random_codes(shape)
    scales = random_scales((*shape[:-2], -(-shape[-2] // high), -(-shape[-1] // wide)), dtype)
    name = weight.removesuffix("weight") + "scale" if end == ".scale" else weight + end
    values = codes.astype(np.float32) * in_blocks(scales, shape, high, wide)
    return {weight: values}, {weight: codes, name: scales}, config


def scaled(codes: Array, scales: Array, spread: Any, config: Any, **others: Array) -> Case:
    """Return codes with scales that are spread over them, and other tensors by the ends of their names."""
    values = codes.astype(np.float32) * spread(scales.astype(np.float32))
    named = {W + end: one for end, one in {"_scale": scales, **others}.items()}
    return {W: values}, {W: codes, **named}, config


def exponents(scales: Array) -> Array:
    return np.exp2(scales.astype(np.float32) - 127)


def integers(low: int, high: int, shape: tuple[int, ...], seed: int, dtype: Any = np.int64) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape, dtype)


def deepseek_v4(rows: int) -> Case:
    codes, scales, name = integers(0, 16, (rows, 160), 2), random_scales((rows, 5), E8M0), "layers.0.ffn.experts.0.w1."
    tensors = {name + "weight": nibbles(codes).view(np.int8), name + "scale": scales}
    return {name + "weight": FP4[codes] * np.repeat(scales.astype(np.float32), 32, 1)}, tensors, FP8_BLOCKS


def gpt_oss() -> Case:
    """Hugging Face's names: the last two axes are exchanged. OpenAI's: they are not."""
    codes, scales = integers(0, 16, (3, 10, 96), 3), integers(110, 140, (3, 10, 3), 4, np.uint8)
    packed, expected = nibbles(codes).reshape(3, 10, 3, 16), FP4[codes] * np.repeat(exponents(scales), 32, 2)
    tensors = {
        E + "gate_up_proj_blocks": packed, E + "gate_up_proj_scales": scales,
        "block.0.mlp.mlp1_weight.blocks": packed, "block.0.mlp.mlp1_weight.scales": scales,
    }  # fmt: skip
    values = {E + "gate_up_proj": expected.transpose(0, 2, 1), "block.0.mlp.mlp1_weight": expected}
    return values, tensors, {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]}


def modelopt() -> Case:
    codes, scale, fp4 = random_codes((9, 48)), np.array(0.0123, np.float32), integers(0, 16, (9, 48), 5)
    local, second = random_scales((9, 3), np.float32).astype(F8), np.array(0.00321, np.float32)
    tensors = {
        "a.weight": codes, "a.weight_scale": scale, "a.input_scale": scale,
        "b.weight": nibbles(fp4), "b.weight_scale": local, "b.weight_scale_2": second, "b.input_scale": scale,
    }  # fmt: skip
    values = {
        "a.weight": codes.astype(np.float32) * scale,
        "b.weight": FP4[fp4] * np.repeat(local.astype(np.float32) * second, 16, 1),
    }
    return values, tensors, {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}


def modelopt_blocks(shape: tuple[int, int]) -> Case:
    """FP8_PB_WO: a factor to 128 x 128, with an axis of 1 after each of its axes, as vLLM takes it."""
    codes, scales = random_codes(shape), random_scales((shape[0] // 128, 1, shape[1] // 128, 1))
    config = {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"}
    return scaled(codes, scales, lambda one: in_blocks(one[:, 0, :, 0], shape), config)


def compressed_fp4() -> Case:
    codes, scales = integers(0, 16, (2, 7, 64), 8), integers(110, 140, (7, 2), 9, np.uint8)
    local, second = random_scales((7, 4)).astype(F8), np.array([321.5], np.float32)
    tensors = {
        "a.weight_packed": nibbles(codes[0]), "a.weight_scale": local, "a.weight_global_scale": second,
        "a.input_global_scale": second, "b.weight_packed": nibbles(codes[1]), "b.weight_scale": scales,
    }  # fmt: skip
    values = {
        "a.weight": FP4[codes[0]] * np.repeat(local.astype(np.float32) / second, 16, 1),
        "b.weight": FP4[codes[1]] * np.repeat(exponents(scales), 32, 1),
    }
    return values, tensors, compressed(4)


def compressed_words(
    bits: int, shape: tuple[int, int], group: int, asymmetric: bool = False, ordered: bool = False
) -> Case:
    rng = np.random.default_rng(bits)
    codes, half = rng.integers(0, 1 << bits, shape), 1 << (bits - 1)
    scales = random_scales((shape[0], shape[1] // group), BF16)
    columns = rng.permutation(np.arange(shape[1]) // group) if ordered else np.arange(shape[1]) // group
    zeros = rng.integers(0, 1 << bits, scales.shape) if asymmetric else np.full(scales.shape, half)
    tensors = {W + "_packed": words(codes, bits), W + "_shape": np.array(shape), W + "_scale": scales}
    if asymmetric:
        tensors[W + "_zero_point"] = np.ascontiguousarray(words(zeros.T, bits).T)
    if ordered:
        tensors[W + "_g_idx"] = columns.astype(np.int32)
    values = (codes - zeros[:, columns]).astype(np.float32) * scales.astype(np.float32)[:, columns]
    return {W: values}, tensors, compressed(bits, strategy="group", group_size=group)


def zero_points_of_bytes() -> Case:
    codes, zeros = integers(-128, 128, (6, 20), 7, np.int8), integers(-128, 128, (6, 1), 6, np.int8)
    scales = random_scales((6, 1), BF16)
    values = (codes.astype(np.int32) - zeros).astype(np.float32) * scales.astype(np.float32)
    return {W: values}, {W: codes, W + "_scale": scales, W + "_zero_point": zeros}, compressed(8, symmetric=False)


def older_comfyui() -> Case:
    """Return one with a mark of the file, and a scale of another name; no configuration speaks of them."""
    codes, scale, p = random_codes((20, 30)), np.array(0.037, np.float32), "model.diffusion_model."
    tensors = {p + "a.weight": codes, p + "a.scale_weight": scale, p + "a.scale_input": scale, p + "scaled_fp8": MARK}
    return {p + "a.weight": codes.astype(np.float32) * scale}, tensors, None


def plain_beside_a_scale() -> Case:
    """Compressed-tensors has no codes in BF16: it keeps its values, and the scale too."""
    plain, scales = "model.layers.0.mlp.gate_proj.weight", random_scales((6, 1), BF16)
    codes, x = np.arange(240, dtype=np.int8).reshape(6, 40), random_scales((6, 40), BF16)
    kept = {plain: x.astype(np.float32), plain + "_scale": scales.astype(np.float32)}
    tensors = {W: codes, W + "_scale": scales, plain: x, plain + "_scale": scales}
    return {W: codes * scales.astype(np.float32), **kept}, tensors, compressed(8)


MARK = np.zeros(2, F8)
EDGES = ((1, 1), (128, 128), (127, 129), (256, 384), (300, 64), (5, 513))
CHANNELS = {"fp8": random_codes((12, 20)), "int8": integers(-128, 128, (12, 20), 6, np.int8)}
WORDS = (((6, 64), 32), ((6, 64), 32, True), ((5, 64), 16, True, True), ((9, 37), 37, True),
         ((3, 40), 8, False, True), ((4, 33), 33))  # fmt: skip
CASES: dict[str, Callable[[], Case]] = {
    **{f"blocks, {dtype}, {end}": partial(blocks, (130, 200), dtype=dtype, end=end)
       for dtype in (np.dtype(np.float32), BF16, E8M0) for end in ("_scale_inv", ".scale")},
    **{f"blocks, {shape}": partial(blocks, shape) for shape in EDGES},
    "blocks of 32 x 64": partial(blocks, (100, 96), 32, 64, config={**FP8_BLOCKS, "weight_block_size": [32, 64]}),
    **{f"scales of experts, {shape}": partial(
        scaled, random_codes((3, 4, 8)), random_scales(shape), lambda one: one.reshape((*one.shape, 1, 1)[:3]),
        {"quant_method": "fp8"}) for shape in ((3,), (3, 1), (3, 1, 1), (3, 4), (3, 4, 1))},
    **{f"one scale, {shape}": partial(
        scaled, random_codes((6, 40)), random_scales(shape), lambda one: one.reshape(()),
        {"quant_method": "fp8", "activation_scheme": "static"}) for shape in ((), (1,))},
    **{f"experts, {end}": partial(blocks, (3, 140, 260), end=end, weight=E + "gate_up_proj")
       for end in ("_scale_inv", "_scales_inv")},
    "DeepSeek V4's FP4, 1 row": partial(deepseek_v4, 1), "DeepSeek V4's FP4": partial(deepseek_v4, 7),
    "gpt-oss": gpt_oss, "modelopt": modelopt,
    "rows of modelopt": partial(scaled, random_codes((9, 48)), random_scales((9,)), lambda one: one[:, np.newaxis],
                                {"quant_method": "modelopt", "quant_algo": "FP8_PER_CHANNEL_PER_TOKEN"}),
    **{f"blocks of modelopt, {shape}": partial(modelopt_blocks, shape) for shape in ((256, 384), (128, 128))},
    **{f"channels, {kind}, {dtype}": partial(
        scaled, codes, random_scales((12, 1), dtype), lambda one: one, compressed(8, strategy="channel"))
       for kind, codes in CHANNELS.items() for dtype in (np.dtype(np.float32), BF16)},
    "blocks of compressed-tensors": partial(blocks, (130, 200), dtype=BF16, end="_scale",
                                            config=compressed(8, strategy="block", block_structure=[128, 128])),
    **{f"words of {bits} bits, {number}": partial(compressed_words, bits, *how)
       for bits in range(2, 9) for number, how in enumerate(WORDS)},
    "zero points of bytes": zero_points_of_bytes, "FP4 of compressed-tensors": compressed_fp4,
    "a plain weight beside a scale": plain_beside_a_scale, "ComfyUI's older files": older_comfyui,
    "mxfp8": partial(scaled, random_codes((5, 96)), integers(110, 140, (5, 3), 9, np.uint8),
                     lambda one: np.repeat(np.exp2(one - 127), 32, 1), compressed(8, group_size=32)),
}  # fmt: skip
WIDE = [name for name in CASES if "gpt-oss" in name or ("blocks, " in name and "scale" in name)]
"""Layouts that are converted to every type."""


@pytest.mark.parametrize(
    ("to", "case"), [*product(("bfloat16",), CASES), *product(("float16", "float32"), WIDE)], ids=str
)
def test_layouts(to: str, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Convert a model of two shards, and open it; compare names, shapes, bytes, those of any rows, in any chunks."""
    expected, tensors, config = CASES[case]()
    names, said = list(tensors), {"quantization_config": config} if config else {}
    shards = {"a.safetensors": {n: tensors[n] for n in names[:1]}, "b.safetensors": {n: tensors[n] for n in names[1:]}}
    source = write_model(Path("in"), shards, {**said, "torch_dtype": "float32"})
    before = everything(source)
    if not config:  # ComfyUI's files are alone
        convert(write_tensors(Path("x.safetensors"), tensors), "y.safetensors", to=to)
        plain = {name: one.tobytes() for name, one in read_tensors(Path("y.safetensors")).items()}
        assert plain == {name: rounded(x, to) for name, x in expected.items()}
    convert(source, "out", to=to, verify=True)
    assert everything(source) == before
    result = read_tensors(Path("out"))
    assert result.keys() == expected.keys()
    for chunk in (1 << 21, 40 if sum(one.nbytes for one in tensors.values()) < 9000 else 1 << 12):
        monkeypatch.setattr("lowprec.checkpoints.checkpoint.CHUNK", chunk)
        with lp.checkpoints.open(source) as checkpoint:
            assert checkpoint.keys() == expected.keys()
            for name, x in expected.items():
                assert checkpoint.info(name).shape == x.shape
                third, end = len(x) // 3, len(x)
                for rows in (slice(None), slice(third, third + 2), slice(-1, None), slice(end, end), slice(third, 999)):
                    part = np.ascontiguousarray(x[rows])
                    found = checkpoint.read(name, to=to, rows=rows if rows.stop or rows.start else None)
                    assert (found.shape, found.tobytes()) == (part.shape, rounded(part, to))
    for name, x in expected.items():
        assert (result[name].shape, result[name].dtype) == (x.shape, TARGETS[to])
        assert result[name].tobytes() == rounded(x, to)
    index = json.loads(Path("out/model.safetensors.index.json").read_text())
    assert index["weight_map"].keys() == expected.keys()
    assert index["metadata"] == {"total_size": sum(one.nbytes for one in result.values())}
    assert json.loads(Path("out/config.json").read_text()) == {"torch_dtype": to}


def test_blocks_of_modelopt_that_do_not_fit() -> None:
    tensors = {W: random_codes((256, 384)), W + "_scale": random_scales((3, 1, 2, 1))}
    config = {"quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8_PB_WO"}}
    write_model(Path("in"), {"a.safetensors": tensors}, config)
    why = r"has the shape \[3, 2\], which fits no weight of shape \[256, 384\] in blocks"
    convert_fails(why, "in", "out", to="bfloat16")


def test_hf_quant_config_is_left_out() -> None:
    codes, scale = random_codes((9, 48)), np.array(0.5, np.float32)
    write_model(Path("in"), {"a.safetensors": {W: codes, W + "_scale": scale}}, {"dtype": "float16"})
    Path("in/hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    convert("in", "out", to="bfloat16")
    assert not Path("out/hf_quant_config.json").exists()
    assert Path("out/config.json").read_text() == '{"dtype": "bfloat16"}'
    assert read_tensors(Path("out"))[W].tobytes() == rounded(codes.astype(np.float32) * scale, "bfloat16")


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


def test_the_configuration_and_other_tensors() -> None:
    """By a command too, which writes the same."""
    values, tensors, _ = blocks((300, 260))
    other = {
        "model.norm.weight": np.array([1.0000001, 2], np.float32), "ids": np.arange(3),
        "lm_head.weight": np.array([[1.5]], np.float16),
        "model.layers.0.self_attn.k_proj.k_scale": np.array([0.5], np.float32),
    }  # fmt: skip
    other[W + "_scale_inv"] = tensors[W + "_scale_inv"]
    source = write_model(Path("in"), {"a.safetensors": {W: tensors[W]}, "b.safetensors": other}, CONFIG)
    (source / "tokenizer.json").write_text("{}")
    report = convert(source, "out", to="bfloat16")
    assert Path("out/config.json").read_text(encoding="utf-8") == PLAIN
    assert Path("out/tokenizer.json").read_text() == "{}"
    result = read_tensors(Path("out"))
    assert result.keys() == {W, "model.norm.weight", "lm_head.weight", "ids"}
    assert result[W].tobytes() == rounded(values[W], "bfloat16")
    assert result["model.norm.weight"].dtype == np.float32  # routers' biases and norms lose nothing
    assert result["lm_head.weight"].dtype == BF16
    assert {one.name for one in report.tensors if one.action == "converted"} == {W, "lm_head.weight"}
    places = json.loads(Path("out/model.safetensors.index.json").read_text())["weight_map"]
    assert places == {W: "a.safetensors", **dict.fromkeys(result.keys() - {W}, "b.safetensors")}
    assert W in run("convert", "in", "dry", "--to", "bfloat16", "--dry-run", "--progress", "none")
    assert not Path("dry").exists()
    run("convert", "in", "again", "--to", "bfloat16", "--verify", "--progress", "none")
    assert everything(Path("again")) == everything(Path("out"))


def test_weights_are_dequantized_together() -> None:
    codes, scales = random_codes((4, 8)), random_scales((1, 1))
    tensors = {f"{name}.weight{end}": one for name in "ab" for end, one in (("", codes), ("_scale_inv", scales))}
    write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": FP8_BLOCKS})
    for patterns in ({"include": "a.*"}, {"exclude": "b.*"}):
        why = r"'b.weight': would stay quantized, and 'a.weight' would not"
        convert_fails(why, "in", "out", to="bfloat16", **patterns)


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
    convert_fails(r"'W_scale': .*fits the axes 0, 1 of a tensor of shape \[32, 32\]", "y.npz", "z.npz", to="bfloat16")


NOT_WHAT_IS_SAID = "tensor 'w_scale' is not what the entry 'lowprec' of the metadata says"
NOTES = [
    *(({"axis": axis}, NOT_WHAT_IS_SAID) for axis in (-1, True, "0")), ({"axis": 0, "more": 1}, NOT_WHAT_IS_SAID),
    *(({"block": block}, NOT_WHAT_IS_SAID) for block in ([3], [0, 1], [1, 2, 3], "2x2", [2, 1.0], [2, -1], None)),
    ({"axis": 1}, "'w_scale': .*fits no axis"), ({"block": [3, 2]}, r"no weight of shape \[4, 8\] in blocks of 3 x 2"),
]  # fmt: skip


@pytest.mark.parametrize(("note", "why"), NOTES, ids=lambda one: str(one)[:20])
def test_wrong_notes_of_axes_and_blocks(note: dict[str, Any], why: str) -> None:
    scales = np.ones((2, 8) if "block" in note else 4, np.float32)
    tensors = {"w": np.ones((4, 8), np.int8), "w_scale": scales}
    write_tensors(Path("x.safetensors"), tensors, {"lowprec": json.dumps({"w_scale": note})})
    call_fails(why, lp.checkpoints.open, "x.safetensors")
    convert_fails(why, "x.safetensors", "y.safetensors", to="float32")


@pytest.mark.parametrize(
    ("shape", "scales"), [((0, 8), ()), ((0, 2, 8), ()), ((2, 0, 8), (2,)), ((2, 3, 0), (2,)), ((0, 2, 8), (0,))]
)
def test_an_empty_weight_with_scales(shape: tuple[int, ...], scales: tuple[int, ...]) -> None:
    """One scale for all elements, or for each index of an axis, is one where there are none."""
    tensors = {"W": np.zeros(shape, np.int8), "W_scale": np.ones(scales, np.float32)}
    write_tensors(Path("x.safetensors"), tensors)
    assert opened("x.safetensors", "W").shape == shape
    assert not [str(one) for one in lp.checkpoints.check("x.safetensors", values=True) if one.misread]
    convert("x.safetensors", "y.safetensors", to="float32")
    assert lp.checkpoints.inspect("y.safetensors")[0].shape == shape
