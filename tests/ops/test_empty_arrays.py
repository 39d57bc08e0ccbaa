"""Arrays without elements give the same scales, blocks and packed codes in every library: those of no element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.array_libraries import Library
from support.bits import bits_of

import lowprec as lp

SHAPES = [(0, 4), (3, 0), (0, 0), (3, 0, 5), (3, 4, 0)]
ONE, NO_POWER = 0x3F800000, 0x00  # 1.0 in float32; the least power of two, where all is zero


def found(xp: Library, shape: tuple[int, ...], call: Any) -> list[tuple[tuple[int, ...], list[int]]]:
    """Return the shape and the codes of each result of a call."""
    x = xp.wrap(np.zeros(shape, np.float32))
    results = xp.call(call, x)
    results = results if isinstance(results, tuple) else (results,)
    assert all(xp.same_place(one, x) for one in results)
    hosts = [bits_of(xp.unwrap(one)) for one in results]
    return [(host.shape, host.reshape(-1).tolist()) for host in hosts]


def filled(shape: tuple[int, ...], code: int) -> tuple[tuple[int, ...], list[int]]:
    """Return the shape and the codes of scales of no element."""
    return shape, [code] * math.prod(shape)


def divided(shape: tuple[int, ...], axis: int, block: int) -> tuple[int, ...]:
    """Return the shape of the scales of blocks."""
    return tuple(-(-length // block) if number == axis else length for number, length in enumerate(shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_scales(xp: Library, shape: tuple[int, ...]) -> None:
    calls: list[Any] = [lambda x: (lp.absmax_scale(x, "int8"), *lp.minmax_scale(x, "int16"))]
    wanted = [filled((), ONE), filled((), ONE), filled((), 0)]
    for axis, length in enumerate(shape):
        powers: Any = {"axis": axis, "scale_format": "float8_e8m0fnu"}
        calls.append(lambda x, powers=powers: (lp.absmax_scale(x, "int8", **powers),))
        wanted.append(filled((length,), NO_POWER))
        for block in (1, 3, 1 << 40):
            blocks: Any = {"axis": axis, "block_size": block}
            calls.append(lambda x, s=blocks: (lp.absmax_scale(x, "int8", **s), *lp.minmax_scale(x, "uint8", **s)))
            scales = divided(shape, axis, block)
            wanted += [filled(scales, ONE), filled(scales, ONE), filled(scales, 0)]
    tiles: Any = {"axis": (0, 1), "block_size": (2, 3)}
    calls.append(lambda x: (lp.absmax_scale(x, "int8", **tiles),))
    wanted.append(filled(divided(divided(shape, 0, 2), 1, 3), ONE))
    assert found(xp, shape, lambda x: tuple(one for call in calls for one in call(x))) == wanted


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_blocks(xp: Library, shape: tuple[int, ...]) -> None:
    def call(x: Any) -> tuple[Any, ...]:
        every: list[Any] = []
        for axis in range(len(shape)):
            along: Any = {"axis": axis, "block_size": 3}
            every += [*lp.mx_quantize(x, "int8", **along), *lp.nvfp4_quantize(x, **along)]
            along |= {"packed": True, "swizzled": True}
            every += [*lp.mx_quantize(x, **along), *lp.nvfp4_quantize(x, **along)]
        return tuple(every)

    wanted = []
    for axis in range(len(shape)):
        scales, packed, factor = filled(divided(shape, axis, 3), 0), filled((0,), 0), filled((), ONE)
        wanted += [filled(shape, 0), scales, filled(shape, 0), scales, factor, packed, packed, packed, packed, factor]
    assert found(xp, shape, call) == wanted


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_there_and_back(xp: Library, shape: tuple[int, ...]) -> None:
    def blocks(x: Any) -> Any:
        packed, scales, factor = lp.nvfp4_quantize(x, packed=True, swizzled=True)
        values = lp.nvfp4_dequantize(packed, scales, factor, packed=True, swizzled=True, shape=shape)
        return values, lp.unpack(lp.encode(x, "int4", packed=True), "int4", shape)

    def steps(x: Any) -> Any:
        scale = lp.absmax_scale(x, "int8", axis=0)
        codes = lp.quantize_linear(x, scale, axis=0, output_dtype="int8")
        return codes, lp.dequantize_linear(codes, scale, axis=0)

    def steps_of_blocks(x: Any) -> Any:
        scale, zero = lp.minmax_scale(x, "uint8", axis=1, block_size=4)
        codes = lp.quantize_linear(x, scale, zero, axis=1, block_size=4)
        return codes, lp.dequantize_linear(codes, scale, zero, axis=1, block_size=4)

    for call in (blocks, steps, steps_of_blocks):
        assert found(xp, shape, call) == [filled(shape, 0)] * 2


@pytest.mark.parametrize("axis", [0, 1])
def test_chunks_without_elements(axis: int) -> None:
    dask = pytest.importorskip("dask.array")
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    nothing = dask.from_array(x.take([], axis=axis), chunks=2)
    lazy = dask.concatenate([nothing, dask.from_array(x, chunks=2), nothing], axis=axis)
    assert lp.absmax_scale(lazy, "int8").compute() == np.float32(12 / 127)
    assert lp.absmax_scale(lazy, "int8", axis=0).compute().tolist() == [np.float32(n / 127) for n in (4, 8, 12)]
    scale, zero = lp.minmax_scale(lazy, "uint8", axis=1, block_size=3)
    assert scale.compute().tolist() == [[np.float32(a / 255), np.float32((a + 1) / 255)] for a in (3, 7, 11)]
    assert zero.compute().tolist() == [[0, 0]] * 3
