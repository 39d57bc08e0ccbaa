"""Values from codes, and codes from values, in array-API calls: float64 magnitudes and two masks."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

from ..._float_mode import default_mode
from ...plans.plan import Method, Plan
from ...spec.formats import Format, Kind, NaNRule

__all__ = [
    "HALF",
    "LOW",
    "Library",
    "Values",
    "assembled",
    "computed",
    "copied",
    "decoded",
    "encoded",
    "halves",
    "native_values",
    "nearest_values",
    "nonzero",
    "quanta_of",
    "require",
    "storage_name",
    "truncated",
    "values_of",
]


HALF = 32  # 64-bit integers travel as two halves: each exact in float64, no product or sum beyond int64
LOW = (1 << HALF) - 1
TABLES = 64  # of formats, each of some kilobytes, that are kept
_EXCESS = 64 - 53  # the bits of a 64-bit integer that float64 has no room for


@dataclass(frozen=True, slots=True)
class Library:
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
        """Return `x` as int64."""
        return self.xp.astype(x, self.xp.int64, copy=False)

    def reals(self, x: Any) -> Any:
        """Return `x` as float64."""
        return self.xp.astype(x, self.xp.float64, copy=False)

    def lookup(self, table: tuple[float, ...], index: Any) -> Any:
        """Return ``table[index]``."""
        # take wants one dimension
        values = self.xp.take(self.constant(table, self.xp.float64), self.xp.reshape(index, (-1,)), axis=0)
        return self.xp.reshape(values, index.shape)

    def search(self, table: tuple[float, ...], x: Any) -> Any:
        """Return as int64 how many numbers of an ascending table are not above `x`."""
        flat = self.xp.reshape(x, (-1,))  # searchsorted likes no strides
        counts = self.xp.searchsorted(self.constant(table, self.xp.float64), flat, side="right")
        return self.xp.reshape(self.integers(counts), x.shape)


@dataclass(frozen=True, slots=True)
class Values:
    """What a source holds: magnitude and sign apart, NaN as a mask over zeros."""

    magnitude: Any  # float64, Inf included
    negative: Any  # bool, of -0 and NaN too
    nan: Any  # bool, or None where the source has no NaN
    low: Any = None  # float64, what the magnitude of a 64-bit integer, a multiple of 2**32, lacks


def computed(xp: Any) -> set[str]:
    """Return the names of the dtypes that the library has arithmetic for."""
    info = getattr(xp, "__array_namespace_info__", None)
    return set(info().dtypes()) if info else set(dir(xp))


def storage_name(fmt: Format) -> str:
    """Return the name of the dtype that holds results of the format."""
    if fmt.kind is Kind.BOOL:
        return "bool"
    if fmt.is_float:
        return f"float{fmt.bits}" if fmt.bits > 16 else f"uint{fmt.storage_bits}"
    return f"{'int' if fmt.signed else 'uint'}{fmt.storage_bits}"


# ---- sources


def values_of(x: Any, fmt: Format, target: Format, lib: Library) -> Values:
    """Return what an array holds, in a state from which one more rounding to the target is the only one."""
    return decoded(x, fmt, lib) if fmt.is_float else integer_values(x, fmt, target, lib)


def decoded(x: Any, fmt: Format, lib: Library) -> Values:
    """Return what an array of floats holds, be it values or codes."""
    if not lib.xp.isdtype(x.dtype, "unsigned integer"):
        nan = lib.xp.isnan(x)
        # The mere conversion of a signalling NaN to a wider type raises a flag, and NumPy then a warning.
        return Values(lib.xp.abs(lib.reals(lib.select(nan, 0.0, x, x.dtype))), lib.xp.signbit(x), nan)
    code = lib.integers(x) & fmt.code_mask
    if fmt.bits <= 8:
        magnitude = lib.lookup(_magnitudes(fmt), code & fmt.magnitude_mask)
    else:
        field = (code & fmt.exponent_mask) >> fmt.mantissa_bits
        significand = (code & fmt.mantissa_mask) + lib.select(field > 0, 1 << fmt.mantissa_bits, 0, lib.xp.int64)
        magnitude = lib.reals(significand) * lib.lookup(quanta_of(fmt), field)
    if fmt.has_inf:
        magnitude = lib.select(code & fmt.magnitude_mask == fmt.inf_code, math.inf, magnitude, lib.xp.float64)
    nan = _nan_mask(code, fmt)
    if nan is not None:
        magnitude = lib.select(nan, 0.0, magnitude, lib.xp.float64)
    return Values(magnitude, code & fmt.sign_mask != 0, nan)


def _nan_mask(code: Any, fmt: Format) -> Any:
    """Return which codes are NaN, None if none can be."""
    if fmt.nan is NaNRule.NONE:
        return None
    if fmt.nan is NaNRule.NEGATIVE_ZERO:
        return code == fmt.sign_mask
    return code & fmt.magnitude_mask > fmt.magnitude_mask - fmt.nan_count


@functools.lru_cache(maxsize=TABLES)
@default_mode
def quanta_of(fmt: Format) -> tuple[float, ...]:
    """Return what one unit of the mantissa is worth, by the exponent field."""
    fields = range(1 << fmt.exponent_bits)
    return tuple(math.ldexp(1.0, max(field - fmt.bias, fmt.emin) - fmt.mantissa_bits) for field in fields)


@functools.lru_cache(maxsize=TABLES)
def _magnitudes(fmt: Format) -> tuple[float, ...]:
    """Return the magnitude of every code without a sign, as if there were no Inf and no NaN."""
    hidden = 1 << fmt.mantissa_bits
    return tuple(
        (mantissa + (hidden if field or not fmt.has_zero else 0)) * quantum
        for field, quantum in enumerate(quanta_of(fmt))
        for mantissa in range(hidden)
    )


def halves(x: Any, fmt: Format, lib: Library) -> tuple[Any, Any]:
    """Return integers as int64 ``high * 2**32 + low``; without a high half, which is None, if all of it fits in low."""
    if fmt.kind is Kind.BOOL:
        return None, lib.select(lib.xp.astype(x, lib.xp.bool), 1, 0, lib.xp.int64)
    if fmt.bits == 64 and not fmt.signed and "uint64" in computed(lib.xp):
        return lib.integers(x >> HALF), lib.integers(x & LOW)
    value = lib.integers(x)
    if fmt.bits == 64:
        return value >> HALF if fmt.signed else (value >> HALF) & LOW, value & LOW
    return None, extended(value & fmt.code_mask, fmt) if fmt.bits < 8 else value


def extended(code: Any, fmt: Format) -> Any:
    """Return the value of a masked two's complement code."""
    return code - ((code & fmt.sign_mask) << 1) if fmt.signed else code


