"""A folder that one process at a time has: it is locked by a file in it, and the lock ends with the process."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system without locks that end with a process
    fcntl = None  # type: ignore[assignment]

from .errors import FileError

__all__ = ["LockedFolder"]

LOCK = "lock"


class LockedFolder:
    """A folder with a lock, created if it is not there.

    Attributes
    ----------
    path : Path
        The folder.

    Raises
    ------
    FileError
        If another process has the lock, or what has the folder's name was not made here.
    OSError
        If the folder cannot be created.
    """

    def __init__(self, path: Path) -> None:
        if fcntl is None:
            raise FileError(f"{path}: resuming needs a system with file locks")
        self.path = path
        while True:
            with contextlib.suppress(FileExistsError):
                path.mkdir(mode=0o700)
            try:
                self._check_owner()
                self._handle = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            except FileNotFoundError:  # the process that had it has just removed it
                continue
            if self._lock():
                return
            os.close(self._handle)

    def _check_owner(self) -> None:
        """Raise FileError where another user, or another program, has made the folder."""
        status = os.lstat(self.path)
        is_ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if not is_ours or LOCK not in (os.listdir(self.path) or [LOCK]):
            raise FileError(f"{self.path}: must be a folder of a conversion that can be resumed, or not exist")

    def _lock(self) -> bool:
        """Take the lock; return whether the folder still has the file that is locked now."""
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._handle)
            raise FileError(f"{self.path}: another process that can be resumed writes to it") from None
        except OSError:
            os.close(self._handle)
            raise
        try:
            there = os.lstat(self.path / LOCK)
        except FileNotFoundError:
            return False
        return os.path.samestat(there, os.fstat(self._handle))

    def clear(self) -> None:
        """Remove everything but the lock."""
        for name in sorted(os.listdir(self.path)):
            path = self.path / name
            if name == LOCK:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def remove(self) -> None:
        """Remove the folder, then let go of it.

        Its name goes before its lock does, so that a process that takes the name next does not lose what it writes.
        """
        with contextlib.suppress(OSError):
            self.clear()
            aside = tempfile.mkdtemp(prefix=f"{self.path.name}-", dir=self.path.parent)
            try:
                os.rename(self.path, aside)  # onto an empty folder
            finally:
                shutil.rmtree(aside, ignore_errors=True)
        self.close()

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._handle)
