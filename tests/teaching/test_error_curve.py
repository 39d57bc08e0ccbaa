"""The error curve against NumPy, ml_dtypes and value tables; partial curves against complete ones; chances."""

from __future__ import annotations

import random
from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC
from lowprec.teaching.error_curve import MEASURES, error_curve

DETERMINISTIC = [name for name in ROUNDINGS if name not in STOCHASTIC]


def values(dtype: Any) -> list[Fraction]:
    """Return all finite values of a dtype, in order."""
    with np.errstate(invalid="ignore"):
        numbers = np.arange(256, dtype=np.uint8).view(dtype).astype(np.float64)
    return sorted({Fraction(number) for number in numbers.tolist() if np.isfinite(number)})


def nearest(x: Fraction, table: list[Fraction]) -> Fraction:
    """Return how far the nearest value is."""
    place = bisect_left(table, x)
    return min(abs(value - x) for value in table[max(place - 1, 0) : place + 1])


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"])
def test_the_error_is_the_distance_to_the_nearest_value(name: str) -> None:
    table = values(getattr(ml_dtypes, name))
    curve = error_curve(name, -3, 2)
    assert curve.is_complete
    pieces = [piece for cell in curve.cells for piece in cell]
    assert (pieces[0].low, pieces[-1].high) == (-3, 2)
    assert [piece.high for piece in pieces[:-1]] == [piece.low for piece in pieces[1:]]  # no gap
    for piece in pieces:
        for part in (0, Fraction(1, 3), 1):
            x = piece.low + (piece.high - piece.low) * part
            assert abs(piece.near - x) == nearest(x, table)
            assert piece.near == piece.far
    breaks = {point.x for point in curve.points()}
    assert {value for value in table if -3 <= value <= 2} <= breaks
    assert {(a + b) / 2 for a, b in pairwise(table) if -3 <= (a + b) / 2 <= 2} <= breaks


def test_saturation_and_what_has_no_result() -> None:
    curve = error_curve("float8_e4m3fn", 400, 1000)
    assert curve.largest() == (552, 1000, "at")
    assert curve.at(1000, "relative").mean == Fraction(-552, 1000)
    assert curve.at(464, "ulp").mean == Fraction(-1, 2)
    assert curve.without_result() == ()
    without = error_curve("float8_e4m3fn", 400, 1000, saturate=False)
    assert without.without_result() == ((464, 1000),)
    assert without.largest() == (16, 400, "at")
    assert without.at(465).mean is None
    assert error_curve("float8_e4m3fn", 500, 600, saturate=False).largest() is None
    assert error_curve("bfloat16", -1, 1e39, overflow="ovf_inf").without_result()[0][1] == Fraction(1e39)
    assert error_curve("int8", -300, 300).at(300).mean == -256
    assert error_curve("uint4", -3, 20).at("-1.5").mean == Fraction(33, 2)
    assert error_curve("float8_e8m0fnu", -3, 5).at(-3).mean == 1  # 4, of |x| = 3
    assert error_curve("float8_e8m0fnu", 0, 1).at(0).mean == Fraction(1, 2**127)
    assert error_curve("bool", -2, 2).at(-2).mean == 3


def test_the_largest_errors_by_hand() -> None:
    assert error_curve("float8_e4m3fn", 1, 2).largest("relative") == (Fraction(1, 17), Fraction(17, 16), "at")
    assert error_curve("float8_e4m3fn", 0, 2).largest("absolute") == (Fraction(1, 16), Fraction(17, 16), "at")
    assert error_curve("float8_e4m3fn", 0, 2).largest("relative") == (1, 0, "above")  # what becomes 0 is lost
    assert error_curve("bfloat16", 1, 2).largest("ulp") == (Fraction(1, 2), Fraction(257, 256), "at")
    toward_zero = error_curve("float8_e4m3fn", 1, 2, rounding="toward_zero")
    assert toward_zero.largest() == (Fraction(1, 8), Fraction(9, 8), "below")
    assert error_curve("float8_e4m3fn", 0, 1, rounding="away_from_zero").largest("relative") == (None, 0, "above")
    assert error_curve("float8_e8m0fnu", 1, 2).largest("relative") == (1, 1, "above")
    by_quarters = error_curve("float4_e2m1fn", 4, "4.9", rounding="stochastic_a", random_bits=2)
    assert by_quarters.largest() == (Fraction(3, 2), Fraction(9, 2), "at")  # from 4.5 on, 6 has a chance


