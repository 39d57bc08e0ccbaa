"""Steps that keep every value: FP4 groups to FP8 tiles and scales in other formats, against fractions and ml_dtypes."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.typed_tensors import BF16, E8M0, F8, FP4, nibbles

from lowprec import reference
from lowprec.checkpoints.schemes import lossless
from lowprec.checkpoints.schemes.dequantize import Parameters, dequantize
from lowprec.checkpoints.schemes.scale_grid import Grid
from lowprec.checkpoints.schemes.scheme import GlobalScale, Packing, Scheme
from lowprec.spec.formats import (
    BFLOAT16,
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E4M3FNUZ,
    FLOAT8_E5M2,
    FLOAT8_E5M2FNUZ,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    Format,
)

Array = np.ndarray[Any, Any]

MXFP4 = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, Grid(1, 32))
FP8 = {float(np.float32(code)) for code in np.arange(256, dtype=np.uint8).view(F8) if not np.isnan(code)}
"""Every value of float8_e4m3fn, as ml_dtypes has them."""

BLOCKS = Grid(128, 128)


def tiles(scale: Format = FLOAT32, grid: Grid = BLOCKS) -> Scheme:
    return Scheme(FLOAT8_E4M3FN, Packing.NONE, scale, grid)


def convert(codes: Array, scales: Array, target: Scheme) -> tuple[Array, Array, Array]:
    """Return scales of tiles, their codes, and the largest error of each tile."""
    packed = nibbles(codes)
    values, back = np.empty(codes.shape, np.float32), np.empty(codes.shape, np.float32)
    dequantize(MXFP4, packed, Parameters(scales), values)
    of_tiles = lossless.tile_scales(packed, scales, MXFP4, target)
    result = lossless.tile_codes(values, of_tiles, target)
    spread = np.repeat(of_tiles, target.grid.rows, axis=0)[: len(codes)]
    dequantize(target, result, Parameters(spread), back)
    return of_tiles, result, lossless.group_errors(values, back, target.grid)


def random_weight(shape: tuple[int, int], low: int, high: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    scales = rng.integers(low, high, (shape[0], -(-shape[1] // 32)), np.uint8)
    return rng.integers(0, 16, shape, np.uint8), scales


@pytest.mark.parametrize("span", range(24))
def test_every_code_at_every_span(span: int) -> None:
    """A tile is exact if and only if float8_e4m3fn has each value over the scale of the tile."""
    for code in range(16):
        codes = np.zeros((1, 64), np.uint8)
        codes[0, 0], codes[0, 32] = 7, code
        scales = np.array([[140, 140 - span]], np.uint8)
        of_tiles, result, errors = convert(codes, scales, tiles(FLOAT8_E8M0FNU))
        assert of_tiles.tolist() == [[134]]
        quotient = float(FP4[code]) * 2.0 ** (6 - span)
        exact = quotient in FP8
        assert exact or span > 14
        assert result[0, 0] == np.asarray(384, F8).view(np.uint8)
        assert result[0, 32] == np.asarray(quotient, F8).view(np.uint8)  # rounded by ml_dtypes, with the sign of 0
        error = abs(float(result[0, 32:33].view(F8)[0]) - quotient) * 2.0 ** (134 - 127)
        assert errors.tolist() == [[error]]
        assert (error == 0) == exact


@pytest.mark.parametrize("low", [118, 108])
def test_the_bytes_of_deepseeks_own_script(low: int) -> None:
    """Exact tiles and others, as DeepSeek-V4's inference/convert.py computes them, in NumPy."""
    codes, scales = random_weight((256, 384), low, 130, 3)
    scales[:128] -= 2  # tiles have scales of their own
    of_tiles, result, errors = convert(codes, scales, tiles(FLOAT8_E8M0FNU))
    x = FP4[codes].reshape(2, 128, 3, 128).transpose(0, 2, 1, 3)
    factors = scales.view(E8M0).astype(np.float32).reshape(2, 128, 3, 4).transpose(0, 2, 1, 3).reshape(2, 3, -1)
    wanted = factors.max(axis=2, keepdims=True) / np.float32(64)
    offsets = np.repeat((factors / wanted).reshape(2, 3, 128, 4), 32, axis=3)
    expected = (x * offsets).transpose(0, 2, 1, 3).reshape(256, 384)
    assert np.array_equal(result, expected.astype(F8).view(np.uint8))
    assert np.array_equal(of_tiles, wanted[:, :, 0].astype(E8M0).view(np.uint8))
    assert (errors > 0).any() == (low == 108)


