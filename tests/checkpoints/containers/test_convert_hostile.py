"""Broken and hostile files: a one-line error, no absurd allocation, nothing written, nothing lost."""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.checkpoint_files import call_fails, everything, leftovers, raw_file, save, traced, values
from support.gguf_files import entry as tensor
from support.gguf_files import number as key
from support.gguf_files import raw_file as gguf_file
from support.gguf_files import text as gguf_text
from support.gguf_files import write as write_gguf
from support.optional import optional
from support.paths import table

from lowprec import checkpoints
from lowprec.checkpoints import check, convert, inspect
from lowprec.checkpoints.files.errors import FileError

onnx: Any = optional("onnx")
helper: Any = optional("onnx:helper")
numpy_helper: Any = optional("onnx:numpy_helper")


def text(content: bytes, count: int = 8, length: int | None = None) -> Callable[[Path], Path]:
    """Return what writes a file of a header and as many bytes; the length of the header may be a lie."""
    return lambda path: raw_file(path, content, bytes(count), length)


ONE = b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}'
SAFETENSORS: dict[str, tuple[Callable[[Path], object], str]] = {
    **{one: (text(header.encode(), size), why) for one, (header, size, why) in table(__file__)["safetensors"].items()},
    "length 0": (text(ONE, length=0), "header must have from 2 to"),
    "length 1": (text(ONE, length=1), "header must have from 2"),
    "length 2**63": (text(ONE, length=2**63), "it says 9223372036854775808"),
    "length 2**64-1": (text(ONE, length=2**64 - 1), "it says 18446744073709551615"),
    "past the end": (text(ONE, length=10_000), "header must have from 2 to"),
    "short": (text(ONE, length=20), "header is not JSON"),
    "not UTF-8": (text(b'{"\xff": 1}'), "header is not JSON"),
    "deep": (text(b'{"a":' + b"[" * 200_000), "header is not JSON"),
    "digits": (text(b'{"a":' + b"9" * 5000 + b"}"), "not JSON"),
    "note deep": (text(b'{"__metadata__": {"lowprec": "' + b"[" * 100_000 + b'"}, ' + ONE[1:]), "must be JSON about"),
    "empty": (lambda path: path.write_bytes(b""), "too few for a header"),
    "seven": (lambda path: path.write_bytes(bytes(7)), "too few for a header"),
}  # fmt: skip


def refused(path: Path, why: str) -> None:
    target = f"y{path.suffix}" if path.suffix in (".onnx", ".npz") else "y.safetensors"
    before = everything(path.parent)

    def calls() -> str:
        for read in (inspect, check, checkpoints.open):
            call_fails(why, read, path)
        return call_fails(why, convert, path, path.with_name(target), to="float16")

    message, peak = traced(calls)
    assert peak < (1 << 22 if path.suffix == ".gguf" else 1 << 24)
    assert message.startswith(str(path) if path.suffix != ".gguf" else f"{path}: must be a readable .gguf file; ")
    assert len(message) < len(str(path)) + 260
    assert everything(path.parent) == before
    assert leftovers(path.parent) == []


WHOLE: dict[str, tuple[Callable[[Path], Path], str, int]] = {
    "safetensors": (lambda path: save(path, {"a": values((3, 5)), "b": np.arange(3)}),
                    "must be a readable .safetensors file|content is none", 0),
    "onnx": (lambda path: _onnx(lambda _: None)(path), r"must be a readable \.onnx model", 0),
    "gguf": (lambda path: write_gguf(path, {"a": np.ones((3, 5), np.float32), "b": np.ones(3, np.float16)}),
             "past the end of the file|does not start with a header|need more bytes", 32 - 6),
}  # fmt: skip
"""Files, why any part of them is refused, and how many bytes may be missing: what pads the last tensor."""


@pytest.mark.parametrize("kind", WHOLE)
def test_a_file_cut_anywhere(kind: str) -> None:
    build, why, padding = WHOLE[kind]
    whole = build(Path(f"x.{kind}")).read_bytes()
    path = Path("cut", f"x.{kind}")
    path.parent.mkdir()
    last = len(whole) - padding
    for end in range(4 if padding else 0, last):
        path.write_bytes(whole[:end])
        refused(path, why)
    path.write_bytes(whole[:last])
    assert inspect(path)


def test_many_names_twice_take_no_time() -> None:
    names = ",".join(f'"{i}":0' for i in range(100_000))
    with pytest.raises(FileError, match="its header names '7' twice"):
        inspect(raw_file(Path("x.safetensors"), b"{" + names.encode() + b',"7":0}'))


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


def _zip(**options: Any) -> Callable[[Path], None]:
    def build(path: Path) -> None:
        np.savez(path, w=values((4, 4)))
        content = bytearray(path.read_bytes())
        at = content.rindex(b"PK\x01\x02")
        for offset, form, value in options.values():
            struct.pack_into(form, content, at + offset, value)
        path.write_bytes(content)

    return build


NPZ: dict[str, tuple[Callable[[Path], object], str]] = {
    "cut": (lambda p: (np.savez(p, w=values((4, 4))), os.truncate(p, 60)), "must be a readable .npz archive"),
    "encrypted": (_zip(flags=(8, "<H", 1)), "is encrypted"),
    "method": (_zip(method=(10, "<H", 77)), "must be a readable .npz archive"),
    "offset": (_zip(offset=(42, "<L", 5)), "must be a readable .npz archive"),
    "twice": (lambda p: _twice(p), "names twice 'w'"),
    "claims more": (_zip(size=(24, "<L", 0xFFFF_FFF0), packed=(20, "<L", 0xFFFF_FFF0)), r"ends \d+ bytes past the end"),
    "cannot become": (_zip(size=(24, "<L", 0xFFFF_FFF0)), "has 192 bytes, which cannot become the 4294967280 that it"),
    "unpacked": (_zip(size=(24, "<L", 0xFFFF_FFF0), method=(10, "<H", 8)), "has 192 bytes, which cannot become"),
    "ends early": (_zip(size=(24, "<L", 0x2000), method=(10, "<H", 8)), r"must be a readable \.npz archive; [^;]+$"),
}  # fmt: skip


def _twice(path: Path) -> None:
    np.savez(path, w=values((2,)))
    content = zipfile.ZipFile(path).read("w.npy")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("w.npy", content)


KINDS: dict[str, dict[str, tuple[Any, str]]] = {"safetensors": SAFETENSORS, "onnx": ONNX, "gguf": GGUF, "npz": NPZ}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, cases in KINDS.items() for name in cases])
def test_broken_files(kind: str, name: str) -> None:
    build, why = KINDS[kind][name]
    path = Path(f"x.{kind}")
    if kind == "gguf":  # where changes of a good file are given
        gguf_file(path, **{"keys": [key("k", 1)], "tensors": [tensor(), tensor("b", (4,), 1, 32)], **build})
    else:
        build(path)
    refused(path, why)


@pytest.mark.parametrize("name", ["x.safetensors", "x.npy", "x.npz", "x.onnx", "x.bin", "folder"])
def test_paths_that_lead_to_nothing(name: str) -> None:
    for build, why in (
        (lambda p: None, "No such file"), (os.mkfifo, "must be a regular file"),
        (lambda p: p.symlink_to(p.name), "symbolic links|No such file"),
        (lambda p: p.write_bytes(b"\0" * 9), "must be"),
    ):  # fmt: skip
        build(Path(name))
        call_fails(why, inspect, Path(name))
        if os.path.lexists(Path(name)):
            Path(name).unlink()
    call_fails("null", inspect, "a\0b")
