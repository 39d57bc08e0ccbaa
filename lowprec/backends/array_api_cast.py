"""The same plans in array-API calls only, for any namespace: CuPy, torch, array_api_strict, NumPy."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat

from ..plans.plan import Plan, Rule
from ..spec.formats import Format, Kind
from ..spec.rounding_modes import Stream
from .array_api_rounding import exact_values, round_values
from .array_api_values import (
    HALF,
    LOW,
    Library,
    assembled,
    computed,
    decoded,
    encoded,
    halves,
    native_values,
    storage_name,
    values_of,
)  # fmt: skip

__all__ = ["cast_array", "require"]


def cast_array(x: Any, plan: Plan, xp: Any, *, extend: bool = False, stream: Stream | None = None) -> Any:
    """Convert an array by a plan, with nothing but calls of its array-API namespace.

    NaN, Inf, -0 and out-of-range values become what the plan says.

    Parameters
    ----------
    x : array of `xp`, any shape
        Values in the source's own dtype, or codes: uint8 and uint16 for the floats of up to 16 bits, int8 or uint8
        for sub-byte integers (masked or sign-extended: only their low bits are read).
    plan : Plan
        The conversion.
    xp : module
        The namespace of `x`, as array-api-compat returns it.
    extend : bool
        Whether a sub-byte integer result holds sign-extended values rather than masked codes.
    stream : Stream, optional
        The random numbers of a stochastic plan.

    Returns
    -------
    array of `xp`, shape of `x`
        Values for bool, integers and the floats of 32 and 64 bits, else codes in uint8 or uint16. A copy of a float
        that came in a dtype of its own stays in that dtype: array-API calls cannot see the payload of a NaN.

    Raises
    ------
    TypeError
        If the namespace lacks a dtype that the conversion needs.

    Notes
    -----
    Source: ONNX Cast, every version up to opset 28; array API 2023.12.

    Examples
    --------
    >>> import array_api_compat.numpy as xp
    >>> from lowprec.spec.formats import FORMATS
    >>> from lowprec.spec.operator_versions import cast_rules
    >>> from lowprec.plans.cast_plan import make_plan
    >>> rows = FORMATS["float64"], FORMATS["float8_e4m3fn"]
    >>> cast_array(xp.asarray([1.0, 1e9, -0.0]), make_plan(*rows, cast_rules(*rows)), xp).tolist()
    [56, 126, 128]
    """
    require(plan.target, xp)
    lib = Library(xp, array_api_compat.device(x))
    if plan.rule is Rule.COPY:
        return _copied(x, plan.source, extend, lib)
    if plan.rule is Rule.NONZERO:
        return _nonzero(x, plan.source, lib)
    if plan.rule is Rule.TRUNCATE:
        return _truncated(x, plan, extend, lib)
    if plan.rule is Rule.ROUND:
        return round_values(exact_values(x, plan.source, lib), plan, stream, lib)
    values = values_of(x, plan.source, plan.target, lib)
    return native_values(values, plan, lib) if plan.target.bits > 16 else encoded(values, plan, lib)


def require(target: Format, xp: Any) -> None:
    """Raise TypeError unless the library has the dtypes that the conversion works in and returns."""
    # A library may keep the name of a dtype that is switched off, and have one, as torch has, that it does not list.
    missing = sorted({"float64", "int64"} - computed(xp) | {storage_name(target)} - set(dir(xp)))
    if missing:
        raise TypeError(f"`x` must be of a library that has {' and '.join(missing)}; got an array of {xp.__name__}")


# ---- copies


def _copied(x: Any, fmt: Format, extend: bool, lib: Library) -> Any:
    """Return the bits unchanged, but those above a sub-byte code cleared or, on request, filled with the sign."""
    if fmt.kind is Kind.BOOL:
        return lib.xp.astype(x, lib.xp.bool)
    if fmt.bits >= 8:
        return lib.xp.asarray(x, copy=True)
    return assembled(None, lib.integers(x), fmt, extend, lib)


# ---- integer and bool targets


def _nonzero(x: Any, fmt: Format, lib: Library) -> Any:
    """Return whether values differ from zero, as NaN does."""
    if not fmt.is_float:
        high, low = halves(x, fmt, lib)
        return low != 0 if high is None else (high | low) != 0
    values = decoded(x, fmt, lib)
    return values.magnitude != 0 if values.nan is None else (values.magnitude != 0) | values.nan


def _truncated(x: Any, plan: Plan, extend: bool, lib: Library) -> Any:
    """Return values truncated toward zero, modulo 2**bits of the target; Inf and NaN give 0."""
    if not plan.source.is_float:
        return assembled(*halves(x, plan.source, lib), plan.target, extend, lib)
    values = decoded(x, plan.source, lib)
    whole = lib.xp.floor(lib.select(values.magnitude < math.inf, values.magnitude, 0.0, lib.xp.float64))
    # Each difference is what floor cut off: some of the digits that were there, hence exact.
    above = lib.xp.floor(whole * 2.0**-HALF)
    low = lib.integers(whole - above * 2.0**HALF)
    high = lib.integers(above - lib.xp.floor(above * 2.0**-HALF) * 2.0**HALF)
    # -(high, low) = (~high, ~low + 1), whose carry reaches the high half only from low = 0
    high = lib.xp.where(values.negative, -high - lib.integers(low != 0), high)
    low = lib.xp.where(values.negative, -low, low)
    return assembled(high, low & LOW, plan.target, extend, lib)
