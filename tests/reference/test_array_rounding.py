"""The array oracle of the rounding rules against the exact one, on codes, ties, and what lies around both."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from support.custom_formats import BY_NAME, float_format, p3109

from lowprec.reference.exact_cast import decide_rounded, encode_rounded
from lowprec.reference.philox import random_word
from lowprec.reference.values import Value, decode, finite_count, magnitude_of
from lowprec.reference.whole_arrays import expected_rounded, rounded_from_float64, rounded_from_integers
from lowprec.spec.formats import FORMATS, NUMERIC, Format, NaNRule, as_format
from lowprec.spec.rounding_modes import OVERFLOWS, ROUNDINGS, Rounding

POWERS = FORMATS["float8_e8m0fnu"]
TARGETS = [
    *(row for row in NUMERIC if row.is_float), p3109(8, 3, "se"), p3109(8, 3, "uf"), p3109(6, 1, "se"),
    p3109(7, 2, "ue"),
    float_format("u3m2", (3, 2, 3), inf=False, nan=NaNRule.NONE, signed=False),
    float_format("e5m5b-90", (5, 5, -90), inf=True, nan=NaNRule.IEEE),  # the smallest value is 2**86
    Format("e4", "E4", 1001, POWERS.kind, 4, 0, 7, False, False, NaNRule.NONE, False, None, 28, "this test"),
]  # fmt: skip
MODES = [(mode, bits) for mode in ROUNDINGS[:8] for bits in (0,)]
MODES += [(mode, bits) for mode in ROUNDINGS[9:] for bits in (1, 8, 16, 32)]
INTEGERS = [0, 1, -1, 3, -7, 2**62 + 1, -(2**63), 2**63 - 1, 2**53 + 1, 448, -465, 61440, 2**24 + 3, 2**40 + 2**16 + 1]


def hard_values(fmt: Format, seed: int) -> np.ndarray:
    """Return float64 values on codes, ties and thresholds of random numbers, one step around them, and the specials."""
    rng, count = np.random.default_rng(seed), finite_count(fmt)
    codes = {0, 1, 2, count - 2, count - 1, count, *rng.integers(0, count, 2).tolist()}
    parts = [Fraction(0), Fraction(1, 2), Fraction(1, 3), Fraction(3, 2**17), Fraction(3, 32), Fraction(1, 2**9)]
    found = []
    for code in sorted(codes):
        low, high = magnitude_of(code, fmt), magnitude_of(code + 1, fmt)
        found += [low + (high - low) * part for part in parts]
    x = np.array([float(value) for value in found if value < 2**1023])
    x = np.concatenate([x, np.nextafter(x, 0), np.nextafter(x, np.inf)])
    ends = [0.0, np.inf, np.nan, 1e308, 5e-324, 1e-40]
    return np.concatenate([x, -x, ends, np.negative(ends)])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", TARGETS, **BY_NAME)
def test_arrays_are_rounded_as_single_values(fmt: Format) -> None:
    rng = np.random.default_rng(5)
    x, whole = hard_values(fmt, 6), np.array(INTEGERS, np.int64)
    for number, (mode, bits) in enumerate(MODES):
        rounding = Rounding(mode, OVERFLOWS[number % 3], "signed", bits)
        for values, convert in ((x, rounded_from_float64), (whole, rounded_from_integers)):
            random = rng.integers(0, 1 << bits, values.shape, np.uint64) if bits else None
            numbers = [None] * values.size if random is None else random.tolist()
            expected = [
                decide_rounded(Value.of(value), fmt, rounding, r)[0]
                for value, r in zip(values.tolist(), numbers, strict=True)
            ]
            assert convert(values, fmt, rounding, random).tolist() == expected, rounding


@pytest.mark.parametrize("bits", [1, 8, 16, 32])
@pytest.mark.parametrize("mode", ["stochastic_a", "stochastic_b", "stochastic_c"])
def test_random_numbers_that_decide(mode: str, bits: int) -> None:
    rounding = Rounding(mode, "sat_finite", "signed", bits)
    lots = sorted(lot for lot in {0, 1, 2, 3, 2**bits - 2, 2**bits - 1} if lot < 2**bits)
    quarters = [4 * lot + quarter for lot in lots for quarter in (1, 2, 3)]  # 2: a tie between two counts of lots
    x = np.array([float(1 + Fraction(quarter, 2 ** (bits + 4))) for quarter in quarters])  # steps of e5m2 are 1/4
    for change in (-1, 0, 1):
        random = np.array(
            [min(max(2**bits - quarter // 4 + change, 0), 2**bits - 1) for quarter in quarters], np.uint64
        )
        expected = [
            decide_rounded(Value.of(value), as_format("float8_e5m2"), rounding, r)[0]
            for value, r in zip(x.tolist(), random.tolist(), strict=True)
        ]
        assert rounded_from_float64(x, as_format("float8_e5m2"), rounding, random).tolist() == expected


@pytest.mark.parametrize("fmt", TARGETS, **BY_NAME)
def test_the_ends_of_every_rule(fmt: Format) -> None:
    x = np.array([0.0, 1e308, 5e-324, np.inf, np.nan])
    x = np.concatenate([x, -x])
    for mode, bits in MODES[:9]:
        for overflow in OVERFLOWS:
            for nan in ("signed", "plain", "zero", "largest"):
                rounding = Rounding(mode, overflow, nan, bits)
                random = np.ones(x.shape, np.uint64) if bits else None
                expected = [encode_rounded(value, fmt, rounding, 1 if bits else None) for value in x.tolist()]
                assert rounded_from_float64(x, fmt, rounding, random).tolist() == expected


@pytest.mark.parametrize(
    "source", ["float8_e5m2", "float16", "int4", "int8", "uint8", "bool", "int64", "uint64", "float64"]
)
def test_codes_are_decoded_and_take_the_number_of_their_place(source: str) -> None:
    fmt = as_format(source)
    codes = (
        np.random.default_rng(1).integers(0, 2**fmt.bits, (3, 40), np.uint64, endpoint=False) if fmt.bits < 64 else None
    )
    if codes is None:
        codes = np.array([0, 1, 2**63, 2**64 - 1, 0x4070_0000_0000_0001, 0x400C << 48], np.uint64).reshape(2, 3)
    codes = codes.astype(fmt.code_dtype)
    rounding = Rounding("stochastic_b", "ovf_inf", "signed", 8)
    found = expected_rounded(codes, source, "float8_e4m3fn", rounding, seed=9, offset=1000)
    expected = [
        encode_rounded(decode(code, fmt), FORMATS["float8_e4m3fn"], rounding, random_word(9, 1000 + n, 8))
        for n, code in enumerate(codes.reshape(-1).tolist())
    ]
    assert found.shape == codes.shape
    assert found.reshape(-1).tolist() == expected


# ---- statistics, with fixed seeds

COUNT = 1 << 19


@pytest.mark.one_in(3)
@pytest.mark.parametrize("mode", ["stochastic_a", "stochastic_b", "stochastic_c"])
def test_the_share_of_the_upper_neighbour(mode: str) -> None:
    parts = [
        *(Fraction(k, 8) for k in range(8)), Fraction(1, 3), Fraction(1, 256), Fraction(255, 256), Fraction(1, 2**16),
    ]  # fmt: skip
    for number, part in enumerate(parts):
        x = np.full(COUNT, float(2 + part))  # between 2 (code 4) and 3 (code 5)
        codes = expected_rounded(
            x.view(np.uint64), "float64", "float4_e2m1fn", Rounding(mode, "sat_finite", "signed", 16), number
        )
        chance = {"stochastic_a": int(part * 2**16), "stochastic_b": int(part * 2**16 + Fraction(1, 2))}
        exact = chance.get(mode, round(part * 2**16)) / 2**16
        sigma = (exact * (1 - exact) / COUNT) ** 0.5
        assert set(np.unique(codes)) <= {4, 5}
        assert abs((codes == 5).mean() - exact) <= 5 * sigma


def test_the_mean_error_of_normal_deviates_is_zero() -> None:
    x = np.random.default_rng(3).standard_normal(COUNT)
    codes = expected_rounded(
        x.view(np.uint64), "float64", "float8_e4m3fn", Rounding("stochastic_b", "sat_finite", "signed", 16), 4
    )
    values = np.array([float(decode(code, "float8_e4m3fn")) for code in range(256)])[codes]
    errors = values - x
    assert abs(errors.mean()) < 5 * errors.std() / COUNT**0.5
