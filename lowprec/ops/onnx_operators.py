"""QuantizeLinear and DequantizeLinear with ONNX's defaults and rules of shapes, for all that calls them.

That is `lowprec.onnx`, torch's operators, and `quantize_linear` and `dequantize_linear` of lowprec, which ask for what
these leave to a default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from ..arrays.libraries import namespace
from ..arrays.torch_tensors import EAGER, dispatched, transformed
from ..backends.call_cache import DEQUANTIZED, QUANTIZED, CallKey
from ..backends.dispatch import dispatch
from ..backends.job import Job
from ..backends.scales_for_kernels import resolve_operands, scale_argument
from ..plans.quantize_plan import QuantizeOptions
from ..spec.formats import as_format
from ..spec.operator_versions import DEQUANTIZE, NEWEST, QUANTIZE
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, FIRST, named_arguments
from ..spec.scalar_arguments import as_flag, shown
from .packed_arguments import check_packed, shape_of
from .seed_arguments import rounding_arguments

__all__ = ["onnx_dequantize_linear", "onnx_quantize_linear"]

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
            result = QUANTIZED.run(x, scale, zero_point, named, seed, offset, out)
            if result is not None:
                return result
    if dispatched(x, scale, zero_point, out):
        from . import torch_traced

        return torch_traced.quantize_linear(
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
            result = DEQUANTIZED.run(x, scale, zero_point, named, None, FIRST, out)
            if result is not None:
                return result
    if dispatched(x, scale, zero_point, out):
        from . import torch_traced

        return torch_traced.dequantize_linear(
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
