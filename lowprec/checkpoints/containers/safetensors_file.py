"""Safetensors files: a header length, a JSON header, and tensors without a hole between them.

Formats that safetensors has no type for are packed into U8 tensors, described formats without packing are codes in U8
or U16 tensors; the entry "lowprec" of the file's metadata then says, as JSON, which format and shape they have.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...spec.custom_formats import description_of, format_described_by
from ...spec.formats import FORMATS, NUMERIC, Format, Kind, NaNRule, is_in_table, is_onnx_row
from ...spec.packing import is_packable, packed_bytes
from ..files.atomic_output import OutputFile, OutputFiles, Slot, rename_file
from ..files.errors import FileError, reason
from ..memory_limit import DEFAULT, Limits
from .container import FileRegion, OutputTensor, StoredTensor
from .json_scanner import LONGEST_ENTRY, decode, entries
from .no_checkpoint import START, are_missing, check_pointer, missing_parts, part_name

__all__ = ["SUFFIX", "SafetensorsFile", "arrange_safetensors", "type_of"]

LONGEST_HEADER = 100_000_000
"""As the safetensors library has it."""

NOTE = "lowprec"
"""The entry of the metadata that names formats which safetensors lacks, and the axes of scales."""

SUFFIX = ".safetensors"

METADATA = "__metadata__"

MOST_AXES = 64
"""NumPy's limit: no array could have more."""


def type_of(fmt: Format) -> str | None:
    """Return what safetensors calls a format, or None."""
    if not is_onnx_row(fmt):  # F8_E4M3 is float8_e4m3fn, not ml_dtypes' float8_e4m3
        return None
    if fmt.kind is Kind.BOOL:
        return "BOOL"
    if fmt.kind is Kind.COMPLEX:
        return "C64" if fmt.bits == 64 else None
    if fmt.kind is Kind.INT:
        return f"{'I' if fmt.signed else 'U'}{fmt.bits}" if fmt.bits >= 8 else None
    if fmt.kind is not Kind.FLOAT:
        return None
    if fmt.bits > 8:
        return "BF16" if fmt.bits == 16 and fmt.exponent_bits == 8 else f"F{fmt.bits}"
    if fmt.bits == 4:
        return "F4"
    suffix = "FNUZ" if fmt.nan is NaNRule.NEGATIVE_ZERO else ""
    return f"F{fmt.bits}_E{fmt.exponent_bits}M{fmt.mantissa_bits}{suffix}"


_TYPES = {name: fmt for fmt in FORMATS.values() if (name := type_of(fmt))}


class _RefusedError(Exception):
    """Why a file is no safetensors file."""


def _numbers(value: object) -> tuple[int, ...]:
    if not isinstance(value, list) or any(type(n) is not int or not 0 <= n < 2**63 for n in value):
        raise TypeError
    return tuple(value)


def _entry(name: str, value: bytes, start: int, path: Path) -> StoredTensor:
    try:
        fields: Any = decode(value) if len(value) <= LONGEST_ENTRY else None
    except ValueError as error:
        raise _RefusedError(f"the entry of tensor {ascii(name)[:80]} is not JSON ({str(error)[:80]})") from None
    try:
        if fields.keys() != {"dtype", "shape", "data_offsets"}:
            raise TypeError
        shape, (begin, end) = _numbers(fields["shape"]), _numbers(fields["data_offsets"])
        type_name = str(fields["dtype"])
    except (AttributeError, TypeError, ValueError):
        raise _RefusedError(f"tensor {ascii(name)[:80]} must have a dtype, a shape and two data_offsets") from None
    fmt = _TYPES.get(type_name)
    if fmt is None:
        raise _RefusedError(f"tensor {ascii(name)[:80]} has the unknown dtype {ascii(type_name)[:40]}")
    if len(shape) > MOST_AXES:
        raise _RefusedError(f"tensor {ascii(name)[:80]} has {len(shape)} axes, more than {MOST_AXES}")
    bits = math.prod(shape) * fmt.bits
    if bits % 8:
        raise _RefusedError(f"tensor {ascii(name)[:80]} ends within a byte")
    if end - begin != bits // 8:
        text = f"its shape and {type_name} ask for {bits // 8 if bits < 2**70 else 'far too many'} bytes"
        raise _RefusedError(f"tensor {ascii(name)[:80]} has {end - begin} bytes, {text}")
    location = FileRegion(path, start + begin, end - begin)
    return StoredTensor(name, shape, fmt if fmt in NUMERIC else None, type_name, location, packed=fmt.bits < 8)


def _check_places(tensors: Sequence[StoredTensor], start: int, size: int) -> None:
    places = [
        (one.location.offset, one.location.nbytes, one.name) for one in tensors if isinstance(one.location, FileRegion)
    ]
    at = start
    for offset, nbytes, name in sorted(places):
        if offset != at:
            how = "overlaps the one before it" if offset < at else "leaves a hole before it"
            raise _RefusedError(f"tensor {ascii(name)[:80]} {how}")
        at += nbytes
        if at > size:
            raise _RefusedError(f"tensor {ascii(name)[:80]} ends {at - size} bytes past the end of the file")
    if at != size:
        raise _RefusedError(f"it has {size - at} bytes after the last tensor")


