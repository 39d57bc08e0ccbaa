"""ModelOpt's layout and that of compressed-tensors: codes are copied, peers read the same values; refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import convert_fails, read_json
from support.golden import GOLDEN, digest, tensors_of
from support.scaled_weights import ONE, P, Q, codes, fp8, nvfp4, write_model
from support.typed_tensors import F8, converted, read_tensors, write_tensors

from lowprec.checkpoints import convert

MODELOPT, COMPRESSED = GOLDEN / "modelopt" / "NVFP4", GOLDEN / "NVFP4A16"
DIGESTS: dict[str, Any] = json.loads((GOLDEN / "modelopt" / "digests.json").read_text(encoding="utf-8"))
RELABELLED = {"NVFP4": MODELOPT, "FP8": GOLDEN / "modelopt" / "FP8", "modelopt": COMPRESSED}
"""The golden folders that peers have dequantized in the other layout."""

UNEVEN = np.float32(1485 / 1024)
"""A number whose reciprocal's reciprocal is another one, in float32."""

CACHE = {"dynamic": False, "num_bits": 8, "type": "float"}


def layout_of(source: Path) -> str:
    """Return the other layout."""
    return "modelopt" if source == COMPRESSED else "compressed-tensors"


@pytest.mark.parametrize("source", [MODELOPT, COMPRESSED], ids=["modelopt", "compressed-tensors"])
def test_there_and_back(source: Path) -> None:
    """All is as in the other layout, but the second scale is 1 / x in float32; converting back restores all."""
    out, other = Path("out"), COMPRESSED if source == MODELOPT else MODELOPT
    report = convert(source, out, layout=layout_of(source), verify=True)
    found, before, expected = tensors_of(out), tensors_of(source), tensors_of(other)
    assert {name: one[:2] for name, one in found.items()} == {name: one[:2] for name, one in expected.items()}
    old, new = ("weight_scale_2", "weight_global_scale")[:: 1 if source == MODELOPT else -1]
    packed = ("weight", "weight_packed")[:: 1 if source == MODELOPT else -1]
    for name, (kind, _, content) in before.items():
        if name.endswith(old):
            reciprocal = ONE / np.frombuffer(content, "<f4")
            assert found[name.removesuffix(old) + new][2] == reciprocal.tobytes()
        elif kind == "U8":
            assert found[name.removesuffix(packed[0]) + packed[1]][2] == content
        else:
            assert found[name][2] == content
    assert [one.action for one in report.tensors] == ["kept"] * len(before)
    assert {(one.source, one.target) for one in report.tensors if one.name.endswith(old)} == {("float32", "float32")}
    assert report.to == layout_of(source)
    assert "lossless" in report.remarks[0]
    assert "7 other scales become their reciprocals" in report.remarks[0]
    config, theirs, ours = (read_json(folder / "config.json") for folder in (out, other, source))
    assert config.pop("quantization_config") == theirs["quantization_config"]
    assert {**config, "quantization_config": ours["quantization_config"]} == ours
    assert (out / "hf_quant_config.json").exists() == (other == MODELOPT)
    if other == MODELOPT:
        assert read_json(out / "hf_quant_config.json") == read_json(MODELOPT / "hf_quant_config.json")
    convert(out, "back", layout=layout_of(other))
    assert tensors_of(Path("back")) == before
    assert read_json(Path("back/config.json"))["quantization_config"] == ours["quantization_config"]


@pytest.mark.parametrize(("name", "source"), RELABELLED.items())
def test_peers_read_the_values_that_there_were(name: str, source: Path) -> None:
    """In bfloat16: ours before, ours after, and what the peer's own code makes of it, but for its zeros' signs."""
    convert(source, "out", layout=layout_of(source))
    convert("out", "after", to="bfloat16")
    convert(source, "before", to="bfloat16")
    after = tensors_of(Path("after"))
    assert after == tensors_of(Path("before"))
    for weight, expected in DIGESTS["relabelled"][name].items():
        values = np.frombuffer(after[weight][2], "<u2")
        if name == "modelopt":
            values = np.where(values == 0x8000, 0, values).astype("<u2")
        assert digest(values.tobytes()) == expected


def test_a_reciprocal_that_is_not_undone() -> None:
    assert ONE / (ONE / UNEVEN) != UNEVEN
    tensors = {**nvfp4("modelopt", UNEVEN), **nvfp4("modelopt", np.float32(0.5), module=Q)}
    report = convert(write_model(Path("x"), tensors), Path("y"), layout="compressed-tensors")
    assert "2 other scales" in report.remarks[0]
    assert "for 1 of them the reciprocal of that differs by an ulp" in report.remarks[0]
    assert "lossless" not in report.remarks[0]
    found = read_tensors(Path("y"))
    assert found[f"{P}.weight_global_scale"] == ONE / UNEVEN
    assert found[f"{Q}.weight_global_scale"] == np.float32(2)
    assert "values change by at most 3e-07 of themselves" in report.remarks[0]
    for name in "xy":
        convert(Path(name), f"{name}-wide", to="float32")
    before, after = (read_tensors(Path(f"{name}-wide"))[f"{P}.weight"].astype(np.float64) for name in "xy")
    assert np.any(before != after)
    np.testing.assert_allclose(after, before, rtol=3e-7, atol=0)


