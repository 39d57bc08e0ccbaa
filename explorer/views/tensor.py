"""A small tensor to quantize: typed, sampled from a distribution, or read from an uploaded file."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format, as_format
from lowprec.checkpoints.containers.array_files import read_npy
from lowprec.checkpoints.containers.safetensors_file import type_of
from lowprec.checkpoints.files.errors import FileError
from lowprec.reference.exact_cast import Value, encode
from lowprec.spec.formats import BFLOAT16, FLOAT16, FLOAT32, NUMERIC

__all__ = [
    "DISTRIBUTIONS",
    "MOST_BYTES",
    "MOST_ELEMENTS",
    "MOST_TYPED",
    "Tensor",
    "from_file",
    "names_in",
    "sampled",
    "typed",
]

MOST_TYPED = 256
"""How many typed numbers are looked at."""

MOST_BYTES = 4_000_000
"""The largest file that is read: 4 MB, as the browser counts them."""

MOST_ELEMENTS = 1 << 20
"""The largest tensor that is quantized: all of float32 in the largest file."""

_HEADER = 1 << 20
"""The longest header of a .safetensors file that is parsed: that of some thousand tensors."""

_FLOAT32, _TAKEN = FLOAT32, (FLOAT32, FLOAT16, BFLOAT16)  # what QuantizeLinear takes of floats

_SAFETENSORS = {name: fmt for fmt in NUMERIC if (name := type_of(fmt))}
"""The types of .safetensors; those of less than a byte are packed."""

DISTRIBUTIONS = ("normal", "uniform", "laplace", "student-t", "outliers")
"""What is sampled; `outliers` is normal with every hundredth element or so twenty times as large."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """Elements as float32, float16 or bfloat16, at least one; `note` says what was done to them, if anything.

    `names` are the tensors of the file, `name` the one that was read, `stored` the format it has there. Of a tensor of
    a checkpoint, the `first` so many indices of its first axis were read, all where it is None; `is_cut` says whether
    its rows were then taken one after the other, and only some of them.
    """

    values: np.ndarray[Any, Any]
    note: str = ""
    name: str = ""
    names: tuple[str, ...] = ()
    stored: Format | None = None
    first: int | None = None
    is_cut: bool = False

    @property
    def format(self) -> Format:
        """The format of the elements."""
        return as_format(self.values.dtype)


def typed(text: str) -> Tensor:
    """Return the numbers of a text as float32, each rounded once.

    Rows end at line ends or semicolons, numbers at commas or blanks. ValueError where one is no number, rows differ in
    length, or there are none or too many.
    """
    rows = [re.split(r"[\s,]+", row.strip(" \t\r,")) for row in re.split(r"[;\n]", text) if row.strip(" \t\r,")]
    count = sum(map(len, rows))
    if not 1 <= count <= MOST_TYPED:
        raise ValueError(f"`x` must be 1 to {MOST_TYPED} numbers; got {count}")
    if len(set(map(len, rows))) > 1:
        lengths = ", ".join(str(len(row)) for row in rows[:8])
        raise ValueError(f"`x` must have rows of one length; got rows of {lengths} numbers")
    codes = [[encode(Value.of(part, parameter="x"), _FLOAT32) for part in row] for row in rows]
    values = np.array(codes, _FLOAT32.code_dtype).view(_FLOAT32.dtype)
    return Tensor(values[0] if len(rows) == 1 else values)


def sampled(distribution: str, rows: int, columns: int, seed: int, spread: float = 1.0) -> Tensor:
    """Return float32 samples of mean 0 times `spread`, the same for the same seed and version of NumPy."""
    if distribution not in DISTRIBUTIONS:
        raise ValueError(f"`distribution` must be one of {', '.join(DISTRIBUTIONS)}; got {distribution[:40]!r}")
    if not (rows >= 1 and columns >= 1 and rows * columns <= MOST_ELEMENTS):
        raise ValueError(f"the shape must hold 1 to {MOST_ELEMENTS} elements; got {rows} x {columns}")
    rng, shape = np.random.default_rng(seed), (rows, columns)
    if distribution == "outliers":
        values = rng.standard_normal(shape) * np.where(rng.random(shape) < 0.01, 20, 1)
    else:
        draws: dict[str, Callable[[], Any]] = {
            "normal": lambda: rng.standard_normal(shape),
            "uniform": lambda: rng.uniform(-1, 1, shape),
            "laplace": lambda: rng.laplace(size=shape),
            "student-t": lambda: rng.standard_t(3, shape),
        }
        values = draws[distribution]()
    return Tensor(np.asarray(lp.cast(values * spread, _FLOAT32)))


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
    return _tensor(values if stored in _TAKEN else lp.cast(values, _FLOAT32, source=stored), stored)


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
    values = lp.decode(codes, stored, to=stored if stored in _TAKEN else _FLOAT32)
    return _tensor(values, stored, chosen, tuple(found))
