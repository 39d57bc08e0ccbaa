"""The conversions as operators of torch, `torch.ops.lowprec`, for calls that torch's dispatcher must see.

Importing this module registers them: lowprec imports it at the first call that needs one, and a program that was saved
needs it before it is loaded. An operator is the public function of its name, called once the tensors have memory; a
fake kernel, which makes an empty tensor of the shape, the dtype and the strides of the result; and a rule for
`torch.vmap`: the batch becomes the first axis; scales and packed rows go with it. Autograd passes it by: results are
detached. The public functions call those of this module of their names where torch traces or transforms them, with
names for formats and tensors for numbers; `torch.compile` traces through those.

The operators are defined in a `torch.library.Library`: the results of a `torch.library.custom_op` require gradients
where an argument does, and raise in the backward pass.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from .arrays.libraries import check_takes_text, namespace
from .arrays.storage_dtypes import format_of, storage_dtype
from .arrays.torch_tensors import EAGER, check_tensor, transformed
from .backends.jobs import BlockJob
from .backends.scales_for_kernels import number_format, number_operand, plain_operand
from .plans import quantize_plan
from .plans.block_plan import (
    BlockOptions,
    block_axis,
    check_global_scale,
    check_scale_shape,
    check_tuple,
    held_elements,
    mx_options,
    nvfp4_options,
    output_format,
    scale_shape,
)
from .plans.cast_plan import CAST, DECODE, ENCODE, TEXT, CastOptions, resolve, resolve_bits, resolve_unpacked
from .plans.plan import Method, Plan
from .plans.quantize_plan import QuantizeOptions, absmax_formats, granularity_at, minmax_format, resolve_quantize
from .plans.scale_shapes import scale_groups
from .spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, FLOAT32, Format, as_format, is_named
from .spec.operator_versions import DEQUANTIZE, NEWEST, QUANTIZE, Caller, cast_rules, version_of
from .spec.packing import check_packable, check_packed, group, packed_bytes
from .spec.rounding_modes import (
    DEFAULT_RANDOM_BITS,
    FIRST,
    MOST_RANDOM_BITS,
    PARAMETERS,
    STOCHASTIC,
    RoundingOptions,
    rounding_arguments,
)
from .spec.scalar_arguments import as_flag, shown

__all__ = ["LIBRARY"]

torch: Any = import_module("torch")


def _empty(x: Any, plan: Plan, codes: bool = False, packed: bool = False, shape: Any = None) -> Any:
    if plan.method is Method.TEXT:
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


def _fake_cast(x: Any, to: str, *, source: Any = None, **options: Any) -> Any:
    return _empty(x, resolve(x, source, to, CAST, _cast_options(options)))


def _fake_bitcast(x: Any, to: str, *, source: Any = None, opset: int = NEWEST) -> Any:
    _, target = resolve_bits(x.dtype, source, to, opset)
    return torch.empty_like(x, dtype=storage_dtype(target, torch))


def _fake_encode(x: Any, fmt: str, *, source: Any = None, packed: bool = False, **options: Any) -> Any:
    plan = resolve(x, source, fmt, ENCODE, _cast_options(options))
    if packed:
        check_packable(plan.target, "source" if source == fmt else "to")  # of `pack`, or of `encode`
    return _empty(x, plan, codes=True, packed=packed)


def _fake_decode(codes: Any, fmt: str, *, to: str = "float32", packed: bool = False, shape: Any = None) -> Any:
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


def _fake_quantize_linear(x: Any, *operands: Any, **options: Any) -> Any:
    return _empty(x, linear_plan(QUANTIZE, (x, *operands), **options), packed=options.get("packed", False))


def _fake_dequantize_linear(x: Any, *operands: Any, shape: Any = None, **options: Any) -> Any:
    _check_shape(options.get("packed", False), shape)
    return _empty(x, linear_plan(DEQUANTIZE, (x, *operands), shape, **options), shape=shape)


def _fake_dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> tuple[Any, Any, Any]:
    codes = x.new_empty(x.shape, dtype=torch.uint8)
    return codes, x.new_empty((), dtype=torch.float32), x.new_empty((), dtype=torch.uint8)


def _fake_number(x: Any, value: Any, fmt: str, *, parameter: str = "scale") -> Any:
    return x.new_empty((), dtype=storage_dtype(fmt, torch))


def _fake_scales(x: Any, formats: Iterable[Format], axis: Any, block_size: Any) -> tuple[Any, ...]:
    format_of(x.dtype)
    sharing = public_options({"axis": axis, "block_size": block_size})
    shape = scale_groups(x.ndim, **sharing).shape_of(tuple(x.shape))
    return tuple(x.new_empty(shape, dtype=storage_dtype(fmt, torch)) for fmt in formats)


def _fake_absmax_scale(
    x: Any, to: str, *, axis: Any = None, block_size: Any = 0, scale_format: str = "float32", scale_rule: Any = None
) -> Any:
    return _fake_scales(x, absmax_formats(to, scale_format, scale_rule)[1:], axis, block_size)[0]


def _fake_minmax_scale(x: Any, to: str, *, axis: Any = None, block_size: Any = 0) -> tuple[Any, Any]:
    scale, zero = _fake_scales(x, (FLOAT32, minmax_format(to)), axis, block_size)
    return scale, zero


@cache
def _defaults(name: str) -> dict[str, Any]:
    """Return the options of an operator, for a fake kernel is called with those alone that the caller gives."""
    arguments = getattr(torch.ops.lowprec, name).default._schema.arguments
    return {one.name: one.default_value for one in arguments if one.kwarg_only}


def _fake_mx_quantize(x: Any, element: str = FLOAT4_E2M1FN.name, **options: Any) -> tuple[Any, ...]:
    return _blocks(x, mx_options(x.dtype, x.ndim, element, **_defaults("mx_quantize") | options | _numbers(options)))


def _fake_nvfp4_quantize(x: Any, global_scale: Any = None, **options: Any) -> tuple[Any, ...]:
    if global_scale is not None:
        _check_factor(global_scale)
    return _blocks(x, nvfp4_options(x.dtype, x.ndim, **_defaults("nvfp4_quantize") | options | _numbers(options)))


def _blocks(x: Any, checked: BlockOptions) -> tuple[Any, ...]:
    return tuple(x.new_empty(shape, dtype=dtype) for shape, dtype in BlockJob(x, **checked._asdict()).results)


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


def _fake_mx_dequantize(
    elements: Any, scales: Any, *, source: Any = None, axis: int = -1, block_size: int = 32,
    output_dtype: str = "float32", packed: bool = False, shape: Any = None,
) -> Any:  # fmt: skip
    held = held_elements(elements.dtype, source, packed), FLOAT8_E8M0FNU
    return _values(elements, scales, held, axis, block_size, output_dtype, packed, shape)


def _fake_nvfp4_dequantize(
    elements: Any, scales: Any, global_scale: Any, *, axis: int = -1, block_size: int = 16,
    output_dtype: str = "float32", packed: bool = False, shape: Any = None, swizzled: bool = False,
) -> Any:  # fmt: skip
    if not packed:
        format_of(elements.dtype, FLOAT4_E2M1FN, ("elements", "elements"))
    _check_factor(global_scale)
    held = FLOAT4_E2M1FN, FLOAT8_E4M3FN
    return _values(elements, scales, held, axis, block_size, output_dtype, packed, shape, swizzled)


FAKES: dict[str, Callable[..., Any]] = {
    "cast": _fake_cast,
    "bitcast": _fake_bitcast,
    "encode": _fake_encode,
    "decode": _fake_decode,
    "quantize_linear": _fake_quantize_linear,
    "dequantize_linear": _fake_dequantize_linear,
    "dynamic_quantize_linear": _fake_dynamic_quantize_linear,
    "number": _fake_number,
    "absmax_scale": _fake_absmax_scale,
    "minmax_scale": _fake_minmax_scale,
    "mx_quantize": _fake_mx_quantize,
    "mx_dequantize": _fake_mx_dequantize,
    "nvfp4_quantize": _fake_nvfp4_quantize,
    "nvfp4_dequantize": _fake_nvfp4_dequantize,
}
"""The fake kernel of each operator."""


_Dims = tuple[int | None, ...]
_ONNX = {"quantize_linear": QUANTIZE, "dequantize_linear": DEQUANTIZE}


def _first(x: Any, dim: int | None, size: Any) -> Any:
    """Return a tensor with the batch as its first axis, repeated without memory where it has none."""
    return x.unsqueeze(0).expand(size, *x.shape) if dim is None else x.movedim(dim, 0)


def _one_by_one(name: str, size: int, dims: _Dims, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call an operator on each element of the batch, where no single call does the same."""
    operator = getattr(torch.ops.lowprec, name)
    rows = [
        operator(*(x if dim is None else x.select(dim, row) for x, dim in zip(operands, dims, strict=True)), **options)
        for row in range(size)
    ]
    if isinstance(rows[0], torch.Tensor):
        return torch.stack(rows), 0
    return tuple(torch.stack(column) for column in zip(*rows, strict=True)), (0,) * len(rows[0])


