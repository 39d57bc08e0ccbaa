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

import ast
import contextlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from .arrays import format_of
from .formats import NUMERIC, Format, as_format

__all__ = ["FileError", "check_target", "is_archive", "members", "read", "sidecar", "write"]

_MAGIC = b"\x93NUMPY"
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_LONGEST_HEADER = 10_000
"""As NumPy has it: `ast.literal_eval` of a stranger's megabytes may crash the interpreter."""


class FileError(Exception):
    """A file that cannot be read or written; the message is one line that names it."""


def sidecar(path: Path) -> Path:
    """Return the JSON file beside an .npy file that names the format of its codes."""
    return path.with_name(path.name + ".json")


@dataclass(frozen=True, slots=True)
class _Header:
    descr: object
    fortran: bool
    shape: tuple[int, ...]


def _parse(text: str) -> _Header:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "invalid escape sequence" and the like
            # Python 2 wrote lengths such as 3L.
            fields = ast.literal_eval(re.sub(r"(?<=\d)L(?=[,)])", "", text).strip())
    except (SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
        fields = None
    if not isinstance(fields, dict) or fields.keys() != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header is not that of an array")
    shape = fields["shape"]
    if not isinstance(shape, tuple) or any(type(length) is not int or length < 0 for length in shape):
        raise ValueError("its shape must be lengths")
    return _Header(fields["descr"], fields["fortran_order"] is True, shape)


def _read_header(stream: IO[bytes]) -> _Header:
    """Read the header, and leave the stream where the elements start."""
    start = stream.read(8)
    if start.startswith(_ZIP_MAGICS):
        raise ValueError("it is a .npz archive")
    if len(start) < 8 or not start.startswith(_MAGIC) or start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise ValueError("it does not start as one")
    field = stream.read(2 if start[6] == 1 else 4)
    length = int.from_bytes(field, "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes, more than {_LONGEST_HEADER}")
    text = stream.read(length)
    if len(text) < length or not text:
        raise ValueError("it ends within its header")
    return _parse(text.decode("utf-8" if start[6] == 3 else "latin-1", "replace"))


def _carrier(descr: object) -> tuple[np.dtype[Any], bool]:
    """Return the dtype of the elements, and whether the header leaves open which format they are.

    NumPy writes the dtypes of ml_dtypes as ``<V1``, ``<V2`` and ``<f1``, and cannot read the last. Where one format
    alone is written so, the header names it.
    """
    text = descr if isinstance(descr, str) else ""
    written = [row.dtype for row in NUMERIC if row.dtype.str == text]
    if len(written) == 1:
        return written[0], False
    void = re.fullmatch(r"([<>|]?)V([12])", text)
    if void:
        return np.dtype(f"{void[1].replace('|', '')}u{void[2]}"), True
    with contextlib.suppress(TypeError, ValueError, SyntaxError):
        dtype = np.dtype(text or object)
        format_of(dtype)
        return dtype, False
    raise TypeError(f"its elements must be bools, integers or real floats; got {repr(descr)[:60]}")


def _view(codes: np.ndarray[Any, Any], header: _Header, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return codes.view(dtype).reshape(header.shape, order="F" if header.fortran else "C")


def _check_size(header: _Header, dtype: np.dtype[Any], there: int) -> None:
    wanted = math.prod(header.shape) * dtype.itemsize
    if wanted != there:
        raise ValueError(f"its header asks for {wanted} bytes of elements, it has {there}")


def _reason(error: BaseException) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


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


def read(path: Path, source: Format | None = None) -> tuple[np.ndarray[Any, Any], Format]:
    """Map an .npy file into memory and return its codes or values with their format.

    The format is `source`, else what the sidecar names, else the header's. ``V1`` headers, as NumPy writes most
    dtypes of ml_dtypes, are codes whose format one of the first two must name. Where there is a checksum, the file is
    read once for it.
    """
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise ValueError("it is not a regular file")
        with path.open("rb") as stream:
            header = _read_header(stream)
            dtype, is_open = _carrier(header.descr)
            start, end = stream.tell(), os.fstat(stream.fileno()).st_size
            _check_size(header, dtype, end - start)
            # NumPy cannot map nothing.
            codes = np.memmap(stream, np.uint8, "r", start, (end - start,)) if end > start else np.empty(0, np.uint8)
        array = _view(np.asarray(codes), header, dtype)
    except TypeError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: {_reason(error)}") from None
    except ValueError as error:
        raise FileError(f"{path}: must be a readable .npy file; {error}") from None
    return array, _format(path, dtype, is_open, source)


def is_archive(path: Path) -> bool:
    """Return whether a file is a .npz archive, by its content."""
    try:
        with path.open("rb") if path.is_file() else open(os.devnull, "rb") as stream:
            return stream.read(4) in _ZIP_MAGICS
    except OSError:
        return False  # read() will say why


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[np.ndarray[Any, Any], bool]:
    with archive.open(info) as stream:
        header = _read_header(stream)
        dtype, is_open = _carrier(header.descr)
        _check_size(header, dtype, info.file_size - stream.tell())
        codes = np.frombuffer(stream.read(), np.uint8)  # to the end, where zip's own checksum is looked at
    _check_size(header, dtype, codes.size)
    return _view(codes, header, dtype), is_open


Member = tuple[str, np.ndarray[Any, Any] | None, Format | str]


def members(path: Path, source: Format | None = None) -> Iterator[Member]:
    """Read the arrays of an .npz archive, one at a time, as name, array and format.

    `source` is the format of the members whose header leaves it open. For what cannot be read, or is not of numbers,
    the array is None and the reason stands in place of the format.
    """
    broken = (OSError, ValueError, TypeError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
    try:
        archive = zipfile.ZipFile(path)
    except broken as error:
        raise FileError(f"{path}: must be a readable .npz archive; {_reason(error)}") from None
    with archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            try:
                array, is_open = _read_member(archive, info)
                if is_open and source is None:
                    raise ValueError(f"its header does not name the format of its {array.dtype} codes; use --from")
                found: Member = name, array, format_of(array.dtype, source if is_open else None)
            except broken as error:
                found = name, None, _reason(error)
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


def _sync(stream: IO[bytes]) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _publish(data: Path, note: Path, path: Path, *, keep_note: bool) -> None:
    """Rename the files into place, in the order that the module's text explains."""
    beside, before = sidecar(path), data.with_name("before")
    existed = beside.exists()
    if existed:
        shutil.copy2(beside, before)
    if path.exists():
        data.chmod(stat.S_IMODE(path.stat().st_mode))
    try:
        if keep_note or existed:
            os.replace(note, beside)
        os.replace(data, path)
    except BaseException:
        if data.exists():  # else Ctrl-C came after the second rename, and the pair is whole
            if existed:
                os.replace(before, beside)
            else:
                beside.unlink(missing_ok=True)
        raise
    if not keep_note:
        beside.unlink(missing_ok=True)


def write(path: Path, array: np.ndarray[Any, Any], fmt: Format) -> None:
    """Write an array so that NumPy can load it and the format's name is kept; replace what is there.

    A dtype of NumPy's own is written as it is, and a sidecar left by an earlier file removed; other formats are
    written as unsigned codes with a sidecar. The module's text says what a failure leaves.
    """
    real = path.resolve()
    try:
        # A directory of its own: one call removes what is left, and files in it get the usual permissions.
        with tempfile.TemporaryDirectory(prefix=".lowprec-", dir=real.parent) as scratch:
            data, note = Path(scratch, "data"), Path(scratch, "note")
            with data.open("wb") as stream:
                summed = _Summed(stream)
                np.save(summed, array, allow_pickle=False)
                _sync(stream)
            fields = {"format": fmt.name, "onnx": fmt.onnx_name, "crc32": f"{summed.crc32:08x}"}
            with note.open("wb") as stream:
                stream.write(json.dumps(fields).encode() + b"\n")
                _sync(stream)
            _publish(data, note, real, keep_note=as_format(array.dtype) is not fmt)
    except OSError as error:
        raise FileError(f"{path}: cannot be written; {_reason(error)}") from None
