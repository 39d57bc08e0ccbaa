"""Fused loops with scales: bit for bit what their chains do, whatever shares a scale, and the oracle on a sample."""

from __future__ import annotations

import math
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest
from support.bits import packed_bytes
from support.compare import each_tier
from support.fused_chains import (
    FUSED_SCALED,
    LENGTHS,
    Conversion,
    chain_of,
    check,
    elements_of,
    fused_conversions,
    run,
    unlike,
)
from support.quantize_cases import draw_codes, draw_x, generator, odd_scales

from lowprec import _kernels
from lowprec.conformance import cast_inputs
from lowprec.plans.plan import Method
from lowprec.plans.scale_shapes import Granularity
from lowprec.reference.whole_arrays import dequantized, quantized

REACH = np.float32(2.0**60)
_UP, _DOWN = np.float32(np.inf), np.float32(0)
INSIDE = np.array([np.nextafter(1 / REACH, _UP), np.nextafter(REACH, _DOWN), 2.0**-59, 2.0**59], np.float32)
OUTSIDE = np.array(
    [1 / REACH, REACH, np.nextafter(1 / REACH, _DOWN), np.nextafter(REACH, _UP), 2.0**-61, 2.0**61, 2.0**-126,
     2.0**-127, -1e-40, 1e-45, 2.0**127, 3.4028235e38, 0.0, -0.0, -1.0, -(2.0**-60), np.inf, -np.inf, np.nan, -np.nan],
    np.float32,
)  # fmt: skip
KINDS = ("in reach", "few out of reach", "any")


