"""AutoRound's folders, and scales that are negative: byte for byte what auto-round's own layers multiply by.

golden/auto_round is what auto-round 0.16.1 writes, and its digests are of what it and compressed-tensors read
(renew_auto_round_files.py).
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import call_fails, convert_fails, opened
from support.golden import digest
from support.paths import table
from support.typed_tensors import Tensors, converted, words, write_model

import lowprec as lp
from lowprec.checkpoints import convert

GOLDEN = Path(__file__).parents[1] / "golden" / "auto_round"
DIGESTS = json.loads((GOLDEN / "digests.json").read_text(encoding="utf-8"))
P = "model.layers.0.mlp.up_proj"
Config = dict[str, Any]


def errors(source: Path) -> list[str]:
    return [one.text for one in lp.checkpoints.check(source) if one.misread]


@pytest.mark.parametrize("name", [name for name in DIGESTS if name != "versions"])
def test_folders_of_auto_round(name: str) -> None:
    values = converted(GOLDEN / name, "out", to="float16", verify=True)
    assert DIGESTS[name]
    for weight, (expected, shape) in DIGESTS[name].items():
        assert list(values[weight].shape) == shape
        assert digest(values[weight].tobytes()) == expected
    assert not [one for one in values if "qweight" in one or "scale" in one]
    assert "quantization_config" not in Path("out/config.json").read_text(encoding="utf-8")
    assert not errors(GOLDEN / name)
    some = opened(GOLDEN / name, weight, rows=slice(3, 9), to="float16")
    assert some.tobytes() == values[weight][3:9].tobytes()


def test_a_module_of_16_bits_is_listed() -> None:
    """`extra_config` lists k_proj as plain; without it `check` has a remark on it."""
    shutil.copytree(GOLDEN / "mixed", "in")
    assert not [one for one in lp.checkpoints.check("in") if "k_proj" in one.tensor]
    config = json.loads(Path("in/config.json").read_text(encoding="utf-8"))
    del config["quantization_config"]["extra_config"]["model.layers.0.self_attn.k_proj"]
    Path("in/config.json").write_text(json.dumps(config), encoding="utf-8")
    assert [one for one in lp.checkpoints.check("in") if "k_proj" in one.tensor]


def module(bits: int = 4, inputs: int = 8, scale: float = -0.5, zero: int = 3) -> Tensors:
    """Return GPTQ's tensors of 32 outputs: codes of 9 or 1, one group, a stored zero point."""
    codes = np.full((32, inputs), 9 if bits > 3 else 1)
    return {
        "qweight": words(codes, bits).T.copy(), "qzeros": words(np.full((1, 32), zero), bits),
        "scales": np.full((1, 32), scale, np.float16),
    }  # fmt: skip


def write(modules: dict[str, Tensors], config: Config) -> Path:
    tensors = {f"{name}.{part}": one for name, parts in modules.items() for part, one in parts.items()}
    tensors["model.norm.weight"] = np.ones(8, np.float16)
    said = {"quant_method": "auto-round", "bits": 4, "group_size": -1, "sym": True, **config}
    said = {name: value for name, value in said.items() if value != "absent"}
    return write_model(Path("in"), {"model.safetensors": tensors}, {"quantization_config": said})


def values_of(modules: dict[str, Tensors], config: Config) -> dict[str, float]:
    """Return the value that all elements of a weight have."""
    source = write(modules, config)
    assert not errors(source)
    weights = {name: one for name, one in converted(source, "out", to="float32").items() if name != "model.norm.weight"}
    return {name.removesuffix(".weight"): float(np.unique(one).item()) for name, one in weights.items()}


@pytest.mark.parametrize(
    ("packing", "zero"),
    [("auto_round:auto_gptq", 4), ("auto_round:gptq", 4), ("auto", 4), ("absent", 4), (None, 4), ("auto_round", 3),
     ("auto_round:gptqmodel", 3), ("auto_round:auto_awq", 3), ("auto_round:awq", 3)],
)  # fmt: skip
@pytest.mark.parametrize("method", ["auto-round", "intel/auto-round"])
def test_zero_points_of_each_packing(packing: str | None, zero: int, method: str) -> None:
    """GPTQ's first version stores one less than the zero point; the value is (9 - zero) * -0.5.

    AWQ's words have eight outputs, and zero points as they are.
    """
    awq: Tensors = {
        "qweight": np.full((8, 1), 0x99999999, np.uint32).view(np.int32), "scales": np.full((1, 8), -0.5, np.float16),
        "qzeros": np.full((1, 1), 0x33333333, np.int32),
    }  # fmt: skip
    tensors = awq if packing and "awq" in packing else module()
    assert values_of({P: tensors}, {"packing_format": packing, "quant_method": method}) == {P: (9 - zero) * -0.5}


