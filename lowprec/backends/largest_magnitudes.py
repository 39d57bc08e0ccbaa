"""The largest magnitude, or both ends, of the finite values that share a scale, in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np

from .. import _kernels
from ..arrays.array_memory import to_host
from ..arrays.libraries import has_host_memory, is_jax, namespace
from ..plans.cast_plan import plan_of
from ..plans.scale_shapes import Groups
from ..spec.formats import FLOAT64, Format
from .backend_choice import dispatch
from .jobs import Job
from .threads import shared

__all__ = ["find_range", "have_order", "largest_codes", "range_steps"]


_Array = np.ndarray[Any, Any]
_BYTE = np.dtype(np.uint8)
_DOUBLE = FLOAT64

_SHORT = 64
"""Inner lengths below which rows are compared element by element, not reduced one by one."""

_PART = 1 << 16
"""Elements that are reduced to one partial result where a group has more."""


class _Ends(NamedTuple):
    """The ends of ranges; `low` is None where `high` is the largest magnitude."""

    low: Any | None
    high: Any

    def combine(self, smallest: Callable[[Any], Any], largest: Callable[[Any], Any]) -> _Ends:
        """Return the ends of the ranges of several."""
        return _Ends(None if self.low is None else smallest(self.low), largest(self.high))


def _to_double(x: Any, fmt: Format) -> Any:
    return dispatch(Job(x, plan_of(fmt, _DOUBLE)))


class Step(NamedTuple):
    """Blocks along the middle axis of an array: its shape is (outer, length, inner)."""

    outer: int
    length: int
    inner: int
    block: int


def range_steps(shape: tuple[int, ...], groups: Groups) -> tuple[Step, ...]:
    """Return the steps in which the ranges of groups are found: those of elements, then those of these ranges."""
    size = math.prod(shape)
    if not groups.axes:
        steps = [Step(1, size, 1, _PART), _in_one(1, -(-size // _PART), 1)]
    else:
        axis = groups.axes[-1]
        outer, length, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        if groups.blocks:
            steps = [Step(outer, length, inner, groups.blocks[-1])]
            if len(groups.axes) == 2:
                first, rows = groups.axes[0], Groups((axis,), groups.blocks[-1:]).shape_of(shape)
                steps.append(Step(math.prod(rows[:first]), rows[first], math.prod(rows[first + 1 :]), groups.blocks[0]))
        elif inner >= _SHORT or outer == 1:
            steps = [_in_one(outer * length, inner, 1), _in_one(1, outer, length)]
        else:
            count = max(_SHORT, 16 * _PART // (length * inner))  # a partial result for each index: fewer of them
            parts = _in_one(1, -(-outer // count), length * inner)
            steps = [Step(1, outer, length * inner, count), parts, _in_one(length, inner, 1)]
    return (steps[0], *(step for step in steps[1:] if step.block > 1))


def _in_one(outer: int, length: int, inner: int) -> Step:
    return Step(outer, length, inner, length)


def _find(codes: _Array, fmt: Format, step: Step, last: int, both: bool) -> tuple[_Array | None, _Array]:
    """Return the least and the greatest codes of blocks, or the largest magnitudes; those above `last` are left out."""
    outer, length, inner, block = step
    high = np.empty(outer * -(-length // block) * inner, fmt.code_dtype)
    low = np.empty_like(high) if both else None
    shared(
        codes.size, _kernels.find_ranges, codes.reshape(-1).view(_BYTE), fmt.storage_bits, *step, fmt.magnitude_mask,
        last, None if low is None else low.view(_BYTE), high.view(_BYTE),
    )  # fmt: skip
    return low, high


def largest_codes(rows: _Array, fmt: Format, block: int) -> _Array:
    """Return the codes of the largest magnitudes of blocks of columns, of a float that has a sign and a zero.

    The codes of NaN and Inf are larger than all others: they are not left out.

    Parameters
    ----------
    rows : numpy.ndarray
        Unsigned codes of `fmt`, a dense matrix in host memory with one element or more.
    fmt : Format
        Their format.
    block : int
        Columns of a block, the last of which may have fewer.

    Returns
    -------
    numpy.ndarray
        Codes without their sign: a row to each row, a column to each block.
    """
    _, high = _find(rows, fmt, Step(len(rows), rows.shape[1], 1, block), fmt.magnitude_mask, both=False)
    return high.reshape(len(rows), -1)


def have_order(fmt: Format, both: bool) -> bool:
    """Whether ranges are found among codes: those of floats with a sign and a zero, whose codes have an order."""
    top_sign = fmt.bits == fmt.storage_bits  # the loop knows the sign by the highest bit; magnitudes need none
    return fmt.is_float and fmt.signed and fmt.has_zero and (top_sign or not both)


def _of_codes(codes: _Array, fmt: Format, groups: Groups, both: bool) -> _Ends:
    """Return the ranges of codes in host memory, in float64."""
    shape = codes.shape
    first, *others = range_steps(shape, groups)
    low, high = _find(np.require(codes, requirements=["C", "ALIGNED"]), fmt, first, fmt.max_code, both)
    for step in others:
        low = None if low is None else _find(low, fmt, step, fmt.max_code, both)[0]
        high = _find(high, fmt, step, fmt.max_code, both)[1]
    if low is not None:
        low[low == fmt.sign_mask] = 0  # -0, but NaN in formats without one
    ends = (None if one is None else _to_double(one.view(fmt.dtype), fmt) for one in (low, high))
    return _Ends(*(None if one is None else one.reshape(groups.shape_of(shape)) for one in ends))


def _of_values(values: Any, groups: Groups, both: bool, xp: Any) -> _Ends:
    """Return the ranges of float64 values in calls of their library."""
    zero = xp.zeros((), dtype=values.dtype, device=compat.device(values))
    values = xp.where(xp.isfinite(values), values, zero)
    ends = _Ends(xp.minimum(values, zero), xp.maximum(values, zero)) if both else _Ends(None, xp.abs(values))
    if not groups.blocks:
        others = tuple(axis for axis in range(values.ndim) if axis not in groups.axes)
        return ends.combine(lambda low: xp.min(low, axis=others), lambda high: xp.max(high, axis=others))

    def cut(one: Any, reduction: Callable[..., Any]) -> Any:
        for axis, block in zip(groups.axes, groups.blocks, strict=True):
            before, length, after = one.shape[:axis], one.shape[axis], one.shape[axis + 1 :]
            missing = xp.zeros((*before, -length % block, *after), dtype=one.dtype, device=compat.device(one))
            whole = xp.concat([one, missing], axis=axis)
            one = reduction(xp.reshape(whole, (*before, -(-length // block), block, *after)), axis=axis + 1)
        return one

    return ends.combine(partial(cut, reduction=xp.min), partial(cut, reduction=xp.max))


def _on_host(x: Any, fmt: Format, groups: Groups, both: bool) -> _Ends:
    codes = to_host(x)
    if have_order(fmt, both):
        return _of_codes(codes, fmt, groups, both)
    return _of_values(np.asarray(_to_double(codes.view(fmt.dtype), fmt)), groups, both, np)


def _of_nothing(x: Any, shape: tuple[int, ...], both: bool) -> _Ends:
    """Return the ranges of an array without elements: there may be scales of no element."""
    if has_host_memory(x) or is_jax(x):
        zeros: Any = np.zeros(shape)
    else:
        xp = namespace(x)
        zeros = xp.zeros(shape, dtype=xp.float64, device=compat.device(x))
    return _Ends(zeros if both else None, zeros)


def find_range(x: Any, fmt: Format, groups: Groups, *, both: bool = False) -> tuple[Any, ...]:
    """Return the largest finite magnitudes of groups of elements, or the ends of ranges that are widened to hold 0.

    Parameters
    ----------
    x : array
        Any library; holds `fmt`. No array that JAX traces.
    fmt : Format
        A format of numbers.
    groups : Groups
        Which elements belong together.
    both : bool
        Whether both ends are wanted.

    Returns
    -------
    tuple of array
        The magnitudes, or the least and the greatest values, in float64: NumPy arrays where `x` is in host memory, else
        arrays of its library. 0 where no element is finite.
    """
    shape = tuple(x.shape)
    groups = groups.within(shape)
    if 0 in shape:
        ends = _of_nothing(x, groups.shape_of(shape), both)
    elif has_host_memory(x) or is_jax(x):
        ends = _on_host(x, fmt, groups, both)
    else:
        ends = _of_values(_to_double(x, fmt), groups, both, namespace(x))
    return (ends.high,) if ends.low is None else (ends.low, ends.high)
