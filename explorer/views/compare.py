"""Compare: the range, the precision and the counts of codes of formats; one value cast to each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Unpack

import lowprec as lp
from lowprec.reference.exact_cast import Value, decode, encode, ulp
from lowprec.reference.explanation import Explanation
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.opset_rules import NEWEST, first_opset

from .cast_options import CastOptions, options_for

__all__ = [
    "COMPARABLE",
    "Differences",
    "Facts",
    "Outcome",
    "Precision",
    "checked",
    "differences",
    "facts",
    "log2",
    "outcome",
    "precision",
]

COMPARABLE: tuple[Format, ...] = tuple(fmt for fmt in NUMERIC if fmt.is_float or fmt.is_integer)
"""The formats that have a range and a precision."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The limits and counts of a format; values are exact, `digits` and `decades` are logarithms.

    `largest` and `lowest` are the ends of the finite range, `smallest` is the smallest positive value, `eps` the
    distance from 1 to the next value (None where 1 is the last, or none). `smallest_normal` is None where all values
    are subnormal. `significant_bits` count the leading one.
    `finite_codes`, `nan_codes` and `inf_codes` add up to all codes; `numbers` are distinct finite values, -0 being 0.
    """

    format: Format
    largest: Value
    lowest: Value
    smallest_normal: Value | None
    smallest: Value
    eps: Fraction | None
    significant_bits: int
    digits: float
    decades: float
    finite_codes: int
    nan_codes: int
    inf_codes: int
    subnormal_codes: int
    numbers: int

    @property
    def low_log2(self) -> float:
        """Where the positive values begin."""
        return math.log2(float(self.smallest))

    @property
    def normal_log2(self) -> float:
        """Where full precision begins: the end, where all values are subnormal."""
        return math.log2(float(self.smallest_normal or self.largest))

    @property
    def high_log2(self) -> float:
        """Where the finite values end."""
        return math.log2(float(self.largest))


def _float_facts(fmt: Format) -> Facts:
    info = lp.finfo(fmt)
    signs = 2 if fmt.signed else 1
    finite = (info.max_code + 1) * signs - (fmt.signed and not info.has_negative_zero)
    inf = 0 if info.inf_code is None else signs
    bits = info.mantissa_bits + 1
    return Facts(
        format=fmt,
        largest=Value.of(info.max),
        lowest=Value.of(info.min),
        smallest_normal=Value.of(info.smallest_normal) if info.smallest_normal <= info.max else None,
        smallest=Value.of(info.smallest_subnormal),
        eps=ulp(1, fmt) if info.max > 1 and decode(encode(1, fmt), fmt).number == 1 else None,
        significant_bits=bits,
        digits=bits * math.log10(2),
        decades=math.log10(info.max) - math.log10(info.smallest_subnormal),
        finite_codes=finite,
        nan_codes=2**info.bits - finite - inf,
        inf_codes=inf,
        subnormal_codes=min(2**info.mantissa_bits - 1, info.max_code) * signs if fmt.has_zero else 0,
        numbers=finite - info.has_negative_zero,
    )


def _integer_facts(fmt: Format) -> Facts:
    info = lp.iinfo(fmt)
    one, bits = Value.of(1), info.max.bit_length()
    return Facts(
        format=fmt,
        largest=Value.of(info.max),
        lowest=Value.of(info.min),
        smallest_normal=one,
        smallest=one,
        eps=Fraction(1) if info.max > 1 else None,
        significant_bits=bits,
        digits=bits * math.log10(2),
        decades=math.log10(info.max),
        finite_codes=2**info.bits,
        nan_codes=0,
        inf_codes=0,
        subnormal_codes=0,
        numbers=2**info.bits,
    )


def facts(fmt: Format) -> Facts:
    """Return the limits and counts of a float or integer format."""
    return _float_facts(fmt) if fmt.is_float else _integer_facts(fmt)


@dataclass(frozen=True, slots=True)
class Precision:
    """How many significant bits a format has for magnitudes from ``2**exponent`` up to its double."""

    exponent: int
    bits: int


def precision(fmt: Format) -> tuple[Precision, ...]:
    """Return the significant bits in every binade that holds a value, from the smallest up.

    They shrink to one in the subnormals of a float, and in an integer towards 1.
    """
    limits = facts(fmt)
    full = limits.significant_bits
    first, last = math.floor(limits.low_log2), _exponent(limits.largest)
    if fmt.is_float:
        step = fmt.emin - fmt.mantissa_bits  # log2 of the spacing of the subnormals
        return tuple(Precision(power, min(power - step + 1, full)) for power in range(first, last + 1))
    return tuple(Precision(power, power + 1) for power in range(last + 1))


def _exponent(value: Value) -> int:
    """Return the binade of a positive value, exactly: log2 of 2**64 - 1 is 64 in float64."""
    top, bottom = value.magnitude.as_integer_ratio()
    power = top.bit_length() - bottom.bit_length()
    return power if Fraction(2) ** power <= value.magnitude else power - 1


@dataclass(frozen=True, slots=True)
class Differences:
    """How far a result is from x: exact, None where either is no number; `relative` also where x is 0.

    `ulps` are units in the last place of x in the format (`lowprec.reference.ulp`).
    """

    absolute: Fraction | None = None
    relative: Fraction | None = None
    ulps: Fraction | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The Cast of one value to a format and its error, or why it cannot be cast (`problem`)."""

    format: Format
    explanation: Explanation | None = None
    differences: Differences = Differences()
    problem: str = ""


def differences(x: Value, result: Value, fmt: Format) -> Differences:
    """Return how far a result in a format is from x."""
    if x.special or result.special:
        return Differences()
    absolute = abs(result.number - x.number)
    relative = absolute / x.magnitude if x.magnitude else None
    return Differences(absolute, relative, absolute / ulp(x, fmt))


def outcome(x: Value, fmt: Format, **options: Unpack[CastOptions]) -> Outcome:
    """Return the Cast of a value to one format, and its error."""
    asked = options_for(fmt, options)
    if first_opset(fmt) > (opset := asked.get("opset", NEWEST)):
        return Outcome(fmt, problem=f"no type of Cast at opset {opset}: it is one since opset {first_opset(fmt)}")
    explanation = lp.explain(x, fmt, **asked)
    return Outcome(fmt, explanation, differences(x, explanation.value, fmt))


def checked(text: str) -> str:
    """Return the text of a number unchanged; ValueError if it is none."""
    Value.of(text, parameter="number")
    return text


def log2(value: Value) -> float | None:
    """Return log2 of a magnitude, or None for 0, Inf, NaN and magnitudes that no format has."""
    if not value.magnitude or abs(power := _exponent(value)) > 1100:
        return None
    return power + math.log2(value.magnitude / Fraction(2) ** power)
