"""Broken and hostile GGUF files: a one-line error, no absurd allocation, nothing written."""

from __future__ import annotations

import struct
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gguf")

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.checkpoint_files import everything, leftovers
from support.gguf_files import Type, entry, number, raw_file, text, write

from lowprec.checkpoints import convert, inspect
from lowprec.checkpoints.files.errors import FileError

BOUNDED = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
HUGE = 2**64 - 1


def value(kind: int, content: bytes, key: bytes = b"k") -> bytes:
    return text(key) + struct.pack("<I", kind) + content


HEADERS: dict[str, tuple[dict[str, Any], str]] = {
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
    "key twice": ({"keys": [number("k", 1), number("k", 1)]}, "it has the key 'k' twice"),
    "alignment 0": ({"keys": [number("general.alignment", 0)]}, "must be a power of two up to 65536; got 0"),
    "alignment 48": ({"keys": [number("general.alignment", 48)]}, "must be a power of two up to 65536; got 48"),
    "alignment 2**31": ({"keys": [number("general.alignment", 2**31)]}, "must be a power of two up to 65536"),
    "alignment float": ({"keys": [value(6, struct.pack("<f", 32), b"general.alignment")]}, "must be an unsigned"),
    "alignment array": (
        {"keys": [value(9, struct.pack("<IQI", 4, 1, 32), b"general.alignment")]}, "must be an unsigned number",
    ),
    "unknown type past the end": (
        {"tensors": [entry(kind=42, offset=96)]}, "tensor 'a' ends 32 bytes past the end of the file",
    ),
    "unknown type far past": (
        {"tensors": [entry(kind=42, offset=2**63)]}, r"tensor 'a' ends \d+ bytes past the end of the file",
    ),
    "unknown type without bytes": (
        {"tensors": [entry(kind=42), entry("b", kind=42)]}, "tensor 'a' has unknown type 42 and no bytes",
    ),
    "unknown type at the end": ({"tensors": [entry(kind=2**32 - 1, offset=64)]}, "has unknown type 4294967295 and no"),
    "unknown type before another": (
        {"tensors": [entry("b", axes=(4,)), entry(kind=42)]}, "tensor 'a' overlaps the one before it",
    ),
    "unknown type inside another": (
        {"tensors": [entry("b", axes=(16,)), entry(kind=42, offset=32)]}, "tensor 'a' overlaps the one before it",
    ),
    "unknown type, offset": (
        {"tensors": [entry(kind=42, offset=8)]}, "tensor 'a' starts at 8, which is no multiple of the alignment 32",
    ),
    "unknown type, product": (
        {"tensors": [entry(axes=(2**32, 2**32), kind=42)]}, "tensor 'a' has far too many elements",
    ),
    "split.count text": (
        {"keys": [value(8, text(b"3"), b"split.count")]}, "its split.count must be an integer",
    ),
    "split.no too large": (
        {"keys": [number("split.count", 3), number("split.no", 3)]}, "split.no must be less than .*, 3; got 3",
    ),
    "split.no missing": ({"keys": [number("split.count", 3)]}, "split.no must be less than its split.count, 3; got -1"),
    "split.no negative": (
        {"keys": [number("split.count", 3), value(5, struct.pack("<i", -2), b"split.no")]}, "count, 3; got -2",
    ),
    "five axes": ({"tensors": [entry(axes=(1, 1, 1, 1, 8))]}, "tensor 'a' has 5 axes, more than 4"),
    "many axes": ({"tensors": [text(b"a") + struct.pack("<I", 2**32 - 1)]}, "tensor 'a' has 4294967295 axes"),
    "product": ({"tensors": [entry(axes=(2**32, 2**32))]}, "tensor 'a' has far too many elements"),
    "negative": ({"tensors": [entry(axes=(HUGE,))]}, "tensor 'a' has far too many elements"),
    "blocks": ({"tensors": [entry(axes=(33,), kind=8)]}, r"rows of 33 elements, which are no blocks of 32 \(Q8_0\)"),
    "scalar block": ({"tensors": [entry(axes=(), kind=12)]}, r"rows of 1 elements, which are no blocks of 256"),
    "past the end": ({"tensors": [entry(axes=(17,))]}, "tensor 'a' ends 4 bytes past the end of the file"),
    "far past": ({"tensors": [entry(offset=2**60)]}, r"tensor 'a' ends \d+ bytes past the end of the file"),
    "empty far past": ({"tensors": [entry(axes=(0,), offset=2**63)]}, r"tensor 'a' ends \d+ bytes past the end of"),
    "offset": ({"tensors": [entry(offset=8)]}, "tensor 'a' starts at 8, which is no multiple of the alignment 32"),
    "overlap": ({"tensors": [entry(axes=(16,)), entry("b", offset=32)]}, "tensor 'b' overlaps the one before it"),
    "same place": ({"tensors": [entry(), entry("b")]}, "tensor 'b' overlaps the one before it"),
    "name twice": ({"tensors": [entry(), entry(offset=32)]}, "it names tensor 'a' twice"),
    "not UTF-8": ({"tensors": [entry(b"\xff\n")]}, r"the name of tensor b'.xff.n' is not UTF-8"),
    "long name": ({"tensors": [entry("a" * 70000)]}, "the name of a tensor has 70000 bytes, more than 65535"),
}  # fmt: skip


