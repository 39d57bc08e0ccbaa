"""QuantizeLinear and DequantizeLinear in array-API calls."""

from __future__ import annotations

import math
from typing import Any

import array_api_compat

from ...plans.plan import Method, Plan
from ...plans.scale_shapes import Granularity
from ...spec.formats import FLOAT32, FLOAT64, Format
from ...spec.rounding_modes import Stream
from ..jobs import Scales
from .cast import Library, Values, assembled, encoded, native_values, nearest_values, require, values_of
from .rounding import round_values

__all__ = ["quantize_array"]


def _in_precision(x: Any, fmt: Format, precision: Format, lib: Library) -> Values:
    """Return what an array holds, rounded to the precision."""
    values = values_of(x, fmt, precision, lib)
    nan = lib.constant(False, lib.xp.bool) if values.nan is None else values.nan
    magnitude = values.magnitude
    if fmt != precision and precision.bits < 64:
        magnitude = nearest_values(magnitude, precision, lib)
    return Values(magnitude, values.negative, nan)


def _broadcast(field: Any, shape: tuple[int, ...], granularity: Granularity, lib: Library) -> Any:
    """Return an array of the shape of the scales so that it broadcasts to `shape`."""
    if field.ndim == 0:
        return field
    if granularity.axis is None:
        return lib.xp.reshape(field, ())
    if granularity.outer_step or granularity.block > 1:
        blocks = lib.xp.arange(shape[granularity.axis], dtype=lib.xp.int64, device=lib.device) // granularity.block
        return lib.xp.take(field, blocks, axis=granularity.axis)
    return lib.xp.reshape(field, tuple(n if axis == granularity.axis else 1 for axis, n in enumerate(shape)))


def _broadcast_values(
    x: Any, fmt: Format, precision: Format, shape: tuple[int, ...], granularity: Granularity, lib: Library
) -> Values:
    values = _in_precision(x, fmt, precision, lib)
    fields = (values.magnitude, values.negative, values.nan)
    return Values(*(_broadcast(field, shape, granularity, lib) for field in fields))


def _signed(values: Values, lib: Library) -> Any:
    """Return values as float64, zeros for NaN."""
    finite = lib.select(values.nan, 0.0, values.magnitude, lib.xp.float64)
    return lib.xp.where(values.negative, -finite, finite)


def _joined(magnitude: Any, invalid: Any, a: Values, b: Values, lib: Library) -> Values:
    """Return a quotient or product: the signs multiply; a NaN has the sign of the operand it came from, or none."""
    nan = a.nan | b.nan | invalid
    sign = lib.xp.where(a.nan, a.negative, b.negative & b.nan)
    return Values(magnitude, lib.xp.where(nan, sign, a.negative != b.negative), nan)


def _divided(a: Values, b: Values, lib: Library) -> Values:
    float64 = lib.xp.float64
    invalid = ((a.magnitude == 0) & (b.magnitude == 0)) | ((a.magnitude == math.inf) & (b.magnitude == math.inf))
    by_zero = b.magnitude == 0
    dividend = lib.select(invalid, 0.0, a.magnitude, float64)
    quotient = dividend / lib.select(by_zero, 1.0, b.magnitude, float64)
    return _joined(lib.select(by_zero, math.inf, quotient, float64), invalid, a, b, lib)


def _multiplied(a: Values, b: Values, lib: Library) -> Values:
    float64 = lib.xp.float64
    invalid = ((a.magnitude == 0) & (b.magnitude == math.inf)) | ((a.magnitude == math.inf) & (b.magnitude == 0))
    product = lib.select(invalid, 1.0, a.magnitude, float64) * lib.select(invalid, 1.0, b.magnitude, float64)
    return _joined(product, invalid, a, b, lib)


def _rounded(values: Values, precision: Format, lib: Library) -> Values:
    if precision.bits == 64:
        return values
    return Values(nearest_values(values.magnitude, precision, lib), values.negative, values.nan)


def _added(values: Values, other: Any, lib: Library) -> Values:
    """Return values plus float64 numbers, rounded to float32; NaN stays."""
    total = _signed(values, lib) + other
    magnitude = nearest_values(lib.xp.abs(total), FLOAT32, lib)
    return Values(magnitude, lib.xp.where(values.nan, values.negative, lib.xp.signbit(total)), values.nan)


def _integers(values: Values, zero: Any, target: Format, extend: bool, lib: Library) -> Any:
    """Return values rounded half to even, plus the zero points, clamped; NaN becomes the lower end."""
    number = lib.xp.round(_signed(values, lib))
    number = number if zero is None else number + zero
    low, high = float(target.min), float(target.max)
    number = lib.select(values.nan | (number < low), low, number, lib.xp.float64)
    number = lib.select(number > high, high, number, lib.xp.float64)
    return assembled(None, lib.integers(number), target, extend, lib)


def quantize_array(
    x: Any, plan: Plan, scales: Scales, xp: Any, *, extend: bool = False, stream: Stream | None = None
) -> Any:
    """Quantize or dequantize with nothing but calls of the array-API namespace.

    Parameters
    ----------
    x : array of `xp`, any shape
        As `cast_array` takes it.
    plan : Plan
        With a scale part.
    scales : Scales
        Scales and zero points, in the dtypes that `x` may have.
    xp : module
        The namespace of `x`, as array-api-compat returns it.
    extend : bool
        Whether a sub-byte integer result holds sign-extended values rather than masked codes.
    stream : Stream, optional
        The random numbers of a stochastic plan.

    Returns
    -------
    array of `xp`, shape of `x`
        As `cast_array` returns it.
    """
    scaling, granularity = plan.scaling, scales.granularity
    assert scaling is not None
    require(plan.target, xp)
    lib = Library(xp, array_api_compat.device(x))
    shape = tuple(x.shape)
    factor = _broadcast_values(scales.scale, scales.format, scaling.precision, shape, granularity, lib)
    offset = None
    if scales.zero_point is not None:
        zero = scales.zero_point, plan.codes, FLOAT32
        offset = _signed(_broadcast_values(*zero, shape, granularity, lib), lib)
    if plan.method is Method.QUANTIZE:
        values = _in_precision(x, plan.source, scaling.precision, lib)
        values = _rounded(_divided(values, factor, lib), scaling.precision, lib)
        if plan.target.is_integer:
            return _integers(values, offset, plan.target, extend, lib)
        if offset is not None:
            values = _added(_rounded(values, FLOAT32, lib), offset, lib)
    else:
        exact = FLOAT64
        values = _in_precision(x, plan.source, exact, lib)
        if offset is not None:
            values = _added(values, -offset, lib)
        values = _rounded(_multiplied(_rounded(values, scaling.precision, lib), factor, lib), scaling.precision, lib)
    if scaling.last.method is Method.ROUND:
        return round_values(values, scaling.last, stream, lib)
    return native_values(values, scaling.last, lib) if plan.target.bits > 16 else encoded(values, scaling.last, lib)
