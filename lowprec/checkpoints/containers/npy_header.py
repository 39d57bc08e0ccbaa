"""The header of an .npy file: where the elements lie, and which."""

from __future__ import annotations

import ast
import contextlib
import io
import math
import re
import warnings
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from ...arrays.storage_dtypes import format_of
from ...spec.formats import NUMERIC

__all__ = ["NPY_MAGIC", "ZIP_MAGICS", "Elements", "find_elements", "header"]

NPY_MAGIC = b"\x93NUMPY"
ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")
_LONGEST_HEADER = 10_000
"""As NumPy has it: `ast.literal_eval` of a stranger's megabytes may crash the interpreter."""

_NESTED = 200
"""Characters from which on MemoryError may be what Python's parser says of brackets that are too deep."""


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
    except MemoryError:
        if len(text.strip()) < _NESTED:
            raise
        fields = None
    except (SyntaxError, ValueError, TypeError, RecursionError):
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
    if start.startswith(ZIP_MAGICS):
        raise ValueError("it is a .npz archive")
    if len(start) < 8 or not start.startswith(NPY_MAGIC) or start[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
        raise ValueError("it does not start as one")
    field = stream.read(2 if start[6] == 1 else 4)
    length = int.from_bytes(field, "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes, more than {_LONGEST_HEADER}")
    text = stream.read(length)
    if len(text) < length or not text:
        raise ValueError("it ends within its header")
    return _parse(text.decode("utf-8" if start[6] == 3 else "latin-1", "replace"))


def _storage(descr: object) -> tuple[np.dtype[Any], bool]:
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
    with contextlib.suppress(TypeError, ValueError, SyntaxError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old names of types, such as "a4"
        dtype = np.dtype(text or object)
        format_of(dtype)
        return dtype, False
    raise TypeError(f"its elements must be bools, integers or real floats; got {repr(descr)[:60]}")


@dataclass(frozen=True, slots=True)
class Elements:
    """Where the elements of an array lie in a file, and how; `is_open` where the header does not name their format."""

    dtype: np.dtype[Any]
    is_open: bool
    fortran: bool
    shape: tuple[int, ...]
    offset: int

    @property
    def nbytes(self) -> int:
        """How many bytes the elements take."""
        return math.prod(self.shape) * self.dtype.itemsize

    def view(self, codes: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return the bytes of the elements as the array."""
        return codes.view(self.dtype).reshape(self.shape, order="F" if self.fortran else "C")


def find_elements(stream: IO[bytes], size: int) -> Elements:
    """Read the header of an .npy file of so many bytes; raise ValueError or TypeError unless it fits them."""
    fields = _read_header(stream)
    dtype, is_open = _storage(fields.descr)
    elements = Elements(dtype, is_open, fields.fortran, fields.shape, stream.tell())
    if elements.nbytes != size - elements.offset:
        raise ValueError(f"its header asks for {elements.nbytes} bytes of elements, it has {size - elements.offset}")
    return elements


def header(dtype: np.dtype[Any], shape: tuple[int, ...], *, fortran: bool = False) -> bytes:
    """Return what stands before the elements in an .npy file, as NumPy writes it."""
    stream = io.BytesIO()
    descr = np.lib.format.dtype_to_descr(dtype)
    fields = {"descr": descr, "fortran_order": fortran, "shape": shape}
    np.lib.format.write_array_header_1_0(stream, fields)
    return stream.getvalue()
