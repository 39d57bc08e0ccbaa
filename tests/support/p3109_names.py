"""The 504 names of the formats of IEEE P3109 of 3 to 16 bits, and what they say: 4.0, 3.1."""

from __future__ import annotations

import re

NAMES = [
    f"binary{width}p{precision}{sign}{domain}"
    for width in range(3, 17)
    for precision in range(1, width + 1)
    for sign in "su"
    for domain in "ef"
    if precision < width or sign == "u"
]


def facts_in(name: str) -> tuple[int, int, bool, bool]:
    """Return width, precision, whether there is a sign, whether there is Inf."""
    match = re.fullmatch(r"binary(\d+)p(\d+)([su])([ef])", name)
    assert match
    return int(match[1]), int(match[2]), match[3] == "s", match[4] == "e"
