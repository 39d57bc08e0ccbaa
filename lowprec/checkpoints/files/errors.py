"""The error that names a file, and what broken zip archives raise."""

from __future__ import annotations

import zipfile
import zlib

try:
    from lzma import LZMAError
except ImportError:  # a Python built without it: zipfile then refuses such members itself
    LZMAError = zipfile.BadZipFile  # type: ignore[assignment, misc]

__all__ = ["BROKEN_ZIP", "FileError", "MismatchError", "reason"]

BROKEN_ZIP = (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, LZMAError)
"""What zipfile raises for an archive that is broken, encrypted or packed in a way it does not know.

RuntimeError stands for the last two: for a password, and (a subclass of it) for an unknown way of packing.
"""


class FileError(Exception):
    """A file that cannot be read or written; the message is one line that names it."""


class MismatchError(FileError):
    """What was written is not what a fresh conversion gives."""


def reason(error: BaseException) -> str:
    """Return the text of an error, without the name of the file."""
    return (isinstance(error, OSError) and error.strerror) or str(error)
