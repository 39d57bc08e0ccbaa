"""Headers that are large or slow to parse are refused early, within `max_memory`, with a remedy in the message."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.bits import bits_of
from support.checkpoint_files import call_fails, convert_fails, raw_file, save, stored_bytes, values
from support.command_line import fail, run
from support.containers import INDEX, checkpoint, write_onnx
from support.optional import optional
from support.paths import printed, table

import lowprec as lp
from lowprec.checkpoints import convert, inspect, memory_limit
from lowprec.checkpoints.containers.json_scanner import LONGEST_ENTRY, decode, entries
from lowprec.checkpoints.containers.onnx_protobuf import split_model
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.memory_limit import Limits

onnx: Any = optional("onnx")
helper: Any = optional("onnx:helper")
numpy_helper: Any = optional("onnx:numpy_helper")
safe_open: Any = optional("safetensors:safe_open")

TABLE = table(__file__)


@pytest.mark.parametrize("text", TABLE["objects"])
def test_entries(text: str) -> None:
    found = [(name, json.loads(value)) for name, value in entries(text.strip().encode())]
    assert found == list(json.loads(text).items())


@pytest.mark.parametrize("text", TABLE["broken"])
def test_what_is_no_json(text: str) -> None:
    if text != '{"a":{"b":1,"b":2}}':
        with pytest.raises(ValueError, match=r"."):
            json.loads(text) if text != "[]" else json.loads("[")
    with pytest.raises(ValueError, match=r"."):
        [decode(value) for _, value in entries(text.encode())]


def test_every_cut_of_a_header() -> None:
    text = json.dumps(
        {"__metadata__": {"a": "}"}, "w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    ).encode()
    assert len(list(entries(text))) == 2
    for end in range(len(text)):
        with pytest.raises(ValueError, match=r"."):
            list(entries(text[:end]))


def test_a_value_that_does_not_end_is_not_looked_for_long() -> None:
    with pytest.raises(ValueError, match="the value at byte 5 does not end"):
        list(entries(b'{"a":' + b"[" * (LONGEST_ENTRY + 10) + b"]" * (LONGEST_ENTRY + 10) + b"}"))


def many(path: Path, n: int) -> Path:
    fields = {f"t{i}": {"dtype": "U8", "shape": [1], "data_offsets": [i, i + 1]} for i in range(n)}
    return raw_file(path, fields, bytes(n))


def test_a_header_that_is_too_long() -> None:
    save(Path("x.safetensors"), {"w": values((3,))}, {"story": "x" * (8 << 20)})
    for command in ("inspect x.safetensors", "convert x.safetensors y.safetensors --to float8_e4m3fn --progress none"):
        why = r"x\.safetensors: must be a readable \.safetensors file; its header has 8388\d\d\d bytes: "
        found = re.fullmatch(
            why + r"--max-memory must be at least (\d+)M", fail(*command.split(), "--max-memory", "100M")
        )
        assert found
        run(*command.split(), "--max-memory", f"{found[1]}M")


def test_tensors_that_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One less than there may be, and one more; the folder counts those of all shards."""
    monkeypatch.setattr(memory_limit, "PER_TENSOR", 1 << 20)
    most = Limits(100 << 20).tensors
    assert most == 52
    assert len(inspect(many(Path("x.safetensors"), most), max_memory="100M")) == most
    why = r"it holds more than 52 tensors: `max_memory` must be more than 100M"
    with pytest.raises(FileError, match=rf"x\.safetensors: must be a readable \.safetensors file; {why}"):
        inspect(many(Path("x.safetensors"), most + 1), max_memory="100M")
    folder = Path("folder")
    folder.mkdir()
    many(folder / "a.safetensors", 30)
    many(folder / "b.safetensors", 22)
    assert len(inspect(folder, max_memory="100M")) == most
    many(folder / "c.safetensors", 1)
    call_fails(rf"folder: {why}", inspect, folder, max_memory="100M")
    save(Path("noted.safetensors"), {"w": values((3,))}, {str(i): "" for i in range(52)})
    assert len(inspect("noted.safetensors", max_memory="100M")) == 1
    save(Path("noted.safetensors"), {"w": values((3,))}, {str(i): "" for i in range(53)})
    with pytest.raises(FileError, match="it holds more than 52 texts: `max_memory` must be more than 100M"):
        inspect("noted.safetensors", max_memory="100M")
    np.savez("x.npz", **{f"t{i}": np.zeros(1) for i in range(53)})
    call_fails(rf"x\.npz: must be a readable \.npz archive; {why}", inspect, "x.npz", max_memory="100M")
    write_onnx(Path("x.onnx"), **{f"t{i}": np.zeros(1) for i in range(53)})
    call_fails(rf"x\.onnx: must be a readable \.onnx model; {why}", inspect, "x.onnx", max_memory="100M")


MEASURED = """
import resource, sys
from pathlib import Path
from lowprec.checkpoints import inspect
from lowprec.checkpoints.files.errors import FileError
def anonymous():
    text = Path("/proc/self/status").read_text()
    return int(text.partition("RssAnon:")[2].split()[0])
import threading, time
peak, ended = [anonymous()], []
def watch():
    while not ended:
        peak.append(anonymous())
        time.sleep(0.002)
thread = threading.Thread(target=watch)
thread.start()
before = anonymous()
try:
    print(len(inspect(sys.argv[1])))
except FileError as error:
    print(str(error))
ended.append(1)
thread.join()
print((max(peak) - before) >> 10)
"""

