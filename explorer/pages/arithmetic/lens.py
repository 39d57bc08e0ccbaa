"""An exact sum or result between the two values of a format next to it: texts, where it lies, and where it goes."""

from __future__ import annotations

from dataclasses import dataclass

from lowprec import teaching
from lowprec.explanation import Explanation
from lowprec.reference.values import Value

from ...shared.codes import classify
from ...shared.numbers import apart, short
from ...shared.ranges import minus
from ...shared.roundings import interval_of

__all__ = ["Lens", "Mark", "lens_of"]


@dataclass(frozen=True, slots=True)
class Mark:
    """An end of an interval: its number; what its code means if that is something else, "no value" without a code."""

    text: str
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Lens:
    """Two ends and their midpoint, the exact number between them, its place (0 to 1), the place of the result.

    `goes` is None where the result is neither end; `kind` is the class of its code.
    """

    left: Mark
    right: Mark
    middle: str
    exact: str
    at: float
    goes: float | None
    result: str
    kind: str


def lens_of(explanation: Explanation) -> Lens | None:
    """Return the exact number of an explanation between two values; None for Inf and NaN."""
    found, fmt = interval_of(explanation), explanation.format
    if found is None:
        return None
    end = teaching.format_facts(fmt).end
    meaning = "no value" if end.meaning is None else _told(end.meaning)

    def mark(value: tuple[int, Value] | None, sign: str) -> Mark:
        return Mark(minus(apart(value[1], fmt))) if value else Mark(sign + minus(apart(end.value, fmt)), meaning)

    goes = {"left": 0.0, "right": 1.0, "exact": found.position}.get(found.winner)
    middle = minus(apart(found.middle, fmt)) if found.middle is not None and found.winner != "exact" else ""
    exact, kind = minus(short(explanation.x, 14, 8)), classify(explanation.code, fmt)
    left, right = mark(found.left, "−"), mark(found.right, "")
    return Lens(left, right, middle, exact, found.position, goes, _told(explanation.value), kind)


def _told(value: Value) -> str:
    return "NaN" if value.special == "nan" else minus(short(value, 14, 8)).replace("inf", "Inf")
