"""Facts of a format: limits, use of codes, binades, values between two numbers, where it overflows."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ..reference.exact_cast import Place, goes_away, ulp
from ..reference.values import (
    Value,
    binade_of,
    bracket,
    code_text,
    decode,
    finite_count,
    magnitude_of,
    number_text,
)
from ..spec.formats import Format, Kind, NaNRule, as_format
from ..spec.operator_versions import NEWEST, check_type
from ..spec.rounding_modes import STOCHASTIC, RoundingName, RoundingOptions, check_rounding
from ..spec.scalar_arguments import shown

__all__ = [
    "Binade",
    "FormatFacts",
    "OverflowEdge",
    "binades",
    "format_facts",
    "overflow_edge",
    "overflow_edges",
    "values_between",
]


def values_between(low: object, high: object, fmt: object) -> int:
    """Return how many distinct finite values v of a format have ``low <= v < high``; -0 is 0.

    Parameters
    ----------
    low, high : str, int, float, Fraction or scalar
        The limits, as `Value.of` takes them; Inf for no limit.
    fmt : str, int, dtype or Format
        A float, integer or bool format.

    Returns
    -------
    int
        The number of values, 0 where `high` is not above `low`.

    Raises
    ------
    ValueError
        If a limit is NaN or no number.

    Notes
    -----
    Source: the codes of a format are in the order of their magnitudes.

    Examples
    --------
    >>> values_between(1, 2, "float8_e4m3fn"), values_between("-inf", "inf", "float8_e4m3fn")
    (8, 253)
    """
    row = as_format(fmt)
    check_type(row, NEWEST, "fmt")
    ends = Value.of(low, parameter="low"), Value.of(high, parameter="high")
    for name, end in zip(("low", "high"), ends, strict=True):
        if end.special == "nan":
            raise ValueError(f"`{name}` must be a number; got NaN")
    start, stop = (_count_below(end, row) for end in ends)
    return max(stop - start, 0)


def _count_below(limit: Value, fmt: Format) -> int:
    """Return how many distinct finite values lie below a limit."""
    if fmt.kind is not Kind.FLOAT:
        count = 2 if fmt.kind is Kind.BOOL else 2**fmt.bits
        lowest = -(2 ** (fmt.bits - 1)) if fmt.signed else 0
        wanted = count * (not limit.negative) if limit.special else math.ceil(limit.number) - lowest
        return min(max(wanted, 0), count)
    codes, negatives = range(finite_count(fmt)), (finite_count(fmt) - 1) * fmt.signed

    def magnitude(code: int) -> Fraction:
        return magnitude_of(code, fmt)

    if limit.special:
        return 0 if limit.negative else negatives + len(codes)
    if limit.number > 0:
        return negatives + bisect_left(codes, limit.magnitude, key=magnitude)
    return len(codes) - bisect_right(codes, limit.magnitude, key=magnitude) if fmt.signed else 0


_DIGITS = 53
"""Significant bits of a float64."""


class OverflowEdge(NamedTuple):
    """The positive number at which overflow begins; `overflows` says whether it does so itself."""

    number: Fraction
    overflows: bool


def overflow_edge(fmt: object, *, rounding: RoundingName | None = None) -> OverflowEdge:
    """Return the positive number at which a float format begins to overflow.

    Above it a number rounds beyond the largest value, below it to the largest value or a smaller one. What then becomes
    of it is the matter of `saturate` or `overflow`.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        A float format.
    rounding : str, optional
        A rounding of `lowprec.cast` without random numbers; ONNX's rule if it is not given: to the nearest, ties to the
        even code, and of formats without zero everything above the largest value.

    Returns
    -------
    OverflowEdge
        The number and whether it overflows itself.

    Raises
    ------
    ValueError
        If `fmt` is no float, or `rounding` is stochastic or unknown.

    Notes
    -----
    Source: ONNX Cast; IEEE P3109 interim report 4.0, 4.7.4.

    Examples
    --------
    >>> overflow_edge("float8_e4m3fn"), overflow_edge("float16")
    (OverflowEdge(number=Fraction(464, 1), overflows=False), OverflowEdge(number=Fraction(65520, 1), overflows=True))
    >>> overflow_edge("float8_e4m3fn", rounding="toward_zero")
    OverflowEdge(number=Fraction(480, 1), overflows=True)
    """
    row = as_format(fmt)
    if not row.is_float:
        raise ValueError(f"`fmt` must be a float format; got {row.name}")
    if rounding in STOCHASTIC:
        raise ValueError(f"`rounding` must be one without random numbers; got {shown(rounding)}")
    rules = check_rounding(RoundingOptions(rounding), row, "fmt")
    last = finite_count(row) - 1
    largest, beyond = magnitude_of(last, row), magnitude_of(last + 1, row)
    if rounding is None and not row.has_zero:
        return OverflowEdge(largest, False)
    # A rule without random numbers changes its answer at one place of the step: at its start, its half or its end.
    quarter, half, rest = (goes_away(Place(last, Fraction(part, 4)), False, rules, None)[0] for part in (1, 2, 3))
    if quarter:
        return OverflowEdge(largest, False)
    return OverflowEdge((largest + beyond) / 2, half) if rest else OverflowEdge(beyond, True)


def overflow_edges(fmt: object, *, rounding: RoundingName | None = None) -> tuple[Fraction, Fraction]:
    """Return the last positive number that does not overflow and the first that does, of those with 53 bits.

    They are next to each other among the numbers of 53 significant bits and any exponent: float64 numbers, where these
    are neither subnormal nor beyond its range.

    Parameters
    ----------
    fmt, rounding
        As in `overflow_edge`.

    Returns
    -------
    tuple of Fraction
        Both numbers.

    Raises
    ------
    ValueError
        As `overflow_edge` does.

    Notes
    -----
    Source: that of `overflow_edge`.

    Examples
    --------
    >>> [float(number) for number in overflow_edges("float8_e4m3fn")]
    [464.0, 464.00000000000006]
    >>> [float(number) for number in overflow_edges("float16")]
    [65519.99999999999, 65520.0]
    """
    edge = overflow_edge(fmt, rounding=rounding)
    top, bottom = edge.number.as_integer_ratio()
    exponent = top.bit_length() - bottom.bit_length()
    if edge.number < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (exponent - _DIGITS + 1)
    below = edge.number // step * step
    if below < edge.number:
        return below, below + step
    if not edge.overflows:
        return below, below + step
    is_power = edge.number == Fraction(2) ** exponent
    return below - (step / 2 if is_power else step), below


CodeRange = tuple[int, int]
"""The first and the last of some codes in a row."""


class RangeEnd(NamedTuple):
    """What stands behind the largest value of a format.

    Attributes
    ----------
    value : Value
        The number that would follow the largest value.
    code : int or None
        The code that follows that of the largest value; None where that is the last one.
    meaning : Value or None
        What that code is: NaN, Inf, -0, or the lowest integer.
    sentence : str
        Why the values end there.
    """

    value: Value
    code: int | None
    meaning: Value | None
    sentence: str


@dataclass(frozen=True, slots=True)
class FormatFacts:
    """The facts of a format (see `format_facts`).

    Attributes
    ----------
    format : Format
        The format.
    bits, sign_bits, exponent_bits, mantissa_bits : int
        The width of a code and of its fields; of an integer the bits after the sign are ``mantissa_bits``.
    bias, emin, emax : int or None
        The exponent bias; the exponents of the smallest normal and of the largest value. None for integers and bool,
        `emin` also where all values are subnormal.
    largest, lowest : Value
        The ends of the finite range.
    smallest_normal : Value or None
        The smallest positive value with all significant bits; None where all values are subnormal.
    smallest : Value
        The smallest positive value.
    eps : Fraction or None
        The distance from 1 to the next larger value; None where 1 is the largest value, or none.
    significant_bits : int
        Of a normal value, the leading bit included; of the largest integer.
    nan_codes, inf_codes : tuple of (int, int)
        The first and the last of the codes in a row that are NaN or Inf, those with the sign bit last.
    negative_zero : int or None
        The code of -0.
    finite_codes, subnormal_codes : int
        How many codes are finite; how many of these are subnormal, those with the sign bit included.
    numbers : int
        How many distinct finite values there are, -0 being 0.
    values_per_binade : int or None
        How many values lie in ``[2**e, 2**(e + 1))`` where all significant bits are there; None where that is nowhere,
        and for integers and bool.
    values_in_last_binade : int
        The same where the largest value lies.
    values_from_one_to_two : int
        How many values v have ``1 <= v < 2``.
    values_inside_one_and_two : int
        How many values v have ``1 < v < 2``.
    end : RangeEnd
        What stands behind the largest value.
    """

    format: Format
    bits: int
    sign_bits: int
    exponent_bits: int
    mantissa_bits: int
    bias: int | None
    emin: int | None
    emax: int | None
    largest: Value
    lowest: Value
    smallest_normal: Value | None
    smallest: Value
    eps: Fraction | None
    significant_bits: int
    nan_codes: tuple[CodeRange, ...]
    inf_codes: tuple[CodeRange, ...]
    negative_zero: int | None
    finite_codes: int
    subnormal_codes: int
    numbers: int
    values_per_binade: int | None
    values_in_last_binade: int
    values_from_one_to_two: int
    values_inside_one_and_two: int
    end: RangeEnd

    @property
    def nan_count(self) -> int:
        """How many codes are NaN."""
        return sum(last - first + 1 for first, last in self.nan_codes)

    @property
    def inf_count(self) -> int:
        """How many codes are Inf."""
        return sum(last - first + 1 for first, last in self.inf_codes)

    @property
    def digits(self) -> float:
        """The significant bits as decimal digits."""
        return self.significant_bits * math.log10(2)

    @property
    def decades(self) -> float:
        """The powers of ten between the smallest positive and the largest value."""
        return math.log10(float(self.largest)) - math.log10(float(self.smallest))

    @property
    def decibels(self) -> float:
        """The dynamic range: the largest value over the smallest positive one, as amplitudes."""
        return 20 * self.decades

    @property
    def why_it_ends(self) -> str:
        """Why the values end with the largest one."""
        return self.end.sentence


def format_facts(fmt: object, /) -> FormatFacts:
    """Return the facts of a float, integer or bool format, exact; also why its largest value is the largest.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        Any alias of the format, or a described one.

    Returns
    -------
    FormatFacts
        Limits, counts and codes.

    Raises
    ------
    ValueError
        If `fmt` is no format, or holds texts or complex numbers.

    Notes
    -----
    Source: the row's own ``source``; counts follow from the codes.

    Examples
    --------
    >>> facts = format_facts("float8_e4m3fn")
    >>> facts.why_it_ends, facts.values_from_one_to_two, facts.nan_codes
    ('480 would be 0x7F, which is NaN.', 8, ((127, 127), (255, 255)))
    >>> format_facts("float6_e2m3fn").why_it_ends
    '0x1F is the last code without the sign bit: 8 would need the next one, 0x20, which is -0.'
    """
    row = as_format(fmt)
    check_type(row, NEWEST, "fmt")
    return _float_facts(row) if row.kind is Kind.FLOAT else _integer_facts(row)


def _float_facts(fmt: Format) -> FormatFacts:
    count, per_binade = finite_count(fmt), 2**fmt.mantissa_bits
    signs, half = 2 if fmt.signed else 1, 2 ** (fmt.exponent_bits + fmt.mantissa_bits)
    first_normal = per_binade if fmt.has_zero else 0
    has_normal = count > first_normal
    largest, smallest_positive = Value(magnitude_of(count - 1, fmt)), magnitude_of(1 if fmt.has_zero else 0, fmt)
    lowest = Value(largest.magnitude, True) if fmt.signed else Value(magnitude_of(0, fmt))
    minus_zero_is_nan = fmt.nan is NaNRule.NEGATIVE_ZERO
    finite = count * signs - minus_zero_is_nan
    infinite = ((count, count),) if fmt.has_inf else ()
    first_nan = count + len(infinite)
    nans = ((first_nan, half - 1),) if first_nan < half else ()
    has_negative_zero = fmt.signed and not minus_zero_is_nan
    return FormatFacts(
        format=fmt,
        bits=fmt.bits,
        sign_bits=signs - 1,
        exponent_bits=fmt.exponent_bits,
        mantissa_bits=fmt.mantissa_bits,
        bias=fmt.bias,
        emin=binade_of(magnitude_of(first_normal, fmt)) if has_normal else None,
        emax=binade_of(largest),
        largest=largest,
        lowest=lowest,
        smallest_normal=Value(magnitude_of(first_normal, fmt)) if has_normal else None,
        smallest=Value(smallest_positive),
        eps=_eps(largest, fmt),
        significant_bits=fmt.mantissa_bits + 1,
        nan_codes=((half, half),) if minus_zero_is_nan else _both_signs(nans, fmt),
        inf_codes=_both_signs(infinite, fmt),
        negative_zero=half if has_negative_zero else None,
        finite_codes=finite,
        subnormal_codes=(min(per_binade, count) - 1) * signs if fmt.has_zero else 0,
        numbers=finite - has_negative_zero,
        values_per_binade=per_binade if count >= first_normal + per_binade else None,
        **_counts(largest, fmt),
        end=_float_end(count, half, fmt),
    )


def _both_signs(ranges: tuple[CodeRange, ...], fmt: Format) -> tuple[CodeRange, ...]:
    half = 2 ** (fmt.bits - 1)
    return ranges + tuple((first + half, last + half) for first, last in ranges if fmt.signed)


def _has_one(fmt: Format) -> bool:
    """Whether 1 is a value of a format."""
    if fmt.kind is not Kind.FLOAT:
        return True
    below, above = bracket(Fraction(1), fmt)
    return below == above < finite_count(fmt)


def _eps(largest: Value, fmt: Format) -> Fraction | None:
    return ulp(1, fmt) if largest.magnitude > 1 and _has_one(fmt) else None


def _counts(largest: Value, fmt: Format) -> dict[str, int]:
    """Return the counts that have names in `FormatFacts`."""
    top, from_one = Fraction(2) ** binade_of(largest), values_between(1, 2, fmt)
    return {
        "values_in_last_binade": values_between(top, 2 * top, fmt),
        "values_from_one_to_two": from_one,
        "values_inside_one_and_two": from_one - _has_one(fmt),
    }


def _float_end(count: int, half: int, fmt: Format) -> RangeEnd:
    after = Value(magnitude_of(count, fmt))
    code = count if count < half or fmt.signed else None
    text, last = number_text(after), code_text(count - 1, fmt)
    if code is None:
        return RangeEnd(after, None, None, f"{last} is the last code: {text} would need one bit more.")
    meaning = decode(code, fmt)
    what = f"{code_text(code, fmt)}, which is {number_text(Value(meaning.magnitude, False, meaning.special))}"
    if count < half:
        return RangeEnd(after, code, meaning, f"{text} would be {what}.")
    if not meaning.special:
        what = f"{code_text(code, fmt)}, which is -0"
    sentence = f"{last} is the last code without the sign bit: {text} would need the next one, {what}."
    return RangeEnd(after, code, meaning, sentence)


def _integer_facts(fmt: Format) -> FormatFacts:
    is_bool, one = fmt.kind is Kind.BOOL, Value.of(1)
    codes = 2**fmt.bits
    bits = 1 if is_bool else fmt.bits - fmt.signed
    largest = Value.of(2**bits - 1)
    return FormatFacts(
        format=fmt,
        bits=fmt.bits,
        sign_bits=int(fmt.signed),
        exponent_bits=0,
        mantissa_bits=fmt.mantissa_bits,
        bias=None,
        emin=None,
        emax=None,
        largest=largest,
        lowest=Value.of(-(2**bits) if fmt.signed else 0),
        smallest_normal=one,
        smallest=one,
        eps=_eps(largest, fmt),
        significant_bits=bits,
        nan_codes=(),
        inf_codes=(),
        negative_zero=None,
        finite_codes=codes,
        subnormal_codes=0,
        numbers=2 if is_bool else codes,
        values_per_binade=None,
        **_counts(largest, fmt),
        end=_bool_end() if is_bool else _integer_end(bits, fmt),
    )


def _bool_end() -> RangeEnd:
    return RangeEnd(Value.of(2), None, None, "There are two values: the code 0 is False, every other one is True.")


def _integer_end(bits: int, fmt: Format) -> RangeEnd:
    after = Value.of(2**bits)
    where = " after the sign" if fmt.signed else ""
    ones = f"all {bits} bits{where} are 1" if bits > 1 else f"the one bit{where} is 1"
    sentence = f"{2**bits - 1} = 2^{bits} - 1: {ones}"
    if not fmt.signed:
        return RangeEnd(after, None, None, f"{sentence}.")
    meaning = decode(2**bits, fmt)
    return RangeEnd(after, 2**bits, meaning, f"{sentence}, and the next code, {code_text(2**bits, fmt)}, is {meaning}.")


class Binade(NamedTuple):
    """The values v of a format with ``2**exponent <= v < 2**(exponent + 1)``.

    Attributes
    ----------
    exponent : int
        The exponent of the power of two where it begins.
    significant_bits : int
        Bits of its values, the leading one included.
    step : Fraction
        The distance between its values.
    values : int
        How many values it has: 2**(significant_bits - 1), fewer in the last one of most formats.
    """

    exponent: int
    significant_bits: int
    step: Fraction
    values: int


def binades(fmt: object, /) -> tuple[Binade, ...]:
    """Return the binades that hold a positive value, from the smallest up.

    The significant bits shrink to one in the subnormals of a float, and in an integer towards 1.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        A float, integer or bool format.

    Returns
    -------
    tuple of Binade
        Exponent, significant bits, step and number of values of each.

    Raises
    ------
    ValueError
        If `fmt` is no format, or holds texts or complex numbers.

    Notes
    -----
    Source: the row's own ``source``.

    Examples
    --------
    >>> [(binade.exponent, str(binade.step), binade.values) for binade in binades("float4_e2m1fn")]
    [(-1, '1/2', 1), (0, '1/2', 2), (1, '1', 2), (2, '2', 2)]
    """
    facts = format_facts(fmt)
    row, powers = facts.format, range(binade_of(facts.smallest), binade_of(facts.largest) + 1)
    found = []
    for power in powers:
        bits = power + 1
        if row.kind is Kind.FLOAT:  # the subnormals have the step of the first binade
            bits = min(power - (row.has_zero - row.bias - row.mantissa_bits) + 1, row.mantissa_bits + 1)
        last = power == powers[-1]
        values = facts.values_in_last_binade if last else 2 ** (bits - 1)
        found.append(Binade(power, bits, Fraction(2) ** (power - bits + 1), values))
    return tuple(found)
