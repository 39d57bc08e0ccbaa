"""The same plans in array-API calls only, for any namespace: CuPy, torch, array_api_strict, NumPy.

Everything is decoded to a float64 magnitude beside two masks, ``negative`` and ``nan``; no NaN enters the arithmetic,
so nothing depends on what a library does with one.  float64 holds every value of every source but the 64-bit integers,
which are rounded to odd on the way.  Encoding looks the quantum of the target's grid up among powers of two and rounds
once, ``round(magnitude / quantum)``: dividing by a power of two loses nothing.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import array_api_compat

from .formats import Format, Kind, NaNRule
from .plan import Plan, Rule

__all__ = ["convert"]

_HALF = 32  # 64-bit integers travel as two halves: each exact in float64, no product or sum beyond int64
_LOW = (1 << _HALF) - 1
_EXCESS = 64 - 53  # the bits of a 64-bit integer that float64 has no room for


@dataclass(frozen=True, slots=True)
class _Library:
    """A namespace and the device that every new array goes to."""

    xp: Any
    device: Any

    def constant(self, value: Any, dtype: Any) -> Any:
        """Return a 0-d array of a number, a 1-d one of a tuple."""
        return self.xp.asarray(value, dtype=dtype, device=self.device)

    def select(self, mask: Any, chosen: Any, otherwise: Any, dtype: Any) -> Any:
        """Return ``where(mask, chosen, otherwise)`` of arrays or Python numbers."""
        branches = [self.constant(b, dtype) if isinstance(b, (int, float)) else b for b in (chosen, otherwise)]
        return self.xp.where(mask, *branches)

    def integers(self, x: Any) -> Any:
        return self.xp.astype(x, self.xp.int64, copy=False)

    def reals(self, x: Any) -> Any:
        return self.xp.astype(x, self.xp.float64, copy=False)

    def lookup(self, table: tuple[float, ...], index: Any) -> Any:
        """Return ``table[index]``."""
        return self.xp.take(self.constant(table, self.xp.float64), index, axis=0)

    def search(self, table: tuple[float, ...], x: Any) -> Any:
        """Return as int64 how many numbers of an ascending table are not above `x`."""
        return self.integers(self.xp.searchsorted(self.constant(table, self.xp.float64), x, side="right"))


@dataclass(frozen=True, slots=True)
class _Values:
    """What a source holds: magnitude and sign apart, NaN as a mask over zeros."""

    magnitude: Any  # float64, Inf included
    negative: Any  # bool, of -0 and NaN too
    nan: Any  # bool, or None where the source has no NaN


def convert(x: Any, plan: Plan, xp: Any, *, extend: bool = False) -> Any:
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
    >>> from lowprec.formats import FORMATS
    >>> from lowprec.opsets import cast_rules
    >>> from lowprec.plan import make_plan
    >>> rows = FORMATS["float64"], FORMATS["float8_e4m3fn"]
    >>> convert(xp.asarray([1.0, 1e9, -0.0]), make_plan(*rows, cast_rules(*rows)), xp).tolist()
    [56, 126, 128]
    """
    _require(plan, xp)
    lib = _Library(xp, array_api_compat.device(x))
    flat = xp.reshape(x, (math.prod(x.shape),))  # take wants one dimension, searchsorted likes no strides
    if plan.rule is Rule.COPY:
        result = _copied(flat, plan.source, extend, lib)
    elif plan.rule is Rule.NONZERO:
        result = _nonzero(flat, plan.source, lib)
    elif plan.rule is Rule.TRUNCATE:
        result = _truncated(flat, plan, extend, lib)
    else:
        values = _decoded(flat, plan.source, lib) if plan.source.is_float else _integer_values(flat, plan, lib)
        result = _native(values, plan, lib) if plan.target.bits > 16 else _codes(values, plan, lib)
    return xp.reshape(result, x.shape)


