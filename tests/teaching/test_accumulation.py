"""Sums in a format: each step is an operation in fractions; whole sums are those of scalars; many runs at once."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference, teaching
from lowprec.explorer.shared.format_names import format_named
from lowprec.spec.rounding_modes import OVERFLOWS, ROUNDINGS, STOCHASTIC
from lowprec.teaching.accumulation import METHODS

NAMES = (
    "float64", "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float6_e2m3fn",
    "float4_e2m1fn", "float8_e8m0fnu", "binary6p3ue", "binary5p2sf", "e4m0,nan=none",
)  # fmt: skip
TYPES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32}


def numbers(seed: int, count: int = 24) -> list[Any]:
    """Return numbers of many magnitudes, zeros of both signs, equal ones of opposite sign."""
    chance = np.random.default_rng(seed)
    some = chance.standard_normal(count) * np.exp2(chance.integers(-14, 8, count))
    some[::6], some[1::6] = some[2::6], -some[2::6]
    return [*some.astype(np.float32).tolist(), "-0", "0", 1, -1]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", METHODS)
def test_every_step_is_an_addition(name: str, method: str) -> None:
    fmt, terms = format_named(name), numbers(3)
    turn = NAMES.index(name) + METHODS.index(method)
    for index, rounding in enumerate(ROUNDINGS[turn % 3 :: 3]):
        rules: dict[str, Any] = {"rounding": rounding, "overflow": OVERFLOWS[(turn + index) % 3]}
        seed = 9 if rounding in STOCHASTIC else None
        found = teaching.accumulate(terms, fmt, method=method, seed=seed, **rules)
        assert found.length == (len(terms) - 1 if method == "pairwise" else len(terms))
        exact = sum(Fraction(reference.Value.of(term).number) for term in terms)
        assert found.exact.special or found.exact.number == exact
        for step in found.steps():
            if step.index == 1 and method != "pairwise":
                continue  # a rounding, not an addition
            place = found.place(step.index)
            offset = 0 if place is None else place.offset
            once = teaching.operate("add", (step.before, step.added), fmt, seed=seed, offset=offset, **rules)
            assert (once.value, once.exact, once.lost) == (step.sum, step.exact, step.lost), (rounding, step)


@pytest.mark.parametrize("name", TYPES)
def test_sums_are_those_of_scalars(name: str) -> None:
    dtype = TYPES[name]
    terms = np.array([float(str(x)) for x in numbers(5, 204)]).astype(dtype)
    for method, order in (("sequential", terms), ("reversed", terms[::-1])):
        total, sums = order[0], [float(order[0])]
        for term in order[1:]:
            total = dtype(total + term)
            sums.append(float(total))
        found = teaching.accumulate(terms, name, method=method)
        assert [float(value) for value in found.sums()] == sums
    total, error = order[0], dtype(0)  # Kahan's algorithm, as he wrote it
    for term in order[1:]:
        added = dtype(term - error)
        grown = dtype(total + added)
        error = dtype(dtype(grown - total) - added)
        total = grown
    assert float(teaching.accumulate(order, name, method="compensated").sum) == float(total)


def by_halves(terms: list[Fraction], add: Callable[[Fraction, Fraction], Fraction]) -> Fraction:
    while len(terms) > 1:
        pairs = [add(terms[place], terms[place + 1]) for place in range(0, len(terms) - 1, 2)]
        terms = pairs + ([terms[-1]] if len(terms) % 2 else [])
    return terms[0]


@pytest.mark.parametrize("count", [2, 3, 7, 8, 13])
def test_pairs(count: int) -> None:
    terms = [Fraction(x) for x in range(count, 0, -1)]

    def add(a: Fraction, b: Fraction) -> Fraction:
        return teaching.operate("add", (a, b), "float6_e2m3fn").value.number

    found = teaching.accumulate(terms, "float6_e2m3fn", method="pairwise")
    assert found.sum.number == by_halves(terms, add)


def test_orders() -> None:
    terms = ["3", "-0.5", "inf", "-8", "nan", "0.5"]
    for method, expected in (
        ("sequential", terms),
        ("reversed", terms[::-1]),
        ("ascending", ["-0.5", "0.5", "3", "-8", "inf", "nan"]),
        ("descending", ["nan", "inf", "-8", "3", "0.5", "-0.5"]),
    ):
        assert [str(term) for term in teaching.accumulate(terms, "float16", method=method).terms] == expected


def test_ones_stall_where_the_next_value_is_two_away() -> None:
    """2^(p+1) of p mantissa bits: from there the step is 2, and 1 more is a tie that goes back to the even value."""
    for name, limit in (("bfloat16", 256), ("float16", 2048), ("float8_e4m3fn", 16), ("float8_e5m2", 8)):
        ones = teaching.accumulate([1] * 4096, name)
        assert (ones.sum.number, ones.stalls_at, ones.exact.number) == (limit, limit + 1, 4096)
        assert len(ones.unchanged) == 4096 - limit
        assert ones.step(limit + 1).lost == 1
    assert teaching.accumulate([1] * 200, "bfloat16").stalls_at is None
    assert teaching.accumulate([1] * 300 + [4], "bfloat16").stalls_at is None  # the last one moves it again
    assert teaching.accumulate([1] * 4096, "bfloat16", method="compensated").sum.number == 4096


def test_products_exact_and_rounded() -> None:
    terms, factors = [1.5, "0.5"], [1.5, 3]
    assert teaching.accumulate(terms, "float16", factors=factors).sum.number == Fraction(15, 4)
    rounded = teaching.accumulate(terms, "float16", factors=factors, product="float4_e2m1fn")
    assert [str(term) for term in rounded.terms] == ["2", "1.5"]  # 2.25 lies nearer to 2 than to 3
    first = teaching.accumulate([1], "float16", factors=["0.0009765625"])
    assert first.sum.number == Fraction(1, 1024)


def test_infinity_and_nan_stay() -> None:
    found = teaching.accumulate([60000, 60000, -60000], "float16")
    assert [str(value) for value in found.sums()] == ["60000", "inf", "inf"]
    assert found.step(3).lost is None
    assert str(teaching.accumulate(["inf", 1, "-inf", 5], "float16").sum) == "nan"
    assert str(teaching.accumulate(["inf", 1, "-inf", 5], "float16").exact) == "nan"
    assert str(teaching.accumulate([240] * 5, "float8_e4m3fn").sum) == "448"


def test_signs_of_zero() -> None:
    assert str(teaching.accumulate(["-0", "-0"], "float16").sum) == "-0"
    assert str(teaching.accumulate(["-0", "0"], "float16").sum) == "0"
    assert str(teaching.accumulate([1, -1], "float16", rounding="toward_negative").sum) == "-0"


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "float64"])
@pytest.mark.parametrize("method", METHODS)
def test_runs_are_those_of_their_seeds(name: str, method: str) -> None:
    fmt = format_named(name)
    turn = NAMES.index(name) + METHODS.index(method)
    for index, rounding in enumerate(STOCHASTIC):
        rules: dict[str, Any] = {"rounding": rounding, "overflow": (None, *OVERFLOWS)[index]}
        bits, scale = ((3, 1.0), (16, 2.0**100), (27, 2.0**-20))[(turn + index) % 3]
        terms = [float(str(x)) * scale for x in numbers(index + 11)]
        runs = teaching.accumulate_runs(terms, fmt, (2, 3), method=method, random_bits=bits, **rules)
        for seed, sums in zip((2, 3), runs.sums, strict=True):
            one = teaching.accumulate(terms, fmt, method=method, seed=seed, random_bits=bits, **rules)
            expected = np.array([float(value) for value in one.sums()])
            assert np.array_equal(sums, expected, equal_nan=True)
            assert (np.signbit(sums) == np.signbit(expected))[~np.isnan(sums)].all()


def test_a_float64_sum_that_is_not_exact_is_no_problem() -> None:
    """1 + 2^-11 is where the largest of 2^3 random numbers rounds up; a little less rounds up with none of them."""
    for last, goes_up in ((Fraction(1, 2**11) - Fraction(1, 2**64), False), (Fraction(1, 2**11), True)):
        rules: dict[str, Any] = {"rounding": "stochastic_b", "random_bits": 3}
        runs = teaching.accumulate_runs([1, last], "bfloat16", range(80), **rules)
        assert float(1 + last) == 1 + 2.0**-11  # as float64 rounds it
        exact = [teaching.accumulate([1, last], "bfloat16", seed=seed, **rules).sum for seed in range(80)]
        assert runs.last.tolist() == [float(value) for value in exact]
        largest = sum(reference.random_word(seed, 1, 3) == 7 for seed in range(80))
        assert largest > 0
        assert (runs.last > 1).sum() == (largest if goes_up else 0)


def test_statistics_of_runs() -> None:
    runs = teaching.accumulate_runs([1] * 300, "bfloat16", range(50))
    last = [float(teaching.accumulate([1] * 300, "bfloat16", rounding="stochastic", seed=s).sum) for s in range(50)]
    assert runs.last.tolist() == last
    mean = sum(last) / 50
    assert runs.mean == pytest.approx(mean)
    assert runs.deviation == pytest.approx((sum((x - mean) ** 2 for x in last) / 49) ** 0.5)
    assert abs(mean - 300) < 4 * runs.deviation / 50**0.5  # no bias
    assert runs.mean_at([1, 256, 300]).tolist() == [1, 256, runs.mean]  # exact until 256
    assert runs.quantile_at(0, [300])[0] == min(last)
    assert runs.quantile_at(1, [300])[0] == max(last)
    assert teaching.accumulate_runs([1], "bfloat16", [7]).deviation == 0


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="`terms` must be one number or more"):
        teaching.accumulate([], "float16")
    with pytest.raises(ValueError, match="multiples of a power of two"):
        teaching.accumulate(["1/3"], "float16")
    with pytest.raises(ValueError, match="`factors` must be as many as the terms, 2; got 1"):
        teaching.accumulate([1, 2], "float16", factors=[1])
    with pytest.raises(ValueError, match="`product` must be None"):
        teaching.accumulate([1], "float16", product="float16")
    with pytest.raises(ValueError, match="`method` must be one of sequential"):
        teaching.accumulate([1], "float16", method="sorted")
    with pytest.raises(ValueError, match="`seed` must be an integer"):
        teaching.accumulate([1], "float16", rounding="stochastic")
    with pytest.raises(ValueError, match="float format"):
        teaching.accumulate([1], "int32")
    for terms, fmt, match in (([1], "float64", "fewer bits"), (["inf"], "float16", "finite"), ([2**60 + 1], "float16",
                              "finite values of float64")):  # fmt: skip
        with pytest.raises(ValueError, match=match):
            teaching.accumulate_runs(terms, fmt, [0])
    assert lp.as_format("float32").mantissa_bits + 27 + 2 == 52


def test_what_an_accumulation_says_of_itself() -> None:
    found = teaching.accumulate([2048, 1, "0.5", "-0", 4], "float16")
    assert repr(found) == "<Accumulation in float16, sequential, 5 terms: 2052>"
    assert [str(value) for value in found.sums()] == ["2048", "2048", "2048", "2048", "2052"]
    assert [str(value) for value in found.sums_after([1, 5])] == ["2048", "2052"]
    assert [str(value) for value in found.exact_after([1, 3, 5])] == ["2048", "2049.5", "2053.5"]
    assert (found.unchanged, found.stalls_at) == ((2, 3), None)
    assert (found.error, found.error_in_ulp) == (Fraction(-3, 2), Fraction(-3, 4))
    assert found.explanation(2).rule == "tie: the lower neighbour is even"
    assert found.explanation(1).rule == "exact: x is a value of the format"
    special = teaching.accumulate([1, "inf", 2, "-inf"], "float16")
    assert [str(value) for value in special.exact_after([1, 3, 4])] == ["1", "inf", "nan"]
    assert (special.error, special.error_in_ulp, special.unchanged) == (None, None, (3,))
    pairs = teaching.accumulate([1, 2048, 4, -4, 2048, 0], "float16", method="pairwise")
    assert pairs.unchanged == (1,)  # 1 + 2048 is 2048; what a zero is added to stays anyway
    chance = teaching.accumulate([2048, 1, 1], "float16", rounding="stochastic", seed=3, random_bits=4)
    for index in (2, 3):
        assert chance.explanation(index).value == chance.step(index).sum
        assert chance.explanation(index).random == reference.random_word(3, index - 1, 4)


def test_relative_error() -> None:
    assert teaching.relative_error("-3", "-2") == Fraction(1, 2)
    assert teaching.relative_error(3, 0) is None
    assert teaching.relative_error("inf", 1) is None
