"""Operations in a format: against NumPy and ml_dtypes, against fractions, and the special values of IEEE 754."""

from __future__ import annotations

import itertools
import operator
from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest

import lowprec as lp
from lowprec import reference, teaching
from lowprec.reference.values import Value
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC

BY_NAME = {"ids": lambda fmt: fmt.name}
FLOATS = [fmt for fmt in NUMERIC if fmt.is_float]
PYTHON = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv}
DETERMINISTIC = [name for name in ROUNDINGS if name not in STOCHASTIC]


def codes_of(fmt: Format, count: int) -> list[int]:
    """Return the codes of special values, of ends, and some at random."""
    edges = [0, 1, 2, fmt.max_code - 1, fmt.max_code, fmt.max_code + 1, fmt.max_code + 2]
    with_sign = [code | sign for code in edges for sign in {0, fmt.sign_mask}]
    chance = np.random.default_rng(7).integers(0, fmt.code_mask, count, endpoint=True, dtype=np.uint64)
    return [code & fmt.code_mask for code in with_sign + chance.tolist()]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("operation", PYTHON)
def test_nearest_even_is_numpys(name: str, operation: str) -> None:
    """Which rounds once: bfloat16 and float16 through float32, harmless as 24 bits are 2 p + 2 of p = 8 and 11."""
    fmt = lp.as_format(name)
    codes = codes_of(fmt, 24)
    a, b = (np.array(side, fmt.code_dtype) for side in zip(*itertools.product(codes, codes), strict=True))
    with np.errstate(all="ignore"):
        found = PYTHON[operation](a.view(fmt.dtype), b.view(fmt.dtype))
    assert found.dtype == fmt.dtype
    for left, right, theirs in zip(a.tolist(), b.tolist(), found.view(fmt.code_dtype).tolist(), strict=True):
        ours = teaching.operate(operation, [reference.decode(code, fmt) for code in (left, right)], fmt)
        value = reference.decode(theirs, fmt)
        if value.special == "nan":  # whose sign is not defined
            assert ours.value.special == "nan"
        else:
            assert ours.code == theirs, (operation, hex(left), hex(right))


EXACT = {
    "add": lambda a, b: a + b, "subtract": lambda a, b: a - b, "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
}  # fmt: skip


def by_search(number: Fraction, values: list[Fraction], rounding: str) -> Fraction:
    """Return what a number becomes among sorted values between which it lies; the place of a magnitude is its code."""
    above = bisect_left(values, number)
    if values[above] == number:
        return number
    low, high = values[above - 1], values[above]
    near, far = (low, high) if number > 0 else (high, low)
    size = sorted({abs(value) for value in values})
    odd, even = (near, far) if size.index(abs(near)) % 2 else (far, near)
    side = (number - low) - (high - number)
    nearest = low if side < 0 else high if side > 0 else None
    return {
        "nearest_even": even if nearest is None else nearest, "nearest_away": far if nearest is None else nearest,
        "nearest_zero": near if nearest is None else nearest, "toward_zero": near, "away_from_zero": far,
        "toward_positive": high, "toward_negative": low, "to_odd": odd,
    }[rounding]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["float4_e2m1fn", "float6_e2m3fn", "binary5p2sf", "float8_e5m2fnuz"])
