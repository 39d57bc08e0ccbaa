"""Template filters: measured numbers, percentages and decibels as text."""

from __future__ import annotations

import math
from fractions import Fraction

from lowprec.reference.exact_cast import Value

from .views.numbers import short

__all__ = ["decibels", "number", "percent"]


def number(value: float | Fraction | None, room: int = 12, digits: int = 6) -> str:
    """Return a number exactly where that is short, else rounded and marked; a dash for None."""
    return "–" if value is None else short(Value.of(value), room, digits)


def percent(ratio: Fraction | None) -> str:
    """Return a ratio in percent; a dash for None."""
    if ratio is None:
        return "–"
    if 1 <= ratio < 1000 and ratio.denominator > 1:
        return f"≈{round(100 * ratio)} %"  # short would write 1e+2
    text = short(100 * ratio, 8, 3)
    return f"≈{float(100 * ratio):.3g} %" if "e+" in text and ratio < 1 else f"{text} %"  # ≈60, not ≈6e+1


def decibels(ratio: float) -> str:
    """Return decibels as text: Inf stands for no error, NaN for no signal."""
    if math.isfinite(ratio):
        return f"≈{ratio:.2f} dB"
    return "no error" if ratio > 0 else "–"