def integer_values(x: Any, fmt: Format, target: Format, lib: Library) -> Values:
    """Return integers as float64, in a state from which one more rounding to the target is the only one."""
    high, low = halves(x, fmt, lib)
    if high is None:
        value = lib.reals(low)
    else:
        if target.bits < 64:
            # Round to odd: bits without room in float64 become a sticky bit far below the target's last one, so that
            # being above, below or at a tie survives.   kept ........ s|ddddddddddd    s = 1 if any d is
            kept = low & (LOW - ((1 << _EXCESS) - 1))
            sticky = lib.select(kept != low, 1 << _EXCESS, 0, lib.xp.int64)
            limit = 1 << (53 - HALF)
            low = lib.xp.where((high >= limit) | (high < -limit), kept | sticky, low)
        value = lib.reals(high) * 2.0**HALF + lib.reals(low)  # the sum alone can round, and only for a float64 target
    return Values(lib.xp.abs(value), value < 0, None)


# ---- targets


def assembled(high: Any, low: Any, fmt: Format, extend: bool, lib: Library) -> Any:
    """Return the low bits of ``high * 2**32 + low``, or of low alone, in the dtype of the format."""
    dtype = getattr(lib.xp, storage_name(fmt))
    if fmt.bits < 64:
        code = low & fmt.code_mask
        return lib.xp.astype(extended(code, fmt) if extend or fmt.bits >= 8 else code, dtype)
    if high is None:
        high, low = low >> HALF, low & LOW
    high = high & LOW
    if not fmt.signed and "uint64" in computed(lib.xp):
        return (lib.xp.astype(high, dtype) << HALF) | lib.xp.astype(low, dtype)
    high = high - ((high & (1 << (HALF - 1))) << 1)  # from here torch's conversion to uint64 wraps, as a C++ cast does
    return lib.xp.astype(high * (1 << HALF) + low, dtype)


def _rounded(magnitude: Any, fmt: Format, lib: Library) -> tuple[Any, Any, Any]:
    """Round to nearest even on the target's grid: (binade, units, quantum), units * quantum being the value.

    The binades count from the subnormals' one; beyond the largest value the result is some larger value.
    """
    quanta = quanta_of(fmt)[1:]
    powers = tuple(math.ldexp(quantum, fmt.mantissa_bits) for quantum in quanta)
    last = fmt.emax - fmt.emin
    top = 2 * powers[last]
    capped = lib.select(magnitude < top, magnitude, top, lib.xp.float64)
    binade = lib.search(powers[1 : last + 1], capped)
    quantum = lib.lookup(quanta, binade)
    return binade, lib.xp.round(capped / quantum), quantum


