"""Rounding: the interval a number falls in, every rounding mode, and the presets of a format."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lowprec import Format, as_format, explain
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import (
    Value,
    decode,
    encode,
    encode_rounded,
    lots_for_upper,
    place_of,
    ulp,
)
from lowprec.spec.formats import FLOAT32, Kind
from lowprec.spec.operator_versions import ATTRIBUTE_SINCE, NEWEST
from lowprec.spec.rounding_modes import DEFAULT_RANDOM_BITS, ROUND_MODES, STOCHASTIC, RoundingOptions, check_rounding

from .cast_options import BY_WIDTH, DETERMINISTIC, ONNX, overflow_of
from .codes import neighbours

__all__ = ["Chance", "Interval", "Mode", "Rounding", "interval_of", "rounding"]

_SINGLE = FLOAT32  # the format between in double rounding


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends with their codes (None where no finite value is), the middle, and x between them.

    `position` is 0 for x at the left end and 1 at the right one, clamped. `winner` is left, right, exact (x itself is a
    value, between its neighbours) or other (neither end: Inf, NaN, wrapped).
    Integers have no `middle`: they are truncated. Nor has what lies below a format without sign.
    """

    left: tuple[int, Value] | None
    right: tuple[int, Value] | None
    middle: Value | None
    position: float
    winner: str


@dataclass(frozen=True, slots=True)
class Mode:
    """A way to round: its name, whether it is ONNX's, and what it gives."""

    name: str
    is_onnx: bool
    code: int
    value: Value
    error: Fraction | None


@dataclass(frozen=True, slots=True)
class Chance:
    """A stochastic rounding: of its `lots` random numbers, how many give the upper neighbour, and what comes out.

    `upper` and `lower` are codes and values after the overflow rule; None of a neighbour that no number gives.
    """

    name: str
    lots: int
    lots_for_upper: int
    upper: tuple[int, Value] | None
    lower: tuple[int, Value] | None

    @property
    def probability(self) -> Fraction:
        """The exact probability of the upper neighbour."""
        return Fraction(self.lots_for_upper, self.lots)


@dataclass(frozen=True, slots=True)
class Rounding:
    """The explanation of the chosen rounding, the interval if there is one, and all roundings, Cast's first.

    `chances` are empty where nothing is left to chance: x is a value, Inf or NaN, or the format no float.
    """

    explanation: Explanation
    interval: Interval | None
    modes: tuple[Mode, ...]
    chances: tuple[Chance, ...]


def rounding(
    x: str,
    fmt: object,
    *,
    saturate: bool = True,
    opset: int = NEWEST,
    rounding: str = ONNX,
    overflow: str = BY_WIDTH,
) -> Rounding:
    """Explain how a number is rounded, and compare the other roundings; ValueError if `x` is no number.

    `rounding` is one of `ROUNDING_CHOICES`, `overflow` of `OVERFLOW_CHOICES`. `saturate` and `opset` are those of Cast.
    """
    row = as_format(fmt)
    of_cast = explain(x, row, saturate=saturate, opset=opset)
    if not row.is_float:
        return Rounding(of_cast, interval_of(of_cast), _of_cast(of_cast, saturate, opset), ())
    rule = overflow_of(row, overflow)
    others: dict[str, Explanation] = {name: explain(x, row, rounding=name, overflow=rule) for name in DETERMINISTIC}
    chosen = others.get(rounding, of_cast)
    modes = (_mode(name, False, other.code, other) for name, other in others.items())
    return Rounding(
        chosen,
        interval_of(chosen),
        (*_of_cast(of_cast, saturate, opset), *modes, *_twice(of_cast, saturate, opset)),
        _chances(of_cast.x, row, rule),
    )


