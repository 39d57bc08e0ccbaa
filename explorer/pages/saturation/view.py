"""Where the range of each format ends, and what a number beyond it becomes: positions, fates and results as texts."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from lowprec import Format, encode, iinfo, reference
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import FLOAT8_E8M0FNU, ONNX_NUMERIC
from lowprec.spec.operator_versions import INF_IS_NAN, NEWEST, first_opset

from ...shared.codes import classify
from ...shared.numbers import power_form, short
from .table_view import OtherColumns

__all__ = [
    "BREAK",
    "FIRST_STEP",
    "LAST_STEP",
    "PLACES",
    "Group",
    "Landing",
    "Ranges",
    "Result",
    "Row",
    "landings",
    "log2",
    "ranges",
    "shown",
    "step_of",
]

_ROOM = 10
"""Characters of a result."""

FIRST_STEP, BREAK, LAST_STEP = -114, (120, 126), 163
"""Where the axis begins, is broken and ends, in steps; step 0 is the number 1."""

_DECADE, _FAR_DECADE = 21, 10
"""Steps of a factor of ten before the break, and after it."""

_FAR = 36.1
"""The decimal logarithm at which the axis goes on."""

_IN_BREAK = ("1e10", "1e15", "1e20", "1e25", "1e30")


def step_of(place: float) -> float:
    """Return where on the broken axis a base-2 logarithm is, in steps; beyond its ends the end itself."""
    decimal = place * math.log10(2)
    near_end, far_start = BREAK
    last = near_end / _DECADE
    if decimal <= last:
        return max(decimal * _DECADE, FIRST_STEP)
    if decimal < _FAR:
        return near_end + (far_start - near_end) * (decimal - last) / (_FAR - last)
    return min(far_start + (decimal - _FAR) * _FAR_DECADE, LAST_STEP)


def _number_at(step: int) -> str:
    """Return the number of a step, in two digits."""
    near_end, far_start = BREAK
    if near_end < step < far_start:
        return _IN_BREAK[step - near_end - 1]
    decimal = step / _DECADE if step <= near_end else _FAR + (step - far_start) / _FAR_DECADE
    number = Decimal(f"{10**decimal:.1e}")
    if -3 <= number.adjusted() <= 4:
        return f"{number.normalize():f}"
    return f"{number.normalize():e}".replace("+", "")


PLACES = tuple(_number_at(step) for step in range(FIRST_STEP, LAST_STEP + 1))
"""The numbers that the line can be dragged to, one a step."""


@dataclass(frozen=True, slots=True)
class Result:
    """What a number becomes: the code, its value as text, its class; `newer` has the other text of newer opsets."""

    code: int
    text: str
    kind: str
    newer: str = ""


@dataclass(frozen=True, slots=True)
class Landing:
    """What becomes of a number in one format: the result, and how it comes there.

    `how` is ``"stays"`` within the range, ``"back"`` where the number beyond becomes the end of the range, ``"wraps"``
    in integers, else the class that it becomes: ``"inf"``, ``"nan"``, ``"zero"``.
    """

    result: Result
    how: str


@dataclass(frozen=True, slots=True)
class Row:
    """The range of one format, on the side of zero that the number is on, and the fate of what is beyond.

    `smallest`, `normal` and `largest` are base-2 logarithms; None where the format has no such value on that side.
    `end` is the text of the value at the wall, `since` the first opset with the format, None of formats that ONNX
    lacks. `fate` is a `how` of a landing, `beyond` says it in words.
    """

    format: Format
    since: int | None
    is_there: bool
    smallest: float | None
    normal: float | None
    largest: float
    end: str
    fate: str
    beyond: str
    landing: Landing
    infinity: Result
    nan: Result


@dataclass(frozen=True, slots=True)
class Group:
    """Formats whose fate the same thing decides: what that is, a note, and their rows."""

    title: str
    note: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Ranges:
    """The picture's data: the number as text, its place, and the groups.

    `place` is the base-2 logarithm of the magnitude, infinite for 0 and Inf, None for NaN.
    """

    number: str
    place: float | None
    negative: bool
    groups: tuple[Group, ...]


def shown(value: Value, room: int = _ROOM) -> str:
    """Return a value in few characters: its digits, a power of two, or three digits and their exponent, marked ≈."""
    if value.special:
        return {"inf": "−Inf" if value.negative else "Inf", "nan": "NaN"}[value.special]
    text = str(value)
    if len(text) > room or "/" in text:
        power = power_form(value)
        text = power if "·" not in power and "/" not in power and len(power) <= room else short(value, room, 3)
    return text.replace("e+", "e").replace("-", "−")


def log2(value: Value) -> float | None:
    """Return the base-2 logarithm of a magnitude, for a place on an axis; infinite for 0 and Inf, None for NaN."""
    if value.special or not value.magnitude:
        return {"inf": math.inf, "nan": None}.get(value.special, -math.inf)
    top, bottom = value.magnitude.as_integer_ratio()
    return math.log2(top) - math.log2(bottom)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Formats with the same answer: who decides, a note; the widths that are drawn, and what `saturates` says."""

    title: str
    note: str
    widths: tuple[int, ...]
    saturates: str

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats, in their order; the power-of-two scale is the last of the float8."""
        found = [
            fmt
            for bits in self.widths
            for fmt in ONNX_NUMERIC
            if fmt.bits == bits
            and (fmt.saturates == self.saturates if fmt.is_float else fmt.kind.value == self.saturates)
        ]
        return tuple(sorted(found, key=lambda fmt: not fmt.has_zero))


_KINDS = (
    _Kind("saturate decides", "the largest value, or Inf, or NaN where there is no Inf", (8,), "asked"),
    _Kind("always the largest value", "no Inf, no NaN", (6, 4), "always"),
    _Kind("always Inf", "", (16,), "never"),
    _Kind("wrap around", "modulo 2^bits", (8, 4), "int"),
)
_OLDER_NOTE = "; before opset 24 FNUZ makes NaN of Inf"


def _options(fmt: Format, saturate: bool, opset: int) -> dict[str, Any]:
    """Return the options of Cast for a format of ONNX: those of the first opset that has it, where that is newer."""
    mode = "up" if fmt is FLOAT8_E8M0FNU else None
    return {"saturate": saturate, "round_mode": mode, "opset": max(opset, first_opset(fmt))}


def _rules(others: OtherColumns) -> dict[str, Any]:
    """Return the options of formats next to ONNX's."""
    return {"rounding": others.rounding, "overflow": others.overflow, "nan": others.nan}


