"""Which back end carries out a plan: kernels for host memory and CUDA devices, the portable path for the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _kernels
from ..arrays.libraries import (
    call_back,
    carrier,
    check_out,
    check_takes_text,
    empty_codes,
    extends,
    from_codes,
    is_dask,
    is_torch,
    is_traced,
    namespace,
    on_host,
    to_codes,
)  # fmt: skip
from ..arrays.torch_state import mark_written
from ..plans.cast import Plan, Rule
from ..spec import packing
from ..spec.formats import as_format
from ..spec.interned import CACHED
from . import cuda, dask, strings
from .array_api import convert_elsewhere
from .cpu import converted_tensor, dense_result, remember_dense
from .program import make_program
from .threads import one_thread, shared

__all__ = ["convert", "convert_device", "convert_host", "remember"]

_BYTE = np.dtype(np.uint8)
_program = lru_cache(maxsize=CACHED)(make_program)


def _merge_axes(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """View two arrays of one shape with as few axes as their strides allow, in the order of b's memory."""
    a, b = a.squeeze(), b.squeeze()
    axes = sorted(range(b.ndim), key=lambda axis: -abs(b.strides[axis]))
    a, b = a.transpose(axes), b.transpose(axes)
    shape: list[int] = []
    for axis in reversed(range(b.ndim)):
        joins = axis + 1 < b.ndim and all(
            view.strides[axis] == view.strides[axis + 1] * view.shape[axis + 1] for view in (a, b)
        )
        if joins:
            shape[0] *= b.shape[axis]
        else:
            shape.insert(0, b.shape[axis])
    shape = shape or [1]
    return a.reshape(shape), b.reshape(shape)


def _run(
    program: _kernels.Program,
    src: np.ndarray[Any, Any],
    dst: np.ndarray[Any, Any],
    n: int,
    operands: _kernels.Operands | None,
) -> None:
    """Run the kernels from one array of codes to another; packed ones are 1-D bytes."""
    if src.flags.c_contiguous and dst.flags.c_contiguous:
        shared(n, _kernels.run, program, src.reshape(-1).view(_BYTE), dst.reshape(-1).view(_BYTE), n, operands)
    elif n:
        if src.shape == dst.shape and program.src_bits >= 8 <= program.dst_bits and operands is None:
            src, dst = _merge_axes(src, dst)
        else:
            src, dst = (side.reshape(1) if side.ndim == 0 else side for side in (src, dst))
        shared(n, _kernels.run_strided, program, src, dst, operands)


def convert_host(
    x: Any,
    plan: Any,
    compose: Callable[..., _kernels.Program],
    dtype: Any,
    extend: bool,
    packed: bool,
    shape: tuple[int, ...] | None,
    out: Any,
    operands: _kernels.Operands | None = None,
) -> Any:
    """Convert host memory by the loops that `compose` finds for a plan.

    `shape` is that of the values where `x` is packed, `operands` what stands beside them in a quantization.
    """
    src = to_codes(x)
    if not src.flags.aligned or (shape is not None and not src.flags.c_contiguous):
        src = src.copy()
    n = src.size if shape is None else math.prod(shape)
    wanted = (packing.packed_bytes(n, plan.target),) if packed else src.shape if shape is None else shape
    held = None
    if out is not None:
        check_out(out, x, wanted, dtype)
        held = to_codes(out)
        if np.may_share_memory(src, held):
            src = src.copy()
    code_dtype = _BYTE if packed else plan.target.code_dtype
    if held is not None and held.flags.aligned and (held.flags.c_contiguous or not packed):
        dst = held
    else:
        dst = empty_codes(wanted, code_dtype, x, src if wanted == src.shape else None)
    program = compose(
        plan,
        extend=extend,
        swap=isinstance(x, np.ndarray) and not x.dtype.isnative,
        swap_out=isinstance(out, np.ndarray) and not out.dtype.isnative,
        packed=packed,
        unpacked=shape is not None,
    )
    _run(program, src, dst, n, operands)
    if held is None:
        return from_codes(dst, dtype, x)
    if dst is not held:  # the kernels could not write there
        held[...] = dst
    if is_torch(out):
        mark_written(out)
    return out


def convert_device(
    x: Any,
    plan: Any,
    compose: Callable[..., _kernels.Program],
    dtype: Any,
    extend: bool,
    packed: bool,
    shape: tuple[int, ...] | None,
    out: Any,
    operands: cuda.Operands | None = None,
) -> Any:
    """Convert memory of a CUDA device; as `convert_host`."""
    program = compose(plan, extend=extend, packed=packed, unpacked=shape is not None)
    wanted = tuple(x.shape) if shape is None else shape
    n = math.prod(wanted)
    wanted = (packing.packed_bytes(n, plan.target),) if packed else wanted
    return cuda.convert(x, program, n, wanted, dtype, out, operands)


def _carried_out(
    x: Any, plan: Plan, dtype: Any, extend: bool, packed: bool, shape: tuple[int, ...] | None, out: Any
) -> Any:
    if on_host(x):
        return convert_host(x, plan, _program, dtype, extend, packed, shape, out)
    if cuda.holds(x):
        return convert_device(x, plan, _program, dtype, extend, packed, shape, out)
    return convert_elsewhere(x, plan, dtype, extend, packed, shape, out)


