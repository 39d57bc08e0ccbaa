"""A tensor of an uploaded file: .npy or .safetensors, bounded, and checked before an element is read."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.checkpoints.containers.array_files import read_npy
from lowprec.checkpoints.containers.safetensors_file import type_of
from lowprec.checkpoints.files.errors import FileError
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32, ONNX_NUMERIC

from .tensor import MOST_ELEMENTS, Tensor

__all__ = ["MOST_BYTES", "from_file", "names_in"]

MOST_BYTES = 4_000_000
"""The largest file that is read: 4 MB, as the browser counts them."""

_HEADER = 1 << 20
"""The longest header of a .safetensors file that is parsed: that of some thousand tensors."""

_TAKEN = (FLOAT32, FLOAT16, BFLOAT16)
"""What QuantizeLinear takes of floats."""

_SAFETENSORS = {name: fmt for fmt in ONNX_NUMERIC if (name := type_of(fmt))}
"""The types of .safetensors; those of less than a byte are packed."""


def names_in(name: str, content: bytes) -> tuple[str, ...]:
    """Return the names of the tensors of an uploaded file, in order; ValueError as `from_file`."""
    return tuple(_entries(content)) if _kind(name, content) == "safetensors" else ()


def from_file(name: str, content: bytes, tensor: str = "") -> Tensor:
    """Return a tensor of an uploaded .npy or .safetensors file; `tensor` names one of the latter, else it is the first.

    Nothing is unpickled, headers are bounded and their sizes checked before any element is read. Elements that
    QuantizeLinear does not take become float32. ValueError says what is wrong with the file.
    """
    read = _from_npy if _kind(name, content) == "npy" else _from_safetensors
    return read(content, tensor)


def _kind(name: str, content: bytes) -> str:
    if len(content) > MOST_BYTES:
        raise ValueError(f"the file must have at most {MOST_BYTES // 10**6} MB; it has {len(content)} bytes")
    kind = name.lower().rpartition(".")[2]
    if kind not in ("npy", "safetensors"):
        raise ValueError("the file must be a .npy or a .safetensors file, by its name")
    return kind


def _check_size(shape: tuple[int, ...]) -> None:
    if not 1 <= math.prod(shape) <= MOST_ELEMENTS:
        raise ValueError(f"the tensor must have 1 to {MOST_ELEMENTS} elements; its shape is {shape}")


def _tensor(values: Any, stored: Format, name: str = "", names: tuple[str, ...] = ()) -> Tensor:
    note = "" if stored in _TAKEN else f"{stored.name} became float32"
    return Tensor(np.atleast_1d(np.ascontiguousarray(values)), note, name, names, stored)


def _from_npy(content: bytes, _: str) -> Tensor:
    with tempfile.TemporaryDirectory(prefix="lowprec-") as folder:  # the package's own reader maps files
        path = Path(folder, "upload.npy")
        path.write_bytes(content)
        try:
            mapped, stored = read_npy(path)
        except FileError as error:
            raise ValueError(
                f"the file: {str(error).removeprefix(f'{path}: ').partition('; say it with')[0]}"
            ) from None
        values = np.array(mapped)
    _check_size(values.shape)
    return _tensor(values if stored in _TAKEN else lp.cast(values, FLOAT32, source=stored), stored)


def _entries(content: bytes) -> dict[str, Any]:
    try:
        from safetensors import SafetensorError, deserialize
    except ImportError:
        raise ValueError(
            "reading .safetensors needs the package safetensors; upload a .npy file, or install it"
        ) from None
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(_HEADER, len(content) - 8):
        raise ValueError("the file: must be a readable .safetensors file; its header is cut off, or too long")
    try:
        found = dict(sorted(deserialize(content)))  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError, OverflowError) as error:
        raise ValueError(f"the file: must be a readable .safetensors file; {str(error)[:200]}") from None
    if not found:
        raise ValueError("the file: has no tensors")
    return found


def _from_safetensors(content: bytes, tensor: str) -> Tensor:
    found = _entries(content)
    if tensor and tensor not in found:
        raise ValueError(f"`tensor` must be one of the file's {len(found)} names; got {tensor[:60]!r}")
    chosen = tensor or next(iter(found))
    entry = found[chosen]
    stored, shape = _SAFETENSORS.get(entry["dtype"]), tuple(entry["shape"])
    if stored is None:
        raise ValueError(f"the tensor must be of {', '.join(_SAFETENSORS)}; it is {str(entry['dtype'])[:40]}")
    _check_size(shape)
    codes = np.frombuffer(entry["data"], np.uint8)
    codes = (
        np.asarray(lp.unpack(codes, stored, shape)) if stored.bits < 8 else codes.view(stored.code_dtype).reshape(shape)
    )
    values = lp.decode(codes, stored, to=stored if stored in _TAKEN else FLOAT32)
    return _tensor(values, stored, chosen, tuple(found))
