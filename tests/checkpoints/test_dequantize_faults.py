"""Quantized checkpoints whose tensors do not fit each other or config.json: an error that names one, and no output."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import everything, leftovers
from support.command_line import fail, run
from support.typed_tensors import Array, nibbles, read_tensors, words, write_model, write_tensors

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

BF16, F8, E8M0 = np.dtype(ml_dtypes.bfloat16), np.dtype(ml_dtypes.float8_e4m3fn), np.dtype(ml_dtypes.float8_e8m0fnu)
P = "model.layers.0.mlp.up_proj."
FP8 = {"quant_method": "fp8", "weight_block_size": [128, 128]}
Tensors = dict[str, Array]


def ct(**weights: Any) -> dict[str, Any]:
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": weights}}}


def block() -> tuple[Tensors, Any]:
    return {"weight": np.ones((130, 200), F8), "weight_scale_inv": np.ones((2, 2), np.float32)}, FP8


def ue8m0() -> tuple[Tensors, Any]:
    return {"weight": np.ones((130, 200), F8), "scale": np.ones((2, 2), E8M0)}, FP8


def experts() -> tuple[Tensors, Any]:
    codes = np.arange(4 * 16, dtype=np.uint8).view(np.int8).reshape(4, 16)
    return {"weight": codes, "scale": np.ones((4, 1), E8M0)}, FP8


def gpt_oss() -> tuple[Tensors, Any]:
    blocks = np.zeros((2, 4, 3, 16), np.uint8)
    return {"w_blocks": blocks, "w_scales": np.full((2, 4, 3), 127, np.uint8)}, {"quant_method": "mxfp4"}


def channel() -> tuple[Tensors, Any]:
    return {"weight": np.ones((6, 40), np.int8), "weight_scale": np.ones((6, 1), BF16)}, ct(num_bits=8)


def pack() -> tuple[Tensors, Any]:
    codes = np.random.default_rng(0).integers(0, 16, (6, 64))
    tensors = {
        "weight_packed": words(codes, 4), "weight_shape": np.array([6, 64]), "weight_scale": np.ones((6, 2), BF16),
        "weight_zero_point": words(codes[:2, :6], 4).T.copy(), "weight_g_idx": np.arange(64, dtype=np.int32) // 32,
    }  # fmt: skip
    return tensors, ct(num_bits=4, group_size=32)


def nvfp4() -> tuple[Tensors, Any]:
    tensors = {
        "weight_packed": nibbles(np.zeros((6, 64))), "weight_scale": np.ones((6, 4), F8),
        "weight_global_scale": np.ones(1, np.float32),
    }  # fmt: skip
    return tensors, ct(num_bits=4, group_size=16)


def modelopt() -> tuple[Tensors, Any]:
    tensors = {
        "weight": nibbles(np.zeros((6, 64))), "weight_scale": np.ones((6, 4), F8),
        "weight_scale_2": np.ones((), np.float32),
    }  # fmt: skip
    return tensors, {"quant_method": "modelopt", "quant_algo": "NVFP4"}


def of(shape: tuple[int, ...], dtype: Any = np.float32) -> Array:
    return np.ones(shape, dtype)


def last(source: Callable[[], tuple[Tensors, Any]], name: str, value: float) -> Array:
    """Return one of the tensors with another last element."""
    array = source()[0][name].copy()
    array.reshape(-1)[-1] = value
    return array


def faults() -> Iterator[Any]:
    """Yield a source, the tensor that is another one or absent, and the tensor that the error names."""
    for value in (np.nan, np.inf, -np.inf, -1.0, -0.0):
        yield block, "weight_scale_inv", last(block, "weight_scale_inv", value), "weight_scale_inv"
        if value not in (-1.0, 0.0):  # scales of integers have either sign
            yield channel, "weight_scale", last(channel, "weight_scale", value), "weight_scale"
        yield nvfp4, "weight_global_scale", last(nvfp4, "weight_global_scale", value), "weight_global_scale"
        yield modelopt, "weight_scale_2", last(modelopt, "weight_scale_2", value), "weight_scale_2"
    yield nvfp4, "weight_global_scale", last(nvfp4, "weight_global_scale", 0), "weight_global_scale"
    yield modelopt, "weight_scale_2", last(modelopt, "weight_scale_2", 0), "weight_scale_2"
    yield ue8m0, "scale", np.full((2, 2), 255, np.uint8).view(E8M0), "scale"
    yield experts, "scale", np.full((4, 1), 255, np.uint8).view(E8M0), "scale"
    yield gpt_oss, "w_scales", np.full((2, 4, 3), 255, np.uint8), "w_scales"
    yield nvfp4, "weight_scale", np.full((6, 4), 0x7F, np.uint8).view(F8), "weight_scale"
    yield modelopt, "weight_scale", np.full((6, 4), 0x88, np.uint8).view(F8), "weight_scale"
    # shapes
    for shape in [(1, 1), (2, 1), (1, 2), (2, 3), (4,), (130, 1), (130, 2), (2, 200), (0, 0), (1, 2, 2), (2,)]:
        yield block, "weight_scale_inv", of(shape), "weight_scale_inv"
    for shape in [(5, 1), (6, 41), (1, 6), (40,), (2, 3), (7,), (6, 7)]:
        yield channel, "weight_scale", of(shape, BF16), "weight_scale"
    yield experts, "scale", of((4, 2), E8M0), "scale"
    yield gpt_oss, "w_scales", np.ones((2, 4, 2), np.uint8), "w_scales"
    yield gpt_oss, "w_scales", np.ones((2, 4, 3), np.float32), "w_scales"
    yield nvfp4, "weight_scale", of((6, 5), F8), "weight_scale"
    yield nvfp4, "weight_scale", of((6, 4)), "weight_scale"
    yield nvfp4, "weight_global_scale", of((2,)), "weight_global_scale"
    yield nvfp4, "weight_global_scale", of((1,), BF16), "weight_global_scale"
    yield modelopt, "weight_scale", of((6, 4), BF16), "weight_scale"
    yield modelopt, "weight_scale_2", of((6,)), "weight_scale_2"
    yield pack, "weight_scale", of((5, 2), BF16), "weight_scale"
    yield pack, "weight_scale", of((6, 2), np.int32), "weight_scale"
    yield pack, "weight_shape", np.array([6, 65]), "weight_packed"
    yield pack, "weight_shape", np.array([-6, 64]), "weight_packed"
    yield pack, "weight_shape", np.array([6, 64, 1]), "weight_packed"
    yield pack, "weight_shape", np.array([2**62, 2**62]), "weight_packed"
    yield pack, "weight_zero_point", np.ones((2, 2), np.int32), "weight_zero_point"
    yield pack, "weight_zero_point", of((1, 2), BF16), "weight_zero_point"
    yield pack, "weight_g_idx", np.full(64, 2, np.int32), "weight_g_idx"
    yield pack, "weight_g_idx", np.full(64, -1, np.int32), "weight_g_idx"
    yield pack, "weight_g_idx", np.zeros(63, np.int32), "weight_g_idx"
    # what is missing
    yield nvfp4, "weight_scale", None, "weight_packed"
    yield nvfp4, "weight_global_scale", None, "weight_scale"
    yield pack, "weight_scale", None, "weight_packed"
    yield pack, "weight_shape", None, "weight_packed"
    yield modelopt, "weight_scale", None, "weight"
    yield modelopt, "weight_scale_2", None, "weight"


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("source", "name", "tensor", "named"), list(faults()))
@pytest.mark.parametrize("others", [False, True], ids=["alone", "among others"])
def test_tensors_that_do_not_fit(
    source: Callable[[], tuple[Tensors, Any]], name: str, tensor: Array | None, named: str, others: bool,
    ) -> None:  # fmt: skip
    tensors, config = source()
    fitting = {"model.layers.1." + one: array for one, array in tensors.items()} if others else {}
    tensors = {one: array for one, array in {**tensors, name: tensor}.items() if array is not None}
    content = {P + one: array for one, array in tensors.items()}
    write_model(Path("in"), {"a.safetensors": {**content, **fitting}}, {"quantization_config": config})
    before = everything(Path("in"))
    text = fail("convert", "in", "out", "--to", "bfloat16", "--progress", "none")
    assert f"{P}{named}'" in text
    assert everything(Path("in")) == before
    assert not Path("out").exists()
    assert not leftovers(Path())


@pytest.mark.parametrize("words_of", [np.ones((6, 8), np.float32), np.ones((1, 6, 8), np.int32)], ids=["F32", "I32"])
def test_words_of_another_type_or_rank(words_of: Array) -> None:
    tensors, config = pack()
    content = {P + one: array for one, array in {**tensors, "weight_packed": words_of}.items()}
    write_model(Path("in"), {"a.safetensors": content}, {"quantization_config": config})
    text = fail("convert", "in", "out", "--to", "bfloat16", "--progress", "none")
    got = {"float32": "F32 [6, 8]", "int32": "I32 [1, 6, 8]"}[words_of.dtype.name]
    assert text == f"in: '{P}weight_packed': must be U8, or I32 of two axes; got {got}"


@pytest.mark.parametrize(
    ("source", "scales", "named"),
    [(channel, "weight_scale", "weight"), (experts, "scale", "weight"), (gpt_oss, "w_scales", "w_blocks")],
)
def test_integers_without_scales(source: Callable[[], tuple[Tensors, Any]], scales: str, named: str) -> None:
    """Nothing would say any more that they are codes."""
    tensors, config = source()
    content = {prefix + one: array for prefix in (P, "b.") for one, array in tensors.items()}
    del content[P + scales]
    write_model(Path("in"), {"a.safetensors": content}, {"quantization_config": config})
    text = fail("convert", "in", "out", "--to", "bfloat16", "--progress", "none")
    assert f"'{P}{named}': has codes" in text
    run("convert", "in", "out", "--to", "bfloat16", f"--exclude={P}*", "--exclude=b.*")
    assert everything(Path("out")).keys() == everything(Path("in")).keys()


def test_narrow_floats_without_scales() -> None:
    """In a checkpoint with scales they are converted by value, and the report says so; without any it is an error."""
    tensors, config = block()
    write_model(Path("none"), {"a.safetensors": {P + "weight": tensors["weight"]}}, {"quantization_config": config})
    assert f"'{P}weight'" in fail("convert", "none", "out", "--to", "bfloat16")
    content = {P + "weight": tensors["weight"], **{"b." + name: one for name, one in tensors.items()}}
    write_model(Path("in"), {"a.safetensors": content}, {"quantization_config": config})
    text = run("convert", "in", "out", "--to", "bfloat16", "--progress", "none")
    assert f"note: '{P}weight' has no scales; it is converted by value\n" in text
    assert read_tensors(Path("out"))[P + "weight"].tobytes() == np.ones((130, 200), BF16).tobytes()


CONFIGS = {
    "8 bits": (pack, ct(num_bits=8, group_size=32), "weight_packed"),
    "3 bits": (pack, ct(num_bits=3, group_size=32), "weight_packed"),
    "smaller blocks": (block, {**FP8, "weight_block_size": [64, 64]}, "weight_scale_inv"),
    "larger blocks": (block, {**FP8, "weight_block_size": [256, 256]}, "weight_scale_inv"),
    "blocks of compressed-tensors": (
        lambda: ({"weight": np.ones((130, 200), F8), "weight_scale": np.ones((2, 2), BF16)}, None),
        ct(num_bits=8, strategy="block", block_structure=[64, 128]), "weight_scale",
    ),
    "another method": (block, {"quant_method": "awq"}, "weight"),
    "another layout": (pack, FP8, "weight_packed"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGS)
def test_a_configuration_that_does_not_fit(name: str) -> None:
    source, config, named = CONFIGS[name]
    tensors = {P + one: array for one, array in source()[0].items()}
    write_model(Path("in"), {"a.safetensors": tensors}, {"quantization_config": config})
    text = fail("convert", "in", "out", "--to", "bfloat16", "--progress", "none")
    assert f"'{P}{named}'" in text
    assert not Path("out").exists()


def test_the_shard_of_the_scales_is_missing() -> None:
    tensors, config = block()
    (codes, scales) = ({P + one: array} for one, array in tensors.items())
    write_model(Path("in"), {"a.safetensors": codes, "b.safetensors": scales}, {"quantization_config": config})
    Path("in/b.safetensors").unlink()
    text = fail("convert", "in", "out", "--to", "bfloat16")
    assert f"'{P}weight_scale_inv'" in text
    assert "b.safetensors" in text
    Path("in/model.safetensors.index.json").unlink()
    text = fail("convert", "in", "out", "--to", "bfloat16")
    assert f"'{P}weight'" in text


def test_a_fault_in_a_file_that_exists() -> None:
    """What the target was stays."""
    tensors, _ = block()
    tensors["weight_scale_inv"][1, 1] = np.nan
    write_tensors(Path("x.safetensors"), {P + one: array for one, array in tensors.items()})
    write_tensors(Path("y.safetensors"), {"old": np.ones(3, np.float32)})
    text = fail("convert", "x.safetensors", "y.safetensors", "--to", "float32", "--overwrite")
    assert f"'{P}weight_scale_inv': has a scale that is NaN" in text


@pytest.mark.parametrize("scales", [np.ones((1, 32, 2), np.uint8), np.ones((1, 32, 1), np.int8)])
def test_scales_of_gpt_oss(scales: Array) -> None:
    """They have the shape of the blocks but for the last axis, and are bytes."""
    tensors = {"experts.w_blocks": np.zeros((1, 32, 1, 16), np.uint8), "experts.w_scales": scales}
    source = write_tensors(Path("x.safetensors"), tensors)
    with pytest.raises(FileError, match=r"'experts.w_scales': must be U8 \[1, 32, 1\]; got [UI]8 \[1, 32, [12]\]"):
        convert(source, "y.safetensors", to="bfloat16")