def test_settings_of_single_modules() -> None:
    """An entry of a module's name counts, then the first expression that matches, then what holds for all."""
    names = [f"model.layers.{i}.mlp.up_proj" for i in range(3)]
    extra = {
        ".*layers\\.[01]\\..*": {"bits": 8}, names[1]: {"bits": 2}, "layers": {"bits": 3}, names[0] + "x": {"bits": 5},
    }  # fmt: skip
    modules = {names[0]: module(8, 4, zero=255), names[1]: module(2, 16, zero=3), names[2]: module(3, 32, zero=7)}
    found = values_of(modules, {"packing_format": "auto_round:auto_gptq", "extra_config": extra})
    assert found == {names[0]: 9 * -0.5, names[1]: -0.5, names[2]: -0.5}  # stored 2 ** bits - 1: zero points of 0


REFUSED: dict[str, tuple[Config, str]] = table(__file__)["refused"]


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_read(case: str) -> None:
    config, text = REFUSED[case]
    source = write({P: module()}, {"packing_format": "auto_round", **config})
    convert_fails(text, source, "out", to="bfloat16")
    call_fails(text, lp.checkpoints.open, source)
    assert len(errors(source)) == 1


@pytest.mark.parametrize("codes", ["weight_packed", "weight"])
def test_other_formats_of_auto_round(codes: str) -> None:
    tensors: Tensors = {codes: np.ones((4, 16), np.uint8), "weight_scale": np.ones((4, 1), np.uint8)}
    if codes == "weight":
        tensors["weight"] = np.ones((4, 16), ml_dtypes.float8_e4m3fn)
    source = write({P: tensors}, {"packing_format": "auto_round:llm_compressor", "data_type": "mx_fp"})
    why = f"{codes}': is in AutoRound's packing_format 'auto_round:llm_compressor', of"
    convert_fails(why, source, "out", to="bfloat16")


def described(method: str, **weights: Any) -> Config:
    if method != "compressed-tensors":
        return {"quant_method": method, **weights}
    return {"quant_method": method, "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}


@pytest.mark.parametrize("kind", ["GPTQ", "compressed-tensors words", "compressed-tensors int8"])
def test_integers_with_scales_of_both_signs(kind: str) -> None:
    """The values are those by fractions."""
    random = np.random.default_rng(5)
    codes, zeros = random.integers(0, 16, (32, 64)), random.integers(0, 16, (32, 2))
    scales = random.uniform(-0.1, 0.1, (32, 2)).astype(np.float16)
    if kind != "GPTQ":
        zeros[:] = 8
    factors = np.repeat([list(map(Fraction, row)) for row in scales.tolist()], 32, axis=1)
    expected = ((codes - np.repeat(zeros, 32, axis=1)) * factors).astype(np.float32)
    if kind == "GPTQ":
        tensors = {
            "qweight": words(codes, 4).T.copy(), "qzeros": words(zeros.T, 4), "scales": np.ascontiguousarray(scales.T),
        }  # fmt: skip
        config = described("gptq", bits=4, group_size=32, checkpoint_format="gptq_v2")
    else:
        tensors, bits = {"weight": (codes - 8).astype(np.int8), "weight_scale": scales}, 8
        if kind == "compressed-tensors words":
            tensors = {"weight_packed": words(codes, 4), "weight_shape": np.array([32, 64]), "weight_scale": scales}
            bits = 4
        config = described("compressed-tensors", num_bits=bits, type="int", strategy="group", group_size=32)
    source = write_model(
        Path("in"), {"model.safetensors": {f"{P}.{name}": one for name, one in tensors.items()}},
        {"quantization_config": config},
    )  # fmt: skip
    assert not [text for text in errors(source) if "scale" in text]
    assert (converted(source, "out", to="float32", verify=True)[f"{P}.weight"] == expected).all()
    convert(source, "again", recipe="int8", verify=True)
    error = np.abs(opened("again", f"{P}.weight", to="float32") - expected).max()
    assert error < np.abs(expected).max() / 100


FLOATS = {
    "FP8": (
        {"weight": np.ones((32, 64), ml_dtypes.float8_e4m3fn), "weight_scale_inv": np.float32([[-1]])},
        described("fp8", weight_block_size=[128, 128]),
    ),
    "FP8 per row": (
        {"weight": np.ones((4, 64), ml_dtypes.float8_e4m3fn), "weight_scale": np.float32([[1], [-1], [1], [1]])},
        described("compressed-tensors", num_bits=8, type="float", strategy="channel"),
    ),
    "lowprec": ({"weight": np.ones((4, 64), np.int8), "weight_scale": np.float32([1, -1, 1, 1])}, None),
}  # fmt: skip


@pytest.mark.parametrize("kind", FLOATS)
def test_elsewhere_a_negative_scale_is_an_error(kind: str) -> None:
    """Those have the largest magnitude over a positive number."""
    tensors, config = FLOATS[kind]
    named = {f"{P}.{name}": one for name, one in tensors.items()}
    source = write_model(Path("in"), {"model.safetensors": named}, {"quantization_config": config} if config else {})
    convert_fails("has a scale that is NaN, infinite or negative", source, "out", to="bfloat16")
    assert any("has 1 negative among" in text for text in errors(source))
