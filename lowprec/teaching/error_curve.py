"""The error of rounding against the number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from ..reference.exact_cast import decide, lots_for_upper, place_of, rules_for, ulp
from ..reference.values import Value, bracket, decode, finite_count, magnitude_of
from ..spec.formats import Format, Kind, as_format
from ..spec.operator_versions import NEWEST, CastRules
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    STOCHASTIC,
    OverflowName,
    RoundingName,
    RoundingOptions,
    RoundModeName,
    check_stream,
)

__all__ = ["ErrorCurve", "ErrorPoint", "LargestError", "MEASURES", "error_curve"]


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


MEASURES = ("absolute", "relative", "ulp")
"""Result less x; the same divided by the magnitude of x; in units in the last place of x in the format."""

_INSIDE, _INSIDE_OF_WIDE = 8, 32
"""Parts of a piece between its points, where it has two results or its ends are far apart."""

_NARROW, _WIDE = Fraction(5, 4), 4
"""Ratios of the ends of a piece: above the first it has points inside, above the second more."""


class ErrorPoint(NamedTuple):
    """The error at x: the least and the greatest possible one, and the expected one with its variance.

    Without chance all three are the same. None: NaN, Inf, or no bound.
    """

    x: Fraction
    least: Fraction | None
    greatest: Fraction | None
    mean: Fraction | None
    variance: Fraction | None


class LargestError(NamedTuple):
    """The largest magnitude of an error: None if it has no bound, the number x, and where that is.

    `side` is ``"at"``, or ``"above"`` or ``"below"`` where the error comes as near to it as one likes next to x.
    """

    error: Fraction | None
    x: Fraction
    side: str


@dataclass(frozen=True, slots=True)
class ErrorCurve:
    """The error of rounding to a format, from `low` to `high`; errors are results less numbers.

    `cells` has the pieces between two neighbouring values, in ascending order. If not `is_complete` it has some cells
    of each binade, those with the largest errors among them. A format without zero ignores signs: the errors are those
    of magnitudes.
    """

    format: Format
    low: Fraction
    high: Fraction
    rules: CastRules
    cells: tuple[tuple[ErrorPiece, ...], ...]
    is_complete: bool

    @property
    def is_stochastic(self) -> bool:
        """Whether random numbers decide."""
        return self.rules.rounding is not None and self.rules.rounding.random_bits > 0

    def points(self, measure: str = "absolute") -> tuple[ErrorPoint, ...]:
        """Return the points of the curve, in ascending order of x, twice the same x where it jumps.

        A complete curve is straight, or monotone, between its points. Else there is a point for each cell: its least
        and greatest error, and the mean at its middle.
        """
        _check_measure(measure)
        if self.is_complete:
            return tuple(point for cell in self.cells for piece in cell for point in self._points_of(piece, measure))
        return tuple(self._extremes(cell, measure) for cell in self.cells)

    def at(self, x: object, measure: str = "absolute") -> ErrorPoint:
        """Return the error at a finite number, anything `Value.of` takes."""
        _check_measure(measure)
        value = Value.of(x)
        if value.special:
            raise ValueError(f"`x` must be a finite number; got {value}")
        near, far = results_of(value, self.format, self.rules)
        scale = ulp_at(value.number, self.format)
        return self._point(value.number, near, far, scale, measure, Fraction(0))

    def largest(self, measure: str = "absolute") -> LargestError | None:
        """Return the largest possible error, nearest to zero if there are several; None if no result is finite."""
        _check_measure(measure)
        best: tuple[Fraction, Fraction, bool, Fraction, str] | None = None
        for piece in (piece for cell in self.cells for piece in cell):
            for x, side in ((piece.low, "above"), (piece.high, "below")):
                inward = Fraction(1 if side == "above" else -1)
                for result in (piece.near,) if piece.near == piece.far else (piece.near, piece.far):
                    if result is None:
                        continue
                    error = self._scaled(result - self._number(x), x, piece.ulp, measure, inward)
                    if error is None:
                        return LargestError(None, x, side)
                    key = (abs(error), -abs(x), x >= 0, x, side)
                    best = key if best is None or key > best else best
        if best is None:
            return None
        error, x = best[0], best[3]
        here = self.at(x, measure)
        attained = error in {abs(found) for found in (here.least, here.greatest) if found is not None}
        return LargestError(error, x, "at" if attained else best[4])

    def without_result(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Return from where to where a number may become NaN or Inf."""
        found: list[tuple[Fraction, Fraction]] = []
        for piece in (piece for cell in self.cells for piece in cell if piece.near is None or piece.far is None):
            if found and found[-1][1] == piece.low:
                found[-1] = (found[-1][0], piece.high)
            else:
                found.append((piece.low, piece.high))
        return tuple(found)

    def _number(self, x: Fraction) -> Fraction:
        return x if self.format.kind is not Kind.FLOAT or self.format.has_zero else abs(x)

    def _scaled(self, error: Fraction, x: Fraction, step: Fraction, measure: str, inward: Fraction) -> Fraction | None:
        """Return an error in a measure; next to 0 on the side `inward` its limit, None where that has no bound."""
        if measure == "absolute":
            return error
        if measure == "ulp":
            return error / step
        if x:
            return error / abs(x)
        return None if error else -self._number(inward)

    def _point(
        self, x: Fraction, near: Fraction | None, far: Fraction | None, step: Fraction, measure: str, inward: Fraction
    ) -> ErrorPoint:
        if near is None or far is None:
            return ErrorPoint(x, None, None, None, None)
        chance = self._chance(x) if near != far else Fraction(0)
        ends = sorted((near, far))
        mean = (1 - chance) * near + chance * far
        number = self._number(x)
        least, greatest, expected = (
            self._scaled(result - number, x, step, measure, inward) for result in (*ends, mean)
        )
        unit = self._scaled(far - near, x, step, measure, inward) if near != far else Fraction(0)
        variance = None if unit is None else unit**2 * chance * (1 - chance)
        return ErrorPoint(x, least, greatest, expected, variance)

    def _chance(self, x: Fraction) -> Fraction:
        """Return the probability of the result farther from zero."""
        rounding = self.rules.rounding
        if rounding is None or not x:
            return Fraction(0)
        return Fraction(lots_for_upper(place_of(abs(x), self.format).fraction, rounding), 2**rounding.random_bits)

    def _points_of(self, piece: ErrorPiece, measure: str) -> Iterator[ErrorPoint]:
        ends = sorted((abs(piece.low), abs(piece.high)))
        parts = 1 if piece.near == piece.far else _INSIDE
        if ends[1] > _NARROW * ends[0]:  # a relative error, or a scale by powers, is curved here
            parts = _INSIDE if ends[1] < _WIDE * ends[0] else _INSIDE_OF_WIDE
        width = piece.high - piece.low
        for part in range(parts + 1):
            x = piece.low + width * part / parts
            inward = Fraction(-1 if part == parts else 1)
            yield self._point(x, piece.near, piece.far, piece.ulp, measure, inward)

    def _extremes(self, cell: tuple[ErrorPiece, ...], measure: str) -> ErrorPoint:
        points = [point for piece in cell for point in self._points_of(piece, measure)]
        middle = (cell[0].low + cell[-1].high) / 2
        least = [point.least for point in points if point.least is not None]
        greatest = [point.greatest for point in points if point.greatest is not None]
        if len(least) < len(points) or len(greatest) < len(points):
            return ErrorPoint(middle, None, None, None, None)
        mean, variance = self.at(middle, measure)[3:]
        return ErrorPoint(middle, min(least), max(greatest), mean, variance)


