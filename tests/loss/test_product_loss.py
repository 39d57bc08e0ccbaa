"""The loss of a product of weights and inputs against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from lowprec import reference
from lowprec.loss import product_loss

WEIGHTS = [[0.1, -2.5, 3.0], [7.0, 0.25, -0.6]]
INPUTS = [[1.0, -1.0, 0.5, 0.0], [2.0, 0.125, -3.0, 1.0], [0.3, 20.0, 0.0, 0.7]]


def fractions(numbers: list[list[float]], fmt: str = "float32") -> list[list[Fraction]]:
    """Return numbers as the values of a format, by the oracle."""
    return [[reference.decode(reference.encode(number, fmt), fmt).number for number in row] for row in numbers]


def product(a: list[list[Fraction]], b: list[list[Fraction]]) -> list[Fraction]:
    columns = list(zip(*b, strict=True))
    return [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for row in a for column in columns]


def decibels(exact: list[Fraction], found: list[Fraction]) -> float:
    noise = sum((x - y) ** 2 for x, y in zip(exact, found, strict=True))
    return 10 * math.log10(sum(x**2 for x in exact) / noise) if noise else math.inf


@pytest.mark.parametrize("fmt", ["float8_e4m3fn", "float4_e2m1fn", "int4", "bfloat16"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_against_fractions(fmt: str, dtype: type) -> None:
    exact, back, inputs = fractions(WEIGHTS), fractions(WEIGHTS, fmt), fractions(INPUTS)
    arrays = [np.array([[float(number) for number in row] for row in one], dtype) for one in (exact, back, inputs)]
    found = product_loss(*arrays)
    flat = [[number for row in one for number in row] for one in (exact, back)]
    assert found.weights.sqnr_db == pytest.approx(decibels(*flat), abs=1e-5)
    before, after = product(exact, inputs), product(back, inputs)
    assert found.product.sqnr_db == pytest.approx(decibels(before, after), abs=1e-9)
    largest = max(abs(x - y) for x, y in zip(before, after, strict=True))
    assert found.product.max_abs_error == pytest.approx(float(largest), rel=1e-12)
    assert found.gain_db == found.product.sqnr_db - found.weights.sqnr_db
    assert found.product.elements == 8


def test_the_identity_gives_the_weights() -> None:
    weights = np.float32(WEIGHTS)
    found = product_loss(weights, np.rint(weights), np.eye(3, dtype=np.float32))
    assert found.product.sqnr_db == pytest.approx(found.weights.sqnr_db, abs=1e-6)
    same = product_loss(weights, weights.copy(), np.ones(3, np.float32))
    assert (same.product.sqnr_db, same.weights.sqnr_db, same.gain_db) == (math.inf, math.inf, 0)
    assert same.product.elements == 2


def test_nan_and_inf_are_counted_where_they_take_part() -> None:
    weights = np.float32([[1, 2], [3, 4]])
    found = product_loss(weights, np.float32([[np.nan, 2], [3, np.inf]]), np.float32([1, 1]))
    assert (found.product.elements, found.product.sqnr_db) == (2, pytest.approx(math.nan, nan_ok=True))
