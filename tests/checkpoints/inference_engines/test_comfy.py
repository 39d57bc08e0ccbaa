"""Recipes for ComfyUI: comfy-kitchen's bytes and values, hard numbers; which tensors they quantize; folders, faults."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import convert_fails, leftovers, parse
from support.command_line import fail, run
from support.golden import GOLDEN, digest, tensors_of
from support.paths import table
from support.typed_tensors import BF16, F8, FP4, Array, Tensors, converted, read_tensors, write_tensors

from lowprec.checkpoints import convert
from lowprec.checkpoints.containers.container import FileRegion, StoredTensor
from lowprec.checkpoints.inference_engines.comfy_ui import FP8_TOOL, MXFP8_TOOL, NVFP4_TOOL, SCHEMES
from lowprec.checkpoints.recipes import find_recipe
from lowprec.checkpoints.schemes.dequantize import Parameters, dequantize
from lowprec.checkpoints.schemes.scheme import Tool
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32, Format

FOLDER = GOLDEN / "comfy"
DIGESTS: dict[str, Any] = json.loads((FOLDER / "digests.json").read_text(encoding="utf-8"))
RECIPES = ("comfy-fp8", "comfy-mxfp8", "comfy-nvfp4")


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_bytes_of_comfy_kitchen(recipe: str) -> None:
    report = convert(FOLDER / "source.safetensors", "x.safetensors", recipe=recipe, verify=True)
    golden = tensors_of(FOLDER, f"{recipe}.safetensors")
    assert tensors_of(Path()) == golden
    assert {one.name for one in report.tensors if one.action == "converted"} == DIGESTS[recipe].keys()
    assert report.remarks == []
    assert report.total.bytes_after == sum(len(content) for _, _, content in golden.values())
    assert leftovers(Path()) == []


@pytest.mark.parametrize("file", [*RECIPES, "padded"])
def test_dequantized_to_the_values_of_comfy_kitchen(file: str) -> None:
    """Products are rounded to float32; a narrower type is rounded to once.

    comfy-kitchen's eager back end, for bfloat16, rounds FP8's scales and NVFP4's products of scales to bfloat16 before
    it multiplies; its Triton kernels do not.
    """
    convert(FOLDER / f"{file}.safetensors", "wide.safetensors", to="float32")
    wide = tensors_of(Path())
    assert {name: digest(wide[name][2]) for name in DIGESTS[file]} == DIGESTS[file]
    assert not any(name.endswith(("comfy_quant", "weight_scale", "weight_scale_2")) for name in wide)
    Path("wide.safetensors").unlink()
    convert(FOLDER / f"{file}.safetensors", "x.safetensors", to="bfloat16")
    for name, (dtype, shape, content) in tensors_of(Path()).items():
        if name in DIGESTS[file]:
            rounded = np.frombuffer(wide[name][2], np.float32).astype(ml_dtypes.bfloat16)
            assert (dtype, shape, content) == ("BF16", wide[name][1], rounded.tobytes())


def quantized(name: str, x: Array, fmt: Format) -> tuple[Array, Array, Array, np.float32 | None]:
    """Return scales, bytes of codes, values read back, and the scale of the whole tensor."""
    tool: Tool = {"float8_e4m3fn": FP8_TOOL, "mxfp8": MXFP8_TOOL, "nvfp4": NVFP4_TOOL}[name]
    largest = float(np.abs(x.astype(np.float64)).max())
    second = None if tool.second_scale is None else tool.second_scale(largest, fmt)
    scales, codes = tool.quantize(x.view(fmt.code_dtype), fmt, SCHEMES[name], second)
    back = np.empty(x.shape, np.float32)
    return scales, codes, dequantize(SCHEMES[name], codes, Parameters(scales, None, second), back), second


@pytest.mark.parametrize(
    ("power", "ulps", "exponent"),
    [(-100, 39, 27), (-100, 40, 28), (-20, 9, 107), (-20, 10, 108), (0, 0, 127), (0, 1, 128), (5, 2, 132), (5, 3, 133)],
)
def test_a_scale_of_mxfp8_follows_from_a_logarithm_in_float32(power: int, ulps: int, exponent: int) -> None:
    """Magnitudes a little beyond 448 times a power of two have the smaller scale: as comfy-kitchen 0.2.40 computes."""
    x = np.zeros((1, 32), np.float32)
    x[0, 0] = (np.float32(448 * 2.0**power).view(np.uint32) + np.uint32(ulps)).view(np.float32)
    scales, codes, _, _ = quantized("mxfp8", x, FLOAT32)
    assert scales[0, 0] == exponent
    assert codes[0, 0] == (0x7E if exponent == 127 + power else 0x76)


def test_tiny_blocks_of_mxfp8_have_the_smallest_normal_scale() -> None:
    """comfy-kitchen takes exponent code 0 for a factor of 0, and makes infinities of what it divides by it."""
    x = np.zeros((1, 32), np.float32)
    x[0, :3] = 2.0**-126, -(2.0**-125), 2.0**-119
    scales, codes, back, _ = quantized("mxfp8", x, FLOAT32)
    assert scales[0, 0] == 1
    assert (back == x).all()
    assert not codes[0, 3:].any()


def test_small_weights_in_float16() -> None:
    """The reciprocal of the scale would be beyond float16; ComfyUI takes that of 65504."""
    x = np.linspace(-0.004, 0.004, 64).astype(np.float16).reshape(2, 32)
    _, _, back, second = quantized("float8_e4m3fn", x, FLOAT16)
    assert second == np.float32(1) / np.float32(65504)
    np.testing.assert_allclose(back, x.astype(np.float32), rtol=2**-4, atol=2**-9 * float(second))
    _, _, back, second = quantized("nvfp4", (x / 100).astype(np.float16), FLOAT16)
    assert second == np.abs(x / 100).astype(np.float16).max().astype(np.float32) / np.float32(2688)
    assert float(np.abs(back).max()) == pytest.approx(4e-5, rel=0.1)


TABLE = table(__file__)
KEPT: dict[str, list[str]] = TABLE["kept"]


def why(recipe: str, name: str, shape: tuple[int, ...] = (32, 32)) -> str:
    tensor = StoredTensor(name, shape, BFLOAT16, "BF16", FileRegion(Path("x"), 0, 2 * int(np.prod(shape))))
    found = find_recipe(recipe)
    return found.why_unfit(tensor) or found.why_kept(tensor) or found.problem(tensor)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("module", [module for modules in TABLE["quantized"].values() for module in modules])
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


def test_a_folder_of_files() -> None:
    """Files of a folder need no config.json; what they describe stands in themselves."""
    Path("in").mkdir()
    for number, (name, tensor) in enumerate(model().items()):
        write_tensors(Path("in", f"diffusion-0000{number}.safetensors"), {name: tensor})
    tensors = converted("in", "out", recipe="comfy-nvfp4")
    assert {name for name in tensors if name.endswith("comfy_quant")} == {
        f"blocks.{name}.comfy_quant" for name in ("0.q", "1.q", "1.k")
    }
    assert {json.loads(one.tobytes())["format"] for name, one in tensors.items() if "comfy" in name} == {"nvfp4"}
    single = write_tensors(Path("x.safetensors"), model())
    whole = converted(single, "y.safetensors", recipe="comfy-nvfp4")
    assert whole.keys() == tensors.keys()
    assert all(whole[name].tobytes() == tensors[name].tobytes() for name in whole)
    assert converted("out", "back", to="bfloat16").keys() == model().keys()


def test_names_may_be_kept() -> None:
    write_tensors(Path("x.safetensors"), model())
    run("convert", "x.safetensors", "y.safetensors", "--recipe", "comfy-fp8", "--keep", "blocks.1.*")
    assert {name for name in read_tensors(Path("y.safetensors")) if "comfy" in name} == {"blocks.0.q.comfy_quant"}
    convert("x.safetensors", "w.safetensors", recipe="comfy-fp8", also="head", keep="re:.*[qk]")
    assert {name for name in read_tensors(Path("w.safetensors")) if "comfy" in name} == {"head.comfy_quant"}
    write_tensors(Path("x.safetensors"), {"head.weight": np.ones((4, 4), BF16)})
    text = fail("convert", "x.safetensors", "z.safetensors", "--recipe", "comfy-fp8")
    assert text == (
        "x.safetensors: has no weight that the recipe comfy-fp8 quantizes; 'head.weight', BF16 (4, 4): not in a "
        "numbered block; --also quantizes what is kept for its name"
    )


P = "blocks.0.ffn."
METADATA = "_quantization_metadata"


def description(text: object) -> Array:
    return np.frombuffer((text if isinstance(text, str) else json.dumps(text)).encode(), np.uint8)


def fp8() -> Tensors:
    codes = np.arange(16 * 32, dtype=np.uint8).reshape(16, 32) % 0x7F
    said = description({"format": "float8_e4m3fn", "full_precision_matrix_mult": True})
    scales = {"weight_scale": np.array(0.25, np.float32), "input_scale": np.array(1, np.float32)}
    return {"weight": codes.view(F8), **scales, "comfy_quant": said, "bias": np.ones(16, np.float16)}


def mxfp8() -> Tensors:
    tensors = {**fp8(), "weight_scale": np.zeros((128, 4), np.uint8), "comfy_quant": description({"format": "mxfp8"})}
    tensors["weight_scale"].reshape(-1)[[16 * row for row in range(16)]] = 120 + np.arange(16)
    return tensors


def nvfp4() -> Tensors:
    scales = np.zeros((128, 4), np.uint8)
    scales.reshape(-1)[[16 * row + column for row in range(16) for column in range(2)]] = 0x30 + np.arange(32)
    codes = np.arange(256, dtype=np.uint8).reshape(16, 16)
    said = {"weight_scale_2": np.array(0.5, np.float32), "comfy_quant": description({"format": "nvfp4"})}
    return {"weight": codes, "weight_scale": scales.view(F8), **said}


def int8() -> Tensors:
    codes = np.arange(-256, 256).astype(np.int8).reshape(16, 32)
    scales = np.linspace(0.1, 1, 16, dtype=np.float32).reshape(16, 1)
    return {"weight": codes, "weight_scale": scales, "comfy_quant": description({"format": "int8_tensorwise"})}


def values(make: Callable[[], Tensors]) -> Array:
    """Return the values of a weight, by NumPy."""
    tensors = make()
    codes, scales = tensors["weight"], tensors["weight_scale"]
    if make is mxfp8:
        return np.asarray(codes.astype(np.float32) * np.exp2(120.0 + np.arange(16) - 127)[:, None].astype(np.float32))
    if make is nvfp4:
        indices = np.stack([codes >> 4, codes & 15], axis=2).reshape(16, 32)
        factors = scales.reshape(-1)[[16 * row + column for row in range(16) for column in range(2)]]
        return np.asarray(FP4[indices] * np.repeat(factors.astype(np.float32).reshape(16, 2) * np.float32(0.5), 16, 1))
    return np.asarray(codes.astype(np.float32) * scales)


def write(tensors: Tensors, metadata: dict[str, str] | None = None) -> Path:
    return write_tensors(Path("x.safetensors"), {P + name: one for name, one in tensors.items()}, metadata)


@pytest.mark.parametrize("make", [fp8, mxfp8, nvfp4, int8])
@pytest.mark.parametrize("place", ["tensor", "metadata", "both"])
def test_a_description_is_in_a_tensor_or_in_the_metadata(make: Callable[[], Tensors], place: str) -> None:
    """The metadata count where both are there."""
    tensors = dict(make())
    fields = json.loads(tensors["comfy_quant"].tobytes())
    metadata = {METADATA: json.dumps({"format_version": "1.0", "layers": {P[:-1]: fields}}), "format": "pt"}
    if place == "metadata":
        del tensors["comfy_quant"]
    if place == "both":
        tensors["comfy_quant"] = description({"format": "unheard of"})
    write(tensors, None if place == "tensor" else metadata)
    result = converted("x.safetensors", "y.safetensors", to="float32")
    assert result.keys() == {P + "weight", *[P + "bias"] * ("bias" in tensors)}
    assert (result[P + "weight"].view(np.uint32) == values(make).view(np.uint32)).all()
    assert parse(Path("y.safetensors"))[0].get("__metadata__") == (None if place == "tensor" else {"format": "pt"})


@pytest.mark.parametrize(("make", "of"), [(nvfp4, np.uint8), (fp8, np.float16), (fp8, BF16)])
def test_scales_of_another_type(make: Callable[[], Tensors], of: Any) -> None:
    """ComfyUI's files of 2025 have bytes for the scales of NVFP4, which are FP8."""
    scale = make()["weight_scale"]
    write({**make(), "weight_scale": scale.view(of) if of is np.uint8 else scale.astype(of)})
    assert (converted("x.safetensors", "y.safetensors", to="float32")[P + "weight"] == values(make)).all()