def test_groups_of_zeros_do_not_count() -> None:
    """They would make the span 2^40 here; −0 stays −0."""
    codes, scales = random_weight((128, 128), 120, 124)
    codes[codes % 8 == 0] = 1
    codes[3, 32:64], scales[3, 1] = 8, 164
    of_tiles, result, errors = convert(codes, scales, tiles(FLOAT8_E8M0FNU))
    assert of_tiles.tolist() == [[123 - 6]]
    assert not errors.any()
    assert set(result[3, 32:64]) == {0x80}


def test_a_tile_of_zeros() -> None:
    of_tiles, result, errors = convert(np.zeros((4, 64), np.uint8), np.full((4, 2), 90, np.uint8), tiles())
    assert of_tiles.view(np.float32).tolist() == [[2.0**-126]]
    assert not result.any()
    assert not errors.any()


@pytest.mark.parametrize("scale", [FLOAT32, BFLOAT16, FLOAT8_E8M0FNU], ids=lambda one: one.name)
@pytest.mark.parametrize("largest", range(8))
def test_the_smallest_scales(largest: int, scale: Format) -> None:
    """No scale of a tile is a subnormal float32, and the values stay what they are."""
    codes = np.tile(np.arange(16, dtype=np.uint8), 4)[np.newaxis]
    scales = np.array([[0, largest]], np.uint8)
    of_tiles, result, errors = convert(codes, scales, tiles(scale))
    assert not errors.any()
    factor = float(of_tiles.view(scale.dtype)[0, 0])
    assert factor == 2.0 ** (max(largest - 6, 1) - 127)
    back = result.view(F8).astype(np.float64) * factor
    exponents = np.repeat(scales.astype(np.int64), 32, axis=1) - 127
    assert np.array_equal(back, np.ldexp(FP4[codes].astype(np.float64), exponents))


def test_the_largest_scales() -> None:
    """6 × 2^125 is the largest value that float32 has."""
    codes = np.full((1, 32), 7, np.uint8)
    of_tiles, result, errors = convert(codes, np.array([[252]], np.uint8), tiles(FLOAT8_E8M0FNU))
    assert (of_tiles.tolist(), errors.tolist()) == ([[246]], [[0.0]])
    assert float(result[0].view(F8)[0]) * 2.0 ** (246 - 127) == 6 * 2.0**125


SHAPE = 300, 512


def test_which_schemes_are_tiled() -> None:
    assert lossless.is_tiled(MXFP4, tiles(), SHAPE)
    assert lossless.is_tiled(MXFP4, tiles(FLOAT8_E8M0FNU), SHAPE)
    assert lossless.is_tiled(MXFP4, tiles(BFLOAT16, Grid(1, 0)), SHAPE)
    nvfp4 = Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E4M3FN, Grid(1, 16), GlobalScale.INVERSE)
    refused = [
        (nvfp4, tiles()),  # scales that are no powers of two
        (MXFP4, tiles(FLOAT16)),  # which has no 2^-126
        (MXFP4, tiles(FLOAT32, Grid(0, 0))),  # no tile of some rows
        (MXFP4, tiles(FLOAT32, Grid(128, 48))),  # part of a group
        (MXFP4, Scheme(FLOAT8_E5M2, Packing.NONE, FLOAT32, Grid(128, 128))),
        (MXFP4, MXFP4),
        (tiles(FLOAT8_E8M0FNU, Grid(1, 32)), tiles()),
    ]
    assert not any(lossless.is_tiled(*pair, SHAPE) for pair in refused)