def _require(plan: Plan, xp: Any) -> None:
    """Raise TypeError unless the library has the dtypes that the conversion works in and returns."""
    # A library may keep the name of a dtype that is switched off, and have one, as torch has, that it does not list.
    missing = sorted({"float64", "int64"} - _computed(xp) | {_carrier(plan.target)} - set(dir(xp)))
    if missing:
        raise TypeError(f"`x` must be of a library that has {' and '.join(missing)}; got an array of {xp.__name__}")


def _computed(xp: Any) -> set[str]:
    """Return the names of the dtypes that the library has arithmetic for."""
    info = getattr(xp, "__array_namespace_info__", None)
    return set(info().dtypes()) if info else set(dir(xp))


def _carrier(fmt: Format) -> str:
    """Return the name of the dtype that holds results of the format."""
    if fmt.kind is Kind.BOOL:
        return "bool"
    if fmt.is_float:
        return f"float{fmt.bits}" if fmt.bits > 16 else f"uint{fmt.storage_bits}"
    return f"{'int' if fmt.signed else 'uint'}{fmt.storage_bits}"


# ---- sources


def _copied(x: Any, fmt: Format, extend: bool, lib: _Library) -> Any:
    """Return the bits unchanged, but those above a sub-byte code cleared or, on request, filled with the sign."""
    if fmt.kind is Kind.BOOL:
        return lib.xp.astype(x, lib.xp.bool)
    if fmt.bits >= 8:
        return lib.xp.asarray(x, copy=True)
    return _assembled(None, lib.integers(x), fmt, extend, lib)


def _decoded(x: Any, fmt: Format, lib: _Library) -> _Values:
    """Return what an array of floats holds, be it values or codes."""
    if not lib.xp.isdtype(x.dtype, "unsigned integer"):
        nan = lib.xp.isnan(x)
        # The mere conversion of a signalling NaN to a wider type raises a flag, and NumPy then a warning.
        return _Values(lib.xp.abs(lib.reals(lib.select(nan, 0.0, x, x.dtype))), lib.xp.signbit(x), nan)
    code = lib.integers(x) & fmt.code_mask
    if fmt.bits <= 8:
        magnitude = lib.lookup(_magnitudes(fmt), code & fmt.magnitude_mask)
    else:
        field = (code & fmt.exponent_mask) >> fmt.mantissa_bits
        significand = (code & fmt.mantissa_mask) + lib.select(field > 0, 1 << fmt.mantissa_bits, 0, lib.xp.int64)
        magnitude = lib.reals(significand) * lib.lookup(_quanta(fmt), field)
    if fmt.has_inf:
        magnitude = lib.select(code & fmt.magnitude_mask == fmt.exponent_mask, math.inf, magnitude, lib.xp.float64)
    nan = _nan_mask(code, fmt)
    if nan is not None:
        magnitude = lib.select(nan, 0.0, magnitude, lib.xp.float64)
    return _Values(magnitude, code & fmt.sign_mask != 0, nan)


def _nan_mask(code: Any, fmt: Format) -> Any:
    """Return which codes are NaN, None if none can be."""
    if fmt.nan is NaNRule.NONE:
        return None
    if fmt.nan is NaNRule.NEGATIVE_ZERO:
        return code == fmt.sign_mask
    if fmt.nan is NaNRule.ALL_ONES:
        return code & fmt.magnitude_mask == fmt.magnitude_mask
    return code & fmt.magnitude_mask > fmt.exponent_mask


@functools.cache
def _quanta(fmt: Format) -> tuple[float, ...]:
    """Return what one unit of the mantissa is worth, by the exponent field."""
    fields = range(1 << fmt.exponent_bits)
    return tuple(math.ldexp(1.0, max(field - fmt.bias, fmt.emin) - fmt.mantissa_bits) for field in fields)


@functools.cache
def _magnitudes(fmt: Format) -> tuple[float, ...]:
    """Return the magnitude of every code without a sign, as if there were no Inf and no NaN."""
    hidden = 1 << fmt.mantissa_bits
    return tuple(
        (mantissa + (hidden if field or not fmt.has_zero else 0)) * quantum
        for field, quantum in enumerate(_quanta(fmt))
        for mantissa in range(hidden)
    )