def test_nvfp4_with_scales_of_inputs() -> None:
    """The algorithm NVFP4, and compressed-tensors' preset of that name."""
    source = write_model(Path("x"), nvfp4("modelopt", np.float32(0.25), np.float32(0.125)), ignore=["lm_head"])
    found = converted(source, "y", layout="compressed-tensors")
    assert found[f"{P}.input_global_scale"].tolist() == [8.0]
    assert found[f"{P}.weight_global_scale"].tolist() == [4.0]
    entry = read_json(Path("y/config.json"))["quantization_config"]
    assert list(entry["config_groups"]) == ["NVFP4"]
    inputs = {key: one for key, one in entry["config_groups"]["NVFP4"]["input_activations"].items() if one is not None}
    assert inputs == {
        "num_bits": 4, "type": "float", "symmetric": True, "group_size": 16, "strategy": "tensor_group",
        "dynamic": "local", "scale_dtype": "torch.float8_e4m3fn", "observer": "static_minmax", "observer_kwargs": {},
    }  # fmt: skip
    convert("y", "z", layout="modelopt")
    assert tensors_of(Path("z")) == tensors_of(source)
    entry = read_json(Path("z/config.json"))["quantization_config"]
    assert entry["quant_algo"] == "NVFP4"
    assert entry["config_groups"]["group_0"]["input_activations"] == entry["config_groups"]["group_0"]["weights"]
    assert read_json(Path("z/hf_quant_config.json"))["quantization"]["quant_algo"] == "NVFP4"


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_fp8_with_scales_of_inputs(dtype: Any) -> None:
    scale, inputs = np.array([0.25], dtype), np.array([3], dtype)
    source = write_model(Path("x"), fp8(scale, inputs), "compressed-tensors", config_groups={})
    report = convert(source, "y", layout="modelopt")
    found = read_tensors(Path("y"))
    assert {name: (one.dtype.name, one.shape) for name, one in found.items() if name.endswith("_scale")} == {
        f"{P}.weight_scale": ("float32", ()),
        f"{P}.input_scale": ("float32", ()),
    }
    assert (found[f"{P}.weight_scale"], found[f"{P}.input_scale"]) == (0.25, 3)
    assert found[f"{P}.weight"].tobytes() == read_tensors(source)[f"{P}.weight"].tobytes()
    assert report.remarks == ["lossless: codes are copied, and scales keep their values"]
    assert read_json(Path("y/config.json"))["quantization_config"]["quant_algo"] == "FP8"
    assert converted("y", "z", layout="compressed-tensors")[f"{P}.weight_scale"].tolist() == [0.25]
    entry = read_json(Path("z/config.json"))["quantization_config"]["config_groups"]["FP8"]
    assert (entry["weights"]["strategy"], entry["input_activations"]["strategy"]) == ("tensor", "tensor")
    assert entry["input_activations"]["dynamic"] is False


@pytest.mark.parametrize(
    "described", [{"quant_algo": "W4A16_NVFP4"}, {"config_groups": {"group_0": {"weights": {"num_bits": 4}}}}]
)
def test_scales_of_inputs_that_are_not_quantized(described: dict[str, Any]) -> None:
    """There are such files; engines ignore the scales, and must not quantize inputs in the other layout."""
    source = write_model(Path("x"), nvfp4("modelopt", ONE, ONE), **described)
    report = convert(source, "y", layout="compressed-tensors")
    assert f"{P}.input_global_scale" not in read_tensors(Path("y"))
    assert report.remarks[1] == "scales of inputs are left out (1): inputs are not quantized"
    groups = read_json(Path("y/config.json"))["quantization_config"]["config_groups"]
    assert groups["NVFP4A16"]["input_activations"] is None


def test_fp8_without_scales_of_inputs() -> None:
    """Engines of compressed-tensors find them for each token; ModelOpt's need them in the file."""
    source = write_model(Path("x"), fp8(np.float32(0.25)), quant_algo="FP8")
    convert(source, "y", layout="compressed-tensors")
    entry = read_json(Path("y/config.json"))["quantization_config"]["config_groups"]["FP8_DYNAMIC"]
    assert (entry["weights"]["strategy"], entry["input_activations"]["strategy"]) == ("tensor", "token")
    assert entry["input_activations"]["dynamic"] is True
    convert_fails(r"up_proj\.weight': needs an input_scale in the layout modelopt", "y", "z", layout="modelopt")


