"""Sums and dot products in a format, step by step, and many runs with random numbers."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..explanation import Explanation, explain
from ..reference.exact_cast import decide_by, ulp
from ..reference.philox import random_words
from ..reference.values import Value, decode, finite_count, magnitude_of, signed_code
from ..spec.formats import Format, as_format
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    STOCHASTIC,
    OverflowName,
    Rounding,
    RoundingName,
    RoundingOptions,
    Stream,
    check_rounding,
    check_stream,
)
from .arithmetic import exact_product, exact_sum, rounded_as

__all__ = ["Accumulation", "METHODS", "Step", "accumulate", "accumulate_runs"]


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


METHODS = ("sequential", "reversed", "ascending", "descending", "pairwise", "compensated")
"""In which order terms are added; ascending and descending are by magnitude, compensated is Kahan's algorithm."""

Terms = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One addition: `exact` is `before` plus `added`, `sum` what it was rounded to.

    `index` counts from 1. `lost` is the exact sum less the rounded one, None where one of them is no number.
    """

    index: int
    before: Value
    added: Value
    exact: Value
    sum: Value
    lost: Fraction | None


@dataclass(frozen=True, slots=True, repr=False)
class Accumulation:
    """A sum in a format, step by step.

    `terms` are the exact terms in the order in which they were added, `exact` is their exact sum: Inf or NaN where one
    of them is.
    """

    format: Format
    method: str
    rounding: Rounding
    stream: Stream | None
    terms: Terms
    exact: Value
    _adder: Adder
    _steps: Sequence[tuple[Number, Number, Number]]  # before, added, sum

    def __repr__(self) -> str:
        return f"<Accumulation in {self.format.name}, {self.method}, {len(self.terms)} terms: {self.sum}>"

    @property
    def length(self) -> int:
        """How many steps there are; to add n terms in pairs takes n - 1."""
        return len(self._steps)

    @property
    def sum(self) -> Value:
        """The sum after the last step."""
        return self._adder.value(self._steps[-1][2])

    def exact_after(self, steps: Sequence[int]) -> tuple[Value, ...]:
        """Return the exact sums of the first terms, for some counts of them."""
        if any(value.special for value in self.terms):
            sums = list(itertools.accumulate(self.terms, lambda a, b: exact_sum(a, b, "nearest_even")[0]))
            return tuple(sums[step - 1] for step in steps)
        whole = list(itertools.accumulate(map(self._adder.whole, self.terms)))
        return tuple(self._adder.value(whole[step - 1]) for step in steps)

    @property
    def error(self) -> Fraction | None:
        """The sum less the exact one; None where one of them is no number."""
        exact, found = self.exact, self.sum
        return None if exact.special or found.special else found.number - exact.number

    @property
    def error_in_ulp(self) -> Fraction | None:
        """The error in units of the last place that the format has at the exact sum."""
        error = self.error
        return None if error is None else error / ulp(self.exact, self.format)

    def explanation(self, index: int) -> Explanation:
        """Return why the exact sum of a step became the rounded one."""
        place, rules = self.place(index), self.rounding
        exact = rounded_as(self.step(index).exact, self.format)
        given: dict[str, Any] = {"rounding": rules.mode, "overflow": rules.overflow}
        if place is not None:
            given |= {"seed": place.seed, "offset": place.offset, "random_bits": rules.random_bits}
        return explain(exact, self.format, **given)

    def step(self, index: int) -> Step:
        """Return a step by its number, from 1 to `length`."""
        before, added, total = map(self._adder.value, self._steps[index - 1])
        exact = added if before is _NOTHING else exact_sum(before, added, self.rounding.mode)[0]
        lost = None if exact.special or total.special else exact.number - total.number
        return Step(index, Value(Fraction(0)) if before is _NOTHING else before, added, exact, total, lost)

    def steps(self) -> Iterator[Step]:
        """Yield every step."""
        return map(self.step, range(1, self.length + 1))

    def sums(self) -> Iterator[Value]:
        """Yield the sum after each step."""
        return (self._adder.value(total) for _, _, total in self._steps)

    def sums_after(self, steps: Sequence[int]) -> tuple[Value, ...]:
        """Return the sums after some steps."""
        return tuple(self._adder.value(self._steps[step - 1][2]) for step in steps)

    def place(self, index: int) -> Stream | None:
        """Return the place of a step's random number in the stream; None where the rounding takes none."""
        if self.stream is None:
            return None
        place = 4 * (index - 1) + 1 if self.method == "compensated" else index - 1
        return Stream(self.stream.seed, self.stream.offset + place)

    @property
    def unchanged(self) -> tuple[int, ...]:
        """The steps that added a number other than zero and left the sum as it was.

        By pairs, those that added two such numbers and gave one of them.
        """
        pairs = self.method == "pairwise"
        return tuple(
            index
            for index, (before, added, total) in enumerate(self._steps, 1)
            if isinstance(added, int) and (total == before or (pairs and isinstance(before, int) and total == added))
        )

    @property
    def stalls_at(self) -> int | None:
        """The first step from which the sum stays as it is though numbers are added; None where the last changes it.

        None too for a sum by pairs, which has no running sum, and for a compensated one, which keeps what it lost.
        """
        if self.method in ("pairwise", "compensated"):
            return None
        first = None
        for index in range(self.length, 0, -1):
            before, added, total = self._steps[index - 1]
            if total != before:
                break
            if isinstance(added, int):
                first = index
        return first


