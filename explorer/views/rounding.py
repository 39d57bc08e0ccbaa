"""One number on its way into a format: the interval it falls in, every way to round it, the presets."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from lowprec import Format, as_format, explain, finfo, iinfo
from lowprec.reference.exact_cast import Value, decode, encode, ulp
from lowprec.reference.explanation import Explanation
from lowprec.spec.formats import FLOAT32, Kind
from lowprec.spec.opsets import ATTRIBUTE_SINCE, NEWEST
from lowprec.spec.rounding import ROUND_MODES

from .anatomy import neighbours
from .numbers import exact_text

__all__ = ["Interval", "Mode", "Preset", "Rounding", "presets", "rounding"]

_SINGLE = FLOAT32  # what double rounding passes through


@dataclass(frozen=True, slots=True)
class Interval:
    """What is drawn: two ends with their codes (None where no finite value is), the middle, and x between them.

    `position` is where x lies, 0 at the left end and 1 at the right one, and stays inside where x lies beyond. `winner`
    is left, right, exact (x itself is a value, between its neighbours) or other (neither end: Inf, NaN, wrapped).
    Integers have no `middle`: they are truncated.
    """

    left: tuple[int, Value] | None
    right: tuple[int, Value] | None
    middle: Value | None
    position: float
    winner: str


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to round: its name, whether ONNX asks for it here, and the code it gives (None where there is none)."""

    name: str
    is_onnx: bool
    code: int | None
    value: Value | None
    error: Fraction | None


@dataclass(frozen=True, slots=True)
class Rounding:
    """Why x becomes that code, the interval where there is one, and all the ways to round, ONNX's first."""

    explanation: Explanation
    interval: Interval | None
    modes: tuple[Mode, ...]


@dataclass(frozen=True, slots=True)
class Preset:
    """A number worth looking at, and what it shows."""

    label: str
    x: str


def rounding(x: str, fmt: object, *, saturate: bool = True, opset: int = NEWEST) -> Rounding:
    """Explain how Cast rounds a number, and compare the other ways; ValueError where `x` is no number."""
    row = as_format(fmt)
    found = explain(x, row, saturate=saturate, opset=opset)
    return Rounding(found, _interval(found), _modes(found, saturate, opset))


def _interval(found: Explanation) -> Interval | None:
    x, lower, upper = found.x, found.lower, found.upper
    if x.special or found.format.kind is Kind.BOOL or lower is upper is None:
        return None
    number = _number(found)
    if lower is not None and lower == upper:
        before, after = neighbours(lower[0], found.format)
        left, right = (None if near is None or near.distance is None else (near.code, near.value)
                       for near in (before, after))  # fmt: skip
        # at an end of the range the picture is as wide on that side as on the other
        width = abs(number - (left or right or lower)[1].number) or Fraction(1)
        start = left[1].number if left else number - width
        end = right[1].number if right else number + width
        return Interval(left, right, x, float((number - start) / (end - start)), "exact")
    start, end = _ends(found)
    position = min(max((number - start) / (end - start), Fraction(0)), Fraction(1))
    winner = "left" if lower and found.code == lower[0] else "right" if upper and found.code == upper[0] else "other"
    middle = Value.of((start + end) / 2) if found.format.is_float else None
    return Interval(lower, upper, middle, float(position), winner)


def _number(found: Explanation) -> Fraction:
    """Return x as the format sees it: |x| where the format has no sign."""
    return found.x.number if found.format.signed or not found.format.is_float else found.x.magnitude


def _ends(found: Explanation) -> tuple[Fraction, Fraction]:
    """Return where the interval begins and ends; beyond the last value it is one more step wide."""
    lower, upper = found.lower, found.upper
    if lower and upper:
        return lower[1].number, upper[1].number
    if lower:
        return lower[1].number, lower[1].number + ulp(lower[1], found.format)
    assert upper is not None  # the caller has seen one of the two
    return upper[1].number - ulp(upper[1], found.format), upper[1].number


