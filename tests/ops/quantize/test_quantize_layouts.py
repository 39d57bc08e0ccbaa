"""Any memory under x, scale, zero point and out gives the same elements: strides, orders, byte order, read-only."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.quantize_cases import Types, expect_dequantized, expect_quantized, generator
from support.random_calls.run import Options, step

import lowprec as lp
from lowprec.spec.formats import as_format


def _strided(a: np.ndarray) -> np.ndarray:
    room = np.zeros(tuple(2 * n for n in a.shape), a.dtype)
    view = room[(*(slice(None, None, 2) for _ in a.shape), ...)]
    view[...] = a
    return view


def _backwards(a: np.ndarray) -> np.ndarray:
    turn = (*(slice(None, None, -1) for _ in a.shape), ...)
    return np.ascontiguousarray(a[turn])[turn]


def _read_only(a: np.ndarray) -> np.ndarray:
    a = a.copy()
    a.flags.writeable = False
    return a


def _unaligned(a: np.ndarray) -> np.ndarray:
    return np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape)


def _swapped(a: np.ndarray) -> np.ndarray:
    return a.astype(a.dtype.newbyteorder(">")) if a.dtype.isbuiltin == 1 else a


DISGUISES: list[Callable[[np.ndarray], np.ndarray]] = [
    np.copy, np.asfortranarray, _strided, _backwards, _read_only, _unaligned, _swapped,
    lambda a: np.ascontiguousarray(a.T).T, lambda a: np.swapaxes(np.swapaxes(a, 0, -1).copy(), 0, -1) if a.ndim else a,
]  # fmt: skip


@pytest.mark.parametrize("function", ["quantize_linear", "dequantize_linear"])
@pytest.mark.parametrize("seed", range(3))
def test_small_arrays(seed: int, function: str) -> None:
    """Every operand and `out` in a layout of its own; nothing beside `out` is written."""
    for number in range(600):
        outcome = step(Options(seed, (function,)), number)
        assert not outcome.failure, f"--seed {seed} --step {number}\n{outcome.failure}"


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_large_strided_arrays(threads: int) -> None:
    # beyond the chunks that threads take, whose ends fall anywhere among the scales
    lp.set_num_threads(threads)
    shape = (70, 130, 33)
    rng = generator("large", threads)
    types = Types(*map(as_format, ("float32", "float32", "int8")))
    ways = [((), {}), ((70,), {"axis": 0}), ((130,), {"axis": 1}), ((33,), {"axis": 2})]
    ways += [((70, 13, 33), {"axis": 1, "block_size": 10}), ((3, 130, 33), {"axis": 0, "block_size": 32})]
    x = rng.normal(0, 50, shape).astype(np.float32)
    for scale_shape, options in ways:
        scale, offset = np.exp2(rng.uniform(-2, 2, scale_shape)).astype(np.float32), rng.integers(-9, 9, scale_shape)
        zero_point = np.asarray(offset.astype(np.int8))
        expected = expect_quantized(x, scale, zero_point, types, options)
        back = expect_dequantized(expected.view(np.int8), scale, zero_point, Types(types.y, *types[1:]), options)
        for disguise in DISGUISES:
            got = lp.quantize_linear(disguise(x), scale, zero_point, **options)
            assert np.array_equal(got.view(np.uint8), expected)
            got = lp.dequantize_linear(disguise(expected.view(np.int8)), scale, zero_point, **options)
            assert np.array_equal(got.view(np.uint32), back)


@pytest.mark.parametrize("y", ["uint8", "int4", "float8_e4m3fn", "float4_e2m1fn", "int16"])
def test_zero_dimensions_and_empty(y: str) -> None:
    fmt = as_format(y)
    for x in (
        np.float32(3), np.array(3, np.float32), np.array(3, np.int32), np.asarray(3, as_format("bfloat16").dtype),
    ):  # fmt: skip
        got = lp.quantize_linear(x, 2.0, output_dtype=fmt)
        assert isinstance(got, np.ndarray)
        assert (got.shape, got.dtype) == ((), fmt.dtype)
        assert lp.dequantize_linear(got, 2.0).item() == (3.0 if fmt.is_float else 4.0)
    for shape, scale_shape, options in (
        ((0,), (), {}), ((0,), (0,), {}), ((3, 0), (), {}), ((3, 0), (3,), {"axis": 0}), ((3, 0), (0,), {"axis": 1}),
        ((0, 3), (3,), {"axis": 1}), ((4, 0), (2, 0), {"axis": 0, "block_size": 2}),
        ((4, 0), (4, 0), {"axis": 1, "block_size": 2}), ((4, 0), (4, 1), {}), ((0, 3), (1, 3), {}),
        ((0, 3), (0, 3), {}),
    ):  # fmt: skip
        scale = np.ones(scale_shape, np.float32)
        got = lp.quantize_linear(np.ones(shape, np.float32), scale, **options, output_dtype=fmt)
        assert (got.shape, got.dtype) == (shape, fmt.dtype)
        assert lp.dequantize_linear(got, scale, **options).shape == shape
        offset = np.zeros(scale_shape, fmt.dtype)
        assert lp.quantize_linear(np.ones(shape, np.float32), scale, offset, **options).shape == shape
        if fmt.bits < 8:
            packed = lp.quantize_linear(np.ones(shape, np.float32), scale, offset, **options, packed=True)
            assert (packed.shape, packed.dtype) == ((0,), np.uint8)
            back = lp.dequantize_linear(packed, scale, **options, source=fmt, packed=True, shape=shape)
            assert back.shape == shape
