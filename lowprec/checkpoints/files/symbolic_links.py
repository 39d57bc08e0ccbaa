"""The files of a checkpoint's folder: which symbolic links are followed, and how deep folders may be.

A link is judged by the file that it leads to in the end, however many links lie between. It may lead to a file inside
the folder or, where the folder is a snapshot in a cache of Hugging Face's, inside the cache's folder of the same
repository: ``models--…/snapshots/REV/file -> ../../blobs/HASH``. Others would copy a file of this machine into what is
perhaps uploaded next.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from .errors import FileError

__all__ = ["FolderEntry", "file_in", "files_in", "stays_in"]

DEEPEST = 100
"""Folders inside each other; Python's own functions for whole trees fail at some 900."""

MOST_FILES = 100_000
"""Links between folders can multiply few files without end."""

_REPOSITORY = re.compile("(models|datasets|spaces)--.+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A file below a folder.

    Attributes
    ----------
    name : str
        Its name from the folder on.
    path : Path
        The file itself, links followed.
    problem : str
        Why it must not be read; empty where it may.
    """

    name: str
    path: Path
    problem: str = ""


def _root(folder: Path) -> Path:
    """Return the folder that links in a real folder may lead into: itself, or its repository in a cache."""
    for snapshot in (folder, *folder.parents):
        repository = snapshot.parent.parent
        if snapshot.parent.name == "snapshots" and _REPOSITORY.fullmatch(repository.name):
            return repository
    return folder


def stays_in(path: Path, folder: Path) -> bool:
    """Whether a file, links followed, lies where links in a folder may lead."""
    return Path(os.path.realpath(path)).is_relative_to(_root(Path(os.path.realpath(folder))))


def _resolve(found: os.DirEntry[str] | Path, name: str, folder: Path, follow: bool) -> FolderEntry:
    """Return an entry of a folder that no link leads to; of most, the listing of the folder says what they are."""
    real = Path(found)
    if found.is_symlink():
        real = Path(os.path.realpath(real))
        if not real.exists():
            return FolderEntry(name, real, "is a link to nothing")
        if not follow and not stays_in(real, folder):
            return FolderEntry(
                name, real, f"is a link to {ascii(str(real))[:200]}, outside of the folder; say --follow-links"
            )
    if not found.is_dir() and not found.is_file():
        return FolderEntry(name, real, "must be a regular file")
    return FolderEntry(name, real)


def file_in(folder: Path, name: str, *, follow: bool = False) -> FolderEntry:
    """Return a file of a folder, judged as `files_in` does."""
    top = Path(os.path.realpath(folder))
    return _resolve(top / name, name, top, follow)


def files_in(folder: Path, *, follow: bool = False, most: int | None = None) -> Iterator[FolderEntry]:
    """Yield the files below a folder, those of an outer folder before those of the folders in it, sorted by name.

    Links to folders are followed like links to files; `follow` takes links that lead anywhere. Raises FileError where
    folders are too deep, or there are more than `most` files and folders, MOST_FILES by default; it looks at no more.
    """
    most = MOST_FILES if most is None else most
    top, count = Path(os.path.realpath(folder)), 0
    waiting: list[tuple[str, tuple[Path, ...]]] = [("", (top,))]
    while waiting:
        where, above = waiting.pop()
        if len(above) > DEEPEST:
            raise FileError(f"{folder}: has more than {DEEPEST} folders inside each other")
        inner = []
        with os.scandir(above[-1]) as listing:
            listed = sorted(islice(listing, most - count + 1), key=lambda one: one.name)
        count += len(listed)
        if count > most:
            raise FileError(f"{folder}: has more than {most} files and folders")
        for found in listed:
            entry = _resolve(found, os.path.join(where, found.name), top, follow)
            if entry.problem or not found.is_dir():
                yield entry
            elif entry.path in above:
                yield FolderEntry(entry.name, entry.path, "is a link to a folder that it lies in")
            else:
                inner.append((entry.name, (*above, entry.path)))
        waiting += reversed(inner)
