"""Tensors, checkpoint files that hold them, and the bytes that a conversion must give."""

from __future__ import annotations

import json
import os
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec.checkpoints import FileError, convert
from lowprec.checkpoints.containers.container import TensorReader
from lowprec.spec.formats import Format
from support.bits import bits_of, packed_bytes
from support.safetensors_writer import save_file

Array = np.ndarray[Any, Any]


def values(shape: tuple[int, ...], seed: int = 0, dtype: Any = np.float32) -> Array:
    """Return normal numbers over many binades, with NaN, Inf and -0 among them where there is room."""
    rng = np.random.default_rng(seed)
    x = np.asarray(rng.standard_normal(shape) * np.exp2(rng.integers(-8, 6, shape)))
    flat = x.reshape(-1)
    specials = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 0.0, 1e30, -1e-30]
    if flat.size > 3 * len(specials):
        flat[3 : 3 + len(specials)] = specials
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(x, dtype)


TENSORS: dict[str, Array] = {
    "layer.0.weight": values((64, 96), 1),
    "layer.0.bias": values((64,), 2, np.float16),
    "layer.1.weight": values((3, 5, 7), 3, ml_dtypes.bfloat16),
    "norm": values((), 4),
    "wide": values((2, 33), 5, np.float64),
    "empty": np.zeros((0, 4), np.float32),
    "ids": np.arange(12).reshape(3, 4),
    "mask": np.array([True, False, True]),
}
"""Every kind of tensor that NumPy's side of the safetensors package can write."""

FLOATS = [name for name, x in TENSORS.items() if lp.as_format(x.dtype).is_float]


def save(path: Path, tensors: dict[str, Array] = TENSORS, metadata: dict[str, str] | None = None) -> Path:
    save_file(tensors, path, metadata)
    return path


def bytes_in(codes: Array, fmt: Format) -> bytes:
    return (packed_bytes(codes, fmt.bits) if fmt.bits < 8 else bits_of(codes)).tobytes()


def parse(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the header of a safetensors file, read without our code, and its tensors' bytes."""
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def stored_bytes(path: Path, name: str) -> bytes:
    header, content = parse(path)
    begin, end = header[name]["data_offsets"]
    return content[begin:end]


def raw_file(path: Path, header: Any, content: bytes = b"", length: int | None = None) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text) if length is None else length) + text + content)
    return path


def everything(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def leftovers(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if ".tmp-" in name or name.startswith(".lowprec-")]


def call_fails(why: str, call: Callable[..., object], /, *arguments: Any, **options: Any) -> str:
    """Require that a call raises a FileError of one line, which matches; return the line."""
    with pytest.raises(FileError, match=why) as caught:
        call(*arguments, **options)
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


def convert_fails(why: str, source: Any, target: Any, /, **options: Any) -> str:
    """Require that `convert` fails so, and changes no file; return the line."""
    before = sorted(os.listdir()), everything(Path())
    line = call_fails(why, convert, source, target, **options)
    assert (sorted(os.listdir()), everything(Path())) == before
    return line


def traced(call: Callable[[], Any]) -> tuple[Any, int]:
    """Return what a call returns, and the most bytes that Python had allocated meanwhile."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def opened(path: Path | str, name: str, **options: Any) -> Array:
    """Return one tensor of a checkpoint, as `open` reads it."""
    with lp.checkpoints.open(path) as checkpoint:
        return checkpoint.read(name, **options)


def read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def configuration(folder: Path) -> dict[str, Any]:
    """Return the config.json of a folder."""
    return read_json(folder / "config.json")


def at_call(
    monkeypatch: pytest.MonkeyPatch, home: Any, name: str, action: Callable[[], object], number: int = 1
) -> list[tuple[Any, ...]]:
    """Have an action carried out before the call of that number of a function; return a list that gets all calls."""
    original, calls = getattr(home, name), list[tuple[Any, ...]]()

    def call(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == number:
            action()
        return original(*arguments, **options)

    monkeypatch.setattr(home, name, call)
    return calls


def raising(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises an error, whatever it is called with."""

    def call(*_: object, **__: object) -> Any:
        raise error

    return call


def sizes_of_reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the number of bytes of each read of tensors from now on."""
    sizes: list[int] = []
    read_into = TensorReader.read_into

    def counted(self: TensorReader, buffer: Array, location: Any, at: int) -> None:
        sizes.append(buffer.size)
        read_into(self, buffer, location, at)

    monkeypatch.setattr(TensorReader, "read_into", counted)
    return sizes
