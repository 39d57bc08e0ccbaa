"""GGUF files: keys and tensors keep their bytes and their order; converted to GGUF by recipes, or to safetensors.

The files of a split model are named by llama.cpp's rule, and say which part they are in the keys split.no and
split.count. The first one stands for all.

Version 3, and version 2, which has the same layout; little-endian. A tensor of an unknown type ends where the next
one starts, since only its type would say how long it is.
"""

from __future__ import annotations

import itertools
import math
import os
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Format
from ..files.atomic_output import OutputFile, OutputFiles, Slot, rename_file
from ..files.errors import FileError, reason
from ..files.symbolic_links import file_in
from ..memory_limit import DEFAULT, Limits
from .container import FileRegion, OutputTensor, StoredTensor
from .no_checkpoint import PartName, are_missing, missing_parts, part_name
from .safetensors_file import SUFFIX as SAFETENSORS
from .safetensors_file import arrange_safetensors

__all__ = ["MAGIC", "TYPES", "UNKNOWN", "GgufFile"]

UNKNOWN = "unknown type "
"""How the name of a type starts whose number is not in the table."""

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

SUFFIX = ".gguf"

FILE_TYPES = {
    "F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q5_0": 8, "Q5_1": 9, "BF16": 32, "MXFP4": 38, "NVFP4": 39,
}  # fmt: skip
"""What ``general.file_type`` is for a file with mostly such elements."""

QUANTIZATION_VERSION = 2
"""Of ggml's blocks, as llama.cpp writes it."""

NUMBER, COUNT, TENSORS = b"split.no", b"split.count", b"split.tensors.count"
"""The keys of a split model: which part a file is, from 0 on, of how many, and how many tensors all have."""


@dataclass(frozen=True, slots=True)
class GgufType:
    """One type.

    Attributes
    ----------
    number : int
        What a file calls it.
    name : str
        What people call it.
    size, nbytes : int
        How many elements a block has, and how many bytes; an element is a block of its own unless it is quantized.
    fmt : Format or None
        The format of its elements; None for blocks.

    Of a type that is not in the table `size` is 1, and `nbytes` 0.
    """

    number: int
    name: str
    size: int
    nbytes: int
    fmt: Format | None = None


_TABLE = (
    GgufType(0, "F32", 1, 4, FLOAT32),
    GgufType(1, "F16", 1, 2, FLOAT16),
    GgufType(2, "Q4_0", 32, 18),
    GgufType(3, "Q4_1", 32, 20),
    GgufType(6, "Q5_0", 32, 22),
    GgufType(7, "Q5_1", 32, 24),
    GgufType(8, "Q8_0", 32, 34),
    GgufType(9, "Q8_1", 32, 40),
    GgufType(10, "Q2_K", 256, 84),
    GgufType(11, "Q3_K", 256, 110),
    GgufType(12, "Q4_K", 256, 144),
    GgufType(13, "Q5_K", 256, 176),
    GgufType(14, "Q6_K", 256, 210),
    GgufType(15, "Q8_K", 256, 292),
    GgufType(16, "IQ2_XXS", 256, 66),
    GgufType(17, "IQ2_XS", 256, 74),
    GgufType(18, "IQ3_XXS", 256, 98),
    GgufType(19, "IQ1_S", 256, 50),
    GgufType(20, "IQ4_NL", 32, 18),
    GgufType(21, "IQ3_S", 256, 110),
    GgufType(22, "IQ2_S", 256, 82),
    GgufType(23, "IQ4_XS", 256, 136),
    GgufType(24, "I8", 1, 1, INT8),
    GgufType(25, "I16", 1, 2, INT16),
    GgufType(26, "I32", 1, 4, INT32),
    GgufType(27, "I64", 1, 8, INT64),
    GgufType(28, "F64", 1, 8, FLOAT64),
    GgufType(29, "IQ1_M", 256, 56),
    GgufType(30, "BF16", 1, 2, BFLOAT16),
    GgufType(34, "TQ1_0", 256, 54),
    GgufType(35, "TQ2_0", 256, 66),
    GgufType(39, "MXFP4", 32, 17),
    GgufType(40, "NVFP4", 64, 36),
    GgufType(41, "Q1_0", 128, 18),
)

TYPES = {one.number: one for one in _TABLE}
"""All types, by their numbers."""


def unknown_type(number: int) -> GgufType:
    """Return what stands for a type that is not in the table."""
    return GgufType(number, f"{UNKNOWN}{number}", 1, 0)


def type_of(fmt: Format | None, name: str = "") -> GgufType | None:
    """Return the type of a name or, without one, that whose elements have a format; None where there is none."""
    return next((one for one in _TABLE if (one.name == name if name else fmt is not None and one.fmt == fmt)), None)


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


def _stored(path: Path, one: TensorEntry) -> StoredTensor:
    region = FileRegion(path, one.offset, one.nbytes)
    return StoredTensor(one.name, one.shape, one.type.fmt, one.type.name, region)


def _read(path: Path, limits: Limits, used: int = 0, others: int = 0) -> Header:
    """Read the header of a file, after others of so many bytes and tensors."""
    try:
        with path.open("rb") as stream:
            header = read_header(stream, os.fstat(stream.fileno()).st_size, limits, used, others)
        number, count = _place(header)
        if count > 1 and not 0 <= number < count:
            raise ValueError(f"its split.no must be less than its split.count, {count}; got {number}")
    except OSError as error:
        raise FileError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        raise FileError(f"{path}: must be a readable .gguf file; {error}") from None
    return header


