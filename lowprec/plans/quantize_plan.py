"""From the arguments of QuantizeLinear and DequantizeLinear to a plan, checked once and cached."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

from ..arrays.storage_dtypes import format_of, native, storage_dtype
from ..spec.formats import (
    BFLOAT16,
    BLOCK_FORMATS,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    NVFP4,
    UINT8,
    Format,
    NaNRule,
    as_format,
    element_of,
    is_in_table,
    is_named,
)
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
    takes_codes,
    unless_undefined,
    version_of,
)
from ..spec.packing import check_packable
from ..spec.rounding_modes import RoundingOptions, check_rounding
from ..spec.scalar_arguments import as_flag, as_integer, shown
from ..spec.scale_rules import NVFP4_RULES, SCALE_RULES
from .block_plan import block_axis
from .cast_plan import make_plan
from .plan import Method, Plan, Scaling
from .scale_shapes import (
    Broadcast,
    Granularity,
    Repetition,
    broadcast_of,
    granularity_of,
    scale_groups,
    tile_axes,
    tiles_of,
)

__all__ = [
    "LINEAR",
    "QuantizeOptions",
    "absmax_formats",
    "check_values_format",
    "dequantize_plan",
    "granularity_at",
    "minmax_format",
    "plan_quantize",
    "quantize_plan",
    "resolve_quantize",
    "scale_plans",
    "scheme_of",
]


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
    return Plan(Method.QUANTIZE, source, target, scaling=Scaling(working, added, last))


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
    return Plan(Method.DEQUANTIZE, source, target, scaling=Scaling(FLOAT32, FLOAT32 if has_zero else None, last))


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
        blocks, axes = version >= 21, version >= 13
        if not axes:
            check_attribute("axis", as_integer(axis), 1, opset, operator)
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
    return *_plan(operator, xp, x[0], scale[0], zero_dtype, None, 0, *options[2:]), *spread


_VALUES = FLOAT32, FLOAT16, BFLOAT16
"""What is divided by its scale as it is, and what comes back."""

LINEAR, _MX = "linear", "mx"
"""Schemes beside `NVFP4`."""


def scheme_of(to: object) -> str:
    """Return how codes and scales of a target make values."""
    return LINEAR if not isinstance(to, str) or to not in BLOCK_FORMATS else NVFP4 if to == NVFP4 else _MX


def _check_linear(to: Format, zero_point: bool, scale_format: object, scale_rule: object) -> str:
    """Return the name of the format of the scales of a linear quantization, or raise ValueError."""
    if not takes_codes(to):
        wanted = "an integer of 2 to 16 bits, a float of up to 8 bits that has a zero, or a block format"
        raise ValueError(f"`to` must be {wanted} ({', '.join(BLOCK_FORMATS)}); got {to.name}")
    if not zero_point:
        if not to.signed:
            raise ValueError(f"`zero_point` must be True for {to.name}, which has no negative numbers; got False")
        held = FLOAT32 if scale_format is None else as_format(scale_format, parameter="scale_format")
        absmax_formats(to, held, scale_rule)
        return held.name
    if not to.is_integer:
        raise ValueError(f"`zero_point` must be False for {to.name}: only integers have one; got True")
    minmax_format(to)
    if scale_format is not None and as_format(scale_format, parameter="scale_format") != FLOAT32:
        raise ValueError(
            f"`scale_format` must be float32 or None where `zero_point` is True; got {shown(scale_format)}"
        )
    if scale_rule is not None:
        raise ValueError(f"`scale_rule` must be None where `zero_point` is True; got {shown(scale_rule)}")
    return FLOAT32.name


def _check_blocks(to: str, zero_point: bool, scale_format: object, scale_rule: object, *rules: object) -> str:
    """Return the name of the format of the scales of a block format, or raise ValueError."""
    held = FLOAT8_E4M3FN if to == NVFP4 else FLOAT8_E8M0FNU
    if zero_point:
        raise ValueError(f"`zero_point` must be False for {to}, whose blocks have none; got True")
    if scale_format is not None and as_format(scale_format, parameter="scale_format") != held:
        raise ValueError(f"`scale_format` must be {held.name} or None for {to}; got {shown(scale_format)}")
    taken = NVFP4_RULES if to == NVFP4 else SCALE_RULES
    if scale_rule is not None and not (isinstance(scale_rule, str) and scale_rule in taken):
        raise ValueError(f"`scale_rule` must be None or one of {', '.join(taken)} for {to}; got {shown(scale_rule)}")
    for name, rule in zip(("overflow", "nan"), rules, strict=True):
        if rule is not None:
            raise ValueError(
                f"`{name}` must be None for {to}, whose scales are made for the largest; got {shown(rule)}"
            )
    return held.name


def _source(dtype: Any) -> tuple[str | None, str | None]:
    """Return what `x` of a dtype is cast to before it is divided, and the precision of the quotient; None as it is."""
    held = format_of(dtype)
    if held in _VALUES:
        return None, None
    if held in (FLOAT64, INT32):
        return None, FLOAT64.name
    if held.kind is not FLOAT32.kind and not held.is_integer:
        raise TypeError(f"`x` must hold integers or real floats; got {held.name}")
    is_exact = held.bits <= 16 if held.is_integer else held.bits <= 32
    return (FLOAT32.name, None) if is_exact else (FLOAT64.name, FLOAT64.name)


def plan_quantize(
    dtype: Any, rank: int, to: object, axis: Any, block_size: Any, zero_point: object, scale_format: object,
    scale_rule: Any, packed: object, *rules: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Check the arguments of `quantize` for an array of a dtype and a rank; return all that is fixed by them.

    That is the target, axis and block size, whether there are zero points and packed codes, the format of the scales,
    and what `_source` returns.
    """
    has_zero, packs = as_flag(zero_point, "zero_point"), as_flag(packed, "packed")
    element, scheme = element_of(to, "to"), scheme_of(to)
    if packs:
        check_packable(element, "to")
    before = _source(dtype)
    if scheme != LINEAR:
        held = _check_blocks(str(to), has_zero, scale_format, scale_rule, *rules[1:])
        size = (16 if scheme == NVFP4 else 32) if block_size is None else block_size
        sharing = block_axis(rank, -1 if axis is None else axis, size)
        return to, *sharing, has_zero, packs, held, (None, None)
    held = _check_linear(element, has_zero, scale_format, scale_rule)
    if any(rule is not None for rule in rules):
        check_rounding(RoundingOptions(*rules), element, "to")
    blocks = 0 if block_size is None else block_size
    if axis is None and block_size is not None:
        if rank == 0:
            raise ValueError("`x` must have one axis or more where there is a `block_size`; got a 0-d array")
        axis = -1
    groups = scale_groups(rank, axis, blocks)
    axes, sizes_of_axes = groups.axes, groups.blocks
    along = None if not axes else axes[0] if len(axes) == 1 else axes
    block = 0 if not sizes_of_axes else sizes_of_axes[0] if len(axes) == 1 else sizes_of_axes
    return element.name if is_named(element) else element, along, block, has_zero, packs, held, before


