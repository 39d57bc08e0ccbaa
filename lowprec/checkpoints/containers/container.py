"""What every container offers; a tensor that is stored, and one that will be; reading the bytes of one."""

from __future__ import annotations

import math
import zipfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from ...spec.formats import Format
from ...spec.packing import packed_bytes
from ..files.atomic_output import OutputFiles
from ..files.errors import BROKEN_ZIP, FileError, reason
from ..schemes.cast import ElementRules

__all__ = [
    "ArchiveMember", "Container", "FileRegion", "InMemory", "Location", "OutputTensor", "StoredTensor",
    "TensorReader", "check_distinct",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class FileRegion:
    """Bytes at an offset of a file, which can be read in any order."""

    path: Path
    offset: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class ArchiveMember:
    """Bytes of a member of a zip archive from `skip` on, which are read from the first to the last."""

    path: Path
    index: int
    skip: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class InMemory:
    """Bytes that are in memory already."""

    content: bytes

    @property
    def nbytes(self) -> int:
        """How many they are."""
        return len(self.content)


Location = FileRegion | ArchiveMember | InMemory


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One tensor of a file.

    Attributes
    ----------
    name, shape : str, tuple of int
        As the file has them.
    fmt : Format or None
        None where the elements are no numbers; such a tensor can only be copied.
    type_name : str
        What the file itself calls the type.
    location : FileRegion, ArchiveMember or InMemory
        Where the bytes are.
    packed : bool
        Whether codes narrower than a byte are packed, in ONNX's order.
    swapped, fortran : bool
        Whether the bytes of an element, or the axes, run the other way round.
    prefix : bytes
        What stands before the elements and goes with them when they are copied.
    fixed : str
        Why the tensor must stay as it is; empty where it may be converted.
    names_format : bool
        Whether `prefix` names the format.
    axis : int, optional
        Of scales: the axis of the codes along which they run, where the file says it.
    block : two ints, optional
        Of scales: the rows and columns of codes that share one, where the file says it.
    """

    name: str
    shape: tuple[int, ...]
    fmt: Format | None
    type_name: str
    location: Location
    packed: bool = False
    swapped: bool = False
    fortran: bool = False
    prefix: bytes = b""
    fixed: str = ""
    names_format: bool = False
    axis: int | None = None
    block: tuple[int, int] | None = None

    @property
    def size(self) -> int:
        """How many elements there are."""
        return math.prod(self.shape)

    def bytes_of(self, n: int) -> int:
        """Return how many bytes `n` elements take."""
        if self.fmt is None:
            return n
        return packed_bytes(n, self.fmt) if self.packed else n * (self.fmt.storage_bits // 8)

    def part(self, name: str, start: int, shape: tuple[int, ...]) -> StoredTensor | None:
        """Return elements that are next to each other as a tensor of their own.

        None where their bytes cannot be read by themselves.
        """
        place, size = self.location, math.prod(shape)
        if not isinstance(place, FileRegion) or self.fmt is None or self.fortran or self.prefix:
            return None
        if self.packed and (start * self.fmt.bits % 8 or size * self.fmt.bits % 8):
            return None
        region = FileRegion(place.path, place.offset + self.bytes_of(start), self.bytes_of(size))
        return replace(self, name=name, shape=shape, location=region)


class TensorReader:
    """The files that one worker has open for reading: each is opened once, and an archive's directory read once."""

    def __init__(self) -> None:
        self._files: dict[Path, IO[bytes]] = {}
        self._archives: dict[Path, zipfile.ZipFile] = {}
        self._member: tuple[ArchiveMember, IO[bytes], int] | None = None

    def read_into(self, buffer: np.ndarray[Any, Any], location: Location, at: int) -> None:
        """Fill a 1-D uint8 array with the bytes of a place from `at` on."""
        if isinstance(location, InMemory):
            buffer[:] = np.frombuffer(location.content, np.uint8, buffer.size, at)
            return
        try:
            if isinstance(location, ArchiveMember):
                self._from_member(memoryview(buffer), location, at)
            else:
                self._from_region(memoryview(buffer), location, at)
        except FileError:
            raise
        except BROKEN_ZIP as error:
            raise FileError(f"{location.path}: cannot be read; {reason(error)}") from None

    def _from_region(self, view: memoryview, location: FileRegion, at: int) -> None:
        stream = self._files.get(location.path)
        if stream is None:
            stream = self._files[location.path] = location.path.open("rb", buffering=0)
        stream.seek(location.offset + at)
        _fill(view, stream)

    def _from_member(self, view: memoryview, location: ArchiveMember, at: int) -> None:
        if self._member is None or self._member[0] != location or self._member[2] != at:
            self._close_member()
            archive = self._archives.get(location.path)
            if archive is None:
                archive = self._archives[location.path] = zipfile.ZipFile(location.path)
            stream = archive.open(archive.infolist()[location.index])
            self._member = location, stream, at
            stream.seek(location.skip + at)
        stream = self._member[1]
        _fill(view, stream)
        end = at + view.nbytes
        if end == location.nbytes and stream.read(1):  # asks for the end, where zip's own checksum is looked at
            raise ValueError("it has changed")
        self._member = location, stream, end

    def _close_member(self) -> None:
        if self._member is not None:
            self._member[1].close()
        self._member = None

    def close(self) -> None:
        """Close all of them."""
        self._close_member()
        for archive in self._archives.values():
            archive.close()
        for stream in self._files.values():
            stream.close()
        self._archives.clear()
        self._files.clear()


def _fill(view: memoryview, stream: Any) -> None:
    done = 0
    while done < view.nbytes:
        n = stream.readinto(view[done:])
        if not n:
            raise ValueError("it ended early: has it changed?")
        done += n


def check_distinct(tensors: Sequence[StoredTensor]) -> None:
    """Raise ValueError where two tensors have one name."""
    twice = next((name for name, count in Counter(one.name for one in tensors).items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"it names twice {ascii(twice)[:80]}")


@dataclass(frozen=True, slots=True)
class OutputTensor:
    """A tensor to be written.

    Attributes
    ----------
    name, shape : str, tuple of int
        As in `StoredTensor`.
    fmt : Format or None
        None for a copy of elements that are no numbers.
    nbytes : int
        How many bytes the codes take.
    origin : StoredTensor
        The tensor that it is computed from.
    role : str
        ``"kept"`` for a copy, ``"codes"`` for a conversion, ``"scale"`` for its scales.
    rules : ElementRules, optional
        How it is converted.
    axis : int, optional
        Of scales: the axis of the codes along which they run.
    block : two ints, optional
        Of scales: the rows and columns of codes that share one.
    blocks : str
        What the container calls the type of its blocks, where it holds no single numbers and is no copy.
    """

    name: str
    shape: tuple[int, ...]
    fmt: Format | None
    nbytes: int
    origin: StoredTensor
    role: str
    rules: ElementRules | None = None
    axis: int | None = None
    block: tuple[int, int] | None = None
    blocks: str = ""

    @property
    def type_name(self) -> str:
        """What the container calls a type that is no format; nothing for formats."""
        return "" if self.fmt is not None else self.blocks or self.origin.type_name


class Container(Protocol):
    """A file, or a folder of files, that holds tensors.

    Attributes
    ----------
    path : Path
        The file or the folder.
    suffixes : tuple of str
        The ends of file names that it can be written under; none for a folder.
    tensors : list of StoredTensor
        All of them.
    packs : bool
        Whether it packs codes narrower than a byte.
    codes_suffix : str
        Text that is added to the name of a tensor when it is converted.
    names_formats : bool
        Whether it names the format of every tensor itself.
    part : str
        Which part of a model it is, where it is not the whole: ``"part 1 of 3"``.
    remarks : sequence of str
        What the report of its conversion says of it.
    """

    path: Path
    suffixes: tuple[str, ...]
    tensors: list[StoredTensor]
    packs: bool
    codes_suffix: str
    names_formats: bool
    part: str
    remarks: Sequence[str]

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return the files of a container of the same kind named `target`, which may exist and be replaced."""

    def name_scope(self, tensor: StoredTensor) -> str:
        """Return the part of the container in which the tensor's name, and that of its scales, must be unique."""

    def publish(self, staged: Sequence[Path], target: Path, overwrite: bool) -> None:
        """Rename finished files to the target, which is the old container or the new one at every moment.

        Without `overwrite` raises FileExistsError, and changes nothing, where a name is taken.
        """
