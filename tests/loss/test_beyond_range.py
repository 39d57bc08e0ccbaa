"""Which elements saturate: against the exact oracle, whose formats are asked without their end, and by hand."""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec.loss import saturates
from lowprec.loss.beyond_range import count_rounded_beyond
from lowprec.reference import decode, encode_rounded
from lowprec.reference.values import Value
from lowprec.spec.formats import FLOAT64, Format
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC, RoundingOptions, check_rounding

FORMATS = ("float4_e2m1fn", "float6_e2m3fn", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz")
MODES = [mode for mode in ROUNDINGS if mode not in STOCHASTIC]


def wider(fmt: Format) -> Format:
    """Return a format with the same values and a binade or more above them."""
    bits = fmt.exponent_bits + 1
    return lp.float_format(f"wider_{fmt.name}", exponent_bits=bits, mantissa_bits=fmt.mantissa_bits, bias=fmt.bias)


def edges(fmt: Format) -> list[float]:
    step = math.ldexp(1.0, fmt.emax - fmt.mantissa_bits)
    ends = [float(fmt.max) + part * step for part in (-1, 0, 0.25, 0.5, 0.75, 1, 1.5, 2)]
    near = [math.nextafter(end, to) for end in ends for to in (0, math.inf)]
    return [sign * end for end in (*ends, *near, 0.0, 0.3) for sign in (1, -1)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", FORMATS)
def test_an_element_saturates_where_a_wider_format_has_more(name: str, mode: str) -> None:
    fmt = lp.as_format(name)
    rules, more = check_rounding(RoundingOptions(mode, "sat_finite"), fmt, "fmt"), wider(fmt)
    x = np.array(edges(fmt))
    wanted = [
        abs(decode(encode_rounded(Value.of(float(number)), more, rules), more).number) > Fraction(float(fmt.max))
        for number in x
    ]
    assert True in wanted
    assert False in wanted
    assert saturates(x, fmt, precision=FLOAT64, rounding=mode).tolist() == wanted


def test_a_stochastic_rounding_saturates_as_often_as_its_numbers_say() -> None:
    x = np.full(40_000, 6.5)  # 6 is the largest value, 8 would be next: a quarter of the way
    for mode in STOCHASTIC:
        found = saturates(x, "float4_e2m1fn", rounding=mode, seed=3)
        assert found.mean() == pytest.approx(0.25, abs=0.02)
        wide = lp.cast(x.astype(np.float32), "float6_e3m2fn", rounding=mode, seed=3)  # 6 and 7, the half of 8
        assert 0.4 < (np.asarray(wide).astype(float) == 7).mean() < 0.6
        assert found.tolist() == saturates(x, "float4_e2m1fn", rounding=mode, seed=3).tolist()
        assert not saturates(x - 0.5, "float4_e2m1fn", rounding=mode, seed=3).any()


@pytest.mark.parametrize(
    ("name", "inside", "beyond"),
    [
        ("float8_e4m3fn", [448.0, 464.0, -464.0, 0.0, math.inf, math.nan], [465.0, -1e9]),  # 464: a tie, to even
        ("float8_e8m0fnu", [1.5 * 2.0**-128, 2.0**-127, 1.5 * 2.0**127], [1.25 * 2.0**-128, 1.75 * 2.0**127, 0.0]),
    ],
)
def test_counts_by_hand(name: str, inside: list[float], beyond: list[float]) -> None:
    fmt = lp.as_format(name)
    rules = check_rounding(RoundingOptions("nearest_even", "sat_finite"), fmt, "fmt")
    assert count_rounded_beyond(np.array(inside), fmt, rules) == 0
    assert count_rounded_beyond(np.array(beyond), fmt, rules) == len(beyond)
    assert count_rounded_beyond(np.array([448.0]), fmt, rules, peak=448.0) == 0


def test_integers_by_hand() -> None:
    x = np.array([7.4, 7.5, -8.5, -8.6, np.nan, np.inf, 0.0])
    assert saturates(x, "int4").tolist() == [False, True, False, True, False, False, False]
    assert saturates(x, "int4", 1.0, -1).tolist() == [False, False, True, True, False, False, False]
    assert saturates(x, "uint4").tolist() == [False, False, True, True, False, False, False]
    ends = np.array([127.4, 127.5, -127.5, -128.0])  # MXINT8 has no -128
    assert saturates(ends, "int8", symmetric=True).tolist() == [False, True, True, True]
    assert saturates(ends, "int8", symmetric=True, rounding="toward_zero").tolist() == [False, False, False, True]
    assert saturates(ends, "int8").tolist() == [False, True, False, False]


def test_the_quotient_is_rounded_as_it_is_when_it_is_quantized() -> None:
    x = np.array([np.float32(7) - np.float32(2**-21)], np.float32)
    assert not saturates(x, "float4_e2m1fn").any()
    assert saturates(x, "float4_e2m1fn", precision="float16").all()  # 7, the tie
    third = np.array([1.0], np.float32)
    assert saturates(third, "float8_e4m3fn", np.array([2.0**-150 / 3])).all()  # Inf in float32, finite before
    assert not saturates(third, "float8_e4m3fn", np.array([np.nan])).any()
    assert saturates(np.array([3e38]).astype(ml_dtypes.bfloat16), "float8_e4m3fn").all()


def test_without_a_sign_zero_is_an_end() -> None:
    fmt = lp.float_format("unsigned_e3m2", exponent_bits=3, mantissa_bits=2, signed=False, inf=False, nan="none")
    tiny = float(fmt.smallest_subnormal)
    assert saturates(np.array([-tiny, -tiny / 2, -tiny * 0.6, 0.0, tiny]), fmt).tolist() == [
        *(True, False, True, False, False)
    ]
