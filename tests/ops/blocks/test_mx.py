"""`mx_quantize` against quantize_linear, fractions and the oracle: every rule, element and source, in every tier."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.bits import bits_of
from support.compare import each_tier
from support.exact_scales import exponent_of, scale_exponent

import lowprec as lp
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC

RULES = ("floor", "ceil", "rceil", "even", "nearest")
ONNX_ELEMENTS = (
    "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz",
    "float8_e5m2fnuz",
)  # fmt: skip
ELEMENTS = (*ONNX_ELEMENTS, "int8", "binary8p3se", "binary8p4sf", "float16")
LARGEST = {  # emax, mantissa bits and the largest value, from the OCP, OFP8 and FNUZ documents
    "float4_e2m1fn": (2, 1, Fraction(6)), "float6_e2m3fn": (2, 3, Fraction(15, 2)),
    "float6_e3m2fn": (4, 2, Fraction(28)), "float8_e4m3fn": (8, 3, Fraction(448)),
    "float8_e5m2": (15, 2, Fraction(57344)), "int8": (0, 6, Fraction(127, 64)),
    "float8_e4m3fnuz": (7, 3, Fraction(240)), "float8_e5m2fnuz": (15, 2, Fraction(57344)),
}  # fmt: skip
SOURCES = (np.float32, np.float16, ml_dtypes.bfloat16)


def bytes_of(results: tuple[Any, ...]) -> list[bytes]:
    """Return the bits of results."""
    return [bits_of(result).tobytes() for result in results]


def exponent_of_block(a: Fraction, element: str, rule: str) -> int:
    """Return E of the scale 2**E by the definition of a rule."""
    emax, mantissa_bits, largest = LARGEST[element]
    assert emax == exponent_of(Fraction(largest))
    return scale_exponent(a, Fraction(largest), mantissa_bits, rule)


def wild(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any, specials: bool = False) -> np.ndarray[Any, Any]:
    """Return numbers of all exponents, a block of one exponent or of many; zeros, NaN and Inf among them."""
    low, high = {np.float16: (-26, 15), np.float64: (-1074, 1023)}.get(dtype, (-150, 127))
    exponents = rng.integers(low, high, shape) if rng.random() < 0.4 else rng.integers(low, high, (*shape[:-1], 1))
    with np.errstate(all="ignore"):
        x = (np.ldexp(1 + rng.integers(0, 256, shape) / 256, exponents) * rng.choice([-1, 1], shape)).astype(dtype)
    x[~np.isfinite(x.astype(np.float64))] = 1
    x[rng.random(shape) < 0.05] = -0.0
    if specials:
        for value in (np.nan, -np.nan, np.inf, -np.inf):
            x[rng.random(shape) < 0.02] = value
    return x


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("element", ONNX_ELEMENTS)
def test_elements_are_those_of_quantize_linear(element: str) -> None:
    rng = np.random.default_rng(17)
    for number, dtype in enumerate(SOURCES):
        x = wild(rng, (3, 70, 45), dtype)
        for axis in (0, 1, -1):
            rule = RULES[(number + axis) % 5]
            elements, scales = lp.mx_quantize(x, element, axis=axis, scale_rule=rule)
            wanted = lp.quantize_linear(x, scales, axis=axis, block_size=32, output_dtype=element)
            assert bytes_of((elements,)) == bytes_of((wanted,))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("element", LARGEST)
@pytest.mark.parametrize("rule", RULES)
def test_scales_at_the_boundaries_of_the_rules(rule: str, element: str) -> None:
    largest = float(LARGEST[element][2])
    edges = [1.0, largest, math.sqrt(2), *(1 + k / 256 for k in range(0, 256, 2)), 2 - 2**-6, 2 - 2**-7]
    numbers = np.array([math.ldexp(edge, e) for edge in edges for e in (-149, -130, -127, -126, -3, 0, 90, 120)])
    with np.errstate(over="ignore"):
        middle = numbers.astype(np.float32)
    x = np.concatenate([middle, np.nextafter(middle, np.float32(np.inf)), np.nextafter(middle, np.float32(0))])
    x = np.concatenate(
        [x[np.isfinite(x) & (x > 0)], np.array([2.0**-149, 2.0**127, np.finfo(np.float32).max], np.float32)]
    )
    _, scales = lp.mx_quantize(np.stack([x, -x / 2], 1), element, scale_rule=rule)
    wanted = [exponent_of_block(Fraction(float(a)), element, rule) + 127 for a in x]
    assert bits_of(scales)[:, 0].tolist() == wanted
    _, scales = lp.mx_quantize(x[:, None].astype(np.float64), element, scale_rule=rule)  # composed of casts
    assert bits_of(scales)[:, 0].tolist() == wanted


def test_scales_of_float64_are_exact() -> None:
    x = np.array([2.0**10, np.nextafter(2.0**10, np.inf), np.nextafter(2.0**10, 0), 2.0**-1074, 1.5 * 2.0**1000])
    for rule in RULES:
        wanted = [exponent_of_block(Fraction(float(a)), "float4_e2m1fn", rule) + 127 for a in x]
        elements, scales = lp.mx_quantize(x[:, None], scale_rule=rule)
        assert bits_of(scales)[:, 0].tolist() == wanted
        assert bits_of(elements)[4, 0] == 7


def options_of(number: int, rounding: str, rng: np.random.Generator, rank: int) -> dict[str, Any]:
    """Return options of a call, other ones for each number."""
    options: dict[str, Any] = {
        "axis": int(rng.integers(-rank, rank)), "block_size": int(rng.choice([1, 3, 4, 8])), "rounding": rounding,
        "scale_rule": RULES[number % 5], "specials": ("nan", "ignore")[number // 2 % 2],
    }  # fmt: skip
    if rounding in STOCHASTIC:
        options.update(seed=number, random_bits=int(rng.choice([1, 7, 8, 16, 20, 32])), offset=11)
    return options


@pytest.mark.parametrize("element", ELEMENTS)
def test_against_the_oracle(element: str) -> None:
    exact_blocks = pytest.importorskip("lowprec.reference.exact_blocks")
    rng = np.random.default_rng(3)
    for number, rounding in enumerate(ROUNDINGS):
        dtype = (*SOURCES, np.float64)[number % 4]
        x = wild(rng, ((19,), (5, 4), (2, 5, 2))[number % 3], dtype, specials=number % 2 == 0)
        options = options_of(number, rounding, rng, x.ndim)
        results = lp.mx_quantize(x, element, **options)
        wanted = exact_blocks.mx_blocks(x, element, **options)
        assert bytes_of(results) == bytes_of(wanted), (element, options)
        place = {"axis": options["axis"], "block_size": options["block_size"]}
        values = lp.mx_dequantize(*results, source=element, **place)
        exact = exact_blocks.mx_values(*map(bits_of, wanted), element, **place).view(np.float32)
        np.testing.assert_array_equal(values, exact)
        assert np.array_equal(np.signbit(values[values == 0]), np.signbit(exact[exact == 0]))


def test_the_scales_of_mxint8_do_not_depend_on_the_floating_point_mode(odd_mode: None) -> None:
    elements, scales = np.array([64, -64, 127, 1], np.int8), np.array([0, 1], np.uint8)  # 2**-127, 2**-126
    values = lp.mx_dequantize(elements, scales, block_size=2)
    assert bits_of(values).tolist() == [0x00400000, 0x80400000, 0x00FE0000, 0x00020000]


@pytest.mark.parametrize("block_size", [32, 33])
def test_nan_of_float32_elements_loses_its_payload(block_size: int) -> None:
    n = 150  # whole groups of every tier, and a rest
    elements = np.resize(np.array([0xFFC17674, 0x7F800001, 0xFFFFFFFF, 0x3F800000], np.uint32), n).view(np.float32)
    scales = lp.cast(np.full(-(-n // block_size), 2, np.float32), "float8_e8m0fnu")
    wanted = np.resize(np.array([0xFFC00000, 0x7FC00000, 0xFFC00000, 0x40000000], np.uint32), n)
    for isa in each_tier():
        got = lp.mx_dequantize(elements, scales, block_size=block_size)
        assert bits_of(got).tolist() == wanted.tolist(), isa


def test_every_tier_has_the_same_bits() -> None:
    rng, calls = np.random.default_rng(3), []
    for number in range(3 * len(ROUNDINGS)):
        rounding, element = ROUNDINGS[number % len(ROUNDINGS)], ELEMENTS[number % len(ELEMENTS)]
        x = wild(rng, ((1500,), (33, 70), (4, 30, 9))[number % 3], SOURCES[number % 2], specials=number % 2 == 0)
        options = options_of(number, rounding, rng, x.ndim)
        calls.append((x, element, options))
    found = []
    for _ in each_tier():
        mx = [bytes_of(lp.mx_quantize(x, element, **options)) for x, element, options in calls]
        nvfp4 = [bytes_of(lp.nvfp4_quantize(x, **{**options, "scale_rule": None})) for x, _, options in calls]
        found.append((mx, nvfp4))
    assert all(one == found[0] for one in found)


def test_a_block_longer_than_a_tile_and_many_columns() -> None:
    x = wild(np.random.default_rng(8), (3, 5000), np.float32)
    for axis, block in ((1, 2500), (1, 1025), (0, 2), (1, 1024)):
        elements, scales = lp.mx_quantize(x, axis=axis, block_size=block)
        wanted = lp.quantize_linear(x, scales, axis=axis, block_size=block, output_dtype="float4_e2m1fn")
        assert bytes_of((elements,)) == bytes_of((wanted,))


@pytest.mark.parametrize("quantize", [lp.mx_quantize, lambda x, **options: lp.nvfp4_quantize(x, **options)[:2]])
def test_random_numbers_belong_to_the_elements(quantize: Any) -> None:
    x = np.random.default_rng(2).standard_normal((6, 4096)).astype(np.float32)
    options = {"rounding": "stochastic", "seed": 5, "offset": 100}
    whole = bytes_of(quantize(x, **options))
    assert bytes_of(quantize(np.asfortranarray(x), **options)) == whole
    assert bytes_of(quantize(x[::-1][::-1], **options)) == whole
    assert bytes_of(quantize(x.astype(">f4"), **options)) == whole
    assert bytes_of(quantize(x, **{**options, "seed": 6})) != whole
    for count in (1, 2, 3):
        lp.set_num_threads(count)
        assert bytes_of(quantize(x, **options)) == whole
    packed, _ = quantize(x, packed=True, **options)
    elements, _ = quantize(x, **options)
    assert np.array_equal(packed, lp.pack(elements, "float4_e2m1fn"))


def test_random_numbers_of_pieces() -> None:
    x = np.random.default_rng(4).standard_normal((8, 64)).astype(np.float32)
    elements, _ = lp.mx_quantize(x, rounding="stochastic", seed=9)
    for row in range(8):
        piece, _ = lp.mx_quantize(x[row], rounding="stochastic", seed=9, offset=64 * row)
        assert np.array_equal(bits_of(piece), bits_of(elements)[row])
    columns, _ = lp.mx_quantize(x, axis=0, block_size=8, rounding="stochastic", seed=9)
    exact = np.asarray(lp.mx_quantize(x, axis=0, block_size=8)[1]).astype(np.float32)
    wanted = lp.encode(x / exact, "float4_e2m1fn", rounding="stochastic", seed=9)  # the quotient by a power of two
    assert np.array_equal(bits_of(columns), wanted)