def test_every_rounding_by_search(name: str) -> None:
    fmt = lp.as_format(name)
    every = (reference.decode(code, fmt) for code in range(fmt.code_mask + 1))
    values = sorted({value.number for value in every if not value.special})
    some = values[:: max(1, len(values) // 7)]
    for operation, a, b in itertools.product(EXACT, some, some):
        if operation == "divide" and not b:
            continue
        exact = EXACT[operation](a, b)
        if not values[0] <= exact <= values[-1]:
            continue
        for rounding in DETERMINISTIC:
            found = teaching.operate(operation, (a, b), fmt, rounding=rounding)
            assert found.exact.number == exact
            assert found.value.number == by_search(exact, values, rounding), (operation, a, b, rounding)
            assert found.lost == exact - found.value.number


def test_a_fused_multiply_add_is_rounded_once() -> None:
    a, c = Fraction(1) + Fraction(1, 2**10), Fraction(-1) - Fraction(2, 2**10)
    assert teaching.operate("fused_multiply_add", (a, a, c), "float16").value.number == Fraction(1, 2**20)
    twice = teaching.operate("multiply", (a, a), "float16").value
    assert teaching.operate("add", (twice, c), "float16").value.number == 0
    with pytest.raises(ValueError, match="must be 3 numbers for fused_multiply_add; got 2"):
        teaching.operate("fused_multiply_add", (a, a), "float16")


SPECIAL = [  # IEEE 754-2019, 6.1 to 6.3, 7.2 and 7.3
    ("add", "inf", "-inf", "nan"), ("add", "inf", "inf", "inf"), ("add", "-inf", "1", "-inf"),
    ("subtract", "inf", "inf", "nan"), ("subtract", "1", "inf", "-inf"), ("subtract", "inf", "-inf", "inf"),
    ("multiply", "0", "inf", "nan"), ("multiply", "-inf", "2", "-inf"), ("multiply", "-0", "2", "-0"),
    ("multiply", "-0", "-2", "0"), ("divide", "0", "0", "nan"), ("divide", "inf", "inf", "nan"),
    ("divide", "1", "-0", "-inf"), ("divide", "1", "-inf", "-0"), ("divide", "inf", "0", "inf"),
    ("divide", "0", "-1", "-0"), ("add", "-0", "-0", "-0"), ("add", "-0", "0", "0"), ("subtract", "-0", "0", "-0"),
    ("subtract", "0", "0", "0"), ("add", "1", "-1", "0"), ("add", "nan", "1", "nan"), ("multiply", "0", "nan", "nan"),
    ("subtract", "1", "nan", "nan"),
]  # fmt: skip


@pytest.mark.parametrize(("operation", "a", "b", "expected"), SPECIAL)
def test_special_values(operation: str, a: str, b: str, expected: str) -> None:
    for fmt in ("float16", "bfloat16", "float64"):
        assert str(teaching.operate(operation, (a, b), fmt).value) == expected


def test_the_sign_of_a_zero_sum() -> None:
    for rounding in ROUNDINGS:
        seed = 1 if rounding in STOCHASTIC else None
        for a, b in (("1", "-1"), ("-0", "0"), ("0", "-0")):
            found = teaching.operate("add", (a, b), "float16", rounding=rounding, seed=seed)
            assert found.code == (0x8000 if rounding == "toward_negative" else 0), rounding
        assert teaching.operate("add", (0, 0), "float16", rounding=rounding, seed=seed).code == 0
        fused = teaching.operate("fused_multiply_add", (2, "0.5", -1), "float16", rounding=rounding, seed=seed)
        assert fused.code == (0x8000 if rounding == "toward_negative" else 0)
    assert teaching.operate("add", (1, -1), "float8_e4m3fnuz", rounding="toward_negative").code == 0  # it has no -0


def test_a_fused_multiply_add_of_special_values() -> None:
    for operands, expected in ((("0", "inf", "1"), "nan"), (("inf", "1", "-inf"), "nan"), (("inf", "1", "1"), "inf"),
                               (("-0", "1", "-0"), "-0"), (("nan", "1", "1"), "nan")):  # fmt: skip
        assert str(teaching.operate("fused_multiply_add", operands, "float32").value) == expected


def test_overflow_and_formats_without_special_values() -> None:
    assert teaching.operate("add", (240, 240), "float8_e4m3fn").code == 0x7E
    assert teaching.operate("add", (240, 240), "float8_e4m3fn", overflow="ovf_inf").code == 0x7F
    assert teaching.operate("add", (60000, 60000), "float16").value.special == "inf"
    assert teaching.operate("add", (60000, 60000), "float16", rounding="toward_zero").value.number == 65504
    assert teaching.operate("divide", (-1, 0), "float4_e2m1fn").code == 0xF  # neither Inf nor NaN: the largest
    assert teaching.operate("divide", (0, 0), "float4_e2m1fn").value.number == 0
    assert teaching.operate("subtract", (1, 2), "binary6p3ue").code == 0  # no sign
    assert teaching.operate("subtract", (1, 2), "binary6p3ue", overflow="ovf_inf").value.special == "nan"


def test_a_format_without_zero_has_no_sign_to_lose() -> None:
    """1 - 2 is below its range: not 1, which a conversion of -1 gives."""
    for a, b in ((1, 2), (1, 1)):
        assert teaching.operate("subtract", (a, b), "float8_e8m0fnu").value == Value(Fraction(1, 2**127))
        assert teaching.operate("subtract", (a, b), "float8_e8m0fnu", overflow="ovf_inf").value.special == "nan"
    assert teaching.operate("add", (1, 2), "float8_e8m0fnu").value.number == 2  # a tie: 2 has the code 80, 4 has 81
    assert teaching.operate("add", (2, 4), "float8_e8m0fnu").value.number == 8


@pytest.mark.parametrize("fmt", FLOATS, **BY_NAME)
def test_a_stochastic_rounding_takes_the_random_number_of_its_place(fmt: Format) -> None:
    codes = codes_of(fmt, 6)
    for n, (a, b) in enumerate(itertools.product(codes, codes)):
        operands = [reference.decode(code, fmt) for code in (a, b)]
        found = teaching.operate("add", operands, fmt, rounding="stochastic", seed=5, random_bits=8, offset=n)
        if found.exact.special or (found.exact.negative and not fmt.has_zero):
            continue
        word = reference.random_word(5, n, 8)
        expected = reference.encode(found.exact, fmt, rounding="stochastic", random=word, random_bits=8)
        assert found.code == expected
