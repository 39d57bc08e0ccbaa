"""The exact oracle of Cast: one value at a time, in fractions, with arithmetic of its own.

It reads what a row stores and nothing that is derived, so that a mistake there shows. Options are those of
`lowprec.cast`, a wrong argument is a ValueError that names it. Source: ONNX Cast 1 to 28, the rows' own ``source``.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np

from ..spec.arguments import shown
from ..spec.float_mode import default_mode
from ..spec.formats import Format, Kind, NaNRule, as_format
from ..spec.opset_rules import NEWEST, Caller, CastRules, cast_rules, check_type, version_of

__all__ = ["Value", "cast", "decode", "encode", "exact_decimal", "neighbours", "ulp"]

_TEXT = re.compile(
    r"""(?aix)\s*([+-]?)(?:(inf|nan)(?:(?<=f)inity)? | (\d+/0*[1-9]\d*|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,4})?)
    | 0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p([+-]?\d{1,4}))?)\s*"""
)


@dataclass(frozen=True, slots=True)
class Value:
    """A real number |x|, or ``"inf"`` or ``"nan"`` (its magnitude then is 0), with a sign: -0 and -NaN exist."""

    magnitude: Fraction
    negative: bool = False
    special: str = ""

    @classmethod
    @default_mode
    def of(cls, x: object, /, *, parameter: str = "x") -> Value:
        """Return the exact value of a number or a text (``17/23``, ``0x1p-3``); zeros and NaNs keep their sign."""
        if isinstance(x, Value):
            return x
        if isinstance(x, str):
            return _parse(x, parameter)
        if isinstance(x, (int, Fraction, np.integer, np.bool)):
            number = x if isinstance(x, Fraction) else Fraction(int(x))
            return cls(abs(number), number < 0)
        if isinstance(x, (float, np.longdouble, np.float32, np.float16)):
            special = "nan" if np.isnan(x) else "" if np.isfinite(x) else "inf"
            magnitude = Fraction(0) if special else abs(Fraction(*x.as_integer_ratio()))
            return cls(magnitude, bool(np.signbit(x)), special)
        if isinstance(x, np.generic) and not np.iscomplexobj(x):  # the scalars of ml_dtypes: their dtype is a row
            row = as_format(x.dtype, parameter=parameter)
            return decode(int(np.array(x, x.dtype).view(f"u{x.dtype.itemsize}")), row)
        raise ValueError(f"`{parameter}` must be a real number or its text; got {type(x).__name__} {shown(x)}")

    @property
    def number(self) -> Fraction:
        """The finite number with its sign."""
        return -self.magnitude if self.negative else self.magnitude

    @default_mode
    def __float__(self) -> float:
        return math.copysign(float(self.special or self.magnitude), -1.0 if self.negative else 1.0)

    def __str__(self) -> str:
        return "-" * self.negative + (self.special or exact_decimal(self.magnitude))


def _parse(text: str, parameter: str) -> Value:
    part = _TEXT.fullmatch(text) if len(text) <= 1000 else None  # bounds the work that a hostile text can cause
    if part is None:
        kinds = "a decimal, a ratio, a hex-float, inf or nan (at most 1000 characters and 4 exponent digits)"
        raise ValueError(f"`{parameter}` must be {kinds}; got {text[:60]!r}")
    sign, special, plain, digits, exponent = part.groups()
    if digits:
        integer, _, fraction = digits.partition(".")
        magnitude = Fraction(int(integer + fraction, 16), 16 ** len(fraction)) * Fraction(2) ** int(exponent or 0)
    else:
        magnitude = Fraction(plain or 0)
    return Value(magnitude, sign == "-", (special or "").lower())


def exact_decimal(number: Fraction | int) -> str:
    """Return every digit of a number, without exponent, or the ratio (``17/23``) where the digits never end."""
    ratio = Fraction(number)
    places = ratio.denominator.bit_length()
    scaled, remainder = divmod(abs(ratio.numerator) * 10**places, ratio.denominator)
    if remainder:
        return str(ratio)
    digits = str(Decimal(scaled)).zfill(places + 1)  # int itself refuses to print beyond 4300 digits
    return "-" * (ratio < 0) + f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def finite_count(fmt: Format) -> int:
    """Return how many magnitude codes (no sign bit) are finite; they come first."""
    nans = {NaNRule.IEEE: (1 << fmt.mantissa_bits) - 1, NaNRule.ALL_ONES: 1}.get(fmt.nan, 0)  # the topmost codes
    return (1 << (fmt.exponent_bits + fmt.mantissa_bits)) - nans - (1 if fmt.has_inf else 0)  # Inf comes before them


def magnitude_of(code: int, fmt: Format) -> Fraction:
    """Return the value of a magnitude code as if none were special and the exponent field had no end.

    One past the largest finite code thus stands for the value that would follow it, which decides what overflows.
    """
    field, mantissa = divmod(code, 2**fmt.mantissa_bits)
    subnormal = field == 0 and fmt.has_zero
    significand = mantissa if subnormal else mantissa + 2**fmt.mantissa_bits
    power = (1 if subnormal else field) - fmt.bias - fmt.mantissa_bits
    return Fraction(significand << power) if power >= 0 else Fraction(significand, 1 << -power)


def decode(code: int, fmt: object) -> Value:
    """Return the exact value of one unsigned code of a float, integer or bool format.

    NaN has the sign of its code (the FNUZ NaN is negative), -0 its own. The bits above a sub-byte code are ignored;
    every bool byte but 0 is 1.

    Examples
    --------
    >>> str(decode(0b0_1111_110, "float8_e4m3fn")), str(decode(0x80, "float8_e5m2fnuz"))
    ('448', '-nan')
    """
    row = as_format(fmt)
    check_type(row, NEWEST, "fmt")
    width = row.bits
    limit = 2 ** max(8, width)
    if isinstance(code, bool) or not isinstance(code, (int, np.integer)) or not 0 <= code < limit:
        raise ValueError(f"`code` must be an integer from 0 to {limit - 1}; got {shown(code)}")
    bits = int(code) % 2**width
    if row.kind is Kind.BOOL:
        return Value.of(int(bits != 0))
    negative = row.signed and bits >= 2 ** (width - 1)
    if row.kind is Kind.INT:
        return Value.of(bits - 2**width if negative else bits)
    magnitude = bits - 2 ** (width - 1) if negative else bits
    count = finite_count(row)
    if magnitude >= count or (row.nan is NaNRule.NEGATIVE_ZERO and negative and magnitude == 0):
        return Value(Fraction(0), negative, "inf" if row.has_inf and magnitude == count else "nan")
    return Value(magnitude_of(magnitude, row), negative)


def bracket(magnitude: Fraction, fmt: Format) -> tuple[int, int]:
    """Return the magnitude codes around a number, twice the same where it is exact, at most one past the largest."""
    end = finite_count(fmt) + 1
    below = bisect_right(range(end), magnitude, key=lambda code: magnitude_of(code, fmt)) - 1
    exact = below == end - 1 or (below >= 0 and magnitude_of(below, fmt) == magnitude)
    return below, below if exact else below + 1


def signed_code(code: int, negative: bool, fmt: Format) -> int:
    has_sign = fmt.signed and not (code == 0 and fmt.nan is NaNRule.NEGATIVE_ZERO)  # FNUZ: no -0
    return code + 2 ** (fmt.bits - 1) if negative and has_sign else code


def _nan(negative: bool, fmt: Format) -> tuple[int, str]:
    if fmt.nan is NaNRule.NONE:
        return signed_code(0, not negative, fmt), "NaN: the format has none, so zero of the opposite sign"
    if fmt.nan is NaNRule.NEGATIVE_ZERO:
        return 2 ** (fmt.bits - 1), "NaN: the only NaN of the format"
    lower = 2 ** (fmt.mantissa_bits - 1) - 1 if fmt.nan is NaNRule.IEEE else 0  # of the mantissa the top bit alone
    code = 2 ** (fmt.exponent_bits + fmt.mantissa_bits) - 1 - lower
    return signed_code(code, negative, fmt), "NaN: the canonical NaN of that sign"


def _overflow(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    """Apply the tables of the Cast page to what is infinite or rounds beyond the largest value."""
    why = "infinite" if value.special else "rounds beyond the largest value"
    largest = signed_code(finite_count(fmt) - 1, value.negative, fmt)
    if fmt.nan is NaNRule.NONE and not fmt.has_inf:
        return largest, f"{why}: the largest value whatever saturate says, the format has neither Inf nor NaN"
    if rules.saturate and fmt.bits <= 8:
        if value.special and fmt.nan is NaNRule.NEGATIVE_ZERO and 19 <= rules.version < 24:
            return _nan(value.negative, fmt)[0], "infinite with saturate: NaN in opsets 19 to 23"
        return largest, f"{why} with saturate: the largest value"
    if fmt.has_inf:
        return signed_code(finite_count(fmt), value.negative, fmt), f"{why}: Inf"
    return _nan(value.negative, fmt)[0], f"{why} without saturate: NaN"


def _below_zero(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    """Return what a format without sign, but with a zero, has for what is negative."""
    if not value.special and 2 * value.magnitude <= magnitude_of(1, fmt):
        return 0, "rounds to zero" if value.magnitude else "exact: x is a value of the format"
    if fmt.nan is NaNRule.NONE or (rules.saturate and fmt.bits <= 8):
        return 0, "negative: zero, the least value of a format without sign"
    return _nan(False, fmt)[0], "negative without saturate: NaN, the format has no sign"


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
    return signed_code(code, value.negative, fmt), "exact: x is a value of the format" if below == above else why


def _power(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    largest = finite_count(fmt) - 1
    sign = ", the sign of x is ignored" if value.negative else ""
    is_above = value.special == "inf" or value.magnitude > magnitude_of(largest, fmt)
    if is_above or value.magnitude < magnitude_of(0, fmt):
        why, end = ("above the largest", largest) if is_above else ("below the smallest", 0)
        what = "with saturate: that value" if rules.saturate else "without saturate: NaN"
        return end if rules.saturate else _nan(False, fmt)[0], f"{why} value {what}{sign}"
    below, above = bracket(value.magnitude, fmt)
    fraction = value.magnitude / magnitude_of(below, fmt)
    goes_up = {"up": fraction > 1, "down": False, "nearest": 2 * fraction >= 3}[rules.round_mode]
    why = "exact: x is a power of two" if below == above else f"round_mode {rules.round_mode} with f = |x| / lower"
    return above if goes_up else below, f"{why}{sign}"


def decide(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    if fmt.kind is Kind.BOOL:
        return (1, "not zero: True") if value.special or value.magnitude else (0, "zero: False")
    if fmt.kind is Kind.INT:
        if value.special:
            return 0, "NaN and Inf become 0"
        truncated = int(value.number)
        code = truncated % 2**fmt.bits
        why = "exact: x is an integer" if truncated == value.number else "truncated toward zero"
        return code, why if decode(code, fmt).number == truncated else f"{why}, then modulo 2**{fmt.bits}"
    if value.special == "nan":
        return _nan(value.negative, fmt)
    return (_nearest_even if fmt.has_zero else _power)(value, fmt, rules)


def rules_for(fmt: Format, parameter: str, saturate: bool, round_mode: str | None, opset: int) -> CastRules:
    return cast_rules(fmt, fmt, saturate, round_mode, opset, Caller(parameter, parameter))


def encode(
    value: object, fmt: object, *, saturate: bool = True, round_mode: str | None = None, opset: int = NEWEST
) -> int:
    """Return the code that Cast gives a value (anything `Value.of` takes).

    NaN, Inf, -0 and out-of-range values follow the tables of the Cast page; integers wrap, NaN and Inf become 0.

    Examples
    --------
    >>> hex(encode(464, "float8_e4m3fn")), hex(encode(465, "float8_e4m3fn", saturate=False)), encode(200, "int4")
    ('0x7e', '0x7f', 8)
    """
    row = as_format(fmt)
    return decide(Value.of(value, parameter="value"), row, rules_for(row, "fmt", saturate, round_mode, opset))[0]


def cast(
    code: int,
    source: object,
    target: object,
    *,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
) -> int:
    """Return the code of `target` to which Cast converts a code of `source`.

    The same format copies the bits, except where a float of up to 8 bits saturates: Inf becomes the largest value, NaN
    canonical.

    Examples
    --------
    >>> hex(cast(0x7C, "float8_e5m2", "float8_e5m2")), hex(cast(0x7C00, "float16", "float4_e2m1fn"))
    ('0x7b', '0x7')
    """
    old, new = as_format(source, parameter="source"), as_format(target, parameter="target")
    check_type(old, version_of(opset), "source")
    rules = rules_for(new, "target", saturate, round_mode, opset)
    value = decode(code, old)
    if old == new and not (new.kind is Kind.FLOAT and new.bits <= 8 and rules.saturate):
        return int(code) % (1 << old.bits)
    return decide(value, new, rules)[0]


def ulp(x: object, fmt: object) -> Fraction:
    """Return the unit in the last place of a finite number (anything `Value.of` takes) in a format.

    The distance between the values of the format that enclose |x|, the step upward where x is a value itself: in
    2**e <= |x| < 2**(e+1) it is 2**(e - mantissa bits), below the smallest normal value the step of the subnormals,
    above the largest value the step that would follow that. 1 for integers and bool. It belongs to x, not to the
    result: a number within the range, rounded to the nearest, moves by half of it at most. ValueError for NaN and Inf.

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
    below = bisect_right(range(finite_count(row)), value.magnitude, key=lambda code: magnitude_of(code, row)) - 1
    code = max(below, 0)
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
