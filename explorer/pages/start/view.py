"""A format as a ruler from -8 to 8: its values and their codes, and for each number the code that it rounds to."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from lowprec import Format, as_format
from lowprec.reference import Value, decode
from lowprec.teaching import format_facts

from ...shared.codes import NAMES, anatomy, classify, fields
from ...shared.numbers import short

__all__ = ["FORMATS", "NUMBERS", "Box", "Mark", "Rounded", "Ruler", "number_text", "place_of", "ruler"]

FORMATS = {"float4_e2m1fn": "e2m1", "float6_e2m3fn": "e2m3", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2"}
"""The formats that can be chosen, and the short names on their buttons."""

END = 8
"""Where the ruler ends, on both sides."""

NUMBERS = tuple(str(Value.of(Fraction(tenths, 10))) for tenths in range(-10 * END, 10 * END + 1))
"""The numbers that can be dragged to, as in a link."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A value of the format: its code and bits, its text, and the places of the first and the last number it takes.

    The places count NUMBERS; None where none of these numbers becomes this value.
    """

    code: int
    value: Fraction
    text: str
    bits: tuple[str, str, str]
    places: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Box:
    """Codes in a row that agree in a field: `first` to `last` of the marks, and the places of the numbers they take."""

    field: str
    kind: str
    bits: str
    first: int
    last: int
    places: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Rounded:
    """A number of NUMBERS, and what becomes of it: the mark, its bits, its value, and how far away that is, as text."""

    number: str
    text: str
    mark: int
    bits: str
    value: str
    away: str


@dataclass(frozen=True, slots=True)
class Ruler:
    """The marks from left to right, the rows of boxes over them, every number with its result; how many values."""

    format: Format
    marks: tuple[Mark, ...]
    boxes: tuple[Box, ...]
    numbers: tuple[Rounded, ...]
    range: str


def number_text(text: str) -> str:
    """Return a number as it is shown, with a minus sign."""
    return text.replace("-", "−")


def place_of(text: str) -> int:
    """Return the place of a number in NUMBERS, or raise ValueError."""
    try:
        return NUMBERS.index(str(Value.of(text)))
    except ValueError:
        raise ValueError(f"`x` must be a number from -{END} to {END}, in steps of 0.1; got {text[:40]!r}") from None


@functools.cache
def ruler(name: str) -> Ruler:
    """Return the ruler of a format."""
    fmt = as_format(name)
    positive = [code for code in range(fmt.max_code + 1) if decode(code, fmt).number <= END]
    codes = [*(code | fmt.sign_mask for code in reversed(positive)), *positive]
    results = [anatomy(text, fmt) for text in NUMBERS]
    taken = {
        code: (found[0], found[-1])
        for code in codes
        if (found := [place for place, result in enumerate(results) if result.code == code])
    }
    marks = tuple(_mark(code, fmt, taken.get(code)) for code in codes)
    numbers = tuple(
        Rounded(
            text,
            number_text(text),
            codes.index(result.code),
            f"{result.code:0{fmt.bits}b}",
            number_text(str(result.value)),
            f"{short(abs(result.error), 9, 3)} away" if result.error else "exact: nothing is lost",
        )
        for text, result in zip(NUMBERS, results, strict=True)
    )
    facts = format_facts(fmt)
    where = f"up to {facts.largest}" if facts.largest.number > END else "all of them here"
    boxes = tuple(box for row in range(len(NAMES)) for box in _boxes(marks, row, fmt))
    return Ruler(fmt, marks, boxes, numbers, f"{facts.numbers} numbers, {where}")


def _mark(code: int, fmt: Format, places: tuple[int, int] | None) -> Mark:
    value = decode(code, fmt)
    sign, exponent, mantissa = (field.bits for field in fields(code, fmt))
    return Mark(code, value.number, number_text(str(value)), (sign, exponent, mantissa), places)


def _boxes(marks: tuple[Mark, ...], row: int, fmt: Format) -> list[Box]:
    """Return the boxes of a row: the mantissa has one a mark, the others one for all marks with the same bits."""
    found = []
    for bits, group in groupby(enumerate(marks), lambda one: one[1].bits[: row + 1]):
        members = list(group)
        places = [place for _, mark in members if mark.places for place in mark.places]
        kind = NAMES[row]
        if row == 1 and all(classify(mark.code, fmt) in ("zero", "subnormal") for _, mark in members):
            kind = "subnormal"
        reach = (min(places), max(places)) if places else None
        found.append(Box(NAMES[row], kind, bits[row], members[0][0], members[-1][0], reach))
    return found
