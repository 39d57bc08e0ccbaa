"""Folders as Hugging Face lays them out: shards in safetensors, an index that says which holds what, other files."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..files.atomic_output import OutputFile, OutputFiles, Slot, rename_new
from ..files.atomic_output import exchange as _exchange
from ..files.errors import FileError, reason
from ..files.symbolic_links import files_in
from ..memory_limit import DEFAULT, Limits
from .container import FileRegion, OutputTensor, StoredTensor
from .json_scanner import LONGEST_ENTRY, decode, entries
from .no_checkpoint import START, are_missing, check_folder, check_pointer, missing_parts, part_name
from .safetensors_file import SUFFIX, SafetensorsFile

__all__ = ["Folder", "may_be_replaced"]

INDEX = ".safetensors.index.json"
MAP = "weight_map"


def may_be_replaced(path: Path) -> bool:
    """Whether a folder holds a checkpoint, that is an index or a safetensors file, or nothing at all."""
    names = os.listdir(path) if path.is_dir() else ["a file"]
    return not names or any(name.endswith((INDEX, SUFFIX)) for name in names)


def _index(path: Path, limits: Limits) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    try:
        limits.check_bytes(path.stat().st_size, "it")
        content = path.read_bytes().strip()
        check_pointer(path, content[:START])
        for name, value in entries(content):
            if name in fields:
                raise ValueError(f"it names {ascii(name)[:60]} twice")
            if name == MAP:
                fields[name] = _places(value, limits)
            elif len(value) <= LONGEST_ENTRY:
                fields[name] = decode(value)
            else:
                raise ValueError(f"{ascii(name)[:60]} has more than {LONGEST_ENTRY} bytes")
        if MAP not in fields or not isinstance(fields.setdefault("metadata", {}), dict):
            raise ValueError(f"it needs {MAP} and metadata")
    except ValueError as error:
        text = f"must be JSON with a {MAP} of tensor names to file names; {str(error)[:120]}"
        raise FileError(f"{path}: {text}") from None
    return fields


def _places(value: bytes, limits: Limits) -> dict[str, str]:
    """Return which tensor is in which file; a file's name is kept once."""
    shard_of: dict[str, str] = {}
    files: dict[bytes, str] = {}
    for tensor, text in entries(value):
        if tensor in shard_of or not text.startswith(b'"'):
            raise ValueError(f"{ascii(tensor)[:60]} must have one file")
        shard_of[tensor] = files[text] = files.get(text) or decode(text)
        limits.check_tensors(len(shard_of))
    return shard_of


