"""Rounding: the interval a number falls in, every rounding mode, and the presets of a format."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from lowprec import Format, as_format, finfo, iinfo
from lowprec.reference.exact_cast import (
    Value,
    decode,
    encode,
    magnitude_of,
    ulp,
)
from lowprec.spec.formats import FLOAT32, Kind

from ...shared.codes import classify
from ...shared.numbers import apart, code_text, exact_text, power_form

__all__ = ["Line", "Point", "Preset", "Step", "line", "presets", "spacing"]

_TIES = ("tie, down to even", "tie, up to even")


@dataclass(frozen=True, slots=True)
class Preset:
    """An example: a label, and the number."""

    label: str
    x: str


def presets(fmt: object) -> tuple[Preset, ...]:
    """Return the examples of a format: ties, both edges of the range, special values."""
    row = as_format(fmt)
    if row.kind is Kind.BOOL:
        examples = [("zero", "0"), ("minus zero", "-0"), ("tiny", "1e-300"), ("NaN", "nan")]
    elif row.is_integer:
        last = iinfo(row).max
        examples = [
            ("half", "0.5"),
            ("negative half", "-1.5"),
            ("largest", str(last)),
            ("one more", str(last + 1)),
            ("-0", "-0"),
            ("Inf", "inf"),
            ("NaN", "nan"),
        ]
    elif not row.has_zero:
        examples = [
            ("f = 1.5", "3"),
            ("f just below 1.5", "0x1.7fp+1"),
            ("zero", "0"),
            ("negative", "-3"),
            ("largest", _text(Fraction(finfo(row).max))),
            ("beyond", _text(Fraction(finfo(row).max) * 3 / 2)),
            ("Inf", "inf"),
            ("NaN", "nan"),
        ]
    else:
        examples = _float_presets(row)
    return tuple(Preset(label, x) for label, x in examples)


def _float_presets(fmt: Format) -> list[tuple[str, str]]:
    info = finfo(fmt)
    largest, tiny = Fraction(info.max), Fraction(info.smallest_subnormal)
    step = ulp(largest, fmt)
    examples = [(label, _text(tie)) for label, tie in zip(_TIES, _ties(fmt), strict=False)]
    examples += [
        ("largest", _text(largest)),
        ("largest + ½ step", _text(largest + step / 2)),
        ("largest + 1 step", _text(largest + step)),
        ("smallest", _text(tiny)),
        ("half the smallest", _text(tiny / 2)),
        ("-0", "-0"),
        ("Inf", "inf"),
        ("NaN", "nan"),
    ]
    if not fmt.signed:
        examples.append(("negative", _text(-largest)))
    if fmt.mantissa_bits < FLOAT32.mantissa_bits:
        tie = _ties(fmt)[0]
        examples.append(("rounded twice?", _text(tie + tie / 2**40)))
    return examples


def _ties(fmt: Format) -> list[Fraction]:
    """Return the midpoints above and below an odd code: those after 1, or in the middle of a range without 1."""
    first = encode(1, fmt)
    if decode(first, fmt).number != 1 or first + 2 > fmt.max_code:
        first = fmt.max_code // 2
    first = max(0, first - first % 2)
    magnitudes = [magnitude_of(code, fmt) for code in range(first, min(first + 2, fmt.max_code) + 1)]
    return [(low + high) / 2 for low, high in pairwise(magnitudes)]


def _text(number: Fraction) -> str:
    return exact_text(Value.of(number))


_MAX_POINTS = 512
"""Points on a line; of more, those around the number."""

_FEWEST_POINTS = 32
"""Points on a symlog line of more codes than that: more than one for a binade where there are few."""

_MAX_ROWS = 32
"""Binades in rows; of more, those around the number."""


@dataclass(frozen=True, slots=True)
class Point:
    """One finite value: where it is drawn, in which row (binades only), its code, text and class."""

    place: float
    row: str
    code: str
    value: str
    kind: str


@dataclass(frozen=True, slots=True)
class Line:
    """The points, where x lies (None where it is not on the line), the marks of the axis, and whether all are shown."""

    points: tuple[Point, ...]
    x: float | None
    row: str
    marks: tuple[tuple[float, str], ...]
    is_complete: bool


@dataclass(frozen=True, slots=True)
class Step:
    """The distance between neighbours from 2^low to 2^high: 2^step."""

    low: int
    high: int
    step: int


def _log2(number: Fraction) -> float:
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    return math.log2(number / Fraction(2) ** shift) + shift


def _floor_log2(number: Fraction) -> int:
    shift = number.numerator.bit_length() - number.denominator.bit_length()
    return shift if Fraction(2) ** shift <= number else shift - 1


def _smallest(fmt: Format) -> Fraction:
    info = finfo(fmt)
    return Fraction(info.smallest_subnormal if fmt.has_zero else info.smallest_normal)


def _symlog(value: Value, fmt: Format) -> float:
    """Return 0 for zero, 1 for the smallest positive value, 1 more for each doubling; below, in proportion."""
    ratio = value.magnitude / _smallest(fmt)
    place = float(ratio) if ratio < 1 else _log2(ratio) + 1
    return -place if value.negative else place


def _binade(value: Value, fmt: Format) -> tuple[float, str]:
    """Return how far into its binade a magnitude lies, 0 to 1, and the binade's name."""
    if fmt.has_zero and value.magnitude < Fraction(2) ** fmt.emin:
        return float(value.magnitude / Fraction(2) ** fmt.emin), f"0 to 2^{fmt.emin}"
    power = _floor_log2(value.magnitude)
    return float(value.magnitude / Fraction(2) ** power) - 1, f"2^{power}"


