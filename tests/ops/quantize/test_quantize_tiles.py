"""Tiles: two axes with two block sizes, against a division in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lowprec as lp

AXES, BLOCKS = (0, 1), (2, 4)
TILES: dict[str, Any] = {"axis": AXES, "block_size": BLOCKS}


def spread(scale: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...], blocks: tuple[int, ...]) -> np.ndarray:
    """Return a scale, or a zero point, for each element."""
    for axis, block in zip(axes, blocks, strict=True):
        scale = np.repeat(scale, block, axis=axis).take(range(shape[axis]), axis=axis)
    return scale


def quantized(x: np.ndarray, scale: np.ndarray, zero: np.ndarray) -> np.ndarray:
    """Return int8 codes of scales and zero points for each element."""
    return np.clip(np.rint(x / scale) + zero, -128, 127).astype(np.int8)


RNG = np.random.default_rng(0)
SCALE, ZERO = RNG.uniform(0.01, 0.1, (3, 2)).astype(np.float32), RNG.integers(-20, 20, (3, 2)).astype(np.int8)
X = RNG.standard_normal((5, 6)).astype(np.float32)
SPREAD_SCALE, SPREAD_ZERO = (spread(one, X.shape, AXES, BLOCKS) for one in (SCALE, ZERO))
CODES = quantized(X, SPREAD_SCALE, SPREAD_ZERO)


def test_tiles_of_checkpoints() -> None:
    w = np.random.default_rng(1).standard_normal((300, 200)).astype(np.float32)
    options: dict[str, Any] = {"axis": (0, 1), "block_size": (128, 128)}
    scale = lp.absmax_scale(w, "float8_e4m3fn", **options)
    assert scale.shape == (3, 2)
    codes = lp.quantize_linear(w, scale, output_dtype="float8_e4m3fn", **options)
    of_each = spread(scale, w.shape, (0, 1), (128, 128))
    assert (codes.view(np.uint8) == lp.encode(w / of_each, "float8_e4m3fn")).all()
    assert (lp.dequantize_linear(codes, scale, **options) == codes.astype(np.float32) * of_each).all()
    low, zero = lp.minmax_scale(w, "uint8", **options)
    wanted = np.clip(
        np.rint(w / spread(low, w.shape, (0, 1), (128, 128))) + spread(zero, w.shape, (0, 1), (128, 128)), 0, 255
    )
    assert (lp.quantize_linear(w, low, zero, **options) == wanted).all()


def test_zero_points_have_the_shape_of_scales() -> None:
    with pytest.raises(ValueError, match=r"`zero_point` must have the shape of `scale`, \(3, 2\); got \(1,\)"):
        lp.quantize_linear(X, SCALE, np.zeros(1, np.int8), **TILES)
    wanted = quantized(X, SPREAD_SCALE, np.int8(3))
    assert (lp.quantize_linear(X, SCALE, 3, output_dtype="int8", **TILES) == wanted).all()
