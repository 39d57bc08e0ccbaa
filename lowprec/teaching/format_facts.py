"""The facts of a format: its limits, the use of its codes, and why its values end where they do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from ..reference.exact_cast import ulp
from ..reference.exact_values import Value, bracket, decode, finite_count, magnitude_of
from ..reference.number_text import binade_of, code_text, number_text
from ..spec.formats import Format, Kind, NaNRule, as_format
from ..spec.opset_rules import NEWEST, check_type
from .value_counts import values_between

__all__ = ["FormatFacts", "RangeEnd", "format_facts"]

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
