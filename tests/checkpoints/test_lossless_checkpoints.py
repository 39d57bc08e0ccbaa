"""Quantized checkpoints in another scheme, no value lost: DeepSeek V4 as block FP8, and where that ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import configuration, convert_fails
from support.golden import GOLDEN, tensors_of
from support.typed_tensors import (
    BF16,
    E8M0,
    F8,
    FP4,
    in_blocks,
    nibbles,
    random_codes,
    random_scales,
    read_tensors,
    write_model,
    write_tensors,
)

from lowprec.checkpoints import convert

Array = np.ndarray[Any, Any]

E = "layers.0.ffn.experts."
A = "layers.0.attn.wq_a.weight"
V4 = {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0", "weight_block_size": [128, 128]}


def experts(low: int = 118, high: int = 131) -> dict[str, tuple[Array, Array]]:
    """Return FP4 codes and exponents of scales; no tile of them spans more than 2^14 with the defaults."""
    rng = np.random.default_rng(0)
    return {
        name: (rng.integers(0, 16, shape), rng.integers(low, high, (shape[0], shape[1] // 32), np.uint8))
        for name, shape in {f"{E}0.w1": (256, 256), f"{E}0.w3": (130, 160), f"{E}1.w2": (5, 512)}.items()
    }


def values(codes: Array, scales: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.asarray(FP4[codes] * np.repeat(np.ldexp(np.float32(1), scales.astype(np.int32) - 127), 32, axis=1))


def v4(folder: Path, weights: dict[str, tuple[Array, Array]]) -> tuple[Path, dict[str, Array]]:
    """Write a model shaped as DeepSeek V4, codes and scales in different shards; return the values of its weights."""
    codes, scales = random_codes((200, 300)), random_scales((2, 3), E8M0)
    first = {f"{name}.weight": nibbles(one).view(np.int8) for name, (one, _) in weights.items()} | {A: codes}
    second = {f"{name}.scale": one.view(E8M0) for name, (_, one) in weights.items()}
    second |= {A.replace("weight", "scale"): scales, "norm.weight": np.ones(8, BF16)}
    config = {"quantization_config": V4, "expert_dtype": "fp4", "model_type": "deepseek_v4"}
    source = write_model(folder, {"a.safetensors": first, "b.safetensors": second}, config)
    expected = {f"{name}.weight": values(*pair) for name, pair in weights.items()}
    return source, expected | {A: codes.astype(np.float32) * in_blocks(scales, (200, 300))}


@pytest.mark.parametrize(
    ("recipe", "ending", "dtype"),
    [
        ("deepseek-fp8", "_scale_inv", "F32"),
        ("deepseek-fp8-ue8m0", "_scale_inv", "F32"),
        ("fp8-block", "_scale", "BF16"),
    ],
)
def test_deepseek_v4_as_block_fp8(recipe: str, ending: str, dtype: str) -> None:
    """Values are those of the source to the bit; codes of block FP8 are copied."""
    source, expected = v4(Path("in"), experts())
    report = convert(source, "out", recipe=recipe, verify=True)
    written = read_tensors(Path("out"))
    assert written.keys() == {*expected, *(name + ending for name in expected), "norm.weight"}
    for name, x in expected.items():
        assert (written[name].dtype, written[name].shape) == (F8, x.shape)
        back = written[name].astype(np.float32) * in_blocks(written[name + ending], x.shape)
        assert np.array_equal(back, x)
        assert np.array_equal(np.signbit(back), np.signbit(x))
    assert {one[0] for name, one in tensors_of(Path("out")).items() if name.endswith(ending)} == {dtype}
    assert written[A].tobytes() == random_codes((200, 300)).tobytes()
    made = {one.name: one for one in report.tensors if one.action == "converted"}
    assert {name: (one.lossless, one.inexact, one.max_abs_error) for name, one in made.items()} == dict.fromkeys(
        expected, (True, 0, 0.0)
    )
    assert "lossless: 4 tensors keep every value" in report.as_text()
    config = configuration(Path("out"))
    method = "compressed-tensors" if recipe == "fp8-block" else "fp8"
    assert (config["quantization_config"]["quant_method"], config["expert_dtype"]) == (method, "fp8")
    places = json.loads(Path("out/model.safetensors.index.json").read_text())["weight_map"]
    assert places.keys() == written.keys()


def test_what_is_said_before_and_in_other_recipes() -> None:
    """The type of experts is left out where vLLM has no name for it; rows and groups are tiles to other recipes."""
    source, expected = v4(Path("in"), experts())
    report = convert(source, "out", recipe="deepseek-fp8", dry_run=True)
    assert {one.name for one in report.tensors if one.lossless} == expected.keys()
    assert all(one.inexact is None for one in report.tensors)
    convert(source, "plain", to="bfloat16")
    assert configuration(Path("plain")) == {"model_type": "deepseek_v4"}
    for recipe in ("fp8-dynamic", "mxfp8", "w4a16-g32"):
        report = convert(source, Path(recipe), recipe=recipe, keep="*attn*")
        convert(Path(recipe), f"{recipe}-back", to="float32")
        back = read_tensors(Path(f"{recipe}-back"))
        for one in report.tensors if recipe != "w4a16-g32" else ():
            if one.name.startswith(E):
                assert one.lossless
                assert np.array_equal(back[one.name], expected[one.name])
    assert configuration(Path("w4a16-g32")).keys() == {"model_type", "quantization_config"}
    tensors = {"model.layers.0.up_proj.weight": np.ones((4, 32), BF16)}  # of a model that is not quantized
    source = write_model(Path("bf16"), {"a.safetensors": tensors}, {"expert_dtype": "bfloat16"})
    convert(source, "other", recipe="w4a16-g32")
    assert configuration(Path("other"))["expert_dtype"] == "bfloat16"


def test_infinite_values_are_refused() -> None:
    """6 × 2^127 is none of float32's."""
    weights = experts()
    weights[f"{E}0.w1"][0][0, 0], weights[f"{E}0.w1"][1][0, 0] = 7, 254
    source, _ = v4(Path("in"), weights)
    convert_fails(r"w1\.weight': has a NaN or an infinity", source, "out", recipe="deepseek-fp8")


