"""Compare: one value in several formats, digit by digit, what was lost, and which values a format has of another."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Unpack

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explanation import Explanation, LossSentence
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import NEWEST, first_opset
from lowprec.teaching import HeldBinade, HeldValues, ResultError, values_held

from ...shared.cast_options import CastOptions, options_for
from ...shared.codes import losses_of
from ...shared.digits import Digits, Window, changed_digits, window_of
from ...shared.numbers import apart, number, power_form, short
from ...shared.ranges import minus

__all__ = [
    "COMPARABLE",
    "Dot",
    "Outcome",
    "Pair",
    "Row",
    "checked",
    "count_text",
    "matrix",
    "outcome",
    "pair_of",
    "row_of",
    "short_name",
]

COMPARABLE: tuple[Format, ...] = tuple(fmt for fmt in NUMERIC if fmt.is_float or fmt.is_integer)
"""The formats that have a range and a precision."""

_MOST_DOTS = 34 * 16
"""Values, one dot each, that a picture of a pair has; more are counted by binade."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The Cast of one value to a format, its error and what was lost, or why it cannot be cast (`problem`)."""

    format: Format
    explanation: Explanation | None = None
    differences: ResultError = field(default_factory=ResultError)
    losses: tuple[LossSentence, ...] = ()
    problem: str = ""


def outcome(x: Value, fmt: Format, **options: Unpack[CastOptions]) -> Outcome:
    """Return the Cast of a value to one format, and its error."""
    asked = options_for(fmt, options)
    if first_opset(fmt) > (opset := asked.get("opset", NEWEST)):
        return Outcome(fmt, problem=f"no type of Cast at opset {opset}: it is one since opset {first_opset(fmt)}")
    explanation = lp.explain(x, fmt, **asked)
    return Outcome(fmt, explanation, teaching.error_of(x, explanation.value, fmt), losses_of(explanation))


def checked(text: str) -> str:
    """Return the text of a number unchanged; ValueError if it is none."""
    Value.of(text, parameter="number")
    return text


@dataclass(frozen=True, slots=True)
class Row:
    """A format's row: the result, its digits (None for Inf, NaN and no result), value and error as texts."""

    outcome: Outcome
    window: Window | None
    special: str
    value: str
    error: str
    is_inside: bool


def _changed(window: Window, digits: Digits | None, row: Outcome, x: Value) -> frozenset[int]:
    """Return the weights at which the digits are not those of a number that was rounded away from zero."""
    value = row.explanation.value if row.explanation else x
    if digits is None or row.losses or value.magnitude <= x.magnitude or (x.negative and not row.format.is_float):
        return frozenset()
    return changed_digits(window, digits)


def row_of(x: Value, digits: Digits | None, row: Outcome) -> Row:
    """Return the row of an outcome."""
    facts = teaching.format_facts(row.format)
    is_inside = facts.smallest.magnitude <= x.magnitude <= facts.largest.magnitude and not x.special
    if row.explanation is None:
        return Row(row, None, "", "", row.problem, is_inside)
    value, error = row.explanation.value, row.differences.absolute
    texts = [loss.kind for loss in row.losses]
    if error is not None:
        sign = "" if not error else "+" if value.number > x.number else "−"
        text = minus(number(error, 10, 2).replace("e+", "e"))
        texts.append("exact" if not error else f"≈ {sign}{text[1:]}" if text.startswith("≈") else f"{sign}{text}")
    if value.special:
        shown = "−" * value.negative * (value.special == "inf") + {"nan": "NaN", "inf": "Inf"}[value.special]
        return Row(row, None, value.special, shown, ", ".join(texts), is_inside)
    window = window_of(row.explanation.code, value, row.format)
    changed = _changed(window, digits, row, x)
    shown = minus(apart(value, row.format))
    return Row(row, replace(window, changed=changed), "", shown, ", ".join(texts), is_inside)


# ---- which values of a format another one has


