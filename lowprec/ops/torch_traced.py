"""The public functions where torch traces or transforms a call: names for formats, tensors for numbers, one operator.

`torch.compile` traces through them.
"""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import numpy as np

from ..arrays.libraries import format_of, storage_dtype
from ..arrays.torch_tensors import EAGER, check_tensor, transformed
from ..backends.scales_for_kernels import number_format, plain_operand
from ..plans.cast_plan import TEXT, resolve_bits
from ..spec.formats import FLOAT32, as_format
from ..spec.operator_versions import DEQUANTIZE, NEWEST, QUANTIZE, Caller, cast_rules
from ..spec.rounding_modes import RoundingOptions
from ..spec.scalar_arguments import as_flag
from . import torch_operators as torch_operators  # which registers them
from .block_arguments import block_axis, check_tuple, held_elements, mx_options, nvfp4_options, output_format
from .range_arguments import absmax_formats, minmax_format, scale_groups
from .torch_arguments import (
    SYMBOLS,
    constant,
    fixed,
    name_of,
    named,
    optional_name,
    stand_ins,
    to_torch_integers,
    to_torch_rules,
)

__all__ = [
    "absmax_scale", "bitcast", "cast", "cast_like", "decode", "dequantize_linear", "dynamic_quantize_linear", "encode",
    "minmax_scale", "mx_dequantize", "mx_quantize", "nvfp4_dequantize", "nvfp4_quantize", "quantize_linear",
    "stochastic_bits", "to_numpy", "to_torch",
]  # fmt: skip

torch: Any = import_module("torch")


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