def _nearest(magnitude: Any, plan: Plan, lib: Library) -> Any:
    """Return the codes of magnitudes, rounded to nearest even."""
    binade, units, _ = _rounded(magnitude, plan.target, lib)
    # units count the hidden bit, and may have grown to twice it: either way the sum carries into the exponent field
    code = binade * (1 << plan.target.mantissa_bits) + lib.integers(units)
    return lib.select(code > plan.target.max_code, plan.limits.overflow[0], code, lib.xp.int64)


def _power(magnitude: Any, plan: Plan, lib: Library) -> Any:
    """Return the codes of magnitudes as powers of two, ruled out of range before they are rounded."""
    powers = quanta_of(plan.target)
    least, largest = powers[0], powers[plan.target.max_code]
    inside = lib.select(magnitude < least, least, magnitude, lib.xp.float64)
    inside = lib.select(inside > largest, largest, inside, lib.xp.float64)
    code = lib.search(powers[1:], inside)
    fraction = inside / lib.lookup(powers, code)
    if plan.round_mode != "down":
        code = code + lib.integers(fraction > 1.0 if plan.round_mode == "up" else fraction >= 1.5)
    code = lib.select(magnitude < least, plan.limits.zero[0], code, lib.xp.int64)
    return lib.select(magnitude > largest, plan.limits.overflow[0], code, lib.xp.int64)


def encoded(values: Values, plan: Plan, lib: Library) -> Any:
    """Return whole codes of the target: magnitude, sign, Inf and NaN."""
    target, int64 = plan.target, lib.xp.int64
    code = (_power if plan.method is Method.POWER else _nearest)(values.magnitude, plan, lib)
    code = lib.select(values.magnitude == math.inf, plan.limits.infinity[0], code, int64)
    signs = values.negative if target.has_negative_zero else values.negative & (code != 0)
    code = code | lib.select(signs, target.sign_mask, 0, int64)
    if values.nan is not None:
        code = lib.select(values.nan, lib.select(values.negative, *plan.limits.nan[::-1], int64), code, int64)
    return lib.xp.astype(code, getattr(lib.xp, storage_name(target)))


def nearest_values(magnitude: Any, fmt: Format, lib: Library) -> Any:
    """Return magnitudes rounded to nearest even in a float format, Inf beyond its largest value."""
    _, units, quantum = _rounded(magnitude, fmt, lib)
    return lib.select(units * quantum > fmt.max, math.inf, units * quantum, lib.xp.float64)


def native_values(values: Values, plan: Plan, lib: Library) -> Any:
    """Return values of a target that the library computes with; its NaN and Inf are the canonical ones."""
    source, target, magnitude = plan.source, plan.target, values.magnitude
    if target.bits < 64 and (source.mantissa_bits > target.mantissa_bits or source.emax > target.emax):
        # Rounded here and not by the conversion, which then loses nothing and has nothing to warn of.
        magnitude = nearest_values(magnitude, target, lib)
    dtype = getattr(lib.xp, storage_name(target))
    result = lib.xp.astype(lib.xp.where(values.negative, -magnitude, magnitude), dtype)
    nans = lib.select(values.negative, -math.nan, math.nan, dtype)
    return result if values.nan is None else lib.xp.where(values.nan, nans, result)


def require(target: Format, xp: Any) -> None:
    """Raise TypeError unless the library has the dtypes that the conversion works in and returns."""
    # A library may keep the name of a dtype that is switched off, and have one, as torch has, that it does not list.
    missing = sorted({"float64", "int64"} - computed(xp) | {storage_name(target)} - set(dir(xp)))
    if missing:
        raise TypeError(f"`x` must be of a library that has {' and '.join(missing)}; got an array of {xp.__name__}")


def copied(x: Any, fmt: Format, extend: bool, lib: Library) -> Any:
    """Return the bits unchanged, but those above a sub-byte code cleared or, on request, filled with the sign."""
    if fmt.kind is Kind.BOOL:
        return lib.xp.astype(x, lib.xp.bool)
    if fmt.bits >= 8:
        return lib.xp.asarray(x, copy=True)
    return assembled(None, lib.integers(x), fmt, extend, lib)


def nonzero(x: Any, fmt: Format, lib: Library) -> Any:
    """Return whether values differ from zero, as NaN does."""
    if not fmt.is_float:
        high, low = halves(x, fmt, lib)
        return low != 0 if high is None else (high | low) != 0
    values = decoded(x, fmt, lib)
    return values.magnitude != 0 if values.nan is None else (values.magnitude != 0) | values.nan


def truncated(x: Any, plan: Plan, extend: bool, lib: Library) -> Any:
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
