"""From the dtypes, shapes and options of a quantization to its plan, checked once and cached."""

from __future__ import annotations

import math
from typing import Any

from ..arrays.libraries import carrier, format_of, native
from ..spec.arguments import as_integer
from ..spec.formats import Format, as_format, is_in_table
from ..spec.opsets import check_attribute, unless_undefined, version_of
from ..spec.packing import check_packable
from .cast import Plan
from .granularity import Granularity, granularity_of
from .quantize import DEQUANTIZE, QUANTIZE, dequantize_plan, quantize_plan
from .resolve import memoized

__all__ = ["resolve_dequantize", "resolve_quantize"]

_Shape = tuple[int, ...]
_Settled = tuple[Plan, Format, Granularity]


def _spread(
    shape: _Shape, scale: _Shape, zero: _Shape | None, axis: object, block_size: object, operator: str, opset: int
) -> Granularity:
    version = version_of(opset, operator)
    check_attribute("axis", as_integer(axis), 1, opset, operator)
    spread = granularity_of(shape, scale, axis, block_size, blocks=version >= 21, axes=version >= 13)
    if zero is not None and zero != scale and not math.prod(zero) == math.prod(scale) == 1:
        raise ValueError(f"`zero_point` must have the shape of `scale`, {scale}; got {zero}")
    return spread


def _zero_point_format(dtype: Any, wanted: object, xp: Any) -> Format:
    """Return what a zero point holds: what its dtype says, or `wanted`, which it may only carry in that library."""
    fmt = None if wanted is None else as_format(wanted, parameter="output_dtype")
    if fmt is not None and not is_in_table(fmt) and dtype == carrier(fmt, xp):
        return fmt
    held = format_of(dtype, names=("zero_point", "zero_point"))
    if fmt is None:
        return held
    if held != fmt and not (native(fmt, xp) is None and dtype == carrier(fmt, xp)):
        raise ValueError(f"`zero_point` must be {fmt.name}, the type of the quantized array; got {dtype}")
    return fmt


def _quantize(
    xp: Any, dtype: Any, shape: _Shape, scale_dtype: Any, scale_shape: _Shape, scale_format: object,
    zero_dtype: Any, zero_shape: _Shape | None, axis: object, block_size: object, output_dtype: object,
    source: object, precision: object, saturate: bool, packed: bool, opset: int,
) -> _Settled:  # fmt: skip
    output_dtype, precision = unless_undefined(output_dtype), unless_undefined(precision)
    held = format_of(dtype, source)
    scale = format_of(scale_dtype, scale_format, ("scale", "scale_format"))
    spread = _spread(shape, scale_shape, zero_shape, axis, block_size, QUANTIZE, opset)
    zero = None if zero_shape is None else _zero_point_format(zero_dtype, output_dtype, xp)
    plan = quantize_plan(held, scale, zero, output_dtype, precision, saturate, opset)
    if packed:
        check_packable(plan.target, "output_dtype" if zero is None else "zero_point")
    return plan, scale, spread


def _dequantize(
    xp: Any, dtype: Any, shape: _Shape, scale_dtype: Any, scale_shape: _Shape, scale_format: object,
    zero_dtype: Any, zero_shape: _Shape | None, axis: object, block_size: object, output_dtype: object,
    source: object, packed: bool, opset: int,
) -> _Settled:  # fmt: skip
    output_dtype = unless_undefined(output_dtype)
    held = as_format(source, parameter="source") if packed else format_of(dtype, source)
    scale = format_of(scale_dtype, scale_format, ("scale", "scale_format"))
    spread = _spread(shape, scale_shape, zero_shape, axis, block_size, DEQUANTIZE, opset)
    zero = None if zero_shape is None else _zero_point_format(zero_dtype, held, xp)
    return dequantize_plan(held, scale, zero, output_dtype, opset), scale, spread


resolve_quantize = memoized(_quantize)
resolve_dequantize = memoized(_dequantize)
