"""Fused loops with scales: bit for bit what their chains do, whatever shares a scale, and the oracle on a sample."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from support.fused_chains import (
    FUSED_SCALED,
    Conversion,
    chain_of,
    check,
    each_tier,
    elements_of,
    fused_conversions,
    run,
    unlike,
)
from support.fused_scales import INSIDE, KINDS, LAYOUTS, OUTSIDE, Call, blocks, draw_call, last_axis, one
from support.quantize_cases import generator

from lowprec import _kernels
from lowprec.conformance import cast_inputs

LENGTHS = [*range(131), *range(1020, 1029), *range(1085, 1090), 2047, 2048, 2049, 2111, 2113]


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
            for threads in (1, 4):
                got = run(program, src, n, call.operands(zero=zero), threads=threads)
                check(got, expected, program, f"{who}, {threads} threads, {what}")
            tally["Fused loops with scales"] += n


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", FUSED_SCALED)
def test_whatever_shares_a_scale(name: str, kind: str, tally: Counter[str]) -> None:
    rng = generator("fused", name, kind)
    conversions = fused_conversions(name)
    for place, layout in enumerate(LAYOUTS):
        made = conversions[(place + len(kind)) % len(conversions)]
        check_call(draw_call(rng, made, layout, kind), tally, oracle=place % 6 == len(kind) % 6)


def every_element(made: Conversion) -> np.ndarray:
    """Return every code of the source; floats of 32 bits at, next to and between edges of the target."""
    source = made.plan.source
    if source.bits == 32:
        found = cast_inputs.sweep_float32(made.plan.target, count=1000)
        return np.concatenate([found, found * np.float32(0.75), found * np.float32(2.0**59)]).view(np.uint32)
    return np.arange(1 << max(source.bits, 8)).astype(source.code_dtype)


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


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", FUSED_SCALED)
def test_lengths_and_starts(name: str) -> None:
    """Every length around the lanes and groups of a loop, from elements that begin no vector."""
    rng = generator("lengths", name)
    for made in unlike(fused_conversions(name), 2):
        program = made.program
        whole = draw_call(rng, made, last_axis(1, 2300), "in reach")
        for n in LENGTHS:
            start = n * 7 % 67
            for layout in (one(n), last_axis(1, n), blocks(1, n, 16), blocks(1, n, 64)) if n else (one(0),):
                call = whole._replace(layout=layout)
                src = elements_of(whole.source(), program, start, n)
                zero = n % 2 == 1 and call.zero is not None
                operands = call.operands(zero=zero)
                _kernels.use_isa("base")
                expected = run(chain_of(program), src, n, operands)
                for who in each_tier():
                    got = run(program, src, n, operands, start=n * 5 % 13)
                    check(got, expected, program, f"{who}, {made}, {layout}")


def test_odd_modes(odd_mode: None) -> None:
    """Neither a loop nor a chain depends on the floating-point mode that the caller left."""
    for name in FUSED_SCALED:
        rng = generator("modes", name)
        layouts = one(2000), last_axis(20, 130), last_axis(3, 700), blocks(2, 1040, 32)
        for layout, kind in itertools.product(layouts, KINDS[:2]):
            call = draw_call(rng, fused_conversions(name)[-1], layout, kind)
            program, src, zero = call.made.program, call.source(), call.zero is not None
            _kernels.use_isa("base")
            chain = functools.partial(run, chain_of(program), src, layout.n, call.operands(zero=zero))
            expected = _kernels.in_default_mode(chain)
            for who in each_tier():
                got = run(program, src, layout.n, call.operands(zero=zero), threads=2)
                check(got, expected, program, f"{who}, {call.made}, {layout}")
