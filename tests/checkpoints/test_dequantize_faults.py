"""Quantized checkpoints whose tensors do not fit each other or config.json, or whose config.json is no such thing.

An error names a tensor, or an entry: what is wrong is never a default. There is no output.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, convert_fails, everything
from support.command_line import fail, run
from support.typed_tensors import BF16, E8M0, F8, Array, compressed, nibbles, read_tensors, words, write_model

import lowprec as lp
from lowprec.checkpoints import convert

P = "model.layers.0.mlp.up_proj."
TO_BFLOAT16 = ("convert", "in", "out", "--to", "bfloat16", "--progress", "none")
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
Tensors = dict[str, Array]
Source = Callable[[], tuple[Tensors, Any]]
"""The tensors of a weight, without the name of its module, and what config.json says of it."""


def of(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.ones(shape, dtype)


def block() -> tuple[Tensors, Any]:
    return {"weight": of((130, 200), F8), "weight_scale_inv": of((2, 2))}, dict(FP8)


def ue8m0() -> tuple[Tensors, Any]:
    return {"weight": of((130, 200), F8), "scale": of((2, 2), E8M0)}, dict(FP8)


def experts() -> tuple[Tensors, Any]:
    codes = np.arange(4 * 16, dtype=np.uint8).view(np.int8).reshape(4, 16)
    return {"weight": codes, "scale": of((4, 1), E8M0)}, dict(FP8)


def gpt_oss() -> tuple[Tensors, Any]:
    blocks = np.zeros((2, 4, 3, 16), np.uint8)
    return {"w_blocks": blocks, "w_scales": np.full((2, 4, 3), 127, np.uint8)}, {"quant_method": "mxfp4"}


def channel() -> tuple[Tensors, Any]:
    return {"weight": of((6, 40), np.int8), "weight_scale": of((6, 1), BF16)}, compressed(num_bits=8)


def blocks() -> tuple[Tensors, Any]:
    tensors = {"weight": of((128, 256), F8), "weight_scale": of((1, 2))}
    return tensors, compressed(num_bits=8, strategy="block", block_structure=[128, 128])


def pack() -> tuple[Tensors, Any]:
    codes = np.random.default_rng(0).integers(0, 16, (6, 64))
    tensors = {
        "weight_packed": words(codes, 4), "weight_shape": np.array([6, 64]), "weight_scale": of((6, 2), BF16),
        "weight_zero_point": words(codes[:2, :6], 4).T.copy(), "weight_g_idx": np.arange(64, dtype=np.int32) // 32,
    }  # fmt: skip
    return tensors, compressed(num_bits=4, strategy="group", group_size=32)


def nvfp4() -> tuple[Tensors, Any]:
    codes, scales = nibbles(np.zeros((6, 64))), of((6, 4), F8)
    tensors = {"weight_packed": codes, "weight_scale": scales, "weight_global_scale": of((1,))}
    return tensors, compressed(num_bits=4, group_size=16)


def modelopt() -> tuple[Tensors, Any]:
    tensors = {"weight": nibbles(np.zeros((6, 64))), "weight_scale": of((6, 4), F8), "weight_scale_2": of(())}
    return tensors, {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16, "exclude_modules": []}


def rows_of_inputs(**config: Any) -> tuple[Tensors, Any]:
    codes = np.zeros((64, 4) if config["quant_method"] == "awq" else (8, 32), np.int32)
    tensors = {"qweight": codes, "qzeros": np.zeros((2, 4), np.int32), "scales": of((2, 32), np.float16)}
    return tensors, {"bits": 4, "group_size": 32, **config}


awq, gptq = partial(rows_of_inputs, quant_method="awq"), partial(rows_of_inputs, quant_method="gptq", desc_act=False)
auto_round = partial(rows_of_inputs, quant_method="auto-round", packing_format="auto_round:auto_gptq", extra_config={})


def write(tensors: Tensors, config: Any, **others: Array) -> Path:
    content = {**{P + name: one for name, one in tensors.items()}, **others}
    return write_model(Path("in"), {"a.safetensors": content}, {"quantization_config": config})


def last(source: Source, name: str, value: float) -> Array:
    """Return one of the tensors with another last element."""
    array = source()[0][name].copy()
    array.reshape(-1)[-1] = value
    return array


def bytes_of(shape: tuple[int, ...], value: int, dtype: Any = np.uint8) -> Array:
    return np.full(shape, value, np.uint8).view(dtype)


def faults() -> Iterator[tuple[Source, str, Array | None, str]]:
    """Yield a source, the tensor that is another one or absent, the tensor that the error names, and what it says."""
    second = [(nvfp4, "weight_global_scale"), (modelopt, "weight_scale_2")]
    for value in (np.nan, np.inf, -np.inf, -1.0, -0.0):  # scales of integers have either sign
        signed = [] if value in (-1.0, 0.0) else [(channel, "weight_scale")]
        for source, name in ((block, "weight_scale_inv"), *second, *signed):
            yield source, name, last(source, name, value), f"{name}'"
    for source, name, tensor in (
        *((source, name, last(source, name, 0)) for source, name in second),
        (ue8m0, "scale", bytes_of((2, 2), 255, E8M0)), (experts, "scale", bytes_of((4, 1), 255, E8M0)),
        (gpt_oss, "w_scales", bytes_of((2, 4, 3), 255)), (nvfp4, "weight_scale", bytes_of((6, 4), 0x7F, F8)),
        (modelopt, "weight_scale", bytes_of((6, 4), 0x88, F8)),
        *((block, "weight_scale_inv", of(shape)) for shape in (
            (1, 1), (2, 1), (1, 2), (2, 3), (4,), (130, 1), (130, 2), (2, 200), (0, 0), (1, 2, 2), (2,))),
        *((channel, "weight_scale", of(shape, BF16)) for shape in (
            (5, 1), (6, 41), (1, 6), (40,), (2, 3), (7,), (6, 7))),
        (experts, "scale", of((4, 2), E8M0)), (gpt_oss, "w_scales", of((2, 4, 3))),
        (nvfp4, "weight_scale", of((6, 5), F8)), (nvfp4, "weight_scale", of((6, 4))),
        (nvfp4, "weight_global_scale", of((2,))), (nvfp4, "weight_global_scale", of((1,), BF16)),
        (modelopt, "weight_scale", of((6, 4), BF16)), (modelopt, "weight_scale_2", of((6,))),
        (pack, "weight_scale", of((5, 2), BF16)), (pack, "weight_scale", of((6, 2), np.int32)),
        (pack, "weight_zero_point", of((2, 2), np.int32)), (pack, "weight_zero_point", of((1, 2), BF16)),
        (pack, "weight_g_idx", np.full(64, 2, np.int32)), (pack, "weight_g_idx", np.full(64, -1, np.int32)),
        (pack, "weight_g_idx", np.zeros(63, np.int32)),
    ):  # fmt: skip
        yield source, name, tensor, f"{name}'"
    for source, name, tensor, said in (
        (pack, "weight_packed", of((6, 8)), "must be U8, or I32 of two axes; got F32 [6, 8]"),
        (pack, "weight_packed", of((1, 6, 8), np.int32), "must be U8, or I32 of two axes; got I32 [1, 6, 8]"),
        (gpt_oss, "w_scales", of((2, 4, 2), np.uint8), "must be U8 [2, 4, 3]; got U8 [2, 4, 2]"),
        (gpt_oss, "w_scales", of((2, 4, 3), np.int8), "must be U8 [2, 4, 3]; got I8 [2, 4, 3]"),
    ):
        yield source, name, tensor, f"{name}': {said}"
    for shape in ([6, 65], [-6, 64], [6, 64, 1], [2**62, 2**62]):
        yield pack, "weight_shape", np.array(shape), "weight_packed'"
    for source, name, named in (
        (nvfp4, "weight_scale", "weight_packed"), (nvfp4, "weight_global_scale", "weight_scale"),
        (pack, "weight_scale", "weight_packed"), (pack, "weight_shape", "weight_packed"),
        (modelopt, "weight_scale", "weight"), (modelopt, "weight_scale_2", "weight"),
    ):  # fmt: skip
        yield source, name, None, f"{named}'"


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("source", "name", "tensor", "said"), list(faults()))
@pytest.mark.parametrize("others", [False, True], ids=["alone", "among others"])
def test_tensors_that_do_not_fit(source: Source, name: str, tensor: Array | None, said: str, others: bool) -> None:
    tensors, config = source()
    fitting = {"model.layers.1." + one: array for one, array in tensors.items()} if others else {}
    changed = {one: array for one, array in {**tensors, name: tensor}.items() if array is not None}
    write(changed, config, **fitting)
    assert f"'{P}{said}" in fail(*TO_BFLOAT16)


@pytest.mark.parametrize(
    ("source", "scales", "named"),
    [(channel, "weight_scale", "weight"), (experts, "scale", "weight"), (gpt_oss, "w_scales", "w_blocks")],
)
def test_integers_without_scales(source: Source, scales: str, named: str) -> None:
    """Nothing would say any more that they are codes."""
    tensors, config = source()
    others = {"b." + name: one for name, one in tensors.items()}
    write({name: one for name, one in tensors.items() if name != scales}, config, **others)
    assert f"'{P}{named}': has codes" in fail(*TO_BFLOAT16)
    run(*TO_BFLOAT16, f"--exclude={P}*", "--exclude=b.*")
    assert everything(Path("out")).keys() == everything(Path("in")).keys()


def test_narrow_floats_without_scales() -> None:
    """In a checkpoint with scales they are converted by value, and the report says so; without any it is an error."""
    tensors, config = block()
    weight = {"weight": tensors["weight"]}
    write(weight, config).rename("none")
    assert f"'{P}weight'" in fail("convert", "none", "out", "--to", "bfloat16")
    write(weight, config, **{"b." + name: one for name, one in tensors.items()})
    assert f"note: '{P}weight' has no scales; it is converted by value\n" in run(*TO_BFLOAT16)
    assert read_tensors(Path("out"))[P + "weight"].tobytes() == of((130, 200), BF16).tobytes()


NO_BLOCKS = (
    [0, 128], [128, 0], "128", [128], [-1, -1], [128, -1], [True, 128], [128, 128, 128], [128.0, 128], 128,
    ["128", 128], [], {}, False, 0, "", [None, None],
)  # fmt: skip
NO_GROUPS = ("32", [32], 0, -2, 32.0, True, False, {}, "")
NO_LISTS = ("lm_head", 3, {"lm_head": 1}, [3], [None], [["lm_head"]], True, False, 0)
CASES = [
    *((block, "weight_block_size", value, "a list of two positive integers") for value in NO_BLOCKS),
    *((blocks, "block_structure", value, "a list of two positive integers") for value in (*NO_BLOCKS, "128x0", "x")),
    *((pack, "group_size", value, "a positive integer or -1") for value in NO_GROUPS),
    *((pack, "num_bits", value, "an integer from 2 to 8") for value in ("4", [4], 0, 1, 9, -4, 4.0, True, None)),
    *((make, "group_size", one, "a positive integer or -1") for make in (awq, gptq, auto_round) for one in NO_GROUPS),
    *((modelopt, "group_size", value, "an integer from 0 on") for value in ("16", [16], -1, 16.0, True, {})),
    *((gptq, "desc_act", value, "true or false") for value in ("false", 0, 1, [])),
    *((block, "scale_fmt", value, "a text") for value in (1, ["ue8m0"], True)),
    *((auto_round, "extra_config", value, "an object with an object") for value in ([], "x", {"a": 4}, 0, False)),
    *((pack, "config_groups", value, "an object of groups") for value in ([], "x", 1)),
    *((block, key, one, "a list of names") for key in ("modules_to_not_convert", "ignored_layers") for one in NO_LISTS),
    *((make, "modules_to_not_convert", "lm_head", "a list of names") for make in (awq, gptq, auto_round)),
    *((pack, "ignore", value, "a list of names") for value in NO_LISTS),
    *((modelopt, key, value, "a list of names") for key in ("exclude_modules", "ignore") for value in NO_LISTS),
]  # fmt: skip
IN_GROUPS = ("block_structure", "group_size", "num_bits")


def written(make: Source, key: str, value: Any) -> Path:
    tensors, config = make()
    where = config["config_groups"]["group_0"]["weights"] if "config_groups" in config and key in IN_GROUPS else config
    where[key] = value
    return write(tensors, config, **{"model.norm.weight": of((8,), BF16)})


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("make", "key", "value", "must"), CASES)
def test_a_value_that_is_none(make: Source, key: str, value: Any, must: str) -> None:
    """`convert`, `open`, `inspect` and `check` say the same: the file, the entry, what it must be and what it is."""
    source = written(make, key, value)
    text = rf"config\.json: {key} must be {must}.*; got {re.escape(ascii(value)[:40])}"
    for options in ("--to bfloat16", "--recipe fp8-dynamic"):
        assert re.search(text, fail("convert", "in", "out", *options.split()))
    call_fails(text, lp.checkpoints.open, source)
    found = [one for one in lp.checkpoints.check(source) if re.search(text, one.text)]
    assert [(one.kind, one.misread) for one in found] == [("configuration", True)]
    assert re.search("cannot be dequantized: .*" + text, run("inspect", "in"))


@pytest.mark.parametrize(
    ("make", "key", "value"),
    [*((make, "version", "gemm") for make in (block, blocks, pack, modelopt, awq, gptq, auto_round)),
     (block, "weight_block_size", None), (block, "modules_to_not_convert", None), (block, "scale_fmt", None),
     (blocks, "block_structure", "128x128"), (blocks, "block_structure", None), (pack, "group_size", None),
     (pack, "ignore", None), (modelopt, "group_size", None), (modelopt, "exclude_modules", None),
     (gptq, "desc_act", None), (gptq, "group_size", None), (auto_round, "extra_config", None),
     (pack, "config_groups", {"W4A16": ["Linear"]})],
)  # fmt: skip
def test_values_null_and_older_spellings(make: Source, key: str, value: Any) -> None:
    """JSON's null says nothing; compressed-tensors takes "128x128", and a preset's name with a list of modules."""
    source = written(make, key, value)
    convert(source, "out", to="bfloat16")
    assert set(read_tensors(Path("out"))) == {P + "weight", "model.norm.weight"}
    assert not [one for one in lp.checkpoints.check(source) if one.misread and "must be" in one.text]


def test_groups_that_do_not_end_with_a_row() -> None:
    """100 columns with 4 scales: groups of 32 and one of 4, as config.json says, and not 4 groups of 25."""
    scales = np.array([[1, 2, 4, 8]], np.float32)
    tensors = {"weight": of((1, 100), np.int8), "weight_scale": scales}
    convert(write(tensors, compressed(num_bits=8, type="int", strategy="group", group_size=32)), "out", to="float32")
    expected = [1.0] * 32 + [2.0] * 32 + [4.0] * 32 + [8.0] * 4
    assert read_tensors(Path("out"))[P + "weight"].tolist() == [expected]


@pytest.mark.parametrize("groups", [None, {"W4A16": ["Linear"]}])
def test_bits_that_the_shapes_leave_open(groups: Any) -> None:
    """One word holds 8 codes of 2, 3 or 4 bits."""
    shape, scales = np.array([6, 8]), of((6, 1), BF16)
    tensors = {"weight_packed": of((6, 1), np.int32), "weight_shape": shape, "weight_scale": scales}
    write(tensors, {**pack()[1], "config_groups": groups})
    convert_fails(r"fits codes of \[2, 3, 4\] bits: config\.json must say num_bits", "in", "out", to="bfloat16")