# ---- packed codes: every element of the batch ends on a whole byte, so it is filled up with codes that are cut off


def _padded(rows: Any, multiple: int) -> Any:
    return torch.nn.functional.pad(rows, (0, -rows.shape[1] % multiple))


def _packed_rows(codes: Any, fmt: Format) -> Any:
    """Pack what each element of the batch holds."""
    size, n = codes.shape[0], math.prod(codes.shape[1:])
    rows = _padded(codes.reshape(size, n), group(fmt)[0])
    packed = torch.ops.lowprec.encode(rows, fmt.name, source=fmt.name, packed=True)
    return packed.reshape(size, packed_bytes(rows.shape[1], fmt))[:, : packed_bytes(n, fmt)]


def _unpacked_rows(packed: Any, fmt: Format, to: str, shape: tuple[Any, ...]) -> Any:
    """Unpack each row of bytes to an element of the batch, of that shape."""
    size, n = packed.shape[0], math.prod(shape)
    if packed.ndim != 2 or packed.shape[1] != packed_bytes(n, fmt):
        raise ValueError(
            f"packed codes must be 1-D uint8 of {packed_bytes(n, fmt)} bytes for shape {tuple(shape)} in {fmt.name}; "
            f"got shape {tuple(packed.shape[1:])}"
        )
    rows = _padded(packed, group(fmt)[1])
    padded = size, rows.shape[1] * 8 // fmt.bits
    values = torch.ops.lowprec.decode(rows.reshape(-1), fmt.name, to=to, packed=True, shape=padded)
    return values[:, :n].reshape(size, *shape)


# ---- the rules: (information, batch dimensions, the arguments) -> the result, its batch dimension