def interval_of(explanation: Explanation) -> Interval | None:
    """Return the interval around the number of an explanation; None for NaN, Inf and bool."""
    x, lower, upper = explanation.x, explanation.lower, explanation.upper
    if x.special or explanation.format.kind is Kind.BOOL or lower is upper is None:
        return None
    number = _number(explanation)
    if lower is not None and lower == upper:
        before, after = neighbours(lower[0], explanation.format)
        left, right = (
            None if near is None or near.distance is None else (near.code, near.value) for near in (before, after)
        )
        # at an end of the range the picture is as wide on that side as on the other
        width = abs(number - (left or right or lower)[1].number) or Fraction(1)
        start = left[1].number if left else number - width
        end = right[1].number if right else number + width
        return Interval(left, right, x, float((number - start) / (end - start)), "exact")
    start, end = _ends(explanation)
    position = min(max((number - start) / (end - start), Fraction(0)), Fraction(1))
    sides = {end[0]: side for side, end in (("right", upper), ("left", lower)) if end}
    winner = sides.get(explanation.code, "other")
    middle = None if explanation.midpoint is None else Value.of((start + end) / 2)
    return Interval(lower, upper, middle, float(position), winner)


def _number(explanation: Explanation) -> Fraction:
    """Return x, or |x| if the format has no zero: its casts ignore the sign."""
    return explanation.x.number if explanation.format.has_zero else explanation.x.magnitude


def _ends(explanation: Explanation) -> tuple[Fraction, Fraction]:
    """Return the ends of the interval; after the last value it is one step wide."""
    lower, upper = explanation.lower, explanation.upper
    if lower and upper:
        return lower[1].number, upper[1].number
    if lower:
        return lower[1].number, lower[1].number + ulp(lower[1], explanation.format)
    assert upper is not None  # one of the two is there, as the caller checked
    return upper[1].number - ulp(upper[1], explanation.format), upper[1].number


def _of_cast(explanation: Explanation, saturate: bool, opset: int) -> tuple[Mode, ...]:
    """Return the rows of Cast: one, or one for each `round_mode` where that concerns the format."""
    fmt, x = explanation.format, explanation.x
    is_onnx = fmt.onnx_enum is not None
    if fmt.is_float and not fmt.has_zero and opset >= ATTRIBUTE_SINCE["Cast"]["round_mode"]:
        codes = [explain(x, fmt, saturate=saturate, round_mode=mode, opset=opset).code for mode in ROUND_MODES]
        named = zip(ROUND_MODES, codes, strict=True)
        return tuple(_mode(f"round_mode {name}", is_onnx, code, explanation) for name, code in named)
    if fmt.is_float:
        name = "to nearest, ties to even" if is_onnx else "the default"
    else:
        name = "not zero is True" if fmt.kind is Kind.BOOL else "toward zero, then modulo 2^n"
    return (_mode(name, is_onnx, explanation.code, explanation),)


def _twice(explanation: Explanation, saturate: bool, opset: int) -> tuple[Mode, ...]:
    """Return the row of two Casts, the first to float32, for a format that is narrower."""
    fmt, x = explanation.format, explanation.x
    if x.special or not fmt.has_zero or fmt.mantissa_bits >= _SINGLE.mantissa_bits:
        return ()
    twice = encode(decode(encode(x, _SINGLE), _SINGLE), fmt, saturate=saturate, opset=opset)
    return (_mode("twice: through float32", False, twice, explanation),)


def _chances(x: Value, fmt: Format, overflow: str) -> tuple[Chance, ...]:
    """Return the exact probabilities of the stochastic roundings with the default number of random bits."""
    if x.special or not x.magnitude or not (fraction := place_of(x.magnitude, fmt).fraction):
        return ()
    lots = 1 << DEFAULT_RANDOM_BITS
    rows = []
    for name in STOCHASTIC[1:]:
        rules = check_rounding(RoundingOptions(name, overflow), fmt, "fmt")
        far = lots_for_upper(fraction, rules)  # the upper one of the magnitude, which takes the largest numbers
        ends = [
            (code, decode(code, fmt)) if count else None
            for code, count in (
                (encode_rounded(x, fmt, rules, lots - 1), far),
                (encode_rounded(x, fmt, rules, 0), lots - far),
            )
        ]
        is_negative = x.negative and fmt.has_zero
        upper, lower = ends[::-1] if is_negative else ends
        rows.append(Chance(name, lots, lots - far if is_negative else far, upper, lower))
    return tuple(rows)


def _mode(name: str, is_onnx: bool, code: int, explanation: Explanation) -> Mode:
    value = decode(code, explanation.format)
    comparable = not value.special and not explanation.x.special
    return Mode(name, is_onnx, code, value, value.number - _number(explanation) if comparable else None)
