"""Scale and zero point arguments: checked, made of Python numbers if need be, repeated where they are of tiles."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..arrays.libraries import format_of, is_dask, match_library, namespace, to_library
from ..backends import cpu
from ..backends.dispatch import dispatch
from ..backends.job import Job, Scales
from ..plans.cast_plan import Plan, make_plan
from ..plans.granularity import Broadcast, Repetition
from ..plans.quantize_plan import DEQUANTIZE, QUANTIZE, QuantizeOptions, takes_type
from ..plans.resolve_quantize import resolve_quantize
from ..spec.arguments import shown
from ..spec.float_mode import default_mode
from ..spec.formats import FLOAT32, FLOAT64, INT64, UINT8, Format, as_format
from ..spec.opset_rules import cast_rules, unless_undefined

__all__ = [
    "is_number", "number_format", "number_operand", "plain_operand", "resolve_operands", "scale_argument",
    "zero_point_argument",
]  # fmt: skip

_Array = np.ndarray[Any, Any]


def is_number(value: object) -> bool:
    """Whether a scale or a zero point is a Python number, which has no type of its own."""
    return isinstance(value, (int, float)) and not isinstance(value, (bool, np.generic))


@default_mode
def _number_of(scalar: np.generic) -> Any:
    """Return a NumPy scalar as a Python number; itself where it is none."""
    fmt = _stored(scalar, None)
    if isinstance(scalar, np.integer) or (fmt is not None and fmt.is_integer):
        return int(scalar)
    if isinstance(scalar, np.floating) or (fmt is not None and fmt.is_float):
        return float(scalar)
    return scalar


def _stored(scalar: np.generic, named: object) -> Format | None:
    try:
        return format_of(scalar.dtype, named)
    except (TypeError, ValueError):
        return None


def plain_operand(value: Any, operator: str | None, parameter: str, named: object = None) -> Any:
    """Return a NumPy scalar of a type that an operator lacks as a Python number; any other operand as it is.

    `named` is the format of codes that the scalar may hold. Without an operator no type of NumPy's counts.
    """
    if isinstance(value, (bool, np.bool)):
        name = "numpy.bool" if isinstance(value, np.bool) else "bool"
        raise TypeError(
            f"`{parameter}` must be an array (NumPy, torch, or any array-API library) or a number; got {name}"
        )
    if not isinstance(value, np.generic):
        return value
    if operator is not None:
        typed_as = _TYPED_AS.get((operator, parameter), parameter)
        held = {_stored(value, None), _stored(value, named)} - {None}
        if any(takes_type(operator, typed_as, fmt) for fmt in held if fmt is not None):
            return value
    return _number_of(value)


_TYPED_AS = {(QUANTIZE, "zero_point"): "output_dtype", (DEQUANTIZE, "zero_point"): "x"}
"""The parameter whose types are those of a zero point."""


def _code_of(value: float, fmt: Format, parameter: str) -> _Array:
    """Return the code of a Python number, 0-d, rounded to the format where that is a float; for reading only."""
    return (_cached_code if value else _new_code)(value, fmt, parameter)  # 0.0 equals -0.0 as a key


@default_mode
def _new_code(value: float, fmt: Format, parameter: str) -> _Array:
    if fmt.is_integer and not (fmt.min <= value <= fmt.max and int(value) == value):
        wanted = f"an integer from {fmt.min} to {fmt.max} for {fmt.name}"
        raise ValueError(f"`{parameter}` must be {wanted}; got {shown(value)}")
    if abs(value) > FLOAT64.max and abs(value) != math.inf:
        raise ValueError(f"`{parameter}` must be a number that float64 holds; got {shown(value)}")
    number = INT64 if fmt.is_integer else FLOAT64
    plan = make_plan(number, fmt, cast_rules(number, fmt))
    code: _Array = dispatch(Job(np.asarray(value, number.dtype), plan, codes=True))
    return code


_cached_code = lru_cache(maxsize=1024)(_new_code)


def number_format(dtype: Any, source: object, scale_format: object) -> Format:
    """Return the format of a scale that is a Python number, for `x` of that dtype, which holds `source`."""
    if scale_format is not None:
        return as_format(scale_format, parameter="scale_format")
    fmt = format_of(dtype, source)
    return fmt if fmt.is_float and fmt.bits >= 16 else FLOAT32


@lru_cache(maxsize=1024, typed=True)
def _cached_scale(value: float, dtype: Any, source: object, scale_format: object) -> tuple[_Array, Format]:
    fmt = number_format(dtype, source, scale_format)
    return _code_of(value, fmt, "scale").view(fmt.dtype), fmt


def _number_scale(value: float, dtype: Any, source: object, scale_format: object) -> tuple[_Array, Format]:
    """Return the scale that a Python number is, 0-d and for reading only, and its format."""
    try:
        return (_cached_scale if value else _cached_scale.__wrapped__)(value, dtype, source, scale_format)
    except TypeError:  # a name that cannot be a key of the cache: let the checks say so
        return _cached_scale.__wrapped__(value, dtype, source, scale_format)


def _placed(operand: _Array, fmt: Format, x: Any) -> Any:
    """Return a NumPy array as it is where operands for `x` may be one, else in the library of `x`."""
    return operand if cpu.reads(x) else to_library(operand.view(fmt.code_dtype), fmt, x)


def scale_argument(
    scale: Any, x: Any, source: object, scale_format: object, operator: str = QUANTIZE
) -> tuple[Any, object]:
    """Return the scale as an array that the back ends take with `x`, and what names its format if its dtype does not.

    A Python number takes the type of `x`, which holds `source`, where that is a float of 16 or 32 bits; so does a NumPy
    scalar of a type that the operator lacks.
    """
    scale = plain_operand(scale, operator, "scale", scale_format)
    if isinstance(scale, np.generic) and namespace(x) is not np and not is_dask(x):
        fmt = format_of(scale.dtype, scale_format, ("scale", "scale_format"))
        return _placed(np.asarray(scale).view(fmt.dtype), fmt, x), fmt
    if not is_number(scale):
        return match_library(scale, x, "scale"), scale_format
    number, fmt = _number_scale(scale, x.dtype, source, scale_format)
    return _placed(number, fmt, x), fmt


def zero_point_argument(
    zero_point: Any, x: Any, wanted: object, shape: tuple[int, ...], operator: str = QUANTIZE
) -> Any:
    """Return the zero point as an array that the back ends take with `x`; a Python number serves every scale."""
    zero_point = plain_operand(zero_point, operator, "zero_point")
    if not is_number(zero_point):
        if isinstance(zero_point, np.generic) and namespace(x) is not np and not is_dask(x):
            return _placed(np.asarray(zero_point), format_of(zero_point.dtype), x)
        return match_library(zero_point, x, "zero_point")
    wanted = unless_undefined(wanted)
    fmt = UINT8 if wanted is None else as_format(wanted, parameter="output_dtype")
    code = _code_of(zero_point, fmt, "zero_point")
    return _placed(np.broadcast_to(code, shape).copy().view(fmt.dtype), fmt, x)


def number_operand(value: float, x: Any, fmt: str, parameter: str) -> Any:
    """Return a scale or a zero point that is a Python number as a 0-d array of the library of `x`."""
    row = as_format(fmt)
    return to_library(_code_of(value, row, parameter), row, x)


def _spread(scale: Any, repetition: Repetition | Broadcast) -> Any:
    """Return scales as those along one axis or as those of blocks along one axis, in their library.

    Theirs is one for each tile, or the rank of the array.
    """
    xp = namespace(scale)
    if isinstance(repetition, Broadcast):
        whole = repetition.shape
        return xp.reshape(scale if len(whole) == 1 else xp.broadcast_to(scale, whole), whole)
    axis, shape = repetition.axis, tuple(scale.shape)
    before, after = shape[:axis], shape[axis + 1 :]
    rows = xp.broadcast_to(xp.expand_dims(scale, axis=axis + 1), (*shape[: axis + 1], repetition.block, *after))
    rows = xp.reshape(rows, (*before, shape[axis] * repetition.block, *after))
    return rows[(*(slice(None),) * axis, slice(repetition.length), ...)]


def resolve_operands(
    operator: str, x: Any, scale: Any, zero_point: Any, options: QuantizeOptions, shape: tuple[int, ...] | None = None
) -> tuple[Plan, Scales]:
    """Return the plan of a quantization or, by the operator, a dequantization, and the scales that it reads.

    `scale` is what `scale_argument` returned, `shape` that of the values where `x` holds packed codes.
    """
    scale_shape = tuple(scale.shape)
    zero = zero_operand = None
    if zero_point is not None:
        wanted: object = options.output_dtype
        if operator == DEQUANTIZE:
            wanted = format_of(x.dtype, options.source) if shape is None else options.source
        zero = zero_point_argument(zero_point, x, wanted, scale_shape, operator)
        zero_operand = zero.dtype, tuple(zero.shape)
    operands = (x.dtype, tuple(x.shape) if shape is None else shape), (scale.dtype, scale_shape), zero_operand
    plan, scale_format, granularity, repetition = resolve_quantize(operator, namespace(x), *operands, options)
    if repetition is not None:
        scale = _spread(scale, repetition)
        zero = None if zero is None else _spread(zero, repetition)
    return plan, Scales(scale, scale_format, zero, granularity)
