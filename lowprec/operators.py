"""The operators: what they promise, the checks at the door, one call to the back ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from numpy import ndarray

from .arrays import format_of, namespace
from .dispatch import convert
from .formats import Format, as_format
from .opsets import NEWEST, cast_rules
from .packing import check_packable, packed_bytes
from .plan import Plan, make_plan

__all__ = ["cast", "decode", "encode", "pack", "unpack"]


_Names = tuple[str, str, str]  # the caller's parameters: the array, its format, the target
_CAST, _ENCODE, _DECODE = ("x", "source", "to"), ("x", "source", "fmt"), ("codes", "fmt", "to")
_PACK, _UNPACK = ("x", "fmt", "fmt"), ("packed", "fmt", "fmt")


def _make(
    dtype: Any, source: object, to: object, names: _Names, saturate: bool, round_mode: str | None, opset: int
) -> Plan:
    held = format_of(dtype, source, names[:2])
    target = as_format(to, parameter=names[2])
    return _shared_plan(held, target, cast_rules(held, target, saturate, round_mode, opset, names[1:]))


_shared_plan = lru_cache(maxsize=None)(make_plan)
_cached = lru_cache(maxsize=4096, typed=True)(_make)  # typed: True must not find what 1, the enum of float32, left


def _settle(
    x: Any,
    source: object,
    to: object,
    names: _Names,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
) -> Plan:
    if type(x) is not ndarray:
        namespace(x, names[0])
    try:
        return _cached(x.dtype, source, to, names, saturate, round_mode, opset)
    except TypeError:  # an option that cannot be a key of the cache cannot be right: let the checks name it
        return _make(x.dtype, source, to, names, saturate, round_mode, opset)


def _unpacking(source: Format, to: object, names: _Names) -> Plan:
    target = as_format(to, parameter=names[2])
    return _shared_plan(source, target, cast_rules(source, target, names=names[1:]))


def cast(
    x: Any,
    to: object,
    /,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
    out: Any = None,
) -> Any:
    """Convert every element of an array to another format, as ONNX Cast does, rounded once.

    NaN becomes the target's canonical NaN with the source's sign where it has one; the formats without NaN get a zero
    of the opposite sign (float4, float6), integers get 0. Inf becomes Inf, the largest value or NaN, by the target and
    `saturate`; integers get 0. -0 keeps its sign where the target has one. Out of range: float16 and wider give Inf,
    float8 follows `saturate`, float4 and float6 give the largest value, integers keep the low bits.

    Parameters
    ----------
    x : array
        Any shape and strides; bool, integer or float of any format. NumPy scalars count as 0-d arrays.
    to : str, int, dtype or Format
        The target format (see `as_format`).
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes (uint8, uint16, …).
    saturate : bool
        Concerns float8 targets: whether too large a magnitude becomes the largest value (True), or Inf or NaN.
    round_mode : {"up", "down", "nearest"}, optional
        Concerns float8_e8m0fnu targets; None is ``"up"``.
    opset : int
        The ONNX opset, 1 to 28, whose Cast decides what is allowed and what Inf becomes.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have.

    Returns
    -------
    array
        The same shape, in the library and on the device of `x`, with the dtype `carrier` says; dense layouts are kept.

    Raises
    ------
    TypeError
        If `x` is no array, or holds strings, objects or complex numbers.
    ValueError
        If a parameter is out of its range, or the opset lacks the type or attribute.

    Notes
    -----
    Source: ONNX Cast, versions 1 to 28; the two float8 tables and the float8e8m0 table of Cast-24.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([0.3, -1000.0, np.inf], np.float32)
    >>> lp.cast(x, "float8_e4m3fn").tolist()
    [0.3125, -448.0, 448.0]
    >>> lp.cast(x, "float8_e4m3fn", saturate=False).tolist()
    [0.3125, nan, nan]
    """
    return convert(x, _settle(x, source, to, _CAST, saturate, round_mode, opset), out=out)


def encode(
    x: Any,
    fmt: object,
    /,
    *,
    source: object = None,
    saturate: bool = True,
    round_mode: str | None = None,
    opset: int = NEWEST,
    packed: bool = False,
    out: Any = None,
) -> Any:
    """Return the codes of an array's elements in a format: `cast`, with the bits as unsigned integers.

    NaN, Inf, -0 and out-of-range values become what `cast` makes of them.

    Parameters
    ----------
    x : array
        Any shape and strides; bool, integer or float of any format.
    fmt : str, int, dtype or Format
        The format of the codes.
    source, saturate, round_mode, opset
        As in `cast`.
    packed : bool
        Pack 2-, 4- and 6-bit codes in ONNX's order.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have.

    Returns
    -------
    array
        uint8, uint16, uint32 or uint64, the same shape; sub-byte codes have their upper bits 0. With `packed`: 1-D
        uint8, ``ceil(bits * size / 8)`` bytes, elements in C order, the first in the lowest bits, the tail zero.

    Raises
    ------
    TypeError, ValueError
        As `cast` does; ValueError too if `packed` is asked for another width than 2, 4 or 6 bits.

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
    plan = _settle(x, source, fmt, _ENCODE, saturate, round_mode, opset)
    if packed:
        check_packable(plan.target, "fmt")
    return convert(x, plan, codes=True, packed=bool(packed), out=out)


