"""Scales and zero points of a call: from the caller's number or array to what loops read."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from .._float_mode import default_mode
from ..arrays.array_memory import to_codes, to_library
from ..arrays.libraries import has_host_memory, is_dask, match_library, namespace
from ..arrays.storage_dtypes import format_of
from ..plans.cast_plan import plan_of
from ..plans.plan import Plan
from ..plans.quantize_plan import QuantizeOptions, resolve_quantize, scale_plans
from ..plans.scale_shapes import Broadcast, Repetition, expanded
from ..spec.formats import BOOL, FLOAT32, FLOAT64, INT32, INT64, UINT8, Format, as_format
from ..spec.memo import CACHED
from ..spec.operator_versions import DEQUANTIZE, QUANTIZE, takes_type, unless_undefined
from ..spec.scalar_arguments import shown
from .backend_choice import dispatch
from .jobs import Job, Scales
from .kernels_of_plan import make_program
from .threads import shared

__all__ = [
    "check_zero_point", "converted_scales", "is_number", "number_format", "number_operand", "plain_operand",
    "ready_scales", "resolve_operands", "scale_argument", "scale_route",
]  # fmt: skip

_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)


# ---- the caller's operands


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


@default_mode
def _code_of(value: float, fmt: Format, parameter: str) -> _Array:
    """Return the code of a Python number, 0-d, rounded to the format where that is a float."""
    if fmt.is_integer and not (fmt.min <= value <= fmt.max and int(value) == value):
        wanted = f"an integer from {fmt.min} to {fmt.max} for {fmt.name}"
        raise ValueError(f"`{parameter}` must be {wanted}; got {shown(value)}")
    if abs(value) > FLOAT64.max and abs(value) != math.inf:
        raise ValueError(f"`{parameter}` must be a number that float64 holds; got {shown(value)}")
    number = INT64 if fmt.is_integer else FLOAT64
    code = np.empty(1, fmt.code_dtype)
    program = make_program(plan_of(number, fmt))
    _kernels.run(program, np.array([value], number.dtype).view(_BYTE), code.view(_BYTE), 1, None, None, 1)
    return code.reshape(())


def number_format(dtype: Any, source: object, scale_format: object) -> Format:
    """Return the format of a scale that is a Python number, for `x` of that dtype, which holds `source`."""
    if scale_format is not None:
        return as_format(scale_format, parameter="scale_format")
    fmt = format_of(dtype, source)
    return fmt if fmt.is_float and fmt.bits >= 16 else FLOAT32


def number_operand(value: float, x: Any, fmt: str, parameter: str) -> Any:
    """Return a scale or a zero point that is a Python number as a 0-d array of the library of `x`."""
    row = as_format(fmt)
    return to_library(_code_of(value, row, parameter), row, x)


def _placed(codes: _Array, fmt: Format, x: Any) -> Any:
    """Return codes of NumPy as an array that the back ends take with `x`: in host memory as it is."""
    return codes.view(fmt.dtype) if has_host_memory(x) else to_library(codes, fmt, x)


def _array_argument(operand: Any, x: Any, named: object, names: tuple[str, str]) -> tuple[Any, object]:
    """Return an operand that is no number as an array that the back ends take with `x`, and what names its format."""
    if isinstance(operand, np.generic) and namespace(x) is not np and not is_dask(x):
        fmt = format_of(operand.dtype, named, names)
        return _placed(np.asarray(operand).view(fmt.code_dtype), fmt, x), fmt
    return match_library(operand, x, names[0]), named


def scale_argument(
    scale: Any, x: Any, source: object, scale_format: object, operator: str = QUANTIZE
) -> tuple[Any, object]:
    """Return the scale as an array that the back ends take with `x`, and what names its format if its dtype does not.

    A Python number takes the type of `x`, which holds `source`, where that is a float of 16 or 32 bits; so does a NumPy
    scalar of a type that the operator lacks.
    """
    scale = plain_operand(scale, operator, "scale", scale_format)
    if not is_number(scale):
        return _array_argument(scale, x, scale_format, ("scale", "scale_format"))
    fmt = number_format(x.dtype, source, scale_format)
    return _placed(_code_of(scale, fmt, "scale"), fmt, x), fmt


def _zero_point_argument(zero_point: Any, x: Any, wanted: object, shape: tuple[int, ...], operator: str) -> Any:
    """Return the zero point as an array that the back ends take with `x`; a Python number serves every scale."""
    zero_point = plain_operand(zero_point, operator, "zero_point")
    if not is_number(zero_point):
        return _array_argument(zero_point, x, None, ("zero_point", "source"))[0]
    wanted = unless_undefined(wanted)
    fmt = UINT8 if wanted is None else as_format(wanted, parameter="output_dtype")
    return _placed(np.full(shape, _code_of(zero_point, fmt, "zero_point")), fmt, x)


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
        zero = _zero_point_argument(zero_point, x, wanted, scale_shape, operator)
        zero_operand = zero.dtype, tuple(zero.shape)
    operands = (x.dtype, tuple(x.shape) if shape is None else shape), (scale.dtype, scale_shape), zero_operand
    plan, scale_format, granularity, repetition = resolve_quantize(operator, namespace(x), *operands, options)
    if repetition is not None:
        scale = _spread(scale, repetition)
        zero = None if zero is None else _spread(zero, repetition)
    return plan, Scales(scale, scale_format, zero, granularity)


# ---- what the loops read


_scale_steps = lru_cache(maxsize=CACHED)(scale_plans)


def _zero_point_steps(plan: Plan, stored: Format) -> tuple[Plan, ...] | None:
    """Return the casts that bring a zero point to what the loops read; None where zero points can but be 0."""
    if plan.scaling is None or plan.scaling.zero_point is None:
        return None
    wanted = plan.scaling.zero_point
    return () if stored == wanted else (plan_of(stored, wanted),)


def check_zero_point(plan: Plan, scales: Scales) -> None:
    """Raise ValueError unless every zero point is zero, where the plan has no use for another one."""
    if scales.zero_point is None or plan.scaling is None or plan.scaling.zero_point is not None:
        return
    is_other = dispatch(Job(scales.zero_point, plan_of(plan.codes, BOOL)), at_once=True)
    if bool(namespace(is_other).any(is_other)):
        raise ValueError(f"`zero_point` must be 0 for {plan.codes.name}; got {_first(is_other, plan, scales)}")


def _first(is_other: Any, plan: Plan, scales: Scales) -> str:
    """Return the first zero point that is another one, and where: of Dask arrays in its chunk, which the length tells.

    Those of several axes have no place, since a job has those of tiles repeated.
    """
    xp = namespace(is_other)
    place = tuple(int(axis[0]) for axis in xp.nonzero(is_other)) if is_other.ndim else ()
    numbers: Any = scales.zero_point
    if plan.codes.is_float:
        numbers = dispatch(Job(numbers, plan_of(plan.codes, FLOAT32)), at_once=True)
    value = f"{float(numbers[place]):g}" if plan.codes.is_float else str(int(numbers[place]))
    return value + (f" at index {place[0]} of {is_other.shape[0]}" if len(place) == 1 < is_other.shape[0] else "")


def converted_scales(plan: Plan, scales: Scales) -> tuple[Any, Any | None]:
    """Return the scales and the zero points in the types that the loops read, in their library."""
    assert plan.scaling is not None  # a job has scales where its plan has a scale part
    check_zero_point(plan, scales)
    scale, zero_point, zero_steps = scales.scale, scales.zero_point, _zero_point_steps(plan, plan.codes)
    for step in _scale_steps(plan.scaling, scales.format):
        scale = dispatch(Job(scale, step), at_once=True)
    if zero_point is None or zero_steps is None:
        return scale, None
    for step in zero_steps:
        zero_point = dispatch(Job(zero_point, step), at_once=True)
    return scale, zero_point


def scale_route(
    plan: Plan, scales: Scales, n: int, *, number: bool = False, zero_number: bool = False
) -> _kernels.ScaleRoute:
    """Return how what the loops read of scales in host memory is made, for `n` elements: values play no part.

    `number` and `zero_number` say whether the scale and the zero point will be Python numbers: one that the scale's
    float format rounds, and an integer.
    """
    assert plan.scaling is not None
    spread, repeat, tile = expanded(scales.granularity, n)
    steps, stored = _scale_steps(plan.scaling, scales.format), scales.format
    if number:
        steps, stored = (plan_of(FLOAT64, stored), *steps), FLOAT64
    codes = plan.codes
    zero_format = INT32 if zero_number else codes
    zero_steps = _zero_point_steps(plan, zero_format)
    zero_range = (int(codes.min), int(codes.max)) if codes.is_integer else (0, 0)
    zero_programs = None if zero_steps is None else tuple(map(make_program, zero_steps))
    return _kernels.ScaleRoute(
        n, spread, repeat, tile, stored.storage_bits, tuple(map(make_program, steps)), zero_format.storage_bits,
        zero_programs, codes.is_integer, zero_range,
    )  # fmt: skip


def ready_scales(job: Job, n: int, result: _Array | None = None) -> _kernels.Operands:
    """Return what the compiled loops read of scales in host memory, of any layout and byte order.

    It does not share memory with `result`, which they write.
    """
    plan, scales = job.plan, job.scales
    assert scales is not None
    assert plan.scaling is not None
    check_zero_point(plan, scales)
    zero_point = None if plan.scaling.zero_point is None else scales.zero_point
    flat, zeros = _flat(scales.scale), None if zero_point is None else _flat(zero_point)
    copies = result is not None and any(np.may_share_memory(result, x) for x in (flat, zeros) if x is not None)
    route = scale_route(plan, scales, n)
    return shared(route.count, route.operands, flat, zeros, copies)


def _flat(x: Any) -> _Array:
    """Return host memory as dense bytes in native byte order."""
    codes = to_codes(x)
    if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.isnative:
        codes = codes.byteswap()
    return np.ascontiguousarray(codes).reshape(-1).view(_BYTE)