def _as_noted(tensor: StoredTensor, note: Any) -> StoredTensor:
    """Return a tensor as the metadata say it is: scales along an axis or of blocks, or a U8 tensor as packed codes."""
    if isinstance(note, dict) and note.keys() == {"axis"} and type(note["axis"]) is int and note["axis"] >= 0:
        return replace(tensor, axis=note["axis"])
    try:
        if isinstance(note, dict) and note.keys() == {"block"}:
            block = _numbers(note["block"])
            if len(block) != 2 or 0 in block:
                raise TypeError
            return replace(tensor, block=(block[0], block[1]))
        named, shape = note["format"], _numbers(note["shape"])
        fmt = format_described_by(named) if isinstance(named, dict) else FORMATS[named]
        packs = is_packable(fmt)
        registered = not (isinstance(named, dict) or is_in_table(fmt))  # in this process, not wherever the file goes
        wrong = registered or (is_onnx_row(fmt) and not packs)
        wrong = wrong or tensor.type_name != _holder(fmt) or len(shape) > MOST_AXES
    except ValueError as error:
        title = f"tensor {ascii(tensor.name)[:80]}"
        raise _RefusedError(f"the entry {NOTE!r} of its metadata describes no format for {title}; {error}") from None
    except (TypeError, KeyError):
        wrong = True
    if wrong or _nbytes(math.prod(shape), fmt) != tensor.location.nbytes:
        raise _RefusedError(f"tensor {ascii(tensor.name)[:80]} is not what the entry {NOTE!r} of the metadata says")
    return StoredTensor(tensor.name, shape, fmt, _holder(fmt), tensor.location, packed=packs)


def _holder(fmt: Format) -> str:
    """Return the type that holds the codes of a format that safetensors lacks."""
    return f"U{fmt.storage_bits}"


def _nbytes(n: int, fmt: Format) -> int:
    return packed_bytes(n, fmt) if is_packable(fmt) else n * fmt.storage_bits // 8


def _parse(path: Path, limits: Limits) -> tuple[dict[str, str], list[StoredTensor]]:
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        start = stream.read(START)
        check_pointer(path, start)
        length = int.from_bytes(start[:8], "little")
        if size < 8:
            raise _RefusedError(f"it has {size} bytes, too few for a header")
        if not 2 <= length <= min(LONGEST_HEADER, size - 8):
            limit = f"from 2 to {min(LONGEST_HEADER, size - 8)}"
            raise _RefusedError(f"its header must have {limit} bytes; it says {length}")
        limits.check_bytes(length, "its header")
        stream.seek(8)
        text = stream.read(length)
    if not text.startswith(b"{"):
        raise _RefusedError("its header must be a JSON object")
    tensors: list[StoredTensor] = []
    metadata: dict[str, str] = {}
    names: set[str] = set()
    wrong: _RefusedError | None = None
    for name, value in _entries(text, "its header"):
        if name in names:
            raise _RefusedError(f"its header names {ascii(name)[:80]} twice")
        names.add(name)
        limits.check_tensors(len(names))
        if name == METADATA:
            metadata = _metadata(value, limits)
        elif wrong is None:
            try:
                tensors.append(_entry(name, value, 8 + length, path))
            except _RefusedError as error:  # unless what follows is not even JSON
                wrong = error
    if wrong is not None:
        raise wrong
    _check_places(tensors, 8 + length, size)
    return metadata, _noted(tensors, metadata.get(NOTE, "{}"))


def _entries(text: bytes, what: str) -> Iterator[tuple[str, bytes]]:
    try:
        yield from entries(text)
    except ValueError as error:
        raise _RefusedError(f"{what} is not JSON ({str(error)[:80]})") from None


def _metadata(value: bytes, limits: Limits) -> dict[str, str]:
    metadata: dict[str, str] = {}
    if value.startswith(b"{"):
        for name, text in _entries(value, "its __metadata__"):
            if name in metadata:
                raise _RefusedError(f"its __metadata__ names {ascii(name)[:80]} twice")
            if not text.startswith(b'"'):
                break
            metadata[name] = decode(text)
            limits.check_tensors(len(metadata), "texts")
        else:
            return metadata
    raise _RefusedError("its __metadata__ must be texts by name")


def _noted(tensors: list[StoredTensor], text: str) -> list[StoredTensor]:
    """Return the tensors, those that the metadata say something about as what they say."""
    places = {one.name: index for index, one in enumerate(tensors)} if text != "{}" else {}
    try:
        notes = text.encode("utf-8")
        for name, value in entries(notes):
            index = places.pop(name)  # so that a second time is an error
            note = decode(value) if len(value) <= LONGEST_ENTRY else None
            tensors[index] = _as_noted(tensors[index], note)
    except (ValueError, KeyError):
        raise _RefusedError(f"the entry {NOTE!r} of its metadata must be JSON about tensors that are there") from None
    return tensors


