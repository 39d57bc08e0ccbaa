"""Where formats overflow: typed edges, and every edge against the oracle's results on both sides of it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference
from lowprec.spec.custom_formats import float_format_spelled
from lowprec.spec.formats import NUMERIC
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC
from lowprec.teaching import overflow_edge, overflow_edges

FIXED = tuple(name for name in ROUNDINGS if name not in STOCHASTIC)
# From the largest value and the one that would follow it, by hand: e4m3fn 448 (code even) and 480, e5m2 57344 (odd)
# and 65536, e2m1fn 6 (odd) and 8, binary8p3se 49152 (even) and 57344.
EDGES = {
    ("float8_e4m3fn", None): (464, False), ("float8_e4m3fn", "nearest_away"): (464, True),
    ("float8_e4m3fn", "nearest_zero"): (464, False), ("float8_e4m3fn", "toward_negative"): (480, True),
    ("float8_e4m3fn", "toward_positive"): (448, False), ("float8_e4m3fn", "to_odd"): (448, False),
    ("float8_e5m2", None): (61440, True), ("float8_e5m2", "nearest_even"): (61440, True),
    ("float8_e5m2", "to_odd"): (65536, True), ("float4_e2m1fn", None): (7, True),
    ("binary8p3se", None): (53248, False), ("binary8p3se", "toward_zero"): (57344, True),
    ("float8_e8m0fnu", None): (2**127, False), ("float8_e8m0fnu", "nearest_even"): (3 * 2**126, False),
    ("tf32", None): (4095 * 2**116, True), ("float64", None): (2**1024 - 2**970, True),
}  # fmt: skip
FORMATS = [fmt for fmt in NUMERIC if fmt.is_float and fmt.bits < 64] + [
    lp.as_format(name) for name in ("binary3p1uf", "binary8p3se", "binary9p4se", "binary16p16ue", "tf32")
] + [float_format_spelled(text) for text in ("e4m0,nan=none", "e1m1", "e4m3,bias=1000", "e8m23,bias=-700")]  # fmt: skip


@pytest.mark.parametrize(("name", "rounding"), EDGES)
def test_edges_by_hand(name: str, rounding: str | None) -> None:
    assert overflow_edge(name, rounding=rounding) == EDGES[name, rounding]


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_both_sides(fmt: lp.Format) -> None:
    """An overflow without saturation is named by its result where the format has Inf or NaN for it."""
    outward = [None, *(name for name in FIXED if name not in ("toward_zero", "toward_negative"))]
    for rounding in outward if fmt.has_inf or fmt.nan_code is not None else ():
        last, first = overflow_edges(fmt, rounding=rounding)
        ways = {"saturate": False} if rounding is None else {"rounding": rounding, "overflow": "ovf_inf"}
        assert reference.encode(last, fmt, **ways) == fmt.max_code
        assert reference.decode(reference.encode(first, fmt, **ways), fmt).special == ("inf" if fmt.has_inf else "nan")


@pytest.mark.parametrize("fmt", FORMATS, ids=lambda fmt: fmt.name)
def test_directed_edges_are_the_next_value(fmt: lp.Format) -> None:
    following = fmt.magnitude(fmt.max_code + 1) if fmt.max_code < fmt.magnitude_mask else None
    for rounding in ("toward_zero", "toward_negative"):
        number, overflows = overflow_edge(fmt, rounding=rounding)
        assert overflows
        assert number > Fraction(fmt.max)
        assert following is None or number == Fraction(following)


def test_they_are_neighbours_of_53_bits() -> None:
    for fmt in FORMATS:
        for rounding in (None, *FIXED):
            last, first = map(float, overflow_edges(fmt, rounding=rounding))
            if is_normal(last) and math.isfinite(first):
                assert np.nextafter(last, math.inf) == first
    assert overflow_edges("float64") == (Fraction(np.finfo(np.float64).max), 2**1024)


def is_normal(number: float) -> bool:
    return bool(number >= np.finfo(np.float64).tiny)


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="`fmt` must be a float format; got int8"):
        overflow_edge("int8")
    with pytest.raises(ValueError, match="`rounding` must be one without random numbers; got 'stochastic'"):
        overflow_edges("float16", rounding="stochastic")
    with pytest.raises(ValueError, match="`rounding` must be one of nearest_even, "):
        overflow_edge("float16", rounding="up")