class Layout(NamedTuple):
    """How many elements there are, and which of them share a scale."""

    n: int
    spread: Granularity

    def __str__(self) -> str:
        _, inner, length, block, outer_step, width = self.spread
        return f"{self.n} of {length} by {inner}, block {block}, step {outer_step}, width {width}"

    def indices(self) -> np.ndarray:
        """Return the number of the scale of every element."""
        _, inner, length, block, outer_step, width = self.spread
        i = np.arange(self.n)
        position, outer = i // inner % length, i // inner // length
        found: np.ndarray = (outer * outer_step + position // block) * width + (i % inner if width > 1 else 0)
        return found


def one(n: int) -> Layout:
    return Layout(n, Granularity(None, max(n, 1), 1, 1, 0, 1))


def last_axis(rows: int, length: int) -> Layout:
    return Layout(rows * length, Granularity(1, 1, length, 1, 0, 1))


def first_axis(rows: int, inner: int, times: int = 1) -> Layout:
    return Layout(times * rows * inner, Granularity(0, inner, rows, 1, 0, 1))


def blocks(rows: int, length: int, block: int) -> Layout:
    return Layout(rows * length, Granularity(1, 1, length, min(block, length), math.ceil(length / block), 1))


def blocks_across(rows: int, inner: int, block: int, times: int = 1) -> Layout:
    return Layout(times * rows * inner, Granularity(0, inner, rows, block, math.ceil(rows / block), inner))


LAYOUTS = [
    one(3001),
    last_axis(60, 7), last_axis(50, 37), last_axis(20, 130), last_axis(5, 1024), last_axis(3, 1101), last_axis(2, 2500),
    first_axis(150, 16), first_axis(70, 32), first_axis(31, 48), first_axis(25, 64), first_axis(3, 100, 9),
    first_axis(5, 700), first_axis(4, 1024), first_axis(3, 1025), first_axis(2, 64, 20), first_axis(2, 3000),
    blocks(30, 70, 2), blocks(3, 1056, 16), blocks(4, 1040, 32), blocks(4, 1000, 16), blocks(1, 4000, 16),
    blocks(2, 2112, 32), blocks(2, 2064, 64), blocks(1, 5001, 64), blocks(2, 4096, 1024), blocks(3, 2064, 1024),
    blocks(1, 9000, 4096), blocks(3, 1100, 25), blocks(2, 1500, 100), blocks(40, 32, 32), blocks(9, 333, 999),
    blocks_across(40, 70, 16), blocks_across(4, 1101, 3), blocks_across(7, 33, 2, 5), blocks_across(33, 101, 32, 3),
    blocks(5, 1501, 32), first_axis(9, 1001), first_axis(9, 33, 11),  # packed rows that end within a byte
    last_axis(40, 128), blocks_across(36, 192, 12, 2),  # loops by columns, some of which prefetch
]  # fmt: skip


def draw_scales(rng: np.random.Generator, count: int, kind: str) -> np.ndarray:
    """Draw float32 scales: all in reach, some at its edges; a few others between them; or any."""
    scale = odd_scales(rng, (count,), kind != "any")
    scale = np.where(rng.random(count) < 0.2, rng.choice(INSIDE, count), scale)
    if kind == "few out of reach":
        scale[rng.integers(0, count, math.ceil(count / 70))] = rng.choice(OUTSIDE)
    return scale.astype(np.float32)


class Call(NamedTuple):
    """What one run of a program takes; `scale` and `zero` have an element for each scale."""

    made: Conversion
    layout: Layout
    x: np.ndarray  # codes, one an element
    scale: np.ndarray
    zero: np.ndarray | None  # float64

    def operands(self, *, zero: bool) -> _kernels.Operands:
        """Return the scales, with the zero points or without, as programs read them."""
        integer = self.made.plan.method is Method.QUANTIZE
        offsets = self.zero.astype(np.int32 if integer else np.float32) if zero and self.zero is not None else None
        return _kernels.Operands(
            self.scale.view(np.uint8), None if offsets is None else offsets.view(np.uint8), 4, self.layout.n,
            self.layout.spread,
        )  # fmt: skip

    def source(self) -> np.ndarray:
        """Return the elements in the memory that a program reads."""
        return packed_bytes(self.x, 4) if self.made.program.src_bits == 4 else self.x

    def by_oracle(self, *, zero: bool) -> np.ndarray:
        """Return the codes by the oracle, in the memory that a program writes."""
        plan, index = self.made.plan, self.layout.indices()
        factor = self.scale.astype(np.float64)[index]
        offset = self.zero[index] if zero and self.zero is not None else None
        if plan.method is Method.QUANTIZE:
            with np.errstate(invalid="ignore"):
                x = self.x.view(plan.source.dtype).astype(np.float64)
            options = self.made.options
            found = quantized(
                x, factor, offset, plan.target, precision=options["precision"], saturate=options["saturate"]
            )
        else:
            found = dequantized(self.x, factor, offset, plan.source, output_dtype=plan.target)
        return packed_bytes(found, 4) if self.made.program.dst_bits == 4 else found


def draw_call(rng: np.random.Generator, made: Conversion, layout: Layout, kind: str) -> Call:
    """Draw the elements, scales and zero points of a call; the scales are values of the precision of the plan."""
    plan, count = made.plan, int(layout.indices().max(initial=0)) + 1
    scaling = plan.scaling
    assert scaling is not None
    scale = draw_scales(rng, count, kind)
    if scaling.precision.bits == 16:
        with np.errstate(over="ignore"):
            scale = scale.astype(scaling.precision.dtype).astype(np.float32)
        if kind == "in reach":  # rounded to the ends, 0 or Inf
            scale = np.where((scale > 1 / REACH) & (scale < REACH), scale, np.float32(1.25))
    if plan.method is Method.QUANTIZE:
        factor = scale.astype(np.float64)[layout.indices()]
        x = draw_x(rng, plan.source, factor, plan.target).view(plan.source.code_dtype)
        codes = plan.target
    else:
        x = draw_codes(rng, plan.source, (layout.n,)).view(plan.source.code_dtype)
        codes = plan.source
    zero = None
    if codes.is_integer:
        ends = rng.choice([int(codes.min), int(codes.max), 0, 1], count)
        zero = np.where(rng.random(count) < 0.3, ends, rng.integers(int(codes.min), int(codes.max) + 1, count))
        zero = zero.astype(np.float64)
    elif plan.method is Method.DEQUANTIZE and codes.bits < 8:  # zero points of 8-bit floats can but be 0
        zero = rng.choice(np.array([0.0, -0.0, 0.5, -1.0, float(codes.max), -float(codes.max)]), count)
    return Call(made, layout, x, scale, zero)


def both(call: Call) -> list[bool]:
    """Return whether to give zero points: both ways where there are some."""
    return [False] if call.zero is None else [False, True]


def check_call(call: Call, tally: Counter[str], *, oracle: bool = False) -> None:
    program, n, src = call.made.program, call.layout.n, call.source()
    for zero in both(call):
        operands = call.operands(zero=zero)
        _kernels.use_isa("base")
        expected = run(chain_of(program), src, n, operands)
        what = f"{call.made}, {call.layout}, {'zero points' if zero else 'none'}"
        if oracle:
            check(expected, call.by_oracle(zero=zero), program, f"the chain, {what}")
        for who in each_tier():
            for threads, prefetched in ((1, False), (4, True)):  # what prefetches goes another way through rows
                before = _kernels.prefetch_from(0 if prefetched else 1 << 40)
                got = run(program, src, n, call.operands(zero=zero), threads=threads)
                _kernels.prefetch_from(before)
                check(got, expected, program, f"{who}, {threads} threads, prefetched: {prefetched}, {what}")
            tally["Fused loops with scales"] += n


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUSED_SCALED)
def test_whatever_shares_a_scale(name: str, kind: str, tally: Counter[str]) -> None:
    rng = generator("fused", name, kind)
    conversions = fused_conversions(name)
    for place, layout in enumerate(LAYOUTS):
        made = conversions[(place + len(kind)) % len(conversions)]
        check_call(draw_call(rng, made, layout, kind), tally, oracle=place % 3 == len(kind) % 3)


