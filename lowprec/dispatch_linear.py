"""Which back end carries out a quantization, and the scales and zero points as it reads them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from . import _kernels, blocks, device
from .arrays import (
    call_back,
    carrier,
    check_out,
    extends,
    is_dask,
    is_traced,
    namespace,
    on_host,
    to_codes,
)  # fmt: skip
from .beside import check_zero
from .dispatch import convert, convert_device, convert_host, dense_result
from .elsewhere import convert_linear_elsewhere
from .formats import FORMATS, Format, as_format
from .granularity import Granularity, expanded, granularity_of
from .linear import QUANTIZE, LinearPlan, read_linear, scale_plans, spell_linear
from .linear_stages import make_linear_program
from .opsets import cast_rules
from .packing import packed_bytes
from .plan import copy_plan, make_plan
from .threads import one_thread, shared

__all__ = ["convert_linear"]

_BYTE = np.dtype(np.uint8)
_program = cache(make_linear_program)
_scale_plans = cache(scale_plans)
_Array = np.ndarray[Any, Any]
_Zero = tuple[Any, Format] | None


@cache
def _zero_plan(held: Format, wanted: Format) -> Any:
    return make_plan(held, wanted, cast_rules(held, wanted))


def _codes_of(plan: LinearPlan) -> Format:
    """Return the format of the quantized side."""
    return plan.target if plan.operator == QUANTIZE else plan.source


@cache
def _dense(plan: LinearPlan, packed: bool) -> tuple[_kernels.Program, np.dtype[Any]]:
    """Return what converts a dense NumPy array, and the dtype of the result."""
    return _program(plan, packed=packed), _BYTE if packed else plan.target.dtype


def _flat(x: Any) -> _Array:
    """Return host memory as one dense row in native byte order."""
    if type(x) is np.ndarray and x.flags.carray and x.dtype.isnative:
        return x.reshape(-1)
    codes = to_codes(x)
    if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.isnative:
        codes = codes.byteswap()
    return np.ascontiguousarray(codes).reshape(-1)


def _converted(plan: LinearPlan, scale: tuple[Any, Format], zero: tuple[Any, Format] | None) -> tuple[Any, Any | None]:
    """Return the scales and the zero points in the types that the loops read."""
    factor, offset = scale[0], None
    for step in _scale_plans(plan, scale[1]):
        factor = convert(factor, step)
    if zero is not None and plan.zero_point is not None:
        offset = convert(zero[0], _zero_plan(zero[1], plan.zero_point))
    return factor, offset


def _operands(factor: Any, offset: Any | None, spread: Granularity, n: int) -> _kernels.Operands:
    offset = None if offset is None else _flat(offset)
    spread, (factor, offset) = expanded(spread, n, (_flat(factor), offset))
    _, inner, length, block, outer_step, width = spread
    beside = None if offset is None else offset.view(np.uint8)
    return _kernels.Operands(
        factor.view(np.uint8), beside, factor.itemsize, n, inner, length, block, outer_step, width
    )  # fmt: skip


def _carried_out(
    x: Any,
    plan: LinearPlan,
    scale: tuple[Any, Format],
    zero: _Zero,
    spread: Granularity,
    dtype: Any,
    extend: bool,
    packed: bool,
    shape: tuple[int, ...] | None,
    out: Any,
) -> Any:
    if zero is not None and plan.zero_point is None:
        check_zero(*zero)
        zero = None
    if on_host(x):
        n = math.prod(x.shape if shape is None else shape)
        operands = _operands(*_converted(plan, scale, zero), spread, n)
        return convert_host(x, plan, _program, dtype, extend, packed, shape, out, operands)
    if device.holds(x):
        there = device.Operands(*_converted(plan, scale, zero), spread)
        return convert_device(x, plan, _program, dtype, extend, packed, shape, out, there)
    return convert_linear_elsewhere(x, plan, scale, zero, spread, dtype, extend, packed, shape, out)


def _block(
    x: Any,
    scale: Any,
    zero: Any = None,
    *,
    plan: str,
    held: str,
    scale_format: str,
    zero_format: str,
    extend: bool,
    axis: int,
    block: int,
) -> Any:
    """Quantize one block of a Dask array, on one thread; dtypes come by the names of formats."""
    settled, dtype = read_linear(plan), as_format(held).dtype
    spread = granularity_of(x.shape, scale.shape, axis, block, blocks=True, axes=True)
    factor, zeros = (scale, FORMATS[scale_format]), None if zero is None else (zero, FORMATS[zero_format])
    with one_thread():
        return _carried_out(x, settled, factor, zeros, spread, dtype, extend, False, None, None)


def _in_blocks(
    x: Any,
    plan: LinearPlan,
    scale: tuple[Any, Format],
    zero: _Zero,
    spread: Granularity,
    dtype: Any,
    extend: bool,
    packed: bool,
    shape: tuple[int, ...] | None,
    out: Any,
) -> Any:
    """Leave a quantization to a task for each block of a Dask array; codes are unpacked before it, or packed after."""
    if out is not None:
        check_out(out, x, x.shape, dtype)
    if shape is not None:
        x = convert(x, copy_plan(plan.source), shape=shape)
    if packed:
        xp = namespace(x)
        dtype, extend = carrier(plan.target, xp), extends(plan.target, xp)
    x, operands = blocks.beside(x, [scale[0], *([] if zero is None else [zero[0]])], spread)
    names = {
        "plan": spell_linear(plan),
        "held": as_format(dtype).name,
        "scale_format": scale[1].name,
        "zero_format": "" if zero is None else zero[1].name,
        "extend": extend,
        "axis": 1 if spread.axis is None else spread.axis,
        "block": spread.block if spread.outer_step else 0,
    }
    result = blocks.joined(_block, x, operands, dtype, f"{plan.source.name}-{plan.target.name}", **names)
    return convert(result, copy_plan(plan.target), codes=True, packed=True) if packed else result


def _traced(
    x: Any,
    plan: LinearPlan,
    scale: tuple[Any, Format],
    zero: _Zero,
    spread: Granularity,
    dtype: Any,
    extend: bool,
    packed: bool,
    shape: tuple[int, ...] | None,
    out: Any,
) -> Any:
    """Leave a quantization to the moment when a traced JAX computation runs."""
    if out is not None:
        check_out(out, x, x.shape, dtype)
    wanted = (packed_bytes(math.prod(x.shape), plan.target),) if packed else x.shape if shape is None else shape

    def task(x: _Array, factor: _Array, offset: _Array | None = None) -> Any:
        zeros = None if zero is None else (offset, zero[1])
        return _carried_out(x, plan, (factor, scale[1]), zeros, spread, dtype, extend, packed, shape, None)

    arrays = [x, scale[0], *([] if zero is None else [zero[0]])]
    return call_back(task, wanted, dtype, *arrays, elementwise=False)


def convert_linear(
    x: Any,
    plan: LinearPlan,
    scale: tuple[Any, Format],
    zero: Any,
    spread: Granularity,
    *,
    packed: bool = False,
    shape: tuple[int, ...] | None = None,
    out: Any = None,
) -> Any:
    """Carry out a quantization on an array.

    Parameters
    ----------
    x : array
        Holds ``plan.source``; a 1-D uint8 array of packed codes where `shape` is given.
    plan : LinearPlan
        The operator, settled.
    scale : (array, Format)
        The scales, of the library of `x`, and what they hold.
    zero : array or None
        The zero points, of the type of the codes; where the plan has no use for them they must be zero.
    spread : Granularity
        Which scale belongs to which element.
    packed : bool
        Return packed codes: 1-D, uint8, in C order.
    shape : tuple of int, optional
        Unpack `x`, in C order, to this shape.
    out : array, optional
        Where the result goes.

    Returns
    -------
    array
        In the library and on the device of `x`.
    """
    if type(x) is np.ndarray and shape is None and (zero is None or plan.zero_point is not None):
        # The common case, as short as it can be: a dense NumPy array, any shape, into another one.
        program, own = _dense(plan, packed)
        n = x.size
        dense = dense_result(x, (packed_bytes(n, plan.target),) if packed else x.shape, own, out)
        if dense is not None:
            zeros = None if zero is None else (zero, _codes_of(plan))
            operands = _operands(*_converted(plan, scale, zeros), spread, n)
            sides = x.reshape(-1).view(_BYTE), dense.reshape(-1).view(_BYTE)
            shared(n, lambda threads: _kernels.run(program, *sides, n, threads, operands))
            return dense
    xp = namespace(x)
    dtype = carrier("uint8" if packed else plan.target, xp)
    extend = not packed and extends(plan.target, xp)
    zeros = None if zero is None else (zero, _codes_of(plan))
    arrays = [x, scale[0], *([] if zero is None else [zero])]
    way = _in_blocks if is_dask(x) else _traced if any(map(is_traced, arrays)) else _carried_out
    return way(x, plan, scale, zeros, spread, dtype, extend, packed, shape, out)
