"""ONNX model files as protobuf messages on the wire, and external data: read and written without loading the weights.

The onnx package parses a whole file into memory, weights included. Here a model is taken apart into what is not weights
(which the onnx package then parses) and the places of the weights.
"""

from __future__ import annotations

import os
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from ...spec.formats import Format
from ...spec.packing import packed_bytes
from ..files.symbolic_links import stays_in
from ..memory_limit import DEFAULT, Limits
from .container import FileRegion
from .no_checkpoint import START, check_pointer

if TYPE_CHECKING:
    import onnx

__all__ = [
    "GRAPH", "INITIALIZER", "LARGEST", "RAW", "data_name", "find_fields", "is_external", "is_ours", "key",
    "nbytes_of", "region_of", "split_model",
]  # fmt: skip

LARGEST = (1 << 31) - 1
"""No reader of protobuf takes a longer message."""

# Field numbers of onnx.proto.
GRAPH = 7  # of ModelProto
INITIALIZER = 5  # of GraphProto
RAW = 9  # of TensorProto

WINDOW = 1 << 16
"""Bytes that are read at once where fields are short."""

LONGEST_KEY = 20
"""Bytes of a field's key and its length, or its number."""

SHARE = 8
"""How much memory a model takes without its weights, as a multiple of its bytes."""

FIELDS = 8
"""How many fields there may be for each tensor that there might be."""

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5

_EXTERNAL = 1
"""TensorProto.EXTERNAL of onnx.proto."""


@dataclass(frozen=True, slots=True)
class ModelParts:
    """A model: all but its graph, the graph but its initialisers, each of these but its raw bytes, their places."""

    model: bytes
    graph: bytes
    tensors: list[tuple[bytes, FileRegion | None]]


class _Part(NamedTuple):
    """A stretch of a file, such as the contents of a length-delimited field."""

    payload: int
    end: int

    @property
    def nbytes(self) -> int:
        return self.end - self.payload


class _Reader:
    """A file that is read in parts; counts the bytes and the fields that are kept in memory."""

    def __init__(self, stream: IO[bytes], limits: Limits) -> None:
        self._stream, self._limits, self._joined, self._fields = stream, limits, 0, 0

    def read(self, at: int, nbytes: int) -> bytes:
        """Return so many bytes from an offset on."""
        self._stream.seek(at)
        return self._stream.read(nbytes)

    def count(self, fields: int) -> None:
        """Count fields that were looked at: each may become an object of the onnx package."""
        self._fields += fields
        most = FIELDS * self._limits.tensors
        if self._fields > most:
            raise ValueError(f"it has more than {most} fields: `max_memory` must be more than {self._limits.size}")

    def join(self, parts: list[_Part]) -> bytes:
        """Return parts joined; they stay in memory."""
        self._joined += sum(part.nbytes for part in parts)
        self._limits.check_bytes(self._joined, "what is not raw bytes of initialisers", SHARE)
        return b"".join(self.read(part.payload, part.nbytes) for part in parts)