def _block(x: Any, *, plan: Plan, held: str, given: str, extend: bool, packed: bool, unpacked: bool) -> Any:
    """Convert one block of a Dask array, on one thread: Dask runs many at a time.

    Dtypes come by the names of formats: `given` of `x`, `held` of the result. A block of packed codes is unpacked to as
    many as its bytes hold.
    """
    if as_format(x.dtype).name != given:
        raise TypeError(f"the blocks of `x` must hold {given}, as the whole array says; one has dtype {x.dtype}")
    dtype = as_format(held).dtype
    shape = (x.size * 8 // plan.source.bits,) if unpacked else None
    with one_thread():
        return _carried_out(x, plan, dtype, extend, packed, shape, None)


def _in_blocks(
    x: Any, plan: Plan, dtype: Any, extend: bool, packed: bool, shape: tuple[int, ...] | None, out: Any
) -> Any:
    """Leave the conversion to a task for each block of a Dask array."""
    if out is not None:
        check_out(out, x, x.shape, dtype)
    names = {"plan": plan, "held": as_format(dtype).name, "given": as_format(x.dtype).name}
    options = {**names, "extend": extend, "packed": packed, "unpacked": shape is not None}
    label = f"{plan.source.name}-{plan.target.name}"
    if packed:
        return dask.pack(_block, x, plan.target, label, **options)
    if shape is not None:
        return dask.unpack(_block, x, plan.source, shape, dtype, label, **options)
    return dask.each(_block, x, dtype, label, **options)


def _traced(x: Any, plan: Plan, dtype: Any, extend: bool, packed: bool, shape: tuple[int, ...] | None, out: Any) -> Any:
    """Leave the conversion to the moment when a traced JAX computation runs."""
    if out is not None:
        check_out(out, x, x.shape, dtype)
    shape_out = (packing.packed_bytes(x.size, plan.target),) if packed else x.shape if shape is None else shape

    def task(host: np.ndarray[Any, Any]) -> Any:
        return _carried_out(host, plan, dtype, extend, packed, shape, None)

    return call_back(task, shape_out, dtype, x, elementwise=not packed and shape is None)


def _with_text(x: Any, plan: Plan, out: Any) -> Any:
    """Convert from or to text, which only NumPy arrays hold."""
    xp, source, target = namespace(x), plan.source, plan.target
    check_takes_text(xp)
    dtype = carrier(target, xp)
    if source.kind is target.kind:
        result = strings.copy_texts(x)
    elif plan.through is None:
        result = strings.format_values(x, source)
    else:
        result = strings.parse_values(x, plan.through, convert).view(dtype)
    if out is None:
        return result
    check_out(out, x, result.shape, dtype)
    out[...] = result
    return out


@lru_cache(maxsize=CACHED)
def _dense(plan: Plan, codes: bool, packed: bool) -> tuple[_kernels.Program, np.dtype[Any]]:
    """Return what converts a dense NumPy array, and the dtype of the result."""
    dtype = plan.target.dtype if not codes else _BYTE if packed else plan.target.code_dtype
    return _program(plan, packed=packed), dtype


@lru_cache(maxsize=CACHED)
def _dense_tensor(plan: Plan, xp: Any) -> tuple[_kernels.Program, Any, int, int]:
    """Return what converts a dense torch tensor, the dtype of the result, bytes of an element before and after."""
    dtype = carrier(plan.target, xp)
    return _program(plan, extend=extends(plan.target, xp)), dtype, plan.source.storage_bits // 8, dtype.itemsize


def remember(x: Any, to: object, plan: Plan) -> None:
    """Let `dense_cast` find what carries out the plan of a cast that names the target so and has no other option."""
    if plan.rule is Rule.TEXT:
        return
    if type(x) is np.ndarray:
        remember_dense(x, to, *_dense(plan, False, False))
    elif is_torch(x):
        remember_dense(x, to, *_dense_tensor(plan, namespace(x)))


def convert(
    x: Any,
    plan: Plan,
    *,
    codes: bool = False,
    packed: bool = False,
    shape: tuple[int, ...] | None = None,
    out: Any = None,
) -> Any:
    """Carry out a plan on an array.

    Parameters
    ----------
    x : array
        Holds ``plan.source``; a 1-D uint8 array of packed codes where `shape` is given.
    plan : Plan
        The conversion.
    codes : bool
        Return unsigned codes instead of the library's own dtype for the target.
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
    if plan.rule is Rule.TEXT:
        return _with_text(x, plan, out)
    if type(x) is np.ndarray and shape is None:
        # The common case, as short as it can be: a dense NumPy array, any shape, into another one.
        program, own = _dense(plan, codes, packed)
        n = x.size
        dense = dense_result(x, (packing.packed_bytes(n, plan.target),) if packed else x.shape, own, out)
        if dense is not None and shared(n, _kernels.run_arrays, program, x, dense, n, None):
            return dense
    xp = namespace(x)
    if shape is None and out is None and not codes and not packed and is_torch(x):
        found = converted_tensor(x, *_dense_tensor(plan, xp))
        if found is not None:
            return found
    unsigned = codes or packed
    dtype = carrier(plan.target.code_dtype.name if unsigned else plan.target, xp)
    extend = not unsigned and extends(plan.target, xp)
    way = _carried_out if is_torch(x) else _in_blocks if is_dask(x) else _traced if is_traced(x) else _carried_out
    return way(x, plan, dtype, extend, packed, shape, out)
