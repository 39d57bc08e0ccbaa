"""Reading and writing .npy files whose format NumPy's header cannot name."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from .arrays import format_of
from .formats import Format, as_format

__all__ = ["FileError", "read", "sidecar", "write"]


class FileError(Exception):
    """A file that cannot be read or written; the message is one line that names it."""


def sidecar(path: Path) -> Path:
    """Return the JSON file beside an .npy file that names the format of its codes."""
    return path.with_name(path.name + ".json")


def _sidecar_format(path: Path) -> str | None:
    beside = sidecar(path)
    if not beside.exists():
        return None
    try:
        name = json.loads(beside.read_text(encoding="utf-8"))["format"]
        return as_format(name).name
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{beside}: must be JSON with a known `format`; {error}") from None


def read(path: Path, source: str | None = None) -> tuple[np.ndarray[Any, Any], Format]:
    """Map an .npy file into memory and return its codes or values with their format.

    The format is `source`, else what the sidecar names, else the header's dtype. ``|V1`` and ``|V2``, as NumPy writes
    the dtypes of ml_dtypes, are codes whose format one of the first two must name.
    """
    named = source or _sidecar_format(path)
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise FileError(f"{path}: must be a readable .npy array; {error}") from None
    if not isinstance(array, np.ndarray):
        array.close()
        raise FileError(f"{path}: must be one .npy array; got an archive")
    if array.dtype.kind == "V" and array.dtype.names is None and array.dtype.itemsize in (1, 2):
        if named is None:
            raise FileError(f"{path}: its header does not name the format ({array.dtype.str}); say it with --from")
        array = array.view(f"u{array.dtype.itemsize}")
    try:
        return array, format_of(array.dtype, named)
    except (TypeError, ValueError) as error:
        raise FileError(f"{path}: {error}") from None


@contextlib.contextmanager
def _aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place when all is written, and vanishes otherwise."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.tmp-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)  # as open() would have made it; mkstemp is private
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def _write_aside(path: Path, fill: Callable[[IO[bytes]], object]) -> None:
    try:
        with _aside(path) as stream:
            fill(stream)
    except OSError as error:
        raise FileError(f"{path}: cannot be written; {error.strerror or error}") from None


def write(path: Path, array: np.ndarray[Any, Any], fmt: Format) -> None:
    """Write an array so that NumPy can load it and the format's name is kept.

    A dtype of NumPy's own is written as it is; other formats as unsigned codes, with a JSON sidecar that names the
    format. Both are written aside and renamed; a sidecar left by an earlier file is removed.
    """
    named = array.dtype.isbuiltin == 1 and np.dtype(array.dtype.str) == array.dtype
    if named and array.dtype == fmt.dtype:
        _write_aside(path, lambda stream: np.save(stream, array, allow_pickle=False))
        sidecar(path).unlink(missing_ok=True)
        return
    text = json.dumps({"format": fmt.name, "onnx": fmt.onnx_name, "shape": list(array.shape)}) + "\n"
    _write_aside(sidecar(path), lambda stream: stream.write(text.encode()))
    _write_aside(path, lambda stream: np.save(stream, array, allow_pickle=False))
