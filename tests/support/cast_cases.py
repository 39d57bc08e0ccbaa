"""Options, oracle's answers and comparisons for the sweeps of Cast."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.reference import whole_arrays
from lowprec.reference.whole_arrays import code_values
from lowprec.spec.formats import NUMERIC, Format
from lowprec.spec.operator_versions import first_opset
from lowprec.spec.rounding_modes import ROUND_MODES
from support.compare import tiers_and_threads

FLOATS = [fmt for fmt in NUMERIC if fmt.is_float]
NARROW = [fmt for fmt in NUMERIC if fmt.bits <= 16]


def options_for(target: Format) -> Iterator[dict[str, Any]]:
    """Every set of options that can make a difference to the target, and once what must not make any."""
    is_power = target.is_float and not target.has_zero
    for saturate in (True, False) if target.saturates == "asked" else (True,):
        for round_mode in ROUND_MODES if is_power else (None,):
            yield {"saturate": saturate, "round_mode": round_mode}
    if target.saturates == "asked" and first_opset(target) <= 23:
        yield {"saturate": True, "round_mode": None, "opset": 23}


def edges(target: Format, rng: np.random.Generator) -> np.ndarray:
    """Return float64 numbers at, between and beside values of a format, beyond both ends, and special ones."""
    codes = {
        *range(4), *range(max(target.max_code - 3, 0), target.max_code), *rng.integers(0, target.max_code, 20).tolist(),
    }  # fmt: skip
    lower = np.array([target.magnitude(code) for code in sorted(codes)])
    gap = np.array([target.magnitude(code + 1) for code in sorted(codes)]) - lower
    places = np.array([0, 0.5, 0.25, 1 / 3, 2.0**-17, 2.0**-33, 1 - 2.0**-20])
    between = (lower[:, None] + gap[:, None] * places).reshape(-1)
    past = np.array(
        [target.magnitude(1) * 2.0**-60, target.magnitude(0) * 0.75, target.max * 1.5, 1.7e308, 5e-324, 0.0]
    )
    magnitudes = np.concatenate([between, past[past < np.inf], [np.inf, np.nan]])
    beside = [np.nextafter(between[1:], way) for way in (0.0, np.inf)]
    return np.concatenate([part for each in (magnitudes, *beside) for part in (each, -each)])


@functools.cache
def _numbers_of(source: Format) -> np.ndarray:
    """Return the number that every code of an integer format of at most 16 bits stands for."""
    return np.array([int(reference.decode(code, source).number) for code in range(1 << source.bits)], np.int64)


def expected_codes(codes: np.ndarray, source: Format, target: Format, options: dict[str, Any]) -> np.ndarray:
    """Return the oracle's codes for every code of a format of at most 16 bits."""
    if source is target:
        found = [reference.cast(int(code), source, target, **options) for code in codes]
        return np.array(found, target.code_dtype)
    if source.is_float:
        return whole_arrays.expected_from_float64(code_values(source), target, **options)
    return whole_arrays.expected_from_integers(_numbers_of(source), target, **options)


def encode_by_tiers_and_threads(
    x: Any, target: Format, source: Format | None, options: dict[str, Any]
) -> Iterator[tuple[str, Any]]:
    """Yield the codes by every instruction set of this machine, and by several numbers of threads."""
    for who in tiers_and_threads():
        yield who, lp.encode(x, target, source=source, **options)
