"""Saturation: the tables of ONNX's Cast for special and large values, computed by the kernels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lowprec import Format, encode
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import FLOAT8_E8M0FNU, NUMERIC, Kind
from lowprec.spec.opset_rules import ATTRIBUTE_SINCE, NEWEST, first_opset
from lowprec.spec.round_modes import ROUND_MODES

from .anatomy import classify
from .numbers import short

__all__ = ["Cell", "Row", "Table", "edges", "floats", "integers", "powers"]


@dataclass(frozen=True, slots=True)
class Cell:
    """The code that the kernel gives for a number, `input`; `changed` if it is another one at the newest opset."""

    format: Format
    input: str
    code: int
    value: Value
    kind: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Row:
    """A kind of input, and a cell for each column."""

    label: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns by name, and rows."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]


_NEGATIVE_NAN = math.copysign(math.nan, -1)
_SPECIAL = (
    ("0", 0.0),
    ("-0", -0.0),
    ("NaN", math.nan),
    ("-NaN", _NEGATIVE_NAN),
    ("+Inf", math.inf),
    ("-Inf", -math.inf),
)


def edges(fmt: Format) -> tuple[float, float]:
    """Return the last float64 that rounds to the largest value of a float format, and the next one."""
    half = math.ldexp(1.0, fmt.emax - fmt.mantissa_bits - 1)
    tie = float(fmt.max) + half
    # a tie goes to the even code: to the largest one where that is even
    return (tie, math.nextafter(tie, math.inf)) if fmt.max_code % 2 == 0 else (math.nextafter(tie, 0.0), tie)


def _edge_text(number: float, fmt: Format) -> str:
    """Return a number next to the edge by its distance to it: ``464+ε``."""
    tie = Fraction(fmt.max) + Fraction(2) ** (fmt.emax - fmt.mantissa_bits - 1)
    sign = {-1: "−ε", 0: "", 1: "+ε"}[(Fraction(number) > tie) - (Fraction(number) < tie)]
    return f"{short(tie, 8, 3)}{sign}"


def _cells(
    inputs: Sequence[tuple[str, float]], fmt: Format, opset: int, saturate: bool = True, round_mode: str | None = None
) -> tuple[Cell, ...]:
    numbers = np.array([number for _, number in inputs], np.float64)
    codes, newest = (
        encode(numbers, fmt, saturate=saturate, round_mode=round_mode, opset=version) for version in (opset, NEWEST)
    )
    return tuple(
        Cell(fmt, text, int(code), decode(int(code), fmt), classify(int(code), fmt), bool(code != last))
        for (text, _), code, last in zip(inputs, codes, newest, strict=True)
    )


def _rows(labels: Iterable[str], columns: Sequence[Sequence[Cell]]) -> tuple[Row, ...]:
    return tuple(Row(label, cells) for label, cells in zip(labels, zip(*columns, strict=True), strict=True))


def floats(opset: int, saturate: bool | None) -> Table:
    """Return special values and both edges of the range in the float formats of up to 16 bits that the opset has.

    With True or False: those that `saturate` concerns. With None: those that it does not.
    """
    formats = [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits <= 16 and fmt.has_zero and first_opset(fmt) <= opset]
    formats = [fmt for fmt in formats if (fmt.saturates == "asked") == (saturate is not None)]
    columns = []
    for fmt in formats:
        last, first = edges(fmt)
        inputs = [
            *_SPECIAL,
            (_edge_text(last, fmt), last),
            (_edge_text(first, fmt), first),
            ("-2·max", -2 * float(fmt.max)),
        ]
        columns.append(_cells(inputs, fmt, opset, saturate is not False))
    labels = [*(label for label, _ in _SPECIAL), "last x that fits", "first x beyond", "beyond, negative"]
    return Table(tuple(fmt.name for fmt in formats), _rows(labels, columns))


def powers(opset: int) -> Table | None:
    """Return the power-of-two scale by `round_mode` and `saturate`, or None before the opset that has it."""
    if opset < ATTRIBUTE_SINCE["Cast"]["round_mode"]:
        return None
    fmt = FLOAT8_E8M0FNU
    low, high = math.ldexp(1.0, fmt.emin), math.ldexp(1.0, fmt.emax)
    inputs = [
        ("0", 0.0),
        ("NaN", math.nan),
        ("+Inf", math.inf),
        (f"2^{fmt.emin - 1}", low / 2),
        (f"2^{fmt.emin}", low),
        ("1.25", 1.25),
        ("1.5", 1.5),
        ("1.75", 1.75),
        ("-3", -3.0),
        (f"2^{fmt.emax}", high),
        (f"2^{fmt.emax}+ε", math.nextafter(high, math.inf)),
        (f"2^{fmt.emax + 1}", 2 * high),
    ]
    choices = [(saturate, mode) for saturate in (True, False) for mode in ROUND_MODES]
    columns = [_cells(inputs, fmt, opset, saturate, mode) for saturate, mode in choices]
    names = tuple(f"{mode}, saturate={int(saturate)}" for saturate, mode in choices)
    return Table(names, _rows([text for text, _ in inputs], columns))


def integers(opset: int) -> Table:
    """Return how floats truncate and wrap in the integer formats of up to 16 bits that the opset has, and in bool."""
    formats = [fmt for fmt in NUMERIC if not fmt.is_float and fmt.bits <= 16 and first_opset(fmt) <= opset]
    formats.sort(key=lambda fmt: (fmt.kind is Kind.BOOL, fmt.bits))
    inputs = [
        ("1.9", 1.9),
        ("-1.9", -1.9),
        ("-1", -1.0),
        ("200", 200.0),
        ("-200", -200.0),
        ("70000", 7e4),
        ("3e9", 3e9),
        ("NaN", math.nan),
        ("+Inf", math.inf),
        ("-Inf", -math.inf),
    ]
    columns = [_cells(inputs, fmt, opset) for fmt in formats]
    return Table(tuple(fmt.name for fmt in formats), _rows([text for text, _ in inputs], columns))
