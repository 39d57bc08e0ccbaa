"""The oracle of MX and NVFP4 blocks: rules, ends and specials by hand, the bits of ModelOpt and Transformer Engine."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from lowprec.reference.exact_blocks import mx_blocks, mx_exponent, mx_values, nvfp4_blocks, nvfp4_values
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
    ("float4_e2m1fn", "5.65", (0, 1, 0, 0, 0)), ("float4_e2m1fn", 6, (0, 1, 0, 0, 1)),
    ("float4_e2m1fn", "6.001", (0, 1, 1, 0, 1)),
    ("float4_e2m1fn", 7, (0, 1, 1, 1, 1)),  # a tie between 6 and 8: away
    ("float4_e2m1fn", "6.99", (0, 1, 1, 0, 1)), ("float8_e4m3fn", 448, (0, 1, 0, 0, 1)),
    ("float8_e4m3fn", 449, (0, 1, 1, 0, 1)),
    ("float8_e4m3fn", 496, (0, 1, 1, 1, 1)),  # 3 mantissa bits: 480 and 512 are next to it
    ("float8_e5m2", "0x1.cp-3", (-18, -17, -18, -18, -17)), ("float6_e2m3fn", "7.5", (0, 1, 0, 0, 1)),
    ("float6_e3m2fn", "28.5", (0, 1, 1, 0, 1)),
    ("int8", "127/64", (0, 1, 0, 0, 1)),  # 6 mantissa bits: 127/64 is a value of the format, not rounded to 2
    ("int8", 1, (0, 0, 0, 0, 0)),
]  # fmt: skip


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
        "float4_e2m1fn": [8, 0, 7, 15], "float8_e4m3fn": [0x7F, 0xFF, 0x7E, 0xFE], "int8": [0, 0, 127, 129],
    }[element]  # fmt: skip
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
def test_by_hand() -> None:
    # 96 / 6 / 0.25 = 64, code 68: steps of 16; 3 / 6 / 0.25 = 2, code 40: steps of 0.5
    x = np.array([0.5, -1, 3, 0.25, 96, 0, -24, 48, 0, -0.0, 0])
    elements, scales, scale = nvfp4_blocks(x, block_size=4, global_scale=0.25)
    assert scales.tolist() == [0x40, 0x68, 0x00]
    assert elements.tolist() == [2, 12, 7, 1, 7, 0, 11, 5, 0, 8, 0]
    assert nvfp4_values(elements, scales, scale, block_size=4).view(np.float32).tolist() == x.tolist()
    _, scales, scale = nvfp4_blocks(np.array([2688.0, 1, 1e-9]), block_size=1)
    # 1/6 is nearest to 11 * 2**-6 (code 0x23 is 1.375 * 2**-3); 1e-9 has the least scale
    assert (scale, scales.tolist()) == (1, [0x7E, 0x23, 0x01])
    assert nvfp4_blocks(np.zeros(3))[2] == 1
    assert nvfp4_blocks(np.array([2.0**-149]))[2] == 2.0**-149


def test_specials_and_a_step_of_zero() -> None:
    x = np.array([1.0, np.nan, -6, 2, -np.inf, np.nan])
    elements, scales, scale = nvfp4_blocks(x, block_size=2)
    assert (elements.tolist(), scales.tolist()) == ([0, 0, 15, 4, 0, 0], [0x7F, 0x7E, 0x7F])
    values = nvfp4_values(elements, scales, scale, block_size=2).view(np.float32)
    assert np.isnan(values).tolist() == [True, True, False, False, True, True]
    elements, scales, _ = nvfp4_blocks(x, block_size=2, specials="ignore", global_scale=1)
    assert (elements.tolist(), scales.tolist()) == ([7, 8, 15, 4, 15, 8], [0x23, 0x38, 0x00])
    # a / 6 is 0 in float32, the scale 01 at least, and 2**-149 * 2**-9 is 0: zeros
    elements, scales, _ = nvfp4_blocks(np.array([2.0**-149, -(2.0**-149)]), global_scale=2.0**-149)
    assert (elements.tolist(), scales.tolist()) == ([0, 8], [0x01])
    assert nvfp4_blocks(np.array([1e300, 1]), block_size=1)[1].tolist() == [0x7F, 0x7E]  # float32 first: Inf


# A tensor on whose ties the rules part: the largest value, 15 zeros, three blocks next to ties of scale and elements
HEX = """
1.0c7b62p+0 1.df6e9ep-14 1.32d628p-18 1.cc413cp-17 1.7f8bb2p-16 1.0c7b64p-15 1.7f8bb2p-15 1.0c7b64p-14 1.7f8bb2p-14
1.32d626p-18 1.cc413ap-17 1.7f8bb0p-16 1.0c7b62p-15 1.7f8bb0p-15 1.0c7b62p-14 1.7f8bb0p-14 -1.7f8bb2p-15
1.161214p-12 1.65f9d8p-17 1.0c7b62p-15 1.bf784ep-15 1.393a9cp-14 1.bf784ep-14 1.393a9cp-13 1.bf784ep-13
1.65f9d6p-17 1.0c7b60p-15 1.bf784cp-15 1.393a9ap-14 1.bf784cp-14 1.393a9ap-13 1.bf784cp-13 -1.bf784ep-14
1.293f76p-2 1.991d8ap-7 1.32d628p-5 1.ff64ecp-5 1.65f9d8p-4 1.ff64ecp-4 1.65f9d8p-3 1.ff64ecp-3
1.991d88p-7 1.32d626p-5 1.ff64eap-5 1.65f9d6p-4 1.ff64eap-4 1.65f9d6p-3 1.ff64eap-3 -1.ff64ecp-4
"""
NUMBERS = [float.fromhex(text) for text in HEX.split()]
TIES = np.array([NUMBERS[0], *[0.0] * 15, *NUMBERS[1:]], np.float32)
BITS = {  # elements and scales of: torchao 0.18.0; NVFP4QTensor of NVIDIA/Model-Optimizer, commit 211c6b34;
    # reference_nvfp4.py of NVIDIA/TransformerEngine, commit d0067d0d; each run on these numbers with torch 2.13.0
    "torchao": ("7000000000000000712345670224466d701234560123456c702244660123456c", "7e141f70"),
    "modelopt": ("7000000000000000702244660123456c702234560123456c712345671234567d", "7e141e6f"),
    "transformer_engine": ("7000000000000000701234560123456c701234560123456c702244660123456c", "7e151f70"),
    None: ("7000000000000000702244660123456c701234560123456c702244660123456c", "7e141f70"),
}


@pytest.mark.parametrize("rule", BITS)
def test_the_bits_of_others(rule: str | None) -> None:
    elements, scales, _ = nvfp4_blocks(TIES, scale_rule=rule)
    assert ("".join(f"{code:x}" for code in elements), scales.tobytes().hex()) == BITS[rule]


def test_zero_blocks_of_others() -> None:
    x = np.array([2688.0, 0, -0.0, 0])
    zero = {None: (0x00, [0, 8, 0]), "torchao": (0x08, [0, 8, 0]), "modelopt": (0x38, [0, 0, 0])}
    zero["transformer_engine"] = zero[None]
    for rule, (scale, codes) in zero.items():
        elements, scales, _ = nvfp4_blocks(x, block_size=1, scale_rule=rule)
        assert elements[1:].tolist() == codes
        assert set(scales[1:].tolist()) == {scale}
    # the scale of 1e-9 rounds to 0: Transformer Engine multiplies by the largest float32 then, ModelOpt has 01
    found = {rule: nvfp4_blocks(np.array([2688.0, 1e-9]), block_size=1, scale_rule=rule) for rule in zero}
    assert {rule: (e.tolist()[1], s.tolist()[1]) for rule, (e, s, _) in found.items()} == {
        None: (0, 1), "torchao": (0, 8), "modelopt": (0, 1), "transformer_engine": (7, 0),
    }  # fmt: skip