def test_a_description_in_a_file_of_its_own() -> None:
    """Wildcards become regular expressions, and a cache in FP8 stays one; ModelOpt's file goes away."""
    source = write_model(Path("x"), {**nvfp4("modelopt"), "model.layers.0.self_attn.k_proj.k_scale": np.asarray(ONE)})
    (source / "config.json").write_text('{"model_type": "llama"}')
    listed = {"quant_algo": "NVFP4", "exclude_modules": ["lm_head", "model.visual*"], "kv_cache_quant_algo": "FP8"}
    (source / "hf_quant_config.json").write_text(json.dumps({"producer": {}, "quantization": listed}))
    convert(source, "y", layout="compressed-tensors")
    config = read_json(Path("y/config.json"))
    entry = config.pop("quantization_config")
    assert config == {"model_type": "llama"}
    assert entry["ignore"] == ["lm_head", r"re:model\.visual.*$"]
    assert {key: entry["kv_cache_scheme"][key] for key in (*CACHE, "strategy")} == {**CACHE, "strategy": "tensor"}
    assert not Path("y/hf_quant_config.json").exists()
    assert read_tensors(Path("y"))["model.layers.0.self_attn.k_proj.k_scale"] == ONE
    convert_fails("has no names in the layout modelopt", "y", "z", layout="modelopt")


def test_a_file_without_a_configuration() -> None:
    source = write_tensors(Path("x.safetensors"), nvfp4("modelopt"), {"format": "pt"})
    report = convert(source, "y.safetensors", layout="compressed-tensors")
    assert read_tensors(Path("y.safetensors")).keys() == nvfp4("compressed-tensors").keys()
    assert report.remarks[1] == "config.json of the model must say how it is quantized: compressed-tensors"


@pytest.mark.parametrize("ignore", [3, "lm_head", [3, None], {"a": 1}])
def test_a_list_of_modules_that_is_none(ignore: Any) -> None:
    source = write_model(Path("x"), nvfp4("modelopt"), ignore=ignore)
    why = r"config\.json: ignore must be a list of names of modules; got"
    convert_fails(why, source, "y", layout="compressed-tensors")


BLOCK = {
    f"{P}.weight": codes().view(np.uint8).clip(0, 0x70).view(F8),
    f"{P}.weight_scale_inv": np.ones((1, 1), np.float32),
}
MX = {f"{P}.weight_packed": codes(), f"{P}.weight_scale": np.full((8, 2), 0x7F, np.uint8)}


@pytest.mark.parametrize(
    ("tensors", "method", "layout", "message"),
    [
        (BLOCK, "fp8", "modelopt", "has the layout FP8, and not one of compressed-tensors, modelopt"),
        (MX, "compressed-tensors", "modelopt", "is neither NVFP4 nor FP8 with one scale"),
        (nvfp4("modelopt"), "modelopt", "modelopt", "has the layout modelopt already"),
        ({**nvfp4("modelopt"), **fp8(ONE, ONE, Q)}, "modelopt", "compressed-tensors", "is quantized otherwise than"),
        (
            {**nvfp4("modelopt", ONE, ONE), **nvfp4("modelopt", ONE, module=Q)},
            "modelopt", "compressed-tensors", "is quantized otherwise than",
        ),
        (fp8(np.ones(8, np.float32)), "modelopt", "compressed-tensors", "is neither NVFP4 nor FP8 with one scale"),
        (
            {**fp8(np.ones(1, np.float32), ONE), f"{P}.output_scale": np.asarray(ONE)},
            "compressed-tensors", "modelopt", "output_scale': has no name in the layout modelopt",
        ),
        *((nvfp4("modelopt", np.float32(one)), "modelopt", "compressed-tensors", "must be a positive number")
          for one in (0, np.nan, -1, np.inf)),
        (nvfp4("modelopt", np.float32(1e-42)), "modelopt", "compressed-tensors", "with a finite reciprocal"),
        (nvfp4("modelopt", np.array([1], np.int32)), "modelopt", "compressed-tensors", "must be one float; got I32"),
        ({}, "modelopt", "compressed-tensors", "has no quantized weights"),
    ],
)  # fmt: skip
def test_refusals(tensors: dict[str, np.ndarray], method: str, layout: str, message: str) -> None:
    source = write_model(Path("x"), tensors, method)
    convert_fails(message, source, "y", layout=layout)


@pytest.mark.parametrize("byte", [0x7F, 0xFF, 0x80, 0xB8])
@pytest.mark.parametrize(("layout", "other"), [("modelopt", "compressed-tensors"), ("compressed-tensors", "modelopt")])
def test_scales_of_blocks_that_are_none(layout: str, other: str, byte: int) -> None:
    """NaN, -0 and -1 among scales are not carried into another layout: what reads their values refuses them too."""
    tensors = {name: array.copy() for name, array in nvfp4(layout).items()}
    tensors[f"{P}.weight_scale"].view(np.uint8)[-1, -1] = byte
    source = write_model(Path("x"), tensors, layout)
    convert_fails(r"\.weight_scale': has a scale that is NaN, infinite or negative", source, "y", layout=other)


@pytest.mark.parametrize("cache", ["NVFP4", {"num_bits": 8, "type": "int", "dynamic": False}, 3])
def test_a_cache_in_other_numbers(cache: Any) -> None:
    source = write_model(Path("x"), nvfp4("modelopt"), kv_cache_scheme=cache)
    why = r"the scheme of the cache, .* has no names in the layout compressed-tensors"
    convert_fails(why, source, "y", layout="compressed-tensors")
