"""Tiles: two axes with two block sizes, against a division in plain NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lowprec as lp


def spread(scale: np.ndarray, shape: tuple[int, ...], blocks: tuple[int, ...]) -> np.ndarray:
    """Return a scale, or a zero point, for each element."""
    for axis, block in enumerate(blocks):
        scale = np.repeat(scale, block, axis=axis).take(range(shape[axis]), axis=axis)
    return scale


def test_tiles_of_checkpoints() -> None:
    w = np.random.default_rng(1).standard_normal((300, 200)).astype(np.float32)
    options: dict[str, Any] = {"axis": (0, 1), "block_size": (128, 128)}
    scale = lp.absmax_scale(w, "float8_e4m3fn", **options)
    assert scale.shape == (3, 2)
    codes = lp.quantize_linear(w, scale, output_dtype="float8_e4m3fn", **options)
    of_each = spread(scale, w.shape, (128, 128))
    assert (codes.view(np.uint8) == lp.encode(w / of_each, "float8_e4m3fn")).all()
    assert (lp.dequantize_linear(codes, scale, **options) == codes.astype(np.float32) * of_each).all()
    low, zero = lp.minmax_scale(w, "uint8", **options)
    wanted = np.rint(w / spread(low, w.shape, (128, 128))) + spread(zero, w.shape, (128, 128))
    assert (lp.quantize_linear(w, low, zero, **options) == np.clip(wanted, 0, 255)).all()


def test_zero_points_have_the_shape_of_scales() -> None:
    rng, tiles = np.random.default_rng(0), {"axis": (0, 1), "block_size": (2, 4)}
    scale, x = rng.uniform(0.01, 0.1, (3, 2)).astype(np.float32), rng.standard_normal((5, 6)).astype(np.float32)
    with pytest.raises(ValueError, match=r"`zero_point` must have the shape of `scale`, \(3, 2\); got \(1,\)"):
        lp.quantize_linear(x, scale, np.zeros(1, np.int8), **tiles)
    wanted = np.clip(np.rint(x / spread(scale, x.shape, (2, 4))) + 3, -128, 127)
    assert (lp.quantize_linear(x, scale, 3, output_dtype="int8", **tiles) == wanted).all()
