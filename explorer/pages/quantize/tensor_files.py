"""A tensor of an uploaded file: .npy or .safetensors, bounded, and checked before an element is read."""

from __future__ import annotations

import math
import os
import tempfile
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.checkpoints import Checkpoint, TensorInfo
from lowprec.checkpoints import open as open_checkpoint
from lowprec.checkpoints.containers.array_files import read_npy
from lowprec.checkpoints.containers.safetensors_file import type_of
from lowprec.checkpoints.files.errors import FileError
from lowprec.checkpoints.files.symbolic_links import files_in
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32, ONNX_NUMERIC, ROW_NAMES

from .tensor import MOST_ELEMENTS, Tensor

__all__ = [
    "MOST_BYTES",
    "MOST_LISTED",
    "MOST_READ",
    "MOST_TAKEN",
    "Listed",
    "checkpoint_path",
    "checkpoint_stamp",
    "from_checkpoint",
    "from_file",
    "names_in",
    "tensors_of",
]

MOST_BYTES = 4_000_000
"""The largest file that is read: 4 MB, as the browser counts them."""

_HEADER = 1 << 20
"""The longest header of a .safetensors file that is parsed: that of some thousand tensors."""

_TAKEN = (FLOAT32, FLOAT16, BFLOAT16)
"""What QuantizeLinear takes of floats."""

_SAFETENSORS = {name: fmt for fmt in ONNX_NUMERIC if (name := type_of(fmt))}
"""The types of .safetensors; those of less than a byte are packed."""


def names_in(name: str, content: bytes) -> tuple[str, ...]:
    """Return the names of the tensors of an uploaded file, in order; ValueError as `from_file`."""
    return tuple(_entries(content)) if _kind(name, content) == "safetensors" else ()


def from_file(name: str, content: bytes, tensor: str = "") -> Tensor:
    """Return a tensor of an uploaded .npy or .safetensors file; `tensor` names one of the latter, else it is the first.

    Nothing is unpickled, headers are bounded and their sizes checked before any element is read. Elements that
    QuantizeLinear does not take become float32. ValueError says what is wrong with the file.
    """
    read = _from_npy if _kind(name, content) == "npy" else _from_safetensors
    return read(content, tensor)


def _kind(name: str, content: bytes) -> str:
    if len(content) > MOST_BYTES:
        raise ValueError(f"the file must have at most {MOST_BYTES // 10**6} MB; it has {len(content)} bytes")
    kind = name.lower().rpartition(".")[2]
    if kind not in ("npy", "safetensors"):
        raise ValueError("the file must be a .npy or a .safetensors file, by its name")
    return kind


def _check_size(shape: tuple[int, ...]) -> None:
    if not 1 <= math.prod(shape) <= MOST_ELEMENTS:
        raise ValueError(f"the tensor must have 1 to {MOST_ELEMENTS} elements; its shape is {shape}")


def _tensor(values: Any, stored: Format, name: str = "", names: tuple[str, ...] = ()) -> Tensor:
    note = "" if stored in _TAKEN else f"{stored.name} became float32"
    return Tensor(np.atleast_1d(np.ascontiguousarray(values)), note, name, names, stored)


def _from_npy(content: bytes, _: str) -> Tensor:
    with tempfile.TemporaryDirectory(prefix="lowprec-") as folder:  # the package's own reader maps files
        path = Path(folder, "upload.npy")
        path.write_bytes(content)
        try:
            mapped, stored = read_npy(path)
        except FileError as error:
            raise ValueError(
                f"the file: {str(error).removeprefix(f'{path}: ').partition('; say it with')[0]}"
            ) from None
        values = np.array(mapped)
    _check_size(values.shape)
    return _tensor(values if stored in _TAKEN else lp.cast(values, FLOAT32, source=stored), stored)


def _entries(content: bytes) -> dict[str, Any]:
    try:
        from safetensors import SafetensorError, deserialize
    except ImportError:
        raise ValueError(
            "reading .safetensors needs the package safetensors; upload a .npy file, or install it"
        ) from None
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(_HEADER, len(content) - 8):
        raise ValueError("the file: must be a readable .safetensors file; its header is cut off, or too long")
    try:
        found = dict(sorted(deserialize(content)))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError, OverflowError) as error:
        raise ValueError(f"the file: must be a readable .safetensors file; {str(error)[:200]}") from None
    if not found:
        raise ValueError("the file: has no tensors")
    return found


def _from_safetensors(content: bytes, tensor: str) -> Tensor:
    found = _entries(content)
    if tensor and tensor not in found:
        raise ValueError(f"`tensor` must be one of the file's {len(found)} names; got {tensor[:60]!r}")
    chosen = tensor or next(iter(found))
    entry = found[chosen]
    stored, shape = _SAFETENSORS.get(entry["dtype"]), tuple(entry["shape"])
    if stored is None:
        raise ValueError(f"the tensor must be of {', '.join(_SAFETENSORS)}; it is {str(entry['dtype'])[:40]}")
    _check_size(shape)
    codes = np.frombuffer(entry["data"], np.uint8)
    codes = (
        np.asarray(lp.unpack(codes, stored, shape)) if stored.bits < 8 else codes.view(stored.code_dtype).reshape(shape)
    )
    values = lp.decode(codes, stored, to=stored if stored in _TAKEN else FLOAT32)
    return _tensor(values, stored, chosen, tuple(found))


