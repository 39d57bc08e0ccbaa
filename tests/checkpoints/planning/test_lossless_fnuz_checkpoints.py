"""Recipes fnuz and fn: codes and scales of FP8 weights in any layout, and all else as it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import convert_fails
from support.typed_tensors import BF16, E8M0, F8, random_codes, random_scales, read_tensors, write_model, write_tensors

from lowprec.checkpoints import convert

Array = np.ndarray[Any, Any]

FNUZ = np.dtype(ml_dtypes.float8_e4m3fnuz)
E5M2, E5M2FNUZ = np.dtype(ml_dtypes.float8_e5m2), np.dtype(ml_dtypes.float8_e5m2fnuz)
E5M2_CODES = np.array([code for code in range(256) if code & 0x7F < 0x7C], np.uint8).reshape(4, 62).view(E5M2)
M = "model.layers.0.mlp.up_proj."
W = M + "weight"
X = "model.layers.0.mlp.experts.gate_up_proj"
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}
CT = {"quant_method": "compressed-tensors", "format": "float-quantized", "ignore": ["lm_head"]}
HALF = np.array(0.5, np.float32)

LAYOUTS: dict[str, tuple[dict[str, Array], tuple[str, ...], Any]] = {
    "deepseek": ({W: random_codes((130, 200)), W + "_scale_inv": random_scales((2, 2))}, (W + "_scale_inv",), FP8),
    "deepseek v4": ({W: random_codes((130, 200)), M + "scale": random_scales((2, 2), E8M0)}, (M + "scale",), FP8),
    "e5m2": ({W: E5M2_CODES, W + "_scale_inv": random_scales((1, 1))}, (W + "_scale_inv",), FP8),
    "experts": ({X: random_codes((3, 130, 40)), X + "_scale_inv": random_scales((3, 2, 1))}, (X + "_scale_inv",), FP8),
    "compressed-tensors": (
        {W: random_codes((9, 16)), M + "weight_scale": random_scales((9, 1), BF16), M + "input_scale": HALF},
        (M + "weight_scale", M + "input_scale"), CT,
    ),
    "modelopt": (
        {W: random_codes((9, 16)), M + "weight_scale": HALF, M + "input_scale": HALF},
        (M + "weight_scale", M + "input_scale"), {"quant_method": "modelopt", "quant_algo": "FP8"},
    ),
    "comfyui": (
        {W: random_codes((9, 16)), M + "scale_weight": HALF, M + "scale_input": HALF, "scaled_fp8": np.zeros(2, F8)},
        (M + "scale_weight", M + "scale_input"), None,
    ),
    "mxfp8": ({W: random_codes((9, 64)), M + "weight_scale": random_scales((9, 2), E8M0).view(np.uint8)},
              (M + "weight_scale",), CT),
}  # fmt: skip
"""Tensors of a weight, which of them are doubled, and the configuration."""

OTHERS = {
    "model.norm.weight": np.ones(8, BF16),
    "lm_head.weight": np.ones((4, 8), np.float32),
    "model.layers.0.self_attn.k_proj.k_scale": np.array([0.5], np.float32),
}


def model(folder: Path, tensors: dict[str, Array], config: Any) -> Path:
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
def test_every_layout(layout: str) -> None:
    """And back: all is what it was but −0 and scales of inputs, which reach farther; values are the same."""
    tensors, scales, config = LAYOUTS[layout]
    source = model(Path("in"), tensors, config)
    report = convert(source, "out", recipe="fnuz", verify=True)
    written, before = read_tensors(Path("out")), read_tensors(source)
    assert written.keys() == before.keys()
    (name,) = {W, X} & tensors.keys()
    codes = tensors[name].view(np.uint8)
    assert 0x80 in codes
    assert (written[name].dtype, written[name].shape) == (E5M2FNUZ if layout == "e5m2" else FNUZ, codes.shape)
    assert written[name].tobytes() == np.where(codes == 0x80, 0, codes).astype(np.uint8).tobytes()
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
        expected = (
            np.where(codes == 0x80, 0, codes).astype(np.uint8).view(tensors[name].dtype)
            if other == name
            else before[other]
        )
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
    source = write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": FP8})
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
def test_nan_is_refused(code: int) -> None:
    codes = random_codes((9, 16)).view(np.uint8)
    codes[8, 3] = code
    source = model(Path("in"), {W: codes.view(F8), W + "_scale_inv": random_scales((1, 1))}, FP8)
    why = r"up_proj\.weight': has a code that is no number, and is one in float8_e4m3fn"
    convert_fails(why, source, "out", recipe="fnuz")


@pytest.mark.parametrize("scale", [np.array([[3e38]], np.float32), np.array([[254]], np.uint8).view(E8M0)], ids=str)
def test_scales_that_have_no_double_are_refused(scale: Array) -> None:
    source = model(Path("in"), {W: random_codes((9, 16)), W + "_scale_inv": scale}, FP8)
    why = r"weight_scale_inv': has a scale of which 2\.0 times is no number in float"
    convert_fails(why, source, "out", recipe="fnuz")


def test_refusals() -> None:
    weight = {W: random_codes((9, 16)), W + "_scale_inv": random_scales((1, 1))}
    lonely = {"model.layers.0.mlp.down_proj.weight": random_codes((4, 4))}
    for name, tensors, options, text in (
        ("lonely", {**weight, **lonely}, {}, r"down_proj\.weight': has no scales that are known"),
        ("kept", weight, {"keep": "*"}, "has no weight in float8_e4m3fn or float8_e5m2 with scales"),
        ("pattern", weight, {"keep": "nothing"}, "has no tensor or module that `keep` 'nothing' names"),
        ("other", {"norm.weight": np.ones(3, BF16)}, {}, "has no weight in float8_e4m3fn or float8_e5m2 with scales"),
    ):
        source = model(Path(name), tensors, FP8)
        convert_fails(text, source, "out", recipe="fnuz", **options)


def test_comfyuis_descriptions_have_no_names_for_it() -> None:
    description = np.frombuffer(b'{"format": "float8_e4m3fn"}', np.uint8)
    tensors = {W: random_codes((9, 16)), M + "weight_scale": HALF, M + "comfy_quant": description}
    write_tensors(Path("in.safetensors"), tensors)
    why = r"up_proj\.weight': is described by comfy_quant, which has no names for MI300"
    convert_fails(why, "in.safetensors", "out.safetensors", recipe="fnuz")
