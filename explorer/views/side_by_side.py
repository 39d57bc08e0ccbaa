"""Side by side: several settings on one tensor, how far each is behind the best, and how its errors are spread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .quantize import quantize
from .scales import Settings

__all__ = ["Row", "compare", "verdict"]

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


def compare(x: Array, settings: Mapping[str, Settings]) -> tuple[tuple[Row, ...], dict[str, str]]:
    """Return a row for each of the settings by their texts, and why some of them have none on this tensor."""
    found, problems = {}, {}
    for text, one in settings.items():
        try:
            found[text] = quantize(x, one)
        except ValueError as error:
            problems[text] = str(error)
    ratios = [one.sqnr_db for one in found.values() if not math.isnan(one.sqnr_db)]
    best = max(ratios, default=math.nan)
    rows = tuple(
        Row(
            text,
            one.bits_per_value,
            one.sqnr_db,
            one.max_abs_error,
            one.saturated,
            one.flushed,
            one.not_finite,
            _spread(np.abs(one.error[one.finite])),
            one.sqnr_db == best,
            best - one.sqnr_db if math.isfinite(best) and math.isfinite(one.sqnr_db) else None,
        )
        for text, one in found.items()
    )
    return rows, problems


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
