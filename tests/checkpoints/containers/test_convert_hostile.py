"""Broken and hostile files: a one-line error, no absurd allocation, nothing written, nothing lost."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import everything, leftovers, raw_file, save, values
from support.gguf_files import entry as tensor
from support.gguf_files import number as key
from support.gguf_files import raw_file as gguf_file
from support.gguf_files import text as gguf_text
from support.gguf_files import write as write_gguf
from support.optional import optional

from lowprec import checkpoints
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.containers.safetensors_file import NOTE
from lowprec.checkpoints.files.errors import FileError

onnx: Any = optional("onnx")
helper: Any = optional("onnx:helper")
numpy_helper: Any = optional("onnx:numpy_helper")


def entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8), **more: Any) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets, **more}


def header(content: bytes = bytes(8), **entries: Any) -> Callable[[Path], Path]:
    return lambda path: raw_file(path, entries, content)


def lengths(n: int) -> Callable[[Path], Path]:
    return lambda path: raw_file(path, {"a": entry()}, bytes(8), length=n)


def text(content: bytes) -> Callable[[Path], Path]:
    return lambda path: raw_file(path, content, bytes(8))


def noted(note: Any, **entries: Any) -> Callable[[Path], Path]:
    return header(__metadata__={NOTE: note if isinstance(note, str) else json.dumps(note)}, **entries)


SAFETENSORS: dict[str, tuple[Callable[[Path], Path], str]] = {
    "length 0": (lengths(0), "header must have from 2 to"), "length 1": (lengths(1), "header must have from 2"),
    "length 2**63": (lengths(2**63), "it says 9223372036854775808"),
    "length 2**64-1": (lengths(2**64 - 1), "it says 18446744073709551615"),
    "past the end": (lengths(10_000), "header must have from 2 to"),
    "short": (lengths(20), "header is not JSON"),
    "not JSON": (text(b"{]"), "header is not JSON"), "not UTF-8": (text(b'{"\xff": 1}'), "header is not JSON"),
    "deep": (text(b'{"a":' + b"[" * 200_000), "header is not JSON"), "blank": (text(b" {}"), "must be a JSON object"),
    "list": (text(b"[]"), "must be|JSON object"), "digits": (text(b'{"a":' + b"9" * 5000 + b"}"), "not JSON"),
    "twice": (text(b'{"a":1,"b":2,"a":3}'), "names 'a' twice"),
    "twice inside": (text(b'{"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}}'), "'dtype' twice"),
    "no dtype": (header(a={"shape": [2], "data_offsets": [0, 8]}), "must have a dtype, a shape and two data_offsets"),
    "more": (header(a=entry(extra=1)), "must have a dtype"), "null": (header(a=None), "must have a dtype"),
    "unknown": (header(a=entry("F3")), "unknown dtype 'F3'"), "list dtype": (header(a=entry(["F32"])), "unknown dtype"),
    "negative": (header(a=entry(shape=[-2])), "must have a dtype"), "float": (header(a=entry(shape=[2.0])), "must"),
    "true": (header(a=entry(shape=[True, 2])), "must have a dtype"), "flat": (header(a=entry(shape=2)), "must have a"),
    "product": (header(a=entry(shape=[2**62] * 8)), "ask for far too many bytes"),
    "product wraps": (header(a=entry(shape=[2**32, 2**32, 2])), "bytes"),
    "2**64": (header(a=entry(shape=[2**64])), "must have a dtype"), "axes": (header(a=entry(shape=[1] * 65)), "65"),
    "one offset": (header(a=entry(offsets=[0])), "must have a dtype"),
    "three": (header(a=entry(offsets=[0, 8, 9])), "must have a dtype"),
    "back to front": (header(a=entry(offsets=[8, 0])), "has -8 bytes"),
    "negative offset": (header(a=entry(offsets=[-8, 0])), "must have a dtype"),
    "size": (header(a=entry(shape=[3])), "has 8 bytes, its shape and F32 ask for 12"),
    **{f"{n} bytes of {shape}": (header(bytes(n), a=entry(shape=shape, offsets=[0, n])),
                                 rf"tensor 'a' has {n} bytes, its shape and F32 ask for {asked} bytes$")
       for shape, n, asked in (([2], 12, 8), ([2], 9, 8), ([0], 4, 0), ([], 8, 4))},
    "beyond": (header(a=entry(), b=entry(offsets=[8, 16])), "ends 8 bytes past the end of the file"),
    "overlap": (header(a=entry(), b=entry(offsets=[4, 12])), "overlaps the one before it"),
    "same": (header(a=entry(), b=entry()), "overlaps the one before it"),
    "hole": (header(bytes(20), a=entry(), b=entry(offsets=[12, 20])), "leaves a hole before it"),
    "first hole": (header(bytes(12), a=entry(offsets=[4, 12])), "leaves a hole before it"),
    "trailing": (header(bytes(9), a=entry()), "has 1 bytes after the last tensor"),
    "half a byte": (header(a=entry("F4", [15], [0, 8])), "ends within a byte"),
    "six bits": (header(a=entry("F6_E2M3", [3], [0, 3])), "ends within a byte"),
    "metadata": (header(a=entry(), __metadata__={"x": 1}), "__metadata__ must be texts"),
    "metadata list": (header(a=entry(), __metadata__=[]), "__metadata__ must be texts"),
    "note": (noted("[", a=entry()), "must be JSON about tensors that are there"),
    "note deep": (noted("[" * 100_000, a=entry()), "must be JSON about tensors"),
    "note about nothing": (noted({"b": {}}, a=entry()), "must be JSON about tensors that are there"),
    "note list": (noted([], a=entry()), "must be JSON about tensors"),
    "note format": (noted({"a": {"format": "int3", "shape": [2]}}, a=entry("U8", [8])), "is not what the entry"),
    "note kind": (noted({"a": {"format": ["int4"], "shape": [2]}}, a=entry("U8", [8])), "is not what the entry"),
    "note shape": (noted({"a": {"format": "int4", "shape": [2**40]}}, a=entry("U8", [8])), "is not what the entry"),
    "note width": (noted({"a": {"format": "int8", "shape": [8]}}, a=entry("U8", [8])), "is not what the entry"),
    "note type": (noted({"a": {"format": "int4", "shape": [16]}}, a=entry()), "is not what the entry"),
    "empty": (lambda p: (p.write_bytes(b""), p)[1], "too few for a header"),
    "seven": (lambda p: (p.write_bytes(bytes(7)), p)[1], "too few for a header"),
}  # fmt: skip


def refused(path: Path, why: str, target: str) -> None:
    before = everything(path.parent)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=why) as caught:
            convert(path, path.with_name(target), to="float16")
        for read in (inspect, check, checkpoints.open):
            with pytest.raises(FileError, match=why):
                read(path)
        assert tracemalloc.get_traced_memory()[1] < (1 << 22 if path.suffix == ".gguf" else 1 << 24)
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1
    assert len(message) < len(str(path)) + 260
    assert everything(path.parent) == before
    assert leftovers(path.parent) == []


@pytest.mark.parametrize("name", SAFETENSORS)
def test_safetensors(name: str, tmp_path: Path) -> None:
    build, why = SAFETENSORS[name]
    refused(build(tmp_path / "x.safetensors"), why, "y.safetensors")


def _safetensors(path: Path) -> Path:
    return save(path, {"a": values((3, 5)), "b": np.arange(3)})


def _gguf(path: Path) -> Path:
    return write_gguf(path, {"a": np.ones((3, 5), np.float32), "b": np.ones(3, np.float16)})


WHOLE: dict[str, tuple[Callable[[Path], Path], str, int]] = {
    "safetensors": (_safetensors, "must be a readable .safetensors file|content is none", 0),
    "onnx": (lambda path: _onnx(lambda _: None)(path), r"must be a readable \.onnx model", 0),
    "gguf": (_gguf, "past the end of the file|does not start with a header|need more bytes", 32 - 6),
}
"""Files, why any part of them is refused, and how many bytes may be missing: what pads the last tensor."""


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_cut_anywhere(kind: str, tmp_path: Path) -> None:
    build, why, padding = WHOLE[kind]
    whole = build(tmp_path / f"x.{kind}").read_bytes()
    path = tmp_path / "cut" / f"x.{kind}"
    path.parent.mkdir()
    last = len(whole) - padding
    for end in range(4 if padding else 0, last):
        path.write_bytes(whole[:end])
        refused(path, why, "y.onnx" if kind == "onnx" else "y.safetensors")
    path.write_bytes(whole[:last])
    assert inspect(path)


def test_many_names_twice_take_no_time(tmp_path: Path) -> None:
    names = ",".join(f'"{i}":0' for i in range(200_000))
    with pytest.raises(FileError, match="twice"):
        inspect(raw_file(tmp_path / "x.safetensors", b"{" + names.encode() + b',"7":0}'))


def _onnx(change: Callable[[onnx.ModelProto], object]) -> Callable[[Path], Path]:
    def build(path: Path) -> Path:
        graph = helper.make_graph([], "g", [], [], [numpy_helper.from_array(values((4, 4)), "w")])
        made = helper.make_model(graph)
        change(made)
        path.write_bytes(made.SerializeToString())
        return path

    return build


def _first(made: onnx.ModelProto) -> onnx.TensorProto:
    return made.graph.initializer[0]


ONNX: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda p: p.write_bytes(b""), "holds 0 graphs"),
    "text": (lambda p: p.write_bytes(b"not a model at all"), "must be a readable .onnx model"),
    "zeros": (lambda p: p.write_bytes(bytes(100)), "must be a readable .onnx model"),
    "endless number": (lambda p: p.write_bytes(b"\x08" + b"\xff" * 30), "ends within a number"),
    "long field": (lambda p: p.write_bytes(b"\x3a\xff\xff\xff\xff\x0f"), "ends within a field"),
    "two graphs": (lambda p: p.write_bytes(b"\x3a\x00\x3a\x00"), "holds 2 graphs"),
    "group": (lambda p: p.write_bytes(b"\x3b\x3c"), "holds no protobuf message"),
    "no version": (_onnx(lambda m: m.ClearField("ir_version")), "names no version"),
    "no opset": (_onnx(lambda m: m.ClearField("opset_import")), "names no version"),
    "bytes": (_onnx(lambda m: setattr(_first(m), "raw_data", b"123")), "has 3 bytes, its shape asks for 64"),
    "dims": (_onnx(lambda m: _first(m).dims.append(2**62)), "its shape asks for"),
    "negative text": (
        _onnx(lambda m: m.graph.initializer.add(name="t", data_type=8, dims=[-1])),
        "tensor 't' has a negative length",
    ),
    "negative": (_onnx(lambda m: _first(m).dims.append(-1)), "has a negative length"),
    "type": (_onnx(lambda m: setattr(_first(m), "data_type", 99)), "has the unknown type 99"),
    "no data": (_onnx(lambda m: _first(m).ClearField("raw_data")), "cannot be read|asks for 64"),
    "twice": (_onnx(lambda m: m.graph.initializer.append(_first(m))), "names twice 'w'"),
    "external too": (_onnx(lambda m: setattr(_first(m), "data_location", 1)), "both external data and raw_data"),
}


@pytest.mark.parametrize("name", ONNX)
def test_models(name: str, tmp_path: Path) -> None:
    build, why = ONNX[name]
    build(tmp_path / "x.onnx")
    refused(tmp_path / "x.onnx", why, "y.onnx")


def value(kind: int, content: bytes, name: bytes = b"k") -> bytes:
    """Return a key of a GGUF file with a value of a type."""
    return gguf_text(name) + struct.pack("<I", kind) + content


HUGE = 2**64 - 1
GGUF: dict[str, tuple[dict[str, Any], str]] = {
    "version 1": ({"version": 1}, "must have the version 2 or 3; got 1$"),
    "version 4": ({"version": 4}, "must have the version 2 or 3; got 4$"),
    "big endian": ({"version": 3 << 24}, r"got 50331648 \(that of a big-endian file\?\)"),
    "many tensors": ({"counts": (2**62, 0)}, "it has 4611686018427387904 tensors, which need more bytes"),
    "many keys": ({"counts": (0, HUGE)}, "it has 18446744073709551615 keys, which need more bytes"),
    "one key more": ({"counts": (1, 3)}, "a tensor has 281474976710656 bytes"),
    "one tensor more": ({"counts": (3, 1)}, "tensor|name of a tensor"),
    "long key": ({"keys": [struct.pack("<Q", 2**40)]}, "a key has 1099511627776 bytes, more than 65535"),
    "key past the end": ({"keys": [struct.pack("<Q", 60000)]}, r"a key ends \d+ bytes past the end of the file"),
    "unknown value": ({"keys": [value(13, b"")]}, "the key 'k' has a value of the type 13, which is unknown"),
    "array of arrays": ({"keys": [value(9, struct.pack("<IQ", 9, 0))]}, "the key 'k' has a value of the type 9"),
    "long array": ({"keys": [value(9, struct.pack("<IQ", 4, HUGE))]}, "the key 'k' ends .* past the end of the file"),
    "wrapping array": ({"keys": [value(9, struct.pack("<IQ", 12, 2**61))]}, "the key 'k' ends .* past the end"),
    "many texts": ({"keys": [value(9, struct.pack("<IQ", 8, HUGE))]}, "the key 'k' ends .* past the end"),
    "long text": ({"keys": [value(8, struct.pack("<Q", HUGE))]}, "the key 'k' ends .* past the end"),
    "key twice": ({"keys": [key("k", 1), key("k", 1)]}, "it has the key 'k' twice"),
    "alignment 0": ({"keys": [key("general.alignment", 0)]}, "must be a power of two up to 65536; got 0"),
    "alignment 48": ({"keys": [key("general.alignment", 48)]}, "must be a power of two up to 65536; got 48"),
    "alignment 2**31": ({"keys": [key("general.alignment", 2**31)]}, "must be a power of two up to 65536"),
    "alignment float": ({"keys": [value(6, struct.pack("<f", 32), b"general.alignment")]}, "must be an unsigned"),
    "alignment array": (
        {"keys": [value(9, struct.pack("<IQI", 4, 1, 32), b"general.alignment")]}, "must be an unsigned number",
    ),
    "unknown type past the end": (
        {"tensors": [tensor(kind=42, offset=96)]}, "tensor 'a' ends 32 bytes past the end of the file",
    ),
    "unknown type far past": (
        {"tensors": [tensor(kind=42, offset=2**63)]}, r"tensor 'a' ends \d+ bytes past the end of the file",
    ),
    "unknown type without bytes": (
        {"tensors": [tensor(kind=42), tensor("b", kind=42)]}, "tensor 'a' has unknown type 42 and no bytes",
    ),
    "unknown type at the end": ({"tensors": [tensor(kind=2**32 - 1, offset=64)]}, "has unknown type 4294967295 and no"),
    "unknown type before another": (
        {"tensors": [tensor("b", axes=(4,)), tensor(kind=42)]}, "tensor 'a' overlaps the one before it",
    ),
    "unknown type inside another": (
        {"tensors": [tensor("b", axes=(16,)), tensor(kind=42, offset=32)]}, "tensor 'a' overlaps the one before it",
    ),
    "unknown type, offset": (
        {"tensors": [tensor(kind=42, offset=8)]}, "tensor 'a' starts at 8, which is no multiple of the alignment 32",
    ),
    "unknown type, product": (
        {"tensors": [tensor(axes=(2**32, 2**32), kind=42)]}, "tensor 'a' has far too many elements",
    ),
    "split.count text": (
        {"keys": [value(8, gguf_text(b"3"), b"split.count")]}, "its split.count must be an integer",
    ),
    "split.no too large": (
        {"keys": [key("split.count", 3), key("split.no", 3)]}, "split.no must be less than .*, 3; got 3",
    ),
    "split.no missing": ({"keys": [key("split.count", 3)]}, "split.no must be less than its split.count, 3; got -1"),
    "split.no negative": (
        {"keys": [key("split.count", 3), value(5, struct.pack("<i", -2), b"split.no")]}, "count, 3; got -2",
    ),
    "five axes": ({"tensors": [tensor(axes=(1, 1, 1, 1, 8))]}, "tensor 'a' has 5 axes, more than 4"),
    "many axes": ({"tensors": [gguf_text(b"a") + struct.pack("<I", 2**32 - 1)]}, "tensor 'a' has 4294967295 axes"),
    "product": ({"tensors": [tensor(axes=(2**32, 2**32))]}, "tensor 'a' has far too many elements"),
    "negative": ({"tensors": [tensor(axes=(HUGE,))]}, "tensor 'a' has far too many elements"),
    "blocks": ({"tensors": [tensor(axes=(33,), kind=8)]}, r"rows of 33 elements, which are no blocks of 32 \(Q8_0\)"),
    "scalar block": ({"tensors": [tensor(axes=(), kind=12)]}, r"rows of 1 elements, which are no blocks of 256"),
    "past the end": ({"tensors": [tensor(axes=(17,))]}, "tensor 'a' ends 4 bytes past the end of the file"),
    "far past": ({"tensors": [tensor(offset=2**60)]}, r"tensor 'a' ends \d+ bytes past the end of the file"),
    "empty far past": ({"tensors": [tensor(axes=(0,), offset=2**63)]}, r"tensor 'a' ends \d+ bytes past the end of"),
    "offset": ({"tensors": [tensor(offset=8)]}, "tensor 'a' starts at 8, which is no multiple of the alignment 32"),
    "overlap": ({"tensors": [tensor(axes=(16,)), tensor("b", offset=32)]}, "tensor 'b' overlaps the one before it"),
    "same place": ({"tensors": [tensor(), tensor("b")]}, "tensor 'b' overlaps the one before it"),
    "name twice": ({"tensors": [tensor(), tensor(offset=32)]}, "it names tensor 'a' twice"),
    "not UTF-8": ({"tensors": [tensor(b"\xff\n")]}, r"the name of tensor b'.xff.n' is not UTF-8"),
    "long name": ({"tensors": [tensor("a" * 70000)]}, "the name of a tensor has 70000 bytes, more than 65535"),
}  # fmt: skip


@pytest.mark.parametrize("name", GGUF)
def test_gguf(name: str, tmp_path: Path) -> None:
    changes, why = GGUF[name]
    wanted = {"keys": [key("k", 1)], "tensors": [tensor(), tensor("b", (4,), 1, 32)], **changes}
    path = gguf_file(tmp_path / "x.gguf", **wanted)
    refused(path, why, "y.safetensors")
    with pytest.raises(FileError, match=f"^{path}: must be a readable .gguf file; "):
        inspect(path)


def _zip(**options: Any) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        np.savez(path, w=values((4, 4)))
        content = bytearray(path.read_bytes())
        at = content.rindex(b"PK\x01\x02")
        for name, (offset, form, value) in options.items():
            assert name
            struct.pack_into(form, content, at + offset, value)
        path.write_bytes(content)

    return build


NPZ: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda p: (np.savez(p, w=values((4, 4))), os.truncate(p, 60)), "must be a readable .npz archive"),
    "encrypted": (_zip(flags=(8, "<H", 1)), "is encrypted"),
    "method": (_zip(method=(10, "<H", 77)), "must be a readable .npz archive"),
    "offset": (_zip(offset=(42, "<L", 5)), "must be a readable .npz archive"),
    "twice": (lambda p: _twice(p), "names twice 'w'"),
}  # fmt: skip


def _twice(path: Path) -> None:
    np.savez(path, w=values((2,)))
    content = zipfile.ZipFile(path).read("w.npy")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("w.npy", content)


@pytest.mark.parametrize("name", NPZ)
def test_archives(name: str, tmp_path: Path) -> None:
    build, why = NPZ[name]
    build(tmp_path / "x.npz")
    before = everything(tmp_path)
    with pytest.raises(FileError, match=why) as caught:
        convert(tmp_path / "x.npz", tmp_path / "y.npz", to="float16")
    assert len(str(caught.value).splitlines()) == 1
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"size": (24, "<L", 0xFFFF_FFF0), "packed": (20, "<L", 0xFFFF_FFF0)}, r"ends \d+ bytes past the end"),
        ({"size": (24, "<L", 0xFFFF_FFF0)}, "has 192 bytes, which cannot become the 4294967280 that it claims"),
        ({"size": (24, "<L", 0xFFFF_FFF0), "method": (10, "<H", 8)}, "has 192 bytes, which cannot become"),
    ],
)  # fmt: skip
def test_an_archive_that_claims_more_than_it_can_hold(sizes: dict[str, Any], why: str, tmp_path: Path) -> None:
    """Before memory is allocated for what it claims, and before the disk is asked for room."""
    _zip(**sizes)(tmp_path / "x.npz")
    with pytest.raises(FileError, match=why):
        convert(tmp_path / "x.npz", tmp_path / "y.npz", to="float16", dry_run=True)
    with pytest.raises(FileError, match=why):
        inspect(tmp_path / "x.npz")
    assert os.listdir(tmp_path) == ["x.npz"]


def test_an_archive_whose_member_ends_early(tmp_path: Path) -> None:
    _zip(size=(24, "<L", 0x2000), method=(10, "<H", 8))(tmp_path / "x.npz")
    with pytest.raises(FileError, match=r"must be a readable \.npz archive; [^;]+$"):
        inspect(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["x.safetensors", "x.npy", "x.npz", "x.onnx", "x.bin", "folder"])
def test_paths_that_lead_to_nothing(name: str, tmp_path: Path) -> None:
    for build, why in (
        (lambda p: None, "No such file"), (os.mkfifo, "must be a regular file"),
        (lambda p: p.symlink_to(p.name), "symbolic links|No such file"),
        (lambda p: p.write_bytes(b"\0" * 9), "must be"),
    ):  # fmt: skip
        build(tmp_path / name)
        with pytest.raises(FileError, match=why):
            inspect(tmp_path / name)
        if os.path.lexists(tmp_path / name):
            (tmp_path / name).unlink()
    with pytest.raises(FileError, match="null"):
        inspect(str(tmp_path / "a\0b"))
