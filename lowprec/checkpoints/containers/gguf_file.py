"""The header of GGUF files: keys with values, which stay as the bytes that they are, and the tensors with their places.

Version 3, and version 2, which has the same layout; little-endian. A tensor of an unknown type ends where the next
one starts, since only its type would say how long it is.
"""

from __future__ import annotations

import itertools
import math
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO

from ..files.limits import Limits
from .gguf_types import TYPES, GgufType, unknown_type

__all__ = ["MAGIC", "Header", "TensorEntry", "read_header"]

MAGIC = b"GGUF"
VERSIONS = (2, 3)
DEFAULT_ALIGNMENT = 32
MOST_ALIGNMENT = 1 << 16
MOST_AXES = 4
LONGEST_NAME = 0xFFFF
STEP = 1 << 18
"""Bytes that are read at once."""

SHARE = 4
"""The share of the memory that a header may take: it is stored once, and once more in what is written."""

UINT32, BOOL, STRING, ARRAY = 4, 7, 8, 9
UNSIGNED, SIGNED = (0, 2, UINT32, 10), (1, 3, 5, 11)
WIDTHS = {0: 1, 1: 1, 2: 2, 3: 2, UINT32: 4, 5: 4, 6: 4, BOOL: 1, 10: 8, 11: 8, 12: 8}
"""Bytes of a number of each type of value."""

_LENGTH = struct.Struct("<Q")

