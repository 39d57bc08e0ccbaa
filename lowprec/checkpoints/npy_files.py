"""Single arrays in .npy files; formats that NumPy lacks are codes, named in a JSON file beside them."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..spec.formats import Format, as_format
from . import npy
from .layout import Layout, NewFile, Output, Slot
from .npy_header import FileError, header
from .stored import Region, Stored

__all__ = ["NpyFile", "checksum", "own"]


def own(fmt: Format) -> bool:
    """Whether NumPy itself, without ml_dtypes, has a dtype for the format."""
    return fmt.dtype.isbuiltin == 1 and as_format(fmt.dtype) is fmt


def checksum(path: Path, start: int, nbytes: int, crc32: int = 0) -> int:
    """Return the CRC-32 of a stretch of a file, read through a small buffer."""
    buffer = np.empty(min(nbytes, 1 << 20), np.uint8)
    with path.open("rb", buffering=0) as stream:
        stream.seek(start)
        while nbytes:
            n = stream.readinto(memoryview(buffer)[: min(nbytes, buffer.size)])
            if not n:
                raise FileError(f"{path}: ended early")
            crc32 = zlib.crc32(buffer[:n], crc32)
            nbytes -= n
    return crc32


class NpyFile:
    """An .npy file."""

    suffix = ".npy"
    packs = False
    renamed = ""
    names_formats = False

    def __init__(self, path: Path, source: Format | None) -> None:
        """Read the header; `source` is the format of the codes where neither header nor sidecar says it."""
        self.path = path
        found, fmt = npy.locate(path, source)
        with path.open("rb") as stream:
            prefix = stream.read(found.offset)
        place = Region(path, found.offset, found.nbytes)
        swapped = not found.dtype.isnative
        self.tensors = [
            Stored(path.name, found.shape, fmt, found.dtype.str, place, False, swapped, found.fortran, prefix)
        ]

    def arrange(self, outputs: Sequence[Output], target: Path, overwrite: bool = False) -> Layout:
        """Say where the array goes; one file has no room for scales."""
        if len(outputs) > 1:
            raise FileError(f"{self.path}: an .npy file holds one array, and scales are another; save it in an .npz")
        output = outputs[0]
        prefix = output.origin.prefix
        if output.role != "kept" and output.fmt is not None:
            dtype = output.fmt.dtype if own(output.fmt) else output.fmt.code_dtype
            prefix = header(dtype, output.shape, fortran=output.origin.fortran)
        return Layout([NewFile(target.name, len(prefix) + output.nbytes, ((0, prefix),))], [Slot(0, len(prefix))])

    def home(self, stored: Stored) -> str:
        """Names must differ within the file."""
        return ""

    def publish(self, staged: Sequence[Path], target: Path, outputs: Sequence[Output], overwrite: bool) -> None:
        """Rename the finished file to the target, with the sidecar that names its format."""
        fmt = outputs[0].fmt
        if fmt is None:  # every .npy that could be read has one
            raise FileError(f"{target}: has no format")
        crc32 = checksum(staged[0], 0, staged[0].stat().st_size)
        npy.publish(staged[0], target, fmt, crc32, keep_note=not own(fmt), overwrite=overwrite)
