"""A program that quantizes a weight in MX blocks along axis 0, and goes back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp

W = np.random.default_rng(5).normal(size=(64, 3)).astype(np.float32)
W[3, 1], W[40, 2] = 100, -1e-3

FORMATS = {
    "mxfp4": (ml_dtypes.float4_e2m1fn, 6, 2),
    "mxfp6_e2m3": (ml_dtypes.float6_e2m3fn, 7.5, 2),
    "mxfp8_e4m3": (ml_dtypes.float8_e4m3fn, 448, 8),
}
"""The dtype of the elements, their largest value and its exponent."""


def by_hand(w: np.ndarray, dtype: type, largest: float, exponent: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return codes, exponents of the scales with ml_dtypes' bias of 127, and values: blocks of 32 along axis 0."""
    blocks = w.reshape(-1, 32, w.shape[1])
    powers = np.frexp(np.abs(blocks).max(1))[1] - 1 - exponent  # floor(log2(largest)), less that of the format
    scales = np.ldexp(1.0, powers)[:, None]
    elements = np.clip(blocks / scales, -largest, largest).astype(np.float32).astype(dtype)
    values = elements.astype(np.float64) * scales
    return elements.reshape(w.shape).view(np.uint8), powers + 127, values.reshape(w.shape).astype(np.float32)


@pytest.mark.parametrize("name", FORMATS)
def test_blocks_along_axis_0(name: str) -> None:
    codes, exponents, values = by_hand(W, *FORMATS[name])
    q = lp.quantize(W, name, axis=0)
    assert (q.codes.view(np.uint8) == codes).all()
    assert q.scale.dtype == ml_dtypes.float8_e8m0fnu
    assert (q.scale.view(np.uint8) == exponents).all()
    assert (q.dequantize() == values).all()


def test_the_two_functions_and_codes_without_a_dtype() -> None:
    codes, exponents, values = by_hand(W, *FORMATS["mxfp4"])
    elements, scales = lp.mx_quantize(W, "float4_e2m1fn", axis=0)
    assert (elements.view(np.uint8) == codes).all()
    assert (lp.mx_dequantize(elements, scales, axis=0) == values).all()
    stored = exponents.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)
    assert (lp.mx_dequantize(codes, stored, source="float4_e2m1fn", axis=0) == values).all()
