"""A lesson for a classroom in five steps: 465 in float8_e4m3fn becomes 448, or NaN; in float8_e5m2 it becomes 448."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lowprec import Format, explain
from lowprec.reference import Value
from lowprec.spec.formats import FLOAT8_E4M3FN, FLOAT8_E5M2
from lowprec.teaching import format_facts

from ...shared.codes import fields
from ...shared.numbers import code_text

__all__ = ["FORMAT", "NAN", "NUMBER", "SATURATE", "End", "Step", "steps"]

NUMBER = "465"
FORMAT, OTHER = FLOAT8_E4M3FN, FLOAT8_E5M2
NAN, SATURATE = 3, 4
"""The steps without and with saturate; the last one shows the other format."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of the interval that the number lies in: its text, what its code means if not that, bits and code."""

    number: Fraction
    text: str
    meaning: str
    bits: tuple[tuple[str, str], ...]
    code: str
    distance: str


@dataclass(frozen=True, slots=True)
class Step:
    """A step: where it is, its sentence, the question after it, the interval; `shows` names what is drawn of it."""

    format: str
    sentence: str
    following: str
    lower: End
    upper: End
    midpoint: Fraction
    shows: frozenset[str]


def _end(number: Fraction, code: int, fmt: Format, meaning: str = "") -> End:
    bits = tuple((field.name, field.bits) for field in fields(code, fmt))
    distance = abs(Value.of(NUMBER).number - number)
    return End(number, str(number), meaning, bits, code_text(code, fmt), str(distance))


def steps() -> tuple[Step, ...]:
    """Return the steps of the lesson."""
    name, other = FORMAT.name, OTHER.name
    lower, upper, midpoint = _interval(FORMAT)
    saturated = explain(NUMBER, FORMAT).value
    below, above, middle = _interval(OTHER)
    result = explain(NUMBER, OTHER).value

    def step(sentence: str, following: str, *shows: str) -> Step:
        return Step(name, sentence, following, lower, upper, midpoint, frozenset(shows))

    return (
        step(f"{NUMBER} is not a value of {name}.", "which end is nearer?"),
        step(f"{lower.distance} to {lower.text}, {upper.distance} to {upper.text}.", f"what is the code of {upper.text}?",
             "distances"),
        step(f"{upper.text} is nearer. But its code is {upper.meaning}.", "what does saturate do?",
             "codes", "meaning", "to upper"),
        step(f"With saturate {NUMBER} becomes {saturated}.", f"and in {other}?",
             "codes", "meaning", "to upper", "back"),
        Step(other, f"The next value is {above.text}: {NUMBER} becomes {result}.", "Esc opens Rounding with this number",
             below, above, middle, frozenset({"distances", "codes", "to lower"})),
    )  # fmt: skip


def _interval(fmt: Format) -> tuple[End, End, Fraction]:
    """Return the ends of the interval, the upper one perhaps no value, and its midpoint."""
    found = explain(NUMBER, fmt, saturate=False)
    if found.lower is None or found.midpoint is None:
        raise ValueError(f"{NUMBER} lies in no interval of {fmt.name}")
    code, value = found.lower
    lower = _end(value.number, code, fmt)
    if found.upper is not None:
        return lower, _end(found.upper[1].number, found.upper[0], fmt), found.midpoint.number
    end = format_facts(fmt).end
    if end.code is None:
        raise ValueError(f"no code follows the largest value of {fmt.name}")
    meaning = "NaN" if end.meaning is not None and end.meaning.special == "nan" else str(end.meaning)
    return lower, _end(end.value.number, end.code, fmt, meaning), found.midpoint.number
