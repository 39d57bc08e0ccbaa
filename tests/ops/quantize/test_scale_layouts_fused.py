"""Fused loops and their chains meet the scales of every layout as the oracle does: lengths, blocks, packed ends."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.quantize_cases import (
    FLOAT32,
    Types,
    draw_codes,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    odd_scales,
)

import lowprec as lp
from lowprec import _kernels
from lowprec.backends.jobs import Job
from lowprec.backends.kernels_of_plan import make_program
from lowprec.backends.scales_for_kernels import ready_scales, resolve_operands
from lowprec.plans.plan import Plan
from lowprec.plans.quantize_plan import QuantizeOptions
from lowprec.reference.whole_arrays import broadcast
from lowprec.spec.formats import Format, as_format
from lowprec.spec.operator_versions import DEQUANTIZE, QUANTIZE

SOME = settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
LENGTHS = [1, 2, 3, 7, 8, 16, 24, 33, 64, 100, 384, 511, 512, 513, 1000, 1024, 1500, 2048, 3001, 4096]
BLOCKS = [1, 2, 5, 8, 15, 16, 17, 24, 32, 40, 48, 64, 100, 128, 256, 500, 512, 513, 1024, 1100, 2048, 4096]
ELEMENTS = 12_000  # beyond the tiles of 1024 and the segments of 512 that run alone
FORMATS = [
    as_format(name)
    for name in ("int8", "uint8", "int4", "uint4", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float4_e2m1fn")
]
TIERS = _kernels.available_isas()


class Layout(NamedTuple):
    """A shape, the shape of its scales, and the options that say how they belong together."""

    shape: tuple[int, ...]
    scales: tuple[int, ...]
    options: dict[str, Any]


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Draw three axes, the middle one of scales, whose lengths make up some thousand elements."""
    length = st.sampled_from(LENGTHS) | st.integers(1, 3000)
    axis_length, inner = draw(length), draw(st.just(1) | length)
    axis_length = max(1, min(axis_length, ELEMENTS // inner))
    most = max(1, ELEMENTS // (axis_length * inner))
    outer = draw(st.sampled_from([1, most]) | st.integers(1, most))
    shape = (outer, axis_length, inner)
    if draw(st.booleans()):
        return Layout(shape, (axis_length,), {"axis": 1})
    block = draw(st.sampled_from(BLOCKS) | st.integers(1, axis_length))
    return Layout(shape, (outer, -(-axis_length // block), inner), {"axis": 1, "block_size": block})


CALLS = {
    "layout": layouts(), "fmt": st.sampled_from(FORMATS), "plain": st.booleans(), "with_zero": st.booleans(),
    "packed": st.booleans(), "seed": st.integers(0, 2**32 - 1),
}  # fmt: skip


def _draw_scales(layout: Layout, fmt: Format, plain: bool, with_zero: bool, seed: int) -> tuple[Any, ...]:
    rng = generator(seed)
    scale = odd_scales(rng, layout.scales, plain)
    return rng, scale, draw_zero_point(rng, fmt, layout.scales) if with_zero and fmt.is_integer else None


def _programs(plan: Plan, *, packed: bool, unpacked: bool) -> list[_kernels.Program]:
    """Return the program with the fused loop, and the one that runs its chain."""
    make = partial(make_program.__wrapped__, plan, packed=packed, unpacked=unpacked)
    fused = make()
    with patch.object(_kernels, "Program", partial(_kernels.Program, fused=False)):
        chain = make()
    assert fused != chain
    assert fused.names == chain.names
    return [fused, chain]


def _compare(
    operator: str, x: np.ndarray, scales: tuple[Any, ...], options: QuantizeOptions, wanted: np.ndarray
) -> None:
    """Run a call in each tier, on one thread and on two, by the fused loop and by its chain; compare with the bytes."""
    packed, unpacked = options.packed and operator == QUANTIZE, options.packed and operator == DEQUANTIZE
    shape = wanted.shape if unpacked else None
    n = wanted.size if unpacked else x.size
    plan, found = resolve_operands(operator, x, *scales, options, shape)  # type: ignore[call-arg]
    operands = ready_scales(Job(x, plan, found, shape=shape), n)
    out = np.empty(wanted.nbytes, np.uint8)
    for isa in TIERS:
        _kernels.use_isa(isa)
        for program in _programs(plan, packed=packed, unpacked=unpacked):
            for threads in (1, 2):
                out.fill(0xA5)
                _kernels.run(program, x.reshape(-1).view(np.uint8), out, n, operands, threads)
                differs = np.flatnonzero(out.view(wanted.dtype) != wanted.reshape(-1))
                assert not differs.size, (isa, program.names, threads, differs[:5])


@SOME
@given(**CALLS)
def test_quantize(
    layout: Layout, fmt: Format, plain: bool, with_zero: bool, packed: bool, seed: int, tally: Counter[str]
) -> None:
    rng, scale, zero_point = _draw_scales(layout, fmt, plain, with_zero, seed)
    options = QuantizeOptions(**layout.options, output_dtype=fmt, packed=packed and fmt.bits == 4)
    x = draw_x(rng, FLOAT32, broadcast(scale.astype(np.float64), layout.shape, 1, options.block_size), fmt)
    arguments = layout.options if zero_point is not None else {**layout.options, "output_dtype": fmt}
    expected = expect_quantized(x, scale, zero_point, Types(FLOAT32, FLOAT32, fmt), arguments)
    if options.packed:
        expected = lp.pack(expected.view(fmt.dtype), fmt)
    tally["QuantizeLinear, layouts of scales"] += x.size
    _compare(QUANTIZE, x, (scale, zero_point), options, expected)


@pytest.mark.slow
@SOME
@given(**CALLS)
def test_dequantize(
    layout: Layout, fmt: Format, plain: bool, with_zero: bool, packed: bool, seed: int, tally: Counter[str]
) -> None:
    rng, scale, zero_point = _draw_scales(layout, fmt, plain, with_zero, seed)
    options = QuantizeOptions(**layout.options, output_dtype=FLOAT32, packed=packed and fmt.bits == 4, source=fmt)
    x = draw_codes(rng, fmt, layout.shape)
    expected = expect_dequantized(x, scale, zero_point, Types(fmt, FLOAT32, FLOAT32), layout.options)
    tally["DequantizeLinear, layouts of scales"] += x.size
    held = lp.pack(x, fmt) if options.packed else x.view(fmt.code_dtype)
    _compare(DEQUANTIZE, held, (scale, zero_point), options, expected)


ODD_ROWS = [  # of one scale, of one for each element, of runs: a segment of packed codes must begin with a byte
    Layout((1, 9, 1001), (9,), {"axis": 1}),
    Layout((3, 64, 701), (3, 2, 701), {"axis": 1, "block_size": 32}),
    Layout((5, 1501, 1), (5, 47, 1), {"axis": 1, "block_size": 32}),
]


@pytest.mark.parametrize("layout", ODD_ROWS, ids=lambda layout: str(layout.shape))
@pytest.mark.parametrize("name", ["int4", "float4_e2m1fn"])
def test_packed_rows_of_odd_length(name: str, layout: Layout) -> None:
    fmt, zero_point = as_format(name), None
    rng, scale, _ = _draw_scales(layout, fmt, True, False, 0)
    options = QuantizeOptions(**layout.options, output_dtype=fmt, packed=True)
    factor = broadcast(scale.astype(np.float64), layout.shape, 1, options.block_size)
    x, types = draw_x(rng, FLOAT32, factor, fmt), Types(FLOAT32, FLOAT32, fmt)
    expected = expect_quantized(x, scale, zero_point, types, {**layout.options, "output_dtype": fmt})
    _compare(QUANTIZE, x, (scale, zero_point), options, lp.pack(expected.view(fmt.dtype), fmt))
    held = draw_codes(rng, fmt, layout.shape)
    expected = expect_dequantized(held, scale, zero_point, Types(fmt, FLOAT32, FLOAT32), layout.options)
    options = options._replace(output_dtype=FLOAT32, source=fmt)
    _compare(DEQUANTIZE, lp.pack(held, fmt), (scale, zero_point), options, expected)


@pytest.mark.parametrize("count", [0, 1, 31, 63])
@pytest.mark.parametrize("block", [16, 24, 40, 128, 1024])
def test_scales_out_of_reach(block: int, count: int) -> None:
    """Scales without a reciprocal send their own tiles through the chain, and the others come out the same."""
    scale = np.full((3, 64), 0.25, np.float32)
    scale[1, count] = 2.0**-70
    scale[2, count] = 2.0**100
    x = np.linspace(-40, 40, 3 * 64 * block, dtype=np.float32).reshape(3, -1)
    x[1, ::3] = 2.0**-69
    x[2, ::3] = 2.0**101
    options = QuantizeOptions(axis=1, block_size=block, output_dtype=FORMATS[0])
    arguments = {"axis": 1, "block_size": block, "output_dtype": FORMATS[0]}
    expected = expect_quantized(x, scale, None, Types(FLOAT32, FLOAT32, FORMATS[0]), arguments)
    _compare(QUANTIZE, x, (scale, None), options, expected)
