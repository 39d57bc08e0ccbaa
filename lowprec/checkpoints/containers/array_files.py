"""Arrays of .npy and .npz files as a whole: read with their formats, written so that NumPy can load them."""

from __future__ import annotations

import itertools
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays.libraries import array_kind, namespace
from ...arrays.storage_dtypes import format_of
from ...spec.formats import Format, as_format
from ...spec.old_names import renamed
from ...spec.scalar_arguments import as_path, shown
from ..files.atomic_output import Staging, rename_file
from ..files.errors import BROKEN_ZIP, FileError, reason
from .container import InMemory, OutputTensor, StoredTensor
from .no_checkpoint import check_members
from .npy_file import NpyFile, arrange_npy, find_array
from .npy_header import ZIP_MAGICS, find_elements
from .npz_archive import arrange_archive, check_size, member_format

__all__ = ["is_archive", "read_array", "read_members", "read_npy", "write_array"]

Array = np.ndarray[Any, Any]


def read_npy(path: Path, source: Format | None = None) -> tuple[Array, Format]:
    """Map an .npy file into memory; return its codes or values, and their format.

    `source` is the format of codes that the file does not name.
    """
    elements, fmt = find_array(path, source)
    try:
        # NumPy cannot map nothing.
        nbytes = elements.nbytes
        codes = np.memmap(path, np.uint8, "r", elements.offset, nbytes) if nbytes else np.empty(0, np.uint8)
        return elements.view(np.asarray(codes)), fmt
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise FileError(f"{path}: must be a readable .npy file; {error}") from None


def read_array(path: str | os.PathLike[str], source: object = None) -> tuple[Array, Format]:
    """Read an .npy file, mapped into memory, or the one array of an .npz archive.

    Parameters
    ----------
    path : path
        The file; its content decides which of the two it is.
    source : str, int, dtype or Format, optional
        The format of codes that the file does not name.

    Returns
    -------
    array : numpy.ndarray
        Codes, or values in a dtype of NumPy's or ml_dtypes' own. Every bit is that of the file.
    fmt : Format
        Their format.

    Raises
    ------
    FileError
        If the file cannot be read, does not name the format of its codes, or is an archive of several arrays.
    TypeError, ValueError
        If `path` is no path, or `source` no format.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import lowprec as lp
    >>> from lowprec.checkpoints import read_array, write_array
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_array(f"{folder}/x.npz", np.array([0x38, 0xFF], np.uint8), "float8_e4m3fn")
    ...     codes, fmt = read_array(f"{folder}/x.npz")
    >>> fmt.name, lp.decode(codes, fmt).tolist()
    ('float8_e4m3fn', [1.0, nan])
    """
    path, held = as_path(path, "path"), None if source is None else as_format(source, parameter="source")
    if not is_archive(path):
        return read_npy(path, held)
    arrays = list(itertools.islice(read_members(path, held), 2))
    if len(arrays) != 1:
        raise FileError(f"{path}: must hold one array; it holds {'more' if arrays else 'none'}")
    name, array, fmt = arrays[0]
    if array is None or not isinstance(fmt, Format):
        raise FileError(f"{path}: its array {ascii(name)[:80]} cannot be read; {fmt}")
    return array, fmt


def is_archive(path: Path) -> bool:
    """Return whether a file is an .npz archive, by its content."""
    try:
        with path.open("rb") if path.is_file() else open(os.devnull, "rb") as stream:
            return stream.read(4) in ZIP_MAGICS
    except OSError:
        return False  # read_array() will say why


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: Format | None) -> tuple[Array, Format]:
    with archive.open(info) as stream:
        elements = find_elements(stream, info.file_size)
        fmt = member_format(info, elements, source)
        codes = np.frombuffer(stream.read(), np.uint8)  # to the end, where zip's own checksum is compared
    if codes.size != elements.nbytes:
        raise ValueError(f"its header asks for {elements.nbytes} bytes of elements, it has {codes.size}")
    return elements.view(codes), fmt


def read_members(path: Path, source: Format | None = None) -> Iterator[tuple[str, Array | None, Format | str]]:
    """Read the arrays of an .npz archive, one at a time, as name, array and format.

    `source` is the format of codes that neither header nor comment names. Where a member cannot be read, or holds no
    numbers, the array is None and the reason takes the place of the format.
    """
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN_ZIP as error:
        raise FileError(f"{path}: must be a readable .npz archive; {reason(error)}") from None
    with archive:
        check_members(path, archive.namelist())
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            try:
                check_size(path, info)
                member: tuple[str, Array | None, Format | str] = (name, *_read_member(archive, info, source))
            except FileError:
                raise
            except (*BROKEN_ZIP, TypeError) as error:
                member = name, None, reason(error)
            yield member


@renamed(fmt="to")
def write_array(path: str | os.PathLike[str], array: Array, to: object, *, overwrite: bool = True) -> None:
    """Write one array to an .npy or .npz file, atomically.

    Parameters
    ----------
    path : path
        Links are followed. An .npy file takes formats that NumPy has a dtype for, and codes of those that ONNX lacks,
        which it does not name; an .npz archive takes every format, as unsigned codes where NumPy has none, with the
        name or the description in the comment of the member.
    array : numpy.ndarray
        Values in the format's dtype, or codes.
    to : str, int, dtype or Format
        Its format.
    overwrite : bool
        Replace an existing file.

    Raises
    ------
    FileError
        If the file cannot be written, or is an .npy file that cannot hold the format.
    TypeError, ValueError
        If `path` is no path or ends otherwise, `to` is no format, or `array` no NumPy array of its codes or values.

    Examples
    --------
    >>> import tempfile
    >>> import lowprec as lp
    >>> codes = lp.encode(np.array([0.5, -2.0]), "float6_e2m3fn")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_array(f"{folder}/x.npz", codes, "float6_e2m3fn")
    ...     [entry] = lp.checkpoints.inspect(f"{folder}/x.npz")
    >>> entry.format, entry.shape
    ('float6_e2m3fn', (2,))
    """
    path, fmt = as_path(path, "path"), as_format(to, parameter="to")
    if path.suffix not in NpyFile.suffixes:
        raise ValueError(f"`path` must end in {' or '.join(NpyFile.suffixes)}; got {shown(str(path))}")
    if namespace(array, "array") is not np:
        raise TypeError(f"`array` must be a NumPy array; got {array_kind(namespace(array, 'array'))}: use `save`")
    format_of(array.dtype, fmt, ("array", "to"))
    real = Path(os.path.realpath(path))
    content = np.asarray(array, array.dtype.newbyteorder("="), order="C")
    content = content.reshape(-1).view(np.uint8)
    origin = StoredTensor(path.stem, array.shape, fmt, fmt.name, InMemory(b""))
    output = OutputTensor(path.stem, array.shape, fmt, content.nbytes, origin, "codes")
    files = (arrange_archive if path.suffix == ".npz" else arrange_npy)([output], real)
    with Staging(files, real, overwrite, path) as staging:
        staging.write(files.slots[0], content)
        staging.seal()
        staging.publish(rename_file)


read, write, members = read_array, write_array, read_members
"""The names that they had in `lowprec.checkpoints.npy`."""
