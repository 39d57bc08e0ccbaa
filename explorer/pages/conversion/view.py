"""Cast & BitCast: one code cast step by step, its bits read as other formats, and codes packed in bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

import lowprec as lp
from lowprec import teaching
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import NEWEST, Caller, cast_rules

from ...shared.cast_options import CastOptions, options_for
from ...shared.numbers import short

__all__ = [
    "CASTABLE",
    "BitCasting",
    "Conversion",
    "NeighbourRow",
    "bitcasting",
    "bitcastings",
    "conversion",
    "loss_text",
]

CASTABLE: tuple[Format, ...] = NUMERIC
"""The formats that Cast converts by value."""


@dataclass(frozen=True, slots=True)
class NeighbourRow:
    """A value next to the source value, and its code; the midpoint of two of them has none.

    `is_result` says that Cast gives this code; of the midpoint, that the source value is there: a tie.
    """

    name: str
    code: int | None
    value: Value
    is_result: bool


@dataclass(frozen=True, slots=True)
class Conversion:
    """One Cast of one code.

    `value` is the value of the source code, `explanation` how it is rounded by the rules of the target. Where source
    and target are the same format the bits are `copied`, and `explanation` is None. `result` is the kernel's code,
    `result_value` its value, `rule` the rule that decided.
    """

    source: Format
    target: Format
    code: int
    value: Value
    explanation: Explanation | None
    result: int
    result_value: Value
    rule: str

    @property
    def copied(self) -> bool:
        """Whether the bits were copied."""
        return self.explanation is None

    @property
    def exact(self) -> bool:
        """Whether the result is the value itself, its sign included; NaN is NaN."""
        same = self.value.special == self.result_value.special and self.value.magnitude == self.result_value.magnitude
        return same and (self.value.negative == self.result_value.negative or self.value.special == "nan")

    @property
    def neighbours(self) -> tuple[NeighbourRow, ...]:
        """The values of the target on both sides of the source value and their midpoint, the highest first."""
        explanation = self.explanation
        if explanation is None or not (explanation.lower or explanation.upper):
            return ()
        rows = []
        for name, near in (("upper", explanation.upper), ("lower", explanation.lower)):
            if near is not None:
                rows.append(NeighbourRow(name, *near, near[0] == self.result))
        if explanation.midpoint is not None:
            midpoint = NeighbourRow("midpoint", None, explanation.midpoint, explanation.is_tie)
            rows.insert(explanation.upper is not None, midpoint)
        return tuple(rows)

    def is_rounded_from(self, number: Value | None) -> bool:
        """Whether the source code was given as a number that the source format does not have."""
        return number is not None and (number.special, number.number) != (self.value.special, self.value.number)


def loss_text(conversion: Conversion) -> str:
    """Return what a Cast lost, as text."""
    if conversion.exact:
        return "the same value: nothing was lost"
    errors = teaching.error_of(conversion.value, conversion.result_value, conversion.target)
    if not errors.absolute or errors.ulps is None:
        return "not the same value"
    return f"error {short(errors.absolute)}, {short(errors.ulps)} ulp of {conversion.target.name}"


def code_array(codes: Sequence[int], fmt: Format) -> np.ndarray[Any, Any]:
    return np.array(codes, fmt.code_dtype)


def conversion(code: int, source: Format, target: Format, **options: Unpack[CastOptions]) -> Conversion:
    """Return how Cast takes a code of one format to another; ValueError where the opset lacks a type or attribute."""
    asked = options_for(target, options)
    by_value = "rounding" in asked  # which converts a format to itself, too
    if not by_value:
        attributes = asked.get("saturate", True), asked.get("round_mode"), asked.get("opset", NEWEST)
        rules = cast_rules(source, target, *attributes, Caller("From", "To"))
        # float8 tables hold for any x, also their own
        by_value = source is not target or (target.saturates == "asked" and rules.saturate)
    value = decode(code, source)
    result = int(lp.encode(code_array([code], source), target, source=source, **asked)[0])
    explanation = lp.explain(value, target, **asked) if by_value else None
    rule = explanation.rule if explanation else "the same format: the bits are copied"
    return Conversion(source, target, code, value, explanation, result, decode(result, target), rule)


@dataclass(frozen=True, slots=True)
class BitCasting:
    """The same bits read as another format, or why not (`problem`); `note` says what ONNX itself lacks."""

    source: Format
    target: Format
    code: int
    value: Value | None
    problem: str = ""
    note: str = ""


def bitcasting(code: int, source: Format, target: Format, *, opset: int = NEWEST) -> BitCasting:
    """Return the BitCast of a code; never raises for formats and opsets that exist."""
    try:
        values = np.asarray(lp.bitcast(code_array([code], source), target, source=source, opset=opset))
    except ValueError as error:
        return BitCasting(source, target, code, None, str(error).replace("`to`", "the target"))
    result = int(values.view(target.code_dtype)[0]) & target.code_mask
    note = "ONNX's BitCast has no float6; lowprec reads one float6 as the other." if source.bits == 6 else ""
    return BitCasting(source, target, result, decode(result, target), note=note)


def bitcastings(code: int, source: Format, *, opset: int = NEWEST) -> tuple[BitCasting, ...]:
    """Return the BitCasts of a code to every other format of its width."""
    candidates = (bitcasting(code, source, fmt, opset=opset) for fmt in CASTABLE if fmt.bits == source.bits)
    return tuple(bitcast for bitcast in candidates if bitcast.value is not None and bitcast.target is not source)
