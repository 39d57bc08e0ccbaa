"""Rounding beyond ONNX by the array-API back end against the exact oracle, in NumPy, array_api_strict and torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import array_api_compat.numpy
import numpy as np
import pytest
from support.bits import bits_of
from support.cast_cases import edges
from support.compare import assert_same

import lowprec as lp
from lowprec import reference
from lowprec.backends import array_api
from lowprec.backends.array_api import rounding as array_api_rounding
from lowprec.backends.array_api.cast import Library
from lowprec.plans.cast_plan import make_plan
from lowprec.plans.plan import Method, Plan
from lowprec.reference.philox import random_word
from lowprec.reference.whole_arrays import expected_rounded
from lowprec.spec.formats import Format
from lowprec.spec.operator_versions import cast_rules
from lowprec.spec.rounding_modes import NAN_RULES, OVERFLOWS, ROUNDINGS, STOCHASTIC, Rounding, Stream
from lowprec.spec.special_values import limits_of

strict = pytest.importorskip("array_api_strict")
MODES = [mode for mode in ROUNDINGS if mode != "stochastic"]
STREAM = Stream(2**64 - 3, 11)
NARROW = ("float16", "bfloat16", "int16", "float8_e5m2", "float6_e3m2fn", "uint4", "bool", "binary8p1ue")
TARGETS = (
    "float8_e4m3fn", "float8_e5m2", "float8_e5m2fnuz", "float4_e2m1fn", "float8_e8m0fnu", "bfloat16", "binary8p3se",
    "binary8p1ue", "binary6p2uf", "binary12p5se",
)  # fmt: skip


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def library(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Give the namespace of each library, the strict one held to array API 2023.12."""
    pytest.importorskip(request.param)
    with strict.ArrayAPIStrictFlags(api_version="2023.12"), np.errstate(all="raise"):
        if request.param == "array_api_strict":
            yield strict
        elif request.param == "numpy":
            yield array_api_compat.numpy
        else:
            yield pytest.importorskip("array_api_compat.torch")


def held(codes: np.ndarray, fmt: Format, xp: Any) -> Any:
    """Return codes as `cast_array` takes the format: values of what the library computes with, codes else."""
    values = codes if (fmt.is_float and fmt.bits <= 16) or fmt.bits < 8 else codes.view(fmt.dtype)
    return xp.asarray(values.copy())


def plan_of(source: Format, target: Format, rounding: Rounding) -> Plan:
    return Plan(Method.ROUND, source, target, rounding=rounding, limits=limits_of(target, rounding))


def check(codes: np.ndarray, source: Format, target: Format, rounding: Rounding, xp: Any) -> None:
    """Compare the conversion of an array of codes with the oracle."""
    stream = STREAM if rounding.random_bits else None
    found = bits_of(array_api.cast_array(held(codes, source, xp), plan_of(source, target, rounding), xp, stream=stream))
    wanted = expected_rounded(codes, source, target, rounding, *(stream or ()))
    assert_same(found, wanted, f"{source.name} -> {target.name} {rounding}", codes)


def rules(mode: str, number: int) -> Rounding:
    """Return a rule of the mode; overflow, NaN rule and random bits vary with the number."""
    bits = (1, 7, 16, 23, 32)[number % 5] if mode in STOCHASTIC else 0
    return Rounding(mode, OVERFLOWS[number % 3], NAN_RULES[number % 4], bits)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", NARROW)
def test_every_code_of_narrow_sources(library: Any, name: str) -> None:
    source = lp.as_format(name)
    codes = np.arange(2 if name == "bool" else 1 << source.bits).astype(source.code_dtype)
    targets = TARGETS if library is array_api_compat.numpy and source.bits <= 8 else TARGETS[:3] + TARGETS[4:7:2]
    for place, target in enumerate(targets):
        modes = MODES if library is array_api_compat.numpy else MODES[place % 3 :: 3]
        for number, mode in enumerate(modes, place):
            check(codes, source, lp.as_format(target), rules(mode, number), library)


WIDE = (*TARGETS, "float16", "float32", "float64")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", WIDE)
def test_float64_at_the_edges(library: Any, name: str) -> None:
    target, source = lp.as_format(name), lp.as_format("float64")
    with np.errstate(all="ignore"):
        codes = edges(target, np.random.default_rng(7)).view(np.uint64)
    for mode in MODES:
        for number in range(5 if mode in STOCHASTIC else 3):
            check(codes, source, target, rules(mode, number), library)