def _halves(x: Any, fmt: Format, lib: _Library) -> tuple[Any, Any]:
    """Return integers as int64 ``high * 2**32 + low``; without a high half, which is None, if all of it fits in low."""
    if fmt.kind is Kind.BOOL:
        return None, lib.select(lib.xp.astype(x, lib.xp.bool), 1, 0, lib.xp.int64)
    if fmt.bits == 64 and not fmt.signed and "uint64" in _computed(lib.xp):
        return lib.integers(x >> _HALF), lib.integers(x & _LOW)
    value = lib.integers(x)
    if fmt.bits == 64:
        return value >> _HALF if fmt.signed else (value >> _HALF) & _LOW, value & _LOW
    return None, _extended(value & fmt.code_mask, fmt) if fmt.bits < 8 else value


def _extended(code: Any, fmt: Format) -> Any:
    """Return the value of a masked two's complement code."""
    return code - ((code & fmt.sign_mask) << 1) if fmt.signed else code


def _integer_values(x: Any, plan: Plan, lib: _Library) -> _Values:
    """Return integers as float64, in a state from which one more rounding to the target is the only one."""
    high, low = _halves(x, plan.source, lib)
    if high is None:
        value = lib.reals(low)
    else:
        if plan.target.bits < 64:
            # Round to odd: bits without room in float64 become a sticky bit far below the target's last one, so that
            # being above, below or at a tie survives.   kept ........ s|ddddddddddd    s = 1 if any d is
            kept = low & (_LOW - ((1 << _EXCESS) - 1))
            sticky = lib.select(kept != low, 1 << _EXCESS, 0, lib.xp.int64)
            limit = 1 << (53 - _HALF)
            low = lib.xp.where((high >= limit) | (high < -limit), kept | sticky, low)
        value = lib.reals(high) * 2.0**_HALF + lib.reals(low)  # the sum alone can round, and only for a float64 target
    return _Values(lib.xp.abs(value), value < 0, None)


# ---- integer and bool targets


def _nonzero(x: Any, fmt: Format, lib: _Library) -> Any:
    """Return whether values differ from zero, as NaN does."""
    if not fmt.is_float:
        high, low = _halves(x, fmt, lib)
        return low != 0 if high is None else (high | low) != 0
    values = _decoded(x, fmt, lib)
    return values.magnitude != 0 if values.nan is None else (values.magnitude != 0) | values.nan


def _truncated(x: Any, plan: Plan, extend: bool, lib: _Library) -> Any:
    """Return values truncated toward zero, modulo 2**bits of the target; Inf and NaN give 0."""
    if not plan.source.is_float:
        return _assembled(*_halves(x, plan.source, lib), plan.target, extend, lib)
    values = _decoded(x, plan.source, lib)
    whole = lib.xp.floor(lib.select(values.magnitude < math.inf, values.magnitude, 0.0, lib.xp.float64))
    # Each difference is what floor cut off: some of the digits that were there, hence exact.
    above = lib.xp.floor(whole * 2.0**-_HALF)
    low = lib.integers(whole - above * 2.0**_HALF)
    high = lib.integers(above - lib.xp.floor(above * 2.0**-_HALF) * 2.0**_HALF)
    # -(high, low) = (~high, ~low + 1), whose carry reaches the high half only from low = 0
    high = lib.xp.where(values.negative, -high - lib.integers(low != 0), high)
    low = lib.xp.where(values.negative, -low, low)
    return _assembled(high, low & _LOW, plan.target, extend, lib)


def _assembled(high: Any, low: Any, fmt: Format, extend: bool, lib: _Library) -> Any:
    """Return the low bits of ``high * 2**32 + low``, or of low alone, in the dtype of the format."""
    dtype = getattr(lib.xp, _carrier(fmt))
    if fmt.bits < 64:
        code = low & fmt.code_mask
        return lib.xp.astype(_extended(code, fmt) if extend or fmt.bits >= 8 else code, dtype)
    if high is None:
        high, low = low >> _HALF, low & _LOW
    high = high & _LOW
    if not fmt.signed and "uint64" in _computed(lib.xp):
        return (lib.xp.astype(high, dtype) << _HALF) | lib.xp.astype(low, dtype)
    high = high - ((high & (1 << (_HALF - 1))) << 1)  # from here torch's conversion to uint64 wraps, as a C++ cast does
    return lib.xp.astype(high * (1 << _HALF) + low, dtype)


