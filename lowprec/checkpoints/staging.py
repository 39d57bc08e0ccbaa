"""Files are written aside and renamed when they are whole: the target is the old one or the new one, never a part."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from . import npy
from .folders import may_be_replaced
from .layout import Container, Layout, Output
from .links import files_in
from .npy_files import NpyFile
from .npy_header import FileError, reason
from .stored import Region

__all__ = ["Staging", "check_space", "check_target"]


def check_target(container: Container, target: Path, overwrite: bool) -> Path:
    """Return the file or folder that will be written, links followed, or raise FileError: nothing gets lost."""
    try:
        real = Path(os.path.realpath(target))
        if isinstance(container, NpyFile):
            npy.check_target(container.path, target, overwrite)
            return real
        if container.suffix:
            _check_file(container, target, real)
        else:
            _check_folder(container, target, real)
        if real.exists() and not overwrite:
            raise FileError(f"{target}: exists; say --overwrite to replace it")
    except OSError as error:
        raise FileError(f"{target}: {reason(error)}") from None
    except ValueError as error:  # a name with a null byte
        raise FileError(f"{str(target)!a}: {error}") from None
    return real


def _check_file(container: Container, target: Path, real: Path) -> None:
    if target.suffix != container.suffix or not real.parent.is_dir():
        kind = f"a {container.suffix} file, as {container.path} is,"
        raise FileError(f"{target}: must be {kind} in an existing folder")
    if not real.exists():
        return
    sources = {container.path, *(one.place.path for one in container.tensors if isinstance(one.place, Region))}
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


def check_space(layout: Layout, target: Path) -> None:
    """Raise FileError unless the disk has room for everything, the old target still being there."""
    free = shutil.disk_usage(target.parent).free
    if layout.nbytes > free:
        raise FileError(f"{target}: needs {layout.nbytes} bytes, and the disk has {free} left")


class Staging:
    """A folder beside the target in which files are written.

    Parameters
    ----------
    layout, target : Layout, Path
        What is to be written, and under which name.
    overwrite : bool
        Whether what has that name at the end, whoever wrote it, is replaced.
    """

    def __init__(self, layout: Layout, target: Path, overwrite: bool) -> None:
        self._layout, self._target, self._overwrite = layout, target, overwrite

    def __enter__(self) -> Staging:
        """Make all files, at their full length, with everything in them but tensors."""
        try:
            self._folder = Path(tempfile.mkdtemp(prefix=f"{self._target.name[:200]}.tmp-", dir=self._target.parent))
        except OSError as error:
            raise FileError(f"{self._target}: cannot be written; {reason(error)}") from None
        try:
            inner = self._folder / "new"  # with the usual permissions, which the folder around it lacks
            inner.mkdir()
            self.paths = [inner / file.name for file in self._layout.files]
            for path, file in zip(self.paths, self._layout.files, strict=True):
                with path.open("xb") as stream:
                    for offset, piece in file.pieces:
                        stream.seek(offset)
                        stream.write(piece)
                    stream.truncate(file.size)
            for source, name in self._layout.copies:
                copy = inner / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)
                shutil.copymode(source, copy)
        except BaseException as error:
            self.__exit__()
            if isinstance(error, OSError):
                raise FileError(f"{self._target}: cannot be written; {reason(error)}") from None
            raise
        return self

    def __exit__(self, *error: object) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def seal(self) -> None:
        """Do what is left once all tensors are written, and have everything on the disk."""
        try:
            if self._layout.seal is not None:
                self._layout.seal(self.paths)
            for where, _, names in os.walk(self._folder / "new"):
                for name in names:
                    _sync(Path(where, name))
                _sync(Path(where))
        except OSError as error:
            raise FileError(f"{self._target}: cannot be written; {reason(error)}") from None

    def publish(self, container: Container, outputs: Sequence[Output]) -> None:
        """Rename everything into place."""
        try:
            if self._overwrite and self._target.is_file():
                self.paths[0].chmod(stat.S_IMODE(self._target.stat().st_mode))
            container.publish(self.paths, self._target, outputs, self._overwrite)
            _sync(self._target.parent)
        except FileExistsError as error:
            name = error.filename2 or error.filename
            raise FileError(f"{name}: was written by another process meanwhile") from None
        except OSError as error:
            raise FileError(f"{self._target}: cannot be written; {reason(error)}") from None


def _sync(path: Path) -> None:
    """Have a file, or the names in a folder, on the disk."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):  # where a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
