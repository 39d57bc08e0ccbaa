"""Formats, shapes and codes to draw from: every code, ties and their neighbours, edges, NaN payloads, any bits."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import lowprec as lp
from lowprec.conformance import cast_inputs
from lowprec.spec.formats import NUMERIC, Format

Array = np.ndarray[Any, Any]

FORMATS = tuple(NUMERIC)
DESCRIBED = (
    *(lp.as_format(name) for name in (
        "binary8p3se", "binary8p4sf", "binary8p1ue", "binary8p3uf", "binary6p3se", "binary5p2uf", "binary4p2sf",
        "binary3p2se", "binary16p8se", "binary16p9uf", "binary10p5ue",
    )),
    lp.float_format("r_e5m3_ieee", exponent_bits=5, mantissa_bits=3),
    lp.float_format("r_e4m3_none", exponent_bits=4, mantissa_bits=3, inf=False, nan="none"),
    lp.float_format("r_e6m9_all", exponent_bits=6, mantissa_bits=9, nan="all-ones"),
    lp.float_format("r_e2m3_negzero", exponent_bits=2, mantissa_bits=3, nan="negative-zero", inf=False),
)  # fmt: skip
"""Formats by description: IEEE P3109's, with and without sign, and others with every rule of NaN."""

_VECTOR = 131
_MANY = 70_001


def draw_format(rng: np.random.Generator, *, described: float = 0.15) -> Format:
    """Draw a format of the table, or with a probability one by description."""
    rows = DESCRIBED if rng.random() < described else FORMATS
    return rows[int(rng.integers(len(rows)))]


def draw_shape(rng: np.random.Generator, *, most: int = _MANY, least_rank: int = 0) -> tuple[int, ...]:
    """Draw a shape: often near the widths of vectors, now and then empty, 0-d, or enough for several threads."""
    choice = rng.random()
    if choice < 0.05 and least_rank == 0:
        return ()
    if choice < 0.10:
        few = rng.integers(0, 4, int(rng.integers(1, 4)))
        few[int(rng.integers(few.size))] = 0
        return tuple(few.tolist())
    if choice < 0.60:
        return (int(rng.integers(1, min(_VECTOR, most) + 1)),)
    if choice < 0.62 and most >= _MANY:
        return (int(rng.integers(20_000, _MANY)),) if rng.random() < 0.5 else (int(rng.integers(100, 260)), 257)
    rank = int(rng.integers(2, 5))
    limit = min(most, 4000)
    lengths: list[int] = []
    for _ in range(rank):
        lengths.append(int(rng.integers(1, max(2, min(limit, 70) + 1))))
        limit //= lengths[-1]
    return tuple(rng.permutation(lengths).tolist())


@functools.cache
def _landmarks(target: Format) -> Array:
    """Return float64 numbers at which a conversion to the target changes its mind, both signs."""
    marks = cast_inputs.landmarks(target)
    marks = marks[np.isfinite(marks)]
    top = [1e308] if target.bits == 64 else [float(target.max), float(target.max) * 2]
    marks = np.concatenate([marks, top, [2.0**31, 2.0**53, 2.0**63, 2.0**64, 3e19]])
    return np.concatenate([marks, -marks])


def _near_landmarks(rng: np.random.Generator, fmt: Format, target: Format, count: int) -> Array:
    """Return codes of a wide float at and next to what the target rounds differently."""
    chosen = rng.choice(_landmarks(target), count)
    with np.errstate(all="ignore"):
        if fmt.is_float:
            codes = chosen.astype(fmt.dtype).view(fmt.code_dtype)
            return np.asarray(codes + rng.integers(-1, 2, count).astype(fmt.code_dtype))
        whole = np.clip(chosen, -(2.0**62), 2.0**62).astype(np.int64) + rng.integers(-1, 2, count)
        return np.asarray(whole.astype(fmt.code_dtype))


def draw_codes(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], target: Format | None = None) -> Array:
    """Draw codes of a format: any, edges, next to landmarks of a target; of a narrow one now and then all in turn."""
    count = math.prod(shape)
    if fmt.name == "bool":
        return rng.integers(0, 2, shape, np.uint8)
    if fmt.bits <= 16 and rng.random() < 0.2:
        first = int(rng.integers(1 << fmt.bits))
        return ((np.arange(count) + first) % (1 << fmt.bits)).astype(fmt.code_dtype).reshape(shape)
    codes = rng.integers(0, 1 << fmt.bits, count, np.uint64, endpoint=False).astype(fmt.code_dtype)
    edges = [0, 1, fmt.sign_mask, fmt.max_code, fmt.max_code | fmt.sign_mask, fmt.code_mask, fmt.magnitude_mask]
    drawn = rng.random(count)
    codes = np.where(drawn < 0.15, rng.choice(np.array(edges, np.uint64), count).astype(fmt.code_dtype), codes)
    if target is not None and fmt.bits >= 16 and fmt in FORMATS:
        codes = np.where(drawn > 0.5, _near_landmarks(rng, fmt, target, count), codes)
    return np.asarray(codes, fmt.code_dtype).reshape(shape)
