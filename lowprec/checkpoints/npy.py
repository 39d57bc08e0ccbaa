"""Reading and writing .npy files whose format NumPy's header cannot name.

A format that NumPy lacks is written as unsigned codes, its name in a JSON file beside them: ``x.npy`` and
``x.npy.json``, which holds ``format``, ``onnx`` and ``crc32``, the checksum of all of ``x.npy``.

No data is ever read as another format by mistake. Both files are written in full in a directory of their own beside
the target; then the sidecar is renamed into place, then the data. A sidecar is believed only if its checksum is that
of the data, so what a kill between the two leaves is refused, and so is data that another program wrote over ours. An
error, or Ctrl-C, puts the old sidecar back. What the guarantee cannot reach is a sidecar that someone removed, or one
without ``crc32``, which is taken at its word: such a file may be written by hand.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..arrays.libraries import format_of
from ..spec.formats import NUMERIC, Format, as_format
from .npy_header import BROKEN_ZIP, ZIP_MAGICS, Elements, FileError, find_elements, reason
from .renaming import identity, rename_new

__all__ = [
    "FileError",
    "check_target",
    "is_archive",
    "locate",
    "members",
    "publish",
    "read",
    "sidecar",
    "sync",
    "write",
]


def sidecar(path: Path) -> Path:
    """Return the JSON file beside an .npy file that names the format of its codes."""
    return path.with_name(path.name + ".json")


def _checksum(path: Path) -> str:
    return f"{zlib.crc32(np.memmap(path, np.uint8, 'r')):08x}"


def _named_in(beside: Path) -> tuple[Format, object]:
    """Return the format and the checksum in a sidecar."""
    try:
        fields = json.loads(beside.read_text(encoding="utf-8"))
        fmt = as_format(fields["format"]) if isinstance(fields, dict) else None
    except (OSError, ValueError, KeyError, RecursionError):
        fmt = None
    if fmt not in NUMERIC:
        raise FileError(f"{beside}: must be JSON whose `format` is a number format; mend it, or move it away")
    return fmt, fields.get("crc32")


def _sidecar_format(path: Path) -> tuple[Path, Format] | None:
    """Return the sidecar of a file and the format it names, or None where there is none."""
    # A link may have the sidecar beside it (caches of downloads do that) or beside the file it leads to.
    beside = next((name for name in (sidecar(path), sidecar(path.resolve())) if os.path.lexists(name)), None)
    if beside is None:
        return None
    fmt, crc32 = _named_in(beside)
    if crc32 not in (None, _checksum(path)):
        raise FileError(f"{beside}: was written for other data than {path.name} holds; say --from, or move it away")
    return beside, fmt


def _format(path: Path, dtype: np.dtype[Any], is_open: bool, source: Format | None) -> Format:
    who = "--from"
    if source is None:
        found = _sidecar_format(path)
        if found is not None:
            who, source = str(found[0]), found[1]
    if source is None and is_open:
        raise FileError(f"{path}: its header does not name the format of its {dtype} codes; say it with --from")
    try:
        return format_of(dtype, source, (str(path), who))
    except ValueError as error:
        raise FileError(str(error)) from None


def locate(path: Path, source: Format | None = None) -> tuple[Elements, Format]:
    """Return where the elements of an .npy file lie, and their format.

    The format is `source`, else what the sidecar names, else the header's. ``V1`` headers, as NumPy writes most
    dtypes of ml_dtypes, are codes whose format one of the first two must name. Where there is a checksum, the file is
    read once for it.
    """
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise ValueError("it is not a regular file")
        with path.open("rb") as stream:
            found = find_elements(stream, os.fstat(stream.fileno()).st_size)
        np.broadcast_to(np.uint8(0), found.shape)  # a shape that no array can have
    except TypeError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise FileError(f"{path}: must be a readable .npy file; {error}") from None
    return found, _format(path, found.dtype, found.is_open, source)


def read(path: Path, source: Format | None = None) -> tuple[np.ndarray[Any, Any], Format]:
    """Map an .npy file into memory and return its codes or values with their format, as `locate` finds them."""
    found, fmt = locate(path, source)
    try:
        # NumPy cannot map nothing.
        codes = np.memmap(path, np.uint8, "r", found.offset, found.nbytes) if found.nbytes else np.empty(0, np.uint8)
        return found.view(np.asarray(codes)), fmt
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise FileError(f"{path}: must be a readable .npy file; {error}") from None


def is_archive(path: Path) -> bool:
    """Return whether a file is a .npz archive, by its content."""
    try:
        with path.open("rb") if path.is_file() else open(os.devnull, "rb") as stream:
            return stream.read(4) in ZIP_MAGICS
    except OSError:
        return False  # read() will say why


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[np.ndarray[Any, Any], bool]:
    with archive.open(info) as stream:
        found = find_elements(stream, info.file_size)
        codes = np.frombuffer(stream.read(), np.uint8)  # to the end, where zip's own checksum is looked at
    if codes.size != found.nbytes:
        raise ValueError(f"its header asks for {found.nbytes} bytes of elements, it has {codes.size}")
    return found.view(codes), found.is_open


Member = tuple[str, np.ndarray[Any, Any] | None, Format | str]


def members(path: Path, source: Format | None = None) -> Iterator[Member]:
    """Read the arrays of an .npz archive, one at a time, as name, array and format.

    `source` is the format of the members whose header leaves it open. For what cannot be read, or is not of numbers,
    the array is None and the reason stands in place of the format.
    """
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN_ZIP as error:
        raise FileError(f"{path}: must be a readable .npz archive; {reason(error)}") from None
    with archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            try:
                array, is_open = _read_member(archive, info)
                if is_open and source is None:
                    raise ValueError(f"its header does not name the format of its {array.dtype} codes; use --from")
                found: Member = name, array, format_of(array.dtype, source if is_open else None)
            except (*BROKEN_ZIP, TypeError) as error:
                found = name, None, reason(error)
            yield found


def check_target(source: Path, target: Path, overwrite: bool) -> None:
    """Raise FileError unless `target` and its sidecar may be written: nothing is lost that was not asked for."""
    real = target.resolve()  # through a link: what it leads to is written, the link stays
    for path in (real, sidecar(real)):
        if path.exists() and source.exists() and path.samefile(source):
            raise FileError(f"{target}: must not be the input itself")
    if target.suffix != ".npy" or not real.parent.is_dir():
        raise FileError(f"{target}: must be an .npy file in an existing directory")
    if real.exists() and not real.is_file():
        raise FileError(f"{target}: must be a regular file")
    for path in (real, sidecar(real)):
        if path.exists() and not overwrite:
            raise FileError(f"{target if path == real else path}: exists; say --overwrite to replace it")
    if sidecar(real).exists():
        _named_in(sidecar(real))  # somebody else's JSON is not ours to replace


class _Summed:
    """A file to write to that keeps the checksum of what was written."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream
        self.crc32 = 0

    def write(self, chunk: bytes, /) -> int:
        self.crc32 = zlib.crc32(chunk, self.crc32)
        return self.stream.write(chunk)


