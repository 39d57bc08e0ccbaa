"""The error that names a file, and what broken zip archives raise."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

try:
    from lzma import LZMAError
except ImportError:  # a Python built without it: zipfile then refuses such members itself
    LZMAError = zipfile.BadZipFile  # type: ignore[assignment, misc]

__all__ = ["BROKEN_ZIP", "FileError", "MismatchError", "NoCheckpointError", "naming", "reason"]

_LONGEST_REASON = 160
"""Characters: what zipfile says of a member has its name, which may be any 65,535 bytes of the file."""

BROKEN_ZIP = (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error, LZMAError)
"""What zipfile raises for an archive that is broken, encrypted or packed in a way it does not know.

RuntimeError stands for the last two: for a password, and (a subclass of it) for an unknown way of packing.
"""

_PARTS = ("'", '"', "AWQ: ", "GPTQ: ", "config.json: ")
"""How errors begin that are about a part of a checkpoint: the name of a tensor, or what says how one is read."""


class FileError(OSError):
    """A file that cannot be read, written or converted; the message is one line that names it.

    A file that is missing, broken, of another kind than its name says, or in the way. The attributes of OSError are
    None: what the system said is in the message.

    Parameters
    ----------
    message : str
        The line.

    Examples
    --------
    >>> import lowprec as lp
    >>> try:
    ...     checkpoint = lp.checkpoints.open("missing.safetensors")
    ... except OSError as error:
    ...     print(isinstance(error, lp.checkpoints.FileError), error)
    True missing.safetensors: No such file or directory
    """

    def __init__(self, message: str) -> None:
        super().__init__(message.rstrip())  # a name or a value in it may be cut at a blank


class NoCheckpointError(FileError):
    """A path that names no checkpoint, or none of a kind that is read."""


class MismatchError(FileError):
    """What was written is not what a fresh conversion gives."""


def reason(error: BaseException) -> str:
    """Return the text of an error, without the name of the file."""
    if isinstance(error, EOFError) and not str(error):  # zipfile's, for packed bytes that are not there
        return "it ended early"
    return (isinstance(error, OSError) and error.strerror) or str(error)[:_LONGEST_REASON].rstrip()


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Have an error that names a tensor alone, or a setting, name the checkpoint too."""
    try:
        yield
    except FileError as error:
        text = str(error)
        if str(path) in text or not text.startswith(_PARTS):
            raise
        raise type(error)(f"{path}: {text}") from None
