"""Fake kernels of lowprec's torch operators: an empty tensor of the shape, the dtype and the strides of the result.

Shapes may hold symbols; those that do not are checked as the public functions check them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

from ..arrays.libraries import check_takes_text, format_of, namespace, storage_dtype
from ..plans.cast_plan import CAST, DECODE, ENCODE, CastOptions, resolve, resolve_bits, resolve_unpacked
from ..plans.plan import Plan, Rule
from ..plans.quantize_plan import QuantizeOptions, resolve_quantize
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT32, Format, as_format
from ..spec.operator_versions import DEQUANTIZE, NEWEST, QUANTIZE
from ..spec.packing import check_packable, packed_bytes
from ..spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    PARAMETERS,
    STOCHASTIC,
    RoundingOptions,
    rounding_arguments,
)
from .block_arguments import (
    BlockOptions,
    block_axis,
    check_global_scale,
    check_scale_shape,
    held_elements,
    mx_options,
    nvfp4_options,
    output_format,
    scale_shape,
)
from .packed_arguments import check_packed
from .range_arguments import absmax_formats, minmax_format, scale_groups

__all__ = ["FAKES", "SEEDS", "linear_plan", "public_options"]

torch: Any = import_module("torch")


def _empty(x: Any, plan: Plan, codes: bool = False, packed: bool = False, shape: Any = None) -> Any:
    if plan.rule is Rule.TEXT:
        check_takes_text(torch)
    if packed:
        return x.new_empty((packed_bytes(x.numel(), plan.target),), dtype=torch.uint8)
    dtype = storage_dtype(plan.target.code_dtype.name if codes else plan.target, torch)
    return torch.empty_like(x, dtype=dtype) if shape is None else x.new_empty(shape, dtype=dtype)


def _check_shape(packed: bool, shape: Any) -> None:
    if packed != (shape is not None):
        wanted = "the number of elements, or a tuple of lengths, where packed" if packed else "None unless packed"
        raise ValueError(f"`shape` must be {wanted}; got {shape!r}")


def _beyond(options: dict[str, Any]) -> RoundingOptions | None:
    """Take the rules beyond ONNX out of the options of an operator; those that may be symbols are not read."""
    rules = {name: options.pop(name) for name in PARAMETERS if name in options}
    return rounding_arguments(**dict.fromkeys(("rounding", "overflow", "nan")) | rules | _numbers(rules))[0]


def _numbers(rules: dict[str, Any]) -> dict[str, Any]:
    """Return what is checked for the random numbers of a call: others stand in for symbols, and for what is unused."""
    seed, random_bits = rules.get("seed"), rules.get("random_bits", DEFAULT_RANDOM_BITS)
    is_used = type(random_bits) is int and rules.get("rounding") in STOCHASTIC
    bits = random_bits if is_used else DEFAULT_RANDOM_BITS
    return {"seed": None if seed is None else 0, "random_bits": bits, "offset": FIRST}


def _cast_options(options: dict[str, Any]) -> CastOptions:
    beyond = _beyond(options)
    return CastOptions(**options, options=beyond)


def _cast(x: Any, to: str, *, source: Any = None, **options: Any) -> Any:
    return _empty(x, resolve(x, source, to, CAST, _cast_options(options)))


def _bitcast(x: Any, to: str, *, source: Any = None, opset: int = NEWEST) -> Any:
    _, target = resolve_bits(x.dtype, source, to, opset)
    return torch.empty_like(x, dtype=storage_dtype(target, torch))


def _encode(x: Any, fmt: str, *, source: Any = None, packed: bool = False, **options: Any) -> Any:
    plan = resolve(x, source, fmt, ENCODE, _cast_options(options))
    if packed:
        check_packable(plan.target, "source" if source == fmt else "to")  # of `pack`, or of `encode`
    return _empty(x, plan, codes=True, packed=packed)


def _decode(codes: Any, fmt: str, *, to: str = "float32", packed: bool = False, shape: Any = None) -> Any:
    _check_shape(packed, shape)
    source = as_format(fmt, parameter="source")
    plan = resolve_unpacked(source, to, DECODE) if packed else resolve(codes, source, to, DECODE)
    return _empty(codes, plan, shape=shape)


SEEDS = 1 << 64
"""How many seeds there are. Integers of torch have a sign: there the upper half is negative, in two's complement."""


