"""Sums and dot products in a format: their terms; the sum, in float32 too and exact; other orders; many runs."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, islice
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format, reference, teaching
from lowprec.reference.values import Value, decode
from lowprec.spec.formats import FLOAT32
from lowprec.spec.rounding_modes import STOCHASTIC
from lowprec.teaching.accumulation import METHODS, Accumulation, Step

from ...shared.cast_options import overflow_of
from ...shared.numbers import apart, short
from ...shared.ranges import minus
from .lens import Lens, lens_of

__all__ = [
    "FACTORS",
    "MOST_RUNS",
    "MOST_TERMS",
    "MOST_TYPED",
    "PRODUCTS",
    "TERMS",
    "Curve",
    "Order",
    "Settings",
    "Shown",
    "Spread",
    "Sum",
    "chosen_step",
    "shown_step",
    "shown_steps",
    "terms_text",
    "raw_factors",
    "raw_numbers",
    "raw_terms",
    "rows_to_show",
    "summed",
]

TERMS = ("ones", "value", "count", "normal", "big and small", "typed")
"""Where the terms come from: n ones; n times a value; 1 to n; samples; a value, 1, minus the value, 1; a list."""

FACTORS = ("none", "value", "terms", "normal", "typed")
"""By what the terms of a dot product are multiplied; terms: by themselves."""

PRODUCTS = ("exact", "terms", "accumulator")
"""To which format products are rounded."""

MOST_TERMS, MOST_RUNS, MOST_TYPED = 4096, 256, 256
_MOST_POINTS = 200
_MOST_PLACES = 65
"""Steps that a reader can drag to."""

_BAND = (0.05, 0.95)
_LONG = 8

Numbers = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """All that a sum depends on; `fmt` is the format of the accumulator, `source` that of terms and factors.

    `by` and `factors` belong to the choices value and typed of `factor`.
    """

    source: Format
    fmt: Format
    terms: str = "ones"
    n: int = MOST_TERMS
    value: str = "0.1"
    typed: str = "1"
    sample: int = 0
    factor: str = "none"
    by: str = "0.5"
    factors: str = "1"
    product: str = "exact"
    method: str = "sequential"
    rounding: str = "nearest_even"
    overflow: str = "default"
    seed: int = 0
    runs: int = 32

    @property
    def product_format(self) -> Format | None:
        """The format to which products are rounded, None where they are exact or there are none."""
        formats = {"terms": self.source, "accumulator": self.fmt}
        return None if self.factor == "none" else formats.get(self.product)

    @property
    def is_stochastic(self) -> bool:
        """Whether the sum itself takes random numbers."""
        return self.rounding in STOCHASTIC

    @property
    def run_rounding(self) -> str:
        """The stochastic rounding of the runs: that of the sum where it is one."""
        return self.rounding if self.is_stochastic else STOCHASTIC[0]


@dataclass(frozen=True, slots=True)
class Order:
    """What another order of the same terms gives."""

    method: str
    sum: Value
    error: Fraction | None
    ulps: Fraction | None


@dataclass(frozen=True, slots=True)
class Spread:
    """The results of many stochastic runs; `bias` is their mean less the exact sum."""

    count: int
    rounding: str
    mean: float
    deviation: float
    least: float
    greatest: float
    standard_error: float
    bias: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The running sum after some steps, by series; None where it is no number. The band is that of the runs."""

    steps: tuple[int, ...]
    series: dict[str, tuple[float | None, ...]]
    band: tuple[tuple[float | None, ...], tuple[float | None, ...]] | None


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum in a format, in float32 one term after the other, in other orders, and by many stochastic runs.

    `why_no_runs` says why there are none. `changed` counts the terms and factors that their format changed. There is
    no curve where there is no running sum.
    """

    settings: Settings
    found: Accumulation
    single: Accumulation
    orders: tuple[Order, ...]
    spread: Spread | None
    why_no_runs: str
    changed: int
    curve: Curve | None

    @property
    def stalls_at(self) -> int | None:
        """The step from which the sum stays as it is, where that goes on for long enough to be no accident."""
        at = self.found.stalls_at
        return None if at is None or self.found.length - at < _LONG else at

    @property
    def first_unchanged(self) -> int | None:
        """The first step that added a number other than zero and left the sum as it was."""
        return next(iter(self.found.unchanged), None)


def raw_numbers(
    kind: str, n: int, value: str, typed: str, sample: int, names: tuple[str, str] = ("value", "typed")
) -> Numbers:
    """Return terms or factors before they are rounded to their format; ValueError where a text is no number.

    `names` are those of the two texts in a message.
    """
    if kind == "normal":
        return list(np.random.default_rng(sample).standard_normal(n).tolist())
    if kind == "count":
        return range(1, n + 1)
    if kind == "typed":
        texts = re.split(r"[\s,;]+", typed.strip(" \t\r\n,;"))
        if len(texts) > MOST_TYPED:
            raise ValueError(f"`{names[1]}` must be at most {MOST_TYPED} numbers; got {len(texts)}")
        return [Value.of(text, parameter=names[1]) for text in texts]
    one = Value.of(1)
    if kind == "ones":
        return [one] * n
    number = Value.of(value, parameter=names[0])
    if kind == "value":
        return [number] * n
    minus = Value(number.magnitude, not number.negative, number.special)
    return [(number, one, minus, one)[place % 4] for place in range(n)]


def raw_terms(settings: Settings) -> Numbers:
    """Return the terms before they are rounded to their format."""
    return raw_numbers(settings.terms, settings.n, settings.value, settings.typed, settings.sample)


def raw_factors(settings: Settings, count: int) -> Numbers:
    """Return so many factors before they are rounded; a list is repeated where the terms are none."""
    names = ("by", "factors")
    found = raw_numbers(settings.factor, count, settings.by, settings.factors, settings.sample + 1, names)
    if len(found) != count and settings.terms == "typed":
        raise ValueError(f"`factors` must be as many as the terms, {count}; got {len(found)}")
    return list(islice(cycle(found), count))


def _stored(numbers: Numbers, fmt: Format) -> tuple[list[Value], int]:
    """Return numbers as Cast rounds them to a format, and how many it changes."""
    if isinstance(numbers[0], (int, float)):
        array = np.array(numbers, np.float64)
        encoded = lp.encode(array, fmt)
        codes, changed = encoded.tolist(), int(np.count_nonzero(lp.decode(encoded, fmt) != array))
    else:
        known = {number: reference.encode(number, fmt) for number in dict.fromkeys(numbers)}
        codes = [known[number] for number in numbers]
        changed = sum(decode(code, fmt) != number for code, number in zip(codes, numbers, strict=True))
    values = {code: decode(code, fmt) for code in dict.fromkeys(codes)}
    return [values[code] for code in codes], changed


@functools.lru_cache(maxsize=8)
def summed(settings: Settings) -> Sum:
    """Return a sum and all that it is compared with; ValueError where a text is no number or lists differ in length."""
    terms, changed = _stored(raw_terms(settings), settings.source)
    factors = None
    if settings.factor == "terms":
        factors = terms
    elif settings.factor != "none":
        factors, more = _stored(raw_factors(settings, len(terms)), settings.source)
        changed += more
    rules: dict[str, Any] = {"rounding": settings.rounding, "overflow": overflow_of(settings.fmt, settings.overflow)}
    if settings.is_stochastic:
        rules["seed"] = settings.seed
    products = teaching.accumulate(
        terms, settings.fmt, factors=factors, product=settings.product_format, method="sequential", **rules
    )
    exact_terms = products.terms
    every = {
        method: products
        if method == "sequential"
        else teaching.accumulate(exact_terms, settings.fmt, method=method, **rules)
        for method in METHODS
    }
    found = every[settings.method]
    single = teaching.accumulate(exact_terms, FLOAT32)
    orders = tuple(Order(method, one.sum, one.error, one.error_in_ulp) for method, one in every.items())
    runs, why = _runs(settings, exact_terms, rules["overflow"])
    spread = None
    if runs is not None:
        ends = float(runs.last.min()), float(runs.last.max())
        bias = runs.bias(found.exact)
        spread = Spread(
            len(runs.seeds), settings.run_rounding, runs.mean, runs.deviation, *ends, runs.standard_error, bias
        )
    curve = None if settings.method == "pairwise" else _curve(found, single, runs)
    return Sum(settings, found, single, orders, spread, why, changed, curve)


def _runs(settings: Settings, terms: Sequence[Value], overflow: str) -> tuple[Any, str]:
    if not settings.runs:
        return None, ""
    seeds = range(settings.seed, settings.seed + settings.runs)
    rules: dict[str, Any] = {"rounding": settings.run_rounding, "overflow": overflow}
    try:
        found = teaching.accumulate_runs(terms, settings.fmt, seeds, method=settings.method, **rules)
    except ValueError as error:
        return None, f"No stochastic runs: {error}."
    return found, ""


def _curve(found: Accumulation, single: Accumulation, runs: Any) -> Curve:
    count = found.length
    gap = max(1, math.ceil(count / _MOST_POINTS))
    steps = tuple(sorted({*range(1, count + 1, gap), count}))
    in_order = found.terms == single.terms
    sums = {found.format.name: found.sums_after(steps), "exact": found.exact_after(steps)}
    if in_order and found.format is not FLOAT32:
        sums[FLOAT32.name] = single.sums_after(steps)
    series = {name: tuple(map(_as_float, values)) for name, values in sums.items()}
    if runs is None:
        return Curve(steps, series, None)
    series["mean of the runs"] = tuple(map(_finite, runs.mean_at(steps).tolist()))
    low, high = (tuple(map(_finite, runs.quantile_at(end, steps).tolist())) for end in _BAND)
    return Curve(steps, series, (low, high))


def _as_float(value: Value) -> float | None:
    try:
        return _finite(float(value))
    except OverflowError:  # beyond float64
        return None


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def chosen_step(result: Sum, asked: int) -> int:
    """Return the step to look at: the one asked for, at most the last; for 0 the one where swamping begins.

    That is the step from which the sum stays as it is, else the first one that left it so, else the last.
    """
    if asked:
        return min(asked, result.found.length)
    return result.stalls_at or result.first_unchanged or result.found.length


@dataclass(frozen=True, slots=True)
class Shown:
    """A step of a picture: its number, the sum as a formula, the sum after it, and the exact sum between two values."""

    index: int
    formula: str
    sum: str
    rule: str
    height: float | None
    lens: Lens | None


def shown_step(found: Accumulation, index: int) -> Shown:
    """Return a step as a picture shows it."""
    step, why = found.step(index), found.explanation(index)
    before, after = (minus(apart(value, found.format)) for value in (step.before, step.sum))
    added, exact = minus(short(step.added, 12, 6)), minus(short(step.exact, 14, 8))
    formula = f"{before} {'− ' + added[1:] if added.startswith('−') else '+ ' + added} = {exact}"
    return Shown(index, formula, after, why.rule, _as_float(step.sum), lens_of(why))


@functools.lru_cache(maxsize=4)
def shown_steps(settings: Settings) -> tuple[Shown, ...]:
    """Return evenly spread steps, from the first to the last; none of a sum by pairs, which has no running sum."""
    found = summed(settings).found
    count = min(found.length, _MOST_PLACES)
    if found.method == "pairwise" or count < 2:
        return ()
    steps = (1 + round((found.length - 1) * place / (count - 1)) for place in range(count))
    return tuple(shown_step(found, index) for index in steps)


def terms_text(settings: Settings, count: int) -> str:
    """Return in words what is added."""
    texts = {
        "ones": f"{count} ones",
        "value": f"{count} times {minus(settings.value[:20])}",
        "count": f"1 + 2 + … + {count}",
        "normal": f"{count} normal samples",
        "big and small": f"{minus(settings.value[:20])}, 1, its negative, 1, … ({count} terms)",
        "typed": f"a list of {count}",
    }
    factors = {"none": "", "value": f" times {minus(settings.by[:20])}", "terms": ", squared"}
    return texts[settings.terms] + factors.get(settings.factor, ", by factors")


def rows_to_show(found: Accumulation, at: int) -> tuple[Step | None, ...]:
    """Return the first steps, those around one, and the last ones; None for steps that are left out."""
    around = {at - 1, at, at + 1}
    wanted = sorted({1, 2, 3, *around, found.length - 1, found.length} & set(range(1, found.length + 1)))
    rows: list[Step | None] = []
    for index in wanted:
        if rows and rows[-1] is not None and rows[-1].index < index - 1:
            rows.append(None)
        rows.append(found.step(index))
    return tuple(rows)
