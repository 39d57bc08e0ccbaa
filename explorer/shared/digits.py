"""The binary digits of a number, and those of them that a format keeps: a window over the digits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from lowprec import Format, reference
from lowprec.reference.exact_cast import Value
from lowprec.spec.formats import FLOAT64

from .codes import classify, fields
from .ranges import minus

__all__ = ["Digits", "Window", "changed_digits", "columns_of", "digits_of_number", "log2", "weight", "window_of"]

_FARTHEST = 1100
"""Beyond the exponents of every format."""


def log2(value: Value) -> float | None:
    """Return log2 of a magnitude, or None for 0, Inf, NaN and magnitudes that no format has."""
    if not value.magnitude or abs(reference.binade_of(value)) > _FARTHEST:
        return None
    return reference.log2(value)


@dataclass(frozen=True, slots=True)
class Digits:
    """The first binary digits of a magnitude: the exponent of the first, up to 53 of them, whether others follow."""

    first: int
    bits: str
    goes_on: bool

    def at(self, exponent: int) -> str:
        """Return the digit of a weight, 0 left of the first one; "" where it is not known."""
        index = self.first - exponent
        return "0" if index < 0 else self.bits[index] if index < len(self.bits) else "" if self.goes_on else "0"


@dataclass(frozen=True, slots=True)
class Window:
    """The bits of a code over the digits of a number: sign and exponent, and the digits with their weights.

    `hidden` is the leading digit, which the code does not have; `last` the exponent of the last digit that is kept;
    `changed` has the exponents of those that differ from the number's because it was rounded up.
    """

    sign: str
    exponent: str
    hidden: str
    kept: str
    last: int
    changed: frozenset[int] = frozenset()

    @property
    def first(self) -> int:
        """The exponent of the first digit."""
        return self.last + len(self.hidden + self.kept) - 1


def digits_of_number(x: Value) -> Digits | None:
    """Return the binary digits of a number that is not 0, Inf or NaN, nor beyond the range of float64."""
    if log2(x) is None:
        return None
    code = reference.encode(x, FLOAT64, rounding="toward_zero")
    found = reference.decode(code, FLOAT64)
    if not found.magnitude or found.special or reference.binade_of(found) != reference.binade_of(x):
        return None
    window = window_of(code, found, FLOAT64)
    first = reference.binade_of(x)
    return Digits(first, (window.hidden + window.kept)[window.first - first :], found.magnitude != x.magnitude)


def window_of(code: int, value: Value, fmt: Format) -> Window:
    """Return the bits of a code, which has a finite value, with their weights."""
    bits = {part.name: part.bits for part in fields(code, fmt)}
    last = reference.binade_of(reference.ulp(value, fmt)) if fmt.is_float else 0
    normal = "1" if classify(code, fmt) == "normal" else "0"
    return Window(bits.get("sign", ""), bits.get("exponent", ""), normal * fmt.is_float, bits.get("mantissa", ""), last)


def changed_digits(window: Window, digits: Digits) -> frozenset[int]:
    """Return the weights at which a window does not have the digits of a number."""
    kept = zip(range(window.first, window.last - 1, -1), window.hidden + window.kept, strict=True)
    return frozenset(exponent for exponent, bit in kept if digits.at(exponent) not in (bit, ""))


def columns_of(windows: Sequence[Window], digits: Digits | None, count: int, left: int) -> range:
    """Return the exponents of columns: from the first digit, or that of a window at most `left` before it."""
    first = digits.first if digits else 0
    top = max([first, *(window.first for window in windows if window.first <= first + left)])
    return range(top, top - count, -1)


def weight(exponent: int) -> str:
    """Return a power of two as the heading of a column."""
    if exponent == -3:
        return "⅛"
    return str(Fraction(2) ** exponent) if -12 <= exponent <= 9 else minus(f"2^{exponent}")