# ---- float targets


def _rounded(magnitude: Any, fmt: Format, lib: _Library) -> tuple[Any, Any, Any]:
    """Round to nearest even on the target's grid: (binade, units, quantum), units * quantum being the value.

    The binades count from the subnormals' one; beyond the largest value the result is some larger value.
    """
    quanta = _quanta(fmt)[1:]
    powers = tuple(math.ldexp(quantum, fmt.mantissa_bits) for quantum in quanta)
    last = fmt.emax - fmt.emin
    top = 2 * powers[last]
    capped = lib.select(magnitude < top, magnitude, top, lib.xp.float64)
    binade = lib.search(powers[1 : last + 1], capped)
    quantum = lib.lookup(quanta, binade)
    return binade, lib.xp.round(capped / quantum), quantum


def _nearest(magnitude: Any, plan: Plan, lib: _Library) -> Any:
    """Return the codes of magnitudes, rounded to nearest even."""
    binade, units, _ = _rounded(magnitude, plan.target, lib)
    # units count the hidden bit, and may have grown to twice it: either way the sum carries into the exponent field
    code = binade * (1 << plan.target.mantissa_bits) + lib.integers(units)
    return lib.select(code > plan.target.max_code, plan.overflow_code, code, lib.xp.int64)


def _power(magnitude: Any, plan: Plan, lib: _Library) -> Any:
    """Return the codes of magnitudes as powers of two, ruled out of range before they are rounded."""
    powers = _quanta(plan.target)
    least, largest = powers[0], powers[plan.target.max_code]
    inside = lib.select(magnitude < least, least, magnitude, lib.xp.float64)
    inside = lib.select(inside > largest, largest, inside, lib.xp.float64)
    code = lib.search(powers[1:], inside)
    fraction = inside / lib.lookup(powers, code)
    if plan.round_mode != "down":
        code = code + lib.integers(fraction > 1.0 if plan.round_mode == "up" else fraction >= 1.5)
    code = lib.select(magnitude < least, plan.underflow_code, code, lib.xp.int64)
    return lib.select(magnitude > largest, plan.overflow_code, code, lib.xp.int64)


def _codes(values: _Values, plan: Plan, lib: _Library) -> Any:
    """Return whole codes of the target: magnitude, sign, Inf and NaN."""
    target, int64 = plan.target, lib.xp.int64
    code = (_power if plan.rule is Rule.POWER else _nearest)(values.magnitude, plan, lib)
    code = lib.select(values.magnitude == math.inf, plan.infinity_code, code, int64)
    signs = values.negative if target.has_negative_zero else values.negative & (code != 0)
    code = code | lib.select(signs, target.sign_mask, 0, int64)
    if values.nan is not None:
        code = lib.select(values.nan, lib.select(values.negative, *plan.nan_codes[::-1], int64), code, int64)
    return lib.xp.astype(code, getattr(lib.xp, _carrier(target)))


def _native(values: _Values, plan: Plan, lib: _Library) -> Any:
    """Return values of a target that the library computes with; its NaN and Inf are the canonical ones."""
    source, target, magnitude = plan.source, plan.target, values.magnitude
    if target.bits < 64 and (source.mantissa_bits > target.mantissa_bits or source.emax > target.emax):
        # Rounded here and not by the conversion, which then loses nothing and has nothing to warn of.
        _, units, quantum = _rounded(magnitude, target, lib)
        magnitude = units * quantum
        magnitude = lib.select(magnitude > target.max, math.inf, magnitude, lib.xp.float64)
    dtype = getattr(lib.xp, _carrier(target))
    result = lib.xp.astype(lib.xp.where(values.negative, -magnitude, magnitude), dtype)
    nans = lib.select(values.negative, -math.nan, math.nan, dtype)
    return result if values.nan is None else lib.xp.where(values.nan, nans, result)
