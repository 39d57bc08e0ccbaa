"""Numbers as texts, and back: exact digits, short digits that say when they are not exact, codes."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

from lowprec import Format
from lowprec.explanation import hex_float
from lowprec.reference.exact_cast import Value, encode, exact_decimal

__all__ = [
    "Place",
    "apart",
    "code_text",
    "decibels",
    "digits_of",
    "exact",
    "exact_text",
    "input_text",
    "nearest_float64",
    "number",
    "percent",
    "place",
    "power_form",
    "short",
]

_MOST_READ = 1000
"""Characters of a text that is read as a number."""

_CODE = re.compile(r"(?i)\s*(?:0x([0-9a-f_]+)|0b([01_]+))\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Place:
    """What a text names in a format: a code, and the number `typed` where it was not the code that was given."""

    code: int
    typed: Value | None


def place(text: str, fmt: Format, parameter: str = "text") -> Place:
    """Return the code that a text names: a code (``0x7E``, ``0b0_1111_110``) or a number (``448``, ``17/23``, ``inf``).

    A number becomes the code that Cast gives it by default. A hex-float has a point or an exponent (``0x1.8p+3``): that
    tells it from a code. ValueError where the text is neither, or the code too large.
    """
    found = _CODE.fullmatch(text)
    if found is None:
        typed = Value.of(text, parameter=parameter)
        return Place(encode(typed, fmt), typed)
    digits = (found[1] or found[2]).replace("_", "")
    code = int(digits, 16 if found[1] else 2) if digits else -1
    if not 0 <= code <= fmt.code_mask:
        raise ValueError(
            f"`{parameter}` must be a number, or a code of {fmt.bits} bits up to {fmt.code_mask:#x}; got {text[:40]!r}"
        )
    return Place(code, None)


def code_text(code: int, fmt: Format, prefix: str = "0x") -> str:
    """Return a code in hexadecimal, as many digits as the format has."""
    return f"{prefix}{code:0{-(-fmt.bits // 4)}X}"


def short(number: Value | Fraction, room: int = 14, digits: int = 6) -> str:
    """Return every digit where they fit in `room` characters, else ``≈`` and at most `digits`, correctly rounded."""
    value = Value.of(number)
    text = str(value)
    if value.special or (len(text) <= room and "/" not in text):
        return text
    top, bottom = Decimal(value.number.numerator), Decimal(value.number.denominator)
    rounded = [Context(prec=some).divide(top, bottom).normalize() for some in range(digits, 0, -1)]
    texts = [f"≈{number:{kind}}" for number in rounded for kind in "ge"]  # 0.0000153 has no room where 1.53e-5 has
    return next((text for text in texts if len(text) <= room), texts[-1])


def digits_of(fmt: Format) -> int:
    """Return how many digits tell a float format's values apart."""
    if not fmt.is_float or fmt.mantissa_bits < 16:
        return 6
    return 9 if fmt.mantissa_bits < 24 else 17


def apart(value: Value, fmt: Format) -> str:
    """Return a value of a format as text that no other value of it has; between two of them, as near as that."""
    digits = digits_of(fmt)
    return short(value, {6: 14, 9: 18, 17: 26}[digits] if fmt.is_float else 26, digits)


def input_text(value: Value) -> str:
    """Return a text that is read as the number: all its digits, or, where these are too many, with an exponent."""
    text = str(value)
    if len(text) <= _MOST_READ:
        return text
    sign, size = "-" * value.negative, value.magnitude
    whole, _, fraction = text.removeprefix("-").partition(".")
    digits = (whole + fraction).strip("0")
    exponent = len(whole + fraction) - len((whole + fraction).rstrip("0")) - len(fraction)
    if len(digits) < _MOST_READ - 10:
        return f"{sign}{digits}e{exponent}"
    twos = (size.numerator & -size.numerator).bit_length() - size.denominator.bit_length()
    return f"{sign}0x{int(size / Fraction(2) ** twos):x}p{twos}"


def exact_text(value: Value) -> str:
    """Return a text that `place` reads back exactly in every format: few digits, or a hex-float, never a code's."""
    text = str(value)
    return text if len(text) <= 20 else hex_float(value) or text


def nearest_float64(text: str) -> str | None:
    """Return the Python text of the float64 nearest to a number; None where that is Inf, NaN or nothing."""
    try:
        number = float(Value.of(text))
    except (OverflowError, ValueError):
        return None
    return repr(number) if math.isfinite(number) else None


def power_form(number: Value | Fraction) -> str:
    """Return an odd integer times a power of two (``5·2^-9``), which is exact; a ratio where there is none."""
    value = Value.of(number)
    top, bottom = value.magnitude.as_integer_ratio()
    if value.special or not top or bottom & (bottom - 1):
        return str(value)
    zeros = (top & -top).bit_length() - 1
    odd, power = top >> zeros, zeros + 1 - bottom.bit_length()
    sign = "-" * value.negative
    return f"{sign}2^{power}" if odd == 1 else f"{sign}{odd}·2^{power}" if power else f"{sign}{odd}"


def exact(number: Value | Fraction, room: int = 12) -> str:
    """Return every digit where they fit in `room` characters, else the form with a power of two: exact either way."""
    text = str(Value.of(number)) if isinstance(number, Value) else exact_decimal(number)
    return text if len(text) <= room else power_form(number)


def number(value: Value | float | Fraction | None, room: int = 12, digits: int = 6) -> str:
    """Return a number exactly where that is short, else rounded and marked; a dash for None."""
    return "–" if value is None else short(Value.of(value), room, digits)


def percent(ratio: Fraction | None) -> str:
    """Return a ratio in percent; a dash for None."""
    if ratio is None:
        return "–"
    if 1 <= ratio < 1000 and ratio.denominator > 1:
        return f"≈{round(100 * ratio)} %"  # short would write 1e+2
    text = short(100 * ratio, 8, 3)
    return f"≈{float(100 * ratio):.3g} %" if "e+" in text and ratio < 1 else f"{text} %"  # ≈60, not ≈6e+1


def decibels(ratio: float) -> str:
    """Return decibels as text: Inf stands for no error, NaN for no signal."""
    if math.isfinite(ratio):
        return f"≈{ratio:.2f} dB"
    return "no error" if ratio > 0 else "–"
