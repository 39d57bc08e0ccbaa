"""Fused loops without scales: bit for bit what their chains do, in every tier; chains against the oracle."""

from __future__ import annotations

import functools
from collections import Counter

import numpy as np
import pytest
from support.bits import packed_bytes
from support.cast_cases import expected_codes
from support.compare import each_tier
from support.fused_chains import (
    FUSED,
    FUSED_SCALED,
    LENGTHS,
    TIERS,
    Conversion,
    chain_of,
    check,
    elements_of,
    fused_conversions,
    run,
    unlike,
)

from lowprec import _kernels
from lowprec.conformance import cast_inputs
from lowprec.reference import whole_arrays
from lowprec.reference.whole_arrays import expected_rounded
from lowprec.spec.formats import NUMERIC, Format


def test_every_tier_has_the_same_fused_loops() -> None:
    """Programs know fused loops by their numbers, which must be those of every tier."""
    for tier in TIERS.values():
        assert sorted(tier.FUSED_LOOPS) == FUSED
        assert sorted(tier.FUSED_SCALE_LOOPS) == FUSED_SCALED
        assert all(tier.FUSED_LOOPS.values())
        assert all(len(modes) in (3, 4) and all(modes[:3]) for modes in tier.FUSED_SCALE_LOOPS.values())
        assert set(FUSED_SCALED) >= tier.BY_RECIPROCAL


def test_every_fused_loop_is_reached() -> None:
    """No fused loop is compiled for nothing."""
    assert [name for name in (*FUSED, *FUSED_SCALED) if not fused_conversions(name)] == []


@functools.lru_cache(maxsize=4)
def codes_of(bits: int, target: Format) -> np.ndarray:
    """Return every code of up to 16 bits, packed ones in pairs; floats at, next to and between edges of the target."""
    rng = np.random.default_rng(bits)
    if bits <= 16:
        every = np.arange(1 << max(bits, 8))
        codes = np.concatenate([every, *(rng.permutation(every) for _ in range(9 if bits <= 8 else 1))])
        return codes.astype(f"u{max(bits, 8) // 8}")
    if bits == 32:
        return rng.permutation(cast_inputs.sweep_float32(target, count=1000).view(np.uint32))
    return rng.permutation(cast_inputs.sweep_float64(target, count=1000).view(np.uint64))


def source_of(made: Conversion) -> tuple[np.ndarray, int]:
    """Return what a program reads, and the number of its elements."""
    bits = made.program.src_bits
    src = codes_of(bits, made.plan.target)
    return src, src.nbytes * 8 // bits


@pytest.mark.one_in(7)
@pytest.mark.parametrize("name", FUSED)
def test_a_fused_loop_equals_its_chain(name: str, tally: Counter[str]) -> None:
    for made in fused_conversions(name):
        src, n = source_of(made)
        _kernels.use_isa("base")
        expected = run(chain_of(made.program), src, n)
        for who in each_tier():
            check(run(made.program, src, n), expected, made.program, f"{who}, {made}")
            check(run(chain_of(made.program), src, n), expected, made.program, f"{who}, {made}, chain")
            tally["Fused loops"] += n


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", FUSED)
def test_lengths_and_starts(name: str) -> None:
    """Every length around the lanes and groups of a loop, from elements that begin no vector."""
    for made in unlike(fused_conversions(name), 2):
        program, (src, _) = made.program, source_of(made)
        cases = []
        _kernels.use_isa("base")
        for n in LENGTHS:
            elements = elements_of(src, program, n * 7 % 67, n)
            cases.append((n, elements, run(chain_of(program), elements, n)))
        for who in each_tier():  # outermost: to put one in use takes longer than to run it
            for n, elements, expected in cases:
                check(run(program, elements, n, start=n * 5 % 13), expected, program, f"{who}, {made}, {n} elements")


def test_odd_modes(odd_mode: None) -> None:
    """Neither a loop nor a chain depends on the floating-point mode that the caller left."""
    for name in FUSED:
        made = fused_conversions(name)[-1]
        src, n = source_of(made)
        _kernels.use_isa("base")
        expected = _kernels.in_default_mode(functools.partial(run, chain_of(made.program), src, n))
        for who in each_tier():
            check(run(made.program, src, n, threads=2), expected, made.program, f"{who}, {made}")


def by_oracle(made: Conversion) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of the source, one an element, and those of the target by the oracle."""
    source, target = made.plan.source, made.plan.target
    if made.plan.rounding is not None:
        codes = codes_of(source.bits, target)[::5].copy()
        return codes, expected_rounded(codes, source, target, made.plan.rounding)
    if source.bits <= 16:
        codes = np.arange(1 << source.bits).astype(source.code_dtype)
        return codes, expected_codes(codes, source, target, made.options)
    codes = codes_of(source.bits, target)[::5].copy()
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = codes.view(source.dtype).astype(np.float64)
    return codes, whole_arrays.expected_from_float64(values, target, **made.options)


@pytest.mark.parametrize("name", FUSED)
def test_fused_loops_by_the_oracle(name: str) -> None:
    listed = [made for made in fused_conversions(name) if {made.plan.source, made.plan.target} <= set(NUMERIC)]
    for made in unlike(listed or fused_conversions(name), 3):
        codes, expected = by_oracle(made)
        n = len(codes)
        if made.program.src_bits == 4:
            codes = packed_bytes(codes, 4)
        if made.program.dst_bits == 4:
            expected = packed_bytes(expected, 4)
        for who in each_tier():
            check(run(made.program, codes, n), expected, made.program, f"{who}, {made}")