def _varint(text: bytes, at: int) -> tuple[int, int]:
    """Return a number and where it ends."""
    value = shift = 0
    while True:
        if at >= len(text) or shift > 63:
            raise ValueError("it ends within a number")
        byte = text[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7


def _split(reader: _Reader, where: _Part, number: int, most: int) -> tuple[list[_Part], list[_Part]]:
    """Return where a message lies without its length-delimited fields of a number, and where these lie.

    Stops at the first field that is more than `most`.
    """
    rest: list[_Part] = []
    fields: list[_Part] = []
    at, end = where
    kept = base = at
    text, count = b"", 0
    while at < end:
        i, count = at - base, count + 1
        if i + LONGEST_KEY > len(text) and base + len(text) < end:
            text, base, i = reader.read(at, min(WINDOW, end - at)), at, 0
            reader.count(count)
            count = 0
        tag, i = (text[i], i + 1) if i < len(text) and text[i] < 0x80 else _varint(text, i)
        wire = tag & 7
        if wire == _VARINT:
            after = base + (i + 1 if i < len(text) and text[i] < 0x80 else _varint(text, i)[1])
        elif wire == _LENGTH:
            length, i = (text[i], i + 1) if i < len(text) and text[i] < 0x80 else _varint(text, i)
            after = base + i + length
            if tag >> 3 == number and after <= end:
                rest.append(_Part(kept, at))
                fields.append(_Part(base + i, after))
                kept = after
                if len(fields) > most:
                    break
        elif wire in (_FIXED64, _FIXED32):
            after = base + i + (8 if wire == _FIXED64 else 4)
        else:
            raise ValueError("it holds no protobuf message")
        if after > end or tag < 8:
            raise ValueError("it ends within a field")
        at = after
    reader.count(count)
    return [*rest, _Part(kept, at)], fields


def split_model(path: Path, limits: Limits = DEFAULT) -> ModelParts:
    """Take a model file apart; raise ValueError if it is none, or if what are not weights takes too much memory."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > LARGEST:
            raise ValueError(f"it has {size} bytes, more than a protobuf message may have")
        reader = _Reader(stream, limits)
        model, graphs = _split(reader, _Part(0, size), GRAPH, 1)
        if len(graphs) != 1:
            raise ValueError(f"it holds {len(graphs)} graphs, not one")
        graph, initializers = _split(reader, graphs[0], INITIALIZER, limits.tensors)
        limits.check_tensors(len(initializers))
        heads = reader.join(model), reader.join(graph)
        tensors = []
        for one in initializers:
            rest, raw = _split(reader, one, RAW, 1)
            if len(raw) > 1:
                raise ValueError("a tensor has its bytes twice")
            tensors.append((reader.join(rest), FileRegion(path, raw[0].payload, raw[0].nbytes) if raw else None))
    return ModelParts(*heads, tensors)


def find_fields(text: bytes, steps: Mapping[int, Sequence[tuple[int, int]]]) -> dict[int, int]:
    """Return where the contents of length-delimited fields start in a message, by the keys of `steps`.

    Steps lead to a field from the outermost message on: a number of a field, and which of the fields of that number.
    """
    tree: dict[tuple[int, int], Any] = {}
    for name, path in steps.items():
        branch = tree
        for step in path[:-1]:
            branch = branch.setdefault(step, {})
        branch[path[-1]] = name
    found: dict[int, int] = {}
    _find(text, 0, len(text), tree, found)
    return found


def _find(text: bytes, at: int, end: int, tree: Mapping[tuple[int, int], Any], found: dict[int, int]) -> None:
    counts: Counter[int] = Counter()
    while at < end:
        tag, at = _varint(text, at)
        if tag & 7 != _LENGTH:
            at = _varint(text, at)[1] if tag & 7 == _VARINT else at + (8 if tag & 7 == _FIXED64 else 4)
            continue
        length, at = _varint(text, at)
        branch = tree.get((tag >> 3, counts[tag >> 3]))
        counts[tag >> 3] += 1
        if isinstance(branch, dict):
            _find(text, at, at + length, branch, found)
        elif branch is not None:
            found[branch] = at
        at += length


def key(number: int, length: int) -> bytes:
    """Return what stands before the contents of a length-delimited field."""
    return _encode(number << 3 | _LENGTH) + _encode(length)


def _encode(value: int) -> bytes:
    text = bytearray()
    while value >= 0x80:
        text.append(value & 0x7F | 0x80)
        value >>= 7
    text.append(value)
    return bytes(text)


def is_external(tensor: onnx.TensorProto) -> bool:
    """Whether the bytes of a tensor lie in a file of their own."""
    return tensor.data_location == _EXTERNAL


def nbytes_of(tensor: onnx.TensorProto, fmt: Format) -> int:
    """Return how many bytes the shape of a tensor asks for."""
    size = 1
    for length in tensor.dims:
        if length < 0:
            raise ValueError(f"tensor {ascii(tensor.name)[:80]} has a negative length")
        size *= length
    return packed_bytes(size, fmt)


def _path(location: str, folder: Path, follow_links: bool) -> Path | None:
    """Return the file that a location means, or None where it leads out of the model's folder.

    With `follow_links` links may lead out of it; a location that does so by itself never may.
    """
    if not location or "\0" in location or os.path.isabs(location):
        return None
    path = Path(os.path.realpath(folder / location))
    climbs = os.pardir in Path(os.path.normpath(location)).parts
    return path if stays_in(path, folder) or (follow_links and not climbs) else None


def region_of(tensor: onnx.TensorProto, fmt: Format, model: Path, *, follow_links: bool = False) -> FileRegion:
    """Return where external data lie: below the model's folder, or where links in it may lead."""
    title = f"tensor {ascii(tensor.name)[:80]}"
    fields = {entry.key: entry.value for entry in tensor.external_data}
    if not all(isinstance(text, str) for text in (tensor.name, *fields, *fields.values())):  # protobuf gives bytes
        raise ValueError(f"{title} has external data named in no UTF-8")
    location, wanted = fields.get("location", ""), nbytes_of(tensor, fmt)
    path = _path(location, model.parent, follow_links)
    if path is None:
        raise ValueError(f"{title} has its data at {ascii(location)[:80]}, outside the model's folder")
    if not path.is_file() or path.samefile(model):
        raise ValueError(f"{title} has its data in {ascii(location)[:80]}, which is no file of data")
    with path.open("rb") as stream:
        check_pointer(path, stream.read(START))
    try:
        offset = int(fields.get("offset", "0"))
        length = int(fields.get("length", str(path.stat().st_size - offset)))
    except ValueError:
        raise ValueError(f"{title} has an offset or a length that is no number") from None
    if length != wanted or offset < 0 or offset + length > path.stat().st_size:
        raise ValueError(
            f"{title} needs {wanted} bytes of {ascii(location)[:80]}; it names {length} at {offset}, "
            f"of {path.stat().st_size}"
        )
    return FileRegion(path, offset, length)


def data_name(target: Path, overwrite: bool) -> str:
    """Return how the data of a new model will be called: a name that no other run chooses.

    Without `overwrite` of two runs for one model one alone can succeed, and the plain name will do.
    """
    plain = f"{target.name}.data"
    if not overwrite and not os.path.lexists(target.with_name(plain)):
        return plain
    return f"{target.name}.{secrets.token_hex(4)}.data"


def is_ours(name: str, target: Path) -> bool:
    """Whether data are called as only `data_name` calls those of a model."""
    return re.fullmatch(re.escape(target.name) + r"(\.[0-9a-f]+)?\.data", name) is not None
