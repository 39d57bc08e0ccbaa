"""Any memory under x, scale, zero point and out gives the same elements: strides, orders, byte order, read-only."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support.quantize_cases import (
    Types,
    codes,
    dequantize_case,
    draw_codes,
    expect_dequantized,
    expect_quantized,
    generator,
    quantize_case,
)

import lowprec as lp
from lowprec.spec.formats import as_format

SHAPE = (4, 6, 5)
WAYS = [((), {}), ((4,), {"axis": 0}), ((6,), {"axis": -2}), ((4, 2, 5), {"axis": 1, "block_size": 4}),
        ((4, 6, 2), {"axis": 2, "block_size": 3}), ((1, 6, 5), {"axis": 0, "block_size": 9})]  # fmt: skip
QUANTIZE = [("float32", "float32", "uint8"), ("float16", "float32", "int4"), ("bfloat16", "bfloat16", "float8_e5m2"),
            ("int32", "int32", "int16"), ("float32", "float8_e8m0fnu", "float4_e2m1fn"),
            ("float16", "int32", "float6_e3m2fn")]  # fmt: skip
DEQUANTIZE = [("uint8", "float32"), ("int4", "float16"), ("float8_e4m3fnuz", "bfloat16"), ("int32", "float32"),
              ("float4_e2m1fn", "float8_e8m0fnu"), ("uint16", "float32")]  # fmt: skip


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


def _disguised(*arrays: np.ndarray | None) -> Iterator[list[np.ndarray | None]]:
    """Yield the arrays behind every disguise: the first one alone, the others alone, all of them."""
    plain = DISGUISES[0]
    for first, others in itertools.chain.from_iterable(((d, plain), (plain, d), (d, d)) for d in DISGUISES):
        operands = [
            None if a is None else np.asarray((first if i == 0 else others)(a)).reshape(a.shape)
            for i, a in enumerate(arrays)
        ]
        for a, b in zip(arrays, operands, strict=True):
            assert a is None or (a.shape == b.shape and a.dtype == b.dtype.newbyteorder("="))
        yield operands


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", QUANTIZE)
def test_quantize(names: tuple[str, str, str], way: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    types, (scale_shape, options) = Types(*map(as_format, names)), way
    *arrays, expected = quantize_case(generator("layouts", names, way), types, SHAPE, scale_shape, options)
    before = [a.tobytes() for a in arrays]
    for place, operands in enumerate(_disguised(*arrays)):
        lp.set_num_threads((1, 2, 7)[place % 3])
        assert np.array_equal(codes(lp.quantize_linear(*operands, **options), types.y), expected)
        if types.y.bits < 8:
            packed = lp.quantize_linear(*operands, **options, packed=True)
            assert packed.tolist() == lp.pack(expected.view(types.y.dtype), types.y).tolist()
    assert before == [a.tobytes() for a in arrays]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("names", DEQUANTIZE)
def test_dequantize(names: tuple[str, str], way: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    x_format, scale_format = map(as_format, names)
    types, (scale_shape, options) = Types(x_format, scale_format, scale_format), way
    output = scale_format if scale_format.has_zero else as_format("float16")
    options = {**options, "output_dtype": output}
    rng = generator("layouts", names, way)
    x, scale, zero_point, expected = dequantize_case(rng, types, SHAPE, scale_shape, options)
    for place, operands in enumerate(_disguised(x, scale, zero_point)):
        lp.set_num_threads((1, 2, 7)[place % 3])
        assert np.array_equal(codes(lp.dequantize_linear(*operands, **options), output), expected)
    if x_format.bits < 8:
        for packed in _disguised(lp.pack(x, x_format)):
            got = lp.dequantize_linear(
                packed[0], scale, zero_point, **options, source=x_format, packed=True, shape=SHAPE
            )
            assert np.array_equal(codes(got, output), expected)


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


@pytest.mark.parametrize("way", WAYS)
def test_out_takes_any_strides(way: tuple[tuple[int, ...], dict[str, Any]]) -> None:
    scale_shape, options = way
    rng = generator("out", way)
    for names in QUANTIZE:
        types = Types(*map(as_format, names))
        x, scale, _, expected = quantize_case(rng, types, SHAPE, scale_shape, options, zero_point=False)
        for layout in (lambda a: a, lambda a: a[::-1, ::2, 1::3], lambda a: a.transpose(2, 0, 1), np.asfortranarray):
            room = draw_codes(rng, types.y, tuple(3 * n for n in SHAPE))
            view = layout(room)
            out = view[tuple(slice(0, n) for n in SHAPE)] if min(np.subtract(view.shape, SHAPE)) >= 0 else None
            if out is None:
                continue
            rest = room.copy()
            assert lp.quantize_linear(x, scale, **options, output_dtype=types.y, out=out) is out
            assert np.array_equal(codes(out, types.y), expected)
            if np.shares_memory(out, room):  # nothing outside `out` was written
                layout(rest)[tuple(slice(0, n) for n in SHAPE)] = out
                assert rest.tobytes() == room.tobytes()


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