@dataclass(frozen=True, slots=True)
class Dot:
    """A positive value: its binade, which of the places of the binade it has, whether it is held, what it becomes."""

    exponent: int
    place: int
    is_held: bool
    text: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Which values of a format another one has: by binade, one by one if they are few, and in two sentences.

    `special` says what the codes after the largest value are, as (place in the last binade, name).
    """

    values: HeldValues
    binades: tuple[HeldBinade, ...]
    dots: tuple[Dot, ...]
    special: tuple[tuple[int, str], ...]
    title: str
    others: str


def short_name(name: str) -> str:
    """Return the name of a format without what its first letters say of its width."""
    start, _, rest = name.partition("_")
    return rest if rest and start in ("float8", "float6", "float4") else name


def count_text(count: int) -> str:
    """Return a count; in powers of ten where it is long."""
    return f"{count:,}" if count < 100_000 else short(Value.of(count), 6 if count < 10**6 else 7, 2).replace("e+", "e")


def matrix(formats: Sequence[Format]) -> tuple[tuple[HeldValues, ...], ...]:
    """Return, by row and column, which values of the row's format that of the column has."""
    return tuple(tuple(values_held(source, target) for target in formats) for source in formats)


@functools.lru_cache(maxsize=64)
def pair_of(source: Format, target: Format) -> Pair:
    """Return which values of a format another one has."""
    found = values_held(source, target)
    positive = tuple(one for one in found.binades if not one.negative)
    few = source.is_float and source.bits <= 8 and source.mantissa_bits <= 4 and len(positive) <= 34
    title = f"{count_text(found.held)} of its {count_text(found.numbers)} values survive"
    dots = _dots(found) if few else ()
    return Pair(found, positive, dots, _special(source) if few else (), title, _others(found))


def _dots(found: HeldValues) -> tuple[Dot, ...]:
    fmt, dots = found.source, []
    for code in range(reference.encode(teaching.format_facts(fmt).largest, fmt) + 1):
        value = reference.decode(code, fmt)
        if not value.magnitude:
            continue
        exponent, is_held = reference.binade_of(value), found.holds(code)
        place = int((value.magnitude / Fraction(2) ** exponent - 1) * 2**fmt.mantissa_bits)
        text = minus(short(value, 14))
        if not is_held:
            near = reference.decode(reference.encode(value, found.target), found.target)
            text += f" becomes {minus(apart(near, found.target))}"
        dots.append(Dot(exponent, place, is_held, text if not is_held else f"{text} is held"))
    return tuple(dots)


def _special(fmt: Format) -> tuple[tuple[int, str], ...]:
    """Return what the codes of the last binade behind the largest value are."""
    last = reference.encode(teaching.format_facts(fmt).largest, fmt)
    codes = range(last + 1, (last | fmt.mantissa_mask) + 1)
    names = {"nan": "NaN", "inf": "Inf"}
    return tuple((code & fmt.mantissa_mask, names[reference.decode(code, fmt).special]) for code in codes)


def _others(found: HeldValues) -> str:
    """Say which positive values are held, and of the special ones which are and which are not."""
    held = [one for one in found.binades if not one.negative and one.codes]
    parts = []
    if held:
        ends = (reference.decode(code, found.source) for code in (held[0].codes[0], held[-1].codes[-1]))
        low, high = (minus(_end(value)) for value in ends)
        parts.append(f"held from {low} to {high}")
    flags = (("0", found.zero), ("−0", found.negative_zero), ("Inf", found.inf), ("NaN", found.nan))
    kept = [name for name, flag in flags if flag]
    gone = [name for name, flag in flags if flag is False]
    if found.source.signed and not found.target.signed:
        gone.insert(0, "negative values")
    if kept:
        parts.append(f"also {', '.join(kept)}")
    if gone:
        parts.append(f"not {', '.join(gone)}")
    return "; ".join(parts)


def _end(value: Value) -> str:
    digits, power = short(value, 8), power_form(value)
    return power if digits.startswith("≈") and power.startswith("2^") else digits
