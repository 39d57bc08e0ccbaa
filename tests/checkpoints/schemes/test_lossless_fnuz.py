"""FP8 of OCP and of MI300: all 256 codes and their scales, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from support.typed_tensors import BF16, E8M0

from lowprec import reference
from lowprec.checkpoints.schemes.lossless import code_map, multiply_scales, requantize
from lowprec.spec.formats import (
    BFLOAT16,
    FLOAT8_E4M3FN,
    FLOAT8_E4M3FNUZ,
    FLOAT8_E5M2,
    FLOAT8_E5M2FNUZ,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    Format,
)

E4M3, E5M2 = (FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ), (FLOAT8_E5M2, FLOAT8_E5M2FNUZ)
PAIRS = pytest.mark.parametrize(("fn", "fnuz"), [E4M3, E5M2], ids=["e4m3", "e5m2"])


def exact(code: int, fmt: Format) -> Fraction | str:
    """Return the value of a code, or what it is instead."""
    value = reference.decode(code, fmt)
    return value.special or (-value.magnitude if value.negative else value.magnitude)


@PAIRS
def test_every_code_for_mi300(fn: Format, fnuz: Format) -> None:
    made = code_map(fn, fnuz)
    assert made.factor == 2
    for code in range(256):
        before = exact(code, fn)
        assert made.nonfinite[code] == isinstance(before, str)
        assert not made.beyond[code]
        if isinstance(before, Fraction):
            assert exact(int(made.codes[code]), fnuz) * Fraction(2) == before
            assert made.codes[code] == (0 if code == 0x80 else code)
    special = {0x7F, 0xFF} if fn == FLOAT8_E4M3FN else {sign | code for sign in (0, 0x80) for code in range(0x7C, 0x80)}
    assert set(np.flatnonzero(made.nonfinite)) == special


@PAIRS
def test_every_code_from_mi300(fn: Format, fnuz: Format) -> None:
    made = code_map(fnuz, fn)
    assert made.factor == 0.5
    for code in range(256):
        before, after = exact(code, fnuz), exact(int(made.codes[code]), fn)
        assert not made.nonfinite[code]
        if before == "nan":
            assert (code, after) == (0x80, "nan")
        elif not made.beyond[code]:
            assert after / Fraction(2) == before
            assert made.codes[code] == code
    special = {0x7F, 0xFF} if fn == FLOAT8_E4M3FN else {sign | code for sign in (0, 0x80) for code in range(0x7C, 0x80)}
    assert set(np.flatnonzero(made.beyond)) == special
    assert fn != FLOAT8_E4M3FN or made.codes[0x80] == 0x7F
    for code in special:  # no code of the other format has the value at half the scale
        assert all(exact(other, fn) != exact(code, fnuz) * 2 for other in range(256))


@PAIRS
def test_there_and_back(fn: Format, fnuz: Format) -> None:
    codes = np.array([code for code in range(256) if isinstance(exact(code, fn), Fraction) and code != 0x80], np.uint8)
    assert np.array_equal(code_map(fnuz, fn).codes[code_map(fn, fnuz).codes[codes]], codes)


@PAIRS
def test_requantized_at_the_same_scale(fn: Format, fnuz: Format) -> None:
    """All codes of MI300 but those below the smallest normal number of OCP's, which has a bit less there."""
    every = np.arange(256, dtype=np.uint8)
    after = requantize(every, fnuz, fn)
    expected = every.view(getattr(ml_dtypes, fnuz.name)).astype(np.float32).astype(getattr(ml_dtypes, fn.name))
    assert np.array_equal(after & 0x7F, expected.view(np.uint8) & 0x7F)
    for code in range(256):
        before = exact(code, fnuz)
        if isinstance(before, Fraction) and abs(before) >= Fraction(fn.smallest_normal):
            assert exact(int(after[code]), fn) == before


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_every_exponent(factor: float) -> None:
    """255 is NaN, and there is nothing below 2^-127."""
    step = 1 if factor == 2 else -1
    for code in range(255):
        codes, is_exact = multiply_scales(np.array([[code]], np.uint8), FLOAT8_E8M0FNU, factor)
        assert is_exact == (0 <= code + step <= 254)
        if is_exact:
            assert codes.tolist() == [[code + step]]
            assert codes.view(E8M0).astype(np.float64) == 2.0 ** (code + step - 127)


@pytest.mark.parametrize("factor", [2.0, 0.5])
@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda one: one.name)
def test_every_scale_of_16_bits(fmt: Format, factor: float) -> None:
    dtype = BF16 if fmt == BFLOAT16 else np.dtype(np.float16)
    scales = np.arange(fmt.max_code + 1, dtype=np.uint16)
    wanted = scales.view(dtype).astype(np.float64) * factor
    with np.errstate(over="ignore"):
        expected = wanted.astype(np.float32).astype(dtype)
    fits = expected.astype(np.float64) == wanted
    assert 0 < np.count_nonzero(~fits) < 2**10 + 1
    codes, is_exact = multiply_scales(scales[fits], fmt, factor)
    assert is_exact
    assert np.array_equal(codes, expected.view(np.uint16)[fits])
    assert not any(multiply_scales(scales[at : at + 1], fmt, factor)[1] for at in np.flatnonzero(~fits))


def test_scales_in_float32() -> None:
    scales = np.array([[1.5, 2.0**-126, 3e38]], np.float32)
    doubled = multiply_scales(scales.view(np.uint32), FLOAT32, 2.0)
    assert not doubled[1]
    halved = multiply_scales(scales.view(np.uint32), FLOAT32, 0.5)
    assert halved[1]
    assert halved[0].view(np.float32).tolist() == [[0.75, 2.0**-127, float(np.float32(1.5e38))]]
    assert not multiply_scales(np.array([1], np.uint32), FLOAT32, 0.5)[1]  # half of 2^-149
