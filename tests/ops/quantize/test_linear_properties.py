"""Random calls of QuantizeLinear and DequantizeLinear on arrays of thousands of elements, against the oracle.

Lengths around the groups and tiles of the loops, blocks of any size, strides and `out`, of the types that have fused
loops: tests/support/random_calls draws any types, lengths and options.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.compare import compare, tiers_and_threads
from support.fused_scales import KINDS, draw_scales, pack4
from support.quantize_cases import (
    PRECISIONS,
    Types,
    codes,
    draw_codes,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    put,
    type_table,
)

import lowprec as lp
from lowprec.reference.whole_arrays import array_values, broadcast
from lowprec.spec.formats import Format

MOST = 6000  # elements
LENGTHS = [
    1,
    2,
    3,
    7,
    15,
    16,
    17,
    31,
    32,
    33,
    48,
    63,
    64,
    65,
    100,
    127,
    128,
    130,
    256,
    500,
    1000,
    1024,
    1025,
    2048,
    4100,
]
BLOCKS = [1, 2, 3, 8, 15, 16, 17, 31, 32, 48, 64, 100, 128, 256, 1000, 1024, 2048]
QUANTIZE = [t for t in type_table("QuantizeLinear", 28) if t.x.is_float and t.scale.is_float and t.y.bits >= 4]
DEQUANTIZE = [t for t in type_table("DequantizeLinear", 28) if t.x.bits in (4, 6, 8) and t.scale.has_zero]
PROPERTY = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


class Case(NamedTuple):
    """A call without its numbers, which come from the seed."""

    types: Types
    shape: tuple[int, ...]
    scale_shape: tuple[int, ...]
    options: dict[str, Any]
    zero: bool
    kind: str
    strides: tuple[int, ...]  # elements from one to the next, of x, scale, zero point, out
    out: bool
    packed: bool
    seed: int


@st.composite
def cases(draw: st.DrawFn, types: list[Types], *, quantizes: bool) -> Case:
    shape: tuple[int, ...] = ()
    for _ in range(draw(st.integers(1, 4))):
        room = MOST // math.prod(shape)
        shape = (*shape, draw(st.sampled_from([n for n in LENGTHS if n <= room]) | st.integers(1, min(room, 70))))
    shape = tuple(draw(st.permutations(shape)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    place, way = axis % len(shape), draw(st.sampled_from(["tensor", "axis", "blocks", "blocks"]))
    options: dict[str, Any] = {}
    scale_shape: tuple[int, ...] = draw(st.sampled_from([(), (1,)]))
    if way != "tensor":
        options, scale_shape = {"axis": axis}, (shape[place],)
    if way == "blocks":
        options["block_size"] = draw(st.sampled_from(BLOCKS) | st.integers(1, shape[place] + 3))
        scale_shape = (*shape[:place], -(-shape[place] // options["block_size"]), *shape[place + 1 :])
    chosen = draw(st.sampled_from(types))
    if quantizes:
        options["saturate"] = draw(st.booleans())
        options["precision"] = draw(st.sampled_from([None, None, *PRECISIONS[:3]]))
    packed = (chosen.y if quantizes else chosen.x).bits == 4 and draw(st.booleans())
    strides = draw(
        st.sampled_from([(1, 1, 1, 1), (1, 1, 1, 1), (2, 1, 1, 1), (1, 2, 3, 1), (1, 1, 1, 2), (-1, -1, -1, -1)])
    )
    return Case(
        chosen, shape, scale_shape, options, draw(st.booleans()), draw(st.sampled_from(KINDS)), strides,
        draw(st.booleans()), packed, draw(st.integers(0, 2**32 - 1)),
    )  # fmt: skip


def strided(a: np.ndarray, step: int) -> np.ndarray:
    """Return an equal array whose last axis has a stride of so many elements."""
    if a.ndim == 0 or step == 1:
        return a
    room = np.zeros((*a.shape[:-1], a.shape[-1] * abs(step)), a.dtype)
    view = room[..., ::step]
    view[...] = a
    return view


def draw_factors(rng: np.random.Generator, case: Case) -> np.ndarray:
    fmt = case.types.scale
    scale = draw_scales(rng, math.prod(case.scale_shape), case.kind).reshape(case.scale_shape)
    if not fmt.has_zero:
        exponents = scale.view(np.uint32) >> 23 & 0xFF  # 255, of Inf and NaN, is NaN again
        return exponents.astype(np.uint8).view(fmt.dtype)
    return put(np.asarray(scale, np.float64), fmt)


def in_memory(a: np.ndarray, fmt: Format, packed: bool) -> np.ndarray:
    """Return codes as a call returns them."""
    return pack4(a.reshape(-1)) if packed else codes(a.view(fmt.dtype), fmt)


@PROPERTY
@given(case=cases(QUANTIZE, quantizes=True))
def test_quantize(tally: Counter[str], case: Case) -> None:
    rng, types = np.random.default_rng(case.seed), case.types
    scale = draw_factors(rng, case)
    spread = case.options.get("axis", 1), case.options.get("block_size", 0)
    x = draw_x(rng, types.x, broadcast(array_values(scale, types.scale), case.shape, *spread), types.y)
    zero = draw_zero_point(rng, types.y, case.scale_shape) if case.zero else None
    expected = in_memory(expect_quantized(x, scale, zero, types, case.options), types.y, case.packed)
    held = [None if a is None else strided(a, step) for a, step in zip((x, scale, zero), case.strides, strict=False)]
    options = {**case.options, "packed": case.packed} | ({} if case.zero else {"output_dtype": types.y})
    dtype = np.dtype(np.uint8) if case.packed else types.y.dtype
    for who in tiers_and_threads(threads=(2,)):
        out = strided(np.zeros(expected.shape, dtype), case.strides[3]) if case.out else None
        got = lp.quantize_linear(*held, **options, out=out)
        assert out is None or got is out
        compare(tally, "QuantizeLinear, properties", np.asarray(got).view(expected.dtype), expected, f"{who}, {case}")


@PROPERTY
@given(case=cases(DEQUANTIZE, quantizes=False))
def test_dequantize(tally: Counter[str], case: Case) -> None:
    rng, types = np.random.default_rng(case.seed), case.types
    scale, x = draw_factors(rng, case), draw_codes(rng, types.x, case.shape)
    zero = draw_zero_point(rng, types.x, case.scale_shape) if case.zero else None
    expected = expect_dequantized(x, scale, zero, types, case.options)
    options = dict(case.options)
    if case.packed:
        options |= {"packed": True, "source": types.x, "shape": case.shape}
        x = pack4(x.view(np.uint8).reshape(-1))
    held = [None if a is None else strided(a, step) for a, step in zip((x, scale, zero), case.strides, strict=False)]
    for who in tiers_and_threads(threads=(2,)):
        out = strided(np.zeros(case.shape, types.scale.dtype), case.strides[3]) if case.out else None
        got = lp.dequantize_linear(*held, **options, out=out)
        assert out is None or got is out
        compare(tally, "DequantizeLinear, properties", codes(got, types.scale), expected, f"{who}, {case}")