_NOTHING = Value(Fraction(0), False, "")
"""What the first step adds to: nothing, not even a zero, so that a term of -0 stays -0."""


def places_of(method: str, count: int) -> int:
    """Return how many random numbers a sum takes: one for each rounding."""
    return 4 * count if method == "compensated" else max(count - 1, 1) if method == "pairwise" else count


def terms_of(terms: Any, factors: Any = None, product: object = None) -> Terms:
    """Return the exact terms of a sum, or the products of a dot product, rounded to a format if one is given."""
    values = tuple(x if isinstance(x, Value) else Value.of(x, parameter="terms") for x in terms)
    if not values:
        raise ValueError("`terms` must be one number or more; got none")
    if factors is None:
        if product is not None:
            raise ValueError("`product` must be None where `factors` is None")
    else:
        others = tuple(x if isinstance(x, Value) else Value.of(x, parameter="factors") for x in factors)
        if len(others) != len(values):
            raise ValueError(f"`factors` must be as many as the terms, {len(values)}; got {len(others)}")
        values = tuple(_products(zip(values, others, strict=True), product))
    for value in values:
        if value.magnitude.denominator & (value.magnitude.denominator - 1):
            raise ValueError(f"`terms` must be multiples of a power of two, as values of formats are; got {value}")
    return values


def _products(pairs: Iterable[tuple[Value, Value]], product: object) -> Iterator[Value]:
    row = None if product is None else as_format(product, parameter="product")
    rules = None if row is None else check_rounding(RoundingOptions("nearest_even"), row, "product")
    known: dict[tuple[Value, Value], Value] = {}
    for pair in pairs:
        if pair not in known:
            exact = exact_product(*pair)[0]
            if row is not None and rules is not None:
                exact = decode(decide_by(rounded_as(exact, row), row, rules)[0], row)
            known[pair] = exact
        yield known[pair]


def ordered(terms: Terms, method: str) -> Terms:
    """Return terms in the order in which a method adds them; Inf counts as large, NaN as larger."""
    if method == "reversed":
        return terms[::-1]
    if method in ("ascending", "descending"):
        specials = ("", "inf", "nan")
        found = sorted(terms, key=lambda value: (specials.index(value.special), value.magnitude))
        return tuple(found if method == "ascending" else found[::-1])
    return terms


def _in_order(adder: Adder, numbers: list[Number], random: list[int]) -> Iterator[tuple[Number, Number, Number]]:
    total = adder.rounded(numbers[0], random[0])
    yield _NOTHING, numbers[0], total
    for number, chance in zip(numbers[1:], random[1:], strict=True):
        before, total = total, adder.add(total, number, chance)
        yield before, number, total


def _in_pairs(adder: Adder, numbers: list[Number], random: list[int]) -> Iterator[tuple[Number, Number, Number]]:
    chances = iter(random)
    if len(numbers) == 1:
        yield _NOTHING, numbers[0], adder.rounded(numbers[0], next(chances))
    while len(numbers) > 1:
        found = []
        for a, b in zip(numbers[::2], numbers[1::2], strict=False):
            total = adder.add(a, b, next(chances))
            yield a, b, total
            found.append(total)
        numbers = found + numbers[len(numbers) & ~1 :]


