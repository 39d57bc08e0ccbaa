"""The loops that round by any rule against the oracle: every 16-bit source, the edges of every target, every tier."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest
from support.cast_cases import edges
from support.compare import assert_same, each_tier

import lowprec as lp
from lowprec.reference.whole_arrays import expected_rounded
from lowprec.spec.formats import FORMATS, Format
from lowprec.spec.rounding_modes import NAN_RULES, OVERFLOWS, ROUNDINGS, STOCHASTIC, RoundingOptions, check_rounding

SEED, OFFSET = 0x0123_4567_89AB_CDEF, 5
MODES = [mode for mode in ROUNDINGS if mode != STOCHASTIC[0]]
RULES = list(itertools.product(OVERFLOWS, NAN_RULES))
NAMES = (
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn", "float16",
    "bfloat16", "binary8p3se", "binary8p4uf", "binary8p1ue", "binary8p7sf", "binary4p2sf", "binary16p11se",
    "binary16p9uf", "binary16p8se",
)  # fmt: skip
TARGETS = [lp.as_format(name) for name in NAMES]
BY_NAME = {"ids": lambda fmt: fmt.name}
SOURCES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16, "float32": np.float32, "float64": np.float64}


def check(x: np.ndarray, source: Format, target: Format, options: RoundingOptions) -> None:
    """Compare an encoding with the oracle's, in every tier."""
    rounding = check_rounding(options, target, "to")
    stochastic = {"seed": SEED, "offset": OFFSET, "random_bits": options.random_bits} if rounding.random_bits else {}
    codes = x.view(f"u{x.itemsize}")
    expected = expected_rounded(codes, source, target, rounding, stochastic.get("seed"), stochastic.get("offset", 0))
    for isa in each_tier():
        got = lp.encode(x, target, rounding=options.rounding, overflow=options.overflow, nan=options.nan, **stochastic)
        assert_same(got, expected, f"{isa}, {source.name} to {target.name}, {options}", x)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("target", TARGETS, **BY_NAME)
@pytest.mark.parametrize("source", ["float16", "bfloat16"])
def test_every_16_bit_source(source: str, target: Format) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(SOURCES[source])
    for index, mode in enumerate(MODES):
        overflow, nan = RULES[(index * 5 + target.bits + target.mantissa_bits) % len(RULES)]
        check(x, FORMATS[source], target, RoundingOptions(mode, overflow, nan, (16, 8, 3, 17)[index % 4]))


@pytest.mark.parametrize("target", TARGETS, **BY_NAME)
def test_nothing_but_what_becomes_zero(target: Format) -> None:
    """Vectors without any other code: a zero of the sign, where the format has one."""
    tiny = np.float32(max(float(target.smallest_subnormal) / 8, 1e-45))
    for mode, value in itertools.product(MODES, (-0.0, -tiny, tiny)):
        check(np.full(150, value, np.float32), FORMATS["float32"], target, RoundingOptions(mode, None, None, 16))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", TARGETS, **BY_NAME)
def test_edges_from_float32(target: Format, mode: str) -> None:
    with np.errstate(all="ignore"):
        x = edges(target, np.random.default_rng(7)).astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, np.float32(np.inf)), np.nextafter(x, np.float32(-np.inf))])
    every = mode in ("nearest_even", "toward_positive", "stochastic_b")
    for index, (overflow, nan) in enumerate(RULES if every else [(rule, "signed") for rule in OVERFLOWS]):
        bits = (16, 1, 8, 9, 24, 32)[index % 6]
        check(x, FORMATS["float32"], target, RoundingOptions(mode, overflow, nan, bits))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", [*TARGETS[::2], FORMATS["float32"], FORMATS["float64"]], **BY_NAME)
def test_edges_from_float64(target: Format, mode: str) -> None:
    """Near ties by less than float32 holds."""
    with np.errstate(all="ignore"):
        x = edges(target if target.bits <= 16 else TARGETS[0], np.random.default_rng(7))
        if target.bits >= 32:
            base = np.concatenate([np.geomspace(2.0**-150, 2.0**127, 300), [1.0, 2.0**24, 2.0**-126]]).astype(
                np.float32
            )
            wide = base.astype(np.float64)
            ulp = np.spacing(base).astype(np.float64)
            x = np.concatenate([x, wide, wide + ulp / 2, wide + ulp / 4, -wide - ulp * 0.75])
        x = np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), x * (1 + 2.0**-40)])
    for index, overflow in enumerate(OVERFLOWS):
        check(x, FORMATS["float64"], target, RoundingOptions(mode, overflow, "signed", (32, 16, 28)[index]))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("target", ["float8_e5m2", "float16", "bfloat16", "float32", "float64", "float8_e8m0fnu"])
def test_wide_integers(target: str, mode: str) -> None:
    """From 64-bit integers the last bit counts."""
    fmt = FORMATS[target]
    powers = 1 << np.arange(63, dtype=np.uint64)
    odd = np.concatenate(
        [powers, powers | powers >> np.uint64(1), powers | powers >> np.uint64(4), powers - np.uint64(1)]
    )
    odd = np.concatenate(
        [odd, odd + np.uint64(1), odd - (odd > 0), (powers | powers >> np.uint64(53)), [2**64 - 1, 2**63]]
    )
    for x in (odd.astype(np.uint64), np.concatenate([odd, -odd]).astype(np.uint64).view(np.int64)):
        for bits in (16, 32) if mode in STOCHASTIC else (16,):
            check(x, FORMATS[x.dtype.name], fmt, RoundingOptions(mode, "ovf_inf", "signed", bits))


@pytest.mark.parametrize("source", ["int8", "uint16", "int32", "uint32", "bool"])
def test_narrow_integers(source: str) -> None:
    dtype = np.dtype(source)
    x = (
        np.arange(512).astype(dtype)
        if dtype.kind == "b"
        else np.random.default_rng(1).integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 512, dtype, endpoint=True)
    )
    for mode in MODES:
        for target in ("float4_e2m1fn", "float8_e4m3fn", "float32", "binary8p4uf"):
            check(x, FORMATS[source], lp.as_format(target), RoundingOptions(mode, "ovf_inf", "signed", 16))


def test_nearest_even_by_name_changes_nothing() -> None:
    """The rule of ONNX and the rule of that name are two loops."""
    rng = np.random.default_rng(4)
    x = rng.integers(0, 1 << 32, 20000, np.uint32).view(np.float32)
    x[np.isnan(x)] = np.nan  # to float32 they are copied, without keywords
    for target in FORMATS.values():
        if target.is_float and target.has_zero:
            got = lp.encode(x, target, rounding="nearest_even")
            np.testing.assert_array_equal(got, lp.encode(x, target), target.name)
