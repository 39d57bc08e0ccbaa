"""Inputs of fuzzing: small whole files of each kind, folders with an index or a configuration, and the kept corpus."""

from __future__ import annotations

import io
import json
import shutil
import struct
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from lowprec.checkpoints import convert
from support import gguf_files
from support.checkpoint_files import save, values
from support.optional import Missing, optional
from support.paths import TESTS
from support.quantized_checkpoints import INDEX, LAYOUTS, tensors_of, write, write_folder

onnx: Any = optional("onnx")

READERS = ("safetensors", "npy", "npz", "onnx", "index", "config", "gguf")

FOLDERS = tuple(LAYOUTS)
"""The first byte of an input for `config`, modulo their number, is the folder that the rest describes."""

INDEXED = "compressed-tensors nvfp4"
"""The layout of the folder whose index is fuzzed."""

CORPUS = TESTS / "proof/corpus"
"""An archive a reader: the smallest input for each kind of outcome, and what was a defect once."""


def corpus_of(reader: str) -> dict[str, bytes]:
    """Return the kept inputs of a reader by name; none where there is no archive."""
    path = CORPUS / f"{reader}.zip"
    if not path.exists():
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def keep_corpus(reader: str, inputs: dict[str, bytes]) -> None:
    """Replace the kept inputs of a reader; equal inputs give equal archives."""
    CORPUS.mkdir(exist_ok=True)
    with zipfile.ZipFile(CORPUS / f"{reader}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in sorted(inputs.items()):
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)


def seeds_of(reader: str) -> list[bytes]:
    """Return whole files, or whole texts of folders, for a reader."""
    with tempfile.TemporaryDirectory() as name:
        return _MAKERS[reader](Path(name))


def _safetensors(folder: Path) -> list[bytes]:
    tensors = {"w": values((5, 8)), "h": values((3,), 1, np.float16), "b": values((2, 2), 2, ml_dtypes.bfloat16)}
    tensors |= {"i": np.arange(3), "m": np.array([True, False]), "e": np.zeros((0, 4), np.float32)}
    save(folder / "plain.safetensors", tensors, {"format": "pt"})
    for to, scale in (("int4", "block:4"), ("float6_e2m3fn", "none"), ("int8", "axis:0")):
        convert(folder / "plain.safetensors", folder / f"{to}.safetensors", to=to, scale=scale)
    for layout, checkpoint in LAYOUTS.items():
        write(folder / f"{layout}.safetensors", tensors_of(checkpoint))
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def _arrays() -> list[np.ndarray[Any, Any]]:
    plain = [values((5, 8)), values((), 1, np.float64), np.arange(6, dtype=">i4").reshape(2, 3)]
    plain += [np.asfortranarray(values((3, 4), 2, np.float16)), np.array([True, False]), np.zeros((0, 2), np.uint8)]
    return [*plain, values((4,), 3, ml_dtypes.bfloat16), values((4,), 4, ml_dtypes.float8_e5m2)]


def _npy_bytes(array: np.ndarray[Any, Any]) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _npy(folder: Path) -> list[bytes]:
    found = [_npy_bytes(array) for array in _arrays()]
    for version in ((2, 0), (3, 0)):
        stream = io.BytesIO()
        np.lib.format.write_array(stream, np.arange(3), version=version)
        found.append(stream.getvalue())
    return found


def _npz(folder: Path) -> list[bytes]:
    arrays = {f"a{i}": array for i, array in enumerate(_arrays()[:6])}
    np.savez(folder / "plain.npz", **arrays)
    np.savez(folder / "scaled.npz", w=np.int8([[1, -2, 0], [3, 4, 5]]), w_scale=np.float32([0.5, 2]))
    convert(folder / "plain.npz", folder / "codes.npz", to="float8_e4m3fn")
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(folder / f"packed{method}.npz", "w", method) as archive:
            archive.writestr("w.npy", _npy_bytes(values((4, 4))))
            archive.writestr("note.txt", b"no array")
    return [path.read_bytes() for path in sorted(folder.iterdir())]


