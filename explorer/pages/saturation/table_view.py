"""Saturation: the tables of ONNX's Cast for special and large values, by the kernels; other formats by the oracle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from lowprec import Format, encode, reference, teaching
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import FLOAT8_E8M0FNU, ONNX_NUMERIC, Kind
from lowprec.spec.operator_versions import ATTRIBUTE_SINCE, NEWEST, first_opset
from lowprec.spec.rounding_modes import ROUND_MODES, NaNName, OverflowName, RoundingName, RoundModeName

from ...shared.codes import classify
from ...shared.numbers import short

__all__ = ["Cell", "OtherColumns", "Row", "Table", "floats", "integers", "powers"]


@dataclass(frozen=True, slots=True)
class Cell:
    """The code that a conversion gives for a number, `input`; `changed` if it is another one at the newest opset."""

    format: Format
    input: str
    code: int
    value: Value
    kind: str
    changed: bool


@dataclass(frozen=True, slots=True)
class OtherColumns:
    """Formats with rules beyond ONNX, a column each; `overflow` is None where the width of a format decides."""

    formats: tuple[Format, ...] = ()
    rounding: RoundingName = "nearest_even"
    overflow: OverflowName | None = None
    nan: NaNName = "signed"

    @property
    def names(self) -> tuple[str, ...]:
        """The heads of the columns."""
        marks = {True: "not in ONNX", False: "not by ONNX's rules"}
        return tuple(f"{fmt.name} ({marks[fmt.onnx_enum is None]})" for fmt in self.formats)


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


_NO_OTHERS = OtherColumns()
_NEGATIVE_NAN = math.copysign(math.nan, -1)
_SPECIAL = (
    ("0", 0.0),
    ("-0", -0.0),
    ("NaN", math.nan),
    ("-NaN", _NEGATIVE_NAN),
    ("+Inf", math.inf),
    ("-Inf", -math.inf),
)


def _edges(fmt: Format, rounding: RoundingName | None = None) -> tuple[tuple[str, Fraction], ...]:
    """Return the last number that fits and the first beyond, each with its place at the edge: ``464+ε``."""
    edge = short(teaching.overflow_edge(fmt, rounding=rounding).number, 8, 3)
    last, first = teaching.overflow_edges(fmt, rounding=rounding)
    is_beyond = teaching.overflow_edge(fmt, rounding=rounding).overflows
    return ((f"{edge}−ε", last), (edge, first)) if is_beyond else ((edge, last), (f"{edge}+ε", first))


def _others(columns: OtherColumns) -> list[tuple[Cell, ...]]:
    """Return the cells of formats with rules beyond ONNX, by the oracle, which takes formats of any width."""
    found = []
    for fmt in columns.formats:
        cells = []
        for text, number in (*_SPECIAL, *_edges(fmt, columns.rounding), ("-2·max", -2 * Fraction(fmt.max))):
            code = reference.encode(number, fmt, rounding=columns.rounding, overflow=columns.overflow, nan=columns.nan)
            cells.append(Cell(fmt, text, code, decode(code, fmt), classify(code, fmt), False))
        found.append(tuple(cells))
    return found


def _cells(
    inputs: Sequence[tuple[str, float]],
    fmt: Format,
    opset: int,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
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


def floats(opset: int, saturate: bool | None, others: OtherColumns = _NO_OTHERS) -> Table:
    """Return special values and both edges of the range in the float formats of up to 16 bits that the opset has.

    With True or False: those that `saturate` concerns. With None: those that it does not. Others come last.
    """
    formats = [
        fmt for fmt in ONNX_NUMERIC if fmt.is_float and fmt.bits <= 16 and fmt.has_zero and first_opset(fmt) <= opset
    ]
    formats = [fmt for fmt in formats if (fmt.saturates == "asked") == (saturate is not None)]
    columns = []
    for fmt in formats:
        edges = ((text, float(number)) for text, number in _edges(fmt))
        inputs = [*_SPECIAL, *edges, ("-2·max", -2 * float(fmt.max))]
        columns.append(_cells(inputs, fmt, opset, saturate is not False))
    labels = [*(label for label, _ in _SPECIAL), "last x that fits", "first x beyond", "beyond, negative"]
    names = (*(fmt.name for fmt in formats), *others.names)
    return Table(names, _rows(labels, [*columns, *_others(others)]))


def powers(opset: int) -> Table | None:
    """Return the power-of-two scale by `round_mode` and `saturate`, or None before the opset that has it."""
    if opset < ATTRIBUTE_SINCE["Cast"]["round_mode"]:
        return None
    fmt = FLOAT8_E8M0FNU
    low, high = fmt.smallest_normal, float(fmt.max)
    beyond = float(teaching.overflow_edges(fmt)[1])
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
        (f"2^{fmt.emax}+ε", beyond),
        (f"2^{fmt.emax + 1}", 2 * high),
    ]
    choices = [(saturate, mode) for saturate in (True, False) for mode in ROUND_MODES]
    columns = [_cells(inputs, fmt, opset, saturate, mode) for saturate, mode in choices]
    names = tuple(f"{mode}, saturate={int(saturate)}" for saturate, mode in choices)
    return Table(names, _rows([text for text, _ in inputs], columns))


def integers(opset: int) -> Table:
    """Return how floats truncate and wrap in the integer formats of up to 16 bits that the opset has, and in bool."""
    formats = [fmt for fmt in ONNX_NUMERIC if not fmt.is_float and fmt.bits <= 16 and first_opset(fmt) <= opset]
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
