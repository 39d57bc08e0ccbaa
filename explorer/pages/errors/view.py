"""Errors: the error of rounding against the number, for some formats and roundings; where it is largest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from lowprec import finfo, iinfo
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import Format, Kind
from lowprec.spec.rounding_modes import STOCHASTIC
from lowprec.teaching.error_curve import ErrorCurve, ErrorPoint, LargestError, error_curve

from ...shared.cast_options import BY_WIDTH, DETERMINISTIC, ONNX
from ...shared.numbers import short

__all__ = [
    "MOST_FORMATS",
    "MOST_ROUNDINGS",
    "ROUNDINGS",
    "Curve",
    "Preset",
    "Range",
    "bound",
    "check_scale",
    "checked_roundings",
    "chosen_preset",
    "curve",
    "in_measure",
    "presets",
    "range_of",
    "rounding_arguments",
    "without_result_text",
]

MOST_FORMATS = 4
MOST_ROUNDINGS = 4
"""Formats and roundings that are drawn at once."""

ROUNDINGS = (ONNX, *DETERMINISTIC, *STOCHASTIC[1:])

_MOST_CELLS = 320
"""Distances between neighbours that are drawn, of all curves together; each curve has some."""

_FEWEST_CELLS = 60
_WIDE = 16
"""Formats of more bits take longer, and have no room for all of their values."""


@dataclass(frozen=True, slots=True)
class Range:
    """From where to where the error is drawn; both finite, `low` the smaller one."""

    low: Fraction
    high: Fraction


@dataclass(frozen=True, slots=True)
class Preset:
    """An example: a label, and the fields of the page that it sets."""

    label: str
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class Curve:
    """The error of one format by one rounding: the points in a measure, the largest errors, the error at x.

    `largest` has one for each measure, None where no result is finite. `name` is short and unique among the curves.
    """

    name: str
    rounding: str
    curve: ErrorCurve
    points: tuple[ErrorPoint, ...]
    largest: dict[str, LargestError | None]
    at_x: ErrorPoint | None


def range_of(low: str, high: str, scale: str) -> Range:
    """Return the range of two texts; ValueError if they are no finite numbers of float64, in order; log: positive."""
    ends = []
    for name, text in (("from", low), ("to", high)):
        value = Value.of(text, parameter=name)
        try:
            is_finite = math.isfinite(float(value))
        except OverflowError:
            is_finite = False
        if not is_finite:
            raise ValueError(f"`{name}` must be a finite number of float64; got {text[:40]!r}")
        ends.append(value.number)
    if ends[0] >= ends[1]:
        raise ValueError(f"`to` must be greater than `from`; got {high[:40]!r} and {low[:40]!r}")
    if scale == "log" and ends[0] <= 0:
        raise ValueError(f"`from` must be positive on a log scale; got {low[:40]!r}")
    return Range(*ends)


def check_scale(low: str, high: str, scale: str) -> None:
    """Raise ValueError if a range cannot be drawn on its scale; not if its texts are wrong whatever the scale."""
    try:
        range_of(low, high, "linear")
    except ValueError:
        return
    range_of(low, high, scale)


def checked_roundings(roundings: Sequence[str]) -> Sequence[str]:
    """Return roundings unchanged; ValueError if they are too many to draw."""
    if len(roundings) > MOST_ROUNDINGS:
        raise ValueError(f"`roundings` must be at most {MOST_ROUNDINGS}; got {len(roundings)}")
    return roundings


def rounding_arguments(fmt: Format, rounding: str, saturate: bool, round_mode: str, overflow: str) -> dict[str, Any]:
    """Return the options of the library for a format; integers and bool are truncated whatever the rounding."""
    if rounding == ONNX or not fmt.is_float:
        return {"saturate": saturate, "round_mode": None if fmt.has_zero or not fmt.is_float else round_mode}
    return {"rounding": rounding, "overflow": None if overflow == BY_WIDTH else overflow}


def curve(fmt: Format, rounding: str, ends: Range, measure: str, x: Value, count: int, **options: Any) -> Curve:
    """Return one of `count` curves; `options` are saturate, round_mode and overflow of the page."""
    most = max(_FEWEST_CELLS, _MOST_CELLS // count) if fmt.bits <= _WIDE else _FEWEST_CELLS
    arguments = rounding_arguments(fmt, rounding, **options)
    found = error_curve(fmt, ends.low, ends.high, most=most, **arguments)
    name = f"{fmt.name}, {rounding}" if fmt.is_float and rounding != ONNX else fmt.name
    largest = {measure: found.largest(measure) for measure in ("absolute", "relative", "ulp")}
    inside = not x.special and ends.low <= x.number <= ends.high
    return Curve(name, rounding, found, found.points(measure), largest, found.at(x, measure) if inside else None)


def in_measure(error: Fraction | None, measure: str) -> str:
    """Return an error as text."""
    if error is None:
        return "no bound"
    if measure == "relative":
        return f"{short(100 * error, 8, 4)} %"
    return f"{short(error, 10, 4)} ulp" if measure == "ulp" else short(error, 12, 5)


def bound(curve: Curve, measure: str) -> str:
    """Return the largest error of a curve and where it is, as the label of its line."""
    largest = curve.largest[measure]
    if largest is None:
        return "no finite result in the range"
    where = {"at": "at", "above": "just above", "below": "just below"}[largest.side]
    if largest.error is None:
        return f"no bound {where} {_shown(largest.x)}"
    if not largest.error:
        return "no error"
    return f"at most {in_measure(largest.error, measure)}, {where} {_shown(largest.x)}"


def _shown(number: Fraction) -> str:
    return short(number, 10, 4).replace("e+", "e").replace("-", "−")


def without_result_text(curve: Curve) -> str:
    """Return where numbers become NaN or Inf, or nothing."""
    parts = [f"{short(low)} to {short(high)}" for low, high in curve.curve.without_result()]
    return f"{curve.name} has no finite result from {' and from '.join(parts[:3])}." if parts else ""


def presets(formats: Sequence[Format]) -> tuple[Preset, ...]:
    """Return the ranges to choose: about 1, and where each format changes."""
    several = len(formats) > 1
    found = [
        Preset("0 to 2", {"low": "0", "high": "2", "scale": "linear"}),
        Preset("around 1, 0.5 to 4", {"low": "0.5", "high": "4", "scale": "linear"}),
        Preset("one binade, 1 to 2", {"low": "1", "high": "2", "scale": "linear"}),
    ]
    for fmt in formats:
        if fmt.kind is not Kind.BOOL:
            prefix = f"{fmt.name}: " * several
            found += [Preset(prefix + label, fields) for label, fields in _ranges_of(fmt)]
    return tuple(found)


def _ranges_of(fmt: Format) -> list[tuple[str, dict[str, str]]]:
    """Return the ranges of a format, each with its name: those on a log scale with the relative error."""
    if not fmt.is_float:
        info = iinfo(fmt)
        return [
            ("the largest value", {"low": str(info.max - 4), "high": str(info.max + 4), "scale": "linear"}),
            ("whole range", {"low": str(info.min - 1), "high": str(info.max + 1), "scale": "linear"}),
        ]
    numbers = finfo(fmt)
    normal, largest = Fraction(numbers.smallest_normal), Fraction(numbers.max)
    smallest = Fraction(numbers.smallest_subnormal) if fmt.has_zero else normal
    whole = {"scale": "log", "measure": "relative"}
    found = [("normal range", {"low": _text(normal), "high": _text(largest), **whole})]
    if smallest < normal:
        found.append(("subnormals", {"low": "0", "high": _text(2 * normal), "scale": "linear"}))
    top = largest * 5 / 4 if _is_float64(largest * 5 / 4) else largest
    found.append(("the largest value", {"low": _text(largest / 2), "high": _text(top), "scale": "linear"}))
    least = smallest / 4 if float(smallest / 4) else smallest
    found.append(("whole range, log", {"low": _text(least), "high": _text(top), **whole}))
    return found


def chosen_preset(presets: Sequence[Preset], fields: Mapping[str, str]) -> Preset | None:
    """Return the first preset with the range and scale of a page's fields."""
    names = ("low", "high", "scale")
    return next((one for one in presets if all(one.fields[name] == fields[name] for name in names)), None)


def _is_float64(number: Fraction) -> bool:
    try:
        float(number)
    except OverflowError:
        return False
    return True


def _text(number: Fraction) -> str:
    return repr(float(number)) if Fraction(float(number)) == number else str(number)
