"""The pieces of an error curve: between a value of a format and the midpoint next to it all numbers have one result."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from ..reference.exact_cast import decide, ulp
from ..reference.exact_values import Value, bracket, decode, finite_count, magnitude_of
from ..spec.formats import Format, Kind
from ..spec.opset_rules import CastRules

__all__ = ["ErrorPiece", "Side", "results_of", "ulp_at"]

_CELLS_OF_A_BINADE = 6
"""Of a binade at least, where not all cells are computed."""


@dataclass(frozen=True, slots=True)
class ErrorPiece:
    """Numbers from `low` to `high` with the same possible results, None where one is NaN or Inf.

    `near` is the result nearer to zero, `far` the other; the same where nothing is left to chance. `ulp` is the unit in
    the last place between `low` and `high`.
    """

    low: Fraction
    high: Fraction
    near: Fraction | None
    far: Fraction | None
    ulp: Fraction


def ulp_at(x: Fraction, fmt: Format) -> Fraction:
    """Return the unit in the last place; below zero, where a format has no values, that of zero."""
    return ulp(0 if x < 0 and not fmt.signed and fmt.has_zero else x, fmt)


def results_of(value: Value, fmt: Format, rules: CastRules) -> tuple[Fraction | None, Fraction | None]:
    """Return the possible results of a number, the one nearer to zero first; None for NaN and Inf."""
    bits = rules.rounding.random_bits if rules.rounding is not None else 0
    numbers = (0, 2**bits - 1) if bits else (None,)
    ends = [decode(decide(value, fmt, rules, random)[0], fmt) for random in numbers]
    near, *far = (None if end.special else end.number for end in ends)
    return near, far[0] if far else near


class Side(NamedTuple):
    """The numbers of one sign, by magnitude: cells between magnitude codes, and what is before and beyond them."""

    format: Format
    rules: CastRules
    negative: bool

    def cells(self, low: Fraction, high: Fraction, most: int) -> tuple[list[tuple[Fraction, Fraction, bool]], bool]:
        """Return the ends of the cells to compute, and whether a midpoint divides them; and whether these are all."""
        least, last = self._limits()
        first = max(self._code_below(low), least)
        end = self._code_below(high) - (self._magnitude(self._code_below(high)) == high)
        end = end if last is None else min(end, last)
        codes, is_complete = _chosen(first, end, self._block(), most)
        found = [(self._magnitude(code), self._magnitude(code + 1), True) for code in codes]
        if low < self._magnitude(least):
            found.insert(0, (Fraction(0), self._magnitude(least), False))
        if last is not None and high > self._magnitude(last + 1):
            found.append((self._magnitude(last + 1), max(high, 2 * self._magnitude(last + 1)), False))
        return found, is_complete

    def _limits(self) -> tuple[int, int | None]:
        """Return the first and the last code whose cell is one of the format; integers wrap and have no last one."""
        fmt = self.format
        if fmt.kind is Kind.BOOL:
            return 0, 0
        if fmt.kind is not Kind.FLOAT:
            return 0, None
        is_below = self.negative and not fmt.signed and fmt.has_zero
        return 0 if fmt.has_zero else -1, 0 if is_below else finite_count(fmt) - 1

    def _magnitude(self, code: int) -> Fraction:
        return magnitude_of(code, self.format) if self.format.kind is Kind.FLOAT else Fraction(code)

    def _code_below(self, magnitude: Fraction) -> int:
        if self.format.kind is Kind.FLOAT:
            return bracket(magnitude, self.format)[0]
        return magnitude.numerator // magnitude.denominator

    def _block(self) -> int:
        """Return how many cells a binade has; of integers, those after which they wrap."""
        fmt = self.format
        return int(2 ** (fmt.mantissa_bits if fmt.kind is Kind.FLOAT else fmt.bits - fmt.signed))

    def pieces(
        self, start: Fraction, end: Fraction, is_divided: bool, low: Fraction, high: Fraction
    ) -> tuple[ErrorPiece, ...]:
        """Return the pieces of a cell that lie within a range of magnitudes, in ascending order of these."""
        step = end - start
        cuts = (start, *(start + part * step for part in self._parts()), end) if is_divided else (start, end)
        scale = (
            step
            if is_divided and start >= self._magnitude(0)
            else ulp_at((start + end) * (-1 if self.negative else 1) / 2, self.format)
        )
        found: list[ErrorPiece] = []
        for left, right in pairwise(cuts):
            low_end, high_end = max(left, low), min(right, high)
            if low_end >= high_end:
                continue
            near, far = self._results_between(left, right)
            if found and (found[-1].near, found[-1].far) == (near, far):
                before = found.pop()
                low_end = -before.high if self.negative else before.low
            x = (-high_end, -low_end) if self.negative else (low_end, high_end)
            found.append(ErrorPiece(*x, near, far, scale))
        return tuple(found)

    def _parts(self) -> tuple[Fraction, ...]:
        """Return where in a cell the possible results may change: in the middle, or next to its ends by chance."""
        rounding = self.rules.rounding
        if rounding is None or not rounding.random_bits:
            return (Fraction(1, 2),)
        lot = Fraction(1, 2**rounding.random_bits)
        return tuple(dict.fromkeys((lot / 2, lot, 1 - lot, 1 - lot / 2)))

    def _results_between(self, left: Fraction, right: Fraction) -> tuple[Fraction | None, Fraction | None]:
        return results_of(Value((left + right) / 2, self.negative), self.format, self.rules)


def _chosen(first: int, last: int, size: int, most: int) -> tuple[list[int], bool]:
    """Return codes from first to last, all if they are few; else some of each block, its first and last ones."""
    if last - first < most:
        return list(range(first, last + 1)), True
    blocks = range(first // size, last // size + 1)
    limit = max(4, most // _CELLS_OF_A_BINADE)
    chosen = list(blocks)
    if len(blocks) > limit:
        spread = (blocks[index * (len(blocks) - 1) // (limit - 1)] for index in range(limit))
        chosen = sorted({*blocks[:2], *spread, *blocks[-2:]})
    each = max(_CELLS_OF_A_BINADE, most // len(chosen))
    codes: set[int] = set()
    for block in chosen:
        start, end = max(first, block * size), min(last, block * size + size - 1)
        some = {start + index * (end - start) // (each - 1) for index in range(each)}
        codes |= {code for code in (*some, start, start + 1, start + 2, end - 1, end) if start <= code <= end}
    return sorted(codes), False
