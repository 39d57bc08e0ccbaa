"""docs/checkpoints/readers.txt, a table made by running engines, has all recipes; these and `check` agree with it."""

from __future__ import annotations

import json
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from support.command_line import run
from support.paths import TESTS
from support.tiny_models import experts_config, llama, llama_config, separate_experts, write_folder
from support.typed_tensors import read_tensors, write_model

from lowprec.checkpoints import check, convert
from lowprec.checkpoints.checking.finding import Finding
from lowprec.checkpoints.checking.readers import TRANSFORMERS, VLLM, is_of_expert
from lowprec.checkpoints.recipes import RECIPES

TABLE = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (TESTS.parent / "docs" / "checkpoints" / "readers.txt").read_text(encoding="utf-8").splitlines()
    if line.startswith("|")
]
HEADER, ROWS = TABLE[0], {row[0].strip("`"): row[1:] for row in TABLE[2:]}
ENGINES = ("transformers", "vLLM")
FOLDERS = [name for name, row in ROWS.items() if row[0] != "–"]
DESCRIBED = [name for name in FOLDERS if not name.startswith(("comfy", "gptoss"))]
"""Recipes for folders, and those that need no other model and write a description of it."""

ORDINARY = ("dense", "tied")


def reads(cell: str) -> tuple[bool, bool]:
    """Return whether an engine reads dense models, and mixtures of experts, as a cell of the table says."""
    said: dict[str, bool] = {}
    for part in cell.split("; "):
        kinds, _, word = part.rpartition(": ")
        for kind in kinds.split(", ") if kinds else (*ORDINARY, "experts"):
            said["experts" if kind not in ORDINARY else kind] = word.startswith("reads")
    assert len({said[kind] for kind in ORDINARY if kind in said}) < 2, cell
    return said.get("dense", said["experts"]), said["experts"]


def test_all_recipes_are_in_the_table() -> None:
    assert list(ROWS) == [one.name for one in RECIPES]
    assert HEADER[1:3] == [TRANSFORMERS, f"{VLLM}, its loader"]
    assert len(FOLDERS) == 17


@pytest.mark.parametrize("column", range(2))
@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_said_of_a_recipe(name: str, column: int) -> None:
    out = run("recipes", name).splitlines()
    readers = next(line for line in out if line.startswith("read by"))
    limits = [line for line in out if line.startswith("limits") and f"{ENGINES[column]} " in line]
    of_experts = [line for line in limits if "mixtures of experts" in line]
    dense, experts = reads(ROWS[name][column])
    assert (ENGINES[column] in readers) == dense
    assert bool(len(limits) - len(of_experts)) == (not dense)
    assert bool(of_experts) == (dense and not experts)


@pytest.mark.parametrize("kind", ["dense", "experts"])
@pytest.mark.parametrize("name", DESCRIBED)
def test_check_warns(name: str, kind: str) -> None:
    source = (llama(), llama_config()) if kind == "dense" else (separate_experts(), experts_config())
    convert(write_folder(Path("in"), *source), Path("out"), recipe=name)
    warned = warnings(Path("out"))
    expected = [engine for engine, cell in zip(ENGINES, ROWS[name], strict=False) if not reads(cell)[kind == "experts"]]
    assert [one.text.partition(" ")[0] for one in warned] == expected
    assert run("check", "out", "--progress", "none").count("warning: ") == len(expected)


def warnings(folder: Path) -> list[Finding]:
    findings = check(folder)
    assert not [one for one in findings if one.misread]
    return [one for one in findings if one.kind == "readers"]


def test_one_warning_names_the_first_weight_and_counts_the_others() -> None:
    convert(write_folder(Path("in"), separate_experts(), experts_config()), Path("out"), recipe="nvfp4a16")
    (warning,) = warnings(Path("out"))
    assert str(warning) == (
        "warning: 'model.layers.0.mlp.experts.0.down_proj' and 8 more like it: transformers 5.23.0 loads NVFP4 experts "
        "without weight_global_scale: their values are wrong"
    )
    assert ">warning</t" in check(Path("out"))._repr_html_()


def test_experts_with_zero_points() -> None:
    """As transformers 5.23.0 fails on llm-compressor's W4A16_ASYM; the codes of our W4A16 get zero points here."""
    folder = Path("out")
    convert(write_folder(Path("in"), separate_experts(), experts_config()), folder, recipe="w4a16")
    assert warnings(folder) == []
    tensors, config = read_tensors(folder), json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for group in config["quantization_config"]["config_groups"].values():
        group["weights"]["symmetric"] = False
    for name in [one for one in tensors if one.endswith("weight_scale")]:
        rows, groups = tensors[name].shape
        tensors[name.replace("_scale", "_zero_point")] = np.full((rows // 8, groups), 0x77777777, np.int32)
    changed = write_model(Path("zero"), {"model.safetensors": tensors}, config)
    assert [one.text for one in warnings(changed)] == ["transformers 5.23.0 does not load experts with zero points"]


def test_other_files_and_modules_are_no_matter() -> None:
    """A file alone is loaded by no engine as it is; shared experts are ordinary layers."""
    names = {"model.layers.0.mlp.shared_experts.up_proj.weight": False, "experts.0.w1.weight": True, "experts.w": False}
    assert {name: is_of_expert(name) for name in names} == names
    weight = {next(iter(names)): np.ones((128, 128), ml_dtypes.bfloat16)}
    source = write_model(Path("in"), {"a.safetensors": weight}, {})
    convert(source / "a.safetensors", "one.safetensors", recipe="nvfp4a16")
    assert not [one for one in check(Path("one.safetensors")) if one.kind == "readers"]
