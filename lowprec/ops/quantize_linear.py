"""`quantize_linear` and `dequantize_linear`, and the operators with ONNX's own defaults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from ..arrays.libraries import Array, is_torch, namespace
from ..arrays.torch_tensors import EAGER, dispatched, transformed
from ..backends.backend_choice import dispatch
from ..backends.jobs import Job
from ..backends.prepared_calls import DEQUANTIZED, QUANTIZED, CallKey, run_dequantized, run_quantized
from ..backends.scales_for_kernels import is_number, plain_operand, resolve_operands, scale_argument
from ..plans.cast_plan import rounding_arguments
from ..plans.quantize_plan import QuantizeOptions
from ..spec.formats import BFLOAT16, FLOAT16, FLOAT32, NUMERIC, as_format
from ..spec.operator_versions import DEQUANTIZE, NEWEST, QUANTIZE, takes_codes, unless_undefined
from ..spec.packing import check_packed, shape_of
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, NaNName, OverflowName, RoundingName, named_arguments
from ..spec.scalar_arguments import as_flag, shown

__all__ = ["dequantize_linear", "onnx_dequantize_linear", "onnx_quantize_linear", "quantize_linear"]


_BY_OPERATOR = "by the operator's defaults"
"""In the key of a call: what the API asks for may be left out."""


def onnx_quantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    *,
    source: object = None,
    scale_format: object = None,
    axis: int | Sequence[int] = 1,
    block_size: int | Sequence[int] = 0,
    output_dtype: object = None,
    precision: object = None,
    saturate: bool = True,
    packed: bool = False,
    opset: int = NEWEST,
    rounding: str | None = None,
    overflow: str | None = None,
    nan: str | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    float64_x: bool = False,
    out: Any = None,
    named: tuple[Any, ...] | None = None,
) -> Any:
    """Quantize as `lowprec.quantize_linear` says; axis 1 and uint8 where nothing else is given.

    Parameters
    ----------
    axis : int or sequence of int
        () where the scale has the rank of `x`, with its lengths or 1.
    float64_x : bool
        Whether `x` may be float64 as well, which the operator lacks; in float64 precision.
    named : tuple, optional
        The options as the caller of `quantize_linear` named them, which found no call that came before.
    """
    rules = (rounding, overflow, nan, seed, random_bits, offset)
    in_onnx = (
        rounding is None and overflow is None and nan is None and seed is None
        and random_bits is DEFAULT_RANDOM_BITS and offset is FIRST
    )  # fmt: skip
    needs_out = named is not None and output_dtype is not None and named[2] is not output_dtype
    if named is None:
        named = (
            axis, block_size, output_dtype, precision, saturate, packed, opset, source, scale_format, rounding,
            overflow, nan, random_bits, float64_x, _BY_OPERATOR,
        )  # fmt: skip
        if type(x) is ndarray or not transformed():
            result = run_quantized(x, scale, zero_point, named, seed, offset, out)
            if result is not None:
                return result
    if dispatched(x, scale, zero_point, out):
        from .. import torch_ops

        return torch_ops.quantize_linear(
            x, scale, zero_point, source=source, scale_format=scale_format, axis=axis, block_size=block_size,
            output_dtype=output_dtype, precision=precision, saturate=saturate, float64_x=float64_x,
            packed=as_flag(packed, "packed"), opset=opset, out=out, **({} if in_onnx else named_arguments(*rules)),
        )  # fmt: skip
    namespace(x)
    packs = packed is not False and as_flag(packed, "packed")
    factor, held = scale_argument(scale, x, source, scale_format)
    beyond, stream = (None, None) if in_onnx else rounding_arguments(*rules)
    checked = QuantizeOptions(
        axis, block_size, output_dtype, precision, saturate, packs, opset, source, held, beyond, float64_x
    )
    plan, scales = resolve_operands(QUANTIZE, x, factor, zero_point, checked)
    key = CallKey(QUANTIZED, named, scale, zero_point, needs_out)
    return dispatch(Job(x, plan, scales, packed=packs, out=out, key=key, stream=stream))


def onnx_dequantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    *,
    source: object = None,
    scale_format: object = None,
    axis: int | Sequence[int] = 1,
    block_size: int | Sequence[int] = 0,
    output_dtype: object = None,
    packed: bool = False,
    shape: int | Sequence[int] | None = None,
    opset: int = NEWEST,
    out: Any = None,
    named: tuple[Any, ...] | None = None,
) -> Any:
    """Dequantize as `lowprec.dequantize_linear` says; along axis 1 where nothing else is given.

    `axis` and `named` are those of `onnx_quantize_linear`.
    """
    needs_out = named is not None and output_dtype is not None and named[2] is not output_dtype
    if named is None:
        named = axis, block_size, output_dtype, packed, shape, opset, source, scale_format, _BY_OPERATOR
        if type(x) is ndarray or not transformed():
            result = run_dequantized(x, scale, zero_point, named, None, FIRST, out)
            if result is not None:
                return result
    if dispatched(x, scale, zero_point, out):
        from .. import torch_ops

        return torch_ops.dequantize_linear(
            x, scale, zero_point, source=source, scale_format=scale_format, axis=axis, block_size=block_size,
            output_dtype=output_dtype, packed=as_flag(packed, "packed"), shape=shape, opset=opset, out=out,
        )  # fmt: skip
    namespace(x)
    lengths = None
    if packed is not False and as_flag(packed, "packed"):
        if source is None:
            raise ValueError("`source` must be the format of the packed codes; got None")
        lengths = shape_of(shape)
        check_packed(x, as_format(source, parameter="source"), lengths, "x", "source")
    elif shape is not None:
        raise ValueError(f"`shape` must be None unless the codes are packed; got {shown(shape)}")
    factor, held = scale_argument(scale, x, source, scale_format, DEQUANTIZE)
    checked = QuantizeOptions(axis, block_size, output_dtype, None, True, lengths is not None, opset, source, held)
    plan, scales = resolve_operands(DEQUANTIZE, x, factor, zero_point, checked, lengths)
    key = CallKey(DEQUANTIZED, named, scale, zero_point, needs_out)
    return dispatch(Job(x, plan, scales, shape=lengths, out=out, key=key))


EAGER |= {"quantize_linear": onnx_quantize_linear, "dequantize_linear": onnx_dequantize_linear}


_OUTPUT_DTYPE_SINCE = 21
"""The first opset in which QuantizeLinear has the attribute; before, the zero point decides, or uint8."""

_VALUES_TYPE_SINCE = 23
"""The first opset in which DequantizeLinear has it."""

_NAMING_ONE = {fmt.name for fmt in NUMERIC if takes_codes(fmt)} - {"uint8", "uint16", "int8"}
"""Dtypes of quantized arrays; those left out hold codes of other formats, too."""

_VALUES_TYPES = {fmt.name for fmt in (FLOAT32, FLOAT16, BFLOAT16)}


def _required_axis(axis: Any, block_size: Any, scale: Any, rank: int) -> Any:
    """Return the axis as ONNX's operators need it, () where the scale has the rank of `x`; or raise ValueError.

    No length is read where torch has symbols for them, but that it is 1.
    """
    scale_rank: int = 0 if is_number(scale) else getattr(scale, "ndim", 0)
    if not (isinstance(block_size, int) and block_size == 0):
        if axis is None and rank > 1:
            raise ValueError(f"`axis` must be given where there is a `block_size`; got None with {shown(block_size)}")
        return 1 if axis is None else axis
    if scale_rank == rank > 1:
        return ()
    if axis is not None:
        return axis
    if rank > 1 and scale_rank and not (scale_rank == 1 and scale.shape[0] == 1):
        raise ValueError(
            "`axis` must be the axis of `x` along which each index has its scale, where there is more than one and "
            f"`scale` lacks the {rank} dimensions of `x`; got None with a scale of {scale_rank} dimensions"
        )
    return 1


def _dtype_name(out: Any) -> str:
    """Return the name of the dtype of an array, '' where there is none; NumPy prints other byte orders as codes."""
    dtype = getattr(out, "dtype", "")
    return str(getattr(dtype, "name", dtype)).rpartition(".")[2]


def _required_type(output_dtype: object, zero_point: Any, out: Any, opset: object) -> Any:
    """Return the type of a quantized array, None where the zero point or the opset decides; or raise ValueError."""
    if unless_undefined(output_dtype) is not None:
        return output_dtype
    if zero_point is not None and not is_number(plain_operand(zero_point, QUANTIZE, "zero_point")):
        return None
    if isinstance(opset, int) and opset < _OUTPUT_DTYPE_SINCE:
        return None
    held = _dtype_name(out)
    if held in _NAMING_ONE:
        return held
    came = "None" if zero_point is None else f"None with a zero point, {shown(zero_point)}, that has no type"
    also = f" and `out` of {held}, which names no format that is meant for certain" if held else ""
    raise ValueError(
        "`output_dtype` must be the format of the result, such as 'int8', unless `zero_point` is an "
        f"array of that type; got {came}{also}"
    )


def _values_type(output_dtype: object, out: Any, opset: object) -> object:
    """Return the type of a dequantized array, None where the scale decides."""
    if output_dtype is None and out is not None and not (isinstance(opset, int) and opset < _VALUES_TYPE_SINCE):
        held = _dtype_name(out)
        return held if held in _VALUES_TYPES else None
    return output_dtype


def quantize_linear(
    x: Array,
    scale: Any,
    zero_point: Any = None,
    *,
    source: object = None,
    scale_format: object = None,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] = 0,
    output_dtype: object = None,
    precision: object = None,
    saturate: bool = True,
    packed: bool = False,
    opset: int = NEWEST,
    rounding: RoundingName | None = None,
    overflow: OverflowName | None = None,
    nan: NaNName | None = None,
    seed: int | None = None,
    random_bits: int = DEFAULT_RANDOM_BITS,
    offset: int = FIRST,
    out: Any = None,
) -> Array:
    """Divide by a scale, round, add a zero point and clamp, as ONNX QuantizeLinear does.

    ``x / scale`` is a true division, rounded once in `precision`. To integers: half to even, plus the zero point,
    clamped; Inf becomes the end of the range, NaN the lower end. To floats: the quotient is cast as `cast` does, NaN,
    Inf and -0 included; float4 and float6 add the zero point in float32 first. A quotient that is NaN without a NaN
    operand (0 / 0, Inf / Inf) has no sign.

    Parameters
    ----------
    x : array
        float32, float16, bfloat16 or int32, any shape and strides.
    scale : array or number
        float32, float16, bfloat16, int32 or float8_e8m0fnu, in the library and on the device of `x`. One element: per
        tensor. 1-D, as long as the quantization axis: per axis. Of the rank of `x`, each length 1 or that of `x`, as
        ``keepdims`` leaves it: along all axes that are not 1. With `block_size`: the shape of `x`, each axis divided by
        its block size and rounded up. A Python number is rounded to the type of `x` (to float32 for int32), and so is a
        NumPy scalar of another type than those; one of those is an array.
    zero_point : array or number, optional
        The shape of `scale`; its dtype is that of the result. 0 for float8. A Python number serves all scales, and so
        does a NumPy scalar of a type that no result has, int64 say.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes: bfloat16 in uint16.
    scale_format : str, int, dtype or Format, optional
        The format of `scale` where its dtype only carries the codes.
    axis : int or two ints, optional
        The quantization axis, ``-ndim`` to ``ndim - 1``. Needed where `x` has two axes or more and there are blocks, or
        more than one scale; not read where, without blocks, the scale has the rank of `x`. Two axes with two block
        sizes: a scale for each tile, which no ONNX operator has; at the default `opset`.
    block_size : int or two ints
        Elements along each axis that share a scale, the last of which may be fewer; 0 where there are no blocks.
    output_dtype : str, int, dtype or Format, optional
        The format of the result: an integer of 2 to 16 bits, float8, float6 or float4. By default that of a
        `zero_point` that has a type, else that of `out` where its dtype names one format (uint8, uint16 and int8 may
        hold codes of others); needed where there is neither. Before opset 21, which has no such attribute, it is uint8
        without a zero point. Needed beside a zero point in a library that has no dtype of its own for the format. 0,
        ONNX's UNDEFINED, counts as None.
    precision : str, int, dtype or Format, optional
        float16, bfloat16, float32 or float64; by default the type of `scale`, float32 for float8_e8m0fnu and float64
        for int32. 0 counts as None.
    saturate : bool
        Float8 targets: whether overflow becomes the largest value. Other targets ignore it, as ONNX says.
    packed : bool
        Return 2-, 4- and 6-bit codes packed in ONNX's order: 1-D uint8.
    opset : int
        The ONNX opset, 10 to 28.
    rounding, overflow, nan, seed, random_bits, offset
        As in `cast`, for float targets: rules of the last conversion. The quotient is rounded to `precision` as ever.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have, each element in
        memory of its own. It may overlap the other arrays.

    Returns
    -------
    array
        The shape of `x`, in its library and on its device, with the dtype `storage_dtype` says.

    Raises
    ------
    TypeError
        If an argument is no array, or holds what is no number.
    ValueError
        If shapes do not fit, a parameter is out of its range, or the opset lacks a type or an attribute.

    Notes
    -----
    Source: ONNX QuantizeLinear, versions 10, 13, 19, 21, 23, 24, 25 and 28.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> x = np.array([[0.3, -1.0, np.nan], [2.5, 1e9, -np.inf]], np.float32)
    >>> lp.quantize_linear(x, 0.5, output_dtype="int8").tolist()
    [[1, -2, -128], [5, 127, -128]]
    >>> lp.quantize_linear(x, np.array([0.5, 1.0], np.float32), axis=0, output_dtype="int4").tolist()
    [[1, -2, -8], [2, 7, -8]]
    """
    given = (
        axis, block_size, output_dtype, precision, saturate, packed, opset, source, scale_format, rounding, overflow,
        nan, random_bits,
    )  # fmt: skip
    if type(x) is ndarray or not transformed():
        result = run_quantized(x, scale, zero_point, given, seed, offset, out)
        if result is not None:
            return result
    if not is_torch(x):
        namespace(x)
    return onnx_quantize_linear(
        x, scale, zero_point, source=source, scale_format=scale_format,
        axis=_required_axis(axis, block_size, scale, getattr(x, "ndim", 0)), block_size=block_size,
        output_dtype=_required_type(output_dtype, zero_point, out, opset), precision=precision, saturate=saturate,
        packed=packed, opset=opset, rounding=rounding, overflow=overflow, nan=nan, seed=seed, random_bits=random_bits,
        offset=offset, out=out, named=given,
    )  # fmt: skip


def dequantize_linear(
    x: Array,
    scale: Any,
    zero_point: Any = None,
    *,
    source: object = None,
    scale_format: object = None,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] = 0,
    output_dtype: object = None,
    packed: bool = False,
    shape: int | Sequence[int] | None = None,
    opset: int = NEWEST,
    out: Any = None,
) -> Array:
    """Take a zero point away and multiply by a scale, as ONNX DequantizeLinear does.

    The difference is exact, then rounded to float32; the product is rounded to float32, and once more to the type of
    the result. NaN, Inf and -0 behave as in IEEE arithmetic; a product that is NaN without a NaN factor (0 * Inf) has
    no sign.

    Parameters
    ----------
    x : array
        Codes: integers of 2 to 16 bits, int32, float8, float6 or float4, in the library's own dtype or in the one that
        carries them; 1-D uint8 where `packed`.
    scale : array or number
        float32, float16, bfloat16 or float8_e8m0fnu; its shape says how it spreads, as in `quantize_linear`. A Python
        number is a float32.
    zero_point : array or number, optional
        The shape of `scale` and the type of `x`. 0 for float8 and int32. A Python number serves all scales.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes; needed where `packed`.
    scale_format, axis, block_size
        As in `quantize_linear`.
    output_dtype : str, int, dtype or Format, optional
        float32, float16 or bfloat16; by default that of `out`, else the type of `scale`; needed where there is no `out`
        and that is float8_e8m0fnu. 0 counts as None.
    packed : bool
        Whether `x` holds 2-, 4- or 6-bit codes packed in ONNX's order.
    shape : int or sequence of int, optional
        The shape of the values; needed where packed, and only there.
    opset : int
        The ONNX opset, 10 to 28.
    out : array, optional
        Where the result goes: of the library, device, shape and dtype that the result would have, each element in
        memory of its own. It may overlap the other arrays.

    Returns
    -------
    array
        The shape of `x`, or `shape`, in the library and on the device of `x`.

    Raises
    ------
    TypeError
        If an argument is no array, or holds what is no number.
    ValueError
        If shapes do not fit, a parameter is out of its range, or the opset lacks a type or an attribute.

    Notes
    -----
    Source: ONNX DequantizeLinear, versions 10, 13, 19, 21, 23, 24, 25 and 28.

    Examples
    --------
    >>> import numpy as np
    >>> import lowprec as lp
    >>> lp.dequantize_linear(np.array([-2, 0, 5], np.int8), 0.5, -1).tolist()
    [-0.5, 0.5, 3.0]
    """
    given = axis, block_size, output_dtype, packed, shape, opset, source, scale_format
    if type(x) is ndarray or not transformed():
        result = run_dequantized(x, scale, zero_point, given, None, FIRST, out)
        if result is not None:
            return result
    if not is_torch(x):
        namespace(x)
    rank = len(shape) if isinstance(shape, Sequence) else 1 if shape is not None else getattr(x, "ndim", 0)
    return onnx_dequantize_linear(
        x, scale, zero_point, source=source, scale_format=scale_format,
        axis=_required_axis(axis, block_size, scale, rank), block_size=block_size,
        output_dtype=_values_type(output_dtype, out, opset),
        packed=packed, shape=shape, opset=opset, out=out, named=given,
    )  # fmt: skip