@pytest.mark.one_in(7)
@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float4_e2m1fn", "float8_e8m0fnu", "binary5p2se", "binary6p3ue", "int4"]
)
@pytest.mark.parametrize("rounding", [None, *DETERMINISTIC])
def test_every_number_of_a_grid_has_the_error_of_its_piece(name: str, rounding: str | None) -> None:
    fmt = lp.as_format(name)
    if rounding and not fmt.is_float:
        return
    options: dict[str, Any] = {} if rounding is None else {"rounding": rounding, "overflow": "ovf_inf"}
    curve = error_curve(name, Fraction(-17, 3), Fraction(29, 3), **options)
    grid = [Fraction(number, 19) for number in range(-107, 183)]
    codes = lp.encode(np.array([float(x) for x in grid]), name, **options)
    largest: dict[str, Fraction] = dict.fromkeys(MEASURES, Fraction(0))
    for x, code in zip(grid, codes.tolist(), strict=True):
        x = Fraction(float(x))
        result = reference.decode(code, fmt)
        number = None if result.special else result.number
        near = {piece.near for cell in curve.cells for piece in cell if piece.low <= x <= piece.high}
        assert number in near or number in (x, -x)  # the value itself, of which away and to odd have no piece
        assert len(near) in (1, 2)
        if result.special:
            assert curve.at(x).mean is None
            continue
        error = result.number - (abs(x) if name == "float8_e8m0fnu" else x)
        assert curve.at(x) == (x, error, error, error, 0)
        largest["absolute"] = max(largest["absolute"], abs(error))
        largest["relative"] = max(largest["relative"], abs(error / x) if x else Fraction(0))
        step = reference.ulp(0 if x < 0 and name == "binary6p3ue" else x, fmt)
        largest["ulp"] = max(largest["ulp"], abs(error / step))
    for measure in MEASURES:
        found = curve.largest(measure)
        assert found.error is None or largest[measure] <= found.error
        if found.error is not None and found.x:  # and an error as large is there
            place = found.x + abs(found.x) * Fraction({"at": 0, "above": 1, "below": -1}[found.side], 2**40)
            assert abs(curve.at(place, measure).mean) == pytest.approx(float(found.error), rel=1e-6)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ["binary10p4se", "binary9p4ue", "float8_e4m3fn", "float8_e8m0fnu", "int8"])
@pytest.mark.parametrize(("low", "high"), [(Fraction(-5, 7), Fraction(1, 3)), (1, 1000), (-70, 300)])
def test_some_cells_of_each_binade_have_the_largest_error(name: str, low: Any, high: Any) -> None:
    rng = random.Random(f"{name}{low}")
    for rounding in (None, rng.choice(DETERMINISTIC)) if lp.as_format(name).is_float else (None,):
        options: dict[str, Any] = {} if rounding is None else {"rounding": rounding}
        some = error_curve(name, low, high, most=12, **options)
        every = error_curve(name, low, high, most=6000, **options)
        assert every.is_complete
        assert some.is_complete is False or len(every.cells) <= 24
        for measure in MEASURES:
            assert some.largest(measure)[0] == every.largest(measure)[0], (measure, rounding)


@pytest.mark.parametrize("mode", STOCHASTIC[1:])
@pytest.mark.parametrize("bits", [1, 3])
def test_chances_by_counting(mode: str, bits: int) -> None:
    options: dict[str, Any] = {"rounding": mode, "random_bits": bits}
    curve = error_curve("float4_e2m1fn", -7, 7, **options)
    for number in range(-28 * 4, 28 * 4 + 1):
        x = Fraction(number, 16)
        found = []
        for random_number in range(2**bits):
            code = reference.encode(x, "float4_e2m1fn", random=random_number, **options)
            found.append(reference.decode(code, "float4_e2m1fn").number - x)
        mean = sum(found) / Fraction(2**bits)
        variance = sum((error - mean) ** 2 for error in found) / 2**bits
        point = curve.at(x)
        assert (point.mean, point.variance) == (mean, variance)
        assert {min(found), max(found)} <= {point.least, point.greatest}
        for piece in (piece for cell in curve.cells for piece in cell if piece.low < x < piece.high):
            assert set(found) == {piece.near - x, piece.far - x}


def test_the_points_of_a_stochastic_curve() -> None:
    curve = error_curve("float8_e4m3fn", 1, Fraction(9, 8), rounding="stochastic_a")
    assert curve.is_stochastic
    middle = next(point for point in curve.points() if abs(point.x - Fraction(17, 16)) < Fraction(1, 2**16))
    assert middle.least == pytest.approx(-1 / 16, abs=1e-4)
    assert middle.greatest == pytest.approx(1 / 16, abs=1e-4)
    assert abs(middle.mean) < Fraction(1, 2**18)  # unbiased, but for what 16 random bits cannot tell apart
    assert middle.variance == pytest.approx(1 / 256, rel=1e-3)
    assert all(point.least <= point.mean <= point.greatest for point in curve.points("ulp"))
    assert curve.largest("ulp").error <= 1


def test_a_point_for_a_cell_has_the_extremes_of_the_cell() -> None:
    curve = error_curve("float8_e4m3fn", -300, 300, most=12)
    assert not curve.is_complete
    for point, cell in zip(curve.points(), curve.cells, strict=True):
        low, high = cell[0].low, cell[-1].high
        middle = (low + high) / 2
        assert point.x == middle
        assert point.mean == curve.at(middle).mean
        inside = [low + (high - low) * number / 64 for number in range(65)]
        errors = [reference.decode(reference.encode(x, "float8_e4m3fn"), "float8_e4m3fn").number - x for x in inside]
        assert point.least <= min(errors) < max(errors) <= point.greatest
        assert point.greatest - point.least <= max(piece.ulp for piece in cell)
