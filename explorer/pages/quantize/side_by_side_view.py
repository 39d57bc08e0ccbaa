"""Side by side: several settings on one tensor, how far each is behind the best, and its errors by the size of x."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowprec.loss import error_statistics

from .settings import parse_settings
from .view import quantize

__all__ = ["Group", "Row", "compare", "measure", "verdict"]

Array = np.ndarray[Any, Any]

_GROUPS = 20


@dataclass(frozen=True, slots=True)
class Group:
    """Elements of about one size: the ends of |x|, the root of the mean square of their errors, the largest error."""

    smallest: float
    largest: float
    rms_error: float
    max_abs_error: float


@dataclass(frozen=True, slots=True)
class Row:
    """What a setting gives on the tensor, by its text.

    `behind_db` is how much less its SQNR is than the best, 0 for the best, None where one of them is no number.
    `groups` are up to 20 of equally many finite elements, from the smallest |x| to the largest.
    """

    text: str
    bits_per_value: float
    sqnr_db: float
    max_abs_error: float
    saturated: float
    flushed: float
    not_finite: int
    groups: tuple[Group, ...]
    is_best: bool = False
    behind_db: float | None = None


def measure(x: Array, text: str) -> Row:
    """Return what settings give on a tensor, by their text; ValueError where they do not fit it."""
    found = quantize(x, parse_settings(text))
    return Row(
        text,
        found.bits_per_value,
        found.sqnr_db,
        found.max_abs_error,
        found.saturated,
        found.flushed,
        found.not_finite,
        _by_size(found.x[found.finite], found.dequantized[found.finite]) if found.finite.any() else (),
    )


def compare(
    x: Array, texts: Sequence[str], measured: Callable[[Array, str], Row] = measure
) -> tuple[tuple[Row, ...], dict[str, str]]:
    """Return a row for each of the settings by their texts, and why some of them have none on this tensor.

    `measured` is `measure`, or remembers what that returned.
    """
    rows, problems = [], {}
    for text in texts:
        try:
            rows.append(measured(x, text))
        except ValueError as error:
            problems[text] = str(error)
    best = max((row.sqnr_db for row in rows if not math.isnan(row.sqnr_db)), default=math.nan)
    return tuple(_ranked(row, best) for row in rows), problems


def _ranked(row: Row, best: float) -> Row:
    is_number = math.isfinite(best) and math.isfinite(row.sqnr_db)
    return replace(row, is_best=row.sqnr_db == best, behind_db=best - row.sqnr_db if is_number else None)


def _by_size(x: Array, back: Array) -> tuple[Group, ...]:
    """Return the errors of elements, all finite, in groups of equal number by the size of x."""
    order = np.argsort(np.abs(x), kind="stable")
    groups = []
    for part in np.array_split(order, min(_GROUPS, x.size)):
        found = error_statistics(x[part], back[part])
        groups.append(Group(float(abs(x[part[0]])), float(abs(x[part[-1]])), found.rms_error, found.max_abs_error))
    return tuple(groups)


def verdict(rows: Sequence[Row]) -> str:
    """Return one sentence on which setting has the largest SQNR, and by how much."""
    best = [row for row in rows if row.is_best]
    if not rows:
        return ""
    if not best:
        return "No setting has an SQNR here: no finite element but zeros is there."
    names = " and ".join(row.text for row in best)
    have, ratio = "has" if len(best) == 1 else "have", best[0].sqnr_db
    if ratio == math.inf:
        return f"{names} {have} no error."
    bits = " and ".join(f"{row.bits_per_value:.4g}" for row in best)
    others = [row for row in rows if row.behind_db is not None and not row.is_best]
    if not others:
        return f"{names} {have} an SQNR of {ratio:.2f} dB at {bits} bits per value."
    after = min(others, key=lambda row: row.behind_db or 0.0)
    return (
        f"{names} {have} the largest SQNR, {ratio:.2f} dB at {bits} bits per value: "
        f"{after.behind_db:.2f} dB more than {after.text} at {after.bits_per_value:.4g}."
    )
