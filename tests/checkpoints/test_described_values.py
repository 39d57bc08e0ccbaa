"""What config.json says of blocks, groups, bits and modules: a value that is none is an error, never a default."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.command_line import fail, run
from support.typed_tensors import Array, Tensors, nibbles, read_tensors, words, write_model

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

BF16, F8 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn)
P = "model.layers.0.mlp.up_proj."
Config = dict[str, Any]


def fp8() -> tuple[Tensors, Config]:
    tensors = {P + "weight": np.ones((128, 256), F8), P + "weight_scale_inv": np.ones((1, 2), np.float32)}
    return tensors, {"quant_method": "fp8", "weight_block_size": [128, 128]}


def compressed(tensors: Tensors, **weights: Any) -> tuple[Tensors, Config]:
    groups = {"group_0": {"targets": ["Linear"], "weights": weights}}
    return tensors, {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}


def blocks() -> tuple[Tensors, Config]:
    tensors = {P + "weight": np.ones((128, 256), F8), P + "weight_scale": np.ones((1, 2), np.float32)}
    return compressed(tensors, num_bits=8, strategy="block", block_structure=[128, 128])


def pack() -> tuple[Tensors, Config]:
    tensors = {
        P + "weight_packed": words(np.full((6, 64), 9), 4), P + "weight_shape": np.array([6, 64]),
        P + "weight_scale": np.ones((6, 2), BF16),
    }  # fmt: skip
    return compressed(tensors, num_bits=4, strategy="group", group_size=32)


def modelopt() -> tuple[Tensors, Config]:
    tensors = {
        P + "weight": nibbles(np.zeros((6, 64))), P + "weight_scale": np.ones((6, 4), F8),
        P + "weight_scale_2": np.ones((), np.float32),
    }  # fmt: skip
    return tensors, {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "exclude_modules": []}


def rows_of_inputs(**config: Any) -> tuple[Tensors, Config]:
    tensors: Tensors = {
        P + "qweight": np.zeros((64, 4) if config["quant_method"] == "awq" else (8, 32), np.int32),
        P + "qzeros": np.zeros((2, 4), np.int32), P + "scales": np.ones((2, 32), np.float16),
    }  # fmt: skip
    return tensors, {"bits": 4, "group_size": 32, **config}


def awq() -> tuple[Tensors, Config]:
    return rows_of_inputs(quant_method="awq")


def gptq() -> tuple[Tensors, Config]:
    return rows_of_inputs(quant_method="gptq", desc_act=False)


def auto_round() -> tuple[Tensors, Config]:
    return rows_of_inputs(quant_method="auto-round", packing_format="auto_round:auto_gptq", extra_config={})


NO_BLOCKS = (
    [0, 128], [128, 0], "128", [128], [-1, -1], [128, -1], [True, 128], [128, 128, 128], [128.0, 128], 128,
    ["128", 128], [], {}, False, 0, "", [None, None],
)  # fmt: skip
NO_GROUPS = ("32", [32], 0, -2, 32.0, True, False, {}, "")
NO_BITS = ("4", [4], 0, 1, 9, -4, 4.0, True, None)
NO_LISTS = ("lm_head", 3, {"lm_head": 1}, [3], [None], [["lm_head"]], True, False, 0)


CASES = [
    *((fp8, "weight_block_size", value, "a list of two positive integers") for value in NO_BLOCKS),
    *((blocks, "block_structure", value, "a list of two positive integers") for value in (*NO_BLOCKS, "128x0", "x")),
    *((pack, "group_size", value, "a positive integer or -1") for value in NO_GROUPS),
    *((pack, "num_bits", value, "an integer from 2 to 8") for value in NO_BITS),
    *((make, "group_size", one, "a positive integer or -1") for make in (awq, gptq, auto_round) for one in NO_GROUPS),
    *((modelopt, "group_size", value, "an integer from 0 on") for value in ("16", [16], -1, 16.0, True, {})),
    *((gptq, "desc_act", value, "true or false") for value in ("false", 0, 1, [])),
    *((fp8, "scale_fmt", value, "a text") for value in (1, ["ue8m0"], True)),
    *((auto_round, "extra_config", value, "an object with an object") for value in ([], "x", {"a": 4}, 0, False)),
    *((pack, "config_groups", value, "an object of groups") for value in ([], "x", 1)),
    *((fp8, key, one, "a list of names") for key in ("modules_to_not_convert", "ignored_layers") for one in NO_LISTS),
    *((make, "modules_to_not_convert", "lm_head", "a list of names") for make in (awq, gptq, auto_round)),
    *((pack, "ignore", value, "a list of names") for value in NO_LISTS),
    *((modelopt, key, value, "a list of names") for key in ("exclude_modules", "ignore") for value in NO_LISTS),
]  # fmt: skip
IN_GROUPS = ("block_structure", "group_size", "num_bits")


def written(make: Any, key: str, value: Any) -> Path:
    """Write a model whose configuration has a value."""
    tensors, config = make()
    where = config["config_groups"]["group_0"]["weights"] if "config_groups" in config and key in IN_GROUPS else config
    where[key] = value
    norm: dict[str, Array] = {"model.norm.weight": np.ones(8, BF16)}
    return write_model(Path("in"), {"model.safetensors": {**tensors, **norm}}, {"quantization_config": config})


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("make", "key", "value", "must"), CASES)
def test_a_value_that_is_none(make: Any, key: str, value: Any, must: str) -> None:
    """`convert`, `open`, `inspect` and `check` say the same: the file, the entry, what it must be and what it is."""
    source = written(make, key, value)
    text = rf"config\.json: {key} must be {must}.*; got {re.escape(ascii(value)[:40])}"
    for options in ("--to bfloat16", "--recipe fp8-dynamic"):
        assert re.search(text, fail("convert", "in", "out", *options.split()))
        assert not Path("out").exists()
    with pytest.raises(FileError, match=text):
        lp.checkpoints.open(source)
    found = [one for one in lp.checkpoints.check(source) if re.search(text, one.text)]
    assert [(one.kind, one.misread) for one in found] == [("configuration", True)]
    assert re.search("cannot be dequantized: .*" + text, run("inspect", "in"))


@pytest.mark.parametrize("make", [fp8, blocks, pack, modelopt, awq, gptq, auto_round])
def test_the_same_with_values(make: Any) -> None:
    source = written(make, "version", "gemm")
    convert(source, "out", to="bfloat16")
    assert set(read_tensors(Path("out"))) == {P + "weight", "model.norm.weight"}
    assert not [one for one in lp.checkpoints.check(source) if one.misread and "must be" in one.text]


@pytest.mark.parametrize(
    ("make", "key", "value"),
    [(fp8, "weight_block_size", None), (fp8, "modules_to_not_convert", None), (fp8, "scale_fmt", None),
     (blocks, "block_structure", "128x128"), (blocks, "block_structure", None), (pack, "group_size", None),
     (pack, "ignore", None), (modelopt, "group_size", None), (modelopt, "exclude_modules", None),
     (gptq, "desc_act", None), (gptq, "group_size", None), (auto_round, "extra_config", None),
     (pack, "config_groups", {"W4A16": ["Linear"]})],
)  # fmt: skip
def test_null_and_older_spellings(make: Any, key: str, value: Any) -> None:
    """JSON's null says nothing; compressed-tensors takes "128x128", and a preset's name with a list of modules."""
    convert(written(make, key, value), "out", to="bfloat16")
    assert P + "weight" in read_tensors(Path("out"))


def test_groups_that_do_not_end_with_a_row() -> None:
    """100 columns with 4 scales: groups of 32 and one of 4, as config.json says, and not 4 groups of 25."""
    scales = np.array([[1, 2, 4, 8]], np.float32)
    tensors: Tensors = {P + "weight": np.ones((1, 100), np.int8), P + "weight_scale": scales}
    tensors, config = compressed(tensors, num_bits=8, type="int", strategy="group", group_size=32)
    write_model(Path("in"), {"model.safetensors": tensors}, {"quantization_config": config})
    convert("in", "out", to="float32")
    expected = [1.0] * 32 + [2.0] * 32 + [4.0] * 32 + [8.0] * 4
    assert read_tensors(Path("out"))[P + "weight"].tolist() == [expected]


@pytest.mark.parametrize("groups", [None, {"W4A16": ["Linear"]}])
def test_bits_that_the_shapes_leave_open(groups: Any) -> None:
    """One word holds 8 codes of 2, 3 or 4 bits."""
    tensors, config = pack()
    tensors = {P + "weight_packed": np.ones((6, 1), np.int32), P + "weight_shape": np.array([6, 8]),
               P + "weight_scale": np.ones((6, 1), BF16)}  # fmt: skip
    config["config_groups"] = groups
    write_model(Path("in"), {"model.safetensors": tensors}, {"quantization_config": config})
    with pytest.raises(FileError, match=r"fits codes of \[2, 3, 4\] bits: config\.json must say num_bits"):
        convert("in", "out", to="bfloat16")
