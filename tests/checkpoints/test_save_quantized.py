"""Quantized arrays in files: `open` reads the values that `dequantize` gives, or `save` says why it would not."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.optional import optional
from support.typed_tensors import write_tensors

import lowprec as lp
from lowprec.checkpoints import FileError, check, convert, inspect, open, save

torch: Any = optional("torch")

pytestmark = pytest.mark.usefixtures("working_folder")

X = np.float32(np.random.default_rng(41).standard_normal((6, 4, 64)) * 10)
KINDS = (".safetensors", ".npz")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("to", "options"),
    [("int8", {}), ("int8", {"axis": 0}), ("int4", {"axis": 1}), ("int16", {"axis": 2}), ("int2", {"block_size": 32}),
     ("int4", {"axis": -1, "block_size": 16}), ("float8_e4m3fn", {"axis": 0}), ("float4_e2m1fn", {"block_size": 64}),
     ("int8", {"axis": 0, "scale_format": "bfloat16"}), ("int4", {"axis": 0, "packed": True}),
     ("mxfp4", {}), ("mxfp8_e4m3", {}), ("mxfp6_e2m3", {}), ("mxint8", {}), ("mxfp4", {"packed": True}),
     ("float6_e3m2fn", {"axis": 0}), ("nvfp4", {}), ("nvfp4", {"block_size": 32, "packed": True}),
     ("uint8", {"zero_point": True}), ("int8", {"zero_point": True, "axis": 0}),
     ("uint4", {"zero_point": True, "axis": 1}), ("uint16", {"zero_point": True, "block_size": 16}),
     ("uint2", {"zero_point": True, "block_size": 32, "packed": True}), ("int4", {"zero_point": True, "axis": 2})],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["w", "layer.weight"])
def test_values_are_read_back(to: str, options: dict[str, Any], kind: str, name: str) -> None:
    q = lp.quantize(X, to, **options)
    save(f"x{kind}", {name: q, "bias": X[0, 0]})
    with open(f"x{kind}") as checkpoint:
        assert sorted(checkpoint) == sorted([name, "bias"])
        assert np.array_equal(checkpoint.read(name, to="float32"), q.dequantize())
        assert np.array_equal(checkpoint.read("bias"), X[0, 0])
        assert checkpoint.read(name, raw=True).shape == X.shape
    third = ["zero_point"] * (q.zero_point is not None) + ["global_scale"] * (q.global_scale is not None)
    stored = sorted(one.name for one in inspect(f"x{kind}") if one.name != "bias")
    assert stored == sorted([name, *(f"{name}_{one}" for one in ("scale", *third))])
    assert not any(one.misread for one in check(f"x{kind}"))
    convert(f"x{kind}", f"y{kind}", to="float32")
    with open(f"y{kind}") as checkpoint:
        assert np.array_equal(checkpoint[name], q.dequantize())


WIDE = np.float32(np.random.default_rng(42).standard_normal((3, 200, 300)))
ARRAYS = {"x": X, "matrix": X[0], "row": X[0, 0], "wide": WIDE, "wide matrix": WIDE[0], "odd": X[..., :63],
          "odd matrix": X[0, :, :63], "odd row": X[0, 0, :63], "number": X[0, 0, 0]}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "to", "options"),
    [("wide matrix", "float8_e4m3fn", {"axis": (0, 1), "block_size": (128, 128)}),
     ("wide", "int8", {"axis": (1, 2), "block_size": (64, 64)}), ("x", "int4", {"axis": (1, 2), "block_size": (3, 20)}),
     ("x", "uint8", {"axis": (1, 2), "block_size": (2, 32), "zero_point": True}),
     ("x", "int8", {"axis": 1, "block_size": 2}), ("matrix", "int8", {"axis": 0, "block_size": 3}),
     ("x", "uint4", {"axis": 1, "block_size": 3, "zero_point": True}), ("x", "nvfp4", {"axis": 1}),
     ("x", "mxfp4", {"axis": 1}), ("wide matrix", "mxint8", {"axis": 0}), ("row", "int8", {"block_size": 25}),
     ("odd", "int4", {}), ("odd", "int4", {"axis": 0}), ("odd", "int2", {"axis": 2}),
     ("odd", "int4", {"block_size": 9}),
     ("odd", "uint2", {"block_size": 9, "zero_point": True}), ("odd matrix", "float6_e2m3fn", {"axis": 0}),
     ("odd", "mxfp6_e3m2", {"packed": True}), ("odd matrix", "nvfp4", {"axis": 0}), ("odd row", "int4", {}),
     ("number", "int2", {})],
    ids=str,
)  # fmt: skip
def test_tiles_other_axes_and_rows_that_end_within_a_byte(name: str, to: str, options: dict[str, Any]) -> None:
    q = lp.quantize(np.asarray(ARRAYS[name]), to, **options)
    expected = np.asarray(q.dequantize())
    save("x.safetensors", {"w": q, "bias": X[0, 0]})
    with open("x.safetensors") as checkpoint:
        assert np.array_equal(checkpoint.read("w", to="float32"), expected)
        assert checkpoint.read("w", raw=True).shape == expected.shape
        for rows in [slice(1, 3), slice(3, None), slice(2, 2)] if expected.ndim else []:
            assert np.array_equal(checkpoint.read("w", to="float32", rows=rows), expected[rows])
    assert not any(one.misread for one in check("x.safetensors"))
    convert("x.safetensors", "y.safetensors", to="float32")
    with open("y.safetensors") as checkpoint:
        assert np.array_equal(checkpoint["w"], expected)
    convert("x.safetensors", "z.safetensors", to="bfloat16", exclude="*", raw=True)  # a copy keeps the notes
    with open("z.safetensors") as checkpoint:
        assert np.array_equal(checkpoint.read("w", to="float32"), expected)


@pytest.mark.parametrize("note", [{"block": [3]}, {"block": [0, 1]}, {"block": [1, 2, 3]}, {"block": "2x2"},
                                  {"block": [2, 1.0]}, {"block": [2, -1]}, {"block": None}])  # fmt: skip
def test_wrong_notes_of_blocks(note: dict[str, Any]) -> None:
    write_tensors(Path("x.safetensors"), {"w": np.ones((4, 8), np.int8), "w_scale": np.ones((2, 8), np.float32)},
                  {"lowprec": json.dumps({"w_scale": note})})  # fmt: skip
    with pytest.raises(FileError, match="tensor 'w_scale' is not what the entry 'lowprec' of the metadata says"):
        open("x.safetensors")


def test_a_block_that_does_not_fit() -> None:
    write_tensors(Path("x.safetensors"), {"w": np.ones((4, 8), np.int8), "w_scale": np.ones((2, 8), np.float32)},
                  {"lowprec": json.dumps({"w_scale": {"block": [3, 2]}})})  # fmt: skip
    with pytest.raises(FileError, match=r"fits no weight of shape \[4, 8\] in blocks of 3 x 2"):
        open("x.safetensors")


def test_the_file_is_that_of_convert() -> None:
    x = X[0].astype(np.float32)
    save("x.safetensors", {"w": x})
    convert("x.safetensors", "y.safetensors", to="int8", scale="axis:0")
    save("z.safetensors", {"w": lp.quantize(x, "int8", axis=0)})
    assert Path("y.safetensors").read_bytes() == Path("z.safetensors").read_bytes()


@pytest.mark.parametrize("axis", [0, 1])
def test_a_square_matrix(axis: int) -> None:
    x = np.float32(np.random.default_rng(1).standard_normal((32, 32)))
    q = lp.quantize(x, "int8", axis=axis)
    save("x.safetensors", {"w": q})
    with open("x.safetensors") as checkpoint:
        assert np.array_equal(checkpoint.read("w", to="float32"), q.dequantize())
    if axis == 1:
        with pytest.raises(
            ValueError, match=r"^`arrays\['w'\]` must be a quantized array that `open` can read; it has sc"
        ):
            save("x.npz", {"w": q})
        return
    save("x.npz", {"w": q})
    with open("x.npz") as checkpoint:
        assert np.array_equal(checkpoint.read("w", to="float32"), q.dequantize())


@pytest.mark.parametrize("shape", [(), (7,), (1, 8), (8, 1), (0, 4), (3, 0), (2, 3, 4, 8)], ids=str)
def test_shapes(shape: tuple[int, ...]) -> None:
    q = lp.quantize(np.ones(shape, np.float32), "int8")
    save("x.npz", {"w": q})
    with open("x.npz") as checkpoint:
        assert np.array_equal(checkpoint.read("w", to="float32"), q.dequantize())


def test_torch_tensors() -> None:
    q = lp.quantize(torch.from_numpy(X), "mxfp4")
    save("x.safetensors", {"w": q})
    with open("x.safetensors") as checkpoint:
        assert np.array_equal(checkpoint.read("w", to="float32"), lp.quantize(X, "mxfp4").dequantize())


_NOT, _AT, _OF = "it has scales that a file does not tell", "block_size ", "of shape"
_OTHER = ": name a .safetensors file"


@pytest.mark.parametrize(
    ("name", "q", "message"),
    [
        ("x.npz", lp.quantize(X, "nvfp4", axis=1), f"{_NOT}, axis 1, {_AT}16 of shape (6, 4, 64){_OTHER}"),
        ("x.safetensors", lp.quantize(X, "int8", axis=0, block_size=2), f"{_NOT}, axis 0, {_AT}2 {_OF} (6, 4, 64)"),
        ("x.npz", lp.quantize(X, "int8", axis=0, block_size=2), f"{_NOT}, axis 0, {_AT}2 {_OF} (6, 4, 64)"),
        ("x.npz", lp.quantize(X[..., :9], "int8", block_size=4), f"{_NOT}, axis 2, {_AT}4 {_OF} (6, 4, 9)"),
        ("x.safetensors", lp.quantize(X[..., :9], "int8", block_size=4), f"{_NOT}, axis 2, {_AT}4 {_OF} (6, 4, 9)"),
        ("x.npz", lp.quantize(X[0], "int8", axis=(0, 1), block_size=(2, 32)),
         f"{_NOT}, axis (0, 1), {_AT}(2, 32) of shape (4, 64){_OTHER}"),
        ("x.safetensors", lp.quantize(X, "int8", axis=(0, 2), block_size=(2, 32)),
         f"{_NOT}, axis (0, 2), {_AT}(2, 32) of shape (6, 4, 64)"),
        ("x.npz", lp.quantize(X[0, 0], "int8", axis=0), f"{_NOT}, axis 0, {_AT}0 of shape (64,)"),
    ],
    ids=["nvfp4 along axis 1", "blocks along axis 0", "blocks along axis 0, npz", "a width that is not found, npz",
         "a width that is not found", "tiles", "tiles of other axes", "each element"],
)  # fmt: skip
def test_what_would_not_be_read_is_refused(name: str, q: Any, message: str) -> None:
    with pytest.raises(
        ValueError, match=r"^`arrays\['w'\]` must be a quantized array that `open` can read; "
    ) as raised:
        save(name, {"w": q})
    assert str(raised.value).endswith(message)
    assert os.listdir() == []


def test_other_refusals() -> None:
    q = lp.quantize(X, "int8")
    with pytest.raises(ValueError, match=r"^`arrays` must not have 'w_scale' too, the scales of 'w'$"):
        save("x.npz", {"w": q, "w_scale": X})
    with pytest.raises(ValueError, match=r"^`source\['w'\]` must be None for a quantized array; got 'int8'$"):
        save("x.npz", {"w": q}, source={"w": "int8"})
    for arrays in (q, {"w": q}):
        with pytest.raises(
            TypeError, match=r"must be an array for an \.npy file; got a Quantized: name an \.npz file$"
        ):
            save("x.npy", arrays)
