"""Quantized checkpoints in another scheme, no value lost: DeepSeek V4 as block FP8, FP8 for MI300, where that ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
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


# ---- fnuz and fn: codes and scales of FP8 weights in any layout, and all else as it was
FNUZ = np.dtype(ml_dtypes.float8_e4m3fnuz)
E5M2, E5M2FNUZ = np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.float8_e5m2fnuz)
E5M2_CODES = np.array([code for code in range(256) if code & 0x7F < 0x7C], np.uint8).reshape(4, 62).view(E5M2)
M = Q.removesuffix("weight")
CT = {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"]}
HALF = np.array(0.5, np.float32)

LAYOUTS: dict[str, tuple[dict[str, Array], tuple[str, ...], Any]] = {
    "deepseek": ({Q: random_codes((130, 200)), Q + "_scale_inv": random_scales((2, 2))}, (Q + "_scale_inv",), V3),
    "deepseek v4": ({Q: random_codes((130, 200)), M + "scale": random_scales((2, 2), E8M0)}, (M + "scale",), V3),
    "e5m2": ({Q: E5M2_CODES, Q + "_scale_inv": random_scales((1, 1))}, (Q + "_scale_inv",), V3),
    "experts": ({X: random_codes((3, 130, 40)), X + "_scale_inv": random_scales((3, 2, 1))}, (X + "_scale_inv",), V3),
    "compressed-tensors": (
        {Q: random_codes((9, 16)), M + "weight_scale": random_scales((9, 1), BF16), M + "input_scale": HALF},
        (M + "weight_scale", M + "input_scale"), CT,
    ),
    "modelopt": (
        {Q: random_codes((9, 16)), M + "weight_scale": HALF, M + "input_scale": HALF},
        (M + "weight_scale", M + "input_scale"), {"quant_method": "modelopt", "quant_algo": "V3"},
    ),
    "comfyui": (
        {Q: random_codes((9, 16)), M + "scale_weight": HALF, M + "scale_input": HALF, "scaled_fp8": np.zeros(2, F8)},
        (M + "scale_weight", M + "scale_input"), None,
    ),
    "mxfp8": ({Q: random_codes((9, 64)), M + "weight_scale": random_scales((9, 2), E8M0).view(np.uint8)},
              (M + "weight_scale",), CT),
}  # fmt: skip
"""Tensors of a weight, which of them are doubled, and the configuration."""

OTHERS = {
    "model.norm.weight": np.ones(8, BF16),
    "lm_head.weight": np.ones((4, 8), np.float32),
    "model.layers.0.self_attn.k_proj.k_scale": np.array([0.5], np.float32),
}


def model_of_fp8(folder: Path, tensors: dict[str, Array], config: Any) -> Path:
    """Write a model whose codes are in another shard than all else."""
    codes = {
        name: one for name, one in tensors.items() if one.dtype.itemsize == 1 and one.ndim > 1 and "scale" not in name
    }
    rest = {name: one for name, one in tensors.items() if name not in codes} | OTHERS
    config = {"quantization_config": config, "torch_dtype": "float32"}
    return write_model(folder, {"a.safetensors": codes, "b.safetensors": rest}, config)


def doubled(scales: Array) -> Array:
    return scales + np.uint8(1) if scales.dtype == np.uint8 else np.asarray(scales.astype(np.float64) * 2, scales.dtype)


def values_of(folder: Path) -> dict[str, Array]:
    convert(folder, folder.with_name(folder.name + "-values"), to="float32")
    return read_tensors(folder.with_name(folder.name + "-values"))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_for_mi300(layout: str) -> None:
    """And back: all is what it was but −0 and scales of inputs, which reach farther; values are the same."""
    tensors, scales, config = LAYOUTS[layout]
    source = model_of_fp8(Path("in"), tensors, config)
    report = convert(source, "out", recipe="fnuz", verify=True)
    written, before = read_tensors(Path("out")), read_tensors(source)
    assert written.keys() == before.keys()
    (name,) = {Q, X} & tensors.keys()
    codes = tensors[name].view(np.uint8)
    assert 0x80 in codes
    assert (written[name].dtype, written[name].shape) == (E5M2FNUZ if layout == "e5m2" else FNUZ, codes.shape)
    without_zero = np.where(codes == 0x80, 0, codes).astype(np.uint8)  # −0 is 0 there
    assert written[name].tobytes() == without_zero.tobytes()
    for other in before.keys() - {name}:
        expected = doubled(before[other]) if other in scales else before[other]
        assert (written[other].dtype, written[other].tobytes()) == (expected.dtype, expected.tobytes())
    assert Path("out/config.json").read_bytes() == (source / "config.json").read_bytes()
    for file in ("a.safetensors", "b.safetensors"):
        assert read_tensors(Path("out", file)).keys() == read_tensors(source / file).keys()
    assert "lossless: 1 tensor keeps every value" in report.as_text()
    made = [one for one in report.tensors if one.action == "converted"]
    assert [(one.name, one.target, one.lossless, one.inexact, one.sqnr_db) for one in made] == [
        (name, written[name].dtype.name, True, 0, np.inf)
    ]
    assert {one.name: one.why for one in report.tensors if one.why.startswith("times")} == dict.fromkeys(
        scales, "times 2"
    )
    plain, after = values_of(source), values_of(Path("out"))
    assert all(np.array_equal(plain[one], after[one]) for one in plain)
    report = convert("out", "back", recipe="fn", verify=True)
    assert [one.lossless for one in report.tensors if one.action == "converted"] == [True]
    for other, one in read_tensors(Path("back")).items():
        expected = without_zero.view(tensors[name].dtype) if other == name else before[other]
        expected = doubled(expected) if "input" in other else expected
        assert (one.dtype, one.tobytes()) == (expected.dtype, expected.tobytes())


def test_240_is_rounded_at_its_scale() -> None:
    """Of the formats of MI300; the numbers below 2^-6 then have a bit less, which is counted by rows.

    The model has a weight with 240, one without, and one with a NaN.
    """
    codes = np.arange(256, dtype=np.uint8).reshape(4, 64)
    codes[codes == 0x80] = 1
    without = np.where(codes & 0x7F == 0x7F, 2, codes).astype(np.uint8)
    invalid = without.copy()
    invalid[1, 1] = 0x80
    tensors = {}
    for number, stored in enumerate((codes, without, invalid)):
        tensors[f"model.layers.{number}.up_proj.weight"] = stored.view(FNUZ)
        tensors[f"model.layers.{number}.up_proj.weight_scale_inv"] = random_scales((1, 1))
    source = write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": V3})
    report = convert(source, "out", recipe="fn", verify=True)
    written = read_tensors(Path("out"))
    one, other, nan = (f"model.layers.{number}.up_proj.weight" for number in range(3))
    expected = tensors[one].astype(np.float32).astype(F8)
    assert written[one].dtype == F8
    assert written[one].tobytes() == expected.tobytes()
    assert written[one + "_scale_inv"].tobytes() == tensors[one + "_scale_inv"].tobytes()
    assert written[other].tobytes() == tensors[other].tobytes()
    assert written[other + "_scale_inv"] == tensors[other + "_scale_inv"] / 2
    assert written[nan].view(np.uint8)[1, 1] == 0x7F
    found = {tensor.name: tensor for tensor in report.tensors}
    changed = expected.astype(np.float32) != tensors[one].astype(np.float32)
    assert (found[one].lossless, found[one].inexact) == (False, np.count_nonzero(changed.any(axis=1)))
    scale = float(tensors[one + "_scale_inv"][0, 0])
    assert found[one].max_abs_error == pytest.approx(2.0**-10 * scale, rel=1e-6)
    assert (found[other].lossless, found[nan].lossless) == (True, True)
    assert (found[other].nan, found[nan].nan) == (0, 1)
    assert f"'{one}': not lossless" in report.as_text()


@pytest.mark.parametrize("code", [0x7F, 0xFF])
def test_nan_is_refused_for_mi300(code: int) -> None:
    codes = random_codes((9, 16)).view(np.uint8)
    codes[8, 3] = code
    source = model_of_fp8(Path("in"), {Q: codes.view(F8), Q + "_scale_inv": random_scales((1, 1))}, V3)
    why = r"up_proj\.weight': has a code that is no number, and is one in float8_e4m3fn"
    convert_fails(why, source, "out", recipe="fnuz")


@pytest.mark.parametrize("scale", [np.array([[3e38]], np.float32), np.array([[254]], np.uint8).view(E8M0)], ids=str)
def test_scales_that_have_no_double_are_refused(scale: Array) -> None:
    source = model_of_fp8(Path("in"), {Q: random_codes((9, 16)), Q + "_scale_inv": scale}, V3)
    why = r"weight_scale_inv': has a scale of which 2\.0 times is no number in float"
    convert_fails(why, source, "out", recipe="fnuz")


def test_weights_that_mi300_does_not_read() -> None:
    weight = {Q: random_codes((9, 16)), Q + "_scale_inv": random_scales((1, 1))}
    lonely = {"model.layers.0.mlp.down_proj.weight": random_codes((4, 4))}
    for name, tensors, options, text in (
        ("lonely", {**weight, **lonely}, {}, r"down_proj\.weight': has no scales that are known"),
        ("kept", weight, {"keep": "*"}, "has no weight in float8_e4m3fn or float8_e5m2 with scales"),
        ("pattern", weight, {"keep": "nothing"}, "has no tensor or module that `keep` 'nothing' names"),
        ("other", {"norm.weight": np.ones(3, BF16)}, {}, "has no weight in float8_e4m3fn or float8_e5m2 with scales"),
    ):
        source = model_of_fp8(Path(name), tensors, V3)
        convert_fails(text, source, "out", recipe="fnuz", **options)


def test_comfyuis_descriptions_have_no_names_for_it() -> None:
    description = np.frombuffer(b'{"format": "float8_e4m3fn"}', np.uint8)
    tensors = {Q: random_codes((9, 16)), M + "weight_scale": HALF, M + "comfy_quant": description}
    write_tensors(Path("in.safetensors"), tensors)
    why = r"up_proj\.weight': is described by comfy_quant, which has no names for MI300"
    convert_fails(why, "in.safetensors", "out.safetensors", recipe="fnuz")
