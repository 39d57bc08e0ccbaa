"""Folders as Hugging Face lays them out: shards in safetensors, an index that says which holds what, other files."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..npy_header import FileError, reason
from .layout import Layout, NewFile, Output, Slot
from .safetensors_files import SafetensorsFile
from .stored import Stored

__all__ = ["Folder", "is_checkpoint"]

INDEX = ".safetensors.index.json"
LARGEST_INDEX = 100_000_000


def is_checkpoint(path: Path) -> bool:
    """Whether a folder holds a checkpoint: an index or a safetensors file."""
    return path.is_dir() and any(name.endswith((INDEX, SafetensorsFile.suffix)) for name in os.listdir(path))


def _files(folder: Path) -> Iterator[str]:
    """Yield the names of all files below a folder; links to files count as files, as caches of downloads have them."""
    for where, folders, names in os.walk(folder, onerror=_raise):
        for name in sorted([*folders, *names]):
            path = Path(where, name)
            relative = str(path.relative_to(folder))
            if path.is_symlink() and path.is_dir():
                raise FileError(f"{path}: is a link to a folder; copy that one in, or take the link away")
            if path.is_dir():
                continue
            if not path.exists():
                raise FileError(f"{path}: is a link to nothing")
            if not path.is_file():
                raise FileError(f"{path}: must be a regular file")
            yield relative
        folders.sort()


def _raise(error: OSError) -> None:
    raise error


def _index(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_INDEX:
            raise ValueError(f"it has more than {LARGEST_INDEX} bytes")
        fields = json.loads(path.read_text(encoding="utf-8"))
        places = fields["weight_map"]
        if not isinstance(places, dict) or not all(isinstance(name, str) for name in places.values()):
            raise TypeError
        if not isinstance(fields.setdefault("metadata", {}), dict):
            raise TypeError
    except (TypeError, KeyError, RecursionError, UnicodeDecodeError):
        raise FileError(f"{path}: must be JSON with a weight_map of tensor names to file names") from None
    except ValueError as error:
        raise FileError(f"{path}: must be JSON with a weight_map; {str(error)[:80]}") from None
    return dict(fields)


class Folder:
    """A folder with safetensors files, with or without an index."""

    suffix = ""
    packs = True
    renamed = ""
    names_formats = True

    def __init__(self, path: Path) -> None:
        """Read every header; raise FileError unless the index, the shards and their tensors agree."""
        self.path = path
        try:
            names = list(_files(path))
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        top = [name for name in names if os.sep not in name]
        self._indexes = {name: _index(path / name) for name in top if name.endswith(INDEX)}
        shards = {name for fields in self._indexes.values() for name in fields["weight_map"].values()}
        for name, fields in self._indexes.items():
            self._check_shards(name, fields["weight_map"], set(top))
        if not self._indexes:
            shards = {name for name in top if name.endswith(SafetensorsFile.suffix)}
        if not shards:
            raise FileError(f"{path}: holds no safetensors file")
        self._shards = {name: SafetensorsFile(path / name) for name in sorted(shards)}
        self.others = [name for name in names if name not in shards and name not in self._indexes]
        self._replaced: dict[str, bytes] = {}
        for name, fields in self._indexes.items():
            self._check_tensors(name, fields["weight_map"])
        self.tensors: list[Stored] = []
        self._home: dict[int, str] = {}
        for shard, file in self._shards.items():
            self.tensors += file.tensors
            self._home.update((id(one), shard) for one in file.tensors)

    def _check_shards(self, index: str, places: dict[str, str], top: set[str]) -> None:
        for tensor, shard in places.items():
            where = f"{self.path / index}: places {ascii(tensor)[:80]} in {ascii(shard)[:80]}"
            if shard != os.path.basename(shard) or shard in ("", ".", "..") or "\\" in shard:
                raise FileError(f"{where}, which is no file name in this folder")
            if shard not in top:
                raise FileError(f"{where}, which is missing")

    def _check_tensors(self, index: str, places: dict[str, str]) -> None:
        for shard in sorted(set(places.values())):
            held = {one.name for one in self._shards[shard].tensors}
            promised = {tensor for tensor, home in places.items() if home == shard}
            for name in sorted(promised - held)[:1]:
                raise FileError(f"{self.path / index}: places {ascii(name)[:80]} in {shard}, which does not hold it")
            for name in sorted(held - promised)[:1]:
                raise FileError(f"{self.path / shard}: holds {ascii(name)[:80]}, which the index does not place there")

    @property
    def files(self) -> list[SafetensorsFile]:
        """The files with the tensors."""
        return list(self._shards.values())

    def replace(self, name: str, text: bytes | None) -> None:
        """Have one of the other files arranged with another text, or left out."""
        self.others.remove(name)
        if text is not None:
            self._replaced[name] = text

    def arrange(self, outputs: Sequence[Output], target: Path) -> Layout:
        """Say where outputs go: each into the shard of its origin."""
        files: list[NewFile] = []
        slots = [Slot(0, 0)] * len(outputs)
        home_of = [self._home[id(output.origin)] for output in outputs]
        for shard, file in self._shards.items():
            members = [index for index, home in enumerate(home_of) if home == shard]
            layout = file.arrange([outputs[index] for index in members], target / shard)
            for index, slot in zip(members, layout.slots, strict=True):
                slots[index] = Slot(len(files), slot.offset)
            files.append(dataclasses.replace(layout.files[0], name=shard))
        for name, fields in self._indexes.items():
            text = self._new_index(fields, outputs, home_of)
            files.append(NewFile(name, len(text), ((0, text),)))
        files += [NewFile(name, len(text), ((0, text),)) for name, text in self._replaced.items()]
        return Layout(files, slots, [(self.path / name, name) for name in self.others])

    @staticmethod
    def _new_index(fields: dict[str, Any], outputs: Sequence[Output], home_of: Sequence[str]) -> bytes:
        shards = set(fields["weight_map"].values())
        mine = [(output, home) for output, home in zip(outputs, home_of, strict=True) if home in shards]
        total = sum(output.nbytes for output, _ in mine)
        places = {output.name: home for output, home in sorted(mine, key=lambda pair: pair[0].name)}
        metadata = {**fields["metadata"], "total_size": total}
        return json.dumps({**fields, "metadata": metadata, "weight_map": places}, indent=2).encode() + b"\n"

    def home(self, stored: Stored) -> str:
        """Names must differ within the index, or without one within a file."""
        return "" if self._indexes else self._home[id(stored)]

    def publish(self, staged: Sequence[Path], target: Path, outputs: Sequence[Output]) -> None:
        """Put the finished folder in the target's place; an old one goes away afterwards."""
        folder = staged[0].parent
        folder.chmod(stat.S_IMODE(self.path.stat().st_mode))
        if not target.exists():
            os.rename(folder, target)
            return
        if not _exchange(folder, target):
            aside = folder.with_name("old")
            os.rename(target, aside)
            try:
                os.rename(folder, target)
            except BaseException:
                os.rename(aside, target)
                raise
            folder = aside
        shutil.rmtree(folder, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change places in one step; return whether the system can."""
    if not sys.platform.startswith("linux"):
        return False
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        return bool(libc.renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0)
    return False
