"""Rounding: the interval around a number as a ruler of 65 places, and where twelve rules send each of them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from lowprec import Format
from lowprec.explanation import Explanation
from lowprec.reference.exact_cast import Value, decode, encode_rounded, goes_away, lots_for_upper, place_of
from lowprec.spec.formats import Kind
from lowprec.spec.rounding_modes import (
    ROUNDINGS,
    STOCHASTIC,
    OverflowName,
    RoundingName,
    RoundingOptions,
    check_rounding,
)
from lowprec.teaching import format_facts

from ...shared.codes import classify, neighbours
from ...shared.numbers import apart, exact_text, short

__all__ = ["PLACES", "Digits", "End", "Rule", "Ruler", "digits", "ruler", "told"]

PLACES = 65
"""Of an interval, its ends included."""

_FEW = 2
"""Random bits of the stochastic roundings that are compared: with more they do not differ in a drawing."""


_ROOM = 6
"""Characters of a value after its share."""


@dataclass(frozen=True, slots=True)
class End:
    """An end of an interval: its number and its code; what the code means where that is another value."""

    value: Value
    code: int | None
    meaning: Value | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its name, the share of each place that goes up, and in what it results there; for x itself `here`.

    A result is (text, class).
    """

    name: RoundingName
    random_bits: int
    shares: tuple[float, ...]
    results: tuple[tuple[str, str], ...]
    share_here: float
    here: tuple[str, str]


@dataclass(frozen=True, slots=True)
class Ruler:
    """An interval, x on it (`at`, 0 to 1; None beyond its ends), its places as texts, their distances to both ends."""

    format: Format
    left: End
    right: End
    at: float | None
    texts: tuple[str, ...]
    below: tuple[str, ...]
    above: tuple[str, ...]
    middle: str
    below_here: str
    above_here: str
    rules: tuple[Rule, ...]

    @property
    def start(self) -> int:
        """The place next to x."""
        return round((1.0 if self.at is None else self.at) * (PLACES - 1))


def ruler(explanation: Explanation, overflow: OverflowName) -> Ruler | None:
    """Return the interval around the number of an explanation; None for NaN, Inf and bool.

    `overflow` is the rule of the twelve.
    """
    fmt, x = explanation.format, explanation.x
    if x.special or fmt.kind is Kind.BOOL or explanation.lower is explanation.upper is None:
        return None
    number = x.number if fmt.has_zero else x.magnitude
    left, right = _ends(explanation)
    return _ruler(fmt, number, left, right, overflow)


@lru_cache(64)
def _ruler(fmt: Format, number: Fraction, left: End, right: End, overflow: OverflowName) -> Ruler:
    low, high = left.value.number, right.value.number
    places = [low + (high - low) * k / (PLACES - 1) for k in range(PLACES)]
    is_inside = low <= number <= high
    named: list[tuple[RoundingName, int]] = [(name, 0) for name in ROUNDINGS if name not in STOCHASTIC]
    named += [(name, 16 if name == STOCHASTIC[0] else _FEW) for name in STOCHASTIC]
    rules = tuple(_rule(name, bits, fmt, places, number, overflow) for name, bits in named) if fmt.is_float else ()
    return Ruler(
        fmt,
        left,
        right,
        float((number - low) / (high - low)) if is_inside else None,
        tuple(exact_text(Value.of(place)) for place in places),
        tuple(short(place - low, 10, 5) for place in places),
        tuple(short(high - place, 10, 5) for place in places),
        apart(Value.of((low + high) / 2), fmt) if fmt.is_float else "",
        short(abs(number - low), 10, 5),
        short(abs(high - number), 10, 5),
        rules,
    )


def _ends(explanation: Explanation) -> tuple[End, End]:
    """Return the values around x; from x to the next value where x is one, and what would follow the last value."""
    fmt, lower, upper = explanation.format, explanation.lower, explanation.upper
    if lower is not None and lower == upper:
        above = neighbours(lower[0], fmt)[1]
        upper = None if above is None or above.distance is None else (above.code, above.value)
    beyond = format_facts(fmt).end
    if lower is None:
        assert upper is not None  # one of the two is there, as the caller checked
        if fmt.is_integer or not fmt.signed:
            step = Fraction(1) if fmt.is_integer else upper[1].number / 2
            return End(Value.of(upper[1].number - step), None), End(upper[1], upper[0])
        code = None if beyond.code is None else beyond.code | fmt.sign_mask
        return End(Value.of(-beyond.value.number), code, None if code is None else decode(code, fmt)), End(
            upper[1], upper[0]
        )
    if upper is None:
        return End(lower[1], lower[0]), End(beyond.value, beyond.code, beyond.meaning)
    return End(lower[1], lower[0]), End(upper[1], upper[0])