def _codes(fmt: Format, near_code: int, layout: str) -> Iterable[int]:
    """Return the codes to draw: all of a small format; else those around `near_code`, or the binades' first ones."""
    count, is_positive = 1 << fmt.bits, layout == "binades"
    if count > _MAX_POINTS:
        if layout == "symlog":  # neighbours would all lie on one place
            size = min(1 << fmt.mantissa_bits, count // _FEWEST_POINTS)
            first = max(0, min(near_code // size - _MAX_POINTS // 4, count // size - _MAX_POINTS // 2))
            return range(first * size, min((first + _MAX_POINTS // 2) * size, count), size)
        sign = 0 if is_positive else near_code & fmt.sign_mask
        magnitude = min(near_code & fmt.magnitude_mask, fmt.max_code)
        first = max(0, min(magnitude, fmt.max_code - _MAX_POINTS // 8) - _MAX_POINTS // 8)
        return range(sign + first, sign + first + _MAX_POINTS // 4)
    return range(fmt.magnitude_mask + 1 if is_positive else count)


def line(fmt: object, x: object, near_code: int, layout: str) -> Line:
    """Return the values of a float format to draw around x; `near_code` is a code next to x.

    `layout` is linear, symlog or binades.
    """
    row, number = as_format(fmt), Value.of(x)
    if not row.has_zero:  # its Cast ignores the sign
        number = Value(number.magnitude, False, number.special)
    is_binades = layout == "binades"
    points: list[Point] = []
    numbers: list[Value] = []
    for code in _codes(row, near_code, layout):
        value = decode(code, row)
        if not value.special:
            place, name = _place(value, row, layout)
            points.append(Point(place, name, code_text(code, row), apart(value, row), classify(code, row)))
            numbers.append(value)
    here, name = _here(number, row, layout)
    rows = list(dict.fromkeys(point.row for point in points))
    if len(rows) > _MAX_ROWS:
        first = max(0, min((rows.index(name) if name in rows else 0) - _MAX_ROWS // 2, len(rows) - _MAX_ROWS))
        points = [point for point in points if point.row in rows[first : first + _MAX_ROWS]]
    if here is not None and not _inside(here, name, points, is_binades):
        here = None
    is_complete = 1 << row.bits <= _MAX_POINTS and len(rows) <= _MAX_ROWS
    return Line(tuple(points), here, name, _marks(points, numbers, layout), is_complete)


def _here(number: Value, fmt: Format, layout: str) -> tuple[float | None, str]:
    """Return where a number lies, None where it is not on the line."""
    is_below = number.negative and number.magnitude and not fmt.signed
    if number.special or is_below or number.magnitude > Fraction(fmt.max) or not (number.magnitude or fmt.has_zero):
        return None, ""
    return _place(number, fmt, layout)


def _inside(place: float, row: str, points: list[Point], is_binades: bool) -> bool:
    if is_binades:
        return row in {point.row for point in points}
    places = [point.place for point in points]
    return bool(places) and min(places) <= place <= max(places)


def _place(value: Value, fmt: Format, layout: str) -> tuple[float, str]:
    if layout == "binades":
        return _binade(value, fmt)
    return (_symlog(value, fmt) if layout == "symlog" else float(value)), ""


def _marks(points: list[Point], numbers: list[Value], layout: str) -> tuple[tuple[float, str], ...]:
    """Return (place, text) of some powers of two, evenly spread: an axis that is not linear cannot label itself."""
    if layout != "symlog":
        return ()
    texts = (
        (point.place, power_form(value) if value.magnitude else "0")
        for point, value in zip(points, numbers, strict=True)
    )
    powers = [(place, text) for place, text in texts if text == "0" or text.lstrip("-").startswith("2^")]
    powers = sorted(dict(powers).items())
    return tuple(powers[:: max(1, -(-len(powers) // 14))])


def spacing(fmt: object) -> tuple[Step, ...]:
    """Return the distance between neighbours for each range of magnitudes, as powers of two; the lowest first."""
    row = as_format(fmt)
    exponents = range(row.emin, row.emax + 1)
    steps = [Step(power, power + 1, power - row.mantissa_bits) for power in exponents]
    if row.has_zero and row.mantissa_bits:
        tiny = magnitude_of(1, row)
        steps.insert(0, Step(_floor_log2(tiny), row.emin, _floor_log2(tiny)))
    return tuple(steps)
