"""Anatomy: the fields, the formula, the value and the neighbours of one code; the table of all codes."""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable
from dataclasses import dataclass

from lowprec import Format
from lowprec.explanation import hex_float
from lowprec.reference.exact_cast import decode
from lowprec.spec.formats import Kind

from ...shared.code_table import number_text
from ...shared.codes import Anatomy, Neighbour, Part, binades, classify, formula, neighbours, window
from ...shared.numbers import apart, code_text, digits_of, power_form, short

__all__ = [
    "BinadeCell",
    "CodeTexts",
    "TextTable",
    "binade_cells",
    "csv_text",
    "facts",
    "formula_slots",
    "text_table",
]

_LOW_BITS = 8
"""Of a code that is no float of up to 16 bits, so many of the lowest bits are in the table of its texts."""

_MOST_BITS = 10
"""So many at most: in binary16p16ue half of all codes are one binade, whose texts would take seconds."""


@dataclass(frozen=True, slots=True)
class CodeTexts:
    """The texts of one code in the picture, and its neighbours' codes as bits; "" where there is none."""

    code: str
    equals: str
    value: str
    kind: str
    powers: str
    sentence: str
    below: str
    below_code: str
    below_bits: str
    below_away: str
    above: str
    above_code: str
    above_bits: str
    above_away: str
    formula: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextTable:
    """The texts of neighbouring codes: of all that have the bits before `first_bit` in common, in their order."""

    first_bit: int
    prefix: str
    rows: tuple[CodeTexts, ...]


@dataclass(frozen=True, slots=True)
class BinadeCell:
    """A binade in the map of a format: its first code as bits, the bits all its codes begin with, text and class."""

    bits: str
    prefix: str
    text: str
    kind: str


def formula_slots(fmt: Format) -> tuple[Part, ...]:
    """Return the pieces of a format's formula; the texts of those of one code are in `CodeTexts.formula`."""
    return formula(0, fmt, classify(0, fmt))


def text_table(code: int, fmt: Format) -> TextTable:
    """Return the texts of a code and of those around it: all up to 8 bits, up to 16 at most 1024 of its binade."""
    if fmt.bits <= 8:
        low = fmt.bits if fmt.kind is not Kind.BOOL else 1
    else:
        is_short = fmt.is_float and fmt.bits <= 16 and fmt.mantissa_bits
        low = min(fmt.mantissa_bits, _MOST_BITS) if is_short else _LOW_BITS
    first = code >> low << low
    return TextTable(fmt.bits - low, f"{code:0{fmt.bits}b}"[: fmt.bits - low], _rows(first, low, fmt))


@functools.lru_cache(maxsize=64)
def _rows(first: int, low: int, fmt: Format) -> tuple[CodeTexts, ...]:
    return tuple(_texts(code, fmt) for code in range(first, first + (1 << low)))


def _texts(code: int, fmt: Format) -> CodeTexts:
    value, kind = decode(code, fmt), classify(code, fmt)
    slots = formula_slots(fmt)
    parts = formula(code, fmt, kind)
    texts = ("",) * len(slots) if value.special else tuple(part.text for part in parts)
    below, above = neighbours(code, fmt)
    shown = short(value, 26 if fmt.bits > 16 else 16, max(12, digits_of(fmt)))
    powers = "" if value.special or not fmt.is_float else f"{hex_float(value)}   {power_form(value)}".strip()
    return CodeTexts(
        f"{code_text(code, fmt)} = {code}",
        "" if value.special or shown.startswith("≈") else "= ",
        number_text(shown),
        kind,
        number_text(powers),
        parts[0].text if value.special else "",
        *_neighbour_texts(below, fmt),
        *_neighbour_texts(above, fmt),
        texts + ("",) * (len(slots) - len(texts)),
    )


def _neighbour_texts(near: Neighbour | None, fmt: Format) -> tuple[str, str, str, str]:
    if near is None:
        return "none", "", "", ""
    away = "" if near.distance is None else number_text(short(near.distance))
    return number_text(apart(near.value, fmt)), code_text(near.code, fmt), f"{near.code:0{fmt.bits}b}", away


def binade_cells(fmt: Format) -> tuple[BinadeCell, ...]:
    """Return the binades of a format of up to 16 bits, in the order of their codes."""
    outer = fmt.bits - fmt.mantissa_bits
    return tuple(
        BinadeCell(f"{first:0{fmt.bits}b}", f"{first:0{fmt.bits}b}"[:outer], number_text(text), kind)
        for text, _, kind, first in binades(fmt)
    )


def facts(anatomy: Anatomy) -> tuple[tuple[str, str], ...]:
    """Return (name, text) of the facts about a code; an inexact text begins with ≈."""
    value = anatomy.value
    rows = [("code", f"{code_text(anatomy.code, anatomy.format)} = {anatomy.code}")]
    if not value.special:
        rows += [("exact decimal", str(value)), ("hex-float", hex_float(value)), ("power of two", power_form(value))]
    for name, near in (("previous", anatomy.below), ("next", anatomy.above)):
        if near and near.distance is not None:
            rows.append(
                (
                    name,
                    f"{apart(near.value, anatomy.format)}  code {code_text(near.code, anatomy.format)}, "
                    f"{short(near.distance)} away",
                )
            )
    if anatomy.typed is not None and anatomy.error is not None and anatomy.ulps is not None:
        error = "none: exact" if anatomy.is_exact else f"{short(anatomy.error)} = {short(anatomy.ulps)} ulp"
        rows += [("typed", short(anatomy.typed, 40)), ("error of the code", error)]
    elif anatomy.typed is not None:
        rows.append(("typed", short(anatomy.typed, 40)))
    return tuple(rows)


def csv_text(code: int, fmt: Format) -> str:
    """Return the table as CSV: code, bits, class, exact decimal and hex-float of each."""
    return _csv(window(code, fmt), fmt)


@functools.lru_cache(maxsize=16)
def _csv(codes: range, fmt: Format) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("code", "bits", "class", "value", "hex_float"))
    writer.writerows(_csv_rows(codes, fmt))
    return out.getvalue()


def _csv_rows(codes: Iterable[int], fmt: Format) -> Iterable[tuple[str, ...]]:
    for code in codes:
        value = decode(code, fmt)
        yield code_text(code, fmt), f"{code:0{fmt.bits}b}", classify(code, fmt), str(value), hex_float(value)
