"""The oracle of Cast, with every rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from ..spec.formats import Format, Kind, NaNRule, as_format
from ..spec.operator_versions import NEWEST, Caller, CastRules, cast_rules, check_type, version_of
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    NaNName,
    OverflowName,
    Rounding,
    RoundingName,
    RoundingOptions,
    RoundModeName,
    check_random_bits,
    check_rounding,
)
from ..spec.scalar_arguments import as_integer, shown
from .values import (
    Value,
    bracket,
    canonical_nan,
    decode,
    exact_decimal,
    finite_count,
    magnitude_of,
    nan_by_sign,
    signed_code,
)

__all__ = [
    "Place",
    "Value",
    "cast",
    "copies_bits",
    "decide",
    "decide_by",
    "decide_rounded",
    "decode",
    "encode",
    "encode_rounded",
    "exact_decimal",
    "goes_away",
    "lots_for_upper",
    "magnitude_of",
    "neighbours",
    "place_of",
    "rules_for",
    "ulp",
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


def _overflow(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    """Apply the tables of the Cast page to what is infinite or rounds beyond the largest value."""
    why = "infinite" if value.special else "rounds beyond the largest value"
    largest = signed_code(finite_count(fmt) - 1, value.negative, fmt)
    if fmt.nan is NaNRule.NONE and not fmt.has_inf:
        return largest, f"{why}: the largest value whatever saturate says, the format has neither Inf nor NaN"
    if rules.saturate and fmt.bits <= 8:
        if value.special and fmt.nan is NaNRule.NEGATIVE_ZERO and 19 <= rules.version < 24:
            return nan_by_sign(value.negative, fmt)[0], "infinite with saturate: NaN in opsets 19 to 23"
        return largest, f"{why} with saturate: the largest value"
    if fmt.has_inf:
        return signed_code(finite_count(fmt), value.negative, fmt), f"{why}: Inf"
    return nan_by_sign(value.negative, fmt)[0], f"{why} without saturate: NaN"


def _below_zero(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    """Return what a format without sign, but with a zero, has for what is negative."""
    if not value.special and 2 * value.magnitude <= magnitude_of(1, fmt):
        return 0, "rounds to zero" if value.magnitude else NO_MINUS_ZERO
    if fmt.nan is NaNRule.NONE or (rules.saturate and fmt.bits <= 8):
        return 0, "negative: zero, the least value of a format without sign"
    return nan_by_sign(False, fmt)[0], "negative without saturate: NaN, the format has no sign"


def _nearest_even(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    if value.negative and not fmt.signed:
        return _below_zero(value, fmt, rules)
    if value.special:
        return _overflow(value, fmt, rules)
    below, above = bracket(value.magnitude, fmt)
    side = 2 * value.magnitude - magnitude_of(below, fmt) - magnitude_of(above, fmt)
    goes_up = side > 0 or (side == 0 and below % 2 == 1)
    code = above if goes_up else below
    if code == finite_count(fmt):
        return _overflow(value, fmt, rules)
    winner = "upper" if goes_up != value.negative else "lower"
    why = f"nearer to the {winner} neighbour" if side else f"tie: the {winner} neighbour is even"
    signed = signed_code(code, value.negative, fmt)
    if below == above:
        why = EXACT if signed or not value.negative else NO_MINUS_ZERO
    return signed, why


def _power(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    largest = finite_count(fmt) - 1
    sign = ", the sign of x is ignored" if value.negative else ""
    is_above = value.special == "inf" or value.magnitude > magnitude_of(largest, fmt)
    if is_above or value.magnitude < magnitude_of(0, fmt):
        why, end = ("above the largest", largest) if is_above else ("below the smallest", 0)
        what = "with saturate: that value" if rules.saturate else "without saturate: NaN"
        return end if rules.saturate else nan_by_sign(False, fmt)[0], f"{why} value {what}{sign}"
    below, above = bracket(value.magnitude, fmt)
    fraction = value.magnitude / magnitude_of(below, fmt)
    goes_up = {"up": fraction > 1, "down": False, "nearest": 2 * fraction >= 3}[rules.round_mode]
    exact = "|x| is a power of two" if value.negative else "exact: x is a power of two"
    why = exact if below == above else f"round_mode {rules.round_mode} with f = |x| / lower"
    return above if goes_up else below, f"{why}{sign}"


def decide(value: Value, fmt: Format, rules: CastRules, random: int | None = None) -> tuple[int, str]:
    """Return the code that Cast gives a value, and what decided."""
    if fmt.kind is Kind.BOOL:
        return (1, "not zero: True") if value.special or value.magnitude else (0, "zero: False")
    if fmt.kind is Kind.INT:
        if value.special:
            return 0, "NaN and Inf become 0"
        truncated = int(value.number)
        code = truncated % 2**fmt.bits
        is_whole, wraps = truncated == value.number, decode(code, fmt).number != truncated
        if wraps:
            return code, f"{'out of range:' if is_whole else 'truncated toward zero, then'} modulo 2**{fmt.bits}"
        if not value.magnitude and value.negative:
            return code, NO_MINUS_ZERO
        return code, "exact: x is an integer" if is_whole else "truncated toward zero"
    if rules.rounding is not None:
        return decide_by(value, fmt, rules.rounding, random)
    if value.special == "nan":
        return nan_by_sign(value.negative, fmt)
    return (_nearest_even if fmt.has_zero else _power)(value, fmt, rules)


def rules_for(
    fmt: Format, parameter: str, saturate: bool, round_mode: RoundModeName | None, opset: int, options: RoundingOptions
) -> CastRules:
    """Return the resolved rules of a call, those beyond ONNX where `options` has one; or raise ValueError."""
    check_type(fmt, version_of(opset), parameter)
    check_random_bits(options.random_bits)
    none = options.rounding is None and options.overflow is None and options.nan is None
    return cast_rules(fmt, fmt, saturate, round_mode, opset, Caller(parameter, parameter), None if none else options)


def encode(
    value: object,
    fmt: object,
    *,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    random: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> int:
    """Return the code that Cast gives a value (anything `Value.of` takes).

    NaN, Inf, -0 and out-of-range values follow the tables of the Cast page; integers wrap, NaN and Inf become 0. With
    `rounding`, `overflow` or `nan` they follow `encode_rounded`; a stochastic rounding takes the number `random`.

    Examples
    --------
    >>> hex(encode(464, "float8_e4m3fn")), hex(encode(465, "float8_e4m3fn", saturate=False)), encode(200, "int4")
    ('0x7e', '0x7f', 8)
    >>> [encode("0.7", "float4_e2m1fn", rounding=rounding) for rounding in ("toward_zero", "toward_positive", "to_odd")]
    [1, 2, 1]
    >>> [encode("0.7", "float4_e2m1fn", rounding="stochastic", random_bits=2, random=r) for r in range(4)]
    [1, 1, 2, 2]
    """
    row = as_format(fmt)
    options = RoundingOptions(rounding, overflow, nan, random_bits)
    rules = rules_for(row, "fmt", saturate, round_mode, opset, options)
    return decide(Value.of(value, parameter="value"), row, rules, check_random(random, rules.rounding))[0]


def cast(
    code: int,
    source: object,
    target: object,
    *,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    random: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> int:
    """Return the code of `target` to which Cast converts a code of `source`.

    The same format copies the bits, except where a float of up to 8 bits saturates: Inf becomes the largest value, NaN
    canonical. With `rounding`, `overflow` or `nan` the same format is converted by value too.

    Examples
    --------
    >>> hex(cast(0x7C, "float8_e5m2", "float8_e5m2")), hex(cast(0x7C00, "float16", "float4_e2m1fn"))
    ('0x7b', '0x7')
    >>> hex(cast(0x7C, "float8_e5m2", "float8_e5m2", overflow="ovf_inf"))
    '0x7c'
    """
    old, new = as_format(source, parameter="source"), as_format(target, parameter="target")
    check_type(old, version_of(opset), "source")
    options = RoundingOptions(rounding, overflow, nan, random_bits)
    rules = rules_for(new, "target", saturate, round_mode, opset, options)
    number = check_random(random, rules.rounding)
    value = decode(code, old)
    if copies_bits(old, new, rules):
        return int(code) % (1 << old.bits)
    return decide(value, new, rules, number)[0]


def copies_bits(source: Format, target: Format, rules: CastRules) -> bool:
    """Whether Cast between two formats, which are then one, copies codes as they are."""
    by_value = rules.rounding is not None or (target.kind is Kind.FLOAT and target.bits <= 8 and rules.saturate)
    return source == target and not by_value


def ulp(x: object, fmt: object) -> Fraction:
    """Return the unit in the last place of a finite number (anything `Value.of` takes) in a format.

    The distance between the values of the format that enclose ``|x|``, the step upward where x is a value itself:
    in ``2**e <= |x| < 2**(e+1)`` it is ``2**(e - mantissa bits)``, below the smallest normal value the step of the
    subnormals, above the largest value the step that would follow that. 1 for integers and bool. It belongs to x, not
    to the result: a number within the range, rounded to the nearest, moves by half of it at most. ValueError for NaN
    and Inf.

    Examples
    --------
    >>> ulp("0.97", "float8_e4m3fn"), ulp(1, "float8_e4m3fn"), ulp(0, "float8_e5m2")
    (Fraction(1, 16), Fraction(1, 8), Fraction(1, 65536))
    """
    row, value = as_format(fmt), Value.of(x)
    check_type(row, NEWEST, "fmt")
    if value.special:
        raise ValueError(f"`x` must be a finite number; got {value}")
    if row.kind is not Kind.FLOAT:
        return Fraction(1)
    code = max(min(bracket(value.magnitude, row)[0], finite_count(row) - 1), 0)
    return magnitude_of(code + 1, row) - magnitude_of(code, row)


def neighbours(code: int, fmt: object) -> tuple[int | None, int | None]:
    """Return the codes of the next value below that of a code and of the next above, None where there is none.

    The zeros have the same neighbours, and are one value to them: +0 where the format has no -0, else the zero of the
    side it is reached from. Inf is the neighbour of the largest value. NaN has no neighbours.

    Examples
    --------
    >>> [hex(near) for near in neighbours(0x38, "float8_e4m3fn")], neighbours(0x7E, "float8_e4m3fn")
    (['0x37', '0x39'], (125, None))
    """
    row, value = as_format(fmt), decode(code, fmt)
    bits = int(code) % 2**row.bits
    return _next(bits, value, row, False), _next(bits, value, row, True)


def _next(code: int, value: Value, fmt: Format, upward: bool) -> int | None:
    if value.special == "nan":
        return None
    if fmt.kind is Kind.BOOL:
        return int(upward) if value.magnitude != upward else None
    if fmt.kind is Kind.INT:
        near = (code + (1 if upward else -1)) % 2**fmt.bits
        return near if (decode(near, fmt).number > value.number) is upward else None
    half = 2 ** (fmt.exponent_bits + fmt.mantissa_bits)
    negative, magnitude = divmod(code, half)
    if fmt.has_zero and not magnitude:  # both zeros have the same neighbours
        return 1 if upward else signed_code(1, True, fmt) if fmt.signed else None
    magnitude += 1 if upward != bool(negative) else -1
    if not 0 <= magnitude < half:
        return None
    near = signed_code(magnitude, bool(negative), fmt)
    return None if decode(near, fmt).special == "nan" else near
