"""Compare: one value cast to several formats, its error and what was lost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Unpack

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explanation import Explanation, LossSentence
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import NEWEST, first_opset
from lowprec.teaching import ResultError

from ...shared.cast_options import CastOptions, options_for
from ...shared.codes import losses_of

__all__ = ["COMPARABLE", "Outcome", "checked", "log2", "outcome"]

COMPARABLE: tuple[Format, ...] = tuple(fmt for fmt in NUMERIC if fmt.is_float or fmt.is_integer)
"""The formats that have a range and a precision."""

_FARTHEST = 1100
"""Beyond the exponents of every format."""


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


def log2(value: Value) -> float | None:
    """Return log2 of a magnitude, or None for 0, Inf, NaN and magnitudes that no format has."""
    if not value.magnitude or abs(reference.binade_of(value)) > _FARTHEST:
        return None
    return reference.log2(value)