FLAT = b"{" + b",".join(b'"%d":0' % i for i in range(1_250_000)) + b"}"
HOSTILE = {
    "lists": b'{"a":[' + b"[]," * 5_000_000 + b"[]]}",
    "a flat entry": b'{"a":{"shape":[' + b"[]," * 5_000_000 + b"[]]}}",
    "objects": b'{"a":[' + b"{}," * 5_000_000 + b"{}]}",
    "numbers by name": FLAT,
    "texts by name": b'{"__metadata__":' + FLAT.replace(b":0", b':""') + b"}",
    "notes": b'{"__metadata__":{"lowprec":' + json.dumps(FLAT.decode()).encode()[: 15 << 20] + b"}}",
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is measured as Linux counts it")
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_headers_of_the_longest_length(name: str) -> None:
    """16 MB, what is looked at with 256 MB: they took thirty times their length."""
    text = HOSTILE[name]
    assert 11 << 20 < len(text) < 16 << 20
    path = raw_file(Path("x.safetensors"), text, bytes(8))
    said, megabytes = printed(MEASURED, str(path)).splitlines()
    assert said.startswith(f"{path}: must be a readable .safetensors file; ")
    assert int(megabytes) < 220


def test_an_index_that_is_too_long() -> None:
    source = checkpoint(Path("in"))
    fields = json.loads((source / INDEX).read_text())
    text = json.dumps({**fields, "padding": ["x"] * 9})
    (source / INDEX).write_text(text)
    convert(source, "out", to="int8", raw=True)
    assert json.loads(Path("out", INDEX).read_text())["padding"] == ["x"] * 9
    (source / INDEX).write_text(text + " " * (8 << 20))
    with pytest.raises(FileError, match=r"index\.json: must be JSON with a weight_map .* must be at least 129M"):
        inspect(source, max_memory="100M")
    assert len(inspect(source, max_memory="129M")) == 4
    (source / INDEX).write_text(json.dumps({**fields, "padding": "x" * (1 << 17)}))
    call_fails("'padding' has more than 65536 bytes", inspect, source)


def varint(value: int) -> bytes:
    text = b""
    while value > 127:
        text += bytes([value & 127 | 128])
        value >>= 7
    return text + bytes([value])


def field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


HEAD = b"\x08\x0a" + field(8, b"\x10\x15")  # the version of the format, and an opset
N = 1_000_000
MODELS = {
    "fields that nobody knows": HEAD + b"\x78\x01" * N,
    "empty fields": HEAD + b"\x7a\x00" * N,
    "nodes": HEAD + field(7, b"\x0a\x00" * N),
    "lengths": HEAD + field(7, field(5, b"\x08\x01" * N)),
}


@pytest.mark.parametrize("name", MODELS)
def test_models_of_short_fields(name: str) -> None:
    Path("x.onnx").write_bytes(MODELS[name])
    most = 8 * Limits(256 << 20).tensors
    call_fails(f"it has more than {most} fields: `max_memory` must be more than 256M", inspect, "x.onnx")


def test_a_tensor_with_its_bytes_twice() -> None:
    tensor = numpy_helper.from_array(np.zeros(2, np.float32), "w").SerializeToString()
    Path("x.onnx").write_bytes(HEAD + field(7, field(5, tensor + field(9, bytes(8)))))
    call_fails("a tensor has its bytes twice", inspect, "x.onnx")


def test_a_model_with_much_that_is_no_weight() -> None:
    constant = helper.make_node("Constant", [], ["c"], value=numpy_helper.from_array(np.zeros(4 << 20, np.float32)))
    w = values((4, 4))
    graph = helper.make_graph([constant], "g", [], [], [numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)]), "x.onnx")
    why = r"raw bytes of initialisers has 16777\d\d\d bytes: .* must be at least 129M"
    convert_fails(why, "x.onnx", "y.onnx", to="float16", max_memory="128M")
    convert("x.onnx", "y.onnx", to="float16", max_memory="129M")
    found = {one.name: one for one in onnx.load("y.onnx").graph.initializer}
    assert len(found["c_codes"].raw_data) == 8 << 20
    assert found["w_codes"].raw_data == lp.cast(w, "float16").tobytes()


def test_windows_of_every_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """A field may begin and end anywhere in what is read at once; lengths take one, two and three bytes."""
    arrays = {f"w{i}" * (1 + i % 7): values((3, 1 + 97 * i), i) for i in range(60)}
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", name], ["x"]) for name in arrays], "g", [], [],
        [numpy_helper.from_array(x, name) for name, x in arrays.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph), "x.onnx")
    content = Path("x.onnx").read_bytes()
    for width in range(20, 90):
        monkeypatch.setattr("lowprec.checkpoints.containers.onnx_protobuf.WINDOW", width)
        found = split_model(Path("x.onnx"))
        assert len(onnx.GraphProto.FromString(found.graph).node) == 60
        assert [onnx.TensorProto.FromString(rest).name for rest, _ in found.tensors] == list(arrays)
        for (_, place), x in zip(found.tensors, arrays.values(), strict=True):
            assert place is not None
            assert content[place.offset : place.offset + place.nbytes] == x.tobytes()


def test_names_of_all_kinds() -> None:
    """Names of any length and any characters survive, as safetensors reads them, and so do metadata."""
    tensors = {
        name: values((n, 3), n) for n, name in enumerate(("é" * 300, '"\\', "\U0001f600", "", "\x1b[1m", "日本"))
    }
    source = save(Path("x.safetensors"), tensors, {"ü": "é", "n": "1"})
    assert {one.name for one in inspect(source)} == tensors.keys()
    convert(source, "y.safetensors", to="bfloat16")
    with safe_open("y.safetensors", "np") as found:
        assert set(found.keys()) == tensors.keys()
        assert found.metadata() == {"ü": "é", "n": "1"}
    for name, x in tensors.items():
        assert stored_bytes(Path("y.safetensors"), name) == bits_of(lp.cast(x, "bfloat16")).tobytes()
