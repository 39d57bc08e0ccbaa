"""Files that are parts of a model, as names such as model-00001-of-00003.safetensors say; which parts are missing."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

__all__ = ["PartName", "are_missing", "missing_parts", "part_name"]

_NAME = re.compile(
    r"(?P<stem>.+)-(?P<number>[0-9]{5,6})(?P<rest>-of-(?P<count>[0-9]{5,6})\.(safetensors|gguf))", re.DOTALL
)

LISTED = 3
"""How many missing files are named."""


@dataclass(frozen=True, slots=True)
class PartName:
    """The name of a part.

    Attributes
    ----------
    stem, rest : str
        What stands before and after the number of the part; `rest` says how many parts there are.
    number, count : int
        Which part it is, from 1 on (a few tools count from 0), of how many.
    width : int
        How many digits the number has.
    """

    stem: str
    rest: str
    number: int
    count: int
    width: int

    def __str__(self) -> str:
        return f"part {self.number} of {self.count}"

    def of_number(self, number: int) -> str:
        """Return the name of another part of the model."""
        return f"{self.stem}-{number:0{self.width}}{self.rest}"


def part_name(name: str) -> PartName | None:
    """Return what the name of a file says of the part that it is; None where it is no part of several."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    number, count = int(match["number"]), int(match["count"])
    if count < 2 or number > count:
        return None
    return PartName(match["stem"], match["rest"], number, count, len(match["number"]))


def missing_parts(parts: Iterable[PartName], present: Collection[str]) -> tuple[list[str], int]:
    """Return which parts of the models of some parts are not present: the first names, and how many there are."""
    names: list[str] = []
    total = 0
    found = [part for part in map(part_name, present) if part is not None]
    for one in {(one.stem, one.rest, one.width): one for one in parts}.values():
        numbers = {part.number for part in found if part.of_number(0) == one.of_number(0)}
        first = 0 if 0 in numbers else 1
        wanted = range(first, first + one.count)
        lost = (number for number in wanted if number not in numbers)
        names += map(one.of_number, itertools.islice(lost, LISTED))
        total += one.count - sum(number in wanted for number in numbers)
    return names[:LISTED], total


def are_missing(names: Collection[str], total: int) -> str:
    """Return in words that files are missing, given some names of so many."""
    listed = [ascii(name)[1:-1][:80] for name in itertools.islice(names, LISTED)]
    more = [f"{total - len(listed)} more"] if total > len(listed) else []
    *others, last = listed + more
    text = f"{', '.join(others)} and {last}" if others else last
    return f"{text} {'is' if total == 1 else 'are'} missing"