def _compensated(adder: Adder, numbers: list[Number], random: list[int]) -> Iterator[tuple[Number, Number, Number]]:
    error: Number = _NOTHING
    total: Number = _NOTHING
    for place, number in enumerate(numbers):
        first, second, third, fourth = random[4 * place : 4 * place + 4]
        added = adder.rounded(number, first) if error is _NOTHING else adder.add(number, adder.negated(error), first)
        before = total
        total = adder.rounded(added, second) if before is _NOTHING else adder.add(before, added, second)
        yield before, added, total
        grown = adder.rounded(total, third) if before is _NOTHING else adder.add(total, adder.negated(before), third)
        error = adder.add(grown, adder.negated(added), fourth)


def accumulate(
    terms: Any,
    fmt: object,
    /,
    *,
    factors: Any = None,
    product: object = None,
    method: str = "sequential",
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
) -> Accumulation:
    """Return a sum, or a dot product, accumulated in a float format: one rounding for each addition.

    Parameters
    ----------
    terms : sequence
        What `Value.of` takes. They are taken exactly, and need not be values of the format: round them first where
        the inputs are stored in a format (`lowprec.cast`).
    fmt : str, int, dtype or Format
        The float format of the accumulator.
    factors : sequence, optional
        As many numbers: the sum is then that of the products.
    product : str, int, dtype or Format, optional
        The format to which each product is rounded, to the nearest, ties to even; without it products are exact, as
        in a fused multiply-add.
    method : str
        One of `METHODS`: ``"sequential"``; ``"reversed"``, from the last term to the first; ``"ascending"`` and
        ``"descending"``, by magnitude; ``"pairwise"``, neighbours first, then their sums, where the last of an odd
        number waits for the next round; ``"compensated"``, Kahan's algorithm with four roundings for each term.
    rounding, overflow, seed, random_bits, offset
        As in `lowprec.cast`, for every rounding of the sum; without `rounding` to the nearest, ties to even. Rounding
        n of the sum takes the random number at place ``offset + n`` of the seed's stream.

    Returns
    -------
    Accumulation
        The sum, the exact sum, and every step.

    Raises
    ------
    ValueError
        If a term is no number, or no multiple of a power of two (1/3), if lengths differ, `fmt` is no float, or a
        parameter is out of its range.

    Notes
    -----
    The first step rounds the first term. Special values are those of `operate`. Source: Kahan, Further Remarks on
    Reducing Truncation Errors (1965); Higham, The Accuracy of Floating Point Summation (1993).

    Examples
    --------
    >>> ones = accumulate([1] * 4096, "bfloat16")
    >>> ones
    <Accumulation in bfloat16, sequential, 4096 terms: 256>
    >>> ones.stalls_at, str(ones.step(257).exact), str(ones.step(257).sum), str(ones.exact)
    (257, '257', '256', '4096')
    >>> accumulate([1] * 4096, "bfloat16", method="pairwise").sum == ones.exact
    True
    >>> accumulate([1, 2, 3], "float8_e4m3fn", factors=["0.5", 2, 3], product="float4_e2m1fn")
    <Accumulation in float8_e4m3fn, sequential, 3 terms: 10>
    """
    row = as_format(fmt)
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}; got {method!r:.60}")
    stream = check_stream(rounding, seed, random_bits, offset)
    rules = check_rounding(RoundingOptions(rounding or "nearest_even", overflow, None, random_bits), row, "fmt")
    values = ordered(terms_of(terms, factors, product), method)
    adder, count = Adder(row, rules, values), places_of(method, len(values))
    random = [0] * count
    if stream is not None:
        random = random_words(stream.seed, stream.offset, count, rules.random_bits).tolist()
    numbers = [adder.number(value) for value in values]
    how = {"pairwise": _in_pairs, "compensated": _compensated}.get(method, _in_order)
    exact = adder.value(sum(map(adder.whole, values)))
    if any(value.special for value in values):
        exact = functools.reduce(lambda a, b: exact_sum(a, b, "nearest_even")[0], values)
    return Accumulation(row, method, rules, stream, values, exact, adder, tuple(how(adder, numbers, random)))


Array = np.ndarray[Any, Any]
_BITS = 52  # of float64's mantissa