class Folder:
    """A folder with safetensors files, with or without an index."""

    suffixes: tuple[str, ...] = ()
    packs = True
    codes_suffix = ""
    names_formats = True
    part = ""
    remarks: Sequence[str] = ()

    def __init__(self, path: Path, *, follow_links: bool = False, limits: Limits = DEFAULT, part: bool = False) -> None:
        """Read every header; raise FileError unless the index, the shards and their tensors agree.

        With `part` shards may be missing. An index that names such is not written again: it would not be true.
        """
        self.path = path
        try:
            self._files = {entry.name: entry for entry in files_in(path, follow=follow_links)}
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        names = list(self._files)
        top = [name for name in names if os.sep not in name]
        self._check_links(name for name in top if name.endswith(INDEX))
        self._indexes = {name: _index(path / name, limits) for name in top if name.endswith(INDEX)}
        shards = {name for fields in self._indexes.values() for name in fields["weight_map"].values()}
        missing = sorted(shards.difference(top))
        self._incomplete: set[str] = set()
        for name, fields in self._indexes.items():
            self._check_shards(name, fields["weight_map"], set(top), part)
        shards.intersection_update(top)
        lost = len(missing)
        if not self._indexes:
            shards = {name for name in top if name.endswith(SUFFIX)}
            missing, lost = missing_parts(filter(None, map(part_name, sorted(shards))), shards)
            if lost and not part:
                raise FileError(f"{path}: {are_missing(missing, lost)}; `part` takes the shards that are there")
        if lost and shards:
            self._take_part(len(shards), len(shards) + lost)
        check_folder(path, names, bool(shards))
        self._check_links(sorted(shards))
        self._shards: dict[str, SafetensorsFile] = {}
        for name in sorted(shards):
            self._shards[name] = SafetensorsFile(path / name, limits)
            try:
                limits.check_tensors(sum(len(file.tensors) for file in self._shards.values()))
            except ValueError as error:
                raise FileError(f"{path}: {error}") from None
        self.others = [name for name in names if name not in shards and name not in self._indexes]
        self.replaced: dict[str, bytes] = {}
        for name, fields in self._indexes.items():
            self._check_tensors(name, fields["weight_map"])
        self.tensors: list[StoredTensor] = []
        for file in self._shards.values():
            self.tensors += file.tensors

    def _check_links(self, names: Iterable[str]) -> None:
        for name in names:
            if self._files[name].problem:
                raise FileError(f"{self.path / name}: {self._files[name].problem}")

    def _take_part(self, count: int, total: int) -> None:
        """Note that some shards are there alone."""
        self.part = f"{count} of {total} shards"
        left_out = "".join(f"; {name} is left out, since it names all shards" for name in sorted(self._incomplete))
        self.remarks = [f"{self.part} of a model were taken without the others{left_out}"]

    def _check_shards(self, index: str, places: dict[str, str], top: set[str], part: bool) -> None:
        """Raise FileError for an index that names what is no shard here; with `part` leave out what is missing."""
        missing = sorted(set(places.values()) - top)
        for tensor, shard in list(places.items()):
            where = f"{self.path / index}: places {ascii(tensor)[:80]} in {ascii(shard)[:80]}"
            if shard != os.path.basename(shard) or shard in ("", ".", "..") or "\\" in shard:
                raise FileError(f"{where}, which is no file name in this folder")
            if shard not in top and not part:
                others = f"; {are_missing(missing, len(missing))}" if len(missing) > 1 else ""
                raise FileError(f"{where}, which is missing{others} (`part` takes the shards that are there)")
            if shard not in top:
                del places[tensor]
                self._incomplete.add(index)

    def _check_tensors(self, index: str, places: dict[str, str]) -> None:
        for shard in sorted(set(places.values())):
            stored = {one.name for one in self._shards[shard].tensors}
            promised = {tensor for tensor, home in places.items() if home == shard}
            for name in sorted(promised - stored)[:1]:
                raise FileError(f"{self.path / index}: places {ascii(name)[:80]} in {shard}, which does not hold it")
            for name in sorted(stored - promised)[:1]:
                raise FileError(f"{self.path / shard}: holds {ascii(name)[:80]}, which the index does not place there")

    @property
    def files(self) -> list[SafetensorsFile]:
        """The files with the tensors."""
        return list(self._shards.values())

    def add(self, name: str, text: bytes) -> None:
        """Have another file arranged, in the place of one of that name if there is one."""
        if name in self.others:
            self.others.remove(name)
        self.replaced[name] = text

    @property
    def indexes(self) -> dict[str, dict[str, Any]]:
        """The fields of the indexes that are written again, by the names of their files."""
        return {name: fields for name, fields in self._indexes.items() if name not in self._incomplete}

    def replace(self, name: str, text: bytes | None) -> None:
        """Have one of the other files arranged with another text, or left out."""
        self.others.remove(name)
        if text is not None:
            self.replaced[name] = text

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Say where outputs go: each into the shard of its origin."""
        self._check_links(self.others)
        files: list[OutputFile] = []
        slots = [Slot(0, 0)] * len(outputs)
        shard_of = [self._shard_of(output.origin) for output in outputs]
        for shard, file in self._shards.items():
            members = [index for index, name in enumerate(shard_of) if name == shard]
            layout = file.arrange([outputs[index] for index in members], target / shard)
            for index, slot in zip(members, layout.slots, strict=True):
                slots[index] = Slot(len(files), slot.offset)
            files.append(dataclasses.replace(layout.files[0], name=shard))
        for name, fields in self.indexes.items():
            text = self._new_index(fields, outputs, shard_of)
            files.append(OutputFile(name, len(text), ((0, text),)))
        files += [OutputFile(name, len(text), ((0, text),)) for name, text in self.replaced.items()]
        return OutputFiles(files, slots, [(self._files[name].path, name) for name in self.others])

    @staticmethod
    def _new_index(fields: dict[str, Any], outputs: Sequence[OutputTensor], shard_of: Sequence[str]) -> bytes:
        shards = set(fields["weight_map"].values())
        indexed = [(output, shard) for output, shard in zip(outputs, shard_of, strict=True) if shard in shards]
        total = sum(output.nbytes for output, _ in indexed)
        places = {output.name: shard for output, shard in sorted(indexed, key=lambda pair: pair[0].name)}
        metadata = {**fields["metadata"], "total_size": total}
        return json.dumps({**fields, "metadata": metadata, "weight_map": places}, indent=2).encode() + b"\n"

    def _shard_of(self, tensor: StoredTensor) -> str:
        """Return the shard that has the bytes of a tensor, or of what it is a part of."""
        if not isinstance(tensor.location, FileRegion):
            raise ValueError(f"{tensor.name} is in no file")
        return tensor.location.path.name

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the index, or without one within a file."""
        return "" if self._indexes else self._shard_of(tensor)

    def publish(self, staged: Sequence[Path], target: Path, overwrite: bool) -> None:
        """Put the finished folder in the target's place; an old one goes away afterwards."""
        folder = staged[0].parent
        folder.chmod(stat.S_IMODE(self.path.stat().st_mode))
        try:
            if not (overwrite and target.exists()):
                rename_new(folder, target)
                return
        except FileExistsError:  # since a moment ago
            if not overwrite:
                raise
        shutil.rmtree(_swap(folder, target), ignore_errors=True)


def _swap(folder: Path, target: Path) -> Path:
    """Put a folder in the place of another one; return where that is now.

    Raises FileError, the other one in its place, unless it may be replaced still.
    """
    aside = folder
    if not _exchange(folder, target):
        aside = folder.with_name("old")
        os.rename(target, aside)
    if not may_be_replaced(aside):
        if aside is not folder:
            os.rename(aside, target)
        else:
            _exchange(folder, target)
        raise FileError(f"{target}: must be a folder with a checkpoint to be replaced by one")
    if aside is not folder:
        try:
            os.rename(folder, target)
        except BaseException:
            os.rename(aside, target)
            raise
    return aside