@functools.cache
def _result(code: int, fmt: Format, newest: int | None = None) -> Result:
    """Return a code as a result; `newest` is the code of the newest opset."""
    newer = "" if newest is None or newest == code else shown(decode(newest, fmt))
    return Result(code, shown(decode(code, fmt)), classify(code, fmt), newer)


def _end(fmt: Format, negative: bool) -> Value:
    """Return the finite value of a format that is farthest from zero on one side; zero where there is none."""
    if fmt.is_integer:
        return Value.of(iinfo(fmt).min if negative else iinfo(fmt).max)
    if negative and not fmt.signed and fmt.has_zero:
        return Value(Fraction(0))
    return Value(Fraction(fmt.max), negative and fmt.signed)


def _beyond(fmt: Format, negative: bool) -> Value:
    """Return a number far beyond the end of a range; of integers the first integer beyond."""
    end = _end(fmt, negative)
    return Value(end.magnitude + 1 if fmt.is_integer else 4 * Fraction(fmt.max), negative)


def _how(x: Value, code: int, fmt: Format) -> str:
    """Return how a number came to its code."""
    value = decode(code, fmt)
    end = _end(fmt, x.negative)
    if value.special:
        return value.special
    if x.special:
        return "back" if value.magnitude else "zero"
    magnitude = x.magnitude // 1 if fmt.is_integer else x.magnitude
    if magnitude <= end.magnitude:
        return "stays"
    if fmt.is_integer:
        return "wraps"
    return "back" if value.magnitude else "zero"