MOST_FILES = 10_000
"""Files and folders of a checkpoint's folder: of a home directory no more are looked at."""

MOST_LISTED = 10_000
"""Tensors of a checkpoint that are listed."""

MOST_READ = 1 << 25
"""Elements of one index of the first axis: what is read at least."""

MOST_TAKEN = 1 << 18
"""Elements that are taken of a tensor: as many as a sweep takes."""

_SUFFIXES = (".safetensors", ".gguf")


Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """A tensor of a checkpoint that can be read, and a text about it."""

    name: str
    text: str


def checkpoint_path(text: str) -> Path:
    """Return the path that a text names; ValueError where there is no checkpoint, before anything is read.

    A checkpoint is a folder, or a file whose name ends with .safetensors or .gguf. A path that leads to another machine
    is refused.
    """
    text = text.strip()
    if not text or "\0" in text:
        raise ValueError("`folder` must be the path of a .safetensors or .gguf file, or of a folder of such files")
    if text.startswith(("\\\\", "//")):
        raise ValueError(f"`folder` must be a path on this machine; got {text[:200]!r}")
    try:
        path = Path(text).expanduser()
        if not path.exists():
            raise ValueError(f"`folder` must be a path on this machine; there is no {text[:200]!r}")
        if not path.is_dir() and path.suffix.lower() not in _SUFFIXES:
            raise ValueError(f"`folder` must be a folder, or a .safetensors or .gguf file; got {text[:200]!r}")
    except (OSError, RuntimeError) as error:  # a name that is too long, no right to look, no home
        raise ValueError(f"`folder` must be a path that can be read; {_reason(error)}") from None
    return path


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def checkpoint_stamp(path: Path) -> Stamp:
    """Return names, times and sizes of the files of a checkpoint, which change where its tensors do."""
    try:
        files = list(islice(path.iterdir(), MOST_FILES + 1)) if path.is_dir() else [path]
        kept = [one for one in sorted(files) if one.suffix.lower() in (*_SUFFIXES, ".json")]
        stats = [(one.name, one.stat()) for one in kept]
    except OSError as error:
        raise ValueError(f"`folder` must be a path that can be read; {_reason(error)}") from None
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def _check_folder(path: Path) -> None:
    """Raise ValueError where a folder has too many files to be that of a checkpoint, without looking at all of them."""
    try:
        deque(files_in(path, most=MOST_FILES), maxlen=0)
    except FileError as error:
        raise ValueError(f"`folder` must be the folder of one checkpoint; {str(error)[:400]}") from None


@contextmanager
def _opened(path: Path) -> Iterator[Checkpoint]:
    """Open a checkpoint; what is wrong with it is a ValueError."""
    try:
        if path.is_dir():
            _check_folder(path)
        with open_checkpoint(path) as checkpoint:
            yield checkpoint
    except (OSError, KeyError) as error:
        text = error.args[0] if isinstance(error, KeyError) else error
        raise ValueError(f"the checkpoint: {str(text)[:400]}") from None


def _is_number(info: TensorInfo) -> bool:
    return math.prod(info.shape) > 0 and (info.format in ROW_NAMES or bool(info.layout))


def _text(info: TensorInfo) -> str:
    shape = " × ".join(map(str, info.shape)) or "scalar"
    return f"{info.name}  ({shape}, {info.scheme or info.format})"


def tensors_of(path: Path) -> tuple[Listed, ...]:
    """Return the tensors of a checkpoint that hold numbers, in its order; only headers are read.

    ValueError where it cannot be read, or has none.
    """
    with _opened(path) as checkpoint:
        infos = [checkpoint.info(name) for name in checkpoint]
    found = tuple(Listed(info.name, _text(info)) for info in infos if _is_number(info))
    if not found:
        raise ValueError(f"the checkpoint: {os.fspath(path)[:200]!r} has no tensors of numbers")
    return found


def from_checkpoint(path: Path, name: str, most: int = MOST_TAKEN) -> Tensor:
    """Return a tensor of a checkpoint, of a large one the first rows: at most `most` elements.

    Quantized weights of known layouts are their values in bfloat16. Elements that QuantizeLinear does not take become
    float32. ValueError where there is no such tensor, or it cannot be read.
    """
    with _opened(path) as checkpoint:
        info = checkpoint.info(name)
        if not _is_number(info):
            raise ValueError(f"`tensor` must have elements that are numbers; {name[:60]!r} has none")
        inner = math.prod(info.shape[1:])
        if inner > MOST_READ:
            raise ValueError(
                f"`tensor` must have at most {MOST_READ} elements to an index of its first axis; has {inner}"
            )
        first = max(1, most // inner) if info.shape and math.prod(info.shape) > most else None
        values = checkpoint.read(name, rows=None if first is None else slice(0, first))
    is_cut = values.size > most
    if is_cut:
        rows = values.reshape(-1, values.shape[-1])
        values = rows[: max(1, most // rows.shape[1]), :most]
    stored = lp.as_format(values.dtype)
    notes = [f"the values of {info.layout} ({info.scheme})"] if info.layout else []
    if is_cut or first is not None:
        notes.append(f"the first {values.size} of {math.prod(info.shape)} elements of shape {info.shape}")
    if stored not in _TAKEN:
        notes.append(f"{stored.name} became float32")
        values = lp.cast(values, FLOAT32)
    kept = np.atleast_1d(np.ascontiguousarray(values))
    return Tensor(kept, "; ".join(notes), name, (), stored, first, is_cut)
