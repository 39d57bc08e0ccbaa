"""The oracle of the rounding, overflow and NaN rules: neighbours, ties, random numbers, tables typed by hand, laws."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest
from support.custom_formats import BY_NAME, float_format, p3109

from lowprec import reference
from lowprec.reference.exact_cast import cast, decide_rounded, decode, encode, encode_rounded, lots_for_upper, place_of
from lowprec.reference.values import Value, finite_count, magnitude_of
from lowprec.spec.formats import FLOAT16, FORMATS, Format, NaNRule, as_format
from lowprec.spec.rounding_modes import ROUNDINGS, Rounding

DETERMINISTIC = [name for name in ROUNDINGS if not name.startswith("stochastic")]
STOCHASTIC = ["stochastic_a", "stochastic_b", "stochastic_c"]
E8 = FORMATS["float8_e8m0fnu"]
LAWFUL = [
    FORMATS["float8_e4m3fn"], FORMATS["float8_e5m2fnuz"], FORMATS["float4_e2m1fn"], E8, p3109(6, 3, "se"),
    p3109(6, 1, "sf"), p3109(6, 2, "ue"), p3109(5, 5, "uf"),
    float_format("e3m2i", (3, 2, 3), inf=True, nan=NaNRule.IEEE),
]  # fmt: skip


def rule(mode: str, overflow: str = "sat_finite", nan: str = "signed", bits: int = 0) -> Rounding:
    return Rounding(mode, overflow, nan, bits)


# ---- between two neighbours

# the codes of float4_e2m1fn: 0 0 | 1 0.5 | 2 1 | 3 1.5 | 4 2 | 5 3 | 6 4 | 7 6; negative ones are 8 higher
BETWEEN = {  # mode: codes of 2.25, 2.5, 2.75, 3.5, 0.25, 0.01, -0.25, -2.25, -2.5, -3.5
    "nearest_even": [4, 4, 5, 6, 0, 0, 8, 12, 12, 14], "nearest_away": [4, 5, 5, 6, 1, 0, 9, 12, 13, 14],
    "nearest_zero": [4, 4, 5, 5, 0, 0, 8, 12, 12, 13], "toward_zero": [4, 4, 4, 5, 0, 0, 8, 12, 12, 13],
    "away_from_zero": [5, 5, 5, 6, 1, 1, 9, 13, 13, 14], "toward_positive": [5, 5, 5, 6, 1, 1, 8, 12, 12, 13],
    "toward_negative": [4, 4, 4, 5, 0, 0, 9, 13, 13, 14], "to_odd": [5, 5, 5, 5, 1, 1, 9, 13, 13, 13],
}  # fmt: skip


@pytest.mark.parametrize("mode", DETERMINISTIC)
def test_between_neighbours_of_float4(mode: str) -> None:
    x = [2.25, 2.5, 2.75, 3.5, 0.25, 0.01, -0.25, -2.25, -2.5, -3.5]
    assert [encode(value, "float4_e2m1fn", rounding=mode) for value in x] == BETWEEN[mode]


# float16: 1 is 3C00, the next value 1 + 2**-10 is 3C01; the smallest subnormal 2**-24 is 0001; 2**-14 is 0400
def test_between_neighbours_of_float16() -> None:
    tie, odd_tie, just_below = Fraction(2049, 2048), Fraction(2051, 2048), Fraction(2049, 2048) - Fraction(1, 2**60)
    assert [encode_rounded(tie, FLOAT16, rule(mode)) & 1 for mode in DETERMINISTIC] == [0, 1, 0, 0, 1, 1, 0, 1]
    assert [encode_rounded(odd_tie, FLOAT16, rule(mode)) & 3 for mode in DETERMINISTIC] == [2, 2, 1, 1, 2, 2, 1, 1]
    assert [encode_rounded(just_below, FLOAT16, rule(mode)) & 1 for mode in DETERMINISTIC] == [0, 0, 0, 0, 1, 1, 0, 1]
    below = Fraction(1, 2**14) - Fraction(1, 2**25)  # half-way between 03FF and 0400, where subnormals end
    found = [encode_rounded(below, FLOAT16, rule(mode)) for mode in DETERMINISTIC]
    assert found == [0x400, 0x400, 0x3FF, 0x3FF, 0x400, 0x400, 0x3FF, 0x3FF]
    half = Fraction(1, 2**25)  # of the smallest subnormal
    assert [encode_rounded(half, FLOAT16, rule(mode)) for mode in DETERMINISTIC] == [0, 1, 0, 0, 1, 1, 0, 1]


def test_odd_and_even_are_those_of_the_code_between_powers_of_two() -> None:
    # codes of 2**e: e + 127. At a tie, 1.5 * 2**e, the even code wins: 1.5 and 3 become 2 (80), 6 becomes 8 (82)
    x = [1.5, 3.0, 6.0, 1.25]
    assert [encode(value, E8, rounding="nearest_even") for value in x] == [0x80, 0x80, 0x82, 0x7F]
    assert [encode(value, E8, rounding="to_odd") for value in x] == [0x7F, 0x81, 0x81, 0x7F]
    assert [encode(value, E8, round_mode="nearest") for value in x] == [0x80, 0x81, 0x82, 0x7F]  # the rule of ONNX
    signed = p3109(6, 1, "se")  # 1 sign bit, 5 exponent bits, no mantissa, bias 16: code 16 is 1, 17 is 2, 18 is 4
    assert [encode(value, signed, rounding="nearest_even") for value in (1.5, 3.0, -3.0)] == [16, 18, 50]
    assert encode(Fraction(1, 2**16), signed, rounding="nearest_even") == 0  # between 0 and the code 1, 2**-15


# ---- random numbers
def test_stochastic_thresholds_by_hand() -> None:
    # 2.3 lies 3/10 of the way from 2 (code 4) to 3 (code 5). N = 3: a: floor(2.4) = 2 of 8, b: floor(2.4 + 1/2) = 2,
    # c: 2. 2.32: 2.56 of 8: a 2, b 3, c 3. 2.0625: 1/16, 0.5 of 8: a 0, b 1, c 0. 2.1875: 3/16, 1.5 of 8: a 1, b 2, c 2
    cases = {"2.3": (2, 2, 2), "2.32": (2, 3, 3), "2.0625": (0, 1, 0), "2.1875": (1, 2, 2), "2.999": (7, 8, 8)}
    for x, lots in cases.items():
        for mode, count in zip(STOCHASTIC, lots, strict=True):
            found = [encode(x, "float4_e2m1fn", rounding=mode, random=r, random_bits=3) for r in range(8)]
            assert found == [4] * (8 - count) + [5] * count, (x, mode)
    both = [encode("2.3", "float4_e2m1fn", rounding="stochastic", random=r, random_bits=3) for r in range(8)]
    assert both == [4] * 6 + [5] * 2


FRACTIONS = [
    *(Fraction(k, 16) for k in range(16)), Fraction(1, 3), Fraction(2, 7), Fraction(1, 2**9), Fraction(3, 2**9),
    1 - Fraction(1, 2**9), Fraction(1, 2**40), 1 - Fraction(1, 2**40), Fraction(5, 64), Fraction(255, 512),
]  # fmt: skip


@pytest.mark.parametrize("bits", [1, 4, 5, 6, 7, 8])
def test_the_probability_of_the_upper_neighbour_is_exact(bits: int) -> None:
    # stochastic_b: the fraction rounded to N bits, half up; by counting all random numbers
    for fraction in FRACTIONS:
        for sign in (1, -1):
            x = sign * (2 + fraction)  # between 2 and 3
            found = {
                mode: sum(
                    encode_rounded(x, FORMATS["float4_e2m1fn"], rule(mode, bits=bits), r) & 7 == 5
                    for r in range(2**bits)
                )
                for mode in STOCHASTIC
            }
            assert found["stochastic_b"] == int(fraction * 2**bits + Fraction(1, 2))
            assert found["stochastic_a"] == int(fraction * 2**bits)
            assert found["stochastic_c"] == round(fraction * 2**bits)
            assert found == {mode: lots_for_upper(fraction, rule(mode, bits=bits)) for mode in STOCHASTIC}
            if (fraction * 2**bits).denominator == 1:
                assert len(set(found.values())) == 1  # a, b and c are one rule for what N bits hold


# ---- laws
def landmarks(fmt: Format) -> list[Fraction]:
    """Return magnitudes: zero, values, ties, what is near them, and what lies beyond the ends."""
    count = finite_count(fmt)
    codes = sorted({*range(min(6, count)), *range(max(count - 5, 0), count + 2), *range(0, count, max(7, count // 40))})
    parts = (Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(1, 2**40), 1 - Fraction(1, 2**40))
    lows = [0 if code < 0 else magnitude_of(code, fmt) for code in codes]
    highs = [magnitude_of(code + 1, fmt) for code in codes]
    found = [low + (high - low) * part for low, high in zip(lows, highs, strict=True) for part in parts]
    return sorted({*found, magnitude_of(0, fmt) / 3, magnitude_of(count, fmt) * 5})


@pytest.mark.parametrize("fmt", [*LAWFUL, FORMATS["float64"], FORMATS["bfloat16"]], **BY_NAME)
def test_places_are_those_that_enclose_the_magnitude(fmt: Format) -> None:
    codes = range(1, 1 << fmt.bits, max(1, (1 << fmt.bits) // 50))
    for code in [*codes, -3] if not fmt.has_zero else codes:
        low, high = magnitude_of(code, fmt), magnitude_of(code + 1, fmt)
        for part in (Fraction(0), Fraction(1, 3), 1 - Fraction(1, 2**99)):
            assert place_of(low + part * (high - low), fmt) == (code, part)


# ---- without the new rules, and gfloat
@pytest.mark.parametrize("name", [row.name for row in FORMATS.values() if row.is_float and row.has_zero])
def test_nearest_even_alone_is_cast(name: str) -> None:
    fmt = as_format(name)
    x = [*landmarks(fmt)[::3], "inf", "-inf", "nan", "-nan", 0.0, -0.0]
    x += [-mark for mark in landmarks(fmt)[::3]]
    assert [encode(value, fmt, rounding="nearest_even") for value in x] == [encode(value, fmt) for value in x]
    off = [encode(value, fmt, saturate=False) for value in x]
    assert [encode(value, fmt, overflow="ovf_inf") for value in x] == off


# ---- by names
@pytest.mark.parametrize("mode", ROUNDINGS)
@pytest.mark.parametrize("overflow", [None, "sat_finite", "ovf_inf"])
def test_names_stand_for_the_rules(mode: str, overflow: str | None) -> None:
    random = 1 if "stochastic" in mode else None
    resolved = "stochastic_b" if mode == "stochastic" else mode
    rules = rule(resolved, overflow or "sat_finite", "signed", 2 if random else 0)
    for value in ("0.3", 2.5, -464, 1e6, "-nan", "inf", 0):
        for fmt in ("float8_e4m3fn", "FLOAT8E5M2"):
            named = {"overflow": overflow, "random_bits": 2, "random": random}
            expected = encode_rounded(value, as_format(fmt), rules, random)
            assert reference.encode_rounded(value, fmt, mode, **named) == expected
            assert reference.decide_rounded(value, fmt, mode, **named)[0] == expected


OUTWARD = ("nearest_even", "nearest_away", "nearest_zero", "away_from_zero")
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
    "float16": ((0x7E00, 0xFE00), (0x7E00, 0x7E00), 0x7BFF), "float8_e5m2": ((0x7E, 0xFE), (0x7E, 0x7E), 0x7B),
    "float8_e4m3fn": ((0x7F, 0xFF), (0x7F, 0x7F), 0x7E), "float8_e4m3fnuz": ((0x80, 0x80), (0x80, 0x80), 0x7F),
    "float8_e8m0fnu": ((0xFF, 0xFF), (0xFF, 0xFF), 0xFE), "float6_e2m3fn": ((0x20, 0x00), (0x00, 0x00), 0x1F),
    "float4_e2m1fn": ((0x8, 0x0), (0x0, 0x0), 0x7),
}  # fmt: skip


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
    (0, "nearest_even", (0, 0, 0xFF)), (-0.0, "toward_positive", (0, 0, 0xFF)),
    ("0x1p-128", "nearest_even", (0, 0, 0xFF)),  # a power of two below the smallest
    ("0x1p-128", "away_from_zero", (0, 0, 0xFF)), ("0x1.8p-128", "toward_zero", (0, 0, 0xFF)),
    ("0x1.8p-128", "nearest_even", (0, 0, 0)),  # a tie; the code of 2**-128 would be -1, which is odd
    ("0x1.8p-128", "nearest_zero", (0, 0, 0xFF)), ("0x1.4p-128", "toward_positive", (0, 0, 0)),
    ("0x1.4p-128", "toward_negative", (0, 0, 0xFF)), ("0x1.4p-128", "to_odd", (0, 0, 0xFF)),
    ("0x1p127", "away_from_zero", (0xFE, 0xFE, 0xFE)),
    ("0x1.8p127", "nearest_even", (0xFE, 0xFE, 0xFE)),  # a tie; FE is even
    ("0x1.8p127", "nearest_away", (0xFE, 0xFE, 0xFF)), ("0x1.8p127", "to_odd", (0xFE, 0xFE, 0xFF)),
    ("0x1.8p127", "toward_zero", (0xFE, 0xFE, 0xFE)), ("0x1p200", "toward_zero", (0xFE, 0xFE, 0xFE)),
    ("0x1p200", "toward_negative", (0xFE, 0xFE, 0xFE)), ("0x1p200", "toward_positive", (0xFE, 0xFE, 0xFF)),
    ("inf", "toward_zero", (0xFE, 0xFE, 0xFF)), (3, "toward_positive", (0x81, 0x81, 0x81)),
    (3, "toward_negative", (0x80, 0x80, 0x80)),
]  # fmt: skip


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
