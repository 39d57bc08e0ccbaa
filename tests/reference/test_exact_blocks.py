"""The oracle of MX blocks: scale rules, ends and specials typed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from lowprec.reference.exact_blocks import mx_blocks, mx_exponent, mx_values
from lowprec.reference.exact_cast import encode_rounded
from lowprec.reference.philox import random_word
from lowprec.spec.formats import FORMATS
from lowprec.spec.rounding_modes import Rounding

RULES = ("floor", "ceil", "rceil", "even", "nearest")

# E of 2**E by the rules, in their order; the largest values are 6, 448, 57344, 7.5, 28 and 127/64
EXPONENTS = [
    ("float4_e2m1fn", 4, (0, 0, 0, 0, 0)),
    ("float4_e2m1fn", 5, (0, 1, 0, 0, 0)),  # 5 is half-way from 4 to 6, which is away; log2 5 = 2.32
    ("float4_e2m1fn", "5.66", (0, 1, 0, 0, 1)),  # the square root of 2 times 4 is 5.657
    ("float4_e2m1fn", "5.65", (0, 1, 0, 0, 0)),
    ("float4_e2m1fn", 6, (0, 1, 0, 0, 1)),
    ("float4_e2m1fn", "6.001", (0, 1, 1, 0, 1)),
    ("float4_e2m1fn", 7, (0, 1, 1, 1, 1)),  # a tie between 6 and 8: away
    ("float4_e2m1fn", "6.99", (0, 1, 1, 0, 1)),
    ("float8_e4m3fn", 448, (0, 1, 0, 0, 1)),
    ("float8_e4m3fn", 449, (0, 1, 1, 0, 1)),
    ("float8_e4m3fn", 496, (0, 1, 1, 1, 1)),  # 3 mantissa bits: 480 and 512 are next to it
    ("float8_e5m2", "0x1.cp-3", (-18, -17, -18, -18, -17)),
    ("float6_e2m3fn", "7.5", (0, 1, 0, 0, 1)),
    ("float6_e3m2fn", "28.5", (0, 1, 1, 0, 1)),
    ("int8", "127/64", (0, 1, 0, 0, 1)),  # 6 mantissa bits: 127/64 is a value of the format, not rounded to 2
    ("int8", 1, (0, 0, 0, 0, 0)),
]


@pytest.mark.parametrize(("element", "largest", "exponents"), EXPONENTS)
def test_scale_rules_by_hand(element: str, largest: object, exponents: tuple[int, ...]) -> None:
    text = str(largest)
    number = Fraction(float.fromhex(text)) if text.startswith("0x") else Fraction(text)
    assert tuple(mx_exponent(number, element, rule) for rule in RULES) == exponents
    moved = tuple(mx_exponent(number / 2**70, element, rule) for rule in RULES)
    assert moved == tuple(exponent - 70 for exponent in exponents)


def test_elements_and_scales_by_hand() -> None:
    # floor: 13 gives 2**(3 - 2) = 2, code 80; 0.15 -0.5 2.5 6.5 become 0, -0.5, 2 and 6; -0 keeps its sign
    elements, scales = mx_blocks(np.array([0.3, -1, 5, 13, 0, -0.0, 0, 0, 1e-30, 2]), block_size=4)
    assert scales.tolist() == [0x80, 0x00, 0x7E]
    assert elements.tolist() == [0, 9, 4, 7, 0, 8, 0, 0, 0, 6]
    values = mx_values(elements, scales, block_size=4).view(np.float32)
    assert values.tolist() == [0, -1, 4, 12, 0, 0, 0, 0, 0, 2]
    assert np.signbit(values).tolist() == [False, True] + [False] * 3 + [True] + [False] * 4
    # MXINT8: 127/64 is the largest; 2 is clamped; the tie 0.5/64 goes to even
    elements, scales = mx_blocks(np.array([1.0, -1.5, 1.99, 0.5 / 64, -1.5 / 64, -0.0]), "int8")
    assert (elements.tolist(), scales.tolist()) == ([64, 256 - 96, 127, 0, 256 - 2, 0], [0x7F])
    thirds = np.array([1.0, 1 / 3, -1 / 3])  # 21.33 units
    modes = "toward_positive", "toward_negative", "to_odd"
    up, down, odd = (mx_blocks(thirds, "int8", rounding=mode)[0] for mode in modes)
    assert (up.tolist(), down.tolist(), odd.tolist()) == ([64, 22, 235], [64, 21, 234], [64, 21, 235])
    elements, _ = mx_blocks(np.array([-1.999, 1.0]), "int8")
    assert elements.tolist() == [256 - 127, 64]
    assert mx_values(elements, np.array([0x80]), "int8").view(np.float32).tolist() == [-3.96875, 2]


def test_ends_of_the_scale() -> None:
    elements, scales = mx_blocks(np.array([2.0**-149, -(2.0**-127), 2.0**-130]), block_size=1)
    assert (scales.tolist(), elements.tolist()) == ([0, 0, 0], [0, 0xA, 0])
    x = np.array([1e308, -1.0])
    elements, scales = mx_blocks(x)
    assert (scales.tolist(), elements.tolist()) == ([0xFE], [7, 8])
    # element * 2**127 beyond float32 is Inf
    assert np.isinf(mx_values(np.array([7]), np.array([0xFE])).view(np.float32)).all()


@pytest.mark.parametrize("special", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("element", ["float4_e2m1fn", "float8_e4m3fn", "int8"])
def test_specials(special: float, element: str) -> None:
    x = np.array([1.0, special, -0.5, 2.0])
    elements, scales = mx_blocks(x, element, block_size=2)
    assert scales[0] == 0xFF
    assert elements[:2].tolist() == [0, 0]
    assert (
        np.isnan(mx_values(elements, scales, element, block_size=2).view(np.float32)).tolist()
        == [True] * 2 + [False] * 2
    )
    ignored, scales = mx_blocks(x, element, block_size=2, specials="ignore")
    assert (
        ignored[[0, 2, 3]].tolist()
        == mx_blocks(np.array([1.0, 0, -0.5, 2]), element, block_size=2)[0][[0, 2, 3]].tolist()
    )
    found = {  # NaN, -NaN, Inf, -Inf
        "float4_e2m1fn": [8, 0, 7, 15],
        "float8_e4m3fn": [0x7F, 0xFF, 0x7E, 0xFE],
        "int8": [0, 0, 127, 129],
    }[element]
    index = 2 * np.isinf(special) + np.signbit(special)
    assert ignored[1] == found[int(index)]


def test_random_numbers_belong_to_the_places_in_the_array() -> None:
    x = np.random.default_rng(0).uniform(-6, 6, (6, 5))
    x[::3] = 6.0  # of every block of 3 along axis 0 the largest, so that all scales are 1
    elements, scales = mx_blocks(x, axis=0, block_size=3, rounding="stochastic", seed=4, random_bits=8, offset=1000)
    assert scales.shape == (2, 5)
    assert (scales == 127).all()
    rules = Rounding("stochastic_b", "sat_finite", "signed", 8)
    expected = [
        encode_rounded(value, FORMATS["float4_e2m1fn"], rules, random_word(4, 1000 + n, 8))
        for n, value in enumerate(x.reshape(-1).tolist())
    ]
    assert elements.reshape(-1).tolist() == expected


def test_blocks_along_an_axis_are_those_of_the_moved_array() -> None:
    x = np.random.default_rng(1).standard_normal((4, 7, 3))
    for axis in (0, 1, 2):
        elements, scales = mx_blocks(x, "float8_e5m2", axis=axis, block_size=3, scale_rule="even")
        moved = mx_blocks(np.moveaxis(x, axis, -1), "float8_e5m2", block_size=3, scale_rule="even")
        assert np.array_equal(np.moveaxis(elements, axis, -1), moved[0])
        assert np.array_equal(np.moveaxis(scales, axis, -1), moved[1])
        assert scales.shape[axis] == -(-x.shape[axis] // 3)


# ---- torchao 0.18.0
