"""The manifest of a conversion that can be resumed: what is converted how, and which files are finished."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .output_files import OutputFiles

__all__ = [
    "Finished",
    "Job",
    "differences",
    "digest_of",
    "describe_files",
    "describe_sources",
    "read_json",
    "write_json",
]

BUFFER = 1 << 20


@dataclass(frozen=True, slots=True)
class Job:
    """What decides every byte that is written.

    Attributes
    ----------
    version : str
        The version of the program.
    options : mapping of str to str
        The arguments, as texts.
    sources : iterable of Path
        The files that tensors are read from.
    """

    version: str
    options: Mapping[str, str]
    sources: Iterable[Path]


@dataclass(frozen=True, slots=True)
class Finished:
    """A file that is complete and on the disk.

    Attributes
    ----------
    size, digest : int, str
        Its bytes, and their SHA-256.
    state : dict
        What the caller keeps with it.
    """

    size: int
    digest: str
    state: dict[str, Any]

    def fits(self, path: Path) -> bool:
        """Whether a file has these bytes."""
        try:
            status = os.lstat(path)
            return stat.S_ISREG(status.st_mode) and status.st_size == self.size and digest_of(path) == self.digest
        except OSError:
            return False


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    found, buffer = hashlib.sha256(), bytearray(BUFFER)
    with path.open("rb", buffering=0) as stream:
        while n := stream.readinto(buffer):
            found.update(memoryview(buffer)[:n])
    return found.hexdigest()


def describe_sources(paths: Iterable[Path]) -> dict[str, list[int]]:
    """Return size and time of the last change, in nanoseconds, of files by their paths, links followed."""
    found = {}
    for path in sorted({Path(os.path.realpath(path)) for path in paths}):
        status = path.stat()
        found[str(path)] = [status.st_size, status.st_mtime_ns]
    return found


def describe_files(output: OutputFiles) -> str:
    """Return a digest of the names, the sizes and the headers of files, and of where tensors go."""
    found = hashlib.sha256()
    for file in output.files:
        found.update(f"{file.name!a} {file.size}\n".encode())
        for offset, piece in file.pieces:
            found.update(f"{offset} {hashlib.sha256(piece).hexdigest()}\n".encode())
    for slot in output.slots:
        found.update(f"{slot.file} {slot.offset}\n".encode())
    for _, name in output.copies:
        found.update(f"{name!a}\n".encode())
    return found.hexdigest()


def differences(old: Any, new: Mapping[str, Any]) -> str:
    """Return in what a manifest differs from the one that a conversion would have now; nothing where it does not."""
    if not isinstance(old, dict) or not all(isinstance(old.get(part), type(value)) for part, value in new.items()):
        return "its manifest cannot be read"
    if old["version"] != new["version"]:
        return f"lowprec {old['version'][:40]} began it, this is {new['version']}"
    for name in sorted({*old["options"], *new["options"]}):
        before, now = (str(one["options"].get(name))[:80] for one in (old, new))
        if old["options"].get(name) != new["options"].get(name):
            return f"`{name}` was {before}, and is {now}"
    for path in sorted({*old["sources"], *new["sources"]}):
        if old["sources"].get(path) != new["sources"].get(path):
            return f"{path!a} is not what it was"
    return "" if old == {**old, **new} else "other files are to be written"


def read_json(path: Path) -> Any:
    """Return what a file holds, None where it is missing or no JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None


def write_json(path: Path, value: Any) -> None:
    """Write a file so that it is there as a whole or not at all, on the disk when this returns."""
    temporary = path.with_name(f"{path.name}.part")
    with temporary.open("w", encoding="ascii") as stream:
        json.dump(value, stream)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(temporary, path)
