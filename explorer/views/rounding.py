"""Rounding: the interval a number falls in, every rounding mode, and the presets of a format."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lowprec import Format, as_format, explain, finfo, iinfo
from lowprec.reference.exact_cast import Value, decode, encode, ulp
from lowprec.reference.explanation import Explanation
from lowprec.spec.formats import FLOAT32, Kind
from lowprec.spec.opset_rules import ATTRIBUTE_SINCE, NEWEST
from lowprec.spec.round_modes import ROUND_MODES

from .anatomy import neighbours
from .numbers import exact_text

__all__ = ["Interval", "Mode", "Preset", "Rounding", "presets", "rounding"]

_SINGLE = FLOAT32  # the format between in double rounding


@dataclass(frozen=True, slots=True)
class Interval:
    """Two ends with their codes (None where no finite value is), the middle, and x between them.

    `position` is 0 for x at the left end and 1 at the right one, clamped. `winner` is left, right, exact (x itself is a
    value, between its neighbours) or other (neither end: Inf, NaN, wrapped).
    Integers have no `middle`: they are truncated.
    """

    left: tuple[int, Value] | None
    right: tuple[int, Value] | None
    middle: Value | None
    position: float
    winner: str


@dataclass(frozen=True, slots=True)
class Mode:
    """A rounding mode: its name, whether it is ONNX's, and the code it gives (None if there is none)."""

    name: str
    is_onnx: bool
    code: int | None
    value: Value | None
    error: Fraction | None


@dataclass(frozen=True, slots=True)
class Rounding:
    """The explanation of a Cast, the interval if there is one, and all rounding modes, ONNX's first."""

    explanation: Explanation
    interval: Interval | None
    modes: tuple[Mode, ...]


@dataclass(frozen=True, slots=True)
class Preset:
    """An example: a label, and the number."""

    label: str
    x: str


def rounding(x: str, fmt: object, *, saturate: bool = True, opset: int = NEWEST) -> Rounding:
    """Explain how Cast rounds a number, and compare the other rounding modes; ValueError if `x` is no number."""
    row = as_format(fmt)
    explanation = explain(x, row, saturate=saturate, opset=opset)
    return Rounding(explanation, _interval(explanation), _modes(explanation, saturate, opset))


def _interval(explanation: Explanation) -> Interval | None:
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
    middle = Value.of((start + end) / 2) if explanation.format.is_float else None
    return Interval(lower, upper, middle, float(position), winner)


def _number(explanation: Explanation) -> Fraction:
    """Return x, or |x| if the format has no sign."""
    fmt, x = explanation.format, explanation.x
    return x.number if fmt.signed or not fmt.is_float else x.magnitude


def _ends(explanation: Explanation) -> tuple[Fraction, Fraction]:
    """Return the ends of the interval; after the last value it is one step wide."""
    lower, upper = explanation.lower, explanation.upper
    if lower and upper:
        return lower[1].number, upper[1].number
    if lower:
        return lower[1].number, lower[1].number + ulp(lower[1], explanation.format)
    assert upper is not None  # one of the two is there, as the caller checked
    return upper[1].number - ulp(upper[1], explanation.format), upper[1].number


def _modes(explanation: Explanation, saturate: bool, opset: int) -> tuple[Mode, ...]:
    fmt, x = explanation.format, explanation.x
    if fmt.is_float and not fmt.has_zero and opset >= ATTRIBUTE_SINCE["Cast"]["round_mode"]:
        codes = [explain(x, fmt, saturate=saturate, round_mode=mode, opset=opset).code for mode in ROUND_MODES]
        named = zip(ROUND_MODES, codes, strict=True)
        return tuple(_mode(f"round_mode {name}", True, code, explanation) for name, code in named)
    name = "to nearest, ties to even" if fmt.is_float else "toward zero, then modulo 2^n"
    rows = [_mode("not zero is True" if fmt.kind is Kind.BOOL else name, True, explanation.code, explanation)]
    if not x.special and fmt.kind is not Kind.BOOL:
        rows += [_mode(name, False, code, explanation) for name, code in _other_modes(explanation).items()]
        if fmt.is_float and fmt.mantissa_bits < _SINGLE.mantissa_bits:
            twice = encode(decode(encode(x, _SINGLE), _SINGLE), fmt, saturate=saturate, opset=opset)
            rows.append(_mode("twice: through float32", False, twice, explanation))
    return tuple(rows)


def _other_modes(explanation: Explanation) -> dict[str, int | None]:
    """Return the code of each rounding mode that is not ONNX's: a neighbour, None beyond the last value."""
    lower, upper = (near[0] if near else None for near in (explanation.lower, explanation.upper))
    negative = explanation.x.negative
    nearest_away = upper if not negative else lower
    if explanation.lower and explanation.upper and explanation.lower != explanation.upper:
        doubled = 2 * explanation.x.number - explanation.lower[1].number - explanation.upper[1].number
        nearest_away = nearest_away if not doubled else upper if doubled > 0 else lower
    elif explanation.midpoint and explanation.x.magnitude < explanation.midpoint.magnitude:
        nearest_away = lower if not negative else upper
    modes = {
        "toward zero": upper if negative else lower,
        "away from zero": lower if negative else upper,
        "up, toward +Inf": upper,
        "down, toward -Inf": lower,
        "to nearest, ties away": nearest_away,
    }
    if not explanation.format.is_float:
        del modes["toward zero"]
    return modes


def _mode(name: str, is_onnx: bool, code: int | None, explanation: Explanation) -> Mode:
    value = None if code is None else decode(code, explanation.format)
    comparable = value is not None and not value.special and not explanation.x.special
    return Mode(name, is_onnx, code, value, value.number - _number(explanation) if value and comparable else None)


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
    eps, largest, tiny = Fraction(info.eps), Fraction(info.max), Fraction(info.smallest_subnormal)
    step = Fraction(2) ** (fmt.emax - fmt.mantissa_bits)
    witness = 1 + eps / 2 + Fraction(1, 2**40)
    examples = [
        ("tie, down to even", _text(1 + eps / 2)),
        ("tie, up to even", _text(1 + 3 * eps / 2)),
        ("largest", _text(largest)),
        ("largest + ½ step", _text(largest + step / 2)),
        ("largest + 1 step", _text(largest + step)),
        ("smallest", _text(tiny)),
        ("half the smallest", _text(tiny / 2)),
        ("-0", "-0"),
        ("Inf", "inf"),
        ("NaN", "nan"),
    ]
    if fmt.mantissa_bits < _SINGLE.mantissa_bits:
        examples.append(("rounded twice?", _text(witness)))
    return examples


def _text(number: Fraction) -> str:
    return exact_text(Value.of(number))
