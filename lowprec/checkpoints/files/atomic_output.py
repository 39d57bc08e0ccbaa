"""Files are written aside and renamed when they are whole: the target is the old one or the new one, never a part."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from .errors import FileError, reason
from .output_files import OutputFiles, Slot

__all__ = ["Staging", "check_space", "sync"]

Rename = Callable[[Sequence[Path], Path, bool], None]
"""Renames staged files to the target; the last argument says whether what has that name may be replaced."""


def check_space(output: OutputFiles, target: Path, nbytes: int | None = None) -> None:
    """Raise FileError unless the disk has room for all files, or `nbytes`; the old target is still there meanwhile."""
    needed, free = output.nbytes if nbytes is None else nbytes, shutil.disk_usage(target.parent).free
    if needed > free:
        raise FileError(f"{target}: needs {needed} bytes, and the disk has {free} left")


class Staging:
    """A folder next to the target in which files are written.

    Parameters
    ----------
    output, target : OutputFiles, Path
        What is to be written, and under which name.
    overwrite : bool
        Whether a file or folder that has that name at the end, whoever wrote it, is replaced.
    title : Path, optional
        The name of the target in error messages, where that is not `target` itself.

    Attributes
    ----------
    paths : list of Path
        The files, in the order of the output.
    finished : mapping of int to dict
        The numbers of the files that were complete before, and what `finish` kept with them.
    remarks : sequence of str
        What is to be reported of them.
    """

    finished: Mapping[int, dict[str, Any]] = MappingProxyType({})
    remarks: Sequence[str] = ()

    def __init__(self, output: OutputFiles, target: Path, overwrite: bool, title: Path | None = None) -> None:
        self._output, self._target, self._overwrite = output, target, overwrite
        self._title = target if title is None else title

    def _cannot(self, error: OSError) -> FileError:
        return FileError(f"{self._title}: cannot be written; {reason(error)}")

    def __enter__(self) -> Staging:
        """Create all files at their full length, with all of their bytes but those of tensors."""
        try:
            self._inner = self._prepare()
        except FileError:
            raise
        except OSError as error:
            raise self._cannot(error) from None
        try:
            self.paths = [self._inner / file.name for file in self._output.files]
            for number, (path, file) in enumerate(zip(self.paths, self._output.files, strict=True)):
                if number in self.finished:
                    continue
                with path.open("xb") as stream:
                    for offset, piece in file.pieces:
                        stream.seek(offset)
                        stream.write(piece)
                    stream.truncate(file.size)
            for source, name in self._output.copies:
                copy = self._inner / name
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, copy)
                shutil.copymode(source, copy)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            if isinstance(error, OSError) and not isinstance(error, FileError):
                raise self._cannot(error) from None
            raise
        return self

    def _prepare(self) -> Path:
        """Create the folder, and return one in it for the files."""
        self._folder = Path(tempfile.mkdtemp(prefix=f"{self._target.name[:200]}.tmp-", dir=self._target.parent))
        inner = self._folder / "new"  # with the usual permissions, which the folder around it lacks
        inner.mkdir()
        return inner

    def __exit__(self, *error: object) -> None:
        """Remove the folder and everything left in it."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def finish(self, number: int, state: dict[str, Any]) -> None:
        """Take note that all of a file is written; `state`, as JSON has it, is kept with it if files are kept."""

    def discard(self) -> None:
        """Take note that what was written is wrong, and none of it is to be kept."""

    def write(self, slot: Slot, content: np.ndarray[Any, Any]) -> None:
        """Write the bytes of a tensor."""
        try:
            with self.paths[slot.file].open("r+b") as stream:
                stream.seek(slot.offset)
                stream.write(content)
        except OSError as error:
            raise self._cannot(error) from None

    def seal(self) -> None:
        """Complete the files once all tensors are written, and wait until everything is on the disk."""
        try:
            if self._output.seal is not None:
                self._output.seal(self.paths)
            for folder, _, names in os.walk(self._inner):
                for name in names:
                    sync(Path(folder, name))
                sync(Path(folder))
        except FileError:
            raise
        except OSError as error:
            raise self._cannot(error) from None

    def publish(self, rename: Rename) -> None:
        """Rename everything to the target; a file that is replaced leaves its permissions."""
        try:
            if self._overwrite and self._target.is_file():
                self.paths[0].chmod(stat.S_IMODE(self._target.stat().st_mode))
            rename(self.paths, self._target, self._overwrite)
            sync(self._target.parent)
        except FileExistsError as error:
            name = error.filename2 or error.filename
            raise FileError(f"{name}: was written by another process meanwhile") from None
        except FileError:
            raise
        except OSError as error:
            raise self._cannot(error) from None


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and not hasattr(os, "O_DIRECTORY"):  # where a folder cannot be opened
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
