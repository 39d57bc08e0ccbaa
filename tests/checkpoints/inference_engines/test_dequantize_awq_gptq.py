"""AWQ and GPTQ become plain weights: expected values are unpacked bit by bit, as the formats are published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import convert_fails
from support.typed_tensors import BF16, TARGETS, Array, Tensors, read_tensors, rounded, words, write_model

from lowprec.checkpoints import convert

P = "model.layers.0.mlp.up_proj."
AWQ = {"quant_method": "awq", "bits": 4, "version": "gemm", "zero_point": True}
GPTQ = {"quant_method": "gptq", "desc_act": False, "checkpoint_format": "gptq"}


def awq_words(codes: Array) -> Array:
    """AutoAWQ: for i of eight, word |= codes[8 * word + order[i]] << (4 * i)."""
    order = [0, 2, 4, 6, 1, 3, 5, 7]
    packed = [
        [sum(int(row[at + order[i]]) << (4 * i) for i in range(8)) for at in range(0, len(row), 8)] for row in codes
    ]
    return np.asarray(packed, np.uint32).view(np.int32).reshape(len(codes), -1)


def make_codes(inputs: int, outputs: int, bits: int, groups: int, dtype: Any) -> tuple[Array, Array, Array]:
    """Return codes, zero points with both ends of the range, and scales."""
    rng = np.random.default_rng(inputs + outputs + bits)
    codes, zeros = (rng.integers(0, 1 << bits, (n, outputs)) for n in (inputs, groups))
    zeros[0, :2] = 0, (1 << bits) - 1
    return codes, zeros, np.asarray(rng.uniform(0.001, 0.1, (groups, outputs)), dtype)


def awq(inputs: int, outputs: int, size: int, dtype: Any = np.float16) -> tuple[Tensors, Any, Array]:
    """Return the tensors of a weight, their description, and the values."""
    group = inputs if size == -1 else size
    codes, zeros, scales = make_codes(inputs, outputs, 4, inputs // group, dtype)
    index = np.arange(inputs) // group
    values = (codes - zeros[index]).astype(np.float32) * scales[index].astype(np.float32)
    tensors = {P + "qweight": awq_words(codes), P + "qzeros": awq_words(zeros), P + "scales": scales}
    return tensors, {**AWQ, "group_size": size}, np.ascontiguousarray(values.T)


def gptq(
    inputs: int, outputs: int, size: int, bits: int = 4, *, version: int = 1, act_order: bool = False
) -> tuple[Tensors, Any, Array]:
    """Return the tensors of a weight, their description, and the values."""
    group = inputs if size == -1 else size
    codes, zeros, scales = make_codes(inputs, outputs, bits, -(-inputs // group), np.float16)
    index = np.arange(inputs) // group
    if act_order:
        index = np.random.default_rng(3).permutation(index)
    stored = (zeros - 1) % (1 << bits) if version == 1 else zeros
    values = (codes - zeros[index]).astype(np.float32) * scales[index].astype(np.float32)
    tensors = {
        P + "qweight": words(codes.T, bits).T.copy(), P + "qzeros": words(stored, bits), P + "scales": scales,
        P + "g_idx": index.astype(np.int32),
    }  # fmt: skip
    name = "gptq" if version == 1 else "gptq_v2"
    config = {**GPTQ, "bits": bits, "group_size": size, "desc_act": act_order, "checkpoint_format": name}
    return tensors, config, np.ascontiguousarray(values.T)


def write(tensors: Tensors, config: Any, folder: str = "in") -> Path:
    """Write a model of two shards, the codes in one and all else in the other."""
    norm = {"model.norm.weight": np.ones(8, np.float16), P + "bias": np.arange(8, dtype=np.float16)}
    codes = {name: one for name, one in tensors.items() if name.endswith("qweight")}
    others = {name: one for name, one in tensors.items() if name not in codes}
    shards = {"a.safetensors": codes, "b.safetensors": {**others, **norm}}
    return write_model(Path(folder), shards, {"quantization_config": config, "torch_dtype": "float16"})


def check(one: tuple[Tensors, Any, Array], to: str = "float32", folder: str = "in") -> None:
    tensors, config, expected = one
    out = Path(f"{folder}-out")
    convert(write(tensors, config, folder), out, to=to, verify=True)
    result = read_tensors(out)
    assert result.keys() == {P + "weight", P + "bias", "model.norm.weight"}
    assert (result[P + "weight"].shape, result[P + "weight"].dtype) == (expected.shape, TARGETS[to])
    assert result[P + "weight"].tobytes() == rounded(expected, to)
    assert "quantization_config" not in (out / "config.json").read_text()


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("inputs", "outputs", "size", "dtype"),
    [(8, 8, 8, np.float16), (64, 40, 32, np.float16), (96, 72, 32, np.float16), (128, 264, -1, np.float16),
     (300, 8, 100, np.float16), (64, 16, 32, BF16), (64, 16, 32, np.float32)],
)  # fmt: skip
def test_awq(inputs: int, outputs: int, size: int, dtype: Any, to: str) -> None:
    check(awq(inputs, outputs, size, dtype), to)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("act_order", [False, True])
@pytest.mark.parametrize("bits", [2, 3, 4, 8])
@pytest.mark.parametrize(("inputs", "outputs", "size"), [(64, 32, 32), (96, 96, -1), (160, 64, 128)])
def test_gptq(inputs: int, outputs: int, size: int, bits: int, act_order: bool, version: int) -> None:
    check(gptq(inputs, outputs, size, bits, version=version, act_order=act_order), "bfloat16")


@pytest.mark.parametrize("make", [awq, gptq])
def test_several_strips_and_blocks_of_words(make: Any) -> None:
    """More codes than are unpacked, and more values than are rounded, at once."""
    check(make(1024, 1032, 128), "float16")


FAULTS = {
    "bits": (awq, {"bits": 8}, {}, "must say 4 bits; got 8"),
    "gemv": (awq, {"version": "gemv"}, {}, "must say the version gemm, the only one read; got 'gemv'"),
    "exllama": (awq, {"version": "exllama"}, {}, "version gemm, the only one read; got 'exllama'"),
    "group size": (awq, {"group_size": "x"}, {}, "group_size must be a positive integer or -1; got 'x'"),
    "another group size": (awq, {"group_size": 16}, {}, r"scales': must have the shape \[4, 32\]; got \[2, 32\]"),
    "no group size, no scales": (
        awq, {"group_size": None}, {"scales": np.ones((0, 32), np.float16)},
        r"scales': has the shape \[0, 32\], which fits no groups of 64 inputs",
    ),
    "no group size, 3 scales": (
        gptq, {"group_size": None}, {"scales": np.ones((3, 32), np.float16)},
        r"scales': has the shape \[3, 32\], which fits no groups of 64 inputs",
    ),
    "zero points": (awq, {}, {"qzeros": None}, "qweight': has no zero points: '.*qzeros' is missing"),
    "scales": (awq, {}, {"scales": None}, "qweight': has no scales: '.*scales' is missing"),
    "shape of zero points": (
        awq, {}, {"qzeros": np.zeros((2, 8), np.int32)}, r"qzeros': must be I32 \[2, 4\]; got I32 \[2, 8\]"
    ),
    "type of codes": (awq, {}, {"qweight": np.zeros((64, 4), np.int64)}, "qweight': must be I32 of two axes; got I64"),
    "NaN": (awq, {}, {"scales": np.full((2, 32), np.nan, np.float16)}, "scales': has a scale that is NaN"),
    "5 bits": (gptq, {"bits": 5}, {}, "must say 2, 3, 4 or 8 bits; got 5"),
    "marlin": (gptq, {"checkpoint_format": "marlin"}, {}, "checkpoint_format gptq or gptq_v2; got 'marlin'"),
    "older marlin": (gptq, {"is_marlin_format": True}, {}, "checkpoint_format gptq or gptq_v2; got marlin"),
    "single modules": (gptq, {"dynamic": {"+:.*down.*": {"bits": 8}}}, {}, "other settings for some modules"),
    "no groups": (gptq, {"desc_act": True}, {"g_idx": None}, "qweight': needs a g_idx"),
    "group too large": (gptq, {}, {"g_idx": np.full(64, 2, np.int32)}, "g_idx': must have groups from 0 to 1"),
    "group below 0": (gptq, {}, {"g_idx": np.full(64, -1, np.int32)}, "g_idx': must have groups from 0 to 1"),
    "too few groups": (gptq, {}, {"g_idx": np.zeros(63, np.int32)}, r"g_idx': must be 64 I32; got I32 \[63\]"),
    "no whole words": (
        gptq, {}, {"qweight": np.zeros((8, 33), np.int32)}, "33 outputs, whose zero points of 4 bits fill no whole"
    ),
    "rows of 3 bits": (gptq, {"bits": 3}, {}, r"qweight': must be I32 \[inputs \* 3 / 32, outputs\]; got I32 \[8, 32"),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_faults(name: str) -> None:
    make, said, changes, text = FAULTS[name]
    tensors, config, _ = make(64, 32, 32)
    content = {**tensors, **{P + one: array for one, array in changes.items()}}  # type: ignore[attr-defined]
    source = write({one: array for one, array in content.items() if array is not None}, {**config, **said})
    convert_fails(text, source, "out", to="bfloat16")


def test_modules_that_are_not_quantized() -> None:
    tensors, config, values = gptq(64, 32, 32)
    check((tensors, {**config, "dynamic": {"-:.*norm.*": {}}}, values))


@pytest.mark.parametrize(("make", "inputs", "size"), [(awq, 32, 1), (gptq, 32, 1), (gptq, 64, 16)])
def test_groups_that_the_shapes_say(make: Any, inputs: int, size: int) -> None:
    tensors, config, expected = make(inputs, 32, size)
    tensors.pop(P + "g_idx", None)
    check((tensors, {name: value for name, value in config.items() if name != "group_size"}, expected))
