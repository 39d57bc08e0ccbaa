"""The codes that NaN, Inf, overflow and zero become, by every rounding."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from .formats import Format, NaNRule
from .memo import CACHED
from .rounding_modes import Rounding

__all__ = ["NO_LIMITS", "Limits", "limits_of", "nan_codes_of", "onnx_limits", "onnx_rounding"]


_Codes = tuple[int, int]


class Limits(NamedTuple):
    """Whole codes of a target, each for a positive and for a negative source.

    Attributes
    ----------
    overflow : tuple of int
        Where the rounded magnitude is beyond the largest value; for a negative number and a target that has a zero but
        no sign, where it is not zero.
    infinity : tuple of int
        For Inf.
    nan : tuple of int
        For NaN.
    zero : tuple of int
        Where the number rounds to zero; where the target has no zero, for what is below its smallest value once it is
        rounded, zero included.
    """

    overflow: _Codes
    infinity: _Codes
    nan: _Codes
    zero: _Codes


NO_LIMITS = Limits((0, 0), (0, 0), (0, 0), (0, 0))
"""Of a target that is no float."""


def nan_codes_of(fmt: Format, rule: str = "signed") -> _Codes:
    """Return the codes that NaN becomes without and with the sign."""
    nan = fmt.nan_code
    if rule == "zero" or (rule == "plain" and nan is None):
        return 0, 0
    if rule == "largest":
        return fmt.max_code, fmt.max_code
    if nan is None:  # zero of the opposite sign, as the node data of ONNX have it
        return fmt.sign_mask, 0
    return nan, nan if rule == "plain" else nan | fmt.sign_mask


def _beyond(fmt: Format, rounding: Rounding, negative: bool) -> _Codes:
    """Return the codes for overflow and for Inf of one sign."""
    mode, rule = rounding.mode, rounding.overflow
    sign = fmt.sign_mask if negative else 0
    directed = "toward_positive" if negative and fmt.has_zero else "toward_negative"  # away from the Inf of that sign
    nan = fmt.nan_code
    if nan is not None and rounding.nan == "signed":
        nan |= sign
    if negative and fmt.has_zero and not fmt.signed:  # below the range, which ends at zero
        outside = nan if rule == "ovf_inf" and nan is not None else 0
        return 0 if mode in ("toward_zero", directed) else outside, outside
    largest = fmt.max_code | sign
    infinity = fmt.inf_code | sign if fmt.inf_code is not None else None
    if rule == "sat_finite":
        return largest, largest
    if rule == "sat_propagate":
        return largest, largest if infinity is None else infinity
    outside = infinity if infinity is not None else nan if nan is not None else largest
    return largest if mode in ("toward_zero", directed) else outside, outside


@lru_cache(maxsize=CACHED)
def limits_of(fmt: Format, rounding: Rounding) -> Limits:
    """Return the codes of a target for what is none of its finite values."""
    nan = nan_codes_of(fmt, rounding.nan)
    overflow, infinity = zip(*(_beyond(fmt, rounding, negative) for negative in (False, True)), strict=True)
    if fmt.has_zero:
        zero = 0, fmt.sign_mask if fmt.has_negative_zero else 0
    else:
        below = 0 if rounding.overflow != "ovf_inf" or fmt.nan_code is None else fmt.nan_code
        zero = below, below
    return Limits(overflow, infinity, nan, zero)


def onnx_rounding(fmt: Format, saturate: bool) -> Rounding:
    """Return ONNX's rule for a float as a rounding: to nearest even, and to the largest value or beyond it."""
    saturates = {"never": False, "always": True, "asked": saturate}[fmt.saturates]
    return Rounding("nearest_even", "sat_finite" if saturates else "ovf_inf", "signed")


def onnx_limits(fmt: Format, saturate: bool, inf_is_nan: bool) -> Limits:
    """Return the codes of a target by ONNX's rule; the codes of both signs differ by the sign alone.

    Where `inf_is_nan`, as in opsets 19 to 23, Inf becomes NaN in a saturating cast to an FNUZ format.
    """
    rounding = onnx_rounding(fmt, saturate)
    limits = limits_of(fmt, rounding)
    is_nan = inf_is_nan and rounding.overflow == "sat_finite" and fmt.nan is NaNRule.NEGATIVE_ZERO
    return limits._replace(infinity=limits.nan) if is_nan else limits
