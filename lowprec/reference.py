"""The exact oracle: one value at a time, in fractions, with arithmetic of its own."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Literal

import numpy as np

from .formats import Format, Kind, NaNRule, as_format
from .opsets import NEWEST, CastRules, cast_rules, check_type, version_of

__all__ = ["Explanation", "Neighbour", "Value", "cast", "decode", "encode", "exact_decimal", "explain"]

_TEXT = re.compile(
    r"""\s*(?P<sign>[+-]?)(?:
        (?P<inf>inf(?:inity)?) | (?P<nan>nan) | (?P<over>\d+)/(?P<under>\d+)
      | 0x(?P<hex>[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p(?P<two>[+-]?\d+))?
      | (?P<dec>\d+\.?\d*|\.\d+)(?:e(?P<ten>[+-]?\d+))?)\s*""",
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_LONGEST_TEXT = 1000  # bounds the work a stranger's text can ask for
_LARGEST_EXPONENT = 5000


@dataclass(frozen=True, slots=True)
class Value:
    """A real number, an infinity or NaN, each with a sign, so that -0 and -NaN exist.

    Attributes
    ----------
    magnitude : Fraction
        The exact |x|; 0 for infinities and NaN.
    negative : bool
        The sign.
    special : {"", "inf", "nan"}
        What the value is when it is not finite.
    """

    magnitude: Fraction
    negative: bool = False
    special: Literal["", "inf", "nan"] = ""

    @classmethod
    def exact(cls, number: Fraction | int) -> Value:
        """Return the finite value `number`; 0 is +0."""
        return cls(abs(Fraction(number)), number < 0)

    @classmethod
    def inf(cls, negative: bool = False) -> Value:
        """Return an infinity."""
        return cls(Fraction(0), negative, "inf")

    @classmethod
    def nan(cls, negative: bool = False) -> Value:
        """Return a NaN."""
        return cls(Fraction(0), negative, "nan")

    @classmethod
    def of(cls, x: object, /, *, parameter: str = "x") -> Value:
        """Return the exact value of a number or a text; the signs of zeros and NaNs are kept.

        Parameters
        ----------
        x : int, float, Fraction, NumPy or ml_dtypes scalar, str or Value
            Texts are decimals (``"1e-3"``), ratios (``"17/23"``), hex-floats (``"0x1.8p+3"``), ``"inf"`` and ``"nan"``.
        parameter : str
            The name of the caller's parameter, for the message.

        Raises
        ------
        ValueError
            If `x` is none of these, or a text whose exponent or length is out of all proportion.

        Examples
        --------
        >>> str(Value.of("-0x1.8p+3")), str(Value.of(0.1)), str(Value.of("17/23"))
        ('-12', '0.1000000000000000055511151231257827021181583404541015625', '17/23')
        """
        if isinstance(x, Value):
            return x
        if isinstance(x, str):
            return _parse(x, parameter)
        if isinstance(x, (int, Fraction, np.integer, np.bool)):
            return cls.exact(x if isinstance(x, Fraction) else int(x))
        if isinstance(x, (float, np.longdouble, np.float32, np.float16)):
            negative = bool(np.signbit(x))
            if np.isfinite(x):
                return cls(abs(Fraction(*x.as_integer_ratio())), negative)
            return cls.nan(negative) if np.isnan(x) else cls.inf(negative)
        try:  # what is left are the scalars of ml_dtypes: their dtype is a row of the table
            row = as_format(type(x).dtype if hasattr(type(x), "dtype") else np.dtype(type(x)))
            return decode(int(np.array(x, row.dtype).view(f"u{max(8, row.bits) // 8}")), row)
        except (TypeError, ValueError):
            raise ValueError(f"`{parameter}` must be a real number or its text; got {type(x).__name__} {x!r}") from None

    @property
    def is_finite(self) -> bool:
        """Whether the value is a number."""
        return not self.special

    @property
    def number(self) -> Fraction:
        """The number with its sign; ValueError for infinities and NaN."""
        if self.special:
            raise ValueError(f"`value` must be finite; got {self}")
        return -self.magnitude if self.negative else self.magnitude

    def __float__(self) -> float:
        """Return the nearest float64, with the sign of zeros and NaNs."""
        return math.copysign(float(self.special or self.magnitude), -1.0 if self.negative else 1.0)

    def __str__(self) -> str:
        """Return the exact decimal, or the ratio where there is none."""
        return "-" * self.negative + (self.special or exact_decimal(self.magnitude))


def _parse(text: str, parameter: str) -> Value:
    part = _TEXT.fullmatch(text) if len(text) <= _LONGEST_TEXT else None
    if part is None:
        shown = text if len(text) <= 60 else f"{text[:60]}…"
        raise ValueError(
            f"`{parameter}` must be a decimal, a ratio, a hex-float, inf or nan of at most {_LONGEST_TEXT} characters; "
            f"got {shown!r}"
        )
    negative = part["sign"] == "-"
    if part["inf"] or part["nan"]:
        return Value.inf(negative) if part["inf"] else Value.nan(negative)
    if part["over"]:
        if int(part["under"]) == 0:
            raise ValueError(f"`{parameter}` must have a denominator that is not 0; got {text!r}")
        return Value(Fraction(int(part["over"]), int(part["under"])), negative)
    digits, radix, exponent, root = (
        (part["hex"], 16, part["two"], 2) if part["hex"] else (part["dec"], 10, part["ten"], 10)
    )
    power = int(exponent or 0)
    if abs(power) > _LARGEST_EXPONENT:
        raise ValueError(f"`{parameter}` must have an exponent within ±{_LARGEST_EXPONENT}; got {power}")
    whole, _, fraction = digits.partition(".")
    significand = Fraction(int(whole + fraction, radix), radix ** len(fraction))
    return Value(significand * Fraction(root) ** power, negative)


def exact_decimal(number: Fraction | int) -> str:
    """Return every digit of a number, or the ratio where the digits never end.

    Parameters
    ----------
    number : Fraction or int
        Any rational number.

    Returns
    -------
    str
        A plain decimal without exponent: ``"0.0625"``, ``"448"``; else ``"17/23"``.

    Examples
    --------
    >>> exact_decimal(Fraction(-1, 16)), exact_decimal(Fraction(17, 23))
    ('-0.0625', '17/23')
    """
    ratio = Fraction(number)
    twos = (ratio.denominator & -ratio.denominator).bit_length() - 1
    rest, fives = ratio.denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return str(ratio)
    places = max(twos, fives)
    # Decimal prints integers of any length; int refuses beyond 4300 digits
    digits = str(Decimal(int(abs(ratio) * 10**places))).rjust(places + 1, "0")
    point = len(digits) - places
    return "-" * (ratio < 0) + digits[:point] + ("." + digits[point:] if places else "")


def _hex_float(number: Fraction) -> str:
    """Return ``0x1.8p+3``, or nothing where the binary digits never end."""
    top, bottom = abs(number.numerator), number.denominator
    if bottom & (bottom - 1):
        return ""
    if top == 0:
        return "0x0p+0"
    fraction_bits = top.bit_length() - 1
    nibbles = -(-fraction_bits // 4)
    digits = f"{(top << 4 * nibbles - fraction_bits) - (1 << 4 * nibbles):0{nibbles}x}".rstrip("0") if nibbles else ""
    exponent = fraction_bits - (bottom.bit_length() - 1)
    return "-" * (number < 0) + "0x1" + ("." + digits if digits else "") + f"p{exponent:+d}"


def _magnitude(code: int, fmt: Format) -> Fraction:
    """Return the value of a magnitude code (no sign bit) as if no code were special.

    The exponent field may run over its width: one past the largest finite code stands for the value that would
    follow with unbounded exponents, which is what decides an overflow.
    """
    field, mantissa = divmod(code, 2**fmt.mantissa_bits)
    subnormal = field == 0 and fmt.has_zero
    significand = mantissa if subnormal else mantissa + 2**fmt.mantissa_bits
    power = (1 if subnormal else field) - fmt.bias - fmt.mantissa_bits
    return Fraction(significand << power) if power >= 0 else Fraction(significand, 1 << -power)


def _decode_float(code: int, fmt: Format) -> Value:
    ones, last = 2**fmt.exponent_bits - 1, 2**fmt.mantissa_bits - 1
    magnitude_code = code % 2 ** (fmt.exponent_bits + fmt.mantissa_bits)
    negative = code != magnitude_code
    field, mantissa = divmod(magnitude_code, last + 1)
    is_nan = {
        NaNRule.IEEE: field == ones and mantissa != 0,
        NaNRule.ALL_ONES: field == ones and mantissa == last,
        NaNRule.NEGATIVE_ZERO: negative and magnitude_code == 0,
        NaNRule.NONE: False,
    }[fmt.nan]
    if is_nan:
        return Value.nan(negative)
    if fmt.has_inf and field == ones:
        return Value.inf(negative)
    return Value(_magnitude(magnitude_code, fmt), negative)


def decode(code: int, fmt: object) -> Value:
    """Return the exact value of one code.

    NaN codes give NaN with the sign of the code (the FNUZ NaN is negative); -0 keeps its sign. The bits above a
    sub-byte code are ignored; every bool byte but 0 is True, that is 1.

    Parameters
    ----------
    code : int
        An unsigned code, at most as wide as the byte or word that holds it.
    fmt : str, int, dtype or Format
        Any alias of a float, integer or bool format.

    Returns
    -------
    Value
        The exact value.

    Raises
    ------
    ValueError
        If `fmt` is not such a format or `code` does not fit its storage.

    Notes
    -----
    Source: ONNX "Float stored in 8 bits", "4 bits", "6 bits"; the row's own ``source``.

    Examples
    --------
    >>> str(decode(0b0_1111_110, "float8_e4m3fn")), str(decode(0x80, "float8_e5m2fnuz"))
    ('448', '-nan')
    """
    row = as_format(fmt)
    check_type(row, NEWEST, "fmt")
    storage = max(8, row.bits)
    if isinstance(code, bool) or not isinstance(code, (int, np.integer)) or not 0 <= code < 2**storage:
        raise ValueError(f"`code` must be an integer from 0 to {2**storage - 1}; got {code!r}")
    bits = int(code) % 2**row.bits
    if row.kind is Kind.FLOAT:
        return _decode_float(bits, row)
    if row.kind is Kind.BOOL:
        return Value.exact(bits != 0)
    return Value.exact(bits - 2**row.bits if row.signed and bits >= 2 ** (row.bits - 1) else bits)


@lru_cache
def _finite_count(fmt: Format) -> int:
    """Return how many magnitude codes are finite; they come first."""
    codes = range(2 ** (fmt.exponent_bits + fmt.mantissa_bits))
    return bisect_right(codes, False, key=lambda code: not _decode_float(code, fmt).is_finite)


def _bracket(magnitude: Fraction, fmt: Format) -> tuple[int, int]:
    """Return the magnitude codes around a number, twice the same where it is exact, at most one past the largest."""
    count = _finite_count(fmt)
    below = bisect_right(range(count + 1), magnitude, key=lambda code: _magnitude(code, fmt)) - 1
    exact = below == count or (below >= 0 and _magnitude(below, fmt) == magnitude)
    return below, below if exact else below + 1


def _signed(code: int, negative: bool, fmt: Format) -> int:
    # FNUZ has no -0: its sign bit alone is the NaN
    has_sign = fmt.signed and not (code == 0 and fmt.nan is NaNRule.NEGATIVE_ZERO)
    return code + 2 ** (fmt.bits - 1) if negative and has_sign else code


def _nan(negative: bool, fmt: Format) -> tuple[int, str]:
    sign = 2 ** (fmt.bits - 1)
    if fmt.nan is NaNRule.NONE:
        return 0 if negative else sign, "NaN: the format has none, so zero of the opposite sign"
    if fmt.nan is NaNRule.NEGATIVE_ZERO:
        return sign, "NaN: the only NaN of the format"
    code = 2 ** (fmt.exponent_bits + fmt.mantissa_bits) - 1
    if fmt.nan is NaNRule.IEEE:  # quiet: of the mantissa the highest bit alone
        code -= (2**fmt.mantissa_bits - 1) // 2
    return _signed(code, negative, fmt), "NaN: the canonical NaN" + (" with the sign of x" if fmt.signed else "")


def _overflow(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    """Apply the tables of the Cast page to what is infinite or rounds beyond the largest value."""
    why = "infinite" if value.special else "rounds beyond the largest value"
    largest = _signed(_finite_count(fmt) - 1, value.negative, fmt)
    if fmt.nan is NaNRule.NONE:
        return largest, f"{why}: the largest value, whatever saturate says (the format has neither Inf nor NaN)"
    if rules.saturate and fmt.bits <= 8:
        if value.special and fmt.nan is NaNRule.NEGATIVE_ZERO and 19 <= rules.version < 24:
            return _nan(value.negative, fmt)[0], "infinite with saturate: NaN by the table of opsets 19 to 23"
        return largest, f"{why}: the largest value, as saturate asks"
    if fmt.has_inf:
        code = (2**fmt.exponent_bits - 1) * 2**fmt.mantissa_bits
        return _signed(code, value.negative, fmt), f"{why}: Inf"
    return _nan(value.negative, fmt)[0], f"{why} without saturate: NaN"


def _nearest_even(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    if value.special:
        return _overflow(value, fmt, rules)
    below, above = _bracket(value.magnitude, fmt)
    twice = _magnitude(below, fmt) + _magnitude(above, fmt)
    code = below if 2 * value.magnitude < twice else above
    winner = "lower" if (code == below) != value.negative else "upper"
    why = f"nearer to the {winner} neighbour"
    if below == above:
        why = "exact: x is a value of the format"
    elif 2 * value.magnitude == twice:
        code = below + below % 2
        winner = "lower" if (code == below) != value.negative else "upper"
        why = f"a tie: the {winner} neighbour has the even mantissa"
    if code == _finite_count(fmt):
        return _overflow(value, fmt, rules)
    return _signed(code, value.negative, fmt), why


def _power(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    last = _finite_count(fmt) - 1
    ignored = " (the sign of x is ignored)" if value.negative else ""
    if value.special or value.magnitude > _magnitude(last, fmt):
        why = "infinite or above the largest value"
        return (last, f"{why}: the largest, as saturate asks{ignored}") if rules.saturate else (last + 1, f"{why}: NaN")
    if value.magnitude < _magnitude(0, fmt):
        why = "zero or below the smallest value"
        return (0, f"{why}: the smallest, as saturate asks{ignored}") if rules.saturate else (last + 1, f"{why}: NaN")
    below, above = _bracket(value.magnitude, fmt)
    if below == above:
        return below, f"exact: x is a power of two{ignored}"
    fraction = value.magnitude / _magnitude(below, fmt)
    goes_up = {"up": True, "down": False, "nearest": fraction >= Fraction(3, 2)}[rules.round_mode]
    code, winner = (above, "upper") if goes_up else (below, "lower")
    return code, f"round_mode {rules.round_mode}: the {winner} neighbour{ignored}"


def _decide(value: Value, fmt: Format, rules: CastRules) -> tuple[int, str]:
    """Return the code of a value, and why."""
    if fmt.kind is Kind.BOOL:
        return (1, "not zero: True") if value.special or value.magnitude else (0, "zero: False")
    if fmt.kind is Kind.INT:
        if value.special:
            return 0, "NaN and Inf become 0"
        whole = int(value.number)
        code = whole % 2**fmt.bits
        why = "exact: x is an integer" if whole == value.number else "truncated toward zero"
        return code, why if decode(code, fmt).number == whole else f"{why}, then modulo 2**{fmt.bits}"
    if value.special == "nan":
        return _nan(value.negative, fmt)
    return (_nearest_even if fmt.has_zero else _power)(value, fmt, rules)


def _rules(saturate: bool, round_mode: str | None, opset: int, **formats: Format) -> CastRules:
    for parameter, row in formats.items():
        check_type(row, version_of(opset), parameter)
    row = next(reversed(formats.values()))
    return cast_rules(row, row, saturate, round_mode, opset)


def encode(
    value: object, fmt: object, *, saturate: bool = True, round_mode: str | None = None, opset: int = NEWEST
) -> int:
    """Return the code that Cast gives a value.

    NaN, Inf, -0 and out-of-range values follow the tables of the Cast page; integers wrap, NaN and Inf become 0.

    Parameters
    ----------
    value : Value, or anything `Value.of` takes
        The exact source.
    fmt : str, int, dtype or Format
        Any alias of a float, integer or bool format.
    saturate, round_mode, opset
        As in `lowprec.cast`.

    Returns
    -------
    int
        The unsigned code.

    Raises
    ------
    ValueError
        If an argument is not one of these or the opset lacks it.

    Notes
    -----
    Source: ONNX Cast 1 to 28.

    Examples
    --------
    >>> hex(encode(464, "float8_e4m3fn")), hex(encode(465, "float8_e4m3fn", saturate=False)), encode(200, "int4")
    ('0x7e', '0x7f', 8)
    """
    row = as_format(fmt)
    return _decide(Value.of(value, parameter="value"), row, _rules(saturate, round_mode, opset, fmt=row))[0]


def cast(
    code: int,
    source: object,
    target: object,
    *,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
) -> int:
    """Return the code that Cast makes of a code.

    A cast to the same format copies the bits, except where a float8 saturates: there NaNs become canonical and
    infinities the largest value.

    Parameters
    ----------
    code : int
        An unsigned code of `source`.
    source, target : str, int, dtype or Format
        Any alias of float, integer or bool formats.
    saturate, round_mode, opset
        As in `lowprec.cast`.

    Returns
    -------
    int
        The unsigned code.

    Raises
    ------
    ValueError
        If an argument is not one of these or the opset lacks it.

    Notes
    -----
    Source: ONNX Cast 1 to 28.

    Examples
    --------
    >>> hex(cast(0x7C, "float8_e5m2", "float8_e5m2")), hex(cast(0x7C00, "float16", "float4_e2m1fn"))
    ('0x7b', '0x7')
    """
    old, new = as_format(source, parameter="source"), as_format(target, parameter="target")
    rules = _rules(saturate, round_mode, opset, source=old, target=new)
    value = decode(code, old)
    applies_table = new.kind is Kind.FLOAT and new.bits == 8 and rules.saturate
    if old is new and not applies_table:
        return int(code) % 2**old.bits
    return _decide(value, new, rules)[0]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A code and its exact value."""

    code: int
    value: Value


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a value became a code; ``str`` prints it for a terminal.

    Attributes
    ----------
    format : Format
        The target.
    x : Value
        The exact source.
    lower, upper : Neighbour or None
        The finite values of the format next to x, both x itself where it is one; None where there is none. Where
        the format has no sign bit but x has, those of |x|.
    midpoint : Value or None
        Halfway between them; beyond the largest value, the limit from which a float overflows.
    is_tie : bool
        Whether x is the midpoint.
    rule : str
        What decided.
    code : int
        The result.
    value : Value
        The exact value of the result.
    """

    format: Format
    x: Value
    lower: Neighbour | None
    upper: Neighbour | None
    midpoint: Value | None
    is_tie: bool
    rule: str
    code: int
    value: Value

    def split(self, code: int) -> str:
        """Return the binary digits of a code, ``sign|exponent|mantissa`` for floats."""
        digits = f"{code:0{self.format.bits}b}"
        if self.format.kind is not Kind.FLOAT:
            return digits
        head, tail = int(self.format.signed), len(digits) - self.format.mantissa_bits
        return "|".join(field for field in (digits[:head], digits[head:tail], digits[tail:]) if field)

    def __str__(self) -> str:
        """Return an aligned block of lines."""
        rows = [("", "code", "bits", "hex-float", "decimal")]
        for label, code, value in (
            ("x", None, self.x),
            ("lower", self.lower and self.lower.code, self.lower and self.lower.value),
            ("midpoint", None, self.midpoint),
            ("upper", self.upper and self.upper.code, self.upper and self.upper.value),
            ("result", self.code, self.value),
        ):
            cells = ("", "") if code is None else (f"0x{code:0{-(-self.format.bits // 4)}x}", self.split(code))
            binary = _hex_float(value.magnitude) if value and value.is_finite else ""
            sign = "-" if binary and value and value.negative else ""
            rows.append((label, *cells, sign + binary, str(value) if value else "none"))
        widths = [max(len(row[column]) for row in rows) for column in range(4)]
        lines = ["  ".join([*map(str.ljust, row[:4], widths), row[4]]).rstrip() for row in rows]
        return "\n".join([f"{self.format.name}: {self.rule}", *lines])


def _around(value: Value, fmt: Format) -> tuple[int | None, int | None, Value | None]:
    """Return the codes of the lower and the upper neighbour, and the midpoint."""
    if value.special == "nan":
        return None, None, None
    if fmt.kind is not Kind.FLOAT:
        first = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        last = 1 if fmt.kind is Kind.BOOL else first + 2**fmt.bits - 1
        if value.special:
            return (None, first % 2**fmt.bits, None) if value.negative else (last, None, None)
        floor, ceil = math.floor(value.number), math.ceil(value.number)
        lower = None if floor < first else min(floor, last) % 2**fmt.bits
        upper = None if ceil > last else max(ceil, first) % 2**fmt.bits
        inside = floor != ceil and lower is not None and upper is not None
        return lower, upper, Value.exact(Fraction(floor + ceil, 2)) if inside else None
    count = _finite_count(fmt)
    negative = value.negative and fmt.signed
    below, above = (count - 1, count) if value.special else _bracket(value.magnitude, fmt)
    midpoint = None
    if 0 <= below < above and (above < count or fmt.has_zero):
        midpoint = Value((_magnitude(below, fmt) + _magnitude(above, fmt)) / 2, negative)
    near = None if below < 0 else _signed(min(below, count - 1), negative, fmt)
    far = None if above >= count else _signed(above, negative, fmt)
    return (far, near, midpoint) if negative else (near, far, midpoint)


def explain(
    x: object, fmt: object, /, *, saturate: bool = True, round_mode: str | None = None, opset: int = NEWEST
) -> Explanation:
    """Say which code Cast gives a value, and why.

    NaN has no neighbours, Inf has the largest value for its only one; -0 is exact where the format has it.

    Parameters
    ----------
    x : int, float, Fraction, NumPy or ml_dtypes scalar, str or Value
        The value, exactly as `Value.of` reads it.
    fmt : str, int, dtype or Format
        Any alias of a float, integer or bool format.
    saturate, round_mode, opset
        As in `lowprec.cast`.

    Returns
    -------
    Explanation
        The neighbours, the midpoint, the rule that decided, the code and its value.

    Raises
    ------
    ValueError
        If an argument is not one of these or the opset lacks it.

    Notes
    -----
    Source: ONNX Cast 1 to 28.

    Examples
    --------
    >>> print(explain("0.3", "float8_e4m3fn"))
    float8_e4m3fn: nearer to the upper neighbour
              code  bits        hex-float  decimal
    x                                      0.3
    lower     0x29  0|0101|001  0x1.2p-2   0.28125
    midpoint                    0x1.3p-2   0.296875
    upper     0x2a  0|0101|010  0x1.4p-2   0.3125
    result    0x2a  0|0101|010  0x1.4p-2   0.3125
    """
    row = as_format(fmt)
    rules = _rules(saturate, round_mode, opset, fmt=row)
    value = Value.of(x)
    code, rule = _decide(value, row, rules)
    low, high, midpoint = _around(value, row)
    lower, upper = (None if near is None else Neighbour(near, decode(near, row)) for near in (low, high))
    is_tie = midpoint is not None and value.is_finite and value.magnitude == midpoint.magnitude
    return Explanation(row, value, lower, upper, midpoint, is_tie, rule, code, decode(code, row))
