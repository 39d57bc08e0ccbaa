"""The exact oracle of the rounding rules beyond ONNX: one value at a time, in fractions.

Every function states its rule on the exact value: `fraction`, where the magnitude lies between its two neighbours, is
0 at the one nearer to zero and reaches 1 at the other. Source: IEEE P3109 interim report 4.0, 4.7.4 and 4.7.5, with the
draft of July 2026 (``wRoundToPrecision`` and ``wSaturate``) for overflow without saturation.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..spec.arguments import as_integer, shown
from ..spec.formats import Format, as_format
from ..spec.option_names import NaNName, OverflowName, RoundingName
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, Rounding, RoundingOptions, check_rounding
from .exact_values import Value, canonical_nan, finite_count, nan_by_sign, signed_code

__all__ = [
    "EXACT",
    "NO_MINUS_ZERO",
    "Place",
    "check_random",
    "decide_by",
    "decide_rounded",
    "encode_rounded",
    "goes_away",
    "lots_for_upper",
    "place_of",
]

EXACT = "exact: x is a value of the format"
NO_MINUS_ZERO = "zero: the format has no -0"


class Place(NamedTuple):
    """Where a magnitude lies: the magnitude code below it and the part of the step from there to the next code.

    The exponent has no end: codes may lie beyond the largest one and, in formats without zero, below 0.
    """

    lower: int
    fraction: Fraction


def place_of(magnitude: Fraction, fmt: Format) -> Place:
    """Return the place of a magnitude above zero in a float format.

    Examples
    --------
    >>> from lowprec.spec.formats import FLOAT4_E2M1FN
    >>> place_of(Fraction(5, 2), FLOAT4_E2M1FN)
    Place(lower=4, fraction=Fraction(1, 2))
    """
    top, bottom = magnitude.as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    field = exponent + fmt.bias
    if fmt.has_zero:
        field = max(field, 1)  # the subnormals have the step of the first binade
    steps = magnitude / Fraction(2) ** (field - fmt.bias - fmt.mantissa_bits)
    whole = steps.numerator // steps.denominator
    return Place((field - 1) * 2**fmt.mantissa_bits + whole, steps - whole)


def check_random(random: object, rounding: Rounding | None) -> int | None:
    """Return the random number of a value, None where the rounding takes none, or raise ValueError."""
    if rounding is None or not rounding.random_bits:
        if random is not None:
            raise ValueError(f"`random` must be None unless `rounding` is stochastic; got {shown(random)}")
        return None
    number = as_integer(random)
    if number is None or not 0 <= number < 2**rounding.random_bits:
        wanted = f"an integer from 0 to 2**{rounding.random_bits} - 1 where `rounding` is {rounding.mode}"
        raise ValueError(f"`random` must be {wanted}; got {shown(random)}")
    return number


def _floor(number: Fraction) -> int:
    return number.numerator // number.denominator


def lots_for_upper(fraction: Fraction, rounding: Rounding) -> int:
    """Return how many of the 2**N random numbers of a stochastic rounding choose the neighbour farther from zero."""
    scaled = fraction * 2**rounding.random_bits
    lots: dict[str, int] = {
        "stochastic_a": _floor(scaled),
        "stochastic_b": _floor(scaled + Fraction(1, 2)),
        "stochastic_c": round(scaled),  # of a Fraction: half to even
    }
    return lots[rounding.mode]


def _nearest(fraction: Fraction, is_odd: bool, negative: bool, mode: str) -> tuple[bool, str]:
    half = Fraction(1, 2)
    tie = {"nearest_even": is_odd, "nearest_away": True, "nearest_zero": False}[mode]
    away = fraction > half or (fraction == half and tie)
    side = "upper" if away != negative else "lower"
    if fraction != half:
        return away, f"nearer to the {side} neighbour"
    why = "even" if mode == "nearest_even" else "the one farther from zero" if away else "the one nearer to zero"
    return away, f"tie: the {side} neighbour is {why}"


def _stochastic(fraction: Fraction, random: int, negative: bool, rounding: Rounding) -> tuple[bool, str]:
    bits = rounding.random_bits
    if rounding.mode == "stochastic_a":
        away = _floor(fraction * 2**bits) + random >= 2**bits
    elif rounding.mode == "stochastic_b":
        away = _floor(fraction * 2 ** (bits + 1)) + 2 * random + 1 >= 2 ** (bits + 1)
    else:
        away = round(fraction * 2**bits) + random >= 2**bits
    side = "upper" if away != negative else "lower"
    limit = 2**bits - lots_for_upper(fraction, rounding)
    compared = "at least" if away else "below"
    return away, f"the {side} neighbour: the random number {random} is {compared} {limit}, of 2**{bits}"


def _directed(is_odd: bool, negative: bool, mode: str) -> tuple[bool, str]:
    away, which = {
        "toward_zero": (False, "nearer to zero"),
        "away_from_zero": (True, "farther from zero"),
        "toward_positive": (not negative, "the greater one"),
        "toward_negative": (negative, "the lesser one"),
        "to_odd": (not is_odd, "odd"),
    }[mode]
    return away, f"the {'upper' if away != negative else 'lower'} neighbour: it is {which}"


def goes_away(place: Place, negative: bool, rounding: Rounding, random: int | None) -> tuple[bool, str]:
    """Return whether a number becomes the neighbour farther from zero, and why."""
    is_odd = place.lower % 2 == 1
    if not place.fraction:
        return False, EXACT
    if random is not None:
        return _stochastic(place.fraction, random, negative, rounding)
    if rounding.mode.startswith("nearest"):
        return _nearest(place.fraction, is_odd, negative, rounding.mode)
    return _directed(is_odd, negative, rounding.mode)


def _nan(negative: bool, fmt: Format, rule: str) -> tuple[int, str]:
    if rule == "signed":
        return nan_by_sign(negative, fmt)
    if rule == "zero":
        return 0, "NaN: zero" if fmt.has_zero else "NaN: the smallest value, the format has no zero"
    if rule == "largest":
        return finite_count(fmt) - 1, "NaN: the largest value"
    code = canonical_nan(False, fmt)
    return (0, "NaN: the format has none, so zero") if code is None else (code, "NaN: the canonical NaN")


def _is_directed_inward(negative: bool, mode: str) -> bool:
    """Whether a rounding never carries a finite number of that sign to Inf."""
    return mode in ("toward_zero", "toward_positive" if negative else "toward_negative")


def _beyond(infinite: bool, negative: bool, fmt: Format, rounding: Rounding) -> tuple[int, str]:
    """Return what stands for a rounded magnitude beyond the largest one, or for Inf."""
    rule, count = rounding.overflow, finite_count(fmt)
    why = f"{'infinite' if infinite else 'rounds beyond the largest value'}, {rule}"
    largest = signed_code(count - 1, negative, fmt)
    infinity = signed_code(count, negative, fmt) if fmt.has_inf else None
    if rule == "sat_finite":
        return largest, f"{why}: the largest value"
    if rule == "sat_propagate":
        if not infinite:
            return largest, f"{why}: the largest value"
        missing = f"{why}: the largest value, the format has no Inf"
        return (largest, missing) if infinity is None else (infinity, f"{why}: Inf")
    if not infinite and _is_directed_inward(negative, rounding.mode):
        return largest, f"{why}: the largest value, {rounding.mode} leads away from Inf"
    if infinity is not None:
        return infinity, f"{why}: Inf"
    nan = canonical_nan(negative and rounding.nan == "signed", fmt)
    if nan is not None:
        return nan, f"{why}: NaN, the format has no Inf"
    return largest, f"{why}: the largest value, the format has neither Inf nor NaN"


def _below(negative: bool, finite: bool, fmt: Format, rounding: Rounding) -> tuple[int, str]:
    """Return what stands for a number below the range of a format without sign; its smallest value has the code 0.

    Negative numbers, where the format has a zero; numbers that round to less than the smallest power of two, where not.
    """
    end = "zero" if fmt.has_zero else "the smallest value"
    why = f"{'negative' if negative else 'below the smallest value'}, {rounding.overflow}"
    nan = canonical_nan(False, fmt)
    if rounding.overflow != "ovf_inf":
        return 0, f"{why}: {end}"
    if nan is None:
        return 0, f"{why}: {end}, the format has no NaN"
    if negative and finite and _is_directed_inward(True, rounding.mode):
        return 0, f"{why}: zero, {rounding.mode} leads there"
    return nan, f"{why}: NaN"


def _resolved(
    fmt: object,
    rounding: Rounding | RoundingName,
    overflow: OverflowName | None,
    nan: NaNName | None,
    random_bits: int,
) -> tuple[Format, Rounding]:
    """Return the format and the rules that the arguments of `encode_rounded` mean, or raise ValueError."""
    row = as_format(fmt)
    if not isinstance(rounding, Rounding):
        return row, check_rounding(RoundingOptions(rounding, overflow, nan, random_bits), row, "fmt")
    for name, rule in (("overflow", overflow), ("nan", nan)):
        if rule is not None:
            raise ValueError(f"`{name}` must be None where `rounding` is all of the rules; got {shown(rule)}")
    return row, rounding


def decide_rounded(
    value: object,
    fmt: object,
    rounding: Rounding | RoundingName,
    random: int | None = None,
    *,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> tuple[int, str]:
    """Return the code of a float format that a value is rounded to, and what decided; see `encode_rounded`.

    Examples
    --------
    >>> decide_rounded("0.3", "float8_e4m3fn", "toward_zero")
    (41, 'the lower neighbour: it is nearer to zero')
    """
    row, rules = _resolved(fmt, rounding, overflow, nan, random_bits)
    number = Value.of(value, parameter="value")
    return decide_by(number, row, rules, check_random(random, rules))


def decide_by(value: Value, fmt: Format, rounding: Rounding, random: int | None = None) -> tuple[int, str]:
    """Return what `decide_rounded` does for arguments that are resolved."""
    if value.special == "nan":
        return _nan(value.negative, fmt, rounding.nan)
    negative = value.negative and fmt.has_zero
    code, why = _decide_number(Value(value.magnitude, negative, value.special), fmt, rounding, random)
    if not value.negative or negative:
        return code, why
    return code, f"{'|x| is a value of the format' if why == EXACT else why}, the sign of x is ignored"


def _decide_number(value: Value, fmt: Format, rounding: Rounding, random: int | None) -> tuple[int, str]:
    negative, finite = value.negative, not value.special
    if not finite:
        if negative and not fmt.signed:
            return _below(True, False, fmt, rounding)
        return _beyond(True, negative, fmt, rounding)
    if not value.magnitude:
        if not fmt.has_zero:
            return _below(False, True, fmt, rounding)
        code = signed_code(0, negative, fmt)
        return code, EXACT if code or not negative else NO_MINUS_ZERO
    place = place_of(value.magnitude, fmt)
    away, why = goes_away(place, negative, rounding, random)
    code = place.lower + away
    if negative and not fmt.signed:
        return (0, why) if code == 0 else _below(True, True, fmt, rounding)
    if code < 0:
        return _below(False, True, fmt, rounding)
    if code >= finite_count(fmt):
        return _beyond(False, negative, fmt, rounding)
    return signed_code(code, negative, fmt), why


def encode_rounded(
    value: object,
    fmt: object,
    rounding: Rounding | RoundingName,
    random: int | None = None,
    *,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> int:
    """Return the code of a float format that a value (anything `Value.of` takes) is rounded to.

    `rounding` is one of `lowprec.roundings`, `overflow`, `nan` and `random_bits` are as in `lowprec.cast`; a tuple of
    resolved rules may stand for all four. `random` is the random number of the value where the rounding is stochastic.
    NaN follows `nan`; Inf, what rounds beyond the largest value, and what is below the range of a format without sign
    `overflow`. Zero stays zero, with its sign where the format has -0; formats without zero ignore signs.

    Examples
    --------
    >>> hex(encode_rounded(464.1, "float8_e4m3fn", "toward_negative", overflow="ovf_inf"))
    '0x7e'
    >>> halves = {"rounding": "stochastic", "overflow": "ovf_inf", "random_bits": 1}
    >>> [hex(encode_rounded(464, "float8_e4m3fn", random=number, **halves)) for number in (0, 1)]
    ['0x7e', '0x7f']
    """
    return decide_rounded(value, fmt, rounding, random, overflow=overflow, nan=nan, random_bits=random_bits)[0]
