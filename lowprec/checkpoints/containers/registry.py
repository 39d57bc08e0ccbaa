"""The table of containers, and which of them a path is, by its content: a new container is one line here."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...spec.formats import Format
from ..files.errors import FileError, reason
from ..memory_limit import DEFAULT, Limits
from .container import Container
from .folder import Folder
from .gguf_file import MAGIC as GGUF_MAGIC
from .gguf_file import GgufFile
from .no_checkpoint import START, check_pickle, check_pointer, missing
from .npy_file import NpyFile
from .npy_header import NPY_MAGIC, ZIP_MAGICS
from .npz_archive import NpzArchive
from .onnx_model import OnnxModel
from .safetensors_file import SafetensorsFile

__all__ = ["FILE_TYPES", "FileType", "OpenOptions", "open_container"]


@dataclass(frozen=True, slots=True)
class OpenOptions:
    """How a container is opened.

    Attributes
    ----------
    source : Format or None
        The format of codes that the container does not name.
    follow_links : bool
        Whether links that lead out of the container's folder are followed.
    limits : Limits
        How much memory headers may take.
    part : bool
        Whether a part of a model is taken without the others.
    """

    source: Format | None
    follow_links: bool
    limits: Limits
    part: bool = False


@dataclass(frozen=True, slots=True)
class FileType:
    """A container that is one file.

    Attributes
    ----------
    suffix : str
        The usual end of its name.
    matches : callable
        Whether the first bytes of a file are those of this type.
    certain : bool
        Whether these bytes decide, whatever the name is; else the name does, and the bytes of a file of no known name.
    open : callable
        Returns the container.
    """

    suffix: str
    matches: Callable[[bytes], bool]
    certain: bool
    open: Callable[[Path, OpenOptions], Container]


FILE_TYPES = (
    FileType(".npy", lambda start: start.startswith(NPY_MAGIC), True, lambda path, o: NpyFile(path, o.source)),
    FileType(".npz", lambda start: start.startswith(ZIP_MAGICS), True,
             lambda path, o: NpzArchive(path, o.source, o.limits)),
    FileType(".safetensors", lambda start: start[8:9] == b"{", True,
             lambda path, o: SafetensorsFile.alone(path, o.limits, part=o.part)),
    FileType(".gguf", lambda start: start.startswith(GGUF_MAGIC), True,
             lambda path, o: GgufFile(path, o.limits, part=o.part, follow_links=o.follow_links)),
    # Field 1, the version, comes first in what everyone writes.
    FileType(".onnx", lambda start: start[:1] == b"\x08", False,
             lambda path, o: OnnxModel(path, follow_links=o.follow_links, limits=o.limits)),
)  # fmt: skip


def _type_of(path: Path) -> FileType:
    with path.open("rb") as stream:
        start = stream.read(START)
    check_pointer(path, start)
    by_content = next((one for one in FILE_TYPES if one.matches(start)), None)
    if by_content is not None and by_content.certain:
        return by_content
    check_pickle(path, start)
    by_name = next((one for one in FILE_TYPES if one.suffix == path.suffix), None)
    if (file_type := by_name or by_content) is None:
        names = ", ".join(one.suffix for one in FILE_TYPES)
        raise FileError(f"{path}: must be {names} or a folder of .safetensors; its content is none of them")
    return file_type


def open_container(
    path: Path,
    source: Format | None = None,
    *,
    follow_links: bool = False,
    limits: Limits = DEFAULT,
    part: bool = False,
) -> Container:
    """Open a file or a folder for reading; the parameters are those of `OpenOptions`."""
    options = OpenOptions(source, follow_links, limits, part)
    try:
        if path.is_dir():
            container: Container = Folder(path, follow_links=follow_links, limits=limits, part=part)
        elif not path.exists():
            with contextlib.suppress(FileNotFoundError):
                path.stat()
            raise missing(path)
        elif not path.is_file():
            raise FileError(f"{path}: must be a regular file or a folder")
        else:
            container = _type_of(path).open(path, options)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:  # a name with a null byte
        raise FileError(f"{str(path)!a}: {error}") from None
    if source is not None and container.names_formats:
        raise FileError(f"{path}: names the format of every tensor; `source` is for .npy and .npz")
    return container
