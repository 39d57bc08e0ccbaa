"""Which back end carries out a quantization, and the scales and zero points as it reads them."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from . import _kernels
from .arrays import carrier, extends, namespace, on_host, to_codes
from .dispatch import convert, convert_host
from .elsewhere import convert_linear_elsewhere
from .formats import Format
from .granularity import Granularity, expanded
from .linear import QUANTIZE, LinearPlan, scale_plans
from .linear_stages import make_linear_program
from .opsets import cast_rules
from .plan import make_plan

__all__ = ["convert_linear"]

_program = cache(make_linear_program)
_scale_plans = cache(scale_plans)
_Array = np.ndarray[Any, Any]


@cache
def _zero_plan(held: Format, wanted: Format) -> Any:
    return make_plan(held, wanted, cast_rules(held, wanted))


def _flat(x: Any) -> _Array:
    """Return host memory as one dense row of codes in native byte order."""
    codes = to_codes(x)
    if isinstance(x, (np.ndarray, np.generic)) and not x.dtype.isnative:
        codes = codes.byteswap()
    return np.ascontiguousarray(codes).reshape(-1)


def _operands(
    plan: LinearPlan, scale: tuple[Any, Format], zero: tuple[Any, Format] | None, spread: Granularity, n: int
) -> _kernels.Operands:
    factor, offset = scale[0], None
    for step in _scale_plans(plan, scale[1]):
        factor = convert(factor, step)
    if zero is not None and plan.zero_point is not None:
        offset = _flat(convert(zero[0], _zero_plan(zero[1], plan.zero_point)))
    spread, (factor, offset) = expanded(spread, n, (_flat(factor), offset))
    _, inner, length, block, outer_step, width = spread
    beside = None if offset is None else offset.view(np.uint8)
    return _kernels.Operands(
        factor.view(np.uint8), beside, factor.itemsize, n, inner, length, block, outer_step, width
    )  # fmt: skip


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
        The zero points, of the type of the codes.
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
    xp = namespace(x)
    dtype = xp.uint8 if packed else carrier(plan.target, xp)
    extend = not packed and extends(plan.target, xp)
    zeros = None if zero is None else (zero, plan.target if plan.operator == QUANTIZE else plan.source)
    if on_host(x):
        n = math.prod(x.shape if shape is None else shape)
        operands = _operands(plan, scale, zeros, spread, n)
        return convert_host(x, plan, _program, dtype, extend, packed, shape, out, operands)
    return convert_linear_elsewhere(x, plan, scale, zeros, spread, dtype, extend, packed, shape, out)
