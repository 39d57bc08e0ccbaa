"""Which back end carries out a plan: the kernels for host memory, the portable path for every other library."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from . import _kernels, packing, portable, text
from .arrays import carrier, check_out, extends, from_codes, namespace, native, on_host, reinterpret, to_codes
from .formats import NUMERIC, Format
from .opsets import CastRules, version_of
from .plan import Plan, Rule, make_plan
from .stages import make_program
from .threads import threads_for

__all__ = ["convert"]

_BYTE = np.dtype(np.uint8)
_program = cache(make_program)


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


def _run(program: _kernels.Program, src: np.ndarray[Any, Any], dst: np.ndarray[Any, Any], n: int) -> None:
    """Run the kernels from one array of codes to another; packed ones are 1-D bytes."""
    if src.flags.c_contiguous and dst.flags.c_contiguous:
        _kernels.run(program, src.reshape(-1).view(_BYTE), dst.reshape(-1).view(_BYTE), n, threads_for(n))
    elif n:
        if src.shape == dst.shape and program.src_bits >= 8 <= program.dst_bits:
            src, dst = _merge_axes(src, dst)
        else:
            src, dst = (side.reshape(1) if side.ndim == 0 else side for side in (src, dst))
        _kernels.run_strided(program, src, dst, threads_for(n))


def _on_host(
    x: Any, plan: Plan, dtype: Any, extend: bool, packed: bool, shape: tuple[int, ...] | None, out: Any
) -> Any:
    """Convert host memory; `shape` is that of the values where `x` is packed."""
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
    elif wanted == src.shape:
        dst = np.empty_like(src, dtype=code_dtype, order="K", subok=False)
    else:
        dst = np.empty(wanted, code_dtype)
    program = _program(
        plan,
        extend=extend,
        swap=isinstance(x, np.ndarray) and not x.dtype.isnative,
        swap_out=isinstance(out, np.ndarray) and not out.dtype.isnative,
        packed=packed,
        unpacked=shape is not None,
    )
    _run(program, src, dst, n)
    if held is None:
        return from_codes(dst, dtype, x)
    if dst is not held:  # the kernels could not write there
        held[...] = dst
    return out


def _twin(fmt: Format) -> Format:
    """Return the unsigned integer as wide as the format's carrier."""
    return next(row for row in NUMERIC if row.is_integer and not row.signed and row.bits == fmt.storage_bits)


_NEWEST_RULES = CastRules(version_of(max(row.since for row in NUMERIC)), True, "up")


def _portable_source(x: Any, plan: Plan, xp: Any) -> Any:
    """Return `x` as `portable.convert` takes it: in the format's own dtype, or as uint8 / uint16 codes."""
    source = plan.source
    own = native(source, xp)
    if source.is_float and source.bits <= 8 and own is not None and x.dtype == own:
        return x.view(xp.uint8)
    held = own is None or x.dtype == own
    if held or (source.is_float and source.bits <= 16):
        return x
    if source.is_float:
        return reinterpret(x, source, xp)
    return portable.convert(x, make_plan(_twin(source), source, _NEWEST_RULES), xp)


def _elsewhere(
    x: Any, plan: Plan, dtype: Any, extend: bool, packed: bool, shape: tuple[int, ...] | None, out: Any
) -> Any:
    """Convert in array-API calls, in the library and on the device of `x`."""
    xp = namespace(x)
    source, target = plan.source, plan.target
    x = packing.unpack(x, source, shape, xp) if shape is not None else _portable_source(x, plan, xp)
    is_other = dtype != native(target, xp)  # codes, or values in a wider type
    if is_other and not extend and target.is_integer and target.bits >= 8:
        plan = make_plan(source, _twin(target), _NEWEST_RULES)  # the code of an integer is the number modulo its width
    result = portable.convert(x, plan, xp, extend=extend)
    if packed:
        result = packing.pack(result, target, xp)
    elif result.dtype != dtype and target.is_float:
        result = reinterpret(result, _twin(target) if is_other else target, xp)
    elif result.dtype != dtype:
        result = xp.astype(result, dtype)  # masked codes from int8, or bools
    if out is None:
        return result
    check_out(out, x, result.shape, dtype)
    out[...] = result
    return out


def _with_text(x: Any, plan: Plan, out: Any) -> Any:
    """Convert from or to text, which only NumPy arrays hold."""
    xp, source, target = namespace(x), plan.source, plan.target
    dtype = carrier(target, xp)
    if source.kind is target.kind:
        result = text.copy_texts(x)
    elif plan.through is None:
        result = text.format_values(x, source)
    else:
        result = text.parse_values(x, plan.through, convert).view(dtype)
    if out is None:
        return result
    check_out(out, x, result.shape, dtype)
    out[...] = result
    return out


@cache
def _dense(plan: Plan, codes: bool, packed: bool) -> tuple[_kernels.Program, np.dtype[Any]]:
    """Return what converts a dense NumPy array, and the dtype of the result."""
    dtype = plan.target.dtype if not codes else _BYTE if packed else plan.target.code_dtype
    return _program(plan, packed=packed), dtype


def _dense_result(
    x: np.ndarray[Any, Any], shape: tuple[int, ...], dtype: np.dtype[Any], out: Any
) -> np.ndarray[Any, Any] | None:
    """Return a dense array for the result, `out` itself if it is one, or None if the general way must be taken."""
    if not x.flags.carray or not x.dtype.isnative:
        return None
    if out is None:
        return np.empty(shape, dtype)
    is_dense = type(out) is np.ndarray and out.dtype == dtype and out.dtype.isnative and out.flags.carray
    return out if is_dense and out.shape == shape and not np.may_share_memory(x, out) else None


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
        dense = _dense_result(x, (packing.packed_bytes(n, plan.target),) if packed else x.shape, own, out)
        if dense is not None:
            src, dst = (x, dense) if x.ndim == 1 else (x.reshape(-1), dense.reshape(-1))
            _kernels.run(program, src.view(_BYTE), dst.view(_BYTE), n, threads_for(n))
            return dense
    xp = namespace(x)
    unsigned = codes or packed
    dtype = getattr(xp, plan.target.code_dtype.name) if unsigned else carrier(plan.target, xp)
    extend = not unsigned and extends(plan.target, xp)
    back_end = _on_host if on_host(x) else _elsewhere
    return back_end(x, plan, dtype, extend, packed, shape, out)
