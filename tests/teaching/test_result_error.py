"""The error of a result: by hand, against math.ulp, and where there is none."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from lowprec import teaching
from lowprec.teaching import ResultError, error_of


@pytest.mark.parametrize(
    ("x", "result", "fmt", "absolute", "relative", "ulps"),
    [
        (1000, 448, "float8_e4m3fn", 552, Fraction(552, 1000), Fraction(552, 32)),  # steps of 32 up to 448, the end
        ("-0.3", "-0.3125", "float8_e4m3fn", Fraction(1, 80), Fraction(1, 24), Fraction(2, 5)),
        (2, 2, "float4_e2m1fn", 0, 0, 0),
        (200, -56, "int8", 256, Fraction(256, 200), 256),
        ("0.25", 0, "int8", Fraction(1, 4), 1, Fraction(1, 4)),
    ],
)
def test_by_hand(x: object, result: object, fmt: str, absolute: object, relative: object, ulps: object) -> None:
    assert error_of(x, result, fmt) == ResultError(absolute, relative, ulps)


def test_where_there_is_none() -> None:
    for x, result in (("nan", 1), (1, "nan"), ("inf", 448), (1, "-inf")):
        assert error_of(x, result, "float8_e5m2") == ResultError()
    assert error_of(0, 1, "float16").relative is None
    with pytest.raises(ValueError, match="`result`"):
        error_of(1, "one", "float16")


def test_units_of_float64_are_those_of_math() -> None:
    rng = random.Random(7)
    for _ in range(200):
        x, result = (rng.choice((-1, 1)) * math.ldexp(rng.random() + 0.5, rng.randrange(-1000, 1000)) for _ in range(2))
        difference = abs(Fraction(x) - Fraction(result))
        found = error_of(x, result, "float64")
        assert found.absolute == difference
        assert found.ulps == difference / Fraction(math.ulp(x))
        assert found.relative == difference / abs(Fraction(x)) == teaching.relative_error(result, x)
