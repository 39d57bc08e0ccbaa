"""Headers written by strangers: JSON objects read entry by entry, and what `max_memory` has room for.

`json.loads` of a whole header takes up to thirty times its bytes before anything can be refused. Here one entry at a
time is looked at; what is in none of them costs nothing.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

__all__ = ["LONGEST_ENTRY", "decode", "entries"]


LONGEST_ENTRY = 1 << 16
"""Bytes of an entry other than a text or an object of texts and numbers; 64 axes take less than 2,000."""

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
    match = dict(pairs)
    if len(match) < len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise ValueError(f"it names {ascii(twice)[:60]} twice")
    return match


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
    for match in _BRACKETS.finditer(text, at, at + LONGEST_ENTRY):
        depth += (match[0] in (b"[", b"{")) - (match[0] in (b"]", b"}"))
        if depth <= 0:
            return match.end()
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
