"""Conversions in array-API calls: the caller's array as `portable` reads it, its result as the library carries it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.libraries import check_out, namespace, native, reinterpret
from ..plans.cast import Plan, make_plan
from ..plans.granularity import Granularity
from ..plans.quantize import LinearPlan
from ..spec import packing
from ..spec.formats import NUMERIC, Format
from ..spec.opsets import CastRules, version_of
from . import array_api_cast, array_api_quantize

__all__ = ["convert_elsewhere", "convert_linear_elsewhere"]

_NEWEST_RULES = CastRules(version_of(max(row.since for row in NUMERIC)), True, "up")


def _twin(fmt: Format) -> Format:
    """Return the unsigned integer as wide as the format's carrier."""
    return next(row for row in NUMERIC if row.is_integer and not row.signed and row.bits == fmt.storage_bits)


def _held(x: Any, source: Format, xp: Any) -> Any:
    """Return `x` as `portable` takes it: in the format's own dtype, or as uint8 / uint16 codes."""
    own = native(source, xp)
    guest = isinstance(own, np.dtype) and own.isbuiltin != 1  # a dtype of ml_dtypes, which CuPy may not compute with
    if source.is_float and (source.bits <= 8 or guest) and own is not None and x.dtype == own:
        return x.view(getattr(xp, source.code_dtype.name))
    held = own is None or x.dtype == own
    if held or (source.is_float and source.bits <= 16):
        return x
    if source.is_float:
        return reinterpret(x, source, xp)
    return array_api_cast.convert(x, make_plan(_twin(source), source, _NEWEST_RULES), xp)


def _delivered(result: Any, target: Format, x: Any, dtype: Any, packed: bool, out: Any) -> Any:
    """Return codes, or values, of the target as `dtype`, in `out` where it is given."""
    xp = namespace(x)
    if packed:
        result = packing.pack(result, target, xp)
    elif result.dtype != dtype and target.is_float:
        result = reinterpret(result, target if dtype == native(target, xp) else _twin(target), xp)
    elif result.dtype != dtype:
        result = xp.astype(result, dtype)  # masked codes from int8, or bools
    if out is None:
        return result
    check_out(out, x, result.shape, dtype)
    try:
        out[...] = result
    except ValueError as error:  # of a library that does not say beforehand that memory is read-only
        raise ValueError(f"`out` must be writable; {xp.__name__} says: {error}") from None
    return out


def convert_elsewhere(
    x: Any, plan: Plan, dtype: Any, extend: bool, packed: bool, shape: tuple[int, ...] | None, out: Any
) -> Any:
    """Carry out a plan in the library and on the device of `x`; `shape` is that of the values where `x` is packed."""
    xp = namespace(x)
    source, target = plan.source, plan.target
    codes = packing.unpack(x, source, shape, xp) if shape is not None else _held(x, source, xp)
    if dtype != native(target, xp) and not extend and target.is_integer and target.bits >= 8:
        plan = make_plan(source, _twin(target), _NEWEST_RULES)  # the code of an integer is the number modulo its width
    return _delivered(array_api_cast.convert(codes, plan, xp, extend=extend), target, x, dtype, packed, out)


def convert_linear_elsewhere(
    x: Any,
    plan: LinearPlan,
    scale: tuple[Any, Format],
    zero: tuple[Any, Format] | None,
    spread: Granularity,
    dtype: Any,
    extend: bool,
    packed: bool,
    shape: tuple[int, ...] | None,
    out: Any,
) -> Any:
    """Carry out a quantization in the library and on the device of `x`; as `convert_elsewhere`."""
    xp = namespace(x)
    codes = packing.unpack(x, plan.source, shape, xp) if shape is not None else _held(x, plan.source, xp)
    factor = (_held(*scale, xp), scale[1])
    offset = None if zero is None else (_held(*zero, xp), zero[1])
    result = array_api_quantize.convert(codes, plan, factor, offset, spread, xp, extend=extend)
    return _delivered(result, plan.target, x, dtype, packed, out)
