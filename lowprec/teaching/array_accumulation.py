"""Many stochastic runs of one sum at once, in NumPy's float64; each is what `accumulation` computes for its seed.

A float64 sum that is not exact is rounded to odd: its last bit then records the loss, and no threshold of a rounding
to at most 24 bits with at most 27 random bits, or to 11 bits with 32, lies between it and the exact sum.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from ..reference.exact_values import Value, decode, finite_count, magnitude_of, signed_code
from ..reference.philox import random_words
from ..reference.rounding import decide_by
from ..spec.formats import Format, as_format
from ..spec.option_names import OverflowName, RoundingName
from ..spec.rounding_rules import DEFAULT_RANDOM_BITS, STOCHASTIC, Rounding, RoundingOptions, check_rounding
from .accumulation import METHODS, ordered, places_of, terms_of

__all__ = ["Runs", "accumulate_runs"]

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


def _in_order(rounder: _Rounder, terms: Array, thresholds: Array) -> Iterator[Array]:
    total = rounder.rounded(np.full(thresholds.shape[1], terms[0]), thresholds[0])
    yield total
    for term, chance in zip(terms[1:], thresholds[1:], strict=True):
        total = rounder.add(total, term, chance)
        yield total


def _in_pairs(rounder: _Rounder, terms: Array, thresholds: Array) -> Iterator[Array]:
    numbers = np.tile(terms[:, None], (1, thresholds.shape[1]))
    if len(numbers) == 1:
        yield rounder.rounded(numbers[0], thresholds[0])
    while len(numbers) > 1:
        count = len(numbers) // 2
        found = rounder.add(numbers[: 2 * count : 2], numbers[1 : 2 * count : 2], thresholds[:count])
        yield from found
        numbers, thresholds = np.concatenate([found, numbers[2 * count :]]), thresholds[count:]


def _compensated(rounder: _Rounder, terms: Array, thresholds: Array) -> Iterator[Array]:
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
    how = {"pairwise": _in_pairs, "compensated": _compensated}.get(method, _in_order)
    with np.errstate(all="ignore"):
        sums = np.stack(list(how(rounder, numbers, rounder.thresholds(random))), axis=1)
    return Runs(row, tuple(seeds), sums)


def _as_float64(value: Value) -> float:
    number = float(value) if not value.special else float("nan")
    if value.special or Fraction(abs(number)) != value.magnitude:
        raise ValueError(f"`terms` must be finite values of float64; got {value}")
    return number