LEAST_PAIR, LEAST_TENSOR = 13, 24
"""Bytes that a key with its value, and a tensor's entry, take at least."""


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor: its name, its shape with the last axis last, its type, and where it starts in the file.

    `room` is how many bytes there are until the next one, for a tensor of an unknown type.
    """

    name: str
    shape: tuple[int, ...]
    type: GgufType
    offset: int
    room: int = 0

    @property
    def nbytes(self) -> int:
        """How many bytes it takes, padding included where the type is unknown."""
        return math.prod(self.shape) // self.type.size * self.type.nbytes or self.room


@dataclass(frozen=True, slots=True)
class Header:
    """A header.

    Attributes
    ----------
    version, alignment : int
        The version of the format; a power of two that the places of tensors are multiples of.
    keys : dict of bytes
        Each key's entry in the file: the key, the type of the value, the value.
    tensors : list of TensorEntry
        In the order of the file.
    nbytes : int
        How many bytes it has.
    """

    version: int
    alignment: int
    keys: dict[bytes, bytes]
    tensors: list[TensorEntry]
    nbytes: int = 0

    def integer(self, key: bytes) -> int | None:
        """Return the value of a key, None if there is none; raise ValueError where it is no integer."""
        if key not in self.keys:
            return None
        content = self.keys[key][8 + len(key) :]
        kind = int.from_bytes(content[:4], "little")
        if kind not in UNSIGNED + SIGNED:
            raise ValueError(f"its {key.decode()} must be an integer")
        return int.from_bytes(content[4:], "little", signed=kind in SIGNED)

    def without(self, *keys: bytes) -> Header:
        """Return a header without some keys."""
        return replace(self, keys={key: entry for key, entry in self.keys.items() if key not in keys})

    def with_number(self, key: bytes, value: int) -> Header:
        """Return a header in which a key has a number, where the key was or, if there was none, at the end."""
        return replace(self, keys={**self.keys, key: number_entry(key, value)})

    def to_bytes(self, tensors: Sequence[TensorEntry]) -> bytes:
        """Return the header of a file with other tensors, whose offsets count from the first one; padded."""
        pieces = [MAGIC, struct.pack("<IQQ", self.version, len(tensors), len(self.keys)), *self.keys.values()]
        for one in tensors:
            name = one.name.encode()
            axes = one.shape[::-1]
            pieces.append(struct.pack("<Q", len(name)) + name + struct.pack("<I", len(axes)))
            pieces.append(struct.pack(f"<{len(axes)}QIQ", *axes, one.type.number, one.offset))
        content = b"".join(pieces)
        return content + bytes(-len(content) % self.alignment)


def number_entry(key: bytes, value: int) -> bytes:
    """Return the entry of a key whose value is an unsigned number of 32 bits."""
    return struct.pack("<Q", len(key)) + key + struct.pack("<II", UINT32, value)


class _Reader:
    """The bytes of a header, read from a file as they are needed, so that a lie about lengths costs nothing."""

    def __init__(self, stream: IO[bytes], size: int, limits: Limits, used: int) -> None:
        self._stream, self.size, self.limits, self._used = stream, size, limits, used
        self._content, self.at = bytearray(), 0

    def _need(self, n: int, what: str) -> None:
        end = self.at + n
        if end > self.size:
            raise ValueError(f"{what} ends {end - self.size} bytes past the end of the file")
        if end > len(self._content):
            what = "its header, with those of the parts before it," if self._used else "its header"
            self.limits.check_bytes(self._used + end, what, SHARE)
            self._content += self._stream.read(max(end - len(self._content), STEP))
            if end > len(self._content):
                raise ValueError("it ended early: has it changed?")

    def skip(self, n: int, what: str) -> None:
        self._need(n, what)
        self.at += n

    def number(self, nbytes: int, what: str) -> int:
        self.skip(nbytes, what)
        return int.from_bytes(self._content[self.at - nbytes : self.at], "little")

    def skip_texts(self, count: int, what: str) -> None:
        """Read past texts, of which a vocabulary has 100,000s; each has a length, so that the file ends them."""
        for _ in range(count):
            if self.at + 8 > len(self._content):
                self._need(8, what)
            self.at += 8 + _LENGTH.unpack_from(self._content, self.at)[0]
        self._need(0, what)

    def text(self, what: str) -> bytes:
        length = self.number(8, what)
        if length > LONGEST_NAME:
            raise ValueError(f"{what} has {length} bytes, more than {LONGEST_NAME}")
        self.skip(length, what)
        return self.since(self.at - length)

    def since(self, start: int) -> bytes:
        return bytes(self._content[start : self.at])


def _skip_value(reader: _Reader, kind: int, what: str) -> None:
    """Read past a value; arrays have elements of one type, which is no array."""
    count = 1
    if kind == ARRAY:
        kind, count = reader.number(4, what), reader.number(8, what)
    if kind == STRING:
        reader.skip_texts(count, what)
    elif kind in WIDTHS:
        reader.skip(count * WIDTHS[kind], what)
    else:
        raise ValueError(f"{what} has a value of the type {kind}, which is unknown")


def _keys(reader: _Reader, count: int) -> Iterator[tuple[bytes, bytes]]:
    for _ in range(count):
        start = reader.at
        key = reader.text("a key")
        what = f"the key {ascii(key.decode(errors='replace'))[:80]}"
        _skip_value(reader, reader.number(4, what), what)
        yield key, reader.since(start)


def _tensor(reader: _Reader) -> TensorEntry:
    content = reader.text("the name of a tensor")
    try:
        name = content.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the name of tensor {ascii(content)[:80]} is not UTF-8") from None
    what = f"tensor {ascii(name)[:80]}"
    axes = reader.number(4, what)
    if axes > MOST_AXES:
        raise ValueError(f"{what} has {axes} axes, more than {MOST_AXES}")
    shape = tuple(reader.number(8, what) for _ in range(axes))[::-1]
    number, offset = reader.number(4, what), reader.number(8, what)
    kind = TYPES.get(number) or unknown_type(number)
    if math.prod(shape) >= 2**63:
        raise ValueError(f"{what} has far too many elements")
    columns = shape[-1] if shape else 1
    if columns % kind.size:
        raise ValueError(f"{what} has rows of {columns} elements, which are no blocks of {kind.size} ({kind.name})")
    return TensorEntry(name, shape, kind, offset)


def _alignment(keys: dict[bytes, bytes]) -> int:
    key = b"general.alignment"
    if key not in keys:
        return DEFAULT_ALIGNMENT
    value = int.from_bytes(keys[key][-4:], "little")
    if keys[key] != number_entry(key, value):
        raise ValueError("its general.alignment must be an unsigned number of 32 bits")
    if not 0 < value <= MOST_ALIGNMENT or value & (value - 1):
        raise ValueError(f"its general.alignment must be a power of two up to {MOST_ALIGNMENT}; got {value}")
    return value


def _placed(tensors: Sequence[TensorEntry], start: int, alignment: int, size: int) -> list[TensorEntry]:
    """Return tensors with their offsets in the file; raise ValueError where they overlap or end behind it."""
    placed = []
    for one in tensors:
        what = f"tensor {ascii(one.name)[:80]}"
        if one.offset % alignment:
            raise ValueError(f"{what} starts at {one.offset}, which is no multiple of the alignment {alignment}")
        beyond = start + one.offset + one.nbytes - size
        if beyond > (0 if math.prod(one.shape) else alignment):  # where the bytes before an empty one are not padded
            raise ValueError(f"{what} ends {beyond} bytes past the end of the file")
        placed.append(TensorEntry(one.name, one.shape, one.type, start + one.offset))
    order = sorted((i for i, one in enumerate(placed) if math.prod(one.shape)), key=lambda i: placed[i].offset)
    at = start
    for i, after in itertools.zip_longest(order, order[1:]):
        one = placed[i]
        if one.offset < at:
            raise ValueError(f"tensor {ascii(one.name)[:80]} overlaps the one before it")
        if not one.type.nbytes:
            end = size if after is None else placed[after].offset
            one = placed[i] = replace(one, room=end - one.offset)
            if one.room <= 0:
                raise ValueError(f"tensor {ascii(one.name)[:80]} has {one.type.name} and no bytes")
        at = one.offset + one.nbytes
    return placed


def read_header(stream: IO[bytes], size: int, limits: Limits, used: int = 0, others: int = 0) -> Header:
    """Read the header of a file of so many bytes; raise ValueError where it is broken or too large.

    `used` and `others` are the bytes and the tensors of headers that were read before, for the same container.
    """
    reader = _Reader(stream, size, limits, used)
    if size < 24 or reader.number(4, "it") != int.from_bytes(MAGIC, "little"):
        raise ValueError("it does not start with a header of GGUF")
    version = reader.number(4, "it")
    if version not in VERSIONS:
        swapped = " (that of a big-endian file?)" if version & 0xFFFF == 0 else ""
        raise ValueError(f"it must have the version 2 or 3; got {version}{swapped}")
    tensor_count, key_count = reader.number(8, "it"), reader.number(8, "it")
    for count, least, before, what in (
        (tensor_count, LEAST_TENSOR, others, "tensors"), (key_count, LEAST_PAIR, 0, "keys"),
    ):  # fmt: skip
        if count * least > size:
            raise ValueError(f"it says that it has {count} {what}, which need more bytes than it has")
        limits.check_tensors(before + count, what)
    keys: dict[bytes, bytes] = {}
    for key, entry in _keys(reader, key_count):
        if key in keys:
            raise ValueError(f"it has the key {ascii(key.decode(errors='replace'))[:80]} twice")
        keys[key] = entry
    tensors: dict[str, TensorEntry] = {}
    for _ in range(tensor_count):
        one = _tensor(reader)
        if tensors.setdefault(one.name, one) is not one:
            raise ValueError(f"it names tensor {ascii(one.name)[:80]} twice")
    alignment = _alignment(keys)
    start = reader.at + -reader.at % alignment
    placed = _placed(list(tensors.values()), start, alignment, size)
    return Header(version, alignment, keys, placed, reader.at)