def every_element(made: Conversion) -> np.ndarray:
    """Return every code of the source; floats of 32 bits at, next to and between edges of the target."""
    source = made.plan.source
    if source.bits == 32:
        found = cast_inputs.sweep_float32(made.plan.target, count=1000)
        return np.concatenate([found, found * np.float32(0.75), found * np.float32(2.0**59)]).view(np.uint32)
    return np.arange(1 << max(source.bits, 8)).astype(source.code_dtype)


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", FUSED_SCALED)
def test_every_code(name: str, tally: Counter[str]) -> None:
    rng = generator("codes", name)
    for made in fused_conversions(name):
        with np.errstate(all="ignore"):
            x = every_element(made)
        if len(x) < 1000:
            x = np.concatenate([rng.permutation(x) for _ in range(8)])
        if made.program.src_bits == 4:
            x &= 15
        n = len(x)
        for layout, scales in ((one(n), [1.0, 0.75, 2.0**59]), (last_axis(1, n), None), (blocks(1, n, 16), None)):
            call = draw_call(rng, made, layout, "in reach")._replace(x=x)
            for scale in scales or [0.0]:
                if scale:
                    call = call._replace(scale=np.float32([scale]))
                elif made.plan.source.bits == 32:  # what the codes are made of is not lost by the scales
                    call = call._replace(scale=rng.choice(np.float32([1.0, 0.75, 2.0**59, 1.1]), len(call.scale)))
                program, src = made.program, call.source()
                for zero in both(call):
                    operands = call.operands(zero=zero)
                    _kernels.use_isa("base")
                    expected = run(chain_of(program), src, n, operands)
                    for who in each_tier():
                        check(run(program, src, n, operands), expected, program, f"{who}, {made}, {layout}, {scale}")
                        tally["Fused loops with scales"] += n


@pytest.mark.parametrize("name", FUSED_SCALED)
def test_one_unusual_scale(name: str, tally: Counter[str]) -> None:
    """A scale for all that is at an edge of reach or beyond: the chain takes its place, or nothing differs."""
    rng = generator("unusual", name)
    conversions = fused_conversions(name)
    for place, scale in enumerate([*INSIDE, *OUTSIDE]):
        call = draw_call(rng, conversions[place % len(conversions)], one(201), "in reach")
        with np.errstate(all="ignore"):
            again = call._replace(scale=np.array([scale], np.float32))
        check_call(again, tally)


@pytest.mark.one_in(11)
@pytest.mark.parametrize("name", FUSED_SCALED)
def test_lengths_and_starts(name: str) -> None:
    """Every length around the lanes and groups of a loop, from elements that begin no vector."""
    rng = generator("lengths", name)
    for made in unlike(fused_conversions(name), 2):
        program = made.program
        whole = draw_call(rng, made, last_axis(1, 2300), "in reach")
        cases = []
        _kernels.use_isa("base")
        for n in LENGTHS:
            src = elements_of(whole.source(), program, n * 7 % 67, n)
            for layout in (one(n), last_axis(1, n), blocks(1, n, 16), blocks(1, n, 64)) if n else (one(0),):
                operands = whole._replace(layout=layout).operands(zero=n % 2 == 1 and whole.zero is not None)
                cases.append((layout, src, operands, run(chain_of(program), src, n, operands)))
        for who in each_tier():  # outermost: to put one in use takes longer than to run it
            for layout, src, operands, expected in cases:
                got = run(program, src, layout.n, operands, start=layout.n * 5 % 13)
                check(got, expected, program, f"{who}, {made}, {layout}")
