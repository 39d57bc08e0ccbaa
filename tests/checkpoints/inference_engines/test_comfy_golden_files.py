"""Recipes for ComfyUI write comfy-kitchen's bytes, and its files are dequantized to its values; hard numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import leftovers, parse
from support.golden import GOLDEN, digest, tensors_of

from lowprec.checkpoints import convert
from lowprec.checkpoints.inference_engines.comfy_ui import FP8_TOOL, MXFP8_TOOL, NVFP4_TOOL, SCHEMES
from lowprec.checkpoints.schemes.dequantize import Parameters, dequantize
from lowprec.checkpoints.schemes.packing import from_blocked, tiled_shape, to_blocked
from lowprec.checkpoints.schemes.scheme import Tool
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32, Format

FOLDER = GOLDEN / "comfy"
DIGESTS: dict[str, Any] = json.loads((FOLDER / "digests.json").read_text(encoding="utf-8"))
RECIPES = ("comfy-fp8", "comfy-mxfp8", "comfy-nvfp4")
P = "model.diffusion_model."


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_bytes_of_comfy_kitchen(recipe: str, tmp_path: Path) -> None:
    report = convert(FOLDER / "source.safetensors", tmp_path / "x.safetensors", recipe=recipe, verify=True)
    golden = tensors_of(FOLDER, f"{recipe}.safetensors")
    assert tensors_of(tmp_path) == golden
    assert {one.name for one in report.tensors if one.action == "converted"} == DIGESTS[recipe].keys()
    assert report.remarks == []
    assert report.total.bytes_after == sum(len(content) for _, _, content in golden.values())
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("file", [*RECIPES, "padded"])
def test_dequantized_to_the_values_of_comfy_kitchen(file: str, tmp_path: Path) -> None:
    """Products are rounded to float32; a narrower type is rounded to once.

    comfy-kitchen's eager back end, for bfloat16, rounds FP8's scales and NVFP4's products of scales to bfloat16 before
    it multiplies; its Triton kernels do not.
    """
    convert(FOLDER / f"{file}.safetensors", tmp_path / "wide.safetensors", to="float32")
    wide = tensors_of(tmp_path)
    assert {name: digest(wide[name][2]) for name in DIGESTS[file]} == DIGESTS[file]
    assert not any(name.endswith(("comfy_quant", "weight_scale", "weight_scale_2")) for name in wide)
    (tmp_path / "wide.safetensors").unlink()
    convert(FOLDER / f"{file}.safetensors", tmp_path / "x.safetensors", to="bfloat16")
    for name, (dtype, shape, content) in tensors_of(tmp_path).items():
        if name in DIGESTS[file]:
            rounded = np.frombuffer(wide[name][2], np.float32).astype(ml_dtypes.bfloat16)
            assert (dtype, shape, content) == ("BF16", wide[name][1], rounded.tobytes())


def test_the_rows_that_were_added_are_those_beyond_the_bias(tmp_path: Path) -> None:
    stored = parse(FOLDER / "padded.safetensors")[0]
    assert stored["blocks.0.a.weight"]["shape"] == [48, 48]
    convert(FOLDER / "padded.safetensors", tmp_path / "x.safetensors", to="bfloat16")
    shapes = {name: shape for name, (_, shape, _) in tensors_of(tmp_path).items()}
    assert shapes["blocks.0.a.weight"] == (40, 96)  # NVFP4 with a bias
    assert shapes["blocks.0.b.weight"] == (64, 96)  # MXFP8 without


Array = np.ndarray[Any, Any]
TOOLS = {"float8_e4m3fn": FP8_TOOL, "mxfp8": MXFP8_TOOL, "nvfp4": NVFP4_TOOL}


def position(row: int, column: int, columns: int) -> int:
    """Return where cuBLAS has the scale of a row and a column: its page on block scaling factors."""
    tiles = -(-columns // 4)
    tile = row // 128 * tiles + column // 4
    return tile * 512 + row % 32 * 16 + row % 128 // 32 * 4 + column % 4


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (16, 2), (128, 4), (130, 3), (300, 9)])
def test_tiles(rows: int, columns: int) -> None:
    scales = np.random.default_rng(rows).integers(1, 256, (rows, columns)).astype(np.uint8)
    expected = np.zeros(np.prod(tiled_shape(rows, columns)), np.uint8)
    for row in range(rows):
        for column in range(columns):
            expected[position(row, column, columns)] = scales[row, column]
    tiles = to_blocked(scales)
    assert tiles.shape == (-(-rows // 128) * 128, -(-columns // 4) * 4)
    assert (tiles.reshape(-1) == expected).all()
    assert (from_blocked(expected, rows, columns) == scales).all()


def quantized(name: str, x: Array, fmt: Format) -> tuple[Array, Array, Array, np.float32 | None]:
    """Return scales, bytes of codes, values read back, and the scale of the whole tensor."""
    tool: Tool = TOOLS[name]
    largest = float(np.abs(x.astype(np.float64)).max())
    second = None if tool.second_scale is None else tool.second_scale(largest, fmt)
    scales, codes = tool.quantize(x.view(fmt.code_dtype), fmt, SCHEMES[name], second)
    back = np.empty(x.shape, np.float32)
    return scales, codes, dequantize(SCHEMES[name], codes, Parameters(scales, None, second), back), second


@pytest.mark.parametrize("name", ["mxfp8", "nvfp4"])
def test_blocks_of_zeros_have_no_sign_and_other_zeros_do(name: str) -> None:
    x = np.full((1, 64), -0.0, np.float32)
    x[0, 32] = 1
    _, codes, _, _ = quantized(name, x, FLOAT32)
    half, negative_zero = codes.shape[1] // 2, {"mxfp8": 0x80, "nvfp4": 0x88}[name]
    assert not codes[0, :half].any()
    assert codes[0, half + 1] == negative_zero


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


@pytest.mark.parametrize(("fmt", "dtype"), [(BFLOAT16, ml_dtypes.bfloat16), (FLOAT16, np.float16)])
def test_scales_of_tensors_have_the_type_of_the_weight(fmt: Format, dtype: Any) -> None:
    for largest in (0.5, 1.0, 3.25, 7.0):
        assert FP8_TOOL.second_scale is not None
        assert FP8_TOOL.second_scale(largest, fmt) == np.float32(np.float32(largest / 448).astype(dtype))
        assert NVFP4_TOOL.second_scale is not None
        assert NVFP4_TOOL.second_scale(largest, fmt) == np.float32(np.float32(largest / 2688).astype(dtype))