def refused(path: Path, why: str) -> None:
    before = everything(path.parent)
    tracemalloc.start()
    try:
        with pytest.raises(FileError, match=why) as caught:
            inspect(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 22
    finally:
        tracemalloc.stop()
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(f"{path}: must be a readable .gguf file; ")
    with pytest.raises(FileError, match=why):
        convert(path, path.with_name("y.safetensors"), to="float16")
    assert everything(path.parent) == before


@pytest.mark.parametrize("name", HEADERS)
def test_headers(name: str, tmp_path: Path) -> None:
    changes, why = HEADERS[name]
    wanted = {"keys": [number("k", 1)], "tensors": [entry(), entry("b", (4,), 1, 32)], **changes}
    refused(raw_file(tmp_path / "x.gguf", **wanted), why)


def test_a_file_cut_anywhere(tmp_path: Path) -> None:
    whole = write(tmp_path / "x.gguf", {"a": np.ones((3, 5), np.float32), "b": np.ones(3, np.float16)}).read_bytes()
    path = tmp_path / "cut" / "x.gguf"
    path.parent.mkdir()
    last = len(whole) - (32 - 6)  # what pads the last tensor may be missing
    for end in range(4, last):
        path.write_bytes(whole[:end])
        refused(path, "past the end of the file|does not start with a header|need more bytes")
    path.write_bytes(whole[:last])
    assert len(inspect(path)) == 2


def test_a_header_that_takes_more_than_the_memory(tmp_path: Path) -> None:
    """Before it is read, and with the memory that it takes in the message."""
    keys = [value(9, struct.pack("<IQ", 0, 50 << 20) + bytes(50 << 20))]
    path = raw_file(tmp_path / "x.gguf", keys, [entry()])
    with pytest.raises(FileError, match=r"its header has 524\d+ bytes: `max_memory` must be at least 201M"):
        inspect(path, max_memory="128M")
    assert [one.name for one in inspect(path)] == ["a"]
    many = raw_file(tmp_path / "y.gguf", [], [entry(str(i), (0,)) for i in range(60000)])
    with pytest.raises(FileError, match="it holds more than 40960 tensors"):
        inspect(many, max_memory="128M")


def whole_file() -> bytes:
    with tempfile.TemporaryDirectory() as name:
        blocks = np.arange(2 * 34, dtype=np.uint8).reshape(2, 34)
        tensors = {"a.weight": np.ones((2, 32), np.float32), "b.weight": (Type.Q8_0, blocks), "c": np.arange(3.0)}
        return write(Path(name, "x.gguf"), tensors, general__file_type=0).read_bytes()


WHOLE = whole_file()
MUTATIONS = st.lists(
    st.tuples(st.integers(0, len(WHOLE)), st.sampled_from(["set", "cut", "insert"]), st.binary(max_size=9)),
    min_size=1, max_size=4,
)  # fmt: skip


@BOUNDED
@given(changes=MUTATIONS, options=st.sampled_from([{"recipe": "q4_0"}, {"to": "float16"}]))
def test_damaged_files(changes: list[tuple[int, str, bytes]], options: dict[str, str]) -> None:
    """A one-line FileError or a conversion."""
    content = WHOLE
    for at, how, piece in changes:
        content = content[:at] + (piece if how != "cut" else b"") + content[at + (len(piece) * (how != "insert")) :]
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "x.gguf")
        path.write_bytes(content)
        target = Path(name, "y.gguf" if "recipe" in options else "y.safetensors")
        said = None
        try:
            convert(path, target, threads=1, verify=True, **options)
        except FileError as error:
            said = str(error)
        assert said is None or len(said.splitlines()) == 1
        assert target.exists() == (said is None)
        assert leftovers(Path(name)) == []
        assert path.read_bytes() == content
