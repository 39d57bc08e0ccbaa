"""Which container a path leads to, told by what is in it."""

from __future__ import annotations

from pathlib import Path

from ..spec.formats import Format
from .folders import Folder
from .headers import DEFAULT, Limits
from .layout import Container
from .npy_files import NpyFile
from .npy_header import ZIP_MAGICS, FileError, reason
from .npz_archives import NpzArchive
from .onnx_models import OnnxModel
from .safetensors_files import SafetensorsFile

__all__ = ["open_container"]

_BY_SUFFIX = {".safetensors": "safetensors", ".npy": "npy", ".npz": "npz", ".onnx": "onnx"}


def _kind(path: Path) -> str:
    """Return the kind of a file by its first bytes; where they say nothing, by its name."""
    with path.open("rb") as stream:
        start = stream.read(10)
    if start.startswith(b"\x93NUMPY"):
        return "npy"
    if start.startswith(ZIP_MAGICS):
        return "npz"
    if start[8:9] == b"{":
        return "safetensors"
    if path.suffix in _BY_SUFFIX:
        return _BY_SUFFIX[path.suffix]
    return "onnx" if start[:1] == b"\x08" else ""  # field 1, the version, comes first in what everyone writes


def open_container(
    path: Path, source: Format | None = None, *, follow_links: bool = False, limits: Limits = DEFAULT
) -> Container:
    """Open a file or a folder for reading.

    `source` is the format of codes whose header leaves it open; `follow_links` takes links that lead anywhere; `limits`
    say how much memory headers may take.
    """
    try:
        if path.is_dir():
            found: Container = Folder(path, follow_links=follow_links, limits=limits)
        elif not path.exists():
            path.stat()
            raise FileError(f"{path}: No such file or directory")
        elif not path.is_file():
            raise FileError(f"{path}: must be a regular file or a folder")
        else:
            found = _open(path, source, follow_links, limits)
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:  # a name with a null byte
        raise FileError(f"{str(path)!a}: {error}") from None
    if source is not None and found.names_formats:
        raise FileError(f"{path}: names the format of every tensor; --from is for .npy and .npz")
    return found


def _open(path: Path, source: Format | None, follow_links: bool, limits: Limits) -> Container:
    kind = _kind(path)
    if kind == "npy":
        return NpyFile(path, source)
    if kind == "npz":
        return NpzArchive(path, source, limits)
    if kind == "onnx":
        return OnnxModel(path, follow_links=follow_links, limits=limits)
    if kind == "safetensors":
        return SafetensorsFile(path, limits)
    raise FileError(f"{path}: must be .safetensors, .npy, .npz, .onnx or a folder of .safetensors; its content is none")
