"""Headers written by strangers: JSON objects read entry by entry, and what `max_memory` has room for.

`json.loads` of a whole header takes up to thirty times its bytes before anything can be refused. Here one entry at a
time is looked at; what is in none of them costs nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["BASE", "DEFAULT", "LONGEST_ENTRY", "PER_TENSOR", "Limits", "decode", "entries", "parse_size"]

BASE = 48 << 20
"""Bytes for the interpreter, its modules and the least that one worker needs."""

PER_TENSOR = 2 << 10
"""Bytes that a tensor takes from its entry in a header to its line in the report, measured with 100,000 of them."""

LONGEST_ENTRY = 1 << 16
"""Bytes of an entry other than a text or an object of texts and numbers; 64 axes take less than 2,000."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be read into so many bytes of memory.

    Attributes
    ----------
    memory : int
        Bytes for everything.
    """

    memory: int

    @property
    def size(self) -> str:
        """The memory, as an error says it."""
        return f"{self.memory >> 20}M"

    @property
    def tensors(self) -> int:
        """How many tensors there may be."""
        return max(0, self.memory - BASE) // PER_TENSOR

    def check_bytes(self, nbytes: int, what: str, share: int = 16) -> None:
        """Raise ValueError where something has more bytes than a share of the memory, which is what it becomes.

        A text takes up to four times its bytes, and twice that while it is decoded.
        """
        if nbytes > self.memory // share:
            raise ValueError(f"{what} has {nbytes} bytes: `max_memory` must be at least {-(-nbytes * share >> 20)}M")

    def check_tensors(self, n: int, what: str = "tensors") -> None:
        """Raise ValueError where there are more tensors, or other names, than there is room for."""
        if n > self.tensors:
            raise ValueError(f"it holds more than {self.tensors} {what}: `max_memory` must be more than {self.size}")


def parse_size(text: int | str) -> int:
    """Return a number of bytes, which may be written as 256M or 2GiB."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    found = re.fullmatch(r"([0-9]{1,15})([KMGT]?)(i?B)?", str(text))
    if not found:
        raise ValueError(f"`max_memory` must be a number of bytes such as 256M; got {text!r}")
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[found[2]]


DEFAULT = Limits(256 << 20)

_SPACE = rb"[ \t\r\n]*+"
_TEXT = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_NAME = re.compile(_SPACE + b"(" + _TEXT + b")" + _SPACE + b":" + _SPACE, re.DOTALL)
_SIMPLE = re.compile(
    # a text; an object with no object in it; a number or a word
    _TEXT + rb'|\{[^{}"]*+(?:' + _TEXT + rb'[^{}"]*+)*+\}|[^][{}",: \t\r\n]++',
    re.DOTALL,
)
_BRACKETS = re.compile(_TEXT + rb"|[][{}]", re.DOTALL)
_NEXT = re.compile(_SPACE + b"([,}])" + _SPACE)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"it names {ascii(twice)[:60]} twice")
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs)


def decode(text: bytes) -> Any:
    """Return what a short piece of JSON says; raise ValueError where it is none, or names something twice."""
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is too deep") from None


def _end(text: bytes, at: int) -> int:
    """Return where the value at an offset ends."""
    simple = _SIMPLE.match(text, at)
    if simple:
        return simple.end()
    depth = 0
    for found in _BRACKETS.finditer(text, at, at + LONGEST_ENTRY):
        depth += (found[0] in (b"[", b"{")) - (found[0] in (b"]", b"}"))
        if depth <= 0:
            return found.end()
    raise ValueError(f"the value at byte {at} does not end")


def entries(text: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the names and the values, these undecoded, of a JSON object; raise ValueError where it is none."""
    if text[:1] != b"{":
        raise ValueError("it is no object")
    first = _NEXT.match(text, 1)
    at, ended = (first.end(), True) if first and first[1] == b"}" else (1, False)
    while not ended:
        name = _NAME.match(text, at)
        if not name:
            raise ValueError(f"no name at byte {at}")
        end = _end(text, name.end())
        yield decode(name[1]), text[name.end() : end]
        after = _NEXT.match(text, end)
        if not after:
            raise ValueError(f"no comma at byte {end}")
        at, ended = after.end(), after[1] == b"}"
    if at != len(text):
        raise ValueError(f"something follows at byte {at}")
