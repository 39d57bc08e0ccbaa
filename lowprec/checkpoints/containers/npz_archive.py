"""Archives of arrays, .npz: read through zipfile, written uncompressed at offsets known beforehand.

NumPy loads what is written. A format that it lacks is uint8 or uint16 codes, and the comment of the archive's member
names the format; it describes, as JSON, one that ONNX lacks.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from ...arrays.storage_dtypes import format_of
from ...spec.custom_formats import description_of, format_described_by
from ...spec.formats import FORMATS, NUMERIC, Format, as_format, is_onnx_row
from ..files.atomic_output import OutputFile, OutputFiles, Slot, rename_file
from ..files.errors import BROKEN_ZIP, FileError, reason
from ..memory_limit import DEFAULT, Limits
from .container import ArchiveMember, OutputTensor, StoredTensor, check_distinct
from .json_scanner import decode
from .no_checkpoint import check_members
from .npy_header import Elements, find_elements, header

__all__ = ["NpzArchive", "arrange_archive", "check_size", "member_format", "numpy_has"]

_COMMENT = "format="
_MOST_OF_A_BYTE = {
    zipfile.ZIP_STORED: 1,
    zipfile.ZIP_DEFLATED: 1032,
    zipfile.ZIP_LZMA: 1 << 14,
    zipfile.ZIP_BZIP2: 1 << 21,
}
"""How many bytes one packed byte can become, or more: a member that claims to be larger ends early."""

_LARGEST_DICTIONARY = 1 << 26
"""Bytes that liblzma may allocate for a member, as `xz -9` asks for: a few bytes of a file can ask for 4 GiB."""

_LONGEST_NAME = 0xFFFF
_BUFFER = 1 << 20
_HEADER = 30 + 20
"""Bytes before a member, its name apart: the fixed fields, and its sizes in 64 bits."""


def numpy_has(fmt: Format) -> bool:
    """Whether NumPy itself, without ml_dtypes, has a dtype for the format."""
    return fmt.dtype.isbuiltin == 1 and as_format(fmt.dtype) is fmt


def _comment_of(fmt: Format) -> bytes:
    """Return the comment that says of which format the codes of a member are."""
    text = fmt.name if is_onnx_row(fmt) else json.dumps(description_of(fmt), separators=(",", ":"))
    return f"{_COMMENT}{text}".encode()


def _named_by(comment: bytes) -> Format | None:
    """Return the format that a comment names or describes, None where it says nothing; else ValueError."""
    text = comment.decode("utf-8", "replace")
    if not text.startswith(_COMMENT):
        return None
    text = text.removeprefix(_COMMENT)
    if text.startswith("{"):
        try:
            return format_described_by(decode(text.encode()))
        except ValueError as error:
            raise ValueError(f"its comment describes no format; {str(error)[:160]}") from None
    named = FORMATS.get(text)
    return named if named in NUMERIC else None


def member_format(info: zipfile.ZipInfo, elements: Elements, source: Format | None) -> Format:
    """Return the format of a member: what its comment names, else its header, else `source`; else ValueError."""
    named = _named_by(info.comment)
    if elements.is_open and named is None and source is None:
        raise ValueError(f"its header does not name the format of its {elements.dtype} codes; say it with `source`")
    return format_of(elements.dtype, named or (source if elements.is_open else None))


def _read_member(path: Path, index: int, archive: zipfile.ZipFile, source: Format | None) -> StoredTensor:
    """Describe a member; one that is no array of numbers can be copied."""
    info = archive.infolist()[index]
    name = info.filename.removesuffix(".npy")
    try:
        with archive.open(info) as stream:
            elements = find_elements(stream, info.file_size)
            stream.seek(0)
            prefix = stream.read(elements.offset)
        fmt = member_format(info, elements, source)
        if name == info.filename:
            raise ValueError("its name does not end in .npy")
    except (ValueError, TypeError) as error:
        whole = ArchiveMember(path, index, 0, info.file_size)
        return StoredTensor(info.filename, (info.file_size,), None, "bytes", whole, fixed=str(error))
    return StoredTensor(
        name, elements.shape, fmt, elements.dtype.str, ArchiveMember(path, index, elements.offset, elements.nbytes),
        swapped=not elements.dtype.isnative, fortran=elements.fortran, prefix=prefix,
    )  # fmt: skip


def _dictionary_bytes(path: Path, info: zipfile.ZipInfo) -> int:
    """Return how much memory liblzma allocates to unpack a member: what the last four bytes before its content say."""
    with path.open("rb") as stream:
        stream.seek(info.header_offset + 26)
        names = stream.read(4)
        stream.seek(int.from_bytes(names[:2], "little") + int.from_bytes(names[2:], "little"), io.SEEK_CUR)
        return int.from_bytes(stream.read(9)[5:], "little")


def check_size(path: Path, info: zipfile.ZipInfo) -> None:
    """Raise ValueError where a member claims what its archive cannot hold, or asks for much: it would be allocated."""
    size = path.stat().st_size
    title = f"member {ascii(info.filename)[:80]}"
    if info.compress_size > size:
        raise ValueError(f"{title} ends {info.compress_size - size} bytes past the end of the file or more")
    if info.file_size > info.compress_size * _MOST_OF_A_BYTE.get(info.compress_type, 1):
        raise ValueError(
            f"{title} has {info.compress_size} bytes, which cannot become the {info.file_size} that it claims"
        )
    if info.compress_type == zipfile.ZIP_LZMA:
        asked = _dictionary_bytes(path, info)
        if asked > _LARGEST_DICTIONARY:
            raise ValueError(f"{title} asks for an LZMA dictionary of {asked} bytes, more than {_LARGEST_DICTIONARY}")


class NpzArchive:
    """An .npz archive."""

    suffixes: tuple[str, ...] = (".npz",)
    packs = False
    codes_suffix = ""
    names_formats = False
    part = ""
    remarks: Sequence[str] = ()
    publish = staticmethod(rename_file)

    def __init__(self, path: Path, source: Format | None, limits: Limits = DEFAULT) -> None:
        """Read the directory and every header; `source` is the format of codes whose header does not name it."""
        self.path = path
        try:
            with zipfile.ZipFile(path) as archive:
                infos = archive.infolist()
                limits.check_tensors(len(infos))
                check_members(path, (info.filename for info in infos))
                for info in infos:
                    if info.flag_bits & 1:
                        raise ValueError(f"member {ascii(info.filename)[:80]} is encrypted")
                    check_size(path, info)
                self.tensors = [_read_member(path, index, archive, source) for index in range(len(infos))]
                check_distinct(self.tensors)
        except FileError:
            raise
        except BROKEN_ZIP as error:
            raise FileError(f"{path}: must be a readable .npz archive; {reason(error)}") from None

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return an archive with a member for each tensor."""
        return arrange_archive(outputs, target)

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the file."""
        return ""


def _member(output: OutputTensor) -> tuple[zipfile.ZipInfo, bytes]:
    """Return the directory entry of an output, and the bytes before its elements."""
    # Without a time of its own: the same input gives the same bytes on every day.
    info, prefix = zipfile.ZipInfo(), output.origin.prefix
    info.filename = output.name
    if output.fmt is not None:
        own = numpy_has(output.fmt)
        if output.role != "kept":
            dtype = output.fmt.dtype if own else output.fmt.code_dtype
            prefix = header(dtype, output.shape, fortran=output.origin.fortran and output.role == "codes")
        info.filename += ".npy"
        info.comment = b"" if own else _comment_of(output.fmt)
    info.file_size = len(prefix) + output.nbytes
    return info, prefix


def arrange_archive(outputs: Sequence[OutputTensor], target: Path) -> OutputFiles:
    """Return an archive with a member for each tensor, each at its final offset; zipfile adds its records at the end.

    The members are written by several workers in any order, which zipfile cannot do: it writes the records around them
    once they are in the file.
    """
    members, slots, at = [], [], 0
    pieces: list[tuple[int, bytes]] = []
    taken: set[str] = set()
    for output in outputs:
        info, prefix = _member(output)
        if info.filename in taken:  # of what is no array the whole name is that of the tensor
            raise FileError(f"{target}: would have two members of the name {ascii(info.filename)[:80]}")
        taken.add(info.filename)
        length = len(info.filename.encode())
        if length > _LONGEST_NAME:
            raise FileError(f"{target}: the name of a member would have {length} bytes, more than {_LONGEST_NAME}")
        start = at + _HEADER + length
        members.append((info, start))
        pieces.append((start, prefix))
        slots.append(Slot(0, start + len(prefix)))
        at = start + info.file_size
    return OutputFiles(
        [OutputFile(target.name, at, tuple(pieces))], slots, seal=lambda paths: _write_records(paths[0], members)
    )


class _Records(io.RawIOBase):
    """A file that is written to everywhere but in the content of members, which is there already."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream, self.skips = stream, False

    def write(self, content: bytes, /) -> int:  # type: ignore[override]
        if self.skips:
            self._stream.seek(len(content), io.SEEK_CUR)
            return len(content)
        view = memoryview(content)
        while view.nbytes:  # a disk that is almost full takes a part
            view = view[self._stream.write(view) :]
        return len(content)

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        return self._stream.tell()


def _write_records(path: Path, members: Sequence[tuple[zipfile.ZipInfo, int]]) -> None:
    """Write the header of each member, with the checksum of the content that is in the file, and the directory."""
    buffer = np.empty(_BUFFER, np.uint8)
    with path.open("rb", buffering=0) as content, path.open("r+b", buffering=0) as stream:
        records = _Records(stream)
        with zipfile.ZipFile(records, "w") as archive:
            for info, start in members:
                left = info.file_size
                with archive.open(info, "w", force_zip64=True) as member:
                    if records.tell() != start:
                        raise RuntimeError(f"zipfile puts a member at {records.tell()}, not at {start}")
                    content.seek(start)
                    records.skips = True
                    while left:
                        n = content.readinto(memoryview(buffer)[: min(left, buffer.size)])
                        if not n:
                            raise FileError(f"{path}: ended early")
                        member.write(buffer[:n])
                        left -= n
                    records.skips = False
