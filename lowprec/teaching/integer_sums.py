"""Addition in a format, fast: exact integers in place of fractions.

Every number of a sum is an integer times one power of two, the unit: all terms and all values of the format are
multiples of it. Zeros, which have a sign, Inf and NaN are `Value`s; a sum with one of them is that of `arithmetic`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from ..reference.exact_values import Value, decode, finite_count, magnitude_of
from ..reference.rounding import decide_by
from ..spec.formats import Format
from ..spec.rounding_rules import Rounding
from .arithmetic import exact_sum, rounded_as

__all__ = ["Adder", "Number"]

Number = int | Value
"""A multiple of the unit other than zero; or a zero, Inf or NaN."""


class Adder:
    """Addition in a format: an exact sum, rounded once; `random` is its random number, 0 where there is none."""

    def __init__(self, fmt: Format, rounding: Rounding, terms: Sequence[Value]) -> None:
        self.fmt, self.rounding = fmt, rounding
        step = 1 - fmt.bias - fmt.mantissa_bits  # of the first binade, which is that of subnormals too
        self.unit = max(
            -step if fmt.has_zero else 1 - step, *(value.magnitude.denominator.bit_length() - 1 for value in terms), 0
        )
        self.first = self.unit + step
        self.largest = self.integer(magnitude_of(finite_count(fmt) - 1, fmt))
        self.smallest = 0 if fmt.has_zero else 1 << self.first - 1
        self.ends: dict[bool, Number] = {}
        self.cancelled = self._other(exact_sum(Value(Fraction(1)), Value(Fraction(1), True), rounding.mode)[0], 0)

    def integer(self, magnitude: Fraction) -> int:
        """Return a magnitude in units."""
        return magnitude.numerator << self.unit >> magnitude.denominator.bit_length() - 1

    def number(self, value: Value) -> Number:
        """Return a value in units."""
        if not value.magnitude:
            return value
        size = self.integer(value.magnitude)
        return -size if value.negative else size

    def whole(self, value: Value) -> int:
        """Return a finite value in units, a zero as 0."""
        size = self.integer(value.magnitude)
        return -size if value.negative else size

    def value(self, number: Number) -> Value:
        """Return the value of a number."""
        return Value(Fraction(abs(number), 1 << self.unit), number < 0) if isinstance(number, int) else number

    def rounded(self, number: Number, random: int) -> Number:
        """Return a number rounded to the format."""
        return self._finite(number, random) if isinstance(number, int) else self._other(number, random)

    def add(self, a: Number, b: Number, random: int) -> Number:
        """Return the rounded sum of two numbers."""
        if isinstance(a, int):
            if isinstance(b, int):
                total = a + b
                return self._finite(total, random) if total else self.cancelled
            elif not b.special:
                return self._finite(a, random)
        elif isinstance(b, int) and not a.special:
            return self._finite(b, random)
        return self._other(exact_sum(self.value(a), self.value(b), self.rounding.mode)[0], random)

    def negated(self, number: Number) -> Number:
        """Return a number with the other sign."""
        if isinstance(number, int):
            return -number
        return Value(Fraction(0), not number.negative, number.special)

    def _other(self, exact: Value, random: int) -> Number:
        chance = random if self.rounding.random_bits else None
        value = rounded_as(exact, self.fmt)
        return self.number(decode(decide_by(value, self.fmt, self.rounding, chance)[0], self.fmt))

    def _finite(self, number: int, random: int) -> Number:
        negative, size = number < 0, abs(number)
        shift = size.bit_length() - 1 - self.fmt.mantissa_bits
        shift = max(shift, self.first if self.fmt.has_zero else 0)
        lower = size >> shift
        rest = size - (lower << shift)
        if rest:
            is_odd = (((shift - self.first) << self.fmt.mantissa_bits) + lower) & 1 == 1
            lower += self._goes_away(rest, shift, is_odd, negative, random)
        found = lower << shift
        if found > self.largest or found < self.smallest or (negative and not self.fmt.signed):
            return self._end(negative, number, found, random)
        if not found:
            return self._other(self.value(number), random)
        return -found if negative else found

    def _end(self, negative: bool, number: int, found: int, random: int) -> Number:
        """Return what stands for a number out of the range; beyond an end it is the same for all."""
        if negative and not found:
            return self._other(self.value(number), random)
        if negative not in self.ends:
            far = 4 * magnitude_of(finite_count(self.fmt), self.fmt)
            self.ends[negative] = self._other(Value(far, negative), 0)
        if found < self.smallest and not negative:
            return self._other(self.value(number), random)
        return self.ends[negative]

    def _goes_away(self, rest: int, shift: int, is_odd: bool, negative: bool, random: int) -> bool:
        """Return whether rest / 2**shift, above 0 and below 1, is rounded away from zero."""
        mode, bits = self.rounding.mode, self.rounding.random_bits
        if bits:
            if mode == "stochastic_b":
                return ((rest << bits + 1) >> shift) + 2 * random + 1 >= 2 << bits
            scaled = (rest << bits) >> shift
            if mode == "stochastic_c":  # to the nearest, ties to even
                doubled, half = 2 * ((rest << bits) - (scaled << shift)), 1 << shift
                scaled += doubled > half or (doubled == half and scaled & 1)
            return scaled + random >= 1 << bits
        if mode.startswith("nearest"):
            side = 2 * rest - (1 << shift)
            return side > 0 or (side == 0 and {"nearest_even": is_odd, "nearest_away": True}.get(mode, False))
        return {
            "toward_zero": False,
            "away_from_zero": True,
            "toward_positive": not negative,
            "toward_negative": negative,
            "to_odd": not is_odd,
        }[mode]
