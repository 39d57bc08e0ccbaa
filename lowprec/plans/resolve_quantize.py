"""From the dtypes, shapes and options of a quantization to its plan, checked once and cached."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from ..arrays.libraries import carrier, format_of, native
from ..spec.arguments import as_integer, shown
from ..spec.formats import Format, as_format, is_in_table
from ..spec.opset_rules import NEWEST, check_attribute, unless_undefined, version_of
from ..spec.packing import check_packable
from .cast_plan import Plan
from .granularity import Broadcast, Granularity, Repetition, broadcast_of, granularity_of, tile_axes, tiles_of
from .quantize_plan import QUANTIZE, QuantizeOptions, dequantize_plan, quantize_plan

__all__ = ["Operand", "Resolved", "granularity_at", "resolve_quantize"]

_Shape = tuple[int, ...]


Operand = tuple[Any, _Shape]
"""What the checks read of an array: its dtype and its shape."""


Resolved = tuple[Plan, Format, Granularity, Repetition | Broadcast | None]
"""The plan of a quantization, the format of its scales, how they spread, how they are repeated before."""


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
    if fmt is not None and not is_in_table(fmt) and dtype == carrier(fmt, xp):
        return fmt
    stored = format_of(dtype, names=("zero_point", "zero_point"))
    if fmt is None:
        return stored
    if stored != fmt and not (native(fmt, xp) is None and dtype == carrier(fmt, xp)):
        raise ValueError(f"`zero_point` must be {fmt.name}, the type of the quantized array; got {dtype}")
    return fmt


def _resolve(operator: str, xp: Any, x: Operand, scale: Operand, zero_point: Operand | None, *items: Any) -> Resolved:
    options = QuantizeOptions(*items)
    options = options._replace(
        output_dtype=unless_undefined(options.output_dtype), precision=unless_undefined(options.precision)
    )
    quantizes = operator == QUANTIZE
    is_unpacked = quantizes or not options.packed
    stored = format_of(x[0], options.source) if is_unpacked else as_format(options.source, parameter="source")
    scale_format = format_of(scale[0], options.scale_format, ("scale", "scale_format"))
    spread = granularity_at(operator, x[1], scale[1], None if zero_point is None else zero_point[1], options)
    zero = None
    if zero_point is not None:
        zero = _zero_point_format(zero_point[0], options.output_dtype if quantizes else stored, xp)
    plan = (quantize_plan if quantizes else dequantize_plan)(stored, scale_format, zero, options)
    if options.packed and quantizes:
        check_packable(plan.target, "output_dtype" if zero is None else "zero_point")
    return plan, scale_format, *spread


_cached = lru_cache(maxsize=4096, typed=True)(_resolve)


def resolve_quantize(
    operator: str, xp: Any, x: Operand, scale: Operand, zero_point: Operand | None, options: QuantizeOptions
) -> Resolved:
    """Return what a quantization or, by the operator, a dequantization of an array means, or raise what it promises.

    Shapes and dtypes are those of the arrays, `x` that of the values where its codes are packed; `xp` is their library.
    """
    has_many = isinstance(options.axis, (tuple, list)) or isinstance(options.block_size, (tuple, list))
    if has_many and options.axis != () and (tiles := tile_axes(options.axis, options.block_size)) is not None:
        options = options._replace(axis=tiles[0], block_size=tiles[1])
    # One item each: the types of items count, True is not 1, but not those of what is in a tuple.
    try:
        return _cached(operator, xp, x, scale, zero_point, *options)
    except TypeError:  # an option that cannot be a key of the cache cannot be right: let the checks name it
        return _resolve(operator, xp, x, scale, zero_point, *options)