def _place(header: Header) -> tuple[int, int]:
    """Return which part of a split model a file is, from 0 on, and how many there are; 1 where it is not split."""
    count = header.integer(COUNT) or 1
    number = header.integer(NUMBER) if count > 1 else 0
    return -1 if number is None else number, count


class GgufFile:
    """A .gguf file, or all files of a split model, whose first one it is.

    Attributes
    ----------
    file_count : int
        How many files it is.
    """

    suffixes: tuple[str, ...] = (SUFFIX, SAFETENSORS)
    packs = True
    codes_suffix = ""
    names_formats = True
    part = ""
    remarks: Sequence[str] = ()
    publish = staticmethod(rename_file)

    def __init__(self, path: Path, limits: Limits = DEFAULT, *, part: bool = False, follow_links: bool = False) -> None:
        """Read the header, and those of the other files of a split model unless a `part` is wanted."""
        self.path, self.file_count = path, 1
        self._header = _read(path, limits)
        self.tensors = [_stored(path, one) for one in self._header.tensors]
        number, count = _place(self._header)
        if count == 1:
            return
        title = f"part {number + 1} of {count}"
        if part:
            self.part = title
            self.remarks = [f"{title} of a model was taken alone; general.file_type of a .gguf file says what it is"]
            if any(one.type_name == "NVFP4" for one in self.tensors):
                self.remarks.append("factors of NVFP4 tensors that are in other parts are not applied")
            return
        name = part_name(path.name)
        if name is None or (name.number, name.count) != (number + 1, count):
            expected = f"NAME-{number + 1:05}-of-{count:05}.gguf"
            raise FileError(
                f"{path}: says that it is {title} of a split model, and is not named {expected}: rename all parts so, "
                "or say `part` to take it alone"
            )
        if number:
            first = name.of_number(1)
            there = "" if path.with_name(first).exists() else " (missing)"
            raise FileError(
                f"{path}: is {title} of a split model; give its first part, {first}{there}, which stands for all, or "
                "`part` to take it alone"
            )
        self._add_parts(name, limits, follow_links)

    def _add_parts(self, name: PartName, limits: Limits, follow_links: bool) -> None:
        """Read the headers of the other parts, and have all tensors in one."""
        path = self.path
        missing, total = missing_parts([name], {path.name, *os.listdir(path.parent)})
        if total:
            raise FileError(
                f"{path}: is {name} of a split model, and {are_missing(missing, total)} in its folder; "
                "`part` takes it alone"
            )
        used, names = self._header.nbytes, {one.name for one in self.tensors}
        for number in range(2, name.count + 1):
            entry = file_in(path.parent, name.of_number(number), follow=follow_links)
            other = path.with_name(entry.name)
            if entry.problem:
                raise FileError(f"{other}: {entry.problem}")
            header = _read(other, limits, used, len(names))
            if _place(header) != (number - 1, name.count):
                raise FileError(f"{other}: must be part {number} of {name.count}, as its name says; its keys differ")
            used += header.nbytes
            for one in header.tensors:
                if one.name in names:
                    raise FileError(f"{other}: has tensor {ascii(one.name)[:80]}, which an earlier part has too")
                names.add(one.name)
                self.tensors.append(_stored(other, one))
        expected = self._header.integer(TENSORS)
        if expected is not None and expected != len(names):
            raise FileError(f"{path}: its split.tensors.count is {expected}; its {name.count} parts have {len(names)}")
        self._header = self._header.without(NUMBER, COUNT, TENSORS)
        self.file_count = name.count
        self.remarks = [f"the {name.count} files of the split model become one"]

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return a .gguf file with the same keys, or a .safetensors file.

        Raises FileError for a .gguf file of tensors that were all cast alike: engines want some of them as they are.
        """
        if target.suffix == SAFETENSORS:
            return arrange_safetensors(outputs, target)
        if any(output.rules is not None for output in outputs):
            raise FileError(f"{target}: a .gguf file is converted by a recipe, which keeps norms and the like in F32")
        if self.part and len(outputs) != len(self.tensors):
            raise FileError(
                f"{target}: {self.part} would have {len(outputs)} tensors in place of {len(self.tensors)}, and the "
                "split.tensors.count of the model would be wrong; convert the whole model"
            )
        return _arrange(self._header, outputs, target)

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the file."""
        return ""


def _type(output: OutputTensor, target: Path) -> GgufType:
    kind = type_of(output.fmt, output.type_name)
    if kind is None:
        what = output.fmt.name if output.fmt else output.type_name
        raise FileError(f"{target}: GGUF has no type for {ascii(output.name)[:80]}, which is {what}")
    return kind


def _arrange(header: Header, outputs: Sequence[OutputTensor], target: Path) -> OutputFiles:
    """Place the tensors one after the other, each at a multiple of the alignment."""
    entries: list[TensorEntry] = []
    elements: Counter[str] = Counter()
    at = 0
    for output in outputs:
        kind = _type(output, target)
        entries.append(TensorEntry(output.name, output.shape, kind, at))
        elements[kind.name] += math.prod(output.shape)
        at += output.nbytes + -output.nbytes % header.alignment
    content = _described(header, elements).to_bytes(entries)
    start = len(content)
    file = OutputFile(target.name, start + at, ((0, content),))
    return OutputFiles([file], [Slot(0, start + one.offset) for one in entries])


def _described(header: Header, elements: Counter[str]) -> Header:
    """Return a header that says which type most elements have; the later files of a split model say nothing."""
    if b"general.architecture" not in header.keys or not elements:
        return header
    most, _ = elements.most_common(1)[0]
    header = header.with_number(b"general.quantization_version", QUANTIZATION_VERSION)
    return header.with_number(b"general.file_type", FILE_TYPES[most]) if most in FILE_TYPES else header
