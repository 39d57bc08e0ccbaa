"""Side by side: several settings on one tensor, how far each is behind the best, and how its errors are spread."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .quantization_settings import parse_settings
from .quantize import quantize

__all__ = ["Row", "compare", "measure", "verdict"]

Array = np.ndarray[Any, Any]

_QUANTILES = 100


@dataclass(frozen=True, slots=True)
class Row:
    """What a setting gives on the tensor, by its text.

    `behind_db` is how much less its SQNR is than the best, 0 for the best, None where one of them is no number.
    `errors` are 101 of the sizes of the errors, from the smallest to the largest, evenly spread among the elements.
    """

    text: str
    bits_per_value: float
    sqnr_db: float
    max_abs_error: float
    saturated: float
    flushed: float
    not_finite: int
    errors: tuple[float, ...]
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
        _spread(np.abs(found.error[found.finite])),
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


def _spread(errors: Array) -> tuple[float, ...]:
    if not errors.size:
        return ()
    places = np.rint(np.linspace(0, errors.size - 1, _QUANTILES + 1)).astype(np.int64)
    return tuple(np.partition(errors, np.unique(places))[places].tolist())


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
