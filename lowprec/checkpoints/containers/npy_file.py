"""Single arrays in .npy files, whose header names NumPy's own dtypes alone; others are written as .npz."""

from __future__ import annotations

import dataclasses
import json
import os
import warnings
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays.storage_dtypes import format_of
from ...spec.formats import NUMERIC, Format, as_format, is_onnx_row
from ..files.atomic_output import OutputFile, OutputFiles, Slot, rename_file
from ..files.errors import FileError, reason
from .container import FileRegion, OutputTensor, StoredTensor
from .npy_header import Elements, find_elements, header
from .npz_archive import arrange_archive, numpy_has

__all__ = ["NpyFile", "arrange_npy", "check_npy", "find_array", "sidecar"]

CHECKPOINTS = (".safetensors", ".gguf", ".onnx")
"""What names of files that are no arrays, and are read, end with."""


def sidecar(path: Path) -> Path:
    """Return the JSON file that named the format of an .npy file's codes in earlier versions; it is read only."""
    return path.with_name(path.name + ".json")


def _sidecar_format(path: Path) -> tuple[str, Format] | None:
    """Return the sidecar of a file and the format it names, or None where there is none."""
    # A link may have the sidecar next to it (caches of downloads do that) or next to the file it leads to.
    name = next((one for one in (sidecar(path), sidecar(path.resolve())) if os.path.lexists(one)), None)
    if name is None:
        return None
    try:
        fields = json.loads(name.read_text(encoding="utf-8"))
        fmt = as_format(fields["format"]) if isinstance(fields, dict) else None
    except (OSError, ValueError, KeyError, RecursionError):
        fmt = None
    if fmt not in NUMERIC:
        raise FileError(f"{name}: must be JSON whose `format` is a number format; correct it, or move it away")
    if fields.get("crc32") not in (None, f"{zlib.crc32(np.memmap(path, np.uint8, 'r')):08x}"):
        raise FileError(f"{name}: was written for other data than {path.name} holds; say `source`, or move it away")
    warnings.warn(f"{name}: read, but no longer written; .npz files name the formats of codes", FutureWarning, 2)
    return str(name), fmt


def _format(path: Path, dtype: np.dtype[Any], is_open: bool, source: Format | None) -> Format:
    parameter = "source"
    if source is None and (named := _sidecar_format(path)) is not None:
        parameter, source = named
    if source is None and is_open:
        raise FileError(f"{path}: its header does not name the format of its {dtype} codes; say it with `source`")
    try:
        return format_of(dtype, source, (str(path), parameter))
    except ValueError as error:
        raise FileError(str(error)) from None


def find_array(path: Path, source: Format | None = None) -> tuple[Elements, Format]:
    """Return where the elements of an .npy file are, and their format.

    The format is `source`, else that of a sidecar, else the header's. ``V1`` headers, as NumPy writes most dtypes of
    ml_dtypes, are codes whose format one of the first two must name.
    """
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its other end
            raise ValueError("it is not a regular file")
        with path.open("rb") as stream:
            elements = find_elements(stream, os.fstat(stream.fileno()).st_size)
        np.broadcast_to(np.uint8(0), elements.shape)  # a shape that no array can have
    except TypeError as error:
        raise FileError(f"{path}: {error}") from None
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        others = f"; `convert` and `open` read {path.suffix} files" if path.suffix in CHECKPOINTS else ""
        raise FileError(f"{path}: must be a readable .npy file; {error}{others}") from None
    return elements, _format(path, elements.dtype, elements.is_open, source)


def check_npy(target: Path, fmt: Format | None) -> None:
    """Raise FileError unless elements of a format (None where the header is copied) can be written to an .npy file.

    Those of formats that ONNX lacks can: as codes, and who reads them says of which format.
    """
    if fmt is not None and is_onnx_row(fmt) and not numpy_has(fmt):
        raise FileError(f"{target}: NumPy has no {fmt.name}; name an .npz file, which holds its codes and its name")
    if os.path.lexists(sidecar(target)):
        raise FileError(f"{sidecar(target)}: names the format of codes that {target.name} will not hold; move it away")


def arrange_npy(outputs: Sequence[OutputTensor], target: Path) -> OutputFiles:
    """Return an .npy file of one tensor; raise FileError where its header cannot say what the tensor is."""
    if len(outputs) > 1:
        raise FileError(f"{target}: an .npy file holds one array, and scales are another; name an .npz file")
    output, fmt, prefix = outputs[0], outputs[0].fmt, outputs[0].origin.prefix
    keeps_header = fmt is None or (output.role == "kept" and output.origin.names_format)
    check_npy(target, None if keeps_header else fmt)
    if fmt is not None and not keeps_header:
        prefix = header(fmt.dtype if numpy_has(fmt) else fmt.code_dtype, output.shape, fortran=output.origin.fortran)
    return OutputFiles([OutputFile(target.name, len(prefix) + output.nbytes, ((0, prefix),))], [Slot(0, len(prefix))])


class NpyFile:
    """An .npy file."""

    suffixes: tuple[str, ...] = (".npy", ".npz")
    packs = False
    codes_suffix = ""
    names_formats = False
    part = ""
    remarks: Sequence[str] = ()
    publish = staticmethod(rename_file)

    def __init__(self, path: Path, source: Format | None) -> None:
        """Read the header; `source` is the format of the codes where neither header nor sidecar names it."""
        self.path = path
        elements, fmt = find_array(path, source)
        with path.open("rb") as stream:
            prefix = stream.read(elements.offset)
        tensor = StoredTensor(
            path.name, elements.shape, fmt, elements.dtype.str, FileRegion(path, elements.offset, elements.nbytes),
            swapped=not elements.dtype.isnative, fortran=elements.fortran, prefix=prefix,
            names_format=not elements.is_open and format_of(elements.dtype) is fmt,
        )  # fmt: skip
        self.tensors = [tensor]

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return an .npy file, or an .npz archive with the array and its scales."""
        if target.suffix == ".npy":
            return arrange_npy(outputs, target)
        stem, name = self.path.stem, self.path.name
        return arrange_archive([dataclasses.replace(one, name=stem + one.name[len(name) :]) for one in outputs], target)

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the file."""
        return ""
