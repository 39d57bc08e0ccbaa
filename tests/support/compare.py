"""Comparisons with the oracle: the first difference and its inputs, for each instruction set and number of threads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import _kernels


def each_tier() -> Iterator[str]:
    """Put each instruction set of this machine in use, and yield its name."""
    for isa in _kernels.available_isas():
        _kernels.use_isa(isa)
        yield isa


def tiers_and_threads(threads: tuple[int, ...] = (1, 2, 7)) -> Iterator[str]:
    """Put each instruction set of this machine in use, then several numbers of threads, and yield its name."""
    lp.set_num_threads(1)
    yield from each_tier()
    for count in threads:
        lp.set_num_threads(count)
        yield f"{count} threads"


def compare(tally: Counter[str], name: str, got: np.ndarray, expected: np.ndarray, what: str, *inputs: Any) -> None:
    """Count the elements, and those that differ; fail as `assert_same` does."""
    tally[name] += expected.size
    tally[f"{name} differ"] += int(np.count_nonzero(got != expected))
    assert_same(got, expected, what, *inputs)


def assert_same(got: np.ndarray, expected: np.ndarray, what: object, *inputs: Any) -> None:
    """Fail with the first differing code and its inputs (arrays of the same shape, or scalars)."""
    assert got.dtype == expected.dtype, what
    assert got.shape == expected.shape, what
    wrong = np.argwhere(got != expected)
    if len(wrong):
        first = tuple(int(i) for i in wrong[0])
        at = [repr(a[first] if np.shape(a) == got.shape else a) for a in inputs]
        raise AssertionError(
            f"{what}: {len(wrong)} of {expected.size} differ, the first at {first} from {', '.join(at)}: "
            f"got {got[first]:#x}, expected {expected[first]:#x}"
        )
