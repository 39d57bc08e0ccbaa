"""The facts of a format as names and texts: the card of Anatomy, the table of Compare, why the values end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lowprec import Format, reference, teaching
from lowprec._notebook_display import count_text
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import Kind
from lowprec.teaching.format_facts import FormatFacts

from .numbers import code_text, power_form, short

__all__ = ["Fact", "RangeEnd", "binade_sentence", "card", "comparison", "range_end"]

_FEW = (2, 3)
"""Numbers of formats of which one can see at a glance where they differ."""


@dataclass(frozen=True, slots=True)
class Fact:
    """The name of a fact, its text for each of some formats, and whether they `differ` where that is marked."""

    name: str
    texts: tuple[str, ...]
    differs: bool = False


@dataclass(frozen=True, slots=True)
class RangeEnd:
    """The largest value of a format, its code, and why it is the largest."""

    format: Format
    largest: Value
    code: int
    why: str


def range_end(fmt: Format) -> RangeEnd:
    """Return why the values of a format end with the largest one."""
    facts = teaching.format_facts(fmt)
    return RangeEnd(fmt, facts.largest, reference.encode(facts.largest, fmt), facts.why_it_ends)


def binade_sentence(fmt: Format) -> str:
    """Return how many values a float has from one power of two up to the next, and why the last binade has fewer."""
    facts = teaching.format_facts(fmt)
    full, last = facts.values_per_binade, facts.values_in_last_binade
    if full is None:
        return f"The last binade has {count_text(last, 'value')}, fewer than the bits of mantissa tell apart."
    if not fmt.mantissa_bits:
        return "Without bits of mantissa every binade of normal values has 1 value."
    told = f"{count_text(fmt.mantissa_bits, 'bit')} of mantissa tell{'s' * (fmt.mantissa_bits == 1)}"
    if last == full:
        return f"{told} {count_text(full, 'value')} apart in every binade of normal values."
    taken = [name for name, ranges in (("Inf", facts.inf_codes), ("NaN", facts.nan_codes)) if _follows(ranges, facts)]
    why = f", as {' and '.join(taken)} take{'s' * (len(taken) == 1)} the other codes" if taken else ""
    return f"{told} {full} values apart in every binade of normal values but the last, which has {last}{why}."


def _follows(ranges: Sequence[tuple[int, int]], facts: FormatFacts) -> bool:
    """Whether codes of a special value lie in the last binade, above the largest value."""
    largest = reference.encode(facts.largest, facts.format)
    end = largest + facts.format.mantissa_mask + 1 & ~facts.format.mantissa_mask
    return any(largest < first < end for first, _ in ranges)


def card(fmt: Format) -> tuple[Fact, ...]:
    """Return the facts of one format."""
    return comparison([fmt])


def comparison(formats: Sequence[Format]) -> tuple[Fact, ...]:
    """Return the facts of formats; where there are two or three, those in which they differ are marked."""
    columns = [_texts(teaching.format_facts(fmt)) for fmt in formats]
    rows = zip(*(column.items() for column in columns), strict=True)
    found = []
    for row in rows:
        texts = tuple(text for _, text in row)
        found.append(Fact(row[0][0], texts, len(formats) in _FEW and len(set(texts)) > 1))
    return tuple(found)


def _texts(facts: FormatFacts) -> dict[str, str]:
    fmt = facts.format
    eps = None if facts.eps is None else Value.of(facts.eps)
    return {
        "largest": _end(facts.largest),
        "why it ends there": facts.why_it_ends,
        "bits": _layout(facts),
        "bias": _or_dash(facts.bias),
        "lowest": _end(facts.lowest),
        "smallest normal": _power(facts.smallest_normal),
        "smallest > 0": _power(facts.smallest),
        "eps: from 1 to the next": _power(eps),
        "NaN codes": _codes(facts.nan_codes, fmt),
        "Inf codes": _codes(facts.inf_codes, fmt),
        "code of −0": "none" if facts.negative_zero is None else code_text(facts.negative_zero, fmt),
        "subnormal codes": str(facts.subnormal_codes),
        "different numbers": short(Value.of(facts.numbers), 12),
        "values per normal binade": _per_binade(facts),
        "values v, 1 ≤ v < 2": _from_one(facts),
        "bits of precision": str(facts.significant_bits),
        "decimal digits": f"≈{facts.digits:.1f}",
        "decades": f"≈{facts.decades:.1f}",
        "dynamic range": f"≈{facts.decibels:.0f} dB",
        "in ONNX": "no" if fmt.since is None else f"{fmt.onnx_name}, Cast since opset {fmt.since}",
    }


def _or_dash(number: int | None) -> str:
    return "–" if number is None else str(number)


def _layout(facts: FormatFacts) -> str:
    fmt = facts.format
    if fmt.kind is Kind.BOOL:
        return "8: every byte but 0 is True"
    named = {"sign": facts.sign_bits, "exponent": facts.exponent_bits, "mantissa": facts.mantissa_bits}
    if not fmt.is_float:
        named = {"sign": facts.sign_bits, "value": facts.mantissa_bits}
    return f"{facts.bits}: {' + '.join(f'{count} {name}' for name, count in named.items() if count)}"


def _end(value: Value) -> str:
    """Return an end of the range in decimal digits, or as a power of two where it is one and the digits are many."""
    digits, power = short(value, 20), power_form(value)
    return f"{power} {digits}" if digits.startswith("≈") and power.startswith("2^") else digits


def _power(value: Value | None) -> str:
    """Return a number as a power of two, and in decimal digits where they are few."""
    if value is None:
        return "none"
    power, digits = power_form(value), short(value, 12)
    return power if digits == power else f"{power} = {digits}" if not digits.startswith("≈") else f"{power} {digits}"


def _codes(ranges: Sequence[tuple[int, int]], fmt: Format) -> str:
    texts = (tuple(code_text(code, fmt) for code in sorted(set(ends))) for ends in ranges)
    return ", ".join("–".join(ends) for ends in texts) or "none"


def _per_binade(facts: FormatFacts) -> str:
    last = short(Value.of(facts.values_in_last_binade), 12)
    if facts.format.kind is Kind.BOOL:
        return "1"
    if not facts.format.is_float:
        return f"1, then double; {last} in the last"
    if facts.values_per_binade is None:
        return f"{last} in the last"
    full = short(Value.of(facts.values_per_binade), 12)
    return full if facts.values_per_binade == facts.values_in_last_binade else f"{full}; {last} in the last"


def _from_one(facts: FormatFacts) -> str:
    count, inside = (
        short(Value.of(number), 12) for number in (facts.values_from_one_to_two, facts.values_inside_one_and_two)
    )
    return count if inside in (count, "0") else f"{count}, {inside} of them above 1"
