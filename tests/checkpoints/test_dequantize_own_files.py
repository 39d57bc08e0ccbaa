"""What `lowprec convert --scale` writes, in files and archives, is read back with its scales."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.typed_tensors import BF16, F8, FP4, Array, read_tensors, rounded, write_tensors

import lowprec as lp
from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

pytestmark = pytest.mark.usefixtures("working_folder")

CODES = {"int8": np.dtype(np.int8), "float8_e4m3fn": F8, "int4": ml_dtypes.int4, "float4_e2m1fn": np.dtype(np.uint8)}


def decoded(content: bytes, to: str, shape: tuple[int, ...]) -> Array:
    """Return codes of a safetensors file as numbers."""
    if to in ("int8", "float8_e4m3fn"):
        return np.frombuffer(content, CODES[to]).reshape(shape).astype(np.float32)
    pairs = np.frombuffer(content, np.uint8)
    codes = np.stack([pairs & 15, pairs >> 4], 1).reshape(shape)
    return FP4[codes] if to == "float4_e2m1fn" else ((codes ^ 8).astype(np.float32) - 8)


@pytest.mark.parametrize("to", CODES)
@pytest.mark.parametrize("shape", [(6, 64), (4, 6, 32)])
@pytest.mark.parametrize("scale", ["tensor", "axis:0", "axis:1", "axis:-1", "block:32"])
def test_our_own_files(to: str, shape: tuple[int, ...], scale: str) -> None:
    x = np.random.default_rng(10).standard_normal(shape).astype(np.float32)
    write_tensors(Path("x.safetensors"), {"W": x, "n": np.ones(3, BF16)})
    convert("x.safetensors", "y.safetensors", to=to, scale=scale, include="W")
    convert("y.safetensors", "z.safetensors", to="bfloat16")
    header, content = json_and_bytes(Path("y.safetensors"))
    codes = decoded(content[slice(*header["W"]["data_offsets"])], to, shape)
    scales = np.frombuffer(content[slice(*header["W_scale"]["data_offsets"])], np.float32)
    scales = scales.reshape(header["W_scale"]["shape"])
    if scale.startswith("axis"):
        axis = int(scale[5:]) % len(shape)
        scales = scales.reshape([-1 if one == axis else 1 for one in range(len(shape))])
    elif scale == "block:32":
        scales = np.repeat(scales, 32, -1)
    result = read_tensors(Path("z.safetensors"))
    assert result.keys() == {"W", "n"}
    assert result["W"].tobytes() == rounded(codes * scales, "bfloat16")


def json_and_bytes(path: Path) -> tuple[dict[str, Any], bytes]:
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def compress(path: Path) -> None:
    """Write an archive again, with its members compressed."""
    with zipfile.ZipFile(path) as file:
        comment, members = file.comment, {one: file.read(one) for one in file.infolist()}
    with zipfile.ZipFile(path, "w") as file:
        file.comment = comment
        for one, content in members.items():
            one.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(one, content)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("to", ["int8", "int4", "float8_e4m3fn"])
def test_our_own_archives(to: str, compressed: bool) -> None:
    x = np.random.default_rng(11).standard_normal((6, 64)).astype(np.float32)
    np.savez("x.npz", W=x, V=x[:3, :2])
    convert("x.npz", "y.npz", to=to, scale="axis:0")
    with np.load("y.npz") as file:
        y = dict(file)
    if compressed:
        compress(Path("y.npz"))
    convert("y.npz", "z.npz", to="float32", verify=True)
    with np.load("z.npz") as z:
        assert set(z.files) == {"W", "V"}
        for name in z.files:
            codes = y[name].view(CODES[to]).astype(np.float32)
            assert z[name].tobytes() == (codes * y[name + "_scale"][:, None]).tobytes()


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("to", ["int8", "float8_e4m3fn", "int4"])
def test_a_square(to: str, axis: int) -> None:
    """Safetensors names the axis, in a copy of the scales too; an archive does not, and there it is ambiguous."""
    ramp = np.ldexp(np.float32(1), np.arange(32))
    x = np.random.default_rng(3).standard_normal((32, 32), np.float32) * (ramp[:, np.newaxis] if axis == 0 else ramp)
    write_tensors(Path("x.safetensors"), {"W": x})
    convert("x.safetensors", "y.safetensors", to=to, scale=f"axis:{axis}")
    convert("y.safetensors", "copy.safetensors", to="bfloat16", exclude="*", raw=True)
    convert("copy.safetensors", "z.safetensors", to="float32")
    back = read_tensors(Path("z.safetensors"))["W"]
    largest = np.abs(x).max(axis=1 - axis % 2, keepdims=True)
    assert np.all(np.abs(back - x) <= largest * {"int8": 0.51 / 127, "int4": 0.51 / 7, "float8_e4m3fn": 1 / 16}[to])
    np.savez("x.npz", W=x)
    convert("x.npz", "y.npz", to=to, scale=f"axis:{axis}")
    with pytest.raises(FileError, match=r"'W_scale': .*fits the axes 0, 1 of a tensor of shape \[32, 32\]"):
        convert("y.npz", "z.npz", to="bfloat16")
    assert not Path("z.npz").exists()


@pytest.mark.parametrize("note", ['{"axis": -1}', '{"axis": true}', '{"axis": 0, "more": 1}', '{"axis": "0"}'])
def test_an_axis_that_is_none(note: str) -> None:
    tensors = {"W": np.ones((2, 2), np.int8), "W_scale": np.ones(2, np.float32)}
    write_tensors(Path("x.safetensors"), tensors, {"lowprec": f'{{"W_scale": {note}}}'})
    with pytest.raises(FileError, match="tensor 'W_scale' is not what the entry 'lowprec' of the metadata says"):
        convert("x.safetensors", "y.safetensors", to="float32")


def test_an_axis_that_does_not_fit() -> None:
    tensors = {"W": np.ones((2, 3), np.int8), "W_scale": np.ones(2, np.float32)}
    write_tensors(Path("x.safetensors"), tensors, {"lowprec": '{"W_scale": {"axis": 1}}'})
    with pytest.raises(FileError, match=r"'W_scale': .*fits no axis"):
        convert("x.safetensors", "y.safetensors", to="float32")


@pytest.mark.parametrize(
    ("shape", "scales"), [((0, 8), ()), ((0, 2, 8), ()), ((2, 0, 8), (2,)), ((2, 3, 0), (2,)), ((0, 2, 8), (0,))]
)
def test_an_empty_weight_with_scales(shape: tuple[int, ...], scales: tuple[int, ...]) -> None:
    """One scale for all elements, or for each index of an axis, is one where there are none."""
    tensors = {"W": np.zeros(shape, np.int8), "W_scale": np.ones(scales, np.float32)}
    write_tensors(Path("x.safetensors"), tensors)
    with lp.checkpoints.open("x.safetensors") as opened:
        assert opened["W"].shape == shape
    assert not [str(one) for one in lp.checkpoints.check("x.safetensors", values=True) if one.misread]
    convert("x.safetensors", "y.safetensors", to="float32")
    assert lp.checkpoints.inspect("y.safetensors")[0].shape == shape


PIECES = {
    "lowprec.checkpoints.memory_limit.LARGEST_CHUNK": 1 << 12,
    "lowprec.checkpoints.operations.dequantize.PART": 300,
    "lowprec.checkpoints.weights.quantized_weight.SMALL": 0,
}


def test_archives_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(13).standard_normal((300, 40)).astype(np.float32)
    np.savez("x.npz", W=x)
    convert("x.npz", "y.npz", to="int8", scale="axis:0")
    with np.load("y.npz") as y:
        arrays = dict(y)
    compress(Path("y.npz"))
    convert("y.npz", "whole.npz", to="float32")
    for name, value in PIECES.items():
        monkeypatch.setattr(name, value)
    convert("y.npz", "parts.npz", to="float32", verify=True)
    assert Path("parts.npz").read_bytes() == Path("whole.npz").read_bytes()
    with np.load("parts.npz") as z:
        assert z["W"].tobytes() == (arrays["W"] * arrays["W_scale"][:, None]).tobytes()
