"""Random and damaged files: a one-line FileError or a conversion, and no leftovers."""

from __future__ import annotations

import json
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support import gguf_files
from support.checkpoint_files import leftovers, save, values
from support.optional import Missing, optional

from lowprec.checkpoints import convert
from lowprec.checkpoints.files.errors import FileError

onnx: Any = optional("onnx")
helper: Any = optional("onnx:helper")
numpy_helper: Any = optional("onnx:numpy_helper")

BOUNDED = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def whole_files() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tensors = {"w": values((5, 8)), "h": values((3,), 1, np.float16), "i": np.arange(3)}
        save(folder / "a.safetensors", tensors, {"format": "pt"})
        np.savez(folder / "a.npz", **tensors)
        np.savez_compressed(folder / "c.npz", **tensors)
        np.save(folder / "a.npy", tensors["w"])
        if not isinstance(onnx, Missing):
            made = [numpy_helper.from_array(x, key) for key, x in tensors.items()]
            graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [], made)
            onnx.save(helper.make_model(graph), folder / "a.onnx")
        if not isinstance(gguf_files.gguf, Missing):
            blocks = np.arange(2 * 34, dtype=np.uint8).reshape(2, 34)
            more = {"a.weight": np.ones((2, 32), np.float32), "b.weight": (gguf_files.Type.Q8_0, blocks)}
            gguf_files.write(folder / "a.gguf", {**more, "c": np.arange(3.0)}, general__file_type=0)
        convert(folder / "a.safetensors", folder / "q.safetensors", to="int4", scale="block:4")
        return {path.name: path.read_bytes() for path in folder.iterdir()}


WHOLE = whole_files()


TARGETS = {".npy": ".npz", ".gguf": ".safetensors"}


def attempt(suffix: str, content: bytes, **options: Any) -> bool:
    """Return whether a file can be converted; let nothing but FileError out of it."""
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, f"x{suffix}")
        path.write_bytes(content)
        said, target = None, Path(name, f"y{suffix if 'recipe' in options else TARGETS.get(suffix, suffix)}")
        try:
            how = options or ({"to": "float16"} if suffix == ".gguf" else {"to": "float8_e4m3fn", "raw": True})
            convert(path, target, **how, threads=1, verify=True)
        except FileError as error:
            said = str(error)
        assert said is None or len(said.splitlines()) == 1
        assert target.exists() == (said is None)
        assert leftovers(Path(name)) == []
        assert path.read_bytes() == content
    return said is None


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_the_whole_files_convert(name: str) -> None:
    assert attempt(Path(name).suffix, WHOLE[name])


MUTATIONS = st.lists(
    st.tuples(st.integers(0, 2**16), st.sampled_from(["set", "cut", "copy", "insert"]), st.binary(max_size=9)),
    min_size=1, max_size=4,
)  # fmt: skip


def damaged(content: bytes, changes: list[tuple[int, str, bytes]]) -> bytes:
    for at, how, piece in changes:
        place = at % (len(content) + 1)
        if how == "set":
            content = content[:place] + piece + content[place + len(piece) :]
        elif how == "cut":
            content = content[:place] + content[place + len(piece) :]
        elif how == "insert":
            content = content[:place] + piece + content[place:]
        else:
            content = content[:place] + content[place // 2 : place // 2 + 40] + content[place:]
    return content


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", sorted(WHOLE))
@BOUNDED
@given(MUTATIONS)
def test_damaged_files(name: str, changes: list[tuple[int, str, bytes]]) -> None:
    attempt(Path(name).suffix, damaged(WHOLE[name], changes))


@pytest.mark.skipif("a.gguf" not in WHOLE, reason="could not import 'gguf'")
@BOUNDED
@given(MUTATIONS)
def test_damaged_files_by_a_recipe(changes: list[tuple[int, str, bytes]]) -> None:
    attempt(".gguf", damaged(WHOLE["a.gguf"], changes), recipe="q4_0")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**66), 2**66) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)
LENGTHS = st.integers(0, 9) | st.sampled_from([2**31, 2**32, 2**61, 2**63, -1])
ENTRY = st.fixed_dictionaries(
    {
        "dtype": st.sampled_from(["F32", "F16", "BF16", "F8_E4M3", "F4", "F6_E2M3", "U8", "I64", "BOOL", "C64", "X"]),
        "shape": st.lists(LENGTHS, max_size=4),
        "data_offsets": st.lists(st.integers(0, 64), min_size=2, max_size=2),
    }
)


@BOUNDED
@given(st.dictionaries(st.text(max_size=4), ENTRY | JSON, max_size=4), st.binary(max_size=64), st.integers(-9, 9))
@example({"w": {"dtype": "F4", "shape": [2], "data_offsets": [0, 1]}}, b"\x21", 0)
def test_headers_of_safetensors(header: dict[str, object], content: bytes, lie: int) -> None:
    text = json.dumps(header).encode()
    attempt(".safetensors", struct.pack("<Q", max(0, len(text) + lie)) + text + content)


@BOUNDED
@given(st.binary(max_size=200), st.sampled_from([".safetensors", ".npy", ".npz", ".onnx", ".gguf", ".bin"]))
def test_noise(content: bytes, suffix: str) -> None:
    attempt(suffix, content)
    attempt(suffix, b"\x08\x0d\x3a" + content)


@pytest.mark.slow
@BOUNDED
@given(st.binary(max_size=120), st.integers(0, 2**32 - 1), st.text(max_size=8))
def test_members_of_archives(content: bytes, claimed: int, name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "x.npz")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("w.npy", WHOLE["a.npy"][: len(content)] + content)
            archive.writestr(f"_{name.encode('utf-8', 'replace').decode()}.npy", WHOLE["a.npy"])
        attempt(".npz", path.read_bytes())
        broken = bytearray(path.read_bytes())
        struct.pack_into("<L", broken, broken.rindex(b"PK\x01\x02") + 24, claimed)
        attempt(".npz", bytes(broken))
