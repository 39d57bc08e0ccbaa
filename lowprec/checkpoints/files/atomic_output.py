"""Files written aside, flushed, and renamed into place: the old target or the whole new one."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from .errors import FileError, reason

__all__ = [
    "OutputFile", "OutputFiles", "Slot", "Staging", "check_space", "exchange", "file_identity", "rename_file",
    "rename_new", "replace_existing", "start_writing", "sync",
]  # fmt: skip

_NO_REPLACE, _EXCHANGE = 1, 2
"""RENAME_NOREPLACE and RENAME_EXCHANGE of Linux."""

_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What a kernel or a file system says that does not know a flag."""

_HERE = -100
"""AT_FDCWD: paths are those of the current folder."""

_WRITE = 2  # SYNC_FILE_RANGE_WRITE of sync_file_range(2)

Rename = Callable[[Sequence[Path], Path, bool], None]
"""Renames staged files to the target; the last argument says whether what has that name may be replaced."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where the bytes of a tensor go: the number of a file, and an offset in it."""

    file: int
    offset: int


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to be written: its name below the target's folder, its size, and its bytes other than tensors."""

    name: str
    size: int
    pieces: tuple[tuple[int, bytes], ...] = ()


@dataclass(slots=True)
class OutputFiles:
    """All files to be written.

    Attributes
    ----------
    files : list of OutputFile
        The first is the one that the target's name stands for.
    slots : list of Slot
        One for each output tensor, in their order.
    copies : list of (Path, str)
        Files that are copied unchanged, and their new names.
    seal : callable, optional
        Completes the files (checksums, directories) once all tensors are written; its argument is their paths.
    """

    files: list[OutputFile]
    slots: list[Slot]
    copies: list[tuple[Path, str]] = field(default_factory=list)
    seal: Callable[[Sequence[Path]], None] | None = None

    @property
    def nbytes(self) -> int:
        """How many bytes will be written."""
        return sum(file.size for file in self.files) + sum(path.stat().st_size for path, _ in self.copies)


def _renameat2(one: Path, other: Path, flag: int) -> bool:
    """Call renameat2; return whether the system can, raise OSError where it could and it failed."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return False
    if call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return what stays the same when a file gets another name, None where there is no file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def exchange(one: Path, other: Path) -> bool:
    """Let two files or folders change places in one step; return whether the system can."""
    return _renameat2(one, other, _EXCHANGE)


def rename_new(source: Path, target: Path) -> None:
    """Rename a file or a folder; raise FileExistsError, and change nothing, where the new name is taken."""
    if _renameat2(source, target, _NO_REPLACE):
        return
    if source.is_dir():
        os.mkdir(target)
        try:
            os.rename(source, target)  # onto an empty folder, and on no other
        except BaseException:
            os.rmdir(target)
            raise
        return
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links: take the name, then fill it
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        os.replace(source, target)
    else:
        os.unlink(source)


def rename_file(staged: Sequence[Path], target: Path, overwrite: bool) -> None:
    """Rename the one staged file to the target; without `overwrite` raise FileExistsError where the name is taken."""
    (os.replace if overwrite else rename_new)(staged[0], target)


def replace_existing(source: Path, target: Path) -> Path | None:
    """Put a file in the place of another one; return where the old one is now, None if there was none.

    What comes back is what was replaced, whoever wrote it. Where the system cannot exchange names, it is what was
    there a moment before.
    """
    try:
        if exchange(source, target):
            if source.is_dir():
                exchange(source, target)
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
            return source
    except FileNotFoundError:
        rename_new(source, target)
        return None
    if not os.path.lexists(target):
        rename_new(source, target)
        return None
    old = source.with_name("old")
    try:
        os.link(target, old)
    except OSError:
        shutil.copy2(target, old)
    os.replace(source, target)
    return old


@cache
def _call() -> Callable[[int, int, int, int], int] | None:
    """Return Linux's sync_file_range, or None on a system without it."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        sync_file_range = ctypes.CDLL(None).sync_file_range
    except (AttributeError, OSError):
        return None
    sync_file_range.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    sync_file_range.restype = ctypes.c_int

    def call(*arguments: int) -> int:
        return int(sync_file_range(*arguments))

    return call


def start_writing(handle: int, offset: int, nbytes: int) -> None:
    """Have the system begin to write a part of an open file to the disk, without waiting for it.

    It is a hint: what cannot be done now, for whatever reason, the fsync at the end does, and reports.
    """
    call = _call()
    if call is not None and nbytes:
        call(handle, offset, nbytes, _WRITE)


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
        try:
            inner.mkdir()
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        return inner

    def __exit__(self, *error: object) -> None:
        """Remove the folder and everything left in it, even if a signal comes meanwhile."""
        try:
            shutil.rmtree(self._folder, ignore_errors=True)
        except BaseException:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise

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