def public_options(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of an operator as the public function takes them.

    Lists of torch become a number or a tuple, negative seeds the upper half of all seeds. Random bits and an offset
    without use, an error in Python, are left out: programs that were exported before they were one have them.
    """
    if options.get("rounding") not in STOCHASTIC:
        options = {name: value for name, value in options.items() if name not in ("random_bits", "offset")}
    if isinstance(options.get("seed"), int):
        options = options | {"seed": options["seed"] % SEEDS}
    lists = {name: tuple(options[name]) for name in ("axis", "block_size") if isinstance(options.get(name), list)}
    return options | {name: values[0] if len(values) == 1 else values for name, values in lists.items()}


def linear_plan(operator: str, operands: tuple[Any, ...], shape: Any = None, **options: Any) -> Plan:
    """Return the plan of a quantization or a dequantization of tensors.

    `shape` is that of the values where their codes are packed. Shapes with a length that is a symbol are not checked:
    others stand in for them.
    """
    x, scale, zero = (*operands, None)[:3]
    options = public_options(options)
    shapes = [x.shape if shape is None else shape, scale.shape, () if zero is None else zero.shape]
    if not all(type(length) is int for lengths in shapes for length in lengths):
        shapes = [(1,)] * 3
        options |= {"axis": 1, "block_size": 0}
    x_shape, scale_shape, zero_shape = map(tuple, shapes)
    zero_operand = None if zero is None else (zero.dtype, zero_shape)
    operands = (x.dtype, x_shape), (scale.dtype, scale_shape), zero_operand
    beyond = _beyond(options)
    return resolve_quantize(operator, namespace(x), *operands, QuantizeOptions(**options, rounding=beyond))[0]


def _quantize_linear(x: Any, *operands: Any, **options: Any) -> Any:
    return _empty(x, linear_plan(QUANTIZE, (x, *operands), **options), packed=options.get("packed", False))


def _dequantize_linear(x: Any, *operands: Any, shape: Any = None, **options: Any) -> Any:
    _check_shape(options.get("packed", False), shape)
    return _empty(x, linear_plan(DEQUANTIZE, (x, *operands), shape, **options), shape=shape)


def _dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> tuple[Any, Any, Any]:
    codes = x.new_empty(x.shape, dtype=torch.uint8)
    return codes, x.new_empty((), dtype=torch.float32), x.new_empty((), dtype=torch.uint8)


def _number(x: Any, value: Any, fmt: str, *, parameter: str = "scale") -> Any:
    return x.new_empty((), dtype=storage_dtype(fmt, torch))


def _scales(x: Any, formats: Iterable[Format], axis: Any, block_size: Any) -> tuple[Any, ...]:
    format_of(x.dtype)
    sharing = public_options({"axis": axis, "block_size": block_size})
    shape = scale_groups(x.ndim, **sharing).shape_of(tuple(x.shape))
    return tuple(x.new_empty(shape, dtype=storage_dtype(fmt, torch)) for fmt in formats)


def _absmax_scale(
    x: Any, to: str, *, axis: Any = None, block_size: Any = 0, scale_format: str = "float32", scale_rule: Any = None
) -> Any:
    return _scales(x, absmax_formats(to, scale_format, scale_rule)[1:], axis, block_size)[0]


def _minmax_scale(x: Any, to: str, *, axis: Any = None, block_size: Any = 0) -> tuple[Any, Any]:
    scale, zero = _scales(x, (FLOAT32, minmax_format(to)), axis, block_size)
    return scale, zero


@cache
def _defaults(name: str) -> dict[str, Any]:
    """Return the options of an operator, for a fake kernel is called with those alone that the caller gives."""
    arguments = getattr(torch.ops.lowprec, name).default._schema.arguments
    return {one.name: one.default_value for one in arguments if one.kwarg_only}


def _mx_quantize(x: Any, element: str = FLOAT4_E2M1FN.name, **options: Any) -> tuple[Any, ...]:
    return _blocks(x, mx_options(x.dtype, x.ndim, element, **_defaults("mx_quantize") | options | _numbers(options)))


def _nvfp4_quantize(x: Any, global_scale: Any = None, **options: Any) -> tuple[Any, ...]:
    if global_scale is not None:
        _check_factor(global_scale)
    return _blocks(x, nvfp4_options(x.dtype, x.ndim, **_defaults("nvfp4_quantize") | options | _numbers(options)))


def _blocks(x: Any, checked: BlockOptions) -> tuple[Any, ...]:
    return tuple(x.new_empty(shape, dtype=dtype) for shape, dtype in checked.job(x).results)


def _check_factor(global_scale: Any) -> None:
    shape = tuple(global_scale.shape)
    check_global_scale(global_scale.dtype, shape if _known(shape) else ())


def _known(lengths: tuple[Any, ...]) -> bool:
    return all(type(length) is int for length in lengths)


def _values(
    elements: Any, scales: Any, held: tuple[Format, Format], axis: int, block_size: int, output_dtype: str,
    packed: bool, shape: Any, swizzled: bool = False,
) -> Any:  # fmt: skip
    """Return the values of blocks of elements and scales of two formats."""
    _check_shape(packed, shape)
    whole = tuple(elements.shape if shape is None else shape)
    where, block = block_axis(len(whole), axis, block_size, "elements")
    if _known((*whole, *elements.shape, *scales.shape)):
        if packed:
            check_packed(elements, held[0], whole, "elements", "source")
        wanted = scale_shape(whole, where, block)
        check_scale_shape(scales.dtype, tuple(scales.shape), held[1], wanted, where if swizzled else None)
    return elements.new_empty(whole, dtype=storage_dtype(output_format(output_dtype), torch))


def _mx_dequantize(
    elements: Any, scales: Any, *, source: Any = None, axis: int = -1, block_size: int = 32,
    output_dtype: str = "float32", packed: bool = False, shape: Any = None,
) -> Any:  # fmt: skip
    held = held_elements(elements.dtype, source, packed), FLOAT8_E8M0FNU
    return _values(elements, scales, held, axis, block_size, output_dtype, packed, shape)


def _nvfp4_dequantize(
    elements: Any, scales: Any, global_scale: Any, *, axis: int = -1, block_size: int = 16,
    output_dtype: str = "float32", packed: bool = False, shape: Any = None, swizzled: bool = False,
) -> Any:  # fmt: skip
    if not packed:
        format_of(elements.dtype, FLOAT4_E2M1FN, ("elements", "elements"))
    _check_factor(global_scale)
    held = FLOAT4_E2M1FN, FLOAT8_E4M3FN
    return _values(elements, scales, held, axis, block_size, output_dtype, packed, shape, swizzled)


FAKES: dict[str, Callable[..., Any]] = {
    "cast": _cast, "bitcast": _bitcast, "encode": _encode, "decode": _decode, "quantize_linear": _quantize_linear,
    "dequantize_linear": _dequantize_linear, "dynamic_quantize_linear": _dynamic_quantize_linear, "number": _number,
    "absmax_scale": _absmax_scale, "minmax_scale": _minmax_scale, "mx_quantize": _mx_quantize,
    "mx_dequantize": _mx_dequantize, "nvfp4_quantize": _nvfp4_quantize, "nvfp4_dequantize": _nvfp4_dequantize,
}  # fmt: skip
"""The fake kernel of each operator."""