X = "model.layers.0.mlp.experts.gate_up_proj"


def gpt_oss(folder: Path, shape: tuple[int, int, int] = (2, 128, 256)) -> tuple[Path, dict[str, Array], Array]:
    rng = np.random.default_rng(3)
    stack, rows, columns = shape
    codes = rng.integers(0, 16, shape)
    tensors = {
        f"{X}_blocks": nibbles(codes).reshape(stack, rows, columns // 32, 16),
        f"{X}_scales": rng.integers(118, 131, (stack, rows, columns // 32), np.uint8),
    }
    config = {"quantization_config": {"quant_method": "mxfp4"}, "model_type": "gpt_oss", "hidden_size": rows}
    source = write_model(folder, {"a.safetensors": tensors}, config)
    scales = tensors[f"{X}_scales"].astype(np.int32)
    return source, tensors, FP4[codes] * np.repeat(np.ldexp(np.float32(1), scales - 127), 32, axis=2)


@pytest.mark.parametrize("part", [None, 1])
@pytest.mark.parametrize("shape", [(2, 128, 256), (3, 40, 96), (1, 300, 32), (2, 2, 2), (2, 160, 1), (2, 160, 6), (2,)])
def test_exchanged_axes_go_through_values(
    shape: tuple[int, ...], part: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As through bfloat16: MXFP4 to tiles of exchanged matrices, FP8 with any kind of scales to FP4 there."""
    if part:
        monkeypatch.setattr("lowprec.checkpoints.operations.quantize.PART", part)
    recipe = "deepseek-fp8" if shape[-1] > 6 else "gptoss-mxfp4"
    if recipe == "deepseek-fp8":
        source, _, x = gpt_oss(Path("in"), (shape[0], shape[1], shape[2]))
    else:
        tensors = {X: random_codes((2, 160, 192)), f"{X}_scale_inv": random_scales(shape)}
        source = write_tensors(Path("in.safetensors"), tensors)
    one, plain, two = (Path(f"{name}{source.suffix}") for name in ("one", "plain", "two"))
    report = convert(source, one, recipe=recipe, verify=True)
    convert(source, plain, to="bfloat16")
    convert(plain, two, recipe=recipe)
    if recipe == "deepseek-fp8":
        assert tensors_of(one) == tensors_of(two)
        assert read_tensors(plain)[X].astype(np.float32).tobytes() == x.transpose(0, 2, 1).tobytes()
        assert [found.lossless for found in report.tensors] == [None]
    else:
        assert tensors_of(Path(), one.name) == tensors_of(Path(), two.name)


def test_stacked_experts_with_exponents_as_scales() -> None:
    """Codes are copied; each expert has blocks of its own, the last of them shorter."""
    shape = (3, 130, 200)
    codes, scales = random_codes(shape), random_scales((3, 2, 2), E8M0)
    config = {"quantization_config": V4, "model_type": "x", "hidden_size": 200}
    tensors = {X: codes, f"{X}_scale_inv": scales}
    source = write_model(Path("in"), {"a.safetensors": tensors}, config)
    report = convert(source, "out", recipe="deepseek-fp8", verify=True)
    written = read_tensors(Path("out"))
    assert written[X].tobytes() == codes.tobytes()
    assert written[f"{X}_scale_inv"].tobytes() == scales.astype(np.float32).tobytes()
    assert [one.lossless for one in report.tensors] == [True]


V3 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
Q = "model.layers.0.mlp.up_proj.weight"


@pytest.mark.parametrize("described", [True, False])
def test_scales_in_float32_that_are_powers_of_two(described: bool) -> None:
    """They are kept where the configuration says what they are; else a recipe for such scales computes them again."""
    scales = random_scales((2, 2), E8M0).astype(np.float32)
    config = {"quantization_config": V4 if described else V3, "model_type": "x"}
    tensors = {Q: random_codes((200, 256)), f"{Q}_scale_inv": scales}
    source = write_model(Path("in"), {"a.safetensors": tensors}, config)
    report = convert(source, "out", recipe="deepseek-fp8-ue8m0")
    assert [one.lossless for one in report.tensors] == [True if described else None]
    written = read_tensors(Path("out"))
    if described:
        assert written[Q].tobytes() == tensors[Q].tobytes()
        assert written[f"{Q}_scale_inv"].tobytes() == scales.tobytes()
    report = convert(source, "any", recipe="deepseek-fp8")
    assert [one.lossless for one in report.tensors] == [True]


def test_scales_that_are_no_powers_of_two() -> None:
    """Of DeepSeek V3, to be powers of two: through values. Where the configuration is wrong about them: an error."""
    tensors = {Q: random_codes((200, 256)), f"{Q}_scale_inv": random_scales((2, 2))}
    config = {"quantization_config": V3, "model_type": "x"}
    source = write_model(Path("in"), {"a.safetensors": tensors}, config)
    convert(source, "one", recipe="deepseek-fp8-ue8m0")
    convert(source, "plain", to="bfloat16")
    convert("plain", "two", recipe="deepseek-fp8-ue8m0")
    assert tensors_of(Path("one")) == tensors_of(Path("two"))
    scales = read_tensors(Path("one"))[f"{Q}_scale_inv"]
    assert np.array_equal(np.frexp(scales)[0], np.full((2, 2), 0.5))
    wrong = write_model(Path("wrong"), {"a.safetensors": tensors}, {"quantization_config": V4})
    convert_fails(r"weight_scale_inv': has a scale that is no power of two", wrong, "out", recipe="deepseek-fp8-ue8m0")


@pytest.mark.parametrize("source", ["MXFP4A16", "MXFP8A16"])
def test_llm_compressors_mx_formats_as_block_fp8(source: str) -> None:
    """Rows of tiny numbers make MXFP4's tiles inexact, which is counted; MXFP8 goes through values."""
    report = convert(GOLDEN / source, "out", recipe="deepseek-fp8")
    convert(GOLDEN / source, "before", to="float32")
    convert("out", "after", to="float32")
    before, after = read_tensors(Path("before")), read_tensors(Path("after"))
    for one in report.tensors:
        if one.action == "converted":
            error = np.abs(before[one.name].astype(np.float64) - after[one.name])
            assert one.max_abs_error == error.max()
            assert one.lossless is (False if source == "MXFP4A16" else None)
            high, wide = (-(-n // 128) for n in error.shape)
            padded = np.pad(error, ((0, high * 128 - error.shape[0]), (0, wide * 128 - error.shape[1])))
            inexact = np.count_nonzero(padded.reshape(high, 128, wide, 128).max(axis=(1, 3)))
            assert one.inexact == (inexact if source == "MXFP4A16" else None)
            if one.inexact:
                assert f"'{one.name}': not lossless; values changed in {inexact} tiles or rows" in report.as_text()