class SafetensorsFile:
    """A .safetensors file."""

    suffixes: tuple[str, ...] = (SUFFIX,)
    packs = True
    codes_suffix = ""
    names_formats = True
    part = ""
    remarks: Sequence[str] = ()
    publish = staticmethod(rename_file)

    def __init__(self, path: Path, limits: Limits = DEFAULT) -> None:
        """Read the header; raise FileError unless every byte of the file is accounted for."""
        self.path = path
        try:
            self.metadata, self.tensors = _parse(path, limits)
        except FileError:
            raise
        except OSError as error:
            raise FileError(f"{path}: {reason(error)}") from None
        except (_RefusedError, ValueError) as error:
            raise FileError(f"{path}: must be a readable .safetensors file; {error}") from None

    @classmethod
    def alone(cls, path: Path, limits: Limits = DEFAULT, *, part: bool = False) -> SafetensorsFile:
        """Open a file that is given by itself; one that its name says is a part of a model only if `part` says so."""
        file, name = cls(path, limits), part_name(path.name)
        if name is None:
            return file
        missing, total = missing_parts([name], {path.name, *os.listdir(path.parent)})
        if not part:
            lost = f", and {are_missing(missing, total)}" if total else ""
            raise FileError(f"{path}: is {name} of a model{lost}; give the whole folder, or `part` to take it alone")
        file.part = str(name)
        file.remarks = [f"{name} of a model was taken alone"]
        return file

    def arrange(self, outputs: Sequence[OutputTensor], target: Path, overwrite: bool = False) -> OutputFiles:
        """Return a file with the same metadata."""
        return arrange_safetensors(outputs, target, self.metadata)

    def name_scope(self, tensor: StoredTensor) -> str:
        """Names must differ within the file."""
        return ""


def arrange_safetensors(
    outputs: Sequence[OutputTensor], target: Path, metadata: Mapping[str, str] | None = None
) -> OutputFiles:
    """Return a .safetensors file: the widest elements first, so that all are aligned."""
    entries: dict[str, tuple[str, Sequence[int]]] = {}
    notes: dict[str, dict[str, Any]] = {}
    for output in outputs:
        shape: Sequence[int] = output.shape
        type_name = output.type_name if output.fmt is None else type_of(output.fmt)
        if output.fmt is None and type_name not in _TYPES:
            raise FileError(f"{target}: safetensors has no type for {ascii(output.name)[:80]}, which is {type_name}")
        if output.fmt is not None and (type_name is None or output.nbytes * 8 != output.fmt.bits * _size(output)):
            type_name = _holder(output.fmt)
            shape = _rows(output, output.fmt) if is_packable(output.fmt) else output.shape
            notes[output.name] = {"format": _named(output.fmt), "shape": list(output.shape)}
        elif output.axis is not None:
            notes[output.name] = {"axis": output.axis}
        elif output.block is not None:
            notes[output.name] = {"block": list(output.block)}
        entries[output.name] = str(type_name), shape
    order = sorted(range(len(outputs)), key=lambda i: -_TYPES[entries[outputs[i].name][0]].bits)
    metadata = {key: value for key, value in (metadata or {}).items() if key != NOTE}
    if notes:
        metadata = {**metadata, NOTE: json.dumps(notes)}
    fields: dict[str, object] = {"__metadata__": metadata} if metadata else {}
    offsets, at = [0] * len(outputs), 0
    for index in order:
        name, end = outputs[index].name, at + outputs[index].nbytes
        fields[name] = {"dtype": entries[name][0], "shape": list(entries[name][1]), "data_offsets": [at, end]}
        offsets[index], at = at, end
    text = json.dumps(fields, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise FileError(f"{target}: its header would have {len(text)} bytes, more than {LONGEST_HEADER}")
    start = 8 + len(text)
    file = OutputFile(target.name, start + at, ((0, len(text).to_bytes(8, "little") + text),))
    return OutputFiles([file], [Slot(0, start + offset) for offset in offsets])


def _named(fmt: Format) -> str | dict[str, str | int | bool]:
    """Return the name of a row of ONNX, or the description of another format, which earlier versions read too."""
    return fmt.name if is_onnx_row(fmt) else description_of(fmt)


def _size(output: OutputTensor) -> int:
    return math.prod(output.shape)


def _rows(output: OutputTensor, fmt: Format) -> Sequence[int]:
    """Return the shape of packed bytes: that of the codes where rows end with a byte, else flat."""
    if output.shape and output.shape[-1] * fmt.bits % 8 == 0:
        return (*output.shape[:-1], output.shape[-1] * fmt.bits // 8)
    return (output.nbytes,)