def test_which_schemes_are_relabelled() -> None:
    exponents = tiles(FLOAT8_E8M0FNU)
    assert lossless.is_relabelled(exponents, tiles(), SHAPE)
    assert lossless.is_relabelled(exponents, tiles(BFLOAT16), SHAPE)
    assert lossless.is_relabelled(tiles(BFLOAT16), tiles(), SHAPE)
    assert lossless.is_relabelled(tiles(), tiles(), SHAPE)
    refused = [
        (tiles(), tiles(BFLOAT16)),
        (tiles(), exponents),
        (exponents, tiles(FLOAT16)),
        (exponents, tiles(FLOAT32, Grid(64, 64))),
        (exponents, Scheme(FLOAT8_E5M2, Packing.NONE, FLOAT32, Grid(128, 128))),
    ]
    assert not any(lossless.is_relabelled(*pair, SHAPE) for pair in refused)


def test_the_same_groups_in_other_words() -> None:
    """Of a matrix of 100 x 128, all elements are the only block of 128 x 128, and a row is one group of 128."""
    all_of_it, row, group = Grid(0, 0), Grid(1, 0, 100), Grid(1, 128)
    assert lossless.is_relabelled(tiles(FLOAT32, all_of_it), tiles(), (100, 128))
    assert lossless.is_relabelled(tiles(FLOAT32, row), tiles(FLOAT32, group), (100, 128))
    assert not lossless.is_relabelled(tiles(FLOAT32, all_of_it), tiles(), (100, 129))
    assert not lossless.is_relabelled(tiles(FLOAT32, row), tiles(FLOAT32, group), (100, 256))
    assert not lossless.is_relabelled(tiles(FLOAT32, Grid(64, 64, 50)), tiles(FLOAT32, Grid(64, 64)), (100, 128))


FORMATS = [FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ, FLOAT8_E5M2, FLOAT8_E8M0FNU, FLOAT16, BFLOAT16]


@functools.cache
def finite_values(fmt: Format) -> set[tuple[Fraction, bool, str]]:
    """Return all values that are no NaN, infinities among them; the sign of 0 is left out."""
    values = (reference.decode(code, fmt) for code in range(1 << fmt.bits))
    return {(one.magnitude, one.negative and one.magnitude != 0, one.special) for one in values if one.special != "nan"}


@pytest.mark.one_in(5)
@pytest.mark.parametrize(("fmt", "other"), list(itertools.product(FORMATS, FORMATS)), ids=lambda one: one.name)
def test_a_format_holds_another(fmt: Format, other: Format) -> None:
    """If and only if it has all values; signs of 0 apart."""
    assert lossless.holds(fmt, other) == (finite_values(other) <= finite_values(fmt))


def test_every_finite_bfloat16_scale_as_float32() -> None:
    codes = np.arange(0x7F80, dtype=np.uint16)
    assert np.array_equal(lossless.cast_scales(codes, BFLOAT16, FLOAT32), codes.astype(np.uint32) << 16)


E4M3, E5M2 = (FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ), (FLOAT8_E5M2, FLOAT8_E5M2FNUZ)
PAIRS = pytest.mark.parametrize(("fn", "fnuz"), [E4M3, E5M2], ids=["e4m3", "e5m2"])


def exact(code: int, fmt: Format) -> Fraction | str:
    """Return the value of a code, or what it is instead."""
    value = reference.decode(code, fmt)
    return value.special or (-value.magnitude if value.negative else value.magnitude)


@PAIRS
def test_every_code_for_mi300(fn: Format, fnuz: Format) -> None:
    made = lossless.code_map(fn, fnuz)
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
    made = lossless.code_map(fnuz, fn)
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
def test_requantized_at_the_same_scale(fn: Format, fnuz: Format) -> None:
    """All codes of MI300 but those below the smallest normal number of OCP's, which has a bit less there."""
    every = np.arange(256, dtype=np.uint8)
    after = lossless.requantize(every, fnuz, fn)
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
        codes, is_exact = lossless.multiply_scales(np.array([[code]], np.uint8), FLOAT8_E8M0FNU, factor)
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
    codes, is_exact = lossless.multiply_scales(scales[fits], fmt, factor)
    assert is_exact
    assert np.array_equal(codes, expected.view(np.uint16)[fits])
    assert not any(lossless.multiply_scales(scales[at : at + 1], fmt, factor)[1] for at in np.flatnonzero(~fits))
