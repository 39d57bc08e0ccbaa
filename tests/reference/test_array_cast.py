"""The array oracle of Cast against the exact one it is built from, and what the sweeps hold."""

from __future__ import annotations

import numpy as np
import pytest

from lowprec.conformance import cast_inputs
from lowprec.reference import whole_arrays
from lowprec.reference.exact_cast import encode
from lowprec.spec.formats import NUMERIC, Kind
from lowprec.spec.operator_versions import first_opset

SMALL = [fmt for fmt in NUMERIC if fmt.kind is Kind.FLOAT and fmt.bits <= 16]


def cases():
    """Yield every target with both opsets and all options that it knows there."""
    for fmt in NUMERIC:
        for opset in (23, 28):
            for round_mode in ("up", "down", "nearest", None) if fmt.name == "float8_e8m0fnu" else (None,):
                for saturate in (True, False):
                    if first_opset(fmt) <= opset:
                        options = {"saturate": saturate, "round_mode": round_mode, "opset": opset}
                        yield pytest.param(fmt, options, id=f"{fmt.name}-{opset}-{round_mode}-{saturate}")


def sample(x, count, seed):
    return x[np.random.default_rng(seed).integers(0, len(x), count)]


@pytest.mark.one_in(11)
@pytest.mark.parametrize(("fmt", "options"), list(cases()))
def test_oracle_agrees_with_reference(fmt, options):
    seed = 1 + options["opset"]
    with np.errstate(invalid="ignore"):
        narrow = sample(cast_inputs.sweep_float32(fmt, count=100_000), 1200, seed).astype(np.float64)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, np.copysign(np.nan, -1), 2.0**127, -(2.0**-127)])
    near = cast_inputs.landmarks(fmt)
    near = np.concatenate([sample(near, 200, seed), near[-3:], np.nextafter(near[-3:], np.inf)])
    x = np.concatenate([special, near, -near, narrow, sample(cast_inputs.sweep_float64(fmt, count=1000), 1200, seed)])
    found = whole_arrays.expected_from_float64(x, fmt, **options)
    assert found.tolist() == [encode(value, fmt, **options) for value in x.tolist()]
    for sweep in (cast_inputs.sweep_int64, cast_inputs.sweep_uint64):
        n = sample(sweep(fmt, count=1000), 600, seed)
        n = np.concatenate([n, np.array([0, 1, np.iinfo(n.dtype).max, np.iinfo(n.dtype).min], n.dtype)])
        found = whole_arrays.expected_from_integers(n, fmt, **options)
        assert found.tolist() == [encode(value, fmt, **options) for value in n.tolist()]


def holds(x, wanted):
    """Say whether a sorted x has every wanted element (np.isin hashes, and powers of two collide)."""
    wanted = np.asarray(wanted, x.dtype)
    return bool((x[np.minimum(np.searchsorted(x, wanted), len(x) - 1)] == wanted).all())


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_sweeps_hold_what_they_promise(fmt):
    x = cast_inputs.sweep_float32(fmt)
    assert x.dtype == np.float32
    assert len(x) >= 2_000_000
    codes = np.sort(x.view(np.uint32))
    for special in (0x0, 0x1, 0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0x7F7FFFFF, 0x00800000, 0x007FFFFF):
        assert holds(codes, [special, special | 1 << 31])
    y = cast_inputs.sweep_float64(fmt)
    assert y.dtype == np.float64
    assert len(y) >= 300_000
    again = cast_inputs.sweep_float64(fmt)
    assert np.array_equal(again.view(np.uint64), y.view(np.uint64))
    if fmt in SMALL:
        marks = whole_arrays.table(fmt).midpoints.astype(np.float32)
        for neighbour in (marks, np.nextafter(marks, np.float32(np.inf)), -np.nextafter(marks, np.float32(0))):
            assert holds(codes, neighbour.view(np.uint32))
        witnesses = whole_arrays.table(fmt).midpoints * (1 + 2.0**-40)
        assert holds(np.sort(y.view(np.uint64)), witnesses.view(np.uint64))
    n, m = cast_inputs.sweep_int64(fmt), cast_inputs.sweep_uint64(fmt)
    assert (n.dtype, m.dtype) == (np.int64, np.uint64)
    assert holds(np.sort(n), [-(2**63), 2**63 - 1, 2**40 + 2**16 + 1, -(2**24) - 1])
    assert holds(np.sort(m), [2**64 - 1, 2**63 + 2**39 + 1, 0, 2**63])
