"""From the arguments of QuantizeLinear and DequantizeLinear to a plan, checked once and cached."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from ..arrays.libraries import format_of, native, storage_dtype
from ..spec.formats import FLOAT32, FLOAT64, INT32, UINT8, Format, NaNRule, as_format, is_in_table
from ..spec.memo import remembered
from ..spec.operator_versions import (
    DEQUANTIZE,
    NEWEST,
    QUANTIZE,
    CastRules,
    check_alone,
    check_attribute,
    check_operand,
    check_saturate,
    unless_undefined,
    version_of,
)
from ..spec.packing import check_packable
from ..spec.rounding_modes import RoundingOptions, check_rounding
from ..spec.scalar_arguments import as_integer, shown
from .cast_plan import make_plan
from .plan import Plan, Rule, Scaling
from .scale_shapes import Broadcast, Granularity, Repetition, broadcast_of, granularity_of, tile_axes, tiles_of

__all__ = ["QuantizeOptions", "dequantize_plan", "granularity_at", "quantize_plan", "resolve_quantize", "scale_plans"]


class QuantizeOptions(NamedTuple):
    """The options of a QuantizeLinear or a DequantizeLinear, as the caller spelled them."""

    axis: object = 1
    block_size: object = 0
    output_dtype: object = None
    precision: object = None
    saturate: object = True
    packed: bool = False
    opset: int = NEWEST
    source: object = None
    scale_format: object = None
    rounding: RoundingOptions | None = None
    float64_x: bool = False


_Shape = tuple[int, ...]

Operand = tuple[Any, _Shape]
"""What the checks read of an array: its dtype and its shape."""

Resolved = tuple[Plan, Format, Granularity, Repetition | Broadcast | None]
"""The plan of a quantization, the format of its scales, how they spread, how they are repeated before."""


def quantize_plan(source: Format, scale: Format, zero_point: Format | None, options: QuantizeOptions) -> Plan:
    """Check the types of a QuantizeLinear against its version at the opset, and return its plan.

    `zero_point` and `output_dtype` name the target; they have been checked to agree.
    """
    output_dtype, precision, saturate, opset = options.output_dtype, options.precision, options.saturate, options.opset
    version = version_of(opset, QUANTIZE)
    check_saturate(saturate, opset, QUANTIZE)
    check_attribute("output_dtype", output_dtype, None, opset, QUANTIZE)
    check_attribute("precision", precision, None, opset, QUANTIZE)
    if not (options.float64_x and source == FLOAT64):
        check_operand(source, opset, version, QUANTIZE, "x")
    check_operand(scale, opset, version, QUANTIZE, "scale")
    if version in (19, 21) and scale != source:
        raise ValueError(f"`scale` must be {source.name}, as `x` is, before opset 23; got {scale.name}")
    if zero_point is not None:
        target, name = zero_point, "zero_point"
    else:
        chosen = UINT8 if output_dtype is None else output_dtype
        target, name = as_format(chosen, parameter="output_dtype"), "output_dtype"
    check_operand(target, opset, version, QUANTIZE, "output_dtype", name)
    if precision is not None:
        working = as_format(precision, parameter="precision")
        check_operand(working, opset, version, QUANTIZE, "precision")
    elif scale.is_integer:
        working = FLOAT64
    else:
        working = scale if scale.has_zero else FLOAT32
    if not (working.has_inf and working.nan in (NaNRule.IEEE, NaNRule.ALL_ONES)):
        came = f"of `scale`, {working.name}" if precision is None else working.name
        raise ValueError(f"`precision` must be a float that has Inf, -0 and NaN; got {came}")
    has_zero = zero_point is not None and (target.is_integer or target.saturates == "always")
    added = None if not has_zero else INT32 if target.is_integer else FLOAT32
    cast_version = version_of(opset)
    rounding = None
    if options.rounding is not None:
        check_alone(options.rounding, {"saturate": (saturate, True), "opset": (opset, NEWEST)})
        rounding = check_rounding(options.rounding, target, name)
    rules = CastRules(cast_version, bool(saturate), "up", rounding)
    wide = working.bits == 64 and added is None
    last = make_plan(FLOAT64 if wide else FLOAT32, target, rules)
    return Plan(Rule.QUANTIZE, source, target, scaling=Scaling(working, added, last))


def dequantize_plan(source: Format, scale: Format, zero_point: Format | None, options: QuantizeOptions) -> Plan:
    """Check the types of a DequantizeLinear against its version at the opset, and return its plan."""
    output_dtype, opset = options.output_dtype, options.opset
    version = version_of(opset, DEQUANTIZE)
    check_attribute("output_dtype", output_dtype, None, opset, DEQUANTIZE)
    check_operand(source, opset, version, DEQUANTIZE, "x")
    check_operand(scale, opset, version, DEQUANTIZE, "scale")
    if output_dtype is not None:
        target = as_format(output_dtype, parameter="output_dtype")
        check_operand(target, opset, version, DEQUANTIZE, "output_dtype")
    elif scale.has_zero:
        target = scale
    else:
        raise ValueError(f"`output_dtype` must be given where `scale` is {scale.name}; got None")
    # Zero points of float8 and int32 can but be 0.
    has_zero = zero_point is not None and source.saturates != "asked" and source.bits < 32
    last = make_plan(FLOAT32, target, CastRules(version_of(opset), True, "up"))
    return Plan(Rule.DEQUANTIZE, source, target, scaling=Scaling(FLOAT32, FLOAT32 if has_zero else None, last))


def scale_plans(scaling: Scaling, scale: Format) -> tuple[Plan, ...]:
    """Return the casts that bring a scale to what the loops read: to the precision, and on to float32 from 16 bits."""
    rules = CastRules(version_of(NEWEST), True, "up")
    steps = [scale, scaling.precision, FLOAT64 if scaling.precision.bits == 64 else FLOAT32]
    return tuple(make_plan(a, b, rules) for a, b in pairwise(steps) if a != b)


def granularity_at(
    operator: str, shape: _Shape, scale: _Shape, zero_point: _Shape | None, options: QuantizeOptions
) -> tuple[Granularity, Repetition | Broadcast | None]:
    """Return which scale belongs to which element, by the operator's version at the opset, or raise ValueError."""
    axis, block_size, opset = options.axis, options.block_size, options.opset
    version = version_of(opset, operator)
    broadcasts = isinstance(axis, tuple) and not axis
    tiles = None if broadcasts else tile_axes(axis, block_size)
    spread: tuple[Granularity, Repetition | Broadcast | None]
    if broadcasts:
        spread = broadcast_of(shape, scale, version >= 21, version >= 13)
    elif tiles is not None:
        if as_integer(opset) != NEWEST:
            wanted = f"{NEWEST}, the default, for tiles, which no version of {operator} has"
            raise ValueError(f"`opset` must be {wanted}; got {shown(opset)}")
        spread = tiles_of(shape, scale, *tiles)
    else:
        check_attribute("axis", as_integer(axis), 1, opset, operator)
        blocks, axes = version >= 21, version >= 13
        spread = granularity_of(shape, scale, axis, block_size, blocks, axes), None
    if zero_point is not None and zero_point != scale:
        single = math.prod(zero_point) == math.prod(scale) == 1
        if not single or spread[1] is not None:
            raise ValueError(f"`zero_point` must have the shape of `scale`, {scale}; got {zero_point}")
    return spread


