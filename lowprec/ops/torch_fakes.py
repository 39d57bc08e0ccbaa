"""Fake kernels of lowprec's torch operators: an empty tensor of the shape, the dtype and the strides of the result.

Shapes may hold symbols; those that do not are checked as the public functions check them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..arrays.libraries import carrier, check_takes_text, namespace
from ..plans.cast import Plan, Rule
from ..plans.resolve import CAST, DECODE, ENCODE, resolve, resolve_bits, resolve_unpacked
from ..plans.resolve_quantize import resolve_dequantize, resolve_quantize
from ..spec.formats import as_format
from ..spec.opsets import NEWEST
from ..spec.packing import check_packable, packed_bytes

__all__ = ["FAKES", "quantize_plan_of"]

torch: Any = import_module("torch")


def _empty(x: Any, plan: Plan, codes: bool = False, packed: bool = False, shape: Any = None) -> Any:
    if plan.rule is Rule.TEXT:
        check_takes_text(torch)
    if packed:
        return x.new_empty((packed_bytes(x.numel(), plan.target),), dtype=torch.uint8)
    dtype = carrier(plan.target.code_dtype.name if codes else plan.target, torch)
    return torch.empty_like(x, dtype=dtype) if shape is None else x.new_empty(shape, dtype=dtype)


def _check_shape(packed: bool, shape: Any) -> None:
    if packed != (shape is not None):
        wanted = "the number of elements, or a tuple of lengths, where packed" if packed else "None unless packed"
        raise ValueError(f"`shape` must be {wanted}; got {shape!r}")


def _cast(x: Any, to: str, *, source: Any = None, **options: Any) -> Any:
    return _empty(x, resolve(x, source, to, CAST, **options))


def _bitcast(x: Any, to: str, *, source: Any = None, opset: int = NEWEST) -> Any:
    _, target = resolve_bits(x.dtype, source, to, opset)
    return torch.empty_like(x, dtype=carrier(target, torch))


def _encode(x: Any, fmt: str, *, source: Any = None, packed: bool = False, **options: Any) -> Any:
    plan = resolve(x, source, fmt, ENCODE, **options)
    if packed:
        check_packable(plan.target, "fmt")
    return _empty(x, plan, codes=True, packed=packed)


def _decode(codes: Any, fmt: str, *, to: str = "float32", packed: bool = False, shape: Any = None) -> Any:
    _check_shape(packed, shape)
    source = as_format(fmt)
    plan = resolve_unpacked(source, to, DECODE) if packed else resolve(codes, source, to, DECODE)
    return _empty(codes, plan, shape=shape)


def _shapes(x_shape: Any, scale: Any, zero: Any, axis: int, block_size: int) -> tuple[Any, ...]:
    """Return the shapes, axis and block size to be checked; stand-ins where a length is a symbol."""
    shapes = [tuple(x_shape), tuple(scale.shape), None if zero is None else tuple(zero.shape)]
    if all(type(length) is int for shape in shapes if shape is not None for length in shape):
        return *shapes, axis, block_size
    return (1,), (1,), None if zero is None else (1,), 1, 0


def quantize_plan_of(
    x: Any,
    scale: Any,
    zero: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    saturate: bool = True,
    packed: bool = False,
    opset: int = NEWEST,
    **formats: Any,
) -> Plan:
    """Return the plan of `quantize_linear` on tensors; what is in `formats` may be left out."""
    shape, scale_shape, zero_shape, axis, block_size = _shapes(x.shape, scale, zero, axis, block_size)
    plan: Plan = resolve_quantize(
        namespace(x), x.dtype, shape, scale.dtype, scale_shape, formats.get("scale_format"),
        None if zero is None else zero.dtype, zero_shape, axis, block_size, formats.get("output_dtype"),
        formats.get("source"), formats.get("precision"), saturate, packed, opset,
    )[0]  # fmt: skip
    return plan


def _quantize_linear(x: Any, scale: Any, zero_point: Any = None, *, packed: bool = False, **options: Any) -> Any:
    return _empty(x, quantize_plan_of(x, scale, zero_point, packed=packed, **options), packed=packed)


def _dequantize_linear(
    x: Any,
    scale: Any,
    zero_point: Any = None,
    *,
    axis: int = 1,
    block_size: int = 0,
    packed: bool = False,
    shape: Any = None,
    opset: int = NEWEST,
    **formats: Any,
) -> Any:
    _check_shape(packed, shape)
    checked = _shapes(x.shape if shape is None else shape, scale, zero_point, axis, block_size)
    x_shape, scale_shape, zero_shape, axis, block_size = checked
    plan, _, _ = resolve_dequantize(
        namespace(x), x.dtype, x_shape, scale.dtype, scale_shape, formats.get("scale_format"),
        None if zero_point is None else zero_point.dtype, zero_shape, axis, block_size, formats.get("output_dtype"),
        formats.get("source"), packed, opset,
    )  # fmt: skip
    return _empty(x, plan, shape=shape)


def _dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> tuple[Any, Any, Any]:
    codes = x.new_empty(x.shape, dtype=torch.uint8)
    return codes, x.new_empty((), dtype=torch.float32), x.new_empty((), dtype=torch.uint8)


def _number(x: Any, value: Any, fmt: str, *, parameter: str = "scale") -> Any:
    return x.new_empty((), dtype=carrier(fmt, torch))


FAKES: dict[str, Callable[..., Any]] = {
    "cast": _cast, "bitcast": _bitcast, "encode": _encode, "decode": _decode, "quantize_linear": _quantize_linear,
    "dequantize_linear": _dequantize_linear, "dynamic_quantize_linear": _dynamic_quantize_linear, "number": _number,
}  # fmt: skip
"""The fake kernel of each operator."""