def _modes(found: Explanation, saturate: bool, opset: int) -> tuple[Mode, ...]:
    fmt, x = found.format, found.x
    if fmt.is_float and not fmt.has_zero and opset >= ATTRIBUTE_SINCE["Cast"]["round_mode"]:
        codes = [explain(x, fmt, saturate=saturate, round_mode=mode, opset=opset).code for mode in ROUND_MODES]
        named = zip(ROUND_MODES, codes, strict=True)
        return tuple(_mode(f"round_mode {name}", True, code, found) for name, code in named)
    name = "to nearest, ties to even" if fmt.is_float else "toward zero, then modulo 2^n"
    rows = [_mode("not zero is True" if fmt.kind is Kind.BOOL else name, True, found.code, found)]
    if not x.special and fmt.kind is not Kind.BOOL:
        rows += [_mode(name, False, code, found) for name, code in _others(found).items()]
        if fmt.is_float and fmt.mantissa_bits < _SINGLE.mantissa_bits:
            twice = encode(decode(encode(x, _SINGLE), _SINGLE), fmt, saturate=saturate, opset=opset)
            rows.append(_mode("twice: through float32", False, twice, found))
    return tuple(rows)


def _others(found: Explanation) -> dict[str, int | None]:
    """Return the directed ways to round: one of the two neighbours, None beyond the last value."""
    lower, upper = (near[0] if near else None for near in (found.lower, found.upper))
    negative = found.x.negative
    nearest_away = upper if not negative else lower
    if found.lower and found.upper and found.lower != found.upper:
        doubled = 2 * found.x.number - found.lower[1].number - found.upper[1].number
        nearest_away = nearest_away if not doubled else upper if doubled > 0 else lower
    elif found.midpoint and found.x.magnitude < found.midpoint.magnitude:
        nearest_away = lower if not negative else upper
    modes = {
        "toward zero": upper if negative else lower,
        "away from zero": lower if negative else upper,
        "up, toward +Inf": upper,
        "down, toward -Inf": lower,
        "to nearest, ties away": nearest_away,
    }
    if not found.format.is_float:
        del modes["toward zero"]
    return modes


def _mode(name: str, is_onnx: bool, code: int | None, found: Explanation) -> Mode:
    value = None if code is None else decode(code, found.format)
    known = value is not None and not value.special and not found.x.special
    return Mode(name, is_onnx, code, value, value.number - _number(found) if value and known else None)


def presets(fmt: object) -> tuple[Preset, ...]:
    """Return the numbers worth looking at in a format: ties, both edges of the range, special values."""
    row = as_format(fmt)
    if row.kind is Kind.BOOL:
        given = [("zero", "0"), ("minus zero", "-0"), ("tiny", "1e-300"), ("NaN", "nan")]
    elif row.is_integer:
        last = iinfo(row).max
        given = [("half", "0.5"), ("negative half", "-1.5"), ("largest", str(last)), ("one more", str(last + 1)),
                 ("-0", "-0"), ("Inf", "inf"), ("NaN", "nan")]  # fmt: skip
    elif not row.has_zero:
        given = [("f = 1.5", "3"), ("f just below 1.5", "0x1.7fp+1"), ("zero", "0"), ("negative", "-3"),
                 ("largest", _text(Fraction(finfo(row).max))), ("beyond", _text(Fraction(finfo(row).max) * 3 / 2)),
                 ("Inf", "inf"), ("NaN", "nan")]  # fmt: skip
    else:
        given = _float_presets(row)
    return tuple(Preset(label, x) for label, x in given)


def _float_presets(fmt: Format) -> list[tuple[str, str]]:
    info = finfo(fmt)
    eps, largest, tiny = Fraction(info.eps), Fraction(info.max), Fraction(info.smallest_subnormal)
    step = Fraction(2) ** (fmt.emax - fmt.mantissa_bits)
    witness = 1 + eps / 2 + Fraction(1, 2**40)
    given = [
        ("tie, down to even", _text(1 + eps / 2)), ("tie, up to even", _text(1 + 3 * eps / 2)),
        ("largest", _text(largest)), ("largest + ½ step", _text(largest + step / 2)),
        ("largest + 1 step", _text(largest + step)),
        ("smallest", _text(tiny)), ("half the smallest", _text(tiny / 2)), ("-0", "-0"), ("Inf", "inf"), ("NaN", "nan"),
    ]  # fmt: skip
    if fmt.mantissa_bits < _SINGLE.mantissa_bits:
        given.append(("rounded twice?", _text(witness)))
    return given


def _text(number: Fraction) -> str:
    return exact_text(Value.of(number))