def _onnx(folder: Path) -> list[bytes]:
    if isinstance(onnx, Missing):
        return []
    helper, from_array = onnx.helper, onnx.numpy_helper.from_array
    first = from_array(values((4, 4)), "w"), from_array(values((3,), 1, np.float16), "h"), from_array(np.arange(3), "i")
    kinds = onnx.TensorProto
    typed = [helper.make_tensor("f", kinds.FLOAT, [2], [0.5, -0.0]), helper.make_tensor("d", kinds.DOUBLE, [1], [2.0])]
    typed += [helper.make_tensor(f"t{kind}", kind, [2], [1, 0]) for kind in (kinds.INT4, kinds.UINT8, kinds.BFLOAT16)]
    typed += [
        helper.make_tensor("q", kinds.FLOAT8E4M3FN, [2], [1.0, 0.5]),
        helper.make_tensor("s", kinds.STRING, [1], ["a"]),
    ]
    inner = helper.make_graph(
        [helper.make_node("Identity", ["w"], ["z"])], "inner", [], [], [from_array(values((2,)), "v")]
    )
    nodes = [helper.make_node("Identity", ["w"], ["y"]), helper.make_node("Constant", [], ["c"], value=first[2])]
    nodes.append(helper.make_node("If", ["c"], ["r"], then_branch=inner, else_branch=inner))
    outside = from_array(values((4, 4)), "x")
    outside.ClearField("raw_data")
    outside.data_location = kinds.EXTERNAL
    for key, text in (("location", DATA), ("offset", "0"), ("length", "64")):
        outside.external_data.add(key=key, value=text)
    groups = (list(first), typed, [*first, outside])
    opset = [helper.make_opsetid("", 23)]
    models = [helper.make_model(helper.make_graph(nodes, "g", [], [], group), opset_imports=opset) for group in groups]
    return [model.SerializeToString() for model in models]


DATA = "x.data"
"""The file of external data that lies next to a model: 64 bytes."""


def _index(folder: Path) -> list[bytes]:
    return [(write_folder(folder / "in", LAYOUTS[INDEXED]) / INDEX).read_bytes()]


def _config(folder: Path) -> list[bytes]:
    found = []
    for place, layout in enumerate(FOLDERS):
        text = (write_folder(folder / str(place), LAYOUTS[layout]) / "config.json").read_bytes()
        found.append(bytes([place]) + text)
    first = json.loads(found[FOLDERS.index("compressed-tensors nvfp4")][1:])
    group = {"weights": {"num_bits": 4, "type": "float", "group_size": 16, "strategy": "tensor_group"}}
    first["quantization_config"] |= {"config_groups": {"group_0": {**group, "targets": ["Linear"]}}}
    return [*found, bytes([FOLDERS.index("compressed-tensors nvfp4")]) + json.dumps(first).encode()]


def _gguf(folder: Path) -> list[bytes]:
    keys = [gguf_files.number("general.alignment", 32), gguf_files.number("general.file_type", 0)]
    words = gguf_files.text(b"tokens") + struct.pack("<IIQ", 9, 8, 2) + gguf_files.text(b"a") + gguf_files.text(b"b")
    keys += [words, gguf_files.text(b"flag") + struct.pack("<IB", 7, 1)]
    blocks = {2: 18, 3: 20, 6: 22, 7: 24, 8: 34, 39: 17}
    k_blocks = {10: 84, 11: 110, 12: 144, 13: 176, 14: 210}
    files = []
    for kinds, length in ((blocks, 32), (k_blocks, 256)):
        entries, at = [], 0
        for kind, nbytes in kinds.items():
            entries.append(gguf_files.entry(f"blk.0.w{kind}.weight", (length, 2), kind, at))
            at += -(-2 * nbytes // 32) * 32
        files.append(gguf_files.raw_file(folder / f"{length}.gguf", keys, entries, data=at).read_bytes())
    plain = [
        gguf_files.entry("a", (8, 2), 0, 0), gguf_files.entry("b", (8,), 1, 64), gguf_files.entry("c", (4,), 30, 96),
    ]  # fmt: skip
    for version in (2, 3):
        made = gguf_files.raw_file(folder / "plain.gguf", keys, plain, data=128, version=version)
        files.append(made.read_bytes())
    return files


_MAKERS = {
    "safetensors": _safetensors, "npy": _npy, "npz": _npz, "onnx": _onnx, "index": _index, "config": _config,
    "gguf": _gguf,
}  # fmt: skip


def make_surroundings(reader: str, folder: Path) -> list[Path]:
    """Write what lies around the inputs of a reader; return the files that inputs become, one or, for folders, many."""
    if reader == "index":
        return [write_folder(folder / "in", LAYOUTS[INDEXED]) / INDEX]
    if reader == "config":
        places = [write_folder(folder / str(place), LAYOUTS[layout]) for place, layout in enumerate(FOLDERS)]
        return [place / "config.json" for place in places]
    inside = folder / "in"
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir()
    if reader == "onnx":
        (inside / DATA).write_bytes(bytes(range(64)))
    return [inside / f"x.{reader}"]
