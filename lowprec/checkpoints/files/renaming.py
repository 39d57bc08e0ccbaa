"""Renaming that never replaces, and never removes, what another process has written meanwhile."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["exchange", "file_identity", "rename_file", "rename_new", "replace_existing"]

_NO_REPLACE, _EXCHANGE = 1, 2
"""RENAME_NOREPLACE and RENAME_EXCHANGE of Linux."""

_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""What a kernel or a file system says that does not know a flag."""

_HERE = -100
"""AT_FDCWD: paths are those of the current folder."""


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