@dataclass(frozen=True, slots=True, repr=False)
class Runs:
    """The sums of all steps, a row for each seed, as float64; statistics are computed in float64."""

    format: Format
    seeds: tuple[int, ...]
    sums: Array

    @property
    def last(self) -> Array:
        """The result of each run."""
        return self.sums[:, -1]

    @property
    def mean(self) -> float:
        """The mean of the results."""
        with np.errstate(all="ignore"):  # of Inf
            return float(self.last.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of the results, with one degree of freedom less than runs; 0 for one run."""
        with np.errstate(all="ignore"):
            return float(self.last.std(ddof=1)) if len(self.seeds) > 1 else 0.0

    @property
    def standard_error(self) -> float:
        """The standard error of the mean: the standard deviation over the root of the number of runs."""
        return self.deviation / math.sqrt(len(self.seeds))

    def bias(self, exact: Value) -> float:
        """Return how far the mean lies above an exact sum."""
        try:
            return self.mean - float(exact)
        except OverflowError:  # beyond float64
            return math.inf if exact.negative else -math.inf

    def mean_at(self, steps: Sequence[int]) -> Array:
        """Return the mean of the runs after some steps, which count from 1."""
        with np.errstate(all="ignore"):
            return np.asarray(self.sums[:, np.asarray(steps) - 1].mean(axis=0))

    def quantile_at(self, quantile: float, steps: Sequence[int]) -> Array:
        """Return a quantile of the runs after some steps, from 0, the least, to 1, the greatest."""
        return np.asarray(np.quantile(self.sums[:, np.asarray(steps) - 1], quantile, axis=0, method="nearest"))


@functools.lru_cache(maxsize=256)
def _outcome(value: Value, fmt: Format, rounding: Rounding) -> float:
    """Return what stands for a value that no random number decides."""
    return float(decode(decide_by(value, fmt, rounding, 0)[0], fmt))


class _Rounder:
    """Rounds float64 arrays to a format, each element by a threshold of its own."""

    def __init__(self, fmt: Format, rounding: Rounding) -> None:
        self.fmt, self.rounding = fmt, rounding
        self.least = 1 - fmt.bias if fmt.has_zero else -(1 << 16)  # the exponent of the subnormals
        self.largest = float(magnitude_of(finite_count(fmt) - 1, fmt))
        self.smallest = 0.0 if fmt.has_zero else float(magnitude_of(0, fmt))
        self.has_negative_zero = signed_code(0, True, fmt) != 0

    def thresholds(self, random: Array) -> Array:
        """Return from which fraction of a step on numbers go away from zero; a fraction of 0 never does."""
        lots = np.float64(2**self.rounding.random_bits)
        wanted = lots - random.astype(np.float64)
        if self.rounding.mode == "stochastic_a":
            return np.asarray(wanted / lots)
        found = (wanted - 0.5) / lots
        if self.rounding.mode == "stochastic_c":  # a fraction half-way to an odd number of lots goes to the even one
            found = np.where(wanted % 2 == 1, np.nextafter(found, 2.0), found)
        return np.asarray(found)

    def add(self, a: Array, b: Array, thresholds: Array) -> Array:
        total = a + b
        part = total - a
        error = (a - (total - part)) + (b - part)
        if error.any():
            total = _to_odd(total, error)
        return self.rounded(total, thresholds)

    def rounded(self, x: Array, thresholds: Array) -> Array:
        exponent = np.maximum(np.frexp(x)[1] - 1, self.least) - self.fmt.mantissa_bits
        steps = np.abs(np.ldexp(x, -exponent))
        whole = np.floor(steps)
        size = np.ldexp(whole + (steps - whole >= thresholds), exponent)
        found = np.copysign(size, x) if self.has_negative_zero else np.copysign(size, x) + 0.0
        inside = (size <= self.largest) & (size >= self.smallest)
        if not self.fmt.signed:
            inside &= (x >= 0) | ((size == 0) & self.fmt.has_zero)
        return found if inside.all() else self._with_ends(found, x, inside)

    def _with_ends(self, found: Array, x: Array, inside: Array) -> Array:
        """Return what stands for sums out of the range, Inf and NaN."""
        far, found = 4 * magnitude_of(finite_count(self.fmt), self.fmt), found.copy()
        negative, infinite, nan = x < 0, np.isinf(x), np.isnan(x)
        if not self.fmt.has_zero:
            below = ~nan & (found < self.smallest)
            found[below] = _outcome(Value(Fraction(0)), self.fmt, self.rounding)
            inside = inside | below
        for sign in (False, True):
            here = ~inside & ~nan & (negative == sign)
            if here.any():
                found[here & infinite] = _outcome(Value(Fraction(0), sign, "inf"), self.fmt, self.rounding)
                found[here & ~infinite] = _outcome(Value(far, sign), self.fmt, self.rounding)
        found[nan] = _outcome(Value(Fraction(0), False, "nan"), self.fmt, self.rounding)
        return found


def _to_odd(total: Array, error: Array) -> Array:
    """Return sums that lost `error` with an odd last bit: those between which the exact sum lies, the odd one."""
    is_even = (total.view(np.int64) & 1) == 0
    moved = np.nextafter(total, np.copysign(np.inf, error))
    return np.where(np.isfinite(total) & (error != 0) & ~np.isnan(error) & is_even, moved, total)


def _runs_in_order(rounder: _Rounder, terms: Array, thresholds: Array) -> Iterator[Array]:
    total = rounder.rounded(np.full(thresholds.shape[1], terms[0]), thresholds[0])
    yield total
    for term, chance in zip(terms[1:], thresholds[1:], strict=True):
        total = rounder.add(total, term, chance)
        yield total


def _runs_in_pairs(rounder: _Rounder, terms: Array, thresholds: Array) -> Iterator[Array]:
    numbers = np.tile(terms[:, None], (1, thresholds.shape[1]))
    if len(numbers) == 1:
        yield rounder.rounded(numbers[0], thresholds[0])
    while len(numbers) > 1:
        count = len(numbers) // 2
        found = rounder.add(numbers[: 2 * count : 2], numbers[1 : 2 * count : 2], thresholds[:count])
        yield from found
        numbers, thresholds = np.concatenate([found, numbers[2 * count :]]), thresholds[count:]


def _runs_compensated(rounder: _Rounder, terms: Array, thresholds: Array) -> Iterator[Array]:
    total = error = None
    for place, term in enumerate(terms):
        first, second, third, fourth = thresholds[4 * place : 4 * place + 4]
        if total is None or error is None:
            added = rounder.rounded(np.full(first.shape, term), first)
            before, total = None, rounder.rounded(added, second)
            grown = rounder.rounded(total, third)
        else:
            added = rounder.add(np.full(first.shape, term), -error, first)
            before, total = total, rounder.add(total, added, second)
            grown = rounder.add(total, -before, third)
        yield total
        error = rounder.add(grown, -added, fourth)


def accumulate_runs(
    terms: Any,
    fmt: object,
    seeds: Sequence[int],
    /,
    *,
    factors: Any = None,
    product: object = None,
    method: str = "sequential",
    rounding: RoundingName = STOCHASTIC[0],
    overflow: OverflowName | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
) -> Runs:
    """Return the sums of `accumulate` by a stochastic rounding for many seeds at once.

    Parameters
    ----------
    terms, fmt, factors, product, method, overflow, random_bits
        As in `accumulate`. Terms and products must be finite and values of float64.
    seeds : sequence of int
        A run for each.
    rounding : str
        A stochastic rounding.

    Returns
    -------
    Runs
        The sum of every run after every step, with mean, standard deviation and quantiles.

    Raises
    ------
    ValueError
        Where `accumulate` does; if `rounding` is not stochastic, a term has no place in float64, or the format has too
        many bits for it: float64 itself, and float32 with more than 27 random bits.

    Examples
    --------
    >>> runs = accumulate_runs([1] * 1024, "bfloat16", range(64))
    >>> runs.sums.shape, bool(abs(runs.mean - 1024) < 3 * runs.deviation / 8)
    ((64, 1024), True)
    """
    row = as_format(fmt)
    if method not in METHODS:
        raise ValueError(f"`method` must be one of {', '.join(METHODS)}; got {method!r:.60}")
    if rounding not in STOCHASTIC:
        raise ValueError(f"`rounding` must be one of {', '.join(STOCHASTIC)}; got {rounding!r:.60}")
    rules = check_rounding(RoundingOptions(rounding, overflow, None, random_bits), row, "fmt")
    if row.mantissa_bits + rules.random_bits + 2 > _BITS:
        raise ValueError(f"`fmt` must have fewer bits for runs in float64; got {row.name} and {random_bits} of random")
    values = ordered(terms_of(terms, factors, product), method)
    numbers = np.array([_as_float64(value) for value in values])
    count = places_of(method, len(values))
    random = np.stack([random_words(seed, 0, count, rules.random_bits) for seed in seeds], axis=1)
    rounder = _Rounder(row, rules)
    how = {"pairwise": _runs_in_pairs, "compensated": _runs_compensated}.get(method, _runs_in_order)
    with np.errstate(all="ignore"):
        sums = np.stack(list(how(rounder, numbers, rounder.thresholds(random))), axis=1)
    return Runs(row, tuple(seeds), sums)


def _as_float64(value: Value) -> float:
    number = float(value) if not value.special else float("nan")
    if value.special or Fraction(abs(number)) != value.magnitude:
        raise ValueError(f"`terms` must be finite values of float64; got {value}")
    return number
