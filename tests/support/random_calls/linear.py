"""Random calls of QuantizeLinear and DequantizeLinear, with the oracle's answers.

Those beyond ONNX have tiles, roundings, scales that are numbers, codes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.reference.philox import random_words
from lowprec.reference.whole_arrays import (
    array_values,
    broadcast,
    dequantized,
    quantized,
    quotient,
    rounded,
    rounded_from_float64,
)
from lowprec.spec.formats import FLOAT32, Format, as_format
from support import quantize_cases
from support.bits import packed_bytes
from support.quantize_cases import PRECISIONS, VERSIONS, Types, granularities
from support.random_calls.calls import Call, Expected, with_out
from support.random_calls.casts import draw_rules, rounding_of
from support.random_calls.memory import Array, Placed, place
from support.random_calls.values import FORMATS, draw_codes, draw_shape

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


_FLOATS = tuple(as_format(name) for name in ("float32", "float16", "bfloat16"))
_CODES = tuple(
    fmt for fmt in FORMATS if fmt.name != "bool" and fmt.bits <= 16 and fmt not in _FLOATS and fmt.has_zero
)  # fmt: skip
_NUMBERS = (1, 2, 0.5, 0.1, -3.0, 1e-6, 300.0, 2.0**-20, 2**53 + 1, 10**30, 1e39, -1e-46, 1e-40, 65520.0, 0.0, -0.0)


def _held(rng: Rng, fmt: Format, codes: Array, name: str, kwargs: dict[str, Any]) -> tuple[Placed, Array]:
    """Place codes as the dtype of the format, or as unsigned integers that the option `name` explains."""
    bare = rng.random() < 0.3
    placed = place(rng, codes, fmt.code_dtype if bare else fmt.dtype)
    if bare:
        kwargs[name] = fmt
    return placed, array_values(placed.codes, fmt)


def _tiles(rng: Rng, shape: tuple[int, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Return the shape of the scales, and how often they are repeated along each axis of tiles."""
    if len(shape) < 2 or 0 in shape or rng.random() < 0.3:
        return (), []
    axes = [int(axis) for axis in rng.permutation(len(shape))[:2]]
    blocks = [int(rng.choice([1, 2, 3, 16, 32, 128])) for _ in axes]
    counts = list(shape)
    for axis, block in zip(axes, blocks, strict=True):
        counts[axis] = -(-shape[axis] // block)
    kwargs |= {"axis": tuple(axes), "block_size": tuple(blocks)}
    return tuple(counts), list(zip(axes, blocks, strict=True))


def _spread(scale: Array, tiles: list[tuple[int, int]], shape: tuple[int, ...]) -> Array:
    """Return the scale of every element."""
    for axis, block in tiles:
        scale = np.repeat(scale, block, axis).take(range(shape[axis]), axis)
    return np.broadcast_to(scale, shape)


def _scale(
    rng: Rng, fmt: Format, counts: tuple[int, ...], kwargs: dict[str, Any]
) -> tuple[object, list[Placed], Array, Format]:
    """Return the argument, its memory, its values and its format; a number takes the format `fmt` of the values."""
    if not counts and rng.random() < 0.4:
        number = _NUMBERS[int(rng.integers(len(_NUMBERS)))]
        value = float(reference.decode(reference.encode(number, fmt), fmt))
        return number, [], np.asarray(value), fmt
    row = _FLOATS[int(rng.integers(3))] if rng.random() < 0.8 else as_format("float8_e8m0fnu")
    drawn = quantize_cases.draw_scale(rng, row, counts)
    placed, values = _held(rng, row, np.asarray(drawn).view(row.code_dtype), "scale_format", kwargs)
    return placed.array, [placed], values, row


def quantize_beyond_onnx(rng: Rng) -> Call:
    """Draw a call of `quantize_linear` without a zero point."""
    source, target = _FLOATS[int(rng.integers(3))], _CODES[int(rng.integers(len(_CODES)))]
    shape, kwargs = draw_shape(rng, most=5000), {"output_dtype": target}
    counts, tiles = _tiles(rng, shape, kwargs)
    scale, placed, values, row = _scale(rng, source, counts, kwargs)
    factor = _spread(values, tiles, shape)
    drawn = quantize_cases.draw_x(rng, source, np.asarray(factor), target)
    x, numbers = _held(rng, source, np.asarray(drawn).view(source.code_dtype), "source", kwargs)
    working = FLOAT32 if not row.has_zero else row
    if rng.random() < 0.3:
        working = kwargs["precision"] = quantize_cases.PRECISIONS[int(rng.integers(4))]
    options = draw_rules(rng, target, beyond=0.7)
    options.pop("round_mode", None)
    kwargs |= options
    if {"rounding", "overflow", "nan"} & set(options):
        found = quotient(rounded(numbers, working), rounded(factor, working), working)
        random = None
        if "seed" in options:
            bits = options.get("random_bits", 16)
            random = random_words(options["seed"], options.get("offset", 0), math.prod(shape), bits)
        codes = rounded_from_float64(found.reshape(-1), target, rounding_of(options, target), random)
        codes = codes.reshape(shape)
    else:
        saturate = options.get("saturate", True)
        codes = quantized(numbers, factor, None, target, precision=working, saturate=saturate)
    expected = [Expected(codes, lp.storage_dtype(target, np))]
    call = Call(lp.quantize_linear, (x.array, scale), kwargs, [x, *placed], expected, elements=codes.size)
    return with_out(rng, call)


def dequantize_beyond_onnx(rng: Rng) -> Call:
    """Draw a call of `dequantize_linear` without a zero point."""
    source, shape, kwargs = _CODES[int(rng.integers(len(_CODES)))], draw_shape(rng, most=5000), dict[str, Any]()
    counts, tiles = _tiles(rng, shape, kwargs)
    scale, placed, values, row = _scale(rng, FLOAT32, counts, kwargs)
    x, _ = _held(rng, source, draw_codes(rng, source, shape), "source", kwargs)
    result = row
    if not row.has_zero or rng.random() < 0.4:
        result = kwargs["output_dtype"] = _FLOATS[int(rng.integers(3))]
    codes = dequantized(x.codes, _spread(values, tiles, shape), None, source, output_dtype=result)
    expected = [Expected(codes, result.dtype)]
    call = Call(lp.dequantize_linear, (x.array, scale), kwargs, [x, *placed], expected, elements=codes.size)
    return with_out(rng, call)