def _check_measure(measure: str) -> None:
    if measure not in MEASURES:
        raise ValueError(f"`measure` must be one of {', '.join(MEASURES)}; got {measure!r}")


def error_curve(
    fmt: object,
    low: object,
    high: object,
    /,
    *,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    most: int = 240,
) -> ErrorCurve:
    """Return the exact error of rounding numbers from `low` to `high` to a format.

    Between a value and the midpoint next to it all numbers have the same result, so that a few pieces hold the error of
    every real number. Of a stochastic rounding the pieces have two results, and the points the expected error.

    Parameters
    ----------
    fmt : str, int, dtype or Format
        A float, integer or bool format.
    low, high : str, int, float, Fraction or scalar
        Finite numbers, the first one the smaller.
    saturate, round_mode, opset, rounding, overflow, random_bits
        As in `lowprec.cast`; the chance of a stochastic rounding needs no seed.
    most : int
        Cells, from one value to the next, of which all are computed. Of more, each binade has some: the first three,
        the last two and some between; of more than ``most / 6`` binades, the first and last two and some between.

    Returns
    -------
    ErrorCurve
        The pieces, with points to draw, the error at a number, and the largest error.

    Raises
    ------
    ValueError
        If `low` is not below `high`, or a parameter is out of its range.

    Notes
    -----
    Saturated numbers have their error; NaN and Inf have none. Source: the rules are those of `lowprec.explain`; the
    chances those of IEEE P3109 4.0, 4.7.4.

    Examples
    --------
    >>> curve = error_curve("float8_e4m3fn", 1, 2)
    >>> curve.largest("relative")
    LargestError(error=Fraction(1, 17), x=Fraction(17, 16), side='at')
    >>> [(str(point.x), str(point.mean)) for point in curve.points()[:4]]
    [('1', '0'), ('17/16', '-1/16'), ('17/16', '1/16'), ('9/8', '0')]
    >>> by_chance = error_curve("float8_e4m3fn", 1, 2, rounding="stochastic").at("1.03125")
    >>> str(by_chance.least), str(by_chance.greatest), str(by_chance.mean)
    ('-1/32', '3/32', '0')
    """
    row, ends = as_format(fmt), []
    for name, number in (("low", low), ("high", high)):
        value = Value.of(number, parameter=name)
        if value.special:
            raise ValueError(f"`{name}` must be a finite number; got {value}")
        ends.append(value.number)
    start, end = ends
    if start >= end:
        raise ValueError(f"`high` must be greater than `low`; got {end} and {start}")
    if most < 1:
        raise ValueError(f"`most` must be positive; got {most}")
    if not (isinstance(rounding, str) and rounding in STOCHASTIC):
        check_stream(rounding, None, random_bits, FIRST)
    rules = rules_for(row, "fmt", saturate, round_mode, opset, RoundingOptions(rounding, overflow, None, random_bits))
    cells: list[tuple[ErrorPiece, ...]] = []
    is_complete = True
    for negative in (True, False):
        first, last = (max(-end, Fraction(0)), -start) if negative else (max(start, Fraction(0)), end)
        if first >= last:
            continue
        side = Side(row, rules, negative)
        numbers, complete = side.cells(first, last, most)
        found = [pieces for cell in numbers if (pieces := side.pieces(*cell, first, last))]
        is_complete &= complete
        cells += [tuple(reversed(pieces)) for pieces in reversed(found)] if negative else found
    return ErrorCurve(row, start, end, rules, tuple(cells), is_complete)
