"""The oracle of the rounding rules beyond the range: overflow, Inf, NaN and what has no sign; typed from tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from support.custom_formats import BY_NAME, float_format, p3109

from lowprec.reference.exact_cast import cast, decide_rounded, decode, encode, encode_rounded
from lowprec.reference.values import Value, finite_count, magnitude_of
from lowprec.spec.formats import FORMATS, Format, NaNRule
from lowprec.spec.rounding_modes import Rounding

OUTWARD = ("nearest_even", "nearest_away", "nearest_zero", "away_from_zero")
E8 = FORMATS["float8_e8m0fnu"]
POWERS = {  # powers of two without sign and zero, 4 exponent bits, bias 7
    (inf, nan): Format(f"e4{inf}{nan}", "E4", 1001, E8.kind, 4, 0, 7, False, inf, nan, False, None, 28, "this test")
    for inf in (True, False)
    for nan in (NaNRule.ALL_ONES, NaNRule.NONE)
}

# the largest value, the one that would follow; codes of the largest, of Inf and NaN, None where there is none
ENDS = {
    "float64": (2**1024 - 2**971, 2**1024, 0x7FEF_FFFF_FFFF_FFFF, 0x7FF0 << 48, 0x7FF8 << 48),
    "float32": (2**128 - 2**104, 2**128, 0x7F7F_FFFF, 0x7F80_0000, 0x7FC0_0000),
    "float16": (65504, 65536, 0x7BFF, 0x7C00, 0x7E00), "bfloat16": (2**128 - 2**120, 2**128, 0x7F7F, 0x7F80, 0x7FC0),
    "float8_e5m2": (57344, 65536, 0x7B, 0x7C, 0x7E), "float8_e4m3fn": (448, 480, 0x7E, None, 0x7F),
    "float8_e4m3fnuz": (240, 256, 0x7F, None, 0x80), "float8_e5m2fnuz": (57344, 65536, 0x7F, None, 0x80),
    "float6_e2m3fn": (Fraction(15, 2), 8, 0x1F, None, None), "float6_e3m2fn": (28, 32, 0x1F, None, None),
    "float4_e2m1fn": (6, 8, 0x7, None, None),
}  # fmt: skip


def signed(code: int, negative: bool, name: str) -> int:
    only_nan = code == 0x80 and name.endswith("fnuz")
    return code | 1 << (FORMATS[name].bits - 1) if negative and not only_nan else code


def outside(name: str, negative: bool) -> int:
    """Return what "ovf_inf" has: Inf, NaN where there is no Inf, the largest value where there is neither."""
    _, _, largest, inf, nan = ENDS[name]
    return signed(next(code for code in (inf, nan, largest) if code is not None), negative, name)


@pytest.mark.parametrize("name", ENDS)
@pytest.mark.parametrize("negative", [False, True])
def test_beyond_the_largest(name: str, negative: bool) -> None:
    largest, after, code, inf, _ = ENDS[name]
    sign, top = -1 if negative else 1, signed(code, negative, name)
    away, inward = ("toward_negative", "toward_positive") if negative else ("toward_positive", "toward_negative")
    tie, near = Fraction(largest + after) / 2, Fraction(3 * largest + after) / 4

    def coded(x: Fraction | int | str, mode: str, overflow: str) -> int:
        return encode(
            Value(Fraction(0), negative, "inf") if x == "inf" else sign * x, name, rounding=mode, overflow=overflow
        )

    beyond = {"sat_finite": top, "sat_propagate": top, "ovf_inf": outside(name, negative)}
    for overflow, end in beyond.items():
        for mode in (*OUTWARD, away):
            assert coded(after, mode, overflow) == coded(after * 5, mode, overflow) == end
        for mode in ("toward_zero", inward):
            assert coded(after, mode, overflow) == coded(near, mode, overflow) == top
        assert coded(largest, "away_from_zero", overflow) == coded(largest, away, overflow) == top
        assert coded(near, "away_from_zero", overflow) == coded(near, away, overflow) == end
        assert coded(near, "nearest_even", overflow) == coded(near, "nearest_away", overflow) == top
        assert coded(tie, "nearest_away", overflow) == end
        assert coded(tie, "nearest_zero", overflow) == top
        assert coded(tie, "nearest_even", overflow) == (end if code % 2 else top)
        assert coded(near, "to_odd", overflow) == (top if code % 2 else end)
        for mode in (*OUTWARD, "to_odd", "toward_zero", away, inward):
            infinite = top if overflow == "sat_finite" or (overflow == "sat_propagate" and inf is None) else None
            assert coded("inf", mode, overflow) == (outside(name, negative) if infinite is None else infinite)


def test_stochastic_overflow() -> None:
    # 61440 is half-way from 57344, the largest of float8_e5m2, to 65536: half of the random numbers overflow
    for overflow, end in (("sat_finite", 0x7B), ("sat_propagate", 0x7B), ("ovf_inf", 0x7C)):
        codes = [
            encode(61440, "float8_e5m2", rounding="stochastic", overflow=overflow, random=r, random_bits=2)
            for r in range(4)
        ]
        assert codes == [0x7B, 0x7B, end, end]


def test_defaults_of_overflow_follow_the_width() -> None:
    assert [encode("inf", name, rounding="to_odd") for name in ("float8_e5m2", "float16")] == [0x7B, 0x7C00]


# ---- NaN

NANS = {  # of NaN without sign and with it: rules signed, plain; the largest value
    "float16": ((0x7E00, 0xFE00), (0x7E00, 0x7E00), 0x7BFF),
    "float8_e5m2": ((0x7E, 0xFE), (0x7E, 0x7E), 0x7B),
    "float8_e4m3fn": ((0x7F, 0xFF), (0x7F, 0x7F), 0x7E),
    "float8_e4m3fnuz": ((0x80, 0x80), (0x80, 0x80), 0x7F),
    "float8_e8m0fnu": ((0xFF, 0xFF), (0xFF, 0xFF), 0xFE),
    "float6_e2m3fn": ((0x20, 0x00), (0x00, 0x00), 0x1F),
    "float4_e2m1fn": ((0x8, 0x0), (0x0, 0x0), 0x7),
}


@pytest.mark.parametrize("name", NANS)
def test_nan_rules(name: str) -> None:
    by_sign, plain, largest = NANS[name]
    for index, nan in enumerate(("nan", "-nan")):
        for rounding in ("toward_zero", "nearest_even"):
            found = [encode(nan, name, rounding=rounding, nan=rule) for rule in ("signed", "plain", "zero", "largest")]
            assert found == [by_sign[index], plain[index], 0, largest]


def test_payloads_are_dropped_and_casts_go_by_value() -> None:
    assert cast(0x7E01, "float16", "float16") == 0x7E01
    assert cast(0x7E01, "float16", "float16", rounding="nearest_even") == 0x7E00
    assert cast(0xFE, "float8_e5m2", "float8_e5m2", nan="plain") == 0x7E
    assert cast(0x7C, "float8_e5m2", "float8_e5m2", rounding="toward_zero") == 0x7B


def test_the_sign_of_a_nan_that_overflow_makes() -> None:
    for nan, expected in (("signed", 0xFF), ("plain", 0x7F), ("zero", 0x7F), ("largest", 0x7F)):
        assert encode(-1e9, "float8_e4m3fn", overflow="ovf_inf", nan=nan) == expected


# ---- formats without sign


@pytest.mark.parametrize("extended", ["e", "f"])
def test_below_the_range_of_unsigned_formats(extended: str) -> None:
    fmt = p3109(8, 3, f"u{extended}")  # the smallest value is 2**-33; NaN is FF
    small = Fraction(1, 2**33)
    for mode in ("toward_zero", "toward_positive", "nearest_even", "nearest_zero"):  # half of the smallest: zero
        for overflow in ("sat_finite", "sat_propagate", "ovf_inf"):
            assert encode(-small / 2, fmt, rounding=mode, overflow=overflow) == 0
            assert encode(-0.0, fmt, rounding=mode, overflow=overflow) == 0
    for mode in ("away_from_zero", "toward_negative", "to_odd", "nearest_away"):
        assert encode(-small / 2, fmt, rounding=mode) == 0
        assert encode(-small / 2, fmt, rounding=mode, overflow="ovf_inf") == 0xFF
    for x in (-small, -1, -(Fraction(10) ** 30)):
        for mode in ("toward_zero", "toward_positive"):
            assert encode(x, fmt, rounding=mode, overflow="ovf_inf") == 0
        for mode in ("nearest_even", "toward_negative", "to_odd"):
            assert encode(x, fmt, rounding=mode, overflow="ovf_inf") == 0xFF
            assert encode(x, fmt, rounding=mode, overflow="sat_propagate") == 0
    for mode in ("toward_zero", "toward_positive", "nearest_even"):
        found = [
            encode("-inf", fmt, rounding=mode, overflow=rule) for rule in ("sat_finite", "sat_propagate", "ovf_inf")
        ]
        assert found == [0, 0, 0xFF]
    top = [
        encode("inf", fmt, rounding="toward_zero", overflow=rule) for rule in ("sat_finite", "sat_propagate", "ovf_inf")
    ]
    assert top == ([0xFD, 0xFE, 0xFE] if extended == "e" else [0xFE, 0xFE, 0xFF])
    none = float_format("u3m2", (3, 2, 3), inf=False, nan=NaNRule.NONE, signed=False)
    assert encode(-1, none, overflow="ovf_inf") == encode("-inf", none, overflow="ovf_inf") == 0


# the code of 2**e is e + 127; x, mode, and the codes of the overflow rules sat_finite, sat_propagate, ovf_inf
POWER_CASES = [
    (0, "nearest_even", (0, 0, 0xFF)),
    (-0.0, "toward_positive", (0, 0, 0xFF)),
    ("0x1p-128", "nearest_even", (0, 0, 0xFF)),  # a power of two below the smallest
    ("0x1p-128", "away_from_zero", (0, 0, 0xFF)),
    ("0x1.8p-128", "toward_zero", (0, 0, 0xFF)),
    ("0x1.8p-128", "nearest_even", (0, 0, 0)),  # a tie; the code of 2**-128 would be -1, which is odd
    ("0x1.8p-128", "nearest_zero", (0, 0, 0xFF)),
    ("0x1.4p-128", "toward_positive", (0, 0, 0)),
    ("0x1.4p-128", "toward_negative", (0, 0, 0xFF)),
    ("0x1.4p-128", "to_odd", (0, 0, 0xFF)),
    ("0x1p127", "away_from_zero", (0xFE, 0xFE, 0xFE)),
    ("0x1.8p127", "nearest_even", (0xFE, 0xFE, 0xFE)),  # a tie; FE is even
    ("0x1.8p127", "nearest_away", (0xFE, 0xFE, 0xFF)),
    ("0x1.8p127", "to_odd", (0xFE, 0xFE, 0xFF)),
    ("0x1.8p127", "toward_zero", (0xFE, 0xFE, 0xFE)),
    ("0x1p200", "toward_zero", (0xFE, 0xFE, 0xFE)),
    ("0x1p200", "toward_negative", (0xFE, 0xFE, 0xFE)),
    ("0x1p200", "toward_positive", (0xFE, 0xFE, 0xFF)),
    ("inf", "toward_zero", (0xFE, 0xFE, 0xFF)),
    (3, "toward_positive", (0x81, 0x81, 0x81)),
    (3, "toward_negative", (0x80, 0x80, 0x80)),
]


@pytest.mark.parametrize(("x", "mode", "codes"), POWER_CASES)
@pytest.mark.parametrize("negative", [False, True])
def test_powers_of_two_ignore_signs(x: object, mode: str, codes: tuple[int, ...], negative: bool) -> None:
    value = Value.of(x)
    value = Value(value.magnitude, negative, value.special)
    found = [encode(value, E8, rounding=mode, overflow=rule) for rule in ("sat_finite", "sat_propagate", "ovf_inf")]
    assert tuple(found) == codes
    _, why = decide_rounded(value, E8, Rounding(mode, "sat_finite", "signed"))
    assert ("sign of x is ignored" in why) is negative


def test_described_powers_of_two() -> None:
    # codes 0 to 15; the ends that Inf and NaN take
    for (inf, nan), fmt in POWERS.items():
        has_nan = nan is NaNRule.ALL_ONES
        largest = 15 - inf - has_nan
        infinity = 15 - has_nan if inf else None
        beyond = infinity if inf else 15 if has_nan else largest
        assert encode(1e30, fmt, rounding="nearest_even", overflow="ovf_inf") == beyond
        assert encode("-inf", fmt, rounding="nearest_even", overflow="ovf_inf") == beyond
        assert encode("inf", fmt, rounding="nearest_even", overflow="sat_propagate") == (infinity if inf else largest)
        assert encode(1e30, fmt, rounding="toward_negative", overflow="ovf_inf") == largest
        assert encode(0, fmt, rounding="toward_zero", overflow="ovf_inf") == (15 if has_nan else 0)
        assert encode("nan", fmt, rounding="toward_zero") == (15 if has_nan else 0)


# ---- P3109's own table

Sides = tuple[str, str]
P3109_MODES = ("nearest_even", "nearest_away", "toward_zero", "toward_positive", "toward_negative", "to_odd")


def saturated(x: Fraction | str, low: Fraction, high: Fraction, how: Sides, is_signed: bool, extended: bool) -> object:
    """Return `internal_wSaturate` of imandra-ai/ieee-p3109, specification.iml of 14 July 2026, case by case.

    `x` is rounded, "+inf" or "-inf"; so is the result, which may also be "nan".
    """
    sat, rnd = how
    if not isinstance(x, str) and low <= x <= high:
        return x
    above = x == "+inf" or (not isinstance(x, str) and x > high)
    if sat == "sat_finite":
        return high if above else low
    if sat == "sat_propagate":
        if x == "+inf":
            return "+inf" if extended else high
        if x == "-inf":
            return "-inf" if is_signed and extended else low
        return high if above else low
    if not isinstance(x, str):
        if above and rnd in ("toward_zero", "toward_negative"):
            return high
        if not above and rnd in ("toward_zero", "toward_positive"):
            return low
    if not extended:
        return "nan"
    if above:
        return "+inf"
    return "-inf" if is_signed else "nan"


@pytest.mark.parametrize(
    "fmt", [p3109(6, p, suffix) for p in (1, 3, 5) for suffix in ("se", "sf", "ue", "uf")], **BY_NAME
)
def test_p3109_saturates_alike(fmt: Format) -> None:
    count = finite_count(fmt)
    high = magnitude_of(count - 1, fmt)
    low = -high if fmt.signed else Fraction(0)
    beyond = [magnitude_of(code, fmt) for code in (count - 1, count, count + 1)]
    for rule, mode in product(("sat_finite", "sat_propagate", "ovf_inf"), P3109_MODES):
        for x in ("+inf", "-inf", *beyond, *(-x for x in beyond)):  # exact with an exponent that has no end
            wanted = saturated(x, low, high, (rule, mode), fmt.signed, fmt.has_inf)
            value = decode(encode_rounded(x, fmt, Rounding(mode, rule, "plain")), fmt)
            got = (
                value.special
                if value.special == "nan"
                else "-+"[not value.negative] + value.special
                if value.special
                else value.number
            )
            assert got == wanted, (rule, mode, x)
