"""Quantized arrays in files: `open` reads the values that `dequantize` gives, or `save` says why it would not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints import check, convert, inspect, open, save

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


@pytest.mark.parametrize(
    ("name", "q", "message"),
    [
        ("x.npz", lp.quantize(X, "nvfp4", axis=1), "it has scales that a file does not tell, axis 1"),
        ("x.safetensors", lp.quantize(X[..., :63], "int4"), "it has rows of 63 codes, which end within a byte"),
        ("x.npz", lp.quantize(X, "int8", axis=0, block_size=2), "it has scales that a file does not tell, axis 0"),
        ("x.npz", lp.quantize(X[..., :9], "int8", block_size=4), "it has scales that a file does not tell, axis 2"),
        ("x.npz", lp.quantize(X[0], "int8", axis=(0, 1), block_size=(2, 32)), "it has scales that a file does not"),
        ("x.npz", lp.quantize(X[0, 0], "int8", axis=0), "it has scales that a file does not tell, axis 0"),
    ],
    ids=["nvfp4 along axis 1", "rows", "blocks along axis 0", "a width that is not found", "tiles", "each element"],
)  # fmt: skip
def test_what_would_not_be_read_is_refused(name: str, q: Any, message: str) -> None:
    with pytest.raises(
        ValueError, match=r"^`arrays\['w'\]` must be a quantized array that `open` can read; "
    ) as raised:
        save(name, {"w": q})
    assert message in str(raised.value)
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
