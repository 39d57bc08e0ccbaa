"""How `torch.vmap` batches lowprec's operators: the batch becomes the first axis; scales and packed rows go with it."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ..plans.quantize_plan import QuantizeOptions, granularity_at
from ..spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, FLOAT8_E8M0FNU, Format, as_format
from ..spec.operator_versions import DEQUANTIZE, NEWEST, QUANTIZE, version_of
from ..spec.packing import check_packable, group, packed_bytes
from .block_arguments import block_axis, check_scale_shape, scale_shape
from .range_arguments import scale_groups
from .torch_shapes import linear_plan, public_options

__all__ = ["RULES"]

torch: Any = import_module("torch")
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


def _cast(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    if (rows := _row_by_row("cast", info, dims, (x, to), options)) is not None:
        return rows
    return torch.ops.lowprec.cast(x, to, **options), dims[0]


def _bitcast(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    return torch.ops.lowprec.bitcast(x, to, **options), dims[0]


def _encode(info: Any, dims: _Dims, x: Any, fmt: str, *, packed: bool = False, **options: Any) -> Any:
    if (rows := _row_by_row("encode", info, dims, (x, fmt), options | {"packed": packed})) is not None:
        return rows
    codes = torch.ops.lowprec.encode(x, fmt, **options)
    return (_packed_rows(codes.movedim(dims[0], 0), as_format(fmt)), 0) if packed else (codes, dims[0])


def _decode(
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


def _quantize_linear(
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


def _dequantize_linear(
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


def _dynamic_quantize_linear(info: Any, dims: _Dims, x: Any, **options: Any) -> Any:
    return _one_by_one("dynamic_quantize_linear", info.batch_size, dims, (x,), options)


# ---- scales and blocks: axes count from the batch on


def _scales(
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


def _absmax_scale(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    return _scales("absmax_scale", dims, x, to, **options)[0], 0


def _minmax_scale(info: Any, dims: _Dims, x: Any, to: str, **options: Any) -> Any:
    return _scales("minmax_scale", dims, x, to, **options), (0, 0)


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


def _mx_quantize(
    info: Any, dims: _Dims, x: Any, element: str = FLOAT4_E2M1FN.name, *, axis: int = -1, block_size: int = 32,
    swizzled: bool = False, packed: bool = False, **options: Any,
) -> Any:  # fmt: skip
    if swizzled or options.get("seed") is not None:
        options |= {"axis": axis, "block_size": block_size, "swizzled": swizzled, "packed": packed}
        return _one_by_one("mx_quantize", info.batch_size, dims, (x, element)[: len(dims)], options)
    x = x.movedim(dims[0], 0)
    fmt = as_format(element)
    return _quantized_blocks("mx_quantize", x, (element,), fmt, axis, block_size, packed, options), (0, 0)


def _nvfp4_quantize(
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


def _mx_dequantize(
    info: Any, dims: _Dims, elements: Any, scales: Any, *, source: str | None = None, axis: int = -1,
    block_size: int = 32, packed: bool = False, shape: Any = None, **options: Any,
) -> Any:  # fmt: skip
    return _values_of_blocks(
        "mx_dequantize", info, dims, (elements, scales), (source, FLOAT8_E8M0FNU), axis=axis, block_size=block_size,
        packed=packed, shape=shape, options=options | {"source": source},
    )  # fmt: skip


def _nvfp4_dequantize(
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


def _number(info: Any, dims: _Dims, x: Any, value: Any, fmt: str, **options: Any) -> Any:
    return torch.ops.lowprec.number(x, value, fmt, **options), None


RULES: dict[str, Callable[..., Any]] = {
    "cast": _cast,
    "bitcast": _bitcast,
    "encode": _encode,
    "decode": _decode,
    "quantize_linear": _quantize_linear,
    "dequantize_linear": _dequantize_linear,
    "dynamic_quantize_linear": _dynamic_quantize_linear,
    "absmax_scale": _absmax_scale,
    "minmax_scale": _minmax_scale,
    "mx_quantize": _mx_quantize,
    "mx_dequantize": _mx_dequantize,
    "nvfp4_quantize": _nvfp4_quantize,
    "nvfp4_dequantize": _nvfp4_dequantize,
    "number": _number,
}
"""The batch rule of each operator."""
