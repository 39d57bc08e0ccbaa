"""Random calls of QuantizeLinear and DequantizeLinear, with the oracle's answers."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowprec as lp
from lowprec.reference.whole_arrays import array_values, broadcast
from lowprec.spec.formats import Format, as_format
from support import quantize_cases
from support.bits import packed_bytes
from support.quantize_cases import PRECISIONS, VERSIONS, Types, granularities
from support.random_calls.calls import Call, Expected, draw_out
from support.random_calls.memory import Array, Placed, place
from support.random_calls.values import draw_codes, draw_shape

Rng = np.random.Generator
_TABLES = {
    operator: {version: quantize_cases.type_table(operator, version) for version in VERSIONS}
    for operator in ("QuantizeLinear", "DequantizeLinear")
}
_MOST = 70_001


def _put(rng: Rng, values: Array, fmt: Format) -> tuple[Placed, Array]:
    """Place an array of a format; return it and the array as it is then: broadcast layouts repeat elements."""
    placed = place(rng, np.asarray(values).view(fmt.code_dtype), fmt.dtype)
    return placed, np.ascontiguousarray(placed.codes).view(fmt.dtype).reshape(placed.codes.shape)


def _drawn(rng: Rng, operator: str) -> tuple[int, Types, tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    version = int(rng.choice(VERSIONS))
    table = _TABLES[operator][version]
    types = table[int(rng.integers(len(table)))]
    shape = draw_shape(rng, most=_MOST)
    layouts = list(granularities(shape, version)) if 0 not in shape and shape else [((), {}), ((1,), {})]
    scale_shape, options = layouts[int(rng.integers(len(layouts)))]
    if options.get("block_size", 0) > 1 and rng.random() < 0.5:  # of any size: groups and tiles of the loops
        place = options["axis"] % len(shape)
        block = int(rng.choice([16, 32, 128, rng.integers(1, shape[place] + 1)]))
        scale_shape = (*shape[:place], -(-shape[place] // block), *shape[place + 1 :])
        options = {**options, "block_size": block}
    return version, types, shape, scale_shape, {**options, "opset": version}


def _scales(rng: Rng, fmt: Format, shape: tuple[int, ...]) -> tuple[Placed, Array]:
    """Place scales of ordinary sizes, with odd ones among them, or any codes of their format."""
    any_code = rng.random() < 0.3
    drawn = draw_codes(rng, fmt, shape) if any_code else quantize_cases.draw_scale(rng, fmt, shape)
    return _put(rng, drawn, fmt)


def _zero_point(rng: Rng, fmt: Format, shape: tuple[int, ...]) -> tuple[Placed, Array]:
    return _put(rng, quantize_cases.draw_zero_point(rng, fmt, shape), fmt)


def with_out(rng: Rng, call: Call) -> Call:
    """Give a call `out` where one is drawn."""
    expected = call.expected[0]
    out = draw_out(rng, expected.codes.shape, expected.dtype, call.placed)
    if out is not None:
        call.kwargs["out"], call.outs = out.array, [out]
    return call


def quantize_linear(rng: Rng) -> Call:
    """Draw a call of `quantize_linear` that its version of the operator allows."""
    version, types, shape, scale_shape, options = _drawn(rng, "QuantizeLinear")
    scale, scales = _scales(rng, types.scale, scale_shape)
    if version >= 19 and rng.random() < 0.5:
        options["saturate"] = bool(rng.random() < 0.5)
    if version >= 23 and rng.random() < 0.4:
        options["precision"] = PRECISIONS[int(rng.integers(len(PRECISIONS)))]
    uint8 = as_format("uint8")
    zero, zeros = None, None
    if rng.random() < 0.5 or (version < 21 and types.y is not uint8):
        zero, zeros = _zero_point(rng, types.y, scale_shape)
    if version >= 21 and (zero is None or rng.random() < 0.5):
        options["output_dtype"] = types.y
    elif zero is None:
        types = types._replace(y=uint8)
    factor = broadcast(array_values(scales, types.scale), shape, options.get("axis", 1), options.get("block_size", 0))
    if rng.random() < 0.7:
        values = quantize_cases.draw_x(rng, types.x, np.asarray(factor), types.y)
    else:
        values = draw_codes(rng, types.x, shape).view(types.x.dtype)
    x, xs = _put(rng, values, types.x)
    codes = quantize_cases.expect_quantized(xs, scales, zeros, types, options)
    dtype: Any = lp.storage_dtype(types.y, np)
    kwargs = dict(options)
    if types.y.bits in (2, 4, 6) and rng.random() < 0.3:
        kwargs["packed"], codes, dtype = True, packed_bytes(codes, types.y.bits), np.dtype(np.uint8)
    placed = [one for one in (x, scale, zero) if one is not None]
    args = (x.array, scale.array, *(() if zero is None else (zero.array,)))
    call = Call(lp.quantize_linear, args, kwargs, placed, [Expected(codes, dtype)], elements=x.codes.size)
    return with_out(rng, call)


def dequantize_linear(rng: Rng) -> Call:
    """Draw a call of `dequantize_linear` that its version of the operator allows."""
    version, types, shape, scale_shape, options = _drawn(rng, "DequantizeLinear")
    if version >= 23 and (not types.scale.has_zero or rng.random() < 0.5):
        options["output_dtype"] = PRECISIONS[int(rng.integers(3))]
    scale, scales = _scales(rng, types.scale, scale_shape)
    zero, zeros = None, None
    if types.x.bits < 32 and rng.random() < 0.5:
        zero, zeros = _zero_point(rng, types.x, scale_shape)
    x, xs = _put(rng, draw_codes(rng, types.x, shape), types.x)
    codes = quantize_cases.expect_dequantized(xs, scales, zeros, types, options)
    kwargs = dict(options)
    if types.x.bits in (2, 4, 6) and rng.random() < 0.3:
        kwargs |= {"packed": True, "shape": shape, "source": types.x}
        x = place(rng, packed_bytes(np.asarray(xs).view(np.uint8), types.x.bits), np.uint8, layout="C")
    placed = [one for one in (x, scale, zero) if one is not None]
    args = (x.array, scale.array, *(() if zero is None else (zero.array,)))
    result = options.get("output_dtype") or types.scale
    call = Call(lp.dequantize_linear, args, kwargs, placed, [Expected(codes, result.dtype)], elements=codes.size)
    return with_out(rng, call)
