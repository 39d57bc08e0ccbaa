"""Runs of float32 codes against the exact oracle at every code and tie, one step either way, and at random inputs."""

from __future__ import annotations

import functools
import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from lowprec.conformance import exhaustive
from lowprec.conformance.exhaustive import Variant, variants
from lowprec.reference import decode, encode, whole_arrays
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, Format

NARROW = [variant for variant in variants().values() if variant.target.bits <= 8 and not variant.packed]
WIDE = [variant for variant in variants().values() if variant.target.bits == 16]
SLICES = (0x00, 0x33, 0x38, 0x3F, 0x47, 0x7F)
"""Of the 16-bit targets: float32's subnormals, float16's smallest values and subnormals, 1, its overflow, NaN."""


@functools.cache
def landmarks(fmt: Format) -> np.ndarray:
    """Return codes of float32, without sign: values of a format, the next one beyond, ties, and one step either way."""
    values = sorted({value.magnitude for value in (decode(code, fmt) for code in range(1 << fmt.bits))})
    values.append(2 * values[-1] - values[-2])
    ties = [(low + high) / 2 for low, high in itertools.pairwise(values)]
    near = np.array([float(place) for place in (*values, *ties) if place < 2**128], np.float32).view(np.uint32)
    near = near.astype(np.int64)
    ends = np.array([0, 1, 0x7FFFFF, 0x800000, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF])
    every = np.unique(np.concatenate([near - 1, near, near + 1, ends]))
    return every[(every >= 0) & (every < 1 << 31)]


def looked_up(runs: exhaustive.Runs, first: int, inputs: np.ndarray) -> list[int]:
    return runs.codes[np.searchsorted(np.cumsum(runs.lengths), inputs - first, side="right")].tolist()


def exact(inputs: np.ndarray, variant: Variant) -> list[int]:
    return [encode(decode(int(code), "float32"), variant.target, **variant.options) for code in inputs]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("variant", NARROW, ids=lambda variant: variant.name)
def test_every_code_and_tie_of_narrow_targets(variant: Variant) -> None:
    rng = np.random.default_rng(7)
    for sign in (0, 1 << 31):
        runs = exhaustive.cast_runs(variant.target, variant.options, sign, sign + (1 << 31))
        assert runs.lengths.sum() == 1 << 31
        inputs = sign + np.concatenate([landmarks(variant.target), rng.integers(0, 1 << 31, 500)])
        assert looked_up(runs, sign, inputs) == exact(inputs, variant)


@pytest.mark.one_in(12)
@pytest.mark.parametrize("index", [*SLICES, *(0x80 + index for index in SLICES)], ids=hex)
@pytest.mark.parametrize("variant", WIDE, ids=lambda variant: variant.name)
def test_slices_of_16_bit_targets(variant: Variant, index: int) -> None:
    """The array oracle, which searches a table of values, at every code and tie; the exact one at some of them."""
    first, rng = index << 24, np.random.default_rng(index)
    runs = exhaustive.cast_runs(variant.target, variant.options, first, first + (1 << 24))
    assert runs.lengths.sum() == 1 << 24
    near = landmarks(variant.target) + (first & 1 << 31)
    near = near[near >> 24 == index]
    inputs = np.concatenate([near, rng.integers(first, first + (1 << 24), 100_000)])
    with np.errstate(invalid="ignore"):  # signalling NaNs
        values = inputs.astype(np.uint32).view(np.float32).astype(np.float64)
    found = looked_up(runs, first, inputs)
    assert found == whole_arrays.expected_from_float64(values, variant.target, **variant.options).tolist()
    some = rng.integers(0, len(inputs), 300)
    assert np.array(found)[some].tolist() == exact(inputs[some], variant)


def test_ties_of_float4_and_where_they_fall() -> None:
    """Typed from the values 0, 0.5, 1, 1.5, 2, 3, 4, 6, with ties to the even code."""
    runs = exhaustive.cast_runs(FLOAT4_E2M1FN, {}, 0, 0x7F800000)
    begins = np.concatenate([[0], np.cumsum(runs.lengths)[:-1]]).astype(np.uint32)
    after = np.nextafter(np.float32([0.25, 1.25, 2.5, 5.0]), np.float32(np.inf))  # ties to the lower neighbour
    wanted = [0, after[0], 0.75, after[1], 1.75, after[2], 3.5, after[3]]
    assert begins.view(np.float32).tolist() == np.float32(wanted).tolist()
    assert runs.codes.tolist() == list(range(8))


def test_the_first_code_that_is_not_below() -> None:
    rng = np.random.default_rng(3)
    for code in [0, 1, 2, 0x7FFFFF, 0x800000, 0x800001, 0x7F7FFFFF, *rng.integers(0, 0x7F800000, 200).tolist()]:
        value = decode(code, "float32").magnitude
        assert exhaustive.first_float32(value) == code
        assert exhaustive.first_float32(value + Fraction(1, 2**200)) == code + 1
    assert exhaustive.first_float32(Fraction(2) ** 128) == 0x7F800000


def test_a_place_that_is_missed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def later(value: Any, *arguments: Any, **options: Any) -> int:
        return encode(464 if Fraction(464) < value.magnitude < Fraction(465) else value, *arguments, **options)

    exhaustive.cast_runs(FLOAT8_E4M3FN, {"saturate": False}, 0x43000000, 0x44000000)
    monkeypatch.setattr(exhaustive, "exact_code", later)
    with pytest.raises(AssertionError, match="float8_e4m3fn: 0x43e80001 to 0x43efffff is more than one run"):
        exhaustive.cast_runs(FLOAT8_E4M3FN, {"saturate": False}, 0x43000000, 0x44000000)
