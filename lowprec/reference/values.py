"""Exact values, their codes and neighbours, and their texts."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from .._float_mode import default_mode
from ..spec.formats import Format, Kind, NaNRule, as_format
from ..spec.operator_versions import NEWEST, check_type
from ..spec.scalar_arguments import shown

__all__ = [
    "Value",
    "binade_of",
    "bracket",
    "canonical_nan",
    "code_text",
    "decode",
    "exact_decimal",
    "finite_count",
    "log2",
    "magnitude_of",
    "nan_by_sign",
    "number_text",
    "number_texts",
    "signed_code",
]


_TEXT = re.compile(
    r"""(?aix)\s*([+-]?)(?:(inf|nan)(?:(?<=f)inity)? | (\d+/0*[1-9]\d*|(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d{1,4})?)
    | 0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p([+-]?\d{1,4}))?)\s*"""
)


@dataclass(frozen=True, slots=True)
class Value:
    """A real number ``|x|``, or ``"inf"`` or ``"nan"`` (its magnitude then is 0), with a sign: -0 and -NaN exist."""

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
    """Return every digit of a number, without exponent, or the ratio (``17/23``) where the digits never end.

    Examples
    --------
    >>> exact_decimal(Fraction(1, 1024)), exact_decimal(Fraction(17, 23))
    ('0.0009765625', '17/23')
    """
    ratio = Fraction(number)
    places = ratio.denominator.bit_length()
    scaled, remainder = divmod(abs(ratio.numerator) * 10**places, ratio.denominator)
    if remainder:
        return str(ratio)
    digits = str(Decimal(scaled)).zfill(places + 1)  # int itself refuses to print beyond 4300 digits
    return "-" * (ratio < 0) + f"{digits[:-places]}.{digits[-places:]}".rstrip("0").rstrip(".")


def finite_count(fmt: Format) -> int:
    """Return how many magnitude codes (no sign bit) are finite; they come first.

    Examples
    --------
    >>> from lowprec import formats
    >>> finite_count(formats["float8_e5m2"])  # 7C is Inf
    124
    """
    nans = {NaNRule.IEEE: (1 << fmt.mantissa_bits) - 1, NaNRule.ALL_ONES: 1}.get(fmt.nan, 0)  # the topmost codes
    return (1 << (fmt.exponent_bits + fmt.mantissa_bits)) - nans - (1 if fmt.has_inf else 0)  # Inf comes before them


def magnitude_of(code: int, fmt: Format) -> Fraction:
    """Return the value of a magnitude code as if none were special and the exponent field had no end.

    One past the largest finite code thus stands for the value that would follow it, which decides what overflows.

    Examples
    --------
    >>> from lowprec import formats
    >>> magnitude_of(0x7F, formats["float8_e4m3fn"])  # the code is NaN
    Fraction(480, 1)
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
    bits, first = fmt.mantissa_bits, 1 if fmt.has_zero else 0  # the first field with a hidden 1

    def in_steps(code: int) -> int:  # the value in steps of the lowest binade: whole numbers are compared fast
        field, mantissa = code >> bits, code & ((1 << bits) - 1)
        return mantissa if field < first else (mantissa | 1 << bits) << (field - first)

    steps = magnitude / Fraction(2) ** (first - fmt.bias - bits)
    below = bisect_right(range(end), steps.numerator // steps.denominator, key=in_steps) - 1
    exact = below == end - 1 or (below >= 0 and magnitude_of(below, fmt) == magnitude)
    return below, below if exact else below + 1


def signed_code(code: int, negative: bool, fmt: Format) -> int:
    """Return a magnitude code with a sign, where the format has one for it."""
    has_sign = fmt.signed and not (code == 0 and fmt.nan is NaNRule.NEGATIVE_ZERO)  # FNUZ: no -0
    return code + 2 ** (fmt.bits - 1) if negative and has_sign else code


def canonical_nan(negative: bool, fmt: Format) -> int | None:
    """Return the code of the NaN that conversions write, with the sign where the format has one for it; or None."""
    if fmt.nan is NaNRule.NONE:
        return None
    if fmt.nan is NaNRule.NEGATIVE_ZERO:
        return int(2 ** (fmt.bits - 1))
    lower = 2 ** (fmt.mantissa_bits - 1) - 1 if fmt.nan is NaNRule.IEEE else 0  # of the mantissa the top bit alone
    return signed_code(2 ** (fmt.exponent_bits + fmt.mantissa_bits) - 1 - lower, negative, fmt)


def nan_by_sign(negative: bool, fmt: Format) -> tuple[int, str]:
    """Return what ONNX makes of a NaN, and why."""
    code = canonical_nan(negative, fmt)
    if code is None:
        return signed_code(0, not negative, fmt), "NaN: the format has none, so zero of the opposite sign"
    only = fmt.nan is NaNRule.NEGATIVE_ZERO
    return code, f"NaN: the {'only NaN of the format' if only else 'canonical NaN of that sign'}"


_ROOM, _INTEGER_ROOM = 14, 20
"""Characters of an exact number; of an integer, those of the longest ones of 64 bits."""

_DIGITS = (6, 9, 17)
"""Of a rounded number: as many as tell it from another one."""

_NAMES = {"inf": "Inf", "nan": "NaN"}


def binade_of(x: object) -> int:
    """Return the exponent e of ``2**e <= |x| < 2**(e + 1)``, exact; ValueError for 0, Inf and NaN.

    Examples
    --------
    >>> binade_of(448), binade_of("0.3"), binade_of(2**64 - 1)
    (8, -2, 63)
    """
    value = Value.of(x)
    if not value.magnitude:
        raise ValueError(f"`x` must be a finite number other than 0; got {value}")
    top, bottom = value.magnitude.as_integer_ratio()
    power = top.bit_length() - bottom.bit_length()
    return power if Fraction(2) ** power <= value.magnitude else power - 1


def log2(x: object) -> float:
    """Return log2 of the magnitude of a number of any size, to the precision of a float64; ValueError as `binade_of`.

    Examples
    --------
    >>> log2(8), log2("1e400") > 1328
    (3.0, True)
    """
    power = binade_of(x)
    return power + math.log2(Value.of(x).magnitude / Fraction(2) ** power)


def code_text(code: int, fmt: Format) -> str:
    """Return a code in hexadecimal, as many digits as the format has."""
    return f"0x{code:0{-(-fmt.bits // 4)}X}"


def number_text(value: Value, digits: int = _DIGITS[0]) -> str:
    """Return a number exactly where that is short, as decimal, ratio or power of two; else rounded, after `about`.

    Examples
    --------
    >>> [number_text(Value.of(x)) for x in ("448", "-17/23", "0x1p-127", "-inf", "1e30", "0.123456789012345")]
    ['448', '-17/23', '2^-127', '-Inf', '1e+30', 'about 0.123457']
    """
    sign = "-" * value.negative
    if value.special:
        return sign + _NAMES[value.special]
    exact, (top, bottom) = exact_decimal(value.magnitude), value.magnitude.as_integer_ratio()
    if len(exact) <= (_INTEGER_ROOM if bottom == 1 else _ROOM):
        return sign + exact
    if not top & (top - 1) and not bottom & (bottom - 1):
        return f"{sign}2^{binade_of(value)}"
    context = Context(prec=digits)
    rounded = context.divide(Decimal(top), Decimal(bottom))
    text = f"{sign}{context.normalize(rounded):g}"
    return text if Fraction(rounded) == value.magnitude else f"about {text}"


def number_texts(first: Value, second: Value) -> tuple[str, str]:
    """Return the texts of two numbers, with so many digits that they differ where the numbers do.

    The first is just ``x`` where 17 digits do not tell them apart.

    Examples
    --------
    >>> number_texts(Value.of("3.40282357e38"), Value.of(2**128 - 2**104))
    ('3.40282357e+38', 'about 3.40282347e+38')
    """
    for digits in _DIGITS:
        texts = number_text(first, digits), number_text(second, digits)
        if len({text.removeprefix("about ") for text in texts}) > 1 or first == second:
            return texts
    return "x", number_text(second)