def _shape_of(shape: object) -> tuple[int, ...]:
    lengths: Sequence[Any] = shape if isinstance(shape, Sequence) and not isinstance(shape, str) else (shape,)
    try:
        found = tuple(length.__index__() for length in lengths)
    except AttributeError:
        found = (-1,)
    if any(length < 0 for length in found):
        raise ValueError(f"`shape` must be the number of elements, or a tuple of lengths, where packed; got {shape!r}")
    return found


def _check_packed(packed: Any, fmt: Format, shape: tuple[int, ...], parameter: str) -> None:
    check_packable(fmt, "fmt")
    wanted = packed_bytes(math.prod(shape), fmt)
    name = str(packed.dtype).rpartition(".")[2]
    if packed.ndim != 1 or name != "uint8" or packed.shape[0] != wanted:
        raise ValueError(
            f"`{parameter}` must be 1-D uint8 of {wanted} bytes for shape {shape} in {fmt.name}; "
            f"got {name} of shape {tuple(packed.shape)}"
        )


def decode(
    codes: Any,
    fmt: object,
    /,
    *,
    to: object = "float32",
    packed: bool = False,
    shape: int | Sequence[int] | None = None,
    out: Any = None,
) -> Any:
    """Return the values of codes: `cast` from `fmt`, whatever unsigned dtype carries them.

    Every code has one value. NaN becomes the canonical NaN of `to`, with its sign (float8 FNUZ's NaN counts as
    negative); NaN, Inf, -0 and out-of-range values become what `cast` makes of them by default. float32 holds every
    value of the formats up to 16 bits.

    Parameters
    ----------
    codes : array
        Codes in the library's own dtype for `fmt` or in unsigned integers of the same width; upper bits beyond the
        format's are ignored.
    fmt : str, int, dtype or Format
        The format of the codes.
    to : str, int, dtype or Format
        The format of the values.
    packed : bool
        Whether `codes` is 1-D uint8 in ONNX's packed order.
    shape : int or sequence of int, optional
        The shape of the values; needed where packed, and only there.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have.

    Returns
    -------
    array
        The shape of `codes`, or `shape`; the dtype `carrier` says for `to`.

    Raises
    ------
    TypeError
        If `codes` is no array.
    ValueError
        If a parameter is out of its range, or `codes` do not fit `fmt` or `shape`.

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
    """
    namespace(codes, "codes")
    source = as_format(fmt)
    if not packed:
        if shape is not None:
            raise ValueError(f"`shape` must be None unless the codes are packed; got {shape!r}")
        return convert(codes, _settle(codes, source, to, _DECODE), out=out)
    lengths = _shape_of(shape)
    _check_packed(codes, source, lengths, "codes")
    return convert(codes, _unpacking(source, to, _DECODE), shape=lengths, out=out)


def pack(x: Any, fmt: object, /) -> Any:
    """Pack 2-, 4- or 6-bit codes into bytes, in the order of ONNX's raw_data.

    Parameters
    ----------
    x : array
        Codes of `fmt`, in the library's own dtype for it or in uint8 (int8 for signed integers), any shape.
    fmt : str, int, dtype or Format
        A 2-, 4- or 6-bit format.

    Returns
    -------
    array
        1-D uint8, ``ceil(bits * size / 8)`` bytes: C order, the first element in the lowest bits, the tail zero.

    Raises
    ------
    TypeError
        If `x` is no array.
    ValueError
        If `fmt` has another width, or `x` another dtype.

    Notes
    -----
    Source: ``onnx.TensorProto.raw_data``. Bits are moved, values are not looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.pack(np.array([1, 2, 3], np.uint8), "uint4").tolist()
    [33, 3]
    """
    namespace(x)
    row = as_format(fmt)
    check_packable(row, "fmt")
    return convert(x, _settle(x, row, row, _PACK), codes=True, packed=True)


def unpack(packed: Any, fmt: object, shape: int | Sequence[int], /) -> Any:
    """Unpack bytes in the order of ONNX's raw_data into one element a code.

    Parameters
    ----------
    packed : array
        1-D uint8, ``ceil(bits * size / 8)`` bytes; the unused bits of the last one are ignored.
    fmt : str, int, dtype or Format
        A 2-, 4- or 6-bit format.
    shape : int or sequence of int
        The shape of the result.

    Returns
    -------
    array
        Of `shape`, with the dtype `carrier` says for `fmt`.

    Raises
    ------
    TypeError
        If `packed` is no array.
    ValueError
        If `fmt` has another width, or `packed` does not hold that shape.

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
    namespace(packed, "packed")
    row = as_format(fmt)
    lengths = _shape_of(shape)
    _check_packed(packed, row, lengths, "packed")
    return convert(packed, _unpacking(row, row, _UNPACK), shape=lengths)
