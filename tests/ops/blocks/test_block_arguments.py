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
NUMBERS = (np.array([[1.0, np.nan, -3.0], [0.0, -0.0, 1e-20]], np.float32), X)


def test_out() -> None:
    for options in ({}, {"packed": True, "swizzled": True}, {"axis": 0}):
        wanted = lp.nvfp4_quantize(X, **options)
        out = tuple(np.full_like(one, 1) for one in wanted)
        results = lp.nvfp4_quantize(X, out=out, **options)
        assert all(a is b for a, b in zip(results, out, strict=True))
        assert all(np.array_equal(bits_of(a), bits_of(b)) for a, b in zip(results, wanted, strict=True))
    strided = np.zeros((40, 96, 2), np.uint8).view(wanted[0].dtype)[..., 0], wanted[1].copy(), wanted[2].copy()
    lp.nvfp4_quantize(X, axis=0, out=strided)
    assert np.array_equal(bits_of(strided[0].copy()), bits_of(wanted[0]))
    x = X.copy()
    memory = x.view(np.uint8)[:, :96].view("float8_e4m3fn")  # the elements go where the values are
    wanted = lp.mx_quantize(X, "float8_e4m3fn")  # type: ignore[assignment]
    found = lp.mx_quantize(x, "float8_e4m3fn", out=(memory, wanted[1].copy()))
    assert np.array_equal(bits_of(found[0].copy()), bits_of(wanted[0]))
    tensor = torch.from_numpy(X.copy())
    places = torch.zeros((40, 96), dtype=torch.float8_e5m2), torch.zeros((40, 3), dtype=torch.float8_e8m0fnu)
    assert lp.mx_quantize(tensor, "float8_e5m2", out=places)[0] is places[0]
    assert np.array_equal(bits_of(places[0]), bits_of(lp.mx_quantize(X, "float8_e5m2")[0]))
    integers = lp.mx_quantize(X, "int8")
    of_torch = torch.zeros((40, 96), dtype=torch.int8), torch.zeros((40, 3), dtype=torch.float8_e8m0fnu)
    of_strict = strict.zeros((40, 96), dtype=strict.int8), strict.zeros((40, 3), dtype=strict.uint8)
    cases: list[tuple[Any, Any]] = [
        (X, tuple(map(np.zeros_like, integers))), (tensor, of_torch), (strict.asarray(X), of_strict),
    ]  # fmt: skip
    for array, given in cases:
        pair = lp.mx_quantize(array, "int8", out=given)
        assert all(a is b for a, b in zip(pair, given, strict=True))
        assert all(np.array_equal(bits_of(a), bits_of(b)) for a, b in zip(given, integers, strict=True))


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
    for x in NUMBERS:
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
