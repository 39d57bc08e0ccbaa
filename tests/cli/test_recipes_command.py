"""`lowprec recipes`: the list, and what each recipe says that it writes is what it writes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import parse, save
from support.command_line import fail, run

import lowprec as lp
from lowprec.checkpoints.recipes import CHANGES, RECIPES

pytestmark = pytest.mark.usefixtures("working_folder")

NAMES = [one.name for one in RECIPES]
PRESETS = ("fp8-dynamic", "fp8-block", "int8", "w4a16", "w4a16-g32", "mxfp4a16", "mxfp8", "nvfp4a16", "deepseek-fp8",
           "deepseek-fp8-ue8m0")  # fmt: skip

TENSORS = {
    "fp8-dynamic": {"weight": ("float8_e4m3fn", "14336x4096"), "weight_scale": ("bfloat16", "14336x1")},
    "fp8-block": {"weight": ("float8_e4m3fn", "14336x4096"), "weight_scale": ("bfloat16", "112x32")},
    "int8": {"weight": ("int8", "14336x4096"), "weight_scale": ("bfloat16", "14336x1")},
    "w4a16": {"weight_packed": ("int32", "14336x512"), "weight_scale": ("bfloat16", "14336x32"),
              "weight_shape": ("int64", "2")},
    "w4a16-g32": {"weight_packed": ("int32", "14336x512"), "weight_scale": ("bfloat16", "14336x128"),
                  "weight_shape": ("int64", "2")},
    "mxfp4a16": {"weight_packed": ("uint8", "14336x2048"), "weight_scale": ("uint8", "14336x128")},
    "mxfp8": {"weight": ("float8_e4m3fn", "14336x4096"), "weight_scale": ("uint8", "14336x128")},
    "deepseek-fp8": {"weight": ("float8_e4m3fn", "14336x4096"), "weight_scale_inv": ("float32", "112x32")},
    "deepseek-fp8-ue8m0": {"weight": ("float8_e4m3fn", "14336x4096"), "weight_scale_inv": ("float32", "112x32")},
    "nvfp4a16": {"weight_packed": ("uint8", "14336x2048"), "weight_scale": ("float8_e4m3fn", "14336x256"),
                 "weight_global_scale": ("float32", "1")},
}  # fmt: skip
"""What a weight of 14336 x 4096 becomes, from the descriptions of compressed-tensors and of DeepSeek V3."""

FORMULAS = {
    "fp8-dynamic": ["T(absmax / 448)", "float8_e4m3fn(T(x / scale))"],
    "fp8-block": ["T(absmax / 448)", "float8_e4m3fn(T(x / scale))"],
    "int8": ["T(absmax / 127.5)", "int8(T(x / scale))"],
    "w4a16": ["T(absmax / 7.5)", "int4(T(x / scale)), saturated, stored as code + 8"],
    "w4a16-g32": ["T(absmax / 7.5)", "int4(T(x / scale)), saturated, stored as code + 8"],
    "mxfp4a16": ["2^(e - 2)", "one more from 1.75 * 2^e on", "float4_e2m1fn(x / scale); -0 as 0"],
    "mxfp8": ["2^(e - 8)", "one more from 1.75 * 2^e on", "float8_e4m3fn(x / scale)"],
    "deepseek-fp8": ["absmax / 448, in float32; absmax is at least 0.0001", "float8_e4m3fn(x * (448 / absmax))"],
    "deepseek-fp8-ue8m0": ["absmax / 448, rounded up to a power of two", "float8_e4m3fn(x * (1 / scale))"],
    "nvfp4a16": ["* 2688", "T(absmax / 6) * second", "0.125 where that is 0", "code * (scale / second)"],
}


def test_the_list() -> None:
    header, *lines = run("recipes").splitlines()
    assert header.split() == ["recipe", "layout", "what", "is", "written"]
    assert [line.split()[0] for line in lines] == [*NAMES, "fnuz", "fn"]
    for recipe, line in zip((*RECIPES, *CHANGES), lines, strict=True):
        assert line.endswith(recipe.summary)  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe(name: str) -> None:
    recipe = next(one for one in RECIPES if one.name == name)
    out = run("recipes", name)
    assert out.startswith(f"{name}: {recipe.summary}\n")
    for text in (recipe.layout, recipe.readers, recipe.checked, recipe.tool.name):
        assert text in out
    assert "becomes\n" in out, "no example fits the recipe"
    assert max(map(len, out.splitlines())) <= 160


@pytest.mark.parametrize("name", PRESETS)
def test_tensors_and_formulas(name: str) -> None:
    out = run("recipes", name)
    rows = re.findall(r"^  (\w+) +model\.layers\.0\.mlp\.up_proj\.(\w+) +(\w+) +(\w+) +[\d.]+ \w+$", out, re.MULTILINE)
    assert {last: (fmt, shape) for _, last, fmt, shape in rows} == TENSORS[name]
    assert [role for role, *_ in rows][:2] == ["codes", "scales"]
    for formula in FORMULAS[name]:
        assert formula in out


@pytest.mark.parametrize("name", PRESETS)
def test_what_is_printed_is_what_is_written(name: str) -> None:
    """Names and types of a real output, and config.json to the last entry."""
    out = run("recipes", name)
    weight = "model.layers.0.mlp.up_proj.weight"
    Path("in").mkdir()
    tensors = {weight: np.ones((128, 256), ml_dtypes.bfloat16), "lm_head.weight": np.ones((8, 256), ml_dtypes.bfloat16)}
    save(Path("in/model.safetensors"), tensors)
    Path("in/config.json").write_text("{}")
    lp.convert("in", "out", recipe=name)
    header, _ = parse(Path("out/model.safetensors"))
    header.pop("__metadata__", None)
    header.pop("lm_head.weight")
    assert header.keys() == set(re.findall(r"model\.layers\.0\.mlp\.up_proj\.\w+(?= +\w)", out.partition("becomes")[2]))
    printed = json.loads(out[out.index("\n{") :])
    assert printed == json.loads(Path("out/config.json").read_text())["quantization_config"]


def test_experts() -> None:
    """32 experts whose 2880 inputs become the last axis: 90 groups of 32, in 16 bytes each."""
    out = run("recipes", "gptoss-mxfp4")
    name = "model.layers.0.mlp.experts.gate_up_proj"
    assert f"{name} (bfloat16, 32x2880x5760, 1012.5 MiB) becomes\n" in out
    assert f"  codes   {name}_blocks  uint8  32x5760x90x16  253.1 MiB\n" in out
    assert f"  scales  {name}_scales  uint8  32x5760x90     15.8 MiB\n" in out
    assert "absmax / 6, in float32, rounded up to a power of two" in out


def test_changes_of_codes() -> None:
    out = run("recipes", "fnuz")
    assert "codes       float8_e4m3fn becomes float8_e4m3fnuz\n" in out
    assert out.endswith("scales      times 2, those of inputs too\n")
    assert "codes       float8_e4m3fnuz becomes float8_e4m3fn\n" in run("recipes", "fn")


def test_gguf() -> None:
    """14336 x 4096 elements in blocks of 32, of 34 or 18 bytes."""
    for name, kind, nbytes in (("q8_0", "Q8_0", 34), ("q4_0", "Q4_0", 18)):
        out = run("recipes", name)
        assert f"scheme      {kind}: {nbytes} bytes to 32 columns\n" in out
        assert f"{kind}  14336x4096  {14336 * 128 * nbytes / (1 << 20):.1f} MiB\n" in out
        assert "formula     scale  = " in out


def test_no_such_recipe() -> None:
    err = fail("recipes", "fp9")
    assert err.startswith("`NAME` must be one of fp8-dynamic, ")
    assert err.endswith("got 'fp9'")
