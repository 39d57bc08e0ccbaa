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
from support.paths import table

import lowprec as lp
from lowprec.checkpoints.recipes import CHANGES, RECIPES

pytestmark = pytest.mark.usefixtures("working_folder")

NAMES = [one.name for one in RECIPES]
TENSORS, FORMULAS = table(__file__).values()
"""What a weight of 14336 x 4096 becomes, and by which formulas."""


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


@pytest.mark.parametrize("name", TENSORS)
def test_tensors_and_formulas(name: str) -> None:
    out = run("recipes", name)
    rows = re.findall(r"^  (\w+) +model\.layers\.0\.mlp\.up_proj\.(\w+) +(\w+) +(\w+) +[\d.]+ \w+$", out, re.MULTILINE)
    assert {last: [fmt, shape] for _, last, fmt, shape in rows} == TENSORS[name]
    assert [role for role, *_ in rows][:2] == ["codes", "scales"]
    for formula in FORMULAS[name]:
        assert formula in out


@pytest.mark.parametrize("name", TENSORS)
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
