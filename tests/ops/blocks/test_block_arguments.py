"""MX and NVFP4 blocks: `out`, tiles of scales, and the array libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.array_libraries import Library
from support.bits import bits_of
from support.optional import optional
from support.random_calls.blocks import swizzled

import lowprec as lp

torch: Any = optional("torch")

X = (np.random.default_rng(1).standard_normal((40, 96)) * np.exp2(np.arange(40)[:, None] - 20)).astype(np.float32)


def test_out() -> None:
    """Composed of casts, as for what lies in no host memory; NumPy's and torch's are in other tests."""
    given = strict.zeros((40, 96), dtype=strict.int8), strict.zeros((40, 3), dtype=strict.uint8)
    pair = lp.mx_quantize(strict.asarray(X), "int8", out=given)
    for one, place, wanted in zip(pair, given, lp.mx_quantize(X, "int8"), strict=True):
        assert one is place
        assert np.array_equal(bits_of(one), bits_of(wanted))


@pytest.mark.parametrize(("shape", "axis"), [((130, 5 * 32), 1), ((3, 70, 40), 1), ((64, 200), 0), ((20,), 0)])
def test_tiles_of_scales(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32) * np.exp2(np.arange(shape[-1]) % 32)
    x = x.astype(np.float32)
    for quantize, block in ((lp.mx_quantize, 32), (lambda *a, **k: lp.nvfp4_quantize(*a, **k)[:2], 16)):
        _, plain = quantize(x, axis=axis, block_size=block)
        _, tiles = quantize(x, axis=axis, block_size=block, swizzled=True)
        assert np.array_equal(bits_of(tiles), swizzled(bits_of(plain), axis))
    elements, tiles, g = lp.nvfp4_quantize(x, axis=axis, swizzled=True)
    values = lp.nvfp4_dequantize(elements, tiles, g, axis=axis, swizzled=True)
    plain = lp.nvfp4_quantize(x, axis=axis)
    assert np.array_equal(values, lp.nvfp4_dequantize(*plain, axis=axis))


CALLS: list[Callable[[Any], tuple[Any, ...]]] = [
    lp.mx_quantize, lambda x: lp.mx_quantize(x, "int8", axis=0, block_size=7, scale_rule="even"),
    lambda x: lp.mx_quantize(x, "float6_e2m3fn", packed=True, swizzled=True, rounding="to_odd", specials="ignore"),
    lambda x: lp.mx_quantize(x, "float8_e4m3fn", rounding="stochastic", seed=3, random_bits=8, offset=5),
    lp.nvfp4_quantize, lambda x: lp.nvfp4_quantize(x, axis=0, global_scale=0.25, packed=True, specials="ignore"),
    lambda x: lp.nvfp4_quantize(x, scale_rule="torchao", swizzled=True),
    lambda x: lp.nvfp4_quantize(x, scale_rule="transformer_engine", global_scale=0.3),
    lambda x: lp.nvfp4_quantize(x, scale_rule="modelopt", rounding="stochastic_c", seed=1),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_libraries(xp: Library, number: int) -> None:
    for x in (np.array([[1.0, np.nan, -3.0], [0.0, -0.0, 1e-20]], np.float32), X):
        wanted = CALLS[number](x)
        held = xp.wrap(x)
        found = CALLS[number](held)
        for one, other in zip(found, wanted, strict=True):
            assert xp.same_place(one, held)
            assert tuple(one.shape) == other.shape
            assert np.array_equal(bits_of(xp.unwrap(one)), bits_of(other))


def test_values_in_libraries(xp: Library) -> None:
    x = xp.wrap(X)
    for element in ("int8", "float8_e5m2", "float4_e2m1fn"):
        wanted = lp.mx_dequantize(*lp.mx_quantize(X, element), output_dtype="float16")
        found = lp.mx_dequantize(*lp.mx_quantize(x, element), source=element, output_dtype="float16")
        assert np.array_equal(bits_of(xp.unwrap(found)), bits_of(wanted))
    elements, scales, g = lp.nvfp4_quantize(x, packed=True, swizzled=True)
    found = lp.nvfp4_dequantize(elements, scales, g, packed=True, swizzled=True, shape=X.shape)
    assert np.array_equal(bits_of(xp.unwrap(found)), bits_of(lp.nvfp4_dequantize(*lp.nvfp4_quantize(X))))