def _row_by_row(name: str, info: Any, dims: _Dims, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call an operator on each element of the batch where it draws random numbers, else return None.

    What is within a batch counts its elements by itself: every element of the batch draws the same numbers.
    """
    return None if options.get("seed") is None else _one_by_one(name, info.batch_size, dims, operands, options)


def _batched_cast(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    if (rows := _row_by_row("cast", info, dims, (x, to), options)) is not None:
        return rows
    return torch.ops.lowprec.cast(x, to, **options), dims[0]


def _batched_bitcast(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    return torch.ops.lowprec.bitcast(x, to, **options), dims[0]


def _batched_encode(info: Any, dims: _Dims, x: Any, fmt: str, *, packed: bool = False, **options: Any) -> Any:
    if (rows := _row_by_row("encode", info, dims, (x, fmt), options | {"packed": packed})) is not None:
        return rows
    codes = torch.ops.lowprec.encode(x, fmt, **options)
    return (_packed_rows(codes.movedim(dims[0], 0), as_format(fmt)), 0) if packed else (codes, dims[0])


def _batched_decode(
    info: Any, dims: _Dims, codes: Any, fmt: str, *, to: str = "float32", packed: bool = False, shape: Any = None
) -> Any:
    if not packed or shape is None:
        return torch.ops.lowprec.decode(codes, fmt, to=to, packed=packed, shape=shape), dims[0]
    return _unpacked_rows(codes.movedim(dims[0], 0), as_format(fmt), to, shape), 0


def _shape(operand: Any, dim: int | None) -> tuple[Any, ...]:
    """Return the shape that an operand has within the batch."""
    if operand is None:
        return ()
    shape = tuple(operand.shape)
    return shape if dim is None else (*shape[:dim], *shape[dim + 1 :])


def _linear(name: str, size: Any, dims: _Dims, operands: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call an operator on an unpacked array, a scale and a zero point; the batch is the first axis of the result."""
    operator, opset = getattr(torch.ops.lowprec, name), options.get("opset", NEWEST)
    version, dims = version_of(opset, _ONNX[name]), (*dims[:3], None, None)[:3]
    each = any(dim is not None for dim in dims[1:])  # element of the batch has scales of its own
    if each and version < 21:  # too old for the scales that are put below
        return _one_by_one(name, size, dims, operands, options)[0]
    options = public_options(options)
    axis, block_size = options.pop("axis", 1), options.pop("block_size", 0)
    shape, scale, zero = map(_shape, operands, dims)
    chosen = QuantizeOptions(axis, block_size, opset=opset)
    spread, tiles = granularity_at(_ONNX[name], shape, scale, None if operands[2] is None else zero, chosen)
    x, params = _first(operands[0], dims[0], size), [a for a in operands[1:] if a is not None]
    if axis == ():  # the scale has the rank of `x`
        pairs = zip(params, dims[1:], strict=False)
        params = [_first(a, dim, size) if each else a.unsqueeze(0) for a, dim in pairs]
        return operator(x, *params, axis=(), **options)
    if each or block_size:
        params = [_first(a, dim, size) for a, dim in zip(params, dims[1:], strict=False)]
    if spread.axis is None:
        params = [a.reshape((size,) if each else ()) for a in params]
        return operator(x, *params, **({"axis": 0} if each else {}), **options)
    if block_size:
        axes = spread.axis + 1 if tiles is None else [number % len(shape) + 1 for number in axis]
        return operator(x, *params, axis=axes, block_size=block_size, **options)
    if not each:
        return operator(x, *params, axis=spread.axis + 1, **options)
    rows = x.movedim(spread.axis + 1, 1)  # a scale for each pair of batch and axis, which become one axis
    result = operator(rows.flatten(0, 1), *(a.flatten() for a in params), axis=0, **options)
    return result.unflatten(0, rows.shape[:2]).movedim(1, spread.axis + 1)


def _batched_quantize_linear(
    info: Any, dims: _Dims, x: Any, scale: Any, zero_point: Any = None, *, packed: bool = False, **options: Any
) -> Any:
    operands = (x, scale, zero_point)[: len(dims)]
    if (rows := _row_by_row("quantize_linear", info, dims, operands, options | {"packed": packed})) is not None:
        return rows
    formats = {name: value for name, value in options.items() if name not in ("axis", "block_size")}
    codes = _linear("quantize_linear", info.batch_size, dims, (x, scale, zero_point), options)
    if packed:
        scale, zero = scale.new_empty(()), None if zero_point is None else zero_point.new_empty(())
        codes = _packed_rows(codes, linear_plan(QUANTIZE, (x, scale, zero), packed=True, **formats).target)
    return codes, 0


def _batched_dequantize_linear(
    info: Any,
    dims: _Dims,
    x: Any,
    scale: Any,
    zero_point: Any = None,
    *,
    source: str | None = None,
    packed: bool = False,
    shape: Any = None,
    **options: Any,
) -> Any:
    if packed and source is not None and shape is not None:
        fmt = as_format(source, parameter="source")
        rows = _first(x, dims[0], info.batch_size)
        x, dims = _unpacked_rows(rows, fmt, source, shape), (0, *dims[1:])
        packed, shape = False, None
    options |= {"source": source, "packed": packed, "shape": shape}
    return _linear("dequantize_linear", info.batch_size, dims, (x, scale, zero_point), options), 0


def _batched_dynamic_quantize_linear(info: Any, dims: _Dims, x: Any, **options: Any) -> Any:
    return _one_by_one("dynamic_quantize_linear", info.batch_size, dims, (x,), options)


# ---- scales and blocks: axes count from the batch on


def _batched_scales(
    name: str, dims: _Dims, x: Any, to: str, axis: Any = None, block_size: Any = 0, **options: Any
) -> tuple[Any, ...]:
    """Return the results of `absmax_scale` or `minmax_scale`; the batch is their first axis."""
    operator, x = getattr(torch.ops.lowprec, name), x.movedim(dims[0], 0)
    sharing = public_options({"axis": axis, "block_size": block_size})
    groups = scale_groups(x.ndim - 1, **sharing)
    axes = [number + 1 for number in groups.axes]
    if groups.blocks:
        found = operator(x, to, axis=axes, block_size=groups.blocks, **options)
    elif not axes:
        found = operator(x, to, axis=[0], **options)
    else:
        rows = x.movedim(axes[0], 1)  # a scale for each pair of batch and axis, which become one axis
        found = operator(rows.flatten(0, 1), to, axis=[0], **options)
        one_by_one = found if isinstance(found, tuple) else (found,)
        return tuple(one.unflatten(0, rows.shape[:2]) for one in one_by_one)
    return found if isinstance(found, tuple) else (found,)


def _batched_absmax_scale(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    return _batched_scales("absmax_scale", dims, x, to, **options)[0], 0


def _batched_minmax_scale(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    return _batched_scales("minmax_scale", dims, x, to, **options), (0, 0)


def _quantized_blocks(
    name: str, x: Any, operands: tuple[Any, ...], element: Format, axis: int, block_size: int, packed: bool,
    options: dict[str, Any],
) -> tuple[Any, ...]:  # fmt: skip
    """Quantize the blocks of all elements of the batch, the first axis of `x`, in one call."""
    where, block = block_axis(x.ndim - 1, axis, block_size)
    if packed:
        check_packable(element, "to")
    elements, *others = getattr(torch.ops.lowprec, name)(x, *operands, axis=where + 1, block_size=block, **options)
    return (_packed_rows(elements, element) if packed else elements, *others)


def _batched_mx_quantize(
    info: Any, dims: _Dims, x: Any, element: str = FLOAT4_E2M1FN.name, *, axis: int = -1, block_size: int = 32,
    swizzled: bool = False, packed: bool = False, **options: Any,
) -> Any:  # fmt: skip
    if swizzled or options.get("seed") is not None:
        options |= {"axis": axis, "block_size": block_size, "swizzled": swizzled, "packed": packed}
        return _one_by_one("mx_quantize", info.batch_size, dims, (x, element)[: len(dims)], options)
    x = x.movedim(dims[0], 0)
    fmt = as_format(element)
    return _quantized_blocks("mx_quantize", x, (element,), fmt, axis, block_size, packed, options), (0, 0)


def _batched_nvfp4_quantize(
    info: Any, dims: _Dims, x: Any, global_scale: Any = None, *, axis: int = -1, block_size: int = 16,
    swizzled: bool = False, packed: bool = False, **options: Any,
) -> Any:  # fmt: skip
    each = global_scale is None or dims[1] is not None  # element of the batch has a global scale of its own
    if each or swizzled or options.get("seed") is not None:
        options |= {"axis": axis, "block_size": block_size, "swizzled": swizzled, "packed": packed}
        return _one_by_one("nvfp4_quantize", info.batch_size, dims, (x, global_scale)[: len(dims)], options)
    x, fmt = x.movedim(dims[0], 0), FLOAT4_E2M1FN
    found = _quantized_blocks("nvfp4_quantize", x, (global_scale,), fmt, axis, block_size, packed, options)
    return found, (0, 0, None)


def _values_of_blocks(
    name: str, info: Any, dims: _Dims, operands: tuple[Any, ...], formats: tuple[str | None, Format], *, axis: int,
    block_size: int, packed: bool, shape: Any, options: dict[str, Any],
) -> Any:  # fmt: skip
    """Dequantize the blocks of all elements of the batch in one call."""
    size, (source, scale_format) = info.batch_size, formats
    elements, scales = _first(operands[0], dims[0], size), _first(operands[1], dims[1], size)
    if packed and source is not None and shape is not None:
        elements = _unpacked_rows(elements, as_format(source, parameter="source"), source, shape)
        packed, shape = False, None
    if not packed and shape is None:
        whole = tuple(elements.shape[1:])
        where, block = block_axis(len(whole), axis, block_size, "elements")
        check_scale_shape(scales.dtype, tuple(scales.shape[1:]), scale_format, scale_shape(whole, where, block))
        options |= {"axis": where + 1, "block_size": block}
    return getattr(torch.ops.lowprec, name)(elements, scales, *operands[2:], packed=packed, shape=shape, **options), 0


def _batched_mx_dequantize(
    info: Any, dims: _Dims, elements: Any, scales: Any, *, source: str | None = None, axis: int = -1,
    block_size: int = 32, packed: bool = False, shape: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _values_of_blocks(
        "mx_dequantize", info, dims, (elements, scales), (source, FLOAT8_E8M0FNU), axis=axis, block_size=block_size,
        packed=packed, shape=shape, options=options | {"source": source},
    )  # fmt: skip


def _batched_nvfp4_dequantize(
    info: Any, dims: _Dims, elements: Any, scales: Any, global_scale: Any, *, axis: int = -1, block_size: int = 16,
    packed: bool = False, shape: Any = None, swizzled: bool = False, **options: Any,
) -> Any:  # fmt: skip
    operands = elements, scales, global_scale
    if swizzled or dims[2] is not None:
        options |= {"axis": axis, "block_size": block_size, "packed": packed, "shape": shape, "swizzled": swizzled}
        return _one_by_one("nvfp4_dequantize", info.batch_size, dims, operands, options)
    return _values_of_blocks(
        "nvfp4_dequantize", info, dims, operands, (FLOAT4_E2M1FN.name, FLOAT8_E4M3FN), axis=axis,
        block_size=block_size, packed=packed, shape=shape, options=options,
    )  # fmt: skip


def _batched_number(info: Any, dims: _Dims, x: Any, value: Any, fmt: str, **options: Any) -> Any:
    return torch.ops.lowprec.number(x, value, fmt, **options), None


RULES: dict[str, Callable[..., Any]] = {
    "cast": _batched_cast,
    "bitcast": _batched_bitcast,
    "encode": _batched_encode,
    "decode": _batched_decode,
    "quantize_linear": _batched_quantize_linear,
    "dequantize_linear": _batched_dequantize_linear,
    "dynamic_quantize_linear": _batched_dynamic_quantize_linear,
    "absmax_scale": _batched_absmax_scale,
    "minmax_scale": _batched_minmax_scale,
    "mx_quantize": _batched_mx_quantize,
    "mx_dequantize": _batched_mx_dequantize,
    "nvfp4_quantize": _batched_nvfp4_quantize,
    "nvfp4_dequantize": _batched_nvfp4_dequantize,
    "number": _batched_number,
}
"""The batch rule of each operator."""


LIBRARY: Any = torch.library.Library("lowprec", "DEF")
"""The operators; torch forgets them when it is deleted."""

_CAST = f"str? source=None, bool saturate=True, str? round_mode=None, int opset={NEWEST}"
_RANDOM = f"SymInt? seed=None, SymInt random_bits={DEFAULT_RANDOM_BITS}, SymInt offset=0"
"""Seeds from 2**63 up are negative: see `SEEDS`."""
_ROUNDING = f"str? rounding=None, str? overflow=None, str? nan=None, {_RANDOM}"
_LINEAR = (
    "(Tensor x, Tensor scale, Tensor? zero_point=None, *, str? source=None, str? scale_format=None, int[1] axis=1, "
    f"int[1] block_size=0, str? output_dtype=None, int opset={NEWEST}, bool packed=False"
)
_BLOCKS = f"str rounding='nearest_even', {_RANDOM}, str specials='nan', bool swizzled=False, bool packed=False"
_VALUES = "str output_dtype='float32', bool packed=False, SymInt[]? shape=None"
_SCHEMAS = {
    "cast": f"(Tensor x, str to, *, {_CAST}, {_ROUNDING}) -> Tensor",
    "bitcast": f"(Tensor x, str to, *, str? source=None, int opset={NEWEST}) -> Tensor",
    "encode": f"(Tensor x, str fmt, *, {_CAST}, bool packed=False, {_ROUNDING}) -> Tensor",
    "decode": "(Tensor codes, str fmt, *, str to='float32', bool packed=False, SymInt[]? shape=None) -> Tensor",
    "quantize_linear": f"{_LINEAR}, str? precision=None, bool saturate=True, {_ROUNDING}, "
    "bool float64_x=False) -> Tensor",
    "dequantize_linear": f"{_LINEAR}, SymInt[]? shape=None) -> Tensor",
    "dynamic_quantize_linear": f"(Tensor x, *, int opset={NEWEST}) -> (Tensor, Tensor, Tensor)",
    "absmax_scale": "(Tensor x, str to, *, int[1]? axis=None, int[1] block_size=0, str scale_format='float32', "
    "str? scale_rule=None) -> Tensor",
    "minmax_scale": "(Tensor x, str to, *, int[1]? axis=None, int[1] block_size=0) -> (Tensor, Tensor)",
    "mx_quantize": f"(Tensor x, str element='{FLOAT4_E2M1FN.name}', *, int axis=-1, int block_size=32, "
    f"str scale_rule='floor', {_BLOCKS}) -> (Tensor, Tensor)",
    "mx_dequantize": "(Tensor elements, Tensor scales, *, str? source=None, int axis=-1, int block_size=32, "
    f"{_VALUES}) -> Tensor",
    "nvfp4_quantize": "(Tensor x, Tensor? global_scale=None, *, int axis=-1, int block_size=16, "
    f"str? scale_rule=None, {_BLOCKS}) -> (Tensor, Tensor, Tensor)",
    "nvfp4_dequantize": "(Tensor elements, Tensor scales, Tensor global_scale, *, int axis=-1, int block_size=16, "
    f"{_VALUES}, bool swizzled=False) -> Tensor",
    "number": "(Tensor x, Scalar value, str fmt, *, str parameter='scale') -> Tensor",
}


# ---- kernels


def _kernel(name: str) -> Callable[..., Any]:
    """Return a public function as a kernel: its result has the strides that the fake kernel promises."""

    def kernel(x: Any, *operands: Any, **options: Any) -> Any:
        check_tensor(x)
        options = public_options(options)
        if not x.is_contiguous():
            options["out"] = FAKES[name](x, *operands, **options)
        return EAGER[name](x, *operands, **options)

    return kernel


def _kernel_of_dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> Any:
    check_tensor(x)
    return EAGER["dynamic_quantize_linear"](x.contiguous(), opset=opset)


def _kernel_of_bitcast(x: Any, to: str, **options: Any) -> Any:
    check_tensor(x)
    result = FAKES["bitcast"](x, to, **options)
    return result.copy_(EAGER["bitcast"](x, to, **options))  # the public function returns a view


def _kernel_of_number(x: Any, value: Any, fmt: str, *, parameter: str = "scale") -> Any:
    """Return the tensor of a number that is an operand, in the storage dtype and on the device for `x`."""
    return number_operand(value, x, fmt, parameter)


def _dense_kernel(name: str) -> Callable[..., Any]:
    """Return a public function as a kernel: its results are dense."""

    def kernel(x: Any, *operands: Any, **options: Any) -> Any:
        check_tensor(x)
        found = EAGER[name](x.contiguous(), *operands, **public_options(options))
        return tuple(one.contiguous() for one in found) if isinstance(found, tuple) else found.contiguous()

    return kernel


def _kernel_of_nvfp4_quantize(x: Any, global_scale: Any = None, **options: Any) -> Any:
    given = None if global_scale is None else global_scale.clone()  # a result of an operator shares no memory
    return _dense_kernel("nvfp4_quantize")(x, global_scale=given, **options)


_DENSE = "absmax_scale", "minmax_scale", "mx_quantize", "mx_dequantize", "nvfp4_dequantize"
_OWN_KERNELS: dict[str, Callable[..., Any]] = {
    "bitcast": _kernel_of_bitcast,
    "dynamic_quantize_linear": _kernel_of_dynamic_quantize_linear,
    "number": _kernel_of_number,
    "nvfp4_quantize": _kernel_of_nvfp4_quantize,
    **{name: _dense_kernel(name) for name in _DENSE},
}


def _register(name: str) -> None:
    LIBRARY.define(name + _SCHEMAS[name], tags=(torch.Tag.pt2_compliant_tag,))
    LIBRARY.impl(name, _OWN_KERNELS.get(name) or _kernel(name), "CompositeExplicitAutograd")
    LIBRARY.impl(name, torch.library.fallthrough_kernel, "Autograd")
    torch.library.register_fake(f"lowprec::{name}", FAKES[name], lib=LIBRARY)
    torch.library.register_vmap(f"lowprec::{name}", RULES[name], lib=LIBRARY)


for _operator in _SCHEMAS:
    _register(_operator)


EAGER["register_pytrees"]()  # for programs that return what `quantize` does


constant = torch.compiler.assume_constant_result
"""What torch.compile calls once while it compiles: checks of what is no tensor."""


def fixed(value: Any) -> Any:
    """Return an argument, an integer itself where torch might have a symbol for it: a graph is for this one alone."""
    if isinstance(value, (tuple, list)):
        return tuple([fixed(one) for one in value])
    if torch.compiler.is_dynamo_compiling():
        return operator.index(value) if isinstance(value, int) and not isinstance(value, (bool, Enum)) else value
    return int(value) if isinstance(value, torch.SymInt) else value


@constant  # type: ignore[untyped-decorator]
def _constant_name(fmt: object, parameter: str) -> str:
    return named(as_format(fmt, parameter=parameter), parameter)


def name_of(fmt: object, parameter: str) -> Any:
    """Return the name of a format that a caller may name in any way."""
    return _constant_name(fixed(fmt), parameter)


def named(row: Format, parameter: str) -> str:
    """Return the name by which an operator finds a format again, or raise ValueError."""
    if not is_named(row):
        wanted = "a row of lowprec.formats, a format of IEEE P3109 or a registered one"
        raise ValueError(f"`{parameter}` must be {wanted} where torch traces; got {shown(row)}")
    return row.name


def optional_name(fmt: object, parameter: str) -> Any:
    """Return the name of a format, None where none is named."""
    is_integer = isinstance(fmt, int) and not isinstance(fmt, (bool, Enum))
    undefined = parameter in ("output_dtype", "precision") and is_integer and fmt == 0  # ONNX's "not given"
    return None if fmt is None or undefined else name_of(fmt, parameter)


SYMBOLS: dict[str, tuple[int, int, str, int]] = {
    "seed": (0, SEEDS, "2**64 - 1", 0),
    "random_bits": (1, MOST_RANDOM_BITS + 1, str(MOST_RANDOM_BITS), DEFAULT_RANDOM_BITS),
    "offset": (0, 1 << 63, "2**63 - 1", FIRST),
}
"""Options that may be symbols while torch compiles: their range, and what stands for them in checks of the others."""


def stand_ins(options: dict[str, Any]) -> dict[str, Any]:
    """Return what is checked for the random numbers of a call: they themselves where they are no symbols.

    Without a stochastic rounding they are an error unless they are the defaults, and need no code that is general.
    """
    if not torch.compiler.is_dynamo_compiling():
        return {name: options[name] for name in SYMBOLS}
    found = {}
    for name, (first, end, last, other) in SYMBOLS.items():
        value = options[name]
        if type(value) is int:
            if not first <= value < end:
                raise ValueError(f"`{name}` must be an integer from {first} to {last}; got {fixed(value)}")
            value = other if name == "seed" or options["rounding"] in STOCHASTIC else fixed(value)
        found[name] = value
    return found


def to_torch_integers(options: dict[str, Any]) -> None:
    """Put the upper half of the seeds where the integers of torch are negative."""
    seed = options["seed"]
    if not torch.compiler.is_dynamo_compiling():
        seed = None if seed is None else int(seed)
        options |= {"offset": int(options["offset"]), "random_bits": int(options["random_bits"])}
    if seed is not None:
        options["seed"] = seed - SEEDS if seed >= SEEDS // 2 else seed


@constant  # type: ignore[untyped-decorator]
def _check_rules(*rules: Any) -> Any:
    return rounding_arguments(*rules)[0]


def to_torch_rules(options: dict[str, Any]) -> None:
    """Check the rules beyond ONNX, where there are some, and make their numbers those of torch."""
    if "rounding" not in options:
        return
    checked = options | stand_ins(options)
    _check_rules(*[checked[name] for name in PARAMETERS])
    to_torch_integers(options)


@constant  # type: ignore[untyped-decorator]
def _plan_quantize(*arguments: Any) -> tuple[Any, ...]:
    EAGER["register_pytrees"]()  # where torch.compile reads no code
    to, *others = quantize_plan.plan_quantize(*arguments)
    return to if isinstance(to, str) else named(to, "to"), *others


def plan_quantize(dtype: Any, rank: int, *arguments: Any) -> Any:
    """Return what the arguments of `lowprec.quantize` fix."""
    return _plan_quantize(dtype, rank, *fixed(arguments))


@constant  # type: ignore[untyped-decorator]
def _values_format(to: object) -> str:
    return quantize_plan.check_values_format(to)


def check_values_format(to: object) -> Any:
    """Return the name of the format of dequantized values."""
    return _values_format(fixed(to))


# ---- results


def _delivered(result: Any, out: Any) -> Any:
    """Return a result, in `out` where there is one."""
    if out is None:
        return result
    if not isinstance(out, torch.Tensor):
        raise TypeError(f"`out` must be a torch tensor, as `x` is; got {type(out).__name__}")
    if not transformed() and out._is_zerotensor():
        check_tensor(out, "out")
    same = torch.jit.is_tracing() or out.shape == result.shape  # torch.jit traces comparisons of lengths as well
    if not same or out.dtype != result.dtype:
        wanted = f"shape {tuple(result.shape)} and dtype {result.dtype}"
        raise ValueError(f"`out` must have {wanted}; got {tuple(out.shape)}, {out.dtype}")
    if out.requires_grad:
        raise ValueError("`out` must not require gradients; got requires_grad=True")
    out.copy_(result)
    return out


# ---- conversions


def cast(x: Any, to: object, *, source: object = None, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.cast`."""
    return _cast(x, name_of(to, "to"), source, out, options)


def _cast(x: Any, to: str, source: object, out: Any, options: dict[str, Any]) -> Any:
    to_torch_rules(options)
    held = optional_name(source, "source")
    return _delivered(torch.ops.lowprec.cast.default(x, to, source=held, **options), out)


@constant  # type: ignore[untyped-decorator]
def _check_like(dtype: Any, like: Any, source: object, options: tuple[Any, ...], rules: tuple[Any, ...]) -> str:
    target = format_of(like, names=("like", "like"), kinds=TEXT)
    caller = Caller("source", "like", "CastLike", TEXT)
    beyond = RoundingOptions(*rules) if any(rule is not None for rule in rules[:3]) else None
    saturate, round_mode, opset = options
    cast_rules(format_of(dtype, source), target, saturate, round_mode, opset, caller, beyond)
    return named(target, "like")


def cast_like(x: Any, like: Any, *, source: object = None, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.cast_like`."""
    attributes = tuple(fixed(options[name]) for name in ("saturate", "round_mode", "opset"))
    rules = tuple(options[name] for name in ("rounding", "overflow", "nan") if name in options)
    to = _check_like(x.dtype, like.dtype, fixed(source), attributes, rules)
    return _cast(x, to, source, out, options)


def encode(
    x: Any, fmt: object, *, source: object = None, out: Any = None, parameter: Any = "to", **options: Any
) -> Any:
    """Call the operator for `lowprec.encode` and `lowprec.pack`."""
    to_torch_rules(options)
    named = optional_name(source, "source")
    return _delivered(torch.ops.lowprec.encode.default(x, name_of(fmt, parameter), source=named, **options), out)


def _lengths(shape: Any) -> Any:
    """Return the lengths of a shape; torch.jit, which has tensors for them, warns that they are taken as constants."""
    lengths = [shape] if isinstance(shape, int) else shape
    return [int(length) for length in lengths] if lengths is not None and torch.jit.is_tracing() else lengths


def decode(codes: Any, fmt: object, *, to: object, packed: bool = False, shape: Any = None, out: Any = None) -> Any:
    """Call the operator for `lowprec.decode` and `lowprec.unpack`."""
    options = {"to": name_of(to, "to"), "packed": as_flag(packed, "packed"), "shape": _lengths(shape)}
    return _delivered(torch.ops.lowprec.decode.default(codes, name_of(fmt, "source"), **options), out)


@constant  # type: ignore[untyped-decorator]
def _bits(dtype: Any, to: object, source: object, opset: int) -> tuple[str, Any]:
    """Return the name of the target, and the dtype under which the bits can be seen, None for less than 8 bits."""
    _, target = resolve_bits(dtype, source, to, opset)
    return named(target, "to"), storage_dtype(target, torch) if target.bits >= 8 else None


@constant  # type: ignore[untyped-decorator]
def _own(dtype: Any, fmt: object) -> tuple[str, Any]:
    """Return the name of the format of an array, and the dtype under which its bits can be seen."""
    row = format_of(dtype, fmt, ("x", "source"))
    return named(row, "source"), storage_dtype(row, torch) if row.bits >= 8 else None


def _viewed(x: Any, dtype: Any) -> Any:
    if not transformed() and x._is_zerotensor():
        x = x.clone()
    return x.detach().resolve_neg().resolve_conj().view(dtype)


def bitcast(x: Any, to: object, *, source: object = None, opset: int = NEWEST) -> Any:
    """Call the operator for `lowprec.bitcast`."""
    to, source, opset = fixed(to), fixed(source), fixed(opset)
    target, dtype = _bits(x.dtype, to, source, opset)
    if dtype is not None and not torch.jit.is_tracing():  # torch.jit has no view of another dtype
        return _viewed(x, dtype)
    return torch.ops.lowprec.bitcast.default(x, target, source=optional_name(source, "source"), opset=opset)


def to_torch(x: Any, fmt: object) -> Any:
    """Call the operator for `lowprec.to_torch`."""
    own, dtype = _own(x.dtype, fixed(fmt))
    if dtype is None:
        return torch.ops.lowprec.decode.default(x, own, to=own)
    return torch.ops.lowprec.bitcast.default(x, own) if torch.jit.is_tracing() else _viewed(x, dtype)


@constant  # type: ignore[untyped-decorator]
def _number_names(dtype: Any, source: object, scale_format: object, output_dtype: object) -> tuple[str, str, str]:
    """Return the formats of a scale and of a zero point that are numbers; the latter's where x has none, and x's."""
    zero = "uint8" if output_dtype is None else as_format(output_dtype, parameter="output_dtype").name
    return number_format(dtype, source, scale_format).name, zero, format_of(dtype, source).name


def _operand(x: Any, value: Any, fmt: str, parameter: str, operator: str | None = None, named: object = None) -> Any:
    """Return a scale or a zero point as a tensor on the device of `x`; NumPy scalars as `plain_operand` has them."""
    if isinstance(value, torch.Tensor):
        return value
    if isinstance(value, np.generic):
        kept = plain_operand(value, operator, parameter, named)
        fmt = format_of(value.dtype).name if kept is value else fmt
        value = plain_operand(value, None, parameter)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"`{parameter}` must be a torch tensor, as `x` is, or a number; got {type(value).__name__}")
    if parameter == "global_scale" and not 0 < value < math.inf:
        raise ValueError(f"`global_scale` must be a positive finite float32; got {value}")
    return torch.ops.lowprec.number.default(x, value, fmt, parameter=parameter)


def _operands(
    x: Any, scale: Any, zero_point: Any, names: tuple[str, str], operator: str, named: object
) -> tuple[Any, Any]:
    factor = _operand(x, scale, names[0], "scale", operator, named)
    if zero_point is None:
        return factor, None
    zero = _operand(x, zero_point, names[1], "zero_point", operator)
    is_array = isinstance(zero_point, torch.Tensor)
    if isinstance(zero_point, np.generic):
        is_array = plain_operand(zero_point, operator, "zero_point") is zero_point
    return factor, zero if is_array else zero.expand(factor.shape)


def _listed(options: dict[str, Any]) -> None:
    """Put axis and block size in lists, whose items torch takes for numbers where they are symbols."""
    for name in ("axis", "block_size"):
        if not isinstance(options[name], (tuple, list)):
            options[name] = [options[name]]


def quantize_linear(x: Any, scale: Any, zero_point: Any, *, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.quantize_linear`."""
    _listed(options)
    to_torch_rules(options)
    for name in ("source", "scale_format", "output_dtype", "precision"):
        options[name] = optional_name(options[name], name)
    numbers = _number_names(x.dtype, options["source"], options["scale_format"], options["output_dtype"])
    operands = _operands(x, scale, zero_point, numbers[:2], QUANTIZE, options["scale_format"])
    return _delivered(torch.ops.lowprec.quantize_linear.default(x, *operands, **options), out)


def dequantize_linear(x: Any, scale: Any, zero_point: Any, *, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.dequantize_linear`."""
    _listed(options)
    for name in ("source", "scale_format", "output_dtype"):
        options[name] = optional_name(options[name], name)
    numbers = _number_names(x.dtype, options["source"], options["scale_format"], None)
    names = numbers[0], numbers[2]
    operands = _operands(x, scale, zero_point, names, DEQUANTIZE, options["scale_format"])
    options["shape"] = _lengths(options["shape"])
    return _delivered(torch.ops.lowprec.dequantize_linear.default(x, *operands, **options), out)


def dynamic_quantize_linear(x: Any, *, opset: int = NEWEST) -> Any:
    """Call the operator for `lowprec.dynamic_quantize_linear`."""
    return torch.ops.lowprec.dynamic_quantize_linear.default(x, opset=opset)


# ---- scales, and blocks that share one


@constant  # type: ignore[untyped-decorator]
def _check_scales(dtype: Any, rank: int, axis: Any, block_size: Any, to: object, *how: Any) -> tuple[Any, ...]:
    """Check the arguments of `minmax_scale`, and of `absmax_scale` where there are more; return those of both."""
    if how:
        absmax_formats(to, *how)
    else:
        minmax_format(to)
    format_of(dtype)
    groups = scale_groups(rank, axis, block_size)
    return named(as_format(to), "to"), list(groups.axes) or None, list(groups.blocks) or [0]


def absmax_scale(x: Any, to: object, *, axis: Any, block_size: Any, scale_format: object, scale_rule: object) -> Any:
    """Call the operator for `lowprec.absmax_scale`."""
    held = name_of(scale_format, "scale_format")
    name, axes, blocks = _check_scales(x.dtype, x.ndim, *fixed((axis, block_size, to)), held, scale_rule)
    how = {"axis": axes, "block_size": blocks, "scale_format": held, "scale_rule": scale_rule}
    return torch.ops.lowprec.absmax_scale.default(x, name, **how)


def minmax_scale(x: Any, to: object, *, axis: Any, block_size: Any) -> Any:
    """Call the operator for `lowprec.minmax_scale`."""
    name, axes, blocks = _check_scales(x.dtype, x.ndim, *fixed((axis, block_size, to)))
    return torch.ops.lowprec.minmax_scale.default(x, name, axis=axes, block_size=blocks)


@constant  # type: ignore[untyped-decorator]
def _check_blocks(dtype: Any, rank: int, element: Any, names: tuple[str, ...], values: tuple[Any, ...]) -> Any:
    """Check the arguments of a block quantization, to NVFP4 where no element is named; return integers and flags."""
    options = dict(zip(names, values, strict=True))
    checked = mx_options(dtype, rank, element, **options) if element else nvfp4_options(dtype, rank, **options)
    return checked.axis, checked.block, checked.packed, checked.swizzled


def _block_options(x: Any, element: Any, options: dict[str, Any]) -> None:
    """Check the options of a block quantization, and make them those of its operator."""
    for name in options:
        if name not in SYMBOLS:
            options[name] = fixed(options[name])
    checked = options | stand_ins(options)
    found = _check_blocks(x.dtype, x.ndim, element, tuple(checked.keys()), tuple(checked.values()))
    options["axis"], options["block_size"], options["packed"], options["swizzled"] = found
    to_torch_integers(options)


def _all_delivered(results: Any, out: Any) -> Any:
    if out is None:
        return results
    targets = check_tuple(out, len(results))
    return tuple([_delivered(result, target) for result, target in zip(results, targets, strict=True)])


def mx_quantize(x: Any, element: object, *, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.mx_quantize`."""
    name = name_of(element, "to")
    _block_options(x, name, options)
    return _all_delivered(torch.ops.lowprec.mx_quantize.default(x, name, **options), out)


def nvfp4_quantize(x: Any, *, global_scale: Any = None, out: Any = None, **options: Any) -> Any:
    """Call the operator for `lowprec.nvfp4_quantize`."""
    _block_options(x, None, options)
    factor = None if global_scale is None else _operand(x, global_scale, FLOAT32.name, "global_scale")
    return _all_delivered(torch.ops.lowprec.nvfp4_quantize.default(x, factor, **options), out)


@constant  # type: ignore[untyped-decorator]
def _check_values(rank: int, axis: object, block_size: object, output_dtype: object, packed: object) -> Any:
    where, block = block_axis(rank, axis, block_size, "elements")
    return where, block, output_format(output_dtype).name, as_flag(packed, "packed")


def _value_options(elements: Any, scales: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of the operator that dequantizes blocks."""
    if not isinstance(scales, torch.Tensor):
        raise TypeError(f"`scales` must be a torch tensor, as `elements` is; got {type(scales).__name__}")
    shape = _lengths(options.pop("shape"))
    rank = elements.ndim if shape is None else len(shape)
    names = "axis", "block_size", "output_dtype", "packed"
    where, block, held, packs = _check_values(rank, *[fixed(options[name]) for name in names])
    return {"axis": where, "block_size": block, "output_dtype": held, "packed": packs, "shape": shape}


@constant  # type: ignore[untyped-decorator]
def _check_held(dtype: Any, source: object, packed: bool) -> None:
    held_elements(dtype, source, packed)


def mx_dequantize(elements: Any, scales: Any, *, source: object, **options: Any) -> Any:
    """Call the operator for `lowprec.mx_dequantize`."""
    options = _value_options(elements, scales, options)
    name = optional_name(source, "source")
    _check_held(elements.dtype, name, options["packed"])
    return torch.ops.lowprec.mx_dequantize.default(elements, scales, source=name, **options)


def nvfp4_dequantize(elements: Any, scales: Any, global_scale: Any, *, swizzled: bool, **options: Any) -> Any:
    """Call the operator for `lowprec.nvfp4_dequantize`."""
    options = _value_options(elements, scales, options)
    options["swizzled"] = as_flag(swizzled, "swizzled")
    factor = _operand(elements, global_scale, FLOAT32.name, "global_scale")
    return torch.ops.lowprec.nvfp4_dequantize.default(elements, scales, factor, **options)


# ---- what returns NumPy arrays: torch.compile breaks the graph there


def _apart(name: str, advice: str) -> Any:
    """Return a public function as torch.compile leaves it to Python: with `fullgraph=True` the reason is the error."""

    def function(*arguments: Any) -> Any:
        return EAGER[name](*arguments)

    reason = f"lowprec.{name} returns a NumPy array, which no graph of torch holds: {advice}"
    return torch.compiler.disable(function, reason=reason)


_INSTEAD = "use `lp.encode`, `lp.bitcast` or `lp.to_torch`, which return tensors"
_to_numpy = _apart("to_numpy", _INSTEAD)
stochastic_bits = _apart(
    "stochastic_bits", "call it outside, and give its numbers to the compiled function as a tensor"
)


def to_numpy(x: Any, fmt: object) -> Any:
    """Call `lowprec.to_numpy` between two graphs, or raise TypeError where there is one alone."""
    if torch.compiler.is_dynamo_compiling():
        return _to_numpy(x, fmt)
    raise TypeError(
        f"`x` must be an array that torch does not trace, for a graph keeps NumPy's as constants: {_INSTEAD}"
    )
