"""Quotients of 8-bit integers: those next to ties, all the hardest ones, scales without a reciprocal."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from support.compare import compare, tiers_and_threads
from support.hard_quotients import hardest_quotients
from support.quantize_cases import generator, odd_scales

import lowprec as lp


@pytest.mark.parametrize("signed", [True, False])
def test_quotients_next_to_ties(signed: bool, tally: Counter[str]) -> None:
    rng = generator("quotients", signed)
    scale = odd_scales(rng, (2000,), True)
    low, high = (-128, 127) if signed else (0, 255)
    ties = (rng.integers(low - 3, high + 3, (2000, 205)) + 0.5) * scale[:, None].astype(np.float64)
    near = ties.astype(np.float32).view(np.int32)[..., None] + np.arange(-2, 3, dtype=np.int32)
    x = np.zeros((2000, 1088), np.float32)  # rows of 17 runs of 64
    x[:, :1025] = near.reshape(2000, 1025).view(np.float32)
    quotient = x / scale[:, None]  # IEEE division, rounded once
    expected = np.clip(np.rint(quotient), low, high).astype(np.int8 if signed else np.uint8)
    one_each = np.broadcast_to(scale[:, None], (2000, 17))
    for who in tiers_and_threads(threads=(2,)):
        got = lp.quantize_linear(x, one_each, output_dtype=expected.dtype, axis=1, block_size=64)
        compare(tally, "QuantizeLinear, next to ties", got, expected, f"{who}, runs", x)
        for row in range(0, 2000, 97):
            got = lp.quantize_linear(x[row], scale[row], output_dtype=expected.dtype)
            compare(tally, "QuantizeLinear, next to ties", got, expected[row], f"{who}, one scale", x[row])


HARD = hardest_quotients()
HARD_X, HARD_SCALE = HARD.x, HARD.scale


def test_they_are_the_hardest() -> None:
    assert len(HARD_X) > 4000
    quotients = HARD_X.astype(np.float64) / HARD_SCALE
    halves = np.floor(quotients) + 0.5
    assert np.all(np.abs(quotients - halves) < 2.0**-16)
    assert len(set(halves.tolist())) > 200
    for x, scale, half in zip(HARD_X.tolist(), HARD_SCALE.tolist(), halves.tolist(), strict=True):
        step = Fraction(2) ** (math.frexp(x / scale)[1] - 24)
        distance = abs(Fraction(x) / Fraction(scale) - Fraction(half)) / step
        assert abs(distance - Fraction(1, 2)) <= Fraction(15, 2 * int(scale))


@pytest.mark.one_in(6)
@pytest.mark.parametrize("half", [0.5, 1.5, 7.5, 86.5, 127.5, 254.5])
def test_none_is_missing(half: float) -> None:
    """Every scale there is, with the x nearest to scale * m."""
    scale = np.arange(1 << 23, 1 << 24)
    found = set()
    for step in (-1, 1):
        m = int(half * 2.0 ** (25 - math.frexp(half)[1])) + step
        if half == 0.5 and step < 0:  # the floats below a power of two are twice as close
            m = (1 << 25) - 1
        x = np.where(scale * m < 1 << 48, (scale * m + (1 << 23)) >> 24 << 24, (scale * m + (1 << 24)) >> 25 << 25)
        near = (np.abs(x - scale * m) <= 15) & (m >> 24 == 1)
        found |= set((x[near] / m).round().astype(int).tolist())
    listed = np.abs(HARD_X.astype(np.float64) / HARD_SCALE - half) < 2.0**-16
    assert found == set(HARD_SCALE[listed].astype(int).tolist())


@pytest.mark.parametrize("exponent", [-82, -30, 0, 35])  # scales from 2**-59 to 2**58
@pytest.mark.parametrize(("name", "offset"), [("uint8", 0), ("uint8", 255), ("int8", -128), ("int8", 127), ("int4", 3)])
def test_hardest_quotients(name: str, offset: int, exponent: int, tally: Counter[str]) -> None:
    fmt = lp.as_format(name)
    for sign in (1, -1):
        x, scale = sign * np.ldexp(HARD_X, exponent), np.ldexp(HARD_SCALE, exponent)
        whole = np.rint(x / scale)  # IEEE division, rounded once, then half to even
        expected = (np.clip(whole + offset, fmt.min, fmt.max).astype(np.int64) & fmt.code_mask).astype(np.uint8)
        zero_points = np.full(scale.shape, offset, fmt.dtype)
        rows, again = np.repeat(x[:, None], 16, axis=1), np.repeat(expected[:, None], 16, axis=1)
        for who in tiers_and_threads(threads=(2,)):
            got = lp.quantize_linear(rows, scale, zero_points, axis=0).view(np.uint8) & fmt.code_mask
            compare(tally, "QuantizeLinear, hardest quotients", got, again, f"{who}, runs", rows)
            # one scale for each element, many rows for one reciprocal; then one scale for all
            many = np.repeat(x[None], 16, axis=0)
            got = lp.quantize_linear(many, scale, zero_points, axis=1).view(np.uint8) & fmt.code_mask
            compare(tally, "QuantizeLinear, hardest quotients", got, again.T, f"{who}, each", many)
            one = [
                lp.quantize_linear(a, b, c).view(np.uint8) & fmt.code_mask
                for a, b, c in zip(rows[::61], scale[::61], zero_points[::61], strict=True)
            ]
            compare(tally, "QuantizeLinear, hardest quotients", np.array(one), again[::61], f"{who}, one scale")


OUT_OF_REACH = [
    *np.ldexp(np.float32([1, 1.5, 2 - 2.0**-23]), [[60], [61], [90], [107], [108], [110], [126], [127]]).ravel(),
    *np.ldexp(np.float32([1, 1.5, 2 - 2.0**-23]), [[-61], [-62], [-100], [-104], [-110], [-126]]).ravel(),
    *np.ldexp(np.float32([1, 3, 2**21 - 1]), [[-127], [-128], [-140], [-149]]).ravel(),
    0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, -(2.0**-70),
]  # fmt: skip


@pytest.mark.parametrize("way", ["runs", "each", "one scale"])
def test_scales_out_of_reach(way: str, tally: Counter[str]) -> None:
    """A reciprocal is 0, infinite, subnormal, or its product overflows: a division must take its place."""
    scale = np.unique(np.array([*OUT_OF_REACH, 1.0], np.float32))
    wanted = np.concatenate([np.arange(-130, 130.5, 0.5), [1e30, -1e30]])
    with np.errstate(all="ignore"):
        x = (wanted * scale.astype(np.float64)[:, None]).astype(np.float32)
        hard = HARD_X[HARD_X / HARD_SCALE < 130][:400].astype(np.float64) / HARD_SCALE[HARD_X / HARD_SCALE < 130][:400]
        x = np.concatenate([x, (hard * scale.astype(np.float64)[:, None]).astype(np.float32)], axis=1)
        specials = np.float32([np.inf, -np.inf, np.nan, 0, -0.0, 1e-45, 3.4e38, -3.4e38, 1, -1, 100])
        x = np.concatenate([x, np.broadcast_to(specials, (len(scale), len(specials)))], axis=1)
        x = np.concatenate([x, np.zeros((len(scale), -x.shape[1] % 64), np.float32)], axis=1)
        quotient = x / scale[:, None]
    whole = np.rint(np.where(np.isnan(quotient), -np.inf, quotient))
    expected = np.clip(whole + 2, -128, 127).astype(np.int8).view(np.uint8)
    many = np.full(100, 2, np.int8)
    for who in tiers_and_threads(threads=(2,)):
        got = np.empty(x.shape, np.int8)
        for row, factor in enumerate(scale):  # each alone, or among some in reach, so that it decides
            if way == "runs":
                rows = x[row].reshape(-1, 64)
                factors = np.full(len(rows), factor)
                got[row] = lp.quantize_linear(rows, factors, many[: len(rows)], axis=0).reshape(-1)
            elif way == "each":
                factors, columns = np.ones(100, np.float32), np.ones((x.shape[1], 100), np.float32)
                factors[37], columns[:, 37] = factor, x[row]
                got[row] = lp.quantize_linear(columns, factors, many, axis=1)[:, 37]
            else:
                got[row] = lp.quantize_linear(x[row], factor, np.int8(2))
        compare(tally, "QuantizeLinear, out of reach", got.view(np.uint8), expected, f"{who}, {way}", x)
