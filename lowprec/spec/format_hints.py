"""Which names somebody may have meant who wrote one that no format has."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

__all__ = ["near_names", "one_of"]

_MOST = 3
"""Names that a message suggests."""

_LONGEST = 64
"""Characters of a text that is compared with names: what is longer is none, and comparing takes its square."""

_SPELLINGS = (
    (re.compile(r"^[a-z0-9_.]*\."), ""),
    (re.compile("[^a-z0-9]"), ""),
    (re.compile("^(mx|nv)(?=fp|float|int)"), ""),
    (re.compile("^fp?(?=[0-9])"), "float"),
    (re.compile("^(u?)i(?=[0-9])"), r"\1int"),
    (re.compile("^u(?=[0-9])"), "uint"),
)
"""Case, marks, libraries, abbreviations that do not count: F8_E4M3, fp8-e4m3, torch.Float8_e4m3 are spelled alike."""

_WIDTH = re.compile("(u?int)([0-9]{1,4})")


def _plain(text: str) -> str:
    plain = text.lower()
    for pattern, replacement in _SPELLINGS:
        plain = pattern.sub(replacement, plain)
    return plain


def _neighbours(prefix: str, width: int, names: Iterable[str]) -> list[str]:
    """Return the integers of the next smaller and the next larger width."""
    found = [(match[1], int(match[2]), name) for name in names if (match := _WIDTH.fullmatch(name))]
    widths = {bits: name for kind, bits, name in found if kind == prefix}
    below, above = [bits for bits in widths if bits < width], [bits for bits in widths if bits > width]
    return [widths[bits] for bits in (max(below, default=0), min(above, default=0)) if bits]


def near_names(text: str, names: Iterable[str], nicknames: Mapping[str, Sequence[str]]) -> list[str]:
    """Return those of `names`, at most three, that a text which is none of them may mean; the likeliest first.

    `nicknames` are what formats are called elsewhere, in lower case without marks, and the names that each stands for.

    Examples
    --------
    >>> names = ["float16", "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz", "int2", "int4"]
    >>> [near_names(text, names, {"half": ["float16"]}) for text in ("Half", "E4M3", "e5m2", "int3", "flaot16", "")]
    [['float16'], ['float8_e4m3fn'], ['float8_e5m2'], ['int2', 'int4'], ['float16'], []]
    """
    key = _plain(text[: _LONGEST + 1])
    if not key or len(text) > _LONGEST:
        return []
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    meant = nicknames.get(key) or nicknames.get(re.sub("^float[0-9]+(?=e)", "", key))
    if meant:
        return list(meant)
    if key in plain:
        return [plain[key]]
    if integer := _WIDTH.fullmatch(key):
        return _neighbours(integer[1], int(integer[2]), plain.values())
    found = [one for one in plain if one.endswith(key)] or [one for one in plain if key in one]
    found = found or difflib.get_close_matches(key, plain, _MOST, 0.5)
    return [plain[one] for one in found[:_MOST]]


def one_of(names: Sequence[str]) -> str:
    """Return the question that suggests names.

    Examples
    --------
    >>> one_of(["int2", "int4"])
    'did you mean int2 or int4?'
    """
    return f"did you mean {' or '.join(names)}?"
