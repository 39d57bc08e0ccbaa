"""GGUF files: keys, order and types as gguf-py reads them; recipes; dequantization, `open`, `inspect`."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import convert_fails, save
from support.gguf_files import BFLOAT16, Type, entry, number, raw_file, read, text, values_of, write
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.schemes.ggml_blocks import BLOCK_TYPES

gguf: Any = optional("gguf")
load_file: Any = optional("safetensors.numpy:load_file")

Array = np.ndarray[Any, Any]
RANDOM = np.random.RandomState(1)
FILE_TYPES = {"q8_0": 7, "q4_0": 2, "mxfp4": 38, "bf16": 32, "f16": 1}
"""Of ``llama_ftype`` in llama.h."""


def numbers(*shape: int, dtype: Any = np.float32) -> Array:
    return (RANDOM.standard_t(5, shape) * 0.05).astype(dtype)


MODEL = {
    "token_embd.weight": numbers(6, 64), "blk.0.attn_norm.weight": np.ones(64, np.float32),
    "blk.0.attn_q.weight": numbers(64, 64, dtype=BFLOAT16), "blk.0.attn_q.bias": numbers(64),
    "blk.0.ffn_gate_inp.weight": numbers(4, 64), "blk.0.ffn_up_exps.weight": numbers(4, 3, 64, dtype=np.float16),
    "blk.0.ffn_down.weight": numbers(64, 40), "blk.0.ids": np.arange(5, dtype=np.int32),
    "output.weight": numbers(6, 96),
}  # fmt: skip
"""A model of every kind of tensor: the order is neither that of the names nor of the sizes."""

CHOSEN = ["token_embd.weight", "blk.0.attn_q.weight", "blk.0.ffn_up_exps.weight", "output.weight"]


@pytest.fixture
def model() -> Path:
    return write(Path("m.gguf"), MODEL, general__file_type=32)


def quantized(x: Array, name: str) -> bytes:
    data = x.view(np.uint16).astype(np.uint32) << 16 if x.dtype == BFLOAT16 else x.astype(np.float32)
    return bytes(gguf.quants.quantize(data.view(np.float32), Type[name]).tobytes())


@pytest.mark.parametrize("recipe", FILE_TYPES)
def test_recipes_write_what_gguf_py_quantizes(recipe: str, model: Path) -> None:
    """For the weights that ``llama-quantize --pure`` takes; keys, shapes and the order stay."""
    report = convert(model, "q.gguf", recipe=recipe, verify=True)
    old, new = read(model), read(Path("q.gguf"))
    changed = {"general.file_type": FILE_TYPES[recipe], "general.quantization_version": 2, "GGUF.kv_count": 7}
    assert new[0] == {**old[0], **changed}
    assert list(new[1]) == list(MODEL)
    for name, (kind, shape, content) in new[1].items():
        assert shape == MODEL[name].shape
        whole = recipe in ("bf16", "f16")
        chosen = name in CHOSEN or (whole and name == "blk.0.ffn_down.weight")
        wanted = (recipe.upper(), shape, quantized(MODEL[name], recipe.upper())) if chosen else old[1][name]
        assert (kind, shape, content) == wanted
        assert {one.name: one.action for one in report.tensors}[name] == (
            "converted" if wanted != old[1][name] else "kept"
        )


def test_keys_keep_their_bytes_and_places() -> None:
    """An unknown key, an array, and a file type of another width: only the numbers change, or are put at the end."""
    keys = [
        number("general.quantization_version", 1),
        text(b"general.architecture") + struct.pack("<I", 8) + text(b"llama"),
        text(b"x") + struct.pack("<IIQ", 9, 8, 2) + text(b"\xff") + text(b""),
        text(b"general.file_type") + struct.pack("<IQ", 10, 5),
        text(b"y") + struct.pack("<Id", 12, 0.5),
    ]
    source = raw_file(Path("a.gguf"), keys, [entry("w.weight", (32, 2))], 256)
    convert(source, "b.gguf", recipe="q8_0")
    content = Path("b.gguf").read_bytes()
    wanted = [
        number("general.quantization_version", 2), *keys[1:3], number("general.file_type", 7), keys[4],
        entry("w.weight", (32, 2), 8),
    ]  # fmt: skip
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 5) + b"".join(wanted)
    assert content == head + bytes(-len(head) % 32) + bytes(2 * 34) + bytes(-2 * 34 % 32)


@pytest.mark.parametrize("alignment", [8, 32, 256])
def test_the_alignment_is_kept(alignment: int) -> None:
    source = write(Path("a.gguf"), MODEL, alignment)
    convert(source, "b.gguf", recipe="q4_0")
    places = [one.data_offset for one in gguf.GGUFReader(Path("b.gguf")).tensors]
    sizes = [one.n_bytes for one in gguf.GGUFReader(Path("b.gguf")).tensors]
    assert all(place % alignment == 0 for place in places)
    ends = [place + size + -size % alignment for place, size in zip(places, sizes, strict=True)]
    assert [*places[1:], Path("b.gguf").stat().st_size] == ends  # as llama.cpp demands: no other gaps


def test_version_2() -> None:
    convert(raw_file(Path("a.gguf"), [], [entry("w.weight", (32, 2))], 256, version=2), "b.gguf", recipe="q8_0")
    assert read(Path("b.gguf"))[0]["GGUF.version"] == 2


@pytest.mark.parametrize("to", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("name", BLOCK_TYPES)
def test_dequantization(name: str, to: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of gguf-py, rounded once more, of any rows by `open` too; what is wider than the target stays."""
    kind = BLOCK_TYPES[name]
    blocks = RANDOM.randint(0, 256, (2, 3, 256 // kind.size * kind.nbytes)).astype(np.uint8)
    if name != "NVFP4":  # scales are finite, so that there is no NaN: the tests of blocks have those
        at = {"Q2_K": (81, 83), "Q3_K": (109,), "Q6_K": (209,), "Q4_K": (1, 3), "Q5_K": (1, 3)}
        for place in at.get(name, (0,) if name == "MXFP4" else (1, 3) if name in ("Q4_1", "Q5_1") else (1,)):
            blocks.reshape(-1, kind.nbytes)[:, place] = 0x38 if name != "MXFP4" else 120
    tensors = {"w.weight": (Type[name], blocks), "norm.weight": numbers(8)}
    source = write(Path("a.gguf"), tensors)
    report = convert(source, "b.safetensors", to=to, verify=True)
    assert report.tensors[0].source == name
    made = load_file("b.safetensors")
    wanted = values_of(source)["w.weight"]
    assert made["w.weight"].shape == (2, 3, 256)
    with np.errstate(over="ignore"):
        assert np.array_equal(made["w.weight"], wanted.astype(to if to != "bfloat16" else ml_dtypes.bfloat16))
    assert np.array_equal(made["norm.weight"], tensors["norm.weight"])
    for chunk in (64, 1 << 21):
        monkeypatch.setattr("lowprec.checkpoints.checkpoint.CHUNK", chunk)
        with lp.checkpoints.open(source) as checkpoint:
            assert list(checkpoint) == list(tensors)
            for rows in (None, slice(0, 1), slice(1, None)):
                found = checkpoint.read("w.weight", to=to, rows=rows)
                assert found.tobytes() == made["w.weight"][rows or slice(None)].tobytes()
            info = checkpoint.info("w.weight")
    assert (info.layout, info.shape, info.scales, info.nbytes) == ("GGUF", (2, 3, 256), None, blocks.nbytes)
    assert info.scheme == f"{name}: {kind.nbytes} bytes to {kind.size} columns"


@pytest.mark.parametrize(("first", "second"), [("q8_0", "q4_0"), ("q4_0", "q8_0"), ("mxfp4", "bf16"), ("bf16", "q8_0")])
def test_quantized_files_are_quantized_again(first: str, second: str, model: Path) -> None:
    """In one pass, from the values of the blocks; the report says so."""
    convert(model, "a.gguf", recipe=first)
    report = convert("a.gguf", "b.gguf", recipe=second, verify=True)
    values, made = values_of(Path("a.gguf")), read(Path("b.gguf"))[1]
    for name in CHOSEN:
        assert made[name][0] == second.upper()
        assert made[name][2] == quantized(values[name], second.upper())
    twice = f"'token_embd.weight' was quantized already ({first.upper()}), and so were 3 other tensors; errors add up"
    assert report.remarks == ([] if first == "bf16" else [twice])
    same = convert("b.gguf", "c.gguf", recipe=first, keep="output")
    assert {one.name: one.why for one in same.tensors}["output.weight"] == "kept by name"


def test_what_has_the_type_already_is_copied(model: Path) -> None:
    convert(model, "a.gguf", recipe="q8_0", keep="output")
    report = convert("a.gguf", "b.gguf", recipe="q8_0")
    assert {one.name for one in report.tensors if one.why == "Q8_0 already"} == {*CHOSEN} - {"output.weight"}
    convert_fails("has no weight that the recipe q8_0 quantizes", "b.gguf", "c.gguf", recipe="q8_0")


@pytest.mark.parametrize("factor", [np.array([0.25], np.float32), np.array([0.5, 3], np.float32)])
def test_the_factor_of_nvfp4_is_applied(factor: Array) -> None:
    """One number, or one to each expert; scales of inputs are left out."""
    blocks = RANDOM.randint(0, 127, (2, 3, 36)).astype(np.uint8)
    tensors = {"blk.0.up.weight": (Type.NVFP4, blocks), "blk.0.up.scale": factor, "blk.0.up.input_scale": factor}
    source = write(Path("a.gguf"), tensors)
    wanted = values_of(source)["blk.0.up.weight"] * factor[:, np.newaxis, np.newaxis]
    convert(source, "b.safetensors", to="float32")
    made = load_file("b.safetensors")
    assert list(made) == ["blk.0.up.weight"]
    assert np.array_equal(made["blk.0.up.weight"], wanted)
    convert(source, "b.gguf", recipe="bf16")
    assert read(Path("b.gguf"))[1] == {"blk.0.up.weight": ("BF16", (2, 3, 64), quantized(wanted, "BF16"))}
    convert(write(Path("c.gguf"), {**tensors, "x.weight": numbers(2, 32)}), Path("d.gguf"), recipe="q8_0",
            keep="blk.*")  # fmt: skip
    assert list(read(Path("d.gguf"))[1]) == [*tensors, "x.weight"]


def test_losses_are_those_of_the_values() -> None:
    """Saturated are FP4 values of 7 and more, and in Q4_0 the other end of the range."""
    x = np.zeros((2, 64), np.float32)
    x[:, :8] = 7.5, -6.9, 1, 1, 1, 1, 2, 5
    x[0, 32:35] = -8, 8, 7.4
    source = write(Path("a.gguf"), {"w.weight": x})
    mxfp4 = convert(source, "b.gguf", recipe="mxfp4").total
    assert (mxfp4.saturated, mxfp4.max_abs_error) == (2, 1.5)
    q4_0 = convert(source, "c.gguf", recipe="q4_0")
    back = values_of(Path("c.gguf"))["w.weight"]
    assert q4_0.total.max_abs_error == np.abs(back - x).max()
    assert q4_0.total.saturated == 1
    noise = np.square(back - x, dtype=np.float64).sum()
    assert q4_0.total.sqnr_db == pytest.approx(10 * np.log10(np.square(x, dtype=np.float64).sum() / noise))


def test_refusals(model: Path) -> None:
    """One line each, and nothing is written."""
    other = save(Path("x.safetensors"))
    copied = write(Path("i.gguf"), {"w.weight": (Type.IQ2_XS, np.zeros((2, 74), np.uint8)), "n": numbers(3)})
    factor = write(
        Path("f.gguf"), {"w.weight": (Type.Q8_0, np.zeros((2, 34), np.uint8)), "w.scale": np.ones(1, np.float16)}
    )
    nan = write(Path("nan.gguf"), {"w.weight": np.full((2, 32), np.nan, np.float32)})
    large = write(Path("large.gguf"), {"w.weight": np.full((2, 32), 1e9, np.float32)})
    for source, name, options, why in (
        (model, "y.gguf", {"to": "bfloat16"}, r"y\.gguf: a \.gguf file is converted by a recipe, which keeps norms"),
        (model, "y.npz", {"to": "bfloat16"}, r"must be a \.gguf or \.safetensors file"),
        (model, "y.safetensors", {"recipe": "q8_0"}, "safetensors has no type for 'token_embd.weight', which is Q8_0"),
        (model, "y.gguf", {"recipe": "fp8-block"}, r"must be a \.safetensors file, or a folder of .*, for fp8-block"),
        (other, "y.safetensors", {"recipe": "q8_0"}, r"must be a \.gguf file, for q8_0"),
        (copied, "y.gguf", {"recipe": "q8_0"}, r"no weight .* quantizes; .*; the values of IQ2_XS \(1 tensor\) are"),
        (copied, "y.safetensors", {"to": "float16"}, r"has IQ2_XS \(1 tensor\), such as 'w.weight', which lowprec can"),
        (factor, "y.safetensors", {"to": "float16"}, "'w.scale': must hold F32, to be factors; got F16"),
        (nan, "y.gguf", {"recipe": "q8_0"}, "'w.weight': has a NaN or an infinity"),
        (large, "y.gguf", {"recipe": "q8_0"}, "'w.weight': has numbers too large for Q8_0"),
        (large, "y.gguf", {"recipe": "f16"}, "'w.weight': has numbers too large for F16"),
    ):  # fmt: skip
        convert_fails(why, source, name, **options)