FAULTS: dict[str, tuple[Callable[[], Tensors], dict[str, Any], str]] = {
    "no JSON": (fp8, {"comfy_quant": '{"format":'}, "comfy_quant': must be JSON; it is"),
    "not UTF-8": (fp8, {"comfy_quant": np.full(9, 0xFF, np.uint8)}, "comfy_quant': must be JSON"),
    "no object": (fp8, {"comfy_quant": [1]}, "must be described by a JSON object with a"),
    "no format": (fp8, {"comfy_quant": {"a": 1}}, "a JSON object with a format"),
    "not bytes": (fp8, {"comfy_quant": np.ones(4, np.float32)}, "comfy_quant': must be JSON in U8"),
    "too long": (fp8, {"comfy_quant": np.ones(1 << 17, np.uint8)}, "comfy_quant': must be JSON in U8"),
    "deep": (fp8, {"comfy_quant": "[" * 60000}, "comfy_quant': must be JSON"),
    "unknown format": (fp8, {"comfy_quant": {"format": "awq_w4a16"}},
                       "weight': has the format awq_w4a16, which is not supported; only float8_e4m3fn, "),
    "rotated": (int8, {"comfy_quant": {"format": "int8_tensorwise", "convrot": True}},
                "weight': has the format int8_tensorwise, rotated (convrot), which is not supported"),
    "rotated, by its parameters": (int8, {"comfy_quant": {"format": "int8_tensorwise", "params": {"convrot": True}}},
                                   "rotated (convrot)"),
    "scaled columns": (nvfp4, {"pre_quant_scale": np.ones(32, np.float32)}, "pre_quant_scale': is a"),
    "codes of another type": (nvfp4, {"weight": fp8()["weight"]}, "weight': must be U8 of two axes in"),
    "bytes for FP8": (fp8, {"weight": nvfp4()["weight"]}, "weight': must be F8_E4M3 of two axes or more"),
    "experts": (nvfp4, {"weight": np.ones((2, 16, 16), np.uint8)},
                "weight': must be U8 of two axes in the format nvfp4; got U8 [2, 16, 16]"),
    "no scales": (mxfp8, {"weight_scale": None}, "weight': has no weight_scale"),
    "scales of another type": (mxfp8, {"weight_scale": np.ones((128, 4), np.float32)},
                               "weight_scale': must be U8 or F8_E8M0;"),
    "scales that are no tiles": (
        mxfp8, {"weight_scale": np.ones((16, 1), np.uint8)},
        "weight_scale': must be tiles [128, 4], a scale to 32 of 32 columns; got the shape [16, 1]",
    ),
    "columns that are no blocks": (nvfp4, {"weight": np.ones((16, 12), np.uint8)},
                                   "weight_scale': must be tiles [128, 4], a scale"),
    "scales of blocks": (fp8, {"weight_scale": np.ones((2, 2), np.float32)},
                         "weight_scale': has the shape [2, 2], which fits no weight of shape [16, 32]"),
    "scales of parts of rows": (fp8, {"weight_scale": np.ones((16, 2), np.float32)},
                                "weight_scale': must be one scale, or one to each row; got the shape [16, 2]"),
    "no second scale": (nvfp4, {"weight_scale_2": None}, "weight': has no weight_scale_2 in the format nvfp4"),
    "a second scale": (fp8, {"weight_scale_2": np.ones((), np.float32)},
                       "weight_scale_2': is a weight_scale_2 in the format float8_e4m3fn"),
    "a scale that is NaN": (
        mxfp8, {"weight_scale": np.where(np.arange(512) == 16, 0xFF, 120).astype(np.uint8).reshape(128, 4)},
        "weight_scale': has a scale that is NaN, infinite or negative",
    ),
    "a scale of FP8 that is NaN": (fp8, {"weight_scale": np.array(np.nan, np.float32)},
                                   "weight_scale': has a scale that is NaN"),
    "a second scale that is NaN": (nvfp4, {"weight_scale_2": np.array(np.nan, np.float32)},
                                   "weight_scale_2': must be a positive number; got nan"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_tensors_that_do_not_fit_are_an_error_that_names_one(name: str) -> None:
    make, changes, text = FAULTS[name]
    tensors: dict[str, Any] = {**make(), **changes}
    if "comfy_quant" in changes and not isinstance(changes["comfy_quant"], np.ndarray):
        tensors["comfy_quant"] = description(changes["comfy_quant"])
    write({one: array for one, array in tensors.items() if array is not None})
    error = fail("convert", "x.safetensors", "y.safetensors", "--to", "bfloat16", "--progress", "none")
    assert f"'{P}" in error
    assert text in error


def test_what_fills_up_a_tile_is_not_read() -> None:
    tensors = mxfp8()
    tensors["weight_scale"].reshape(-1)[[1, 4, 16 * 16]] = 0xFF  # another column, row 32, row 16
    write(tensors)
    assert (converted("x.safetensors", "y.safetensors", to="float32")[P + "weight"] == values(mxfp8)).all()


NO_LAYERS = "entry _quantization_metadata of its metadata must be JSON with layers"
NO_FORMAT = "must be described by a JSON object with a format"


@pytest.mark.parametrize(
    ("text", "why"),
    [*((text, NO_LAYERS) for text in ("", "[]", "{}", '{"layers": 1}', "[" * 60000)),
     *((json.dumps({"layers": {P[:-1]: entry}}), NO_FORMAT) for entry in ("nvfp4", {"format": 4}))],
    ids=lambda one: one[:40],
)  # fmt: skip
def test_metadata_that_say_nothing_of_a_layer(text: str, why: str) -> None:
    write(fp8(), {METADATA: text})
    convert_fails(why, "x.safetensors", "y.safetensors", to="bfloat16")
    write(fp8(), {METADATA: json.dumps({"layers": {P[:-1]: None}})})  # as if it were not there
    assert (converted("x.safetensors", "y.safetensors", to="float32")[P + "weight"] == values(fp8)).all()