@pytest.mark.parametrize("name", ["float32", "int32"])
def test_sources_of_32_bits(library: Any, name: str) -> None:
    codes = np.random.default_rng(5).integers(0, 1 << 32, 5000, np.uint64).astype(np.uint32)
    for number, target in enumerate(WIDE):
        check(codes, lp.as_format(name), lp.as_format(target), rules(MODES[number % len(MODES)], number), library)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_no_bit_of_64_bit_integers_is_lost(library: Any, name: str) -> None:
    if library is not array_api_compat.numpy and library is not strict and name == "uint64":
        pytest.skip("torch computes with int64 alone")
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 65, 600)
    drawn = rng.integers(0, 1 << 64, 600, np.uint64, endpoint=False) >> (64 - lengths).astype(np.uint64)
    cleared = drawn & ~((np.uint64(1) << rng.integers(0, 64, 600).astype(np.uint64)) - np.uint64(1))
    codes = np.concatenate([drawn, cleared, cleared + np.uint64(1), cleared - np.uint64(1)])
    for target in WIDE:
        for mode in MODES:
            for number in (2, 4) if mode in STOCHASTIC else (0,):
                check(codes, lp.as_format(name), lp.as_format(target), rules(mode, number), library)


SIZES = {
    "unsigned": lp.float_format("u", exponent_bits=4, mantissa_bits=3, signed=False, nan="all-ones"),
    "unsigned, no NaN": lp.float_format("v", exponent_bits=4, mantissa_bits=3, signed=False, inf=False, nan="none"),
    "no mantissa": lp.float_format("m0", exponent_bits=5, mantissa_bits=0, nan="all-ones"),
    "subnormal floats": lp.float_format("tiny", exponent_bits=5, mantissa_bits=10, bias=138),
    "large": lp.float_format("large", exponent_bits=4, mantissa_bits=11, bias=-100, inf=False, nan="none"),
    "all subnormal": lp.float_format("flat", exponent_bits=1, mantissa_bits=14, bias=0, inf=False, nan="none"),
    "powers of two": lp.float_format(
        "powers", exponent_bits=5, mantissa_bits=0, bias=20, signed=False, inf=False, nan="none", zero=False
    ),
}


@pytest.mark.one_in(7)
@pytest.mark.parametrize("target", SIZES.values(), ids=SIZES)
def test_described_targets(target: Format) -> None:
    xp = array_api_compat.numpy
    codes = edges(target, np.random.default_rng(2)).view(np.uint64)
    integers = np.array([0, 1, 5, 2**40 + 3, 2**63 + 2**20 + 1, 2**64 - 1, 2**64 - 3], np.uint64)
    for mode in MODES:
        for number in range(12):
            check(codes, lp.as_format("float64"), target, rules(mode, number), xp)
        check(integers, lp.as_format("int64"), target, rules(mode, 2), xp)
        check(integers, lp.as_format("uint64"), target, rules(mode, 4), xp)
    if target.bits > 8:
        every = np.arange(1 << target.bits, dtype=np.uint16)
        check(every, target, lp.as_format("float32"), Rounding("to_odd", "ovf_inf", "signed"), xp)


@pytest.mark.parametrize("saturate", [True, False])
@pytest.mark.parametrize("target", SIZES.values(), ids=SIZES)
def test_described_targets_by_the_rules_of_onnx(target: Format, saturate: bool) -> None:
    saturate = saturate or not target.has_zero  # without zero, Inf and NaN there is nothing but saturation
    x, source = edges(target, np.random.default_rng(2)), lp.as_format("float64")
    plan = make_plan(source, target, cast_rules(source, target, saturate))
    found = array_api.cast_array(x, plan, array_api_compat.numpy)
    np.testing.assert_array_equal(found, [reference.encode(value, target, saturate=saturate) for value in x.tolist()])


@pytest.mark.parametrize(
    ("seed", "offset", "bits"),
    [(0, 0, 16), (1, 3, 8), (2**32, 5, 1), (2**64 - 1, 2**63 - 2, 32), (2**63, 2**63 - 1, 13), (9, 7, 17)],
)
def test_random_numbers(library: Any, seed: int, offset: int, bits: int) -> None:
    # `random_word` takes places below 2**63 only, so that the last of a stream are counted from its words.
    found = array_api_rounding.random_numbers(
        Stream(seed, offset), bits, (2, 1), Library(library, array_api_compat.device(library.asarray(0)))
    )
    wanted = [random_word(seed, min(offset + n, 2**63 - 1), bits) for n in range(2)]
    assert np.asarray(found).reshape(-1).tolist()[: 2**63 - offset] == wanted[: 2**63 - offset]
