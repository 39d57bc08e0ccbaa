"""Codes in and out: `encode` and `decode`, `pack` and `unpack`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from ..arrays.libraries import Array, namespace
from ..arrays.storage_dtypes import format_of
from ..arrays.torch_tensors import dispatched, eager, transformed
from ..backends.backend_choice import dispatch
from ..backends.jobs import Job
from ..backends.prepared_calls import CASTS, CallKey, run_cast
from ..plans.cast_plan import DECODE, ENCODE, PACK, UNPACK, CastOptions, resolve, resolve_unpacked, rounding_arguments
from ..spec.formats import as_format
from ..spec.operator_versions import NEWEST
from ..spec.packing import check_packable, check_packed, shape_of
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    NaNName,
    OverflowName,
    RoundingName,
    RoundModeName,
    named_arguments,
)
from ..spec.scalar_arguments import as_flag, shown

__all__ = ["decode", "encode", "pack", "unpack"]


@eager
def encode(
    x: Array,
    to: object,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: RoundModeName | None = None,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    packed: bool = False,
    out: Any = None,
) -> Array:
    """Return the codes of an array's elements in a format: `cast`, with the bits as unsigned integers.

    NaN, Inf, -0 and out-of-range values are converted as by `cast`.

    Parameters
    ----------
    x : array
        Any shape and strides; bool, integer or float of any format.
    to : str, int, dtype or Format
        The format of the codes.
    source, saturate, round_mode, opset, rounding, overflow, nan, seed, random_bits, offset
        As in `cast`.
    packed : bool
        Pack 2-, 4- and 6-bit codes in ONNX's order.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have, each element in
        memory of its own. It may overlap the other arrays.

    Returns
    -------
    array
        uint8, uint16, uint32 or uint64, the same shape; sub-byte codes have their upper bits 0. With `packed`: 1-D
        uint8, ``ceil(bits * size / 8)`` bytes, elements in C order, the first in the lowest bits, the tail zero.

    Raises
    ------
    TypeError, ValueError
        As `cast` does; ValueError too if codes of another width are to be packed than 2, 4 or 6 bits.

    Notes
    -----
    Source: ONNX Cast; packing: ``onnx.TensorProto.raw_data``.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([0.5, -6.0, 1.5], np.float32)
    >>> lp.encode(x, "float4_e2m1fn").tolist()
    [1, 15, 3]
    >>> lp.encode(x, "float4_e2m1fn", packed=True).tolist()
    [241, 3]
    """
    given = "encode", to, source, saturate, round_mode, opset, rounding, overflow, nan, random_bits, packed
    if type(x) is ndarray or not transformed():
        result = run_cast(x, None, None, given, seed, offset, out)
        if result is not None:
            return result
    rules = (rounding, overflow, nan, seed, random_bits, offset)
    in_onnx = (
        rounding is None and overflow is None and nan is None and seed is None
        and random_bits is DEFAULT_RANDOM_BITS and offset is FIRST
    )  # fmt: skip
    if dispatched(x, out):
        from .. import torch_ops

        options = {"saturate": saturate, "round_mode": round_mode, "opset": opset, "packed": as_flag(packed, "packed")}
        more = {} if in_onnx else named_arguments(*rules)
        return torch_ops.encode(x, to, source=source, out=out, **options, **more)
    beyond, stream = (None, None) if in_onnx else rounding_arguments(*rules)
    plan = resolve(x, source, to, ENCODE, CastOptions(saturate, round_mode, opset, beyond))
    packs = packed is not False and as_flag(packed, "packed")
    if packs:
        check_packable(plan.target, "to")
    return dispatch(Job(x, plan, codes=True, packed=packs, out=out, key=CallKey(CASTS, given), stream=stream))


@eager
def decode(
    codes: Array,
    source: object = None,
    *,
    to: object = "float32",
    packed: bool = False,
    shape: int | Sequence[int] | None = None,
    out: Any = None,
) -> Array:
    """Return the values of codes: `cast` from `source`, whatever unsigned dtype carries them.

    Every code has one value. NaN becomes the canonical NaN of `to`, with its sign (float8 FNUZ's NaN counts as
    negative); NaN, Inf, -0 and out-of-range values are converted as by `cast` by default. float32 holds every
    value of the formats up to 16 bits.

    Parameters
    ----------
    codes : array
        Codes in the library's own dtype for `source` or in unsigned integers of the same width; upper bits beyond the
        format's are ignored.
    source : str, int, dtype or Format, optional
        The format of the codes; needed where packed, and where the dtype does not name it, as that of int8 and of
        unsigned integers, which may hold codes of any format.
    to : str, int, dtype or Format
        The format of the values.
    packed : bool
        Whether `codes` is 1-D uint8 in ONNX's packed order.
    shape : int or sequence of int, optional
        The shape of the values; needed where packed, and only there.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have, each element in
        memory of its own. It may overlap the other arrays.

    Returns
    -------
    array
        The shape of `codes`, or `shape`; the dtype `storage_dtype` says for `to`.

    Raises
    ------
    TypeError
        If `codes` is no array.
    ValueError
        If a parameter is out of its range, or `codes` do not fit `source` or `shape`.

    Notes
    -----
    Source: ONNX Cast; packing: ``onnx.TensorProto.raw_data``.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.decode(np.array([1, 15, 3], np.uint8), "float4_e2m1fn").tolist()
    [0.5, -6.0, 1.5]
    >>> lp.decode(np.array([241, 3], np.uint8), "float4_e2m1fn", packed=True, shape=3).tolist()
    [0.5, -6.0, 1.5]
    >>> lp.decode(lp.cast(np.array([0.3, 1000.0], np.float32), "float8_e4m3fn")).tolist()
    [0.3125, 448.0]
    """
    given = "decode", source, to, packed, shape
    if type(codes) is ndarray or not transformed():
        result = run_cast(codes, None, None, given, None, FIRST, out)
        if result is not None:
            return result
    if dispatched(codes, out):
        from .. import torch_ops

        return torch_ops.decode(codes, _source_of(codes, source, packed), to=to, packed=packed, shape=shape, out=out)
    namespace(codes, "codes")
    held = as_format(_source_of(codes, source, packed), parameter="source")
    if not as_flag(packed, "packed"):
        if shape is not None:
            raise ValueError(f"`shape` must be None unless the codes are packed; got {shown(shape)}")
        plan = resolve(codes, held, to, DECODE)
        return dispatch(Job(codes, plan, out=out, key=CallKey(CASTS, given)))
    lengths = shape_of(shape)
    check_packed(codes, held, lengths, "codes")
    plan = resolve_unpacked(held, to, DECODE)
    return dispatch(Job(codes, plan, shape=lengths, out=out, key=CallKey(CASTS, given)))


def _source_of(codes: Any, source: object, packed: object = False) -> object:
    """Return what names the format of codes: their dtype where the caller names none and it may hold no others."""
    if source is not None:
        return source
    fmt = None if packed else format_of(codes.dtype, names=("codes", "source"))
    if fmt is None or (fmt.is_integer and fmt.bits >= 8 and (not fmt.signed or fmt.bits == 8)):
        what = "packed codes" if fmt is None else f"the codes, which {codes.dtype} does not name"
        raise ValueError(f"`source` must be the format of {what}; got None")
    return fmt


def pack(x: Array, source: object = None) -> Array:
    """Pack 2-, 4- or 6-bit codes into bytes, in the order of ONNX's raw_data.

    Parameters
    ----------
    x : array
        Codes of `source`, in the library's own dtype for it or in uint8 (int8 for signed integers), any shape.
    source : str, int, dtype or Format, optional
        A 2-, 4- or 6-bit format; needed where the dtype does not name it, as that of int8 and of uint8.

    Returns
    -------
    array
        1-D uint8, ``ceil(bits * size / 8)`` bytes: C order, the first element in the lowest bits, the tail zero.

    Raises
    ------
    TypeError
        If `x` is no array.
    ValueError
        If `source` has another width, or `x` another dtype.

    Notes
    -----
    Source: ``onnx.TensorProto.raw_data``. Bits are moved, values are not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.pack(np.array([1, 2, 3], np.uint8), "uint4").tolist()
    [33, 3]
    >>> lp.pack(lp.cast(np.array([1, -6, 3], np.float32), "float4_e2m1fn")).tolist()
    [242, 5]
    """
    given = "pack", source
    if type(x) is ndarray or not transformed():
        result = run_cast(x, None, None, given, None, FIRST, None)
        if result is not None:
            return result
    if dispatched(x):
        from .. import torch_ops

        named = _source_of(x, source)
        return torch_ops.encode(x, named, source=named, packed=True, parameter="source")
    namespace(x)
    row = as_format(_source_of(x, source), parameter="source")
    check_packable(row, "source")
    return dispatch(Job(x, resolve(x, row, row, PACK), codes=True, packed=True, key=CallKey(CASTS, given)))


def unpack(packed: Array, source: object, shape: int | Sequence[int]) -> Array:
    """Unpack bytes in the order of ONNX's raw_data into one element a code.

    Parameters
    ----------
    packed : array
        1-D uint8, ``ceil(bits * size / 8)`` bytes; the unused bits of the last one are ignored.
    source : str, int, dtype or Format
        The format of the codes, of 2, 4 or 6 bits.
    shape : int or sequence of int
        The shape of the result.

    Returns
    -------
    array
        Of `shape`, with the dtype `storage_dtype` says for `source`.

    Raises
    ------
    TypeError
        If `packed` is no array.
    ValueError
        If `source` has another width, or `packed` does not hold that shape.

    Notes
    -----
    Source: ``onnx.TensorProto.raw_data``. Bits are moved, values are not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.unpack(np.array([33, 3], np.uint8), "uint4", (3,)).tolist()
    [1, 2, 3]
    """
    given = "unpack", source, shape
    if type(packed) is ndarray or not transformed():
        result = run_cast(packed, None, None, given, None, FIRST, None)
        if result is not None:
            return result
    if dispatched(packed):
        from .. import torch_ops

        return torch_ops.decode(packed, source, to=source, packed=True, shape=shape)
    namespace(packed, "packed")
    row = as_format(source, parameter="source")
    lengths = shape_of(shape)
    check_packed(packed, row, lengths, "packed")
    plan = resolve_unpacked(row, row, UNPACK)
    return dispatch(Job(packed, plan, shape=lengths, key=CallKey(CASTS, given)))
