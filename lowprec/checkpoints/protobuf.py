"""ONNX model files as protobuf messages on the wire: found and written without loading the weights.

The onnx package parses a whole file into memory, weights included. Here a model is taken apart into what is not weights
(which the onnx package then parses) and the places of the weights.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple

from .stored import Region

__all__ = ["GRAPH", "INITIALIZER", "LARGEST", "RAW", "Anatomy", "dissect", "key"]

LARGEST = (1 << 31) - 1
"""No reader of protobuf takes a longer message."""

# Field numbers of onnx.proto.
GRAPH = 7  # of ModelProto
INITIALIZER = 5  # of GraphProto
RAW = 9  # of TensorProto

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5


class _Field(NamedTuple):
    number: int
    start: int  # of the key
    payload: int  # of what a length-delimited field holds
    end: int
    is_message: bool


@dataclass(frozen=True, slots=True)
class Anatomy:
    """A model: all but its graph, the graph but its initialisers, each of these but its raw bytes, their places."""

    model: bytes
    graph: bytes
    tensors: list[tuple[bytes, Region | None]]


def _varint(stream: IO[bytes]) -> int:
    value = shift = 0
    while True:
        byte = stream.read(1)
        if not byte or shift > 63:
            raise ValueError("it ends within a number")
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            return value & (1 << 64) - 1


def _fields(stream: IO[bytes], start: int, end: int) -> Iterator[_Field]:
    at = start
    while at < end:
        stream.seek(at)
        number, wire = divmod(_varint(stream), 8)
        if wire == _VARINT:
            _varint(stream)
            payload = after = stream.tell()
        elif wire == _LENGTH:
            length = _varint(stream)
            payload = stream.tell()
            after = payload + length
        elif wire in (_FIXED64, _FIXED32):
            payload = stream.tell()
            after = payload + (8 if wire == _FIXED64 else 4)
        else:
            raise ValueError("it holds no protobuf message")
        if after > end or number == 0:
            raise ValueError("it ends within a field")
        yield _Field(number, at, payload, after, wire == _LENGTH)
        at = after


def _without(stream: IO[bytes], start: int, end: int, number: int) -> tuple[bytes, list[_Field]]:
    """Return a message without the fields of a number, and those."""
    rest, found = [], []
    for field in _fields(stream, start, end):
        if field.number == number and field.is_message:
            found.append(field)
        else:
            stream.seek(field.start)
            rest.append(stream.read(field.end - field.start))
    return b"".join(rest), found


def dissect(path: Path) -> Anatomy:
    """Take a model file apart; raise ValueError if it is none."""
    with path.open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        if size > LARGEST:
            raise ValueError(f"it has {size} bytes, more than a protobuf message may have")
        model, graphs = _without(stream, 0, size, GRAPH)
        if len(graphs) != 1:
            raise ValueError(f"it holds {len(graphs)} graphs, not one")
        graph, initializers = _without(stream, graphs[0].payload, graphs[0].end, INITIALIZER)
        tensors = []
        for one in initializers:
            rest, raw = _without(stream, one.payload, one.end, RAW)
            place = Region(path, raw[-1].payload, raw[-1].end - raw[-1].payload) if raw else None
            tensors.append((rest, place))
    return Anatomy(model, graph, tensors)


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
