"""Which output paths are accepted: never the input, and nothing is replaced unasked."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ...spec.formats import Format
from ..files.errors import FileError, reason
from ..files.symbolic_links import files_in
from .container import Container, FileRegion
from .folder import may_be_replaced
from .npy_file import NpyFile, check_npy

__all__ = ["check_array_target", "check_new_file", "check_target"]


def check_target(container: Container, target: Path, overwrite: bool) -> Path:
    """Return the file or folder that will be written, links followed; raise FileError where it must not be."""
    locations = [one.location for one in container.tensors]
    sources = {container.path, *(one.path for one in locations if isinstance(one, FileRegion))}
    with _named(target):
        real = Path(os.path.realpath(target))
        if container.suffixes:
            _check_file(target, real, container.path, sources, container.suffixes)
        else:
            _check_folder(container, target, real)
        _check_overwrite(target, real, overwrite)
    return real


def check_array_target(source: Path, target: Path, fmt: Format, overwrite: bool) -> None:
    """Raise FileError unless an array of a format may be written to an .npy or .npz file."""
    with _named(target):
        real = Path(os.path.realpath(target))
        _check_file(target, real, source, {source} if source.exists() else set(), NpyFile.suffixes)
        _check_overwrite(target, real, overwrite)
        if target.suffix == ".npy":
            check_npy(target, fmt)


def check_new_file(target: Path, overwrite: bool) -> Path:
    """Return the file that will be written, links followed; raise FileError where it must not be."""
    with _named(target):
        real = Path(os.path.realpath(target))
        if not real.parent.is_dir():
            raise FileError(f"{target}: must be a file in an existing folder")
        if real.exists() and not real.is_file():
            raise FileError(f"{target}: must be a regular file")
        _check_overwrite(target, real, overwrite)
    return real


@contextlib.contextmanager
def _named(target: Path) -> Iterator[None]:
    """Turn the errors of the operating system into ones that name the target."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"{target}: {reason(error)}") from None
    except ValueError as error:  # a name with a null byte
        raise FileError(f"{str(target)!a}: {error}") from None


def _check_overwrite(target: Path, real: Path, overwrite: bool) -> None:
    if real.exists() and not overwrite:
        raise FileError(f"{target}: exists; say `overwrite` to replace it")


def _check_file(target: Path, real: Path, source: Path, sources: Iterable[Path], suffixes: Sequence[str]) -> None:
    if target.suffix not in suffixes:
        by_content = "" if source.suffix in suffixes else " by its content"
        raise FileError(f"{target}: must be a {' or '.join(suffixes)} file, as {source} is{by_content}")
    if not real.parent.is_dir():
        raise FileError(f"{target}: must be in an existing folder; {target.parent} is none")
    if not real.exists():
        return
    if any(real.samefile(path) for path in sources):
        raise FileError(f"{target}: must not be the input itself")
    if not real.is_file():
        raise FileError(f"{target}: must be a regular file")


def _check_folder(container: Container, target: Path, real: Path) -> None:
    source = Path(os.path.realpath(container.path))
    if real == source or (real.exists() and real.samefile(source)):
        raise FileError(f"{target}: must not be the input itself")
    if real.is_relative_to(source) or source.is_relative_to(real):
        raise FileError(f"{target}: must lie outside of {container.path}, and not around it")
    if not real.parent.is_dir():
        raise FileError(f"{target}: must be a new folder in an existing one")
    deque(files_in(real) if real.is_dir() else (), 0)  # raises where it is too deep to be removed
    if real.exists() and not may_be_replaced(real):
        raise FileError(f"{target}: must be a folder with a checkpoint to be replaced by one")