def _zero_point_format(dtype: Any, wanted: object, xp: Any) -> Format:
    """Return what a zero point holds: what its dtype says, or `wanted`, which it may only carry in that library."""
    fmt = None if wanted is None else as_format(wanted, parameter="output_dtype")
    if fmt is not None and not is_in_table(fmt) and dtype == storage_dtype(fmt, xp):
        return fmt
    stored = format_of(dtype, names=("zero_point", "zero_point"))
    if fmt is None:
        return stored
    if stored != fmt and not (native(fmt, xp) is None and dtype == storage_dtype(fmt, xp)):
        raise ValueError(f"`zero_point` must be {fmt.name}, the type of the quantized array; got {dtype}")
    return fmt


@remembered
def _plan(operator: str, xp: Any, x: Any, scale: Any, zero_point: Any, *items: Any) -> tuple[Plan, Format]:
    """Return the plan for arrays of these dtypes, and the format of the scales."""
    options = QuantizeOptions(*items)
    output_dtype, precision = unless_undefined(options.output_dtype), unless_undefined(options.precision)
    if output_dtype is not options.output_dtype or precision is not options.precision:
        options = options._replace(output_dtype=output_dtype, precision=precision)
    quantizes = operator == QUANTIZE
    is_unpacked = quantizes or not options.packed
    stored = format_of(x, options.source) if is_unpacked else as_format(options.source, parameter="source")
    scale_format = format_of(scale, options.scale_format, ("scale", "scale_format"))
    zero = None
    if zero_point is not None:
        zero = _zero_point_format(zero_point, options.output_dtype if quantizes else stored, xp)
    plan = (quantize_plan if quantizes else dequantize_plan)(stored, scale_format, zero, options)
    if options.packed and quantizes:
        check_packable(plan.target, "output_dtype" if zero is None else "zero_point")
    return plan, scale_format


def resolve_quantize(
    operator: str, xp: Any, x: Operand, scale: Operand, zero_point: Operand | None, options: QuantizeOptions
) -> Resolved:
    """Return what a quantization or, by the operator, a dequantization of an array means, or raise what it promises.

    Shapes and dtypes are those of the arrays, `x` that of the values where its codes are packed; `xp` is their library.
    """
    zero_dtype, zero_shape = (None, None) if zero_point is None else zero_point
    spread = granularity_at(operator, x[1], scale[1], zero_shape, options)
    # One item each: the types of items count, True is not 1. The plan does not depend on axis and block size.
    items = options._replace(axis=None, block_size=0)
    return *_plan(operator, xp, x[0], scale[0], zero_dtype, *items), *spread
