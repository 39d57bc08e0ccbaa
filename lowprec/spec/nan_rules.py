"""The NaN rules: which codes of a float format are NaN, how many there are, and the canonical one."""

from __future__ import annotations

import enum
from typing import Any

__all__ = ["NaNRule", "is_nan", "nan_code", "nan_count"]


class NaNRule(enum.Enum):
    """Which codes are NaN."""

    IEEE = "ieee"  # exponent all ones, mantissa not zero
    ALL_ONES = "all-ones"  # exponent and mantissa all ones, nothing else
    NEGATIVE_ZERO = "negative-zero"  # the one code that would be -0 (FNUZ)
    NONE = "none"


def nan_count(fmt: Any) -> int:
    """Return how many of the topmost magnitude codes of a format are NaN."""
    counts: dict[NaNRule, int] = {NaNRule.IEEE: fmt.mantissa_mask, NaNRule.ALL_ONES: 1}
    return counts.get(fmt.nan, 0)


def nan_code(fmt: Any) -> int | None:
    """Return the canonical NaN of a format without a sign: quiet, or the only one there is; None without NaN."""
    if not fmt.is_float:
        return None
    codes: dict[NaNRule, int | None] = {
        NaNRule.IEEE: fmt.exponent_mask | (fmt.mantissa_mask + 1) >> 1,
        NaNRule.ALL_ONES: fmt.magnitude_mask,
        NaNRule.NEGATIVE_ZERO: fmt.sign_mask,
        NaNRule.NONE: None,
    }
    return codes[fmt.nan]


def is_nan(code: int, fmt: Any) -> bool:
    """Whether a code of a float format is NaN."""
    if fmt.nan is NaNRule.NEGATIVE_ZERO:
        return bool(code == fmt.sign_mask)
    return bool(code & fmt.magnitude_mask > fmt.magnitude_mask - nan_count(fmt))
