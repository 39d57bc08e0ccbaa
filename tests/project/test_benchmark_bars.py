"""The benchmarks of roundings and blocks: bars that are missed, rounding by hand, ratios of signal to noise."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.paths import ROOT

import lowprec as lp
from lowprec.conformance.cast_inputs import sweep_float32


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that imports a module of benchmarks/."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    before = set(sys.modules)
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if Path(getattr(sys.modules[name], "__file__", None) or ".").parent == ROOT / "benchmarks":
            del sys.modules[name]


def test_a_missed_bar_is_marked(bench: Any) -> None:
    bars = bench("bars")
    times = {"roofline": 0.25, "lowprec": 0.325, "AVX2": 0.5, "torch": 50.0}
    row = {"case": "a", "bars": [1.3, 1.9], "minimum": times, "other bits": ["torch"]}
    names = [*bars.TIERS, "torch", "JAX"]
    assert bars.line(row, names) == "| a | 0.250 | 1.3 / 1.9 | 1.30 | 2.00 ✗ | 200 | – | torch |"
    assert bars.header(names).splitlines()[0].count("|") == bars.line(row, names).count("|")
    free = {**row, "bars": None}
    assert bars.line(free, names) == "| a | 0.250 | – | 1.30 | 2.00 | 200 | – | torch |"


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn"])
@pytest.mark.parametrize("library", ["Torch", "Jax"])
def test_rounding_by_hand_is_ours(bench: Any, library: str, name: str) -> None:
    pytest.importorskip(library.lower())
    """So the peers by hand are timed at the same work; subnormal numbers apart, which XLA takes for 0."""
    by_hand, fmt = bench("by_hand"), lp.formats[name]
    ops = getattr(by_hand, library)()
    x = sweep_float32(fmt, count=1000)[::31]
    x = x[(np.abs(x) >= np.finfo(np.float32).smallest_normal) | ((fmt.nan_code is not None) & np.isnan(x))]
    for mode in by_hand.WHICH_GROWS:
        theirs = by_hand.encode(ops, ops.xp.asarray(x.copy()), fmt, mode)
        ours = lp.encode(x, fmt, rounding=mode)
        assert np.array_equal(np.asarray(theirs), ours), mode
    drawn = np.asarray(by_hand.encode(ops, ops.xp.asarray(x.copy()), fmt, "stochastic", random_bits=16))
    below, above = (lp.encode(x, fmt, rounding=mode) for mode in ("toward_zero", "away_from_zero"))
    assert ((drawn == below) | (drawn == above)).all()


def test_weights_are_the_same_every_time(bench: Any) -> None:
    x = bench("scale_rules").weights("Student t, 3", 64)
    assert x.shape == (64, 64)
    assert np.array_equal(x, bench("scale_rules").weights("Student t, 3", 64))