_WORDS = {"inf": "Inf", "nan": "NaN", "zero": "0"}


def _row(fmt: Format, x: Value, cast: dict[str, Any], opset: int, newest: dict[str, Any] | None) -> Row:
    """Return the row of a format by the options of the oracle; `newest` are those of the newest opset."""

    def result(value: object) -> Result:
        code = reference.encode(value, fmt, **cast)
        return _result(code, fmt, None if newest is None else reference.encode(value, fmt, **newest))

    end, past = _end(fmt, x.negative), _beyond(fmt, x.negative)
    far = result(past)
    fate = "wraps" if fmt.is_integer else _how(past, far.code, fmt)
    words = f"{shown(past)} becomes {far.text}" if fmt.is_integer else _WORDS.get(fate, "")
    has_values = bool(end.magnitude)
    smallest = normal = None
    if has_values and fmt.is_float:
        normal = math.log2(fmt.smallest_normal)
        smallest = math.log2(fmt.smallest_subnormal) if fmt.has_zero and fmt.mantissa_bits else normal
    elif has_values:
        smallest = normal = 0.0
    found = result(x)
    return Row(
        format=fmt,
        since=fmt.since,
        is_there=fmt.since is None or first_opset(fmt) <= opset,
        smallest=smallest,
        normal=normal,
        largest=0.0 if fmt.is_integer and not has_values else log2(end) or 0.0,
        end=shown(end, 9),
        fate=fate,
        beyond=words,
        landing=Landing(found, _how(x, found.code, fmt)),
        infinity=result(Value(Fraction(0), False, "inf")),
        nan=result(Value(Fraction(0), False, "nan")),
    )


def _casts(
    saturate: bool, opset: int, others: OtherColumns
) -> list[tuple[str, str, list[tuple[Format, dict[str, Any]]]]]:
    """Return title and note of each group, and its formats with their options."""
    found = []
    for kind in _KINDS:
        is_older = kind.saturates == "asked" and saturate and opset in INF_IS_NAN
        casts = [(fmt, _options(fmt, saturate, opset)) for fmt in kind.formats]
        found.append((kind.title, kind.note + _OLDER_NOTE * is_older, casts))
    if others.formats:
        note = f"rounding {others.rounding}, overflow {others.overflow or 'by width'}, NaN {others.nan}"
        found.append(("rules beyond ONNX", note, [(fmt, _rules(others)) for fmt in others.formats]))
    return found


def ranges(text: str, saturate: bool, opset: int, others: OtherColumns) -> Ranges:
    """Return the ranges of the formats around a number; ValueError if the text is none.

    Formats that the opset lacks have the results of the first that has them.
    """
    x = Value.of(text, parameter="number")
    groups = []
    for title, note, casts in _casts(saturate, opset, others):
        rows = (
            _row(fmt, x, cast, opset, None if "rounding" in cast else _options(fmt, saturate, NEWEST))
            for fmt, cast in casts
        )
        groups.append(Group(title, note, tuple(rows)))
    number = text.strip().replace("-", "−")
    return Ranges(number if len(number) <= _ROOM else shown(x), log2(x), x.negative, tuple(groups))


@functools.lru_cache(maxsize=64)
def landings(saturate: bool, opset: int, others: OtherColumns, negative: bool) -> tuple[tuple[Landing, ...], ...]:
    """Return what becomes of every number of `PLACES`, or of its negative: a landing for each row."""
    values = [Value(Value.of(place).magnitude, negative) for place in PLACES]
    numbers = np.array([float(value) for value in values])
    columns = []
    for fmt, cast in (pair for _, _, casts in _casts(saturate, opset, others) for pair in casts):
        if "rounding" in cast:  # formats of any width, by the oracle
            codes = [reference.encode(value, fmt, **cast) for value in values]
        else:
            codes = [int(code) for code in encode(numbers, fmt, **cast)]
        columns.append([Landing(_result(code, fmt), _how(x, code, fmt)) for x, code in zip(values, codes, strict=True)])
    return tuple(zip(*columns, strict=True))