def _rule(
    name: RoundingName, bits: int, fmt: Format, places: list[Fraction], number: Fraction, overflow: OverflowName
) -> Rule:
    options = RoundingOptions(name, overflow, random_bits=bits) if bits else RoundingOptions(name, overflow)
    rules = check_rounding(options, fmt, "fmt")
    results: dict[tuple[bool, Fraction, int | None], tuple[str, str]] = {}

    def result(place: Fraction, share: Fraction, random: int | None = None) -> tuple[str, str]:
        """Return what a number becomes: the same for all that lie between the two values and go to the same one."""
        inside = places[0] < place < places[-1]
        key = (inside, share if inside else place, random)
        if key not in results:
            code = encode_rounded(Value.of(place), fmt, rules, random)
            results[key] = told(decode(code, fmt)), classify(code, fmt)
        return results[key]

    def outcome(place: Fraction) -> tuple[float, tuple[str, str]]:
        """Return which share of the random numbers sends a number up, and the result."""
        x = Value.of(place)
        found = place_of(x.magnitude, fmt) if x.magnitude else None
        if found is None or not found.fraction:
            return 0.0, result(place, Fraction(0), 0 if bits else None)
        if not bits:
            away = goes_away(found, x.negative, rules, None)[0]
            share = Fraction(away != x.negative)
            return float(share), result(place, share)
        count = 1 << bits
        lots = lots_for_upper(found.fraction, rules)
        share = Fraction(count - lots if x.negative else lots, count)
        if lots in (0, count):
            return float(share), result(place, share, 0)
        upper, lower = result(place, Fraction(1, 2), count - 1), result(place, Fraction(1, 2), 0)
        if x.negative:
            upper, lower = lower, upper
        if upper == lower:
            return float(share), upper
        text = upper[0] if len(upper[0]) <= _ROOM else "up"
        return float(share), (f"{float(share):.1%} {text}".replace(".0%", "%"), upper[1])

    found = [outcome(place) for place in places]
    shares = [share for share, _ in found[:-1]] + [1.0]  # the last place is the upper value itself
    share, here = outcome(number)
    results_of_places = tuple(result for _, result in found)
    return Rule(name, bits, tuple(shares), results_of_places, 1.0 if number == places[-1] else share, here)


def told(value: Value) -> str:
    """Return a value as a picture shows it."""
    if value.special == "nan":
        return "NaN"
    return short(value, 9, 5).replace("inf", "Inf").replace("-", "−")


@dataclass(frozen=True, slots=True)
class Digits:
    """A number as a circuit rounds it: the digit before the point, those kept and those cut, guard, round and sticky.

    `exponent` is the power of two that the digits are multiplied with; `code` is the result before overflow is looked
    at, None where that is no code of the format.
    """

    lead: str
    kept: str
    cut: str
    guard: str
    round: str
    sticky: str
    exponent: int
    rule: str
    result_lead: str
    result_kept: str
    code: int | None


_CUT = 5
"""Digits that are cut, of those that are drawn."""


def digits(explanation: Explanation) -> Digits | None:
    """Return the digits of a number that a float with a mantissa rounds to nearest even; None for 0, NaN and Inf."""
    fmt, x = explanation.format, explanation.x
    if x.special or not x.magnitude or not fmt.is_float or not fmt.mantissa_bits or not fmt.has_zero:
        return None
    lower, fraction = place_of(x.magnitude, fmt)
    if lower >= 1 << fmt.bits:
        return None
    rest = fraction * 2**_CUT
    cut = f"{int(rest):0{_CUT}b}"
    below = fraction * 4 % 1
    rules = check_rounding(RoundingOptions("nearest_even"), fmt, "fmt")
    away, why = goes_away(place_of(x.magnitude, fmt), x.negative, rules, None)
    above = lower + (away and bool(fraction))
    field, kept = lower >> fmt.mantissa_bits, lower & fmt.mantissa_mask
    after_field, after = above >> fmt.mantissa_bits, above & fmt.mantissa_mask
    return Digits(
        "1" if field else "0",
        f"{kept:0{fmt.mantissa_bits}b}",
        cut + "…" * bool(rest % 1),
        cut[0],
        cut[1],
        "1" if below else "0",
        max(field, 1) - fmt.bias,
        why if fraction else "nothing is cut",
        "1" if after_field else "0",
        f"{after:0{fmt.mantissa_bits}b}",
        above if above < 1 << (fmt.bits - fmt.signed) else None,
    )
