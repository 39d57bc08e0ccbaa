"""Sums and dot products accumulated in a format: one rounding for each addition, every step to look at."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..reference.exact_cast import ulp
from ..reference.exact_values import Value, decode
from ..reference.explanation import Explanation, explain
from ..reference.philox import random_words
from ..reference.rounding import decide_by
from ..spec.formats import Format, as_format
from ..spec.option_names import OverflowName, RoundingName
from ..spec.rounding_rules import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    Rounding,
    RoundingOptions,
    Stream,
    check_rounding,
    check_stream,
)
from .arithmetic import exact_product, exact_sum, rounded_as
from .integer_sums import Adder, Number

__all__ = ["METHODS", "Accumulation", "Step", "Terms", "accumulate", "ordered", "places_of", "terms_of"]

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
