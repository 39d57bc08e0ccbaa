"""The formats of IEEE P3109: what a name such as binary8p3se says, or why no format has that name."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["P3109", "has_p3109_shape", "p3109_facts", "p3109_problem"]

_NAME = re.compile(r"binary([0-9]{1,9})p([0-9]{1,9})([su])([ef])", re.IGNORECASE | re.ASCII)

_WIDTHS = range(3, 17)

_WIDEST_EXPONENT = 11
"""That of float64: the bias is half of the exponents, so 12 bits of them go beyond it at both ends."""


class P3109(NamedTuple):
    """The facts of a format of P3109, under the names of the fields of a `Format`; the NaN rule is its text."""

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    signed: bool
    has_inf: bool
    nan: str
    reference: str = "IEEE P3109 interim report 4.0, 3.1 and 3.2"


def has_p3109_shape(name: str) -> bool:
    """Whether a name is spelled as P3109's are, in any case; its numbers may be out of range."""
    return _NAME.fullmatch(name) is not None


def _parts(name: str) -> tuple[int, int, bool, bool]:
    """Return width, precision, whether there is a sign, and whether there is Inf."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{name!r} is not spelled as the names of IEEE P3109 are")
    return int(match[1]), int(match[2]), match[3].lower() == "s", match[4].lower() == "e"


def _exponent_bits(width: int, precision: int, signed: bool) -> int:
    return width - precision + (not signed)


def p3109_problem(name: str) -> str:
    """Return what a name of that shape must be instead, or nothing where it names a format that can be had.

    Examples
    --------
    >>> p3109_problem("binary8p8se")
    'must have a precision from 1 to 7 to be a signed 8-bit format of IEEE P3109'
    >>> p3109_problem("binary8p8ue")
    ''
    """
    width, precision, signed, has_inf = _parts(name)
    if width not in _WIDTHS:
        return f"must have {_WIDTHS.start} to {_WIDTHS.stop - 1} bits to be a format of IEEE P3109"
    kind = "signed" if signed else "unsigned"
    if not 1 <= precision <= width - signed:
        wanted = f"must have a precision from 1 to {width - signed}"
        return f"{wanted} to be {'a' if signed else 'an'} {kind} {width}-bit format of IEEE P3109"
    spelled = _spelled(width, precision, signed, has_inf)
    if name.lower() != spelled:
        return f"must be spelled {spelled}, without leading zeros"
    exponent_bits = _exponent_bits(width, precision, signed)
    if exponent_bits > _WIDEST_EXPONENT:
        return (
            f"must have {_WIDEST_EXPONENT} exponent bits or fewer: with {exponent_bits}, "
            f"as {kind} codes of {width} bits have at precision {precision}, it has exponents beyond float64"
        )
    return ""


def _spelled(width: int, precision: int, signed: bool, has_inf: bool) -> str:
    return f"binary{width}p{precision}{'s' if signed else 'u'}{'e' if has_inf else 'f'}"


def p3109_facts(name: str) -> P3109:
    """Return the facts of the format that a name without a problem names.

    The bias is half of the number of exponents. NaN is the code of -0 or, without a sign, the last one; Inf is the
    highest magnitude code but NaN.
    """
    width, precision, signed, has_inf = _parts(name)
    exponent_bits = _exponent_bits(width, precision, signed)
    nan = "negative-zero" if signed else "all-ones"
    spelled = _spelled(width, precision, signed, has_inf)
    return P3109(spelled, exponent_bits, precision - 1, 2 ** (exponent_bits - 1), signed, has_inf, nan)
