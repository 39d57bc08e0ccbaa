"""The file for a report: written atomically, and it replaces no file but an earlier report."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO

from .containers.npy_file import sidecar
from .files.atomic_output import Staging
from .files.errors import FileError, reason
from .files.output_files import OutputFile, OutputFiles
from .files.renaming import rename_file

__all__ = ["ReportFile"]

START = b'{\n  "source": '
"""How every report starts."""


def _check(path: Path, real: Path, source: Path, target: Path) -> None:
    """Raise FileError unless a report of a conversion may be written to a path."""
    if not real.parent.is_dir():
        raise FileError(f"{path}: must be a file in an existing folder")
    for one in (source, target):
        other = Path(os.path.realpath(one))
        if real.is_relative_to(other):
            raise FileError(f"{path}: must not be {one}, nor a file in it")
        if other.suffix == ".npy" and real == sidecar(other):
            raise FileError(f"{path}: is the name of the file with the format of {one}")
        if real.parent == other.parent and real.name.startswith(f"{other.name}.") and real.suffix == ".data":
            raise FileError(f"{path}: is a name for the external data of {one}")
    if not real.exists():
        return
    if not real.is_file():
        raise FileError(f"{path}: must be a regular file")
    with real.open("rb") as stream:
        start = stream.read(len(START))
    if start not in (b"", START):
        raise FileError(f"{path}: exists and is no report of a conversion; choose another name")


def _is_stream(path: Path) -> bool:
    """Whether a path is a device or a pipe, such as /dev/stdout: it is written to, and nothing is replaced."""
    mode = path.stat().st_mode if path.exists() else 0
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _open_stream(path: Path) -> IO[str]:
    """Open a device or a pipe for writing; a pipe that nobody reads is an error, not a wait."""
    descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.set_blocking(descriptor, True)
    return open(descriptor, "w", encoding="utf-8")


class ReportFile:
    """A file for the report of a conversion, checked before the conversion starts; or a device or a pipe.

    Parameters
    ----------
    path, source, target : Path
        Its name, through links, and what is converted into what.
    """

    def __init__(self, path: Path, source: Path, target: Path) -> None:
        self._path, self._source, self._target = path, source, target
        self._staging: Staging | None = None
        try:
            self._real = Path(os.path.realpath(path))
            if _is_stream(path):
                _open_stream(path).close()
            else:
                _check(path, self._real, source, target)
                self._staging = Staging(OutputFiles([OutputFile("report", 0)], []), self._real, True, path)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        except ValueError as error:  # a name with a null byte
            raise FileError(f"{str(path)!a}: {error}") from None

    def __enter__(self) -> ReportFile:
        """Create the staging folder, next to the report's place."""
        if self._staging is not None:
            self._staging.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the staging folder."""
        if self._staging is not None:
            self._staging.__exit__(*error)

    def write(self, text: str) -> None:
        """Write the report, and rename it when it is on the disk."""
        try:
            if self._staging is None:
                with _open_stream(self._path) as stream:
                    stream.write(text)
                return
            self._staging.paths[0].write_text(text, encoding="utf-8")
            self._staging.seal()
            _check(self._path, self._real, self._source, self._target)  # another file may have been written meanwhile
            self._staging.publish(rename_file)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{self._path}: cannot be written; {reason(error)}") from None
