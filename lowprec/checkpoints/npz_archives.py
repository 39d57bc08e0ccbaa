"""Archives of arrays, .npz: read through zipfile, written uncompressed at places known beforehand.

NumPy loads what is written. A format that it lacks is uint8 or uint16 codes, and named in the comment of the archive's
member, where `lowprec` finds it again.
"""

from __future__ import annotations

import os
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path

from ..arrays.libraries import format_of
from ..spec.formats import FORMATS, NUMERIC, Format
from .headers import DEFAULT, Limits
from .layout import Layout, NewFile, Output, Slot
from .npy_files import checksum, own
from .npy_header import BROKEN_ZIP, FileError, find_elements, header, reason
from .renaming import rename_new
from .stored import Member, Stored

__all__ = ["NpzArchive"]

_NOTE = "format="
_DAY = 1 << 5 | 1
"""1 January 1980, as zip has it: the same input gives the same bytes on every day."""

_ZIP64 = 45
"""The version of zip that has 64-bit sizes; all members use them, so that no offset depends on a size."""

_UTF8 = 0x800
_FULL, _FULL16 = 0xFFFFFFFF, 0xFFFF


def _local(name: bytes, nbytes: int, crc32: int) -> bytes:
    """Return what stands before a member."""
    extra = struct.pack("<2H2Q", 1, 16, nbytes, nbytes)
    fields = (b"PK\x03\x04", _ZIP64, _UTF8, 0, 0, _DAY, crc32, _FULL, _FULL, len(name), len(extra))
    return struct.pack("<4s5H3L2H", *fields) + name + extra


def _central(name: bytes, nbytes: int, crc32: int, offset: int, note: bytes) -> bytes:
    """Return a member's line in the directory at the end."""
    extra = struct.pack("<2H3Q", 1, 24, nbytes, nbytes, offset)
    fields = (
        b"PK\x01\x02", 3 << 8 | _ZIP64, _ZIP64, _UTF8, 0, 0, _DAY, crc32, _FULL, _FULL,
        len(name), len(extra), len(note), 0, 0, 0o600 << 16, _FULL,
    )  # fmt: skip
    return struct.pack("<4s6H3L5H2L", *fields) + name + extra + note


def _end(count: int, start: int, nbytes: int) -> bytes:
    """Return what ends an archive: where the directory is, in 64 bits and in the fields that older readers look for."""
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, _ZIP64, _ZIP64, 0, 0, count, count, nbytes, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, start + nbytes, 1)
    old = min(count, _FULL16)
    return end64 + locator + struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, old, old, _FULL, _FULL, 0)


def _noted(info: zipfile.ZipInfo) -> Format | None:
    """Return the format that a member's comment names."""
    note = info.comment.decode("utf-8", "replace")
    fmt = FORMATS.get(note.removeprefix(_NOTE)) if note.startswith(_NOTE) else None
    return fmt if fmt in NUMERIC else None


def _stored(path: Path, index: int, info: zipfile.ZipInfo, archive: zipfile.ZipFile, source: Format | None) -> Stored:
    """Describe a member; what is no array of numbers can be copied."""
    whole = Member(path, index, 0, info.file_size)
    name = info.filename.removesuffix(".npy")
    try:
        with archive.open(info) as stream:
            found = find_elements(stream, info.file_size)
            stream.seek(0)
            prefix = stream.read(found.offset)
        fmt = format_of(found.dtype, _noted(info) or (source if found.is_open else None))
    except (ValueError, TypeError) as error:
        return Stored(info.filename, (info.file_size,), None, "bytes", whole, fixed=str(error))
    fixed = ""
    if name == info.filename:
        fixed = "its name does not end in .npy"
    elif found.is_open and source is None and _noted(info) is None:
        fixed = f"its header does not name the format of its {found.dtype} codes; say it with --from"
    if fixed:
        return Stored(info.filename, (info.file_size,), None, "bytes", whole, fixed=fixed)
    place = Member(path, index, found.offset, found.nbytes)
    swapped = not found.dtype.isnative
    return Stored(name, found.shape, fmt, found.dtype.str, place, False, swapped, found.fortran, prefix)


class NpzArchive:
    """An .npz archive."""

    suffix = ".npz"
    packs = False
    renamed = ""
    names_formats = False

    def __init__(self, path: Path, source: Format | None, limits: Limits = DEFAULT) -> None:
        """Read the directory and every header; `source` is the format of codes whose header leaves it open."""
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                infos = archive.infolist()
                limits.check_tensors(len(infos))
                for info in infos:
                    if info.flag_bits & 1:
                        raise ValueError(f"member {ascii(info.filename)[:80]} is encrypted")
                self.tensors = [_stored(path, i, info, archive, source) for i, info in enumerate(infos)]
        except BROKEN_ZIP as error:
            raise FileError(f"{path}: must be a readable .npz archive; {reason(error)}") from None

    def arrange(self, outputs: Sequence[Output], target: Path, overwrite: bool = False) -> Layout:
        """Say where members go, each with its header, and the directory after them."""
        pieces: list[tuple[int, bytes]] = []
        members: list[tuple[bytes, int, int, bytes]] = []  # name, offset, bytes, comment
        slots, at = [], 0
        for output in outputs:
            prefix, name, note = output.origin.prefix, output.name.encode(), b""
            if output.fmt is not None:
                if output.role != "kept":
                    dtype = output.fmt.dtype if own(output.fmt) else output.fmt.code_dtype
                    prefix = header(dtype, output.shape, fortran=output.origin.fortran and output.role == "codes")
                name, note = name + b".npy", b"" if own(output.fmt) else f"{_NOTE}{output.fmt.name}".encode()
            if len(name) > _FULL16:
                raise FileError(f"{target}: the name of a member would have {len(name)} bytes, more than {_FULL16}")
            nbytes = len(prefix) + output.nbytes
            before = _local(name, nbytes, 0)
            members.append((name, at, nbytes, note))
            pieces.append((at, before + prefix))
            slots.append(Slot(0, at + len(before) + len(prefix)))
            at += len(before) + nbytes
        size = at + len(_directory(members, [0] * len(members), at))

        def seal(files: Sequence[Path]) -> None:
            sums = []
            with files[0].open("r+b", buffering=0) as stream:
                for name, offset, nbytes, _ in members:
                    sums.append(checksum(files[0], offset + len(_local(name, nbytes, 0)), nbytes))
                    stream.seek(offset)
                    stream.write(_local(name, nbytes, sums[-1]))
                stream.seek(at)
                stream.write(_directory(members, sums, at))

        return Layout([NewFile(target.name, size, tuple(pieces))], slots, seal=seal)

    def home(self, stored: Stored) -> str:
        """Names must differ within the file."""
        return ""

    def publish(self, staged: Sequence[Path], target: Path, outputs: Sequence[Output], overwrite: bool) -> None:
        """Rename the finished archive to the target."""
        (os.replace if overwrite else rename_new)(staged[0], target)


def _directory(members: Sequence[tuple[bytes, int, int, bytes]], sums: Sequence[int], start: int) -> bytes:
    lines = [
        _central(name, nbytes, crc32, offset, note)
        for (name, offset, nbytes, note), crc32 in zip(members, sums, strict=True)
    ]
    text = b"".join(lines)
    return text + _end(len(members), start, len(text))
