"""Numbers and codes as short texts for sentences, and the binade of a number."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

from ..spec.formats import Format
from .exact_values import Value, exact_decimal

__all__ = ["binade_of", "code_text", "log2", "number_text", "number_texts"]

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
