"""Which back end carries out a quantization, and the scales and zero points as it reads them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from ..arrays.libraries import (
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
from ..ops.scale_arguments import check_zero
from ..plans.cast import copy_plan, make_plan
from ..plans.granularity import Granularity, expanded, granularity_of
from ..plans.quantize import QUANTIZE, LinearPlan, scale_plans
from ..spec.formats import Format, as_format
from ..spec.interned import CACHED
from ..spec.opsets import cast_rules
from ..spec.packing import packed_bytes
from . import cuda, dask
from .array_api import convert_linear_elsewhere
from .cpu import dense_result
from .dispatch import convert, convert_device, convert_host
from .quantize_program import make_linear_program
from .threads import one_thread, shared

__all__ = ["convert_linear"]

_BYTE = np.dtype(np.uint8)
_NUMPY = (np.ndarray, np.generic)
_program = lru_cache(maxsize=CACHED)(make_linear_program)
_scale_plans = lru_cache(maxsize=CACHED)(scale_plans)
_Array = np.ndarray[Any, Any]


@lru_cache(maxsize=CACHED)
def _zero_plan(held: Format, wanted: Format) -> Any:
    return make_plan(held, wanted, cast_rules(held, wanted))


def _codes_of(plan: LinearPlan) -> Format:
    """Return the format of the quantized side."""
    return plan.target if plan.operator == QUANTIZE else plan.source


@lru_cache(maxsize=CACHED)
def _dense(plan: LinearPlan, packed: bool, unpacked: bool) -> tuple[_kernels.Program, np.dtype[Any]]:
    """Return what converts a dense NumPy array, and the dtype of the result."""
    return _program(plan, packed=packed, unpacked=unpacked), _BYTE if packed else plan.target.dtype


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


def _used(plan: LinearPlan, zero: tuple[Any, Format] | None) -> tuple[Any, Format] | None:
    """Return the zero points, or None, once checked, where the plan has no use for them."""
    if zero is None or plan.zero_point is not None:
        return zero
    check_zero(*zero)
    return None


def _operands(
    plan: LinearPlan, scale: tuple[Any, Format], zero: tuple[Any, Format] | None, spread: Granularity, n: int,
    copied: bool = False,
) -> _kernels.Operands:  # fmt: skip
    """Return scales and zero points as the loops read them; `copied` where the result may be written over them."""
    factor, offset = _converted(plan, scale, _used(plan, zero))
    if offset is not None:
        offset = _flat(offset)
        if _codes_of(plan).is_integer and not offset.any():  # a sum with 0 is a change to a float -0 alone
            offset = None
    spread, (factor, offset) = expanded(spread, n, (_flat(factor), offset))
    if copied:
        factor, offset = factor.copy(), None if offset is None else offset.copy()
    _, inner, length, block, outer_step, width = spread
    beside = None if offset is None else offset.view(np.uint8)
    return _kernels.Operands(
        factor.view(np.uint8), beside, factor.itemsize, n, inner, length, block, outer_step, width
    )  # fmt: skip


_Given = tuple[bytes, np.dtype[Any], Format]


@lru_cache(maxsize=4096)
def _remembered(plan: LinearPlan, spread: Granularity, n: int, *given: _Given) -> _kernels.Operands:
    """Return the operands of one scale, and of one zero point if there is one."""
    scale, *zero = ((np.frombuffer(memory, dtype), fmt) for memory, dtype, fmt in given)
    return _operands(plan, scale, zero[0] if zero else None, spread, n)


def _beside_host(
    plan: LinearPlan, scale: tuple[Any, Format], zero: tuple[Any, Format] | None, spread: Granularity, n: int, out: Any
) -> _kernels.Operands:
    """Return the operands of an array in host memory; those of one scale are remembered, for small calls."""
    given = [scale] if zero is None else [scale, zero]
    if spread.axis is not None or not all(isinstance(array, _NUMPY) for array, _ in given):
        return _operands(plan, scale, zero, spread, n, copied=out is not None)
    return _remembered(plan, spread, n, *((array.tobytes(), array.dtype, fmt) for array, fmt in given))


class _Job(NamedTuple):
    """One quantization as `convert_linear` was given it, with the dtype of its result."""

    x: Any
    plan: LinearPlan
    scale: tuple[Any, Format]
    zero: tuple[Any, Format] | None
    spread: Granularity
    dtype: Any
    extend: bool
    packed: bool = False
    shape: tuple[int, ...] | None = None
    out: Any = None

    @property
    def operands(self) -> list[Any]:
        """The scales, and the zero points where there are some."""
        return [self.scale[0], *([] if self.zero is None else [self.zero[0]])]

    @property
    def values_shape(self) -> tuple[int, ...]:
        """The shape of the values, however `x` holds them."""
        return tuple(self.x.shape) if self.shape is None else self.shape


def _carried_out(job: _Job) -> Any:
    x, plan, scale, zero, spread = job[:5]
    rest = job[5:]
    if on_host(x):
        operands = _beside_host(plan, scale, zero, spread, math.prod(job.values_shape), job.out)
        return convert_host(x, plan, _program, *rest, operands)
    zero = _used(plan, zero)
    if cuda.holds(x):
        there = cuda.Operands(*_converted(plan, scale, zero), spread)
        return convert_device(x, plan, _program, *rest, there)
    return convert_linear_elsewhere(x, plan, scale, zero, spread, *rest)


def _block(
    x: Any,
    scale: Any,
    zero: Any = None,
    *,
    plan: LinearPlan,
    held: str,
    scale_format: Format,
    zero_format: Format | None,
    extend: bool,
    axis: int,
    block: int,
) -> Any:
    """Quantize one block of a Dask array, on one thread; dtypes come by the names of formats."""
    spread = granularity_of(x.shape, scale.shape, axis, block, blocks=True, axes=True)
    factor, zeros = (scale, scale_format), None if zero_format is None else (zero, zero_format)
    with one_thread():
        return _carried_out(_Job(x, plan, factor, zeros, spread, as_format(held).dtype, extend))


def _in_blocks(job: _Job) -> Any:
    """Leave a quantization to a task for each block of a Dask array; codes are unpacked before it, or packed after."""
    x, plan, spread, dtype, extend = job.x, job.plan, job.spread, job.dtype, job.extend
    if job.out is not None:
        check_out(job.out, x, x.shape, dtype)
    if job.shape is not None:
        x = convert(x, copy_plan(plan.source), shape=job.shape)
    if job.packed:
        xp = namespace(x)
        dtype, extend = carrier(plan.target, xp), extends(plan.target, xp)
    x, operands = dask.beside(x, job.operands, spread)
    names = {
        "plan": plan,
        "held": as_format(dtype).name,
        "scale_format": job.scale[1],
        "zero_format": None if job.zero is None else job.zero[1],
        "extend": extend,
        "axis": 1 if spread.axis is None else spread.axis,
        "block": spread.block if spread.outer_step else 0,
    }
    result = dask.joined(_block, x, operands, dtype, f"{plan.source.name}-{plan.target.name}", **names)
    return convert(result, copy_plan(plan.target), codes=True, packed=True) if job.packed else result


def _traced(job: _Job) -> Any:
    """Leave a quantization to the moment when a traced JAX computation runs."""
    if job.out is not None:
        check_out(job.out, job.x, job.x.shape, job.dtype)
    wanted = job.values_shape
    if job.packed:
        wanted = (packed_bytes(math.prod(wanted), job.plan.target),)

    def task(x: _Array, factor: _Array, offset: _Array | None = None) -> Any:
        zeros = None if job.zero is None else (offset, job.zero[1])
        return _carried_out(job._replace(x=x, scale=(factor, job.scale[1]), zero=zeros, out=None))

    return call_back(task, wanted, job.dtype, job.x, *job.operands, elementwise=False)


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
    if type(x) is np.ndarray:
        # The common case, as short as it can be: a dense NumPy array, any shape, into another one.
        program, own = _dense(plan, packed, shape is not None)
        wanted = x.shape if shape is None else shape
        n = x.size if shape is None else math.prod(shape)
        dense = dense_result(x, (packed_bytes(n, plan.target),) if packed else wanted, own, out)
        if dense is not None:
            operands = _beside_host(plan, scale, None if zero is None else (zero, _codes_of(plan)), spread, n, out)
            if shared(n, _kernels.run_arrays, program, x, dense, n, operands):
                return dense
    xp = namespace(x)
    dtype = carrier("uint8" if packed else plan.target, xp)
    extend = not packed and extends(plan.target, xp)
    zeros = None if zero is None else (zero, _codes_of(plan))
    job = _Job(x, plan, scale, zeros, spread, dtype, extend, packed, shape, out)
    way = _in_blocks if is_dask(x) else _traced if any(map(is_traced, [x, *job.operands])) else _carried_out
    return way(job)
