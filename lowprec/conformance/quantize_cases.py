"""Cases of QuantizeLinear and DequantizeLinear: ties, ends of ranges, precisions, every code, blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..reference.exact_cast import Value, decode
from ..reference.exact_quantize import dequantize, precision_of, quantize
from ..reference.whole_arrays import Codes
from ..spec.formats import (
    BFLOAT16,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    INT8,
    INT32,
    ONNX_NUMERIC,
    UINT8,
    UINT16,
    Format,
    as_format,
)
from .cast_cases import Call, Case, Tensor

__all__ = ["quantize_cases", "tensor_of"]

_TARGETS = [fmt for fmt in ONNX_NUMERIC if fmt.bits <= 16 and (fmt.is_integer or (fmt.bits <= 8 and fmt.is_float))]
_ONE_A_WIDTH = list({(fmt.is_float, fmt.bits): fmt for fmt in reversed(_TARGETS) if fmt.has_zero}.values())


def tensor_of(values: Any, fmt: Format) -> Tensor:
    """Return numbers as codes of a format, as NumPy and ml_dtypes convert them."""
    array = np.asarray(values).astype(fmt.dtype)
    return Tensor(array.view(fmt.code_dtype) & np.array(fmt.code_mask, fmt.code_dtype), fmt)


def _spread(shape: tuple[int, ...], scale: Codes, axis: int, block_size: int) -> Codes:
    """Return, for each element, the flat index of its scale."""
    if scale.size == 1:
        return np.zeros(shape, int)
    where = list(np.indices(shape))
    index: Codes
    if not block_size:
        index = where[axis]
        return index
    where[axis] //= block_size
    index = np.ravel_multi_index(tuple(where), scale.shape)
    return index


def _elements(tensor: Tensor | None, which: Codes) -> list[Value | None]:
    if tensor is None:
        return [None] * which.size
    flat = tensor.codes.reshape(-1)
    return [decode(int(flat[index]), tensor.fmt) for index in which.reshape(-1)]


def _quantized(
    x: Tensor, scale: Tensor, zero_point: Tensor | None, target: Format, **attributes: Any
) -> tuple[Call, Codes]:
    """Return a call of QuantizeLinear and its codes in exact arithmetic."""
    call = Call("QuantizeLinear", (x, scale, zero_point), target, attributes)
    which = _spread(x.codes.shape, scale.codes, attributes.get("axis", 1), attributes.get("block_size", 0))
    precision = as_format(attributes["precision"]) if "precision" in attributes else precision_of(scale.fmt)
    rules: dict[str, Any] = {"precision": precision, "saturate": bool(attributes.get("saturate", 1))}
    columns = zip(
        _elements(x, np.arange(x.codes.size)), _elements(scale, which), _elements(zero_point, which), strict=True
    )
    codes = [quantize(value, factor, zero, target, **rules) for value, factor, zero in columns]
    return call, np.array(codes, target.code_dtype).reshape(x.codes.shape)


def _dequantized(x: Tensor, scale: Tensor, zero_point: Tensor | None, **attributes: Any) -> tuple[Call, Codes]:
    """Return a call of DequantizeLinear and its codes in exact arithmetic."""
    target = as_format(attributes["output_dtype"]) if "output_dtype" in attributes else scale.fmt
    call = Call("DequantizeLinear", (x, scale, zero_point), target, attributes)
    which = _spread(x.codes.shape, scale.codes, attributes.get("axis", 1), attributes.get("block_size", 0))
    columns = zip(x.codes.reshape(-1).tolist(), _elements(scale, which), _elements(zero_point, which), strict=True)
    codes = [dequantize(code, x.fmt, factor, zero, output_dtype=target) for code, factor, zero in columns]
    return call, np.array(codes, target.code_dtype).reshape(x.codes.shape)


def _part(rule: str, call: Call, codes: Codes, which: Codes) -> Iterator[Case]:
    """Yield the case of some elements of a per-tensor call."""
    x, *others = call.inputs
    if x is not None and which.any():
        yield Case(rule, Call(call.operator, (x[which], *others), call.target, call.attributes), codes[which])


def _numbers(target: Format, scale: float) -> Codes:
    """Return ties, ends of the range, tiny and huge numbers, in units of the scale; NaN and Inf."""
    low, high = float(target.min), float(target.max)
    middle = [step / 2 for step in range(-21, 22)] + [low + step / 2 for step in range(-3, 4)]
    units = [*middle, *(high + step / 2 for step in range(-3, 4)), -0.0, 1e-30, 0.4999999, 1.1 * high, -1.3 * high, 300]
    return np.array([*(unit * scale for unit in units), 3e9, -3e9, 1e30, -1e30, np.inf, -np.inf, np.nan], np.float64)


def _to_integers(target: Format) -> Iterator[Case]:
    middle = (int(target.min) + int(target.max)) // 2
    for scale, zero in ((1.0, None), (0.1, 1), (3.0, middle)):
        zero_point = None if zero is None else tensor_of(zero, target)
        x = tensor_of(_numbers(target, scale), FLOAT32)
        attributes = {"output_dtype": target.onnx_enum} if zero is None else {}
        call, codes = _quantized(x, tensor_of(scale, FLOAT32), zero_point, target, **attributes)
        values = x.array.astype(np.float64)
        units = values / scale + (zero or 0)
        special = ~np.isfinite(values)
        beyond = ~special & ((units < float(target.min) - 0.5) | (units > float(target.max) + 0.5))
        yield from _part("quantize special", call, codes, special)
        yield from _part("quantize clamp", call, codes, beyond)
        yield from _part("quantize even", call, codes, ~special & ~beyond)


def _to_floats(target: Format) -> Iterator[Case]:
    values = np.concatenate([_numbers(target, 0.3), [0.3 * 464, 0.3 * 490, 0.3 * 61440, 0.3 * 65000, 0.3 * 248]])
    by_attribute = target.saturates == "asked"
    zero_point = tensor_of(0, target)
    for saturate in (1, 0) if by_attribute else (1,):
        rule = f"quantize float8{' saturate' if saturate else ''}" if by_attribute else "quantize small"
        x, scale = tensor_of(values, FLOAT32), tensor_of(0.3, FLOAT32)
        more = {"saturate": saturate} if by_attribute else {}
        call, codes = _quantized(x, scale, zero_point, target, **more)
        yield Case(rule, call, codes)
    if not by_attribute:
        yield Case("quantize small", *_quantized(x, scale, tensor_of(1.5, target), target))


def _quotients(x: Tensor, scale: Tensor, fmt: Format) -> Codes:
    """Return about what a division rounded to a format gives, rounded to integers: to choose inputs, not to judge."""
    quotients: Codes = np.rint((x.array.astype(fmt.dtype) / scale.array.astype(fmt.dtype)).astype(np.float64))
    return quotients


def _precisions(target: Format) -> Iterator[Case]:
    """Where rounding the quotient to the type of the operands, or to `precision`, makes another code."""
    rng = np.random.default_rng(target.bits)
    zero_point = tensor_of(0, target)
    for fmt in (FLOAT16, BFLOAT16):
        for scale in (0.1, 3.0, 0.7):
            halves = (np.floor(rng.uniform(float(target.min), float(target.max), 60)) + 0.5) * scale
            halves = halves[np.abs(halves) < float(fmt.max)]
            for held in (fmt, FLOAT32):
                x, divisor = tensor_of(halves, held), tensor_of(scale, held)
                x = x[_quotients(x, divisor, fmt) != _quotients(x, divisor, FLOAT32)]
                rule = "quantize precision" if held is fmt else "quantize attribute"
                more = {} if held is fmt else {"precision": fmt.onnx_enum}
                if x.codes.size:
                    yield Case(rule, *_quantized(x, divisor, zero_point, target, **more))


def _other_types(target: Format) -> Iterator[Case]:
    zero_point = tensor_of(0, target)
    integers = tensor_of([0, 5, -5, 15, 2**24 + 1, 2**31 - 1, -(2**31), 300, 1275], INT32)
    for scale in (10.0, 2.0**24):
        yield Case("quantize int32", *_quantized(integers, tensor_of(scale, FLOAT32), zero_point, target))
    values = tensor_of([0.1, -0.1, 0.3, 3.7, 100.0, -1e4], FLOAT32)
    for code in (110, 119, 127, 130, 254):
        scale_codes = Tensor(np.array(code, np.uint8), FLOAT8_E8M0FNU)
        yield Case("quantize power", *_quantized(values, scale_codes, zero_point, target))


def _spreads(target: Format) -> Iterator[tuple[str, Tensor, Tensor, Tensor, dict[str, Any]]]:
    """Yield per-axis and blocked operands: values in units of the scale around ties."""
    rng = np.random.default_rng(7)
    for name, shape, scales, attributes in (
        ("axis", (3, 5, 2), (5,), {}),
        ("axis", (3, 5, 2), (3,), {"axis": 0}),
        ("axis", (3, 5, 2), (2,), {"axis": -1}),
        ("block", (2, 6, 3), (2, 3, 3), {"block_size": 2}),
        ("block", (2, 6), (2, 2), {"axis": -1, "block_size": 3}),
        ("short", (2, 5, 3), (2, 3, 3), {"block_size": 2}),
        ("short", (7, 2), (3, 2), {"axis": 0, "block_size": 3}),
    ):
        zeros = rng.integers(0, 2, scales) if target.is_integer else np.zeros(scales)
        factors = tensor_of(rng.choice([0.25, 0.1, 1.0, 3.0], scales), FLOAT32)
        yield name, tensor_of(rng.integers(-8, 24, shape) / 4, FLOAT32), factors, tensor_of(zeros, target), attributes


def _refusals() -> Iterator[Case]:
    """Yield calls that must be refused, each with a valid one that differs in that point alone."""

    def ones(*shape: int, fmt: Format = FLOAT32) -> Tensor:
        return tensor_of(np.ones(shape), fmt)

    blocks, zeros = {"block_size": 2}, {"fmt": UINT8}
    blocked = (ones(2, 3), None, blocks)
    pairs = [  # (shape of x, wrong, right), each (scale, zero point, attributes)
        ((2, 5), (ones(3), None, {}), (ones(5), None, {})),
        ((2, 5), (ones(2), None, {}), (ones(2), None, {"axis": 0})),
        ((2, 1), (ones(3), None, {}), (ones(1), None, {})),
        ((2, 5), (ones(2, 2), None, blocks), blocked),
        ((2, 5), (ones(2, 4), None, blocks), blocked),
        ((2, 5), (ones(2, 5), None, blocks), blocked),
        ((2, 5), (ones(1, 3), None, blocks), blocked),
        ((2, 5), (ones(2, 3), None, {}), blocked),
        ((2, 5), (ones(2, 3), None, {"block_size": -2}), blocked),
        ((2, 5), (ones(5), None, {"axis": 2}), (ones(5), None, {"axis": 1})),
        ((2, 5), (ones(5), ones(2, **zeros), {}), (ones(5), ones(5, **zeros), {})),
        ((2, 5), (ones(5), ones(**zeros), {}), (ones(5), ones(5, **zeros), {})),
        ((2, 5), (ones(), ones(5, **zeros), {}), (ones(), ones(**zeros), {})),
    ]
    for shape, *both in pairs:
        for operator, source, out in (("QuantizeLinear", FLOAT32, UINT8), ("DequantizeLinear", UINT8, FLOAT32)):
            wrong, right = (
                Call(operator, (ones(*shape, fmt=source), scale, zero), out, more) for scale, zero, more in both
            )
            yield Case(f"{operator[:-6].lower()} refuses", wrong, None, control=right)
    wrong, right = (
        Call("QuantizeLinear", (ones(2), ones(), ones(**zeros)), UINT8, {"output_dtype": fmt.onnx_enum})
        for fmt in (INT8, UINT8)
    )
    yield Case("quantize refuses", wrong, None, control=right)


def _from_codes(source: Format) -> Iterator[Case]:
    every = Tensor(np.arange(1 << min(source.bits, 8)).astype(source.code_dtype), source)
    if source.bits > 8:
        every = Tensor(every.codes * np.array(257, source.code_dtype), source)  # 0 to the last code
    some = every[:: 1 if source.bits < 8 else 5]
    zero_point = tensor_of(0 if source.saturates == "asked" else 1, source)
    rule = "dequantize zero point" if source.is_float and source.bits < 8 else "dequantize codes"
    yield Case(rule, *_dequantized(every, tensor_of(3.7, FLOAT32), zero_point))
    for scale in (0.1, 1e-38, 1e37):
        yield Case("dequantize codes", *_dequantized(some, tensor_of(scale, FLOAT32), None))
    for fmt in (FLOAT16, BFLOAT16):
        yield Case("dequantize narrow scale", *_dequantized(some, tensor_of(0.1, fmt), None))
        options = {"output_dtype": fmt.onnx_enum}
        yield Case("dequantize output", *_dequantized(some, tensor_of(0.1, FLOAT32), None, **options))
        power = Tensor(np.array(120, np.uint8), FLOAT8_E8M0FNU)
        yield Case("dequantize power", *_dequantized(some, power, None, **options))


def quantize_cases() -> Iterator[Case]:
    """Yield the cases of both operators."""
    for target in _TARGETS:
        if not target.has_zero:
            continue
        yield from _to_integers(target) if target.is_integer else _to_floats(target)
        if target.is_integer:
            yield from _precisions(target)
            yield from _other_types(target)
        for name, x, scale, zero_point, attributes in _spreads(target) if target in _ONE_A_WIDTH else ():
            yield Case(f"quantize {name}", *_quantized(x, scale, zero_point, target, **attributes))
            codes = tensor_of(np.arange(x.codes.size).reshape(x.codes.shape) % (1 << target.bits), UINT16)
            quantized = Tensor(codes.codes.astype(target.code_dtype), target)
            yield Case(f"dequantize {name}", *_dequantized(quantized, scale, zero_point, **attributes))
        yield from _from_codes(target)
    yield from _refusals()