def check_values_format(to: object) -> str:
    """Return the name of the format of dequantized values, or raise ValueError."""
    target = as_format(to, parameter="to")
    if target not in _VALUES:
        raise ValueError(f"`to` must be one of {', '.join(fmt.name for fmt in _VALUES)}; got {target.name}")
    return target.name


def _is_rule(rule: object) -> bool:
    return isinstance(rule, str) and rule in SCALE_RULES


def _checked_target(to: object, kinds: str) -> Format:
    fmt = as_format(to, parameter="to")
    if kinds == "signed" and not ((fmt.is_float or fmt.is_integer) and fmt.signed and fmt.has_zero):
        hint = " (`minmax_scale` is for unsigned integers)" if fmt.is_integer else ""
        raise ValueError(f"`to` must be a signed format of numbers, since the scale is symmetric; got {fmt.name}{hint}")
    if kinds == "integer" and not (fmt.is_integer and fmt.bits <= 16):
        raise ValueError(f"`to` must be an integer of 2 to 16 bits; got {fmt.name}")
    return fmt


def absmax_formats(to: object, scale_format: object, scale_rule: object) -> tuple[Format, Format]:
    """Return the formats of what is quantized by scales of largest magnitudes, and of these, or raise ValueError."""
    target = _checked_target(to, "signed")
    fmt = as_format(scale_format, parameter="scale_format")
    if not fmt.is_float or not (fmt.bits in (16, 32) or not fmt.has_zero):
        raise ValueError(f"`scale_format` must be a float of 16 or 32 bits, or a power of two; got {fmt.name}")
    if scale_rule is not None and (not _is_rule(scale_rule) or fmt.has_zero):
        where = f"one of {', '.join(SCALE_RULES)}" if not fmt.has_zero else f"None where `scale_format` is {fmt.name}"
        raise ValueError(f"`scale_rule` must be {where}; got {shown(scale_rule)}")
    return target, fmt


def minmax_format(to: object) -> Format:
    """Return the format of what is quantized by the scales of ranges, or raise ValueError."""
    return _checked_target(to, "integer")