def sync(stream: IO[bytes]) -> None:
    """Have a file's contents on the disk."""
    stream.flush()
    os.fsync(stream.fileno())


def _write_note(note: Path, fmt: Format, crc32: int) -> tuple[int, int] | None:
    """Write a sidecar, and return what tells it from those of other processes."""
    with note.open("wb") as stream:
        fields = {"format": fmt.name, "onnx": fmt.onnx_name, "crc32": f"{crc32:08x}"}
        stream.write(json.dumps(fields).encode() + b"\n")
        sync(stream)
    return identity(note)


def publish(data: Path, path: Path, fmt: Format, crc32: int, *, keep_note: bool, overwrite: bool = True) -> None:
    """Rename a file in a directory of its own into place, with its sidecar, in the order that the module explains.

    `fmt` and `crc32`, the checksum of the file, are for the sidecar. Without `keep_note` there is none afterwards.
    Raises FileExistsError, and changes nothing, where without `overwrite` one of the two is there.
    """
    note, beside, before = data.with_name("note"), sidecar(path), data.with_name("before")
    own_note, own_data = _write_note(note, fmt, crc32), identity(data)
    existed = overwrite and beside.exists()
    if existed:
        shutil.copy2(beside, before)
    if overwrite and path.exists():
        data.chmod(stat.S_IMODE(path.stat().st_mode))
    rename = os.replace if overwrite else rename_new
    try:
        if keep_note or existed:
            rename(note, beside)
        rename(data, path)
        if not (overwrite or keep_note) and os.path.lexists(beside):  # another process will now rename its data
            if identity(path) == own_data:
                path.unlink()
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(beside))
    except BaseException:
        # If the data are in place, Ctrl-C came after the second rename, and the pair is whole.
        if identity(path) != own_data and identity(beside) == own_note:
            if existed:
                os.replace(before, beside)
            else:
                beside.unlink()
        raise
    # Whoever renames data last puts the sidecar right.
    while identity(path) == own_data and identity(beside) != (own_note if keep_note else None):
        if keep_note:
            own_note = _write_note(note, fmt, crc32)
            os.replace(note, beside)
        else:
            _remove_note(beside, data.with_name("stale"), path, own_data)


def _remove_note(beside: Path, stale: Path, path: Path, own_data: tuple[int, int] | None) -> None:
    """Take a sidecar away from data that need none, unless by now it may be that of another process's data."""
    with contextlib.suppress(FileNotFoundError):
        os.replace(beside, stale)
        if identity(path) != own_data:
            with contextlib.suppress(FileExistsError):
                rename_new(stale, beside)


def write(path: Path, array: np.ndarray[Any, Any], fmt: Format, *, overwrite: bool = True) -> None:
    """Write an array so that NumPy can load it and the format's name is kept; replace what is there, or refuse to.

    A dtype of NumPy's own is written as it is, and a sidecar left by an earlier file removed; other formats are
    written as unsigned codes with a sidecar. The module's text says what a failure leaves.
    """
    real = path.resolve()
    try:
        # A directory of its own: one call removes what is left, and files in it get the usual permissions.
        with tempfile.TemporaryDirectory(prefix=".lowprec-", dir=real.parent) as scratch:
            data = Path(scratch, "data")
            with data.open("wb") as stream:
                summed = _Summed(stream)
                np.save(summed, array, allow_pickle=False)
                sync(stream)
            publish(data, real, fmt, summed.crc32, keep_note=as_format(array.dtype) is not fmt, overwrite=overwrite)
    except FileExistsError as error:
        raise FileError(f"{error.filename2 or error.filename}: was written by another process meanwhile") from None
    except OSError as error:
        raise FileError(f"{path}: cannot be written; {reason(error)}") from None
