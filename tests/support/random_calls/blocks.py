"""Random calls of the block formats, MX and NVFP4, with the exact oracle's answers."""

from __future__ import annotations

from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.spec.formats import Format, as_format
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC
from lowprec.spec.scale_rules import SCALE_RULES
from support.bits import packed_bytes
from support.quantize_cases import SPECIAL
from support.random_calls.calls import Call, Expected, Out
from support.random_calls.memory import Array, Memory, Placed, draw_geometry, place, view
from support.random_calls.values import DESCRIBED, draw_codes, draw_shape

__all__ = ["mx_dequantize", "mx_quantize", "nvfp4_dequantize", "nvfp4_quantize"]  # what draws calls

Rng = np.random.Generator
_FLOATS = tuple(as_format(name) for name in ("float32", "float16", "bfloat16", "float64"))
_ELEMENTS = tuple(
    as_format(name) for name in (
        "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "float8_e4m3fn", "float8_e5m2", "int8", "float8_e4m3fnuz",
        "float16", "bfloat16", "float32",
    )
)  # fmt: skip
_FEW = 260
"""Elements, at most: the oracle computes each in fractions."""


def _values(rng: Rng, fmt: Format, shape: tuple[int, ...]) -> Array:
    """Return codes of values of all sizes: blocks that fit, wide ranges, halves, and special ones in some arrays."""
    if rng.random() < 0.2:
        return draw_codes(rng, fmt, shape)
    with np.errstate(all="ignore"):
        size = np.exp2(rng.integers(-20, 20)) if rng.random() < 0.7 else np.exp2(rng.integers(-140, 120, shape))
        x = rng.normal(size=shape) * size
        x = np.where(rng.random(shape) < 0.3, np.rint(rng.uniform(-16, 16, shape)) / 4 * size, x)
        x = np.where(rng.random(shape) < 0.1, 0.0 * x, x)
        if rng.random() < 0.3:
            x = np.where(rng.random(shape) < 0.05, rng.choice(SPECIAL, shape), x)
        return np.asarray(np.asarray(x).astype(fmt.dtype)).view(fmt.code_dtype)


def _blocks(rng: Rng, usual: int) -> tuple[tuple[int, ...], dict[str, Any], int]:
    """Return a shape, the options that say how blocks lie in it, and the number of elements along a block."""
    shape = draw_shape(rng, most=_FEW, least_rank=1)
    axis = int(rng.integers(-len(shape), len(shape)))
    options: dict[str, Any] = {}
    if axis % len(shape) != len(shape) - 1 or rng.random() < 0.3:
        options["axis"] = axis
    block = usual
    if rng.random() < 0.5:
        block = options["block_size"] = int(rng.choice([1, 2, 3, 8, 16, 31, 32, 33, 64, 300]))
    return shape, options, block


def _rules(rng: Rng) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if rng.random() < 0.5:
        found["rounding"] = str(rng.choice(ROUNDINGS))
        if found["rounding"] in STOCHASTIC:
            found["seed"] = int(rng.integers(1 << 64, dtype=np.uint64))
            found["random_bits"] = int(rng.integers(1, 33))
            found["offset"] = int(rng.choice([0, 1, 5, 2**32 - 3]))
    if rng.random() < 0.4:
        found["specials"] = str(rng.choice(["nan", "ignore"]))
    return found


def swizzled(codes: Array, axis: int) -> Array:
    """Return the codes of scales in tiles of 128 rows and 4 columns, by the formula of the documentation."""
    rows = np.moveaxis(codes, axis, -1)
    rows = rows.reshape(int(np.prod(rows.shape[:-1])), rows.shape[-1])
    down, across = -(-rows.shape[0] // 128), -(-rows.shape[1] // 4)
    found = np.zeros(down * across * 512, codes.dtype)
    for row, column in np.ndindex(rows.shape):
        outer, inner = row % 128, column % 4
        place_in = (outer % 32) * 16 + (outer // 32) * 4 + inner
        found[((row // 128) * across + column // 4) * 512 + place_in] = rows[row, column]
    return found


def _placed_values(rng: Rng, shape: tuple[int, ...]) -> tuple[Placed, Array]:
    fmt = _FLOATS[int(rng.integers(len(_FLOATS)))]
    x = place(rng, _values(rng, fmt, shape), fmt.dtype)
    return x, np.ascontiguousarray(x.codes).view(fmt.dtype).reshape(shape)


def mx_quantize(rng: Rng) -> Call:
    """Draw a call of `mx_quantize`."""
    shape, options, _ = _blocks(rng, 32)
    x, values = _placed_values(rng, shape)
    element = (_ELEMENTS if rng.random() < 0.9 else DESCRIBED)[int(rng.integers(len(_ELEMENTS)))]
    if not element.has_zero:
        element = _ELEMENTS[0]
    options |= _rules(rng)
    if rng.random() < 0.6:
        options["scale_rule"] = str(rng.choice(SCALE_RULES))
    elements, scales = reference.mx_blocks(values, element, **options)
    return _quantized(rng, lp.mx_quantize, (x, element), options, (elements, scales, None))


def _quantized(rng: Rng, function: Any, what: tuple[Placed, Format], options: dict[str, Any], found: Any) -> Call:
    (x, element), (elements, scales, whole) = what, found
    scale_format = as_format("float8_e8m0fnu" if whole is None else "float8_e4m3fn")
    kwargs, dtype = dict(options), lp.storage_dtype(element, np)
    if element.bits in (2, 4, 6) and rng.random() < 0.3:
        kwargs["packed"], elements, dtype = True, packed_bytes(elements, element.bits), np.dtype(np.uint8)
    if rng.random() < 0.2:
        kwargs["swizzled"], scales = True, swizzled(scales, options.get("axis", -1))
    expected = [Expected(elements, dtype), Expected(scales, scale_format.dtype)]
    if whole is not None:
        expected.append(Expected(np.array(whole, np.float32).view(np.uint32), np.dtype(np.float32)))
    args = (x.array,) if whole is not None else (x.array, element)
    call = Call(function, args, kwargs, [x], expected, elements=x.codes.size)
    if rng.random() < 0.3:
        for one in expected:
            layout = str(rng.choice(["C", "F", "strided", "negative", "sub-view"]))
            geometry = draw_geometry(rng, one.codes.shape, np.dtype(one.dtype).itemsize, layout)
            memory = Memory(rng, geometry.extent)
            call.outs.append(Out(view(memory, geometry, np.dtype(one.dtype)), memory, geometry))
        kwargs["out"] = tuple(out.array for out in call.outs)
    return call


def _global_scale(rng: Rng) -> float:
    least, most = (-50, 50) if rng.random() < 0.7 else (-149, 128)
    return float(min(np.float32(np.exp2(rng.uniform(least, most))), np.finfo(np.float32).max))


def nvfp4_quantize(rng: Rng) -> Call:
    """Draw a call of `nvfp4_quantize`."""
    shape, options, _ = _blocks(rng, 16)
    x, values = _placed_values(rng, shape)
    options |= _rules(rng)
    if rng.random() < 0.4:
        options["global_scale"] = _global_scale(rng)
    if rng.random() < 0.5:
        options["scale_rule"] = str(rng.choice(["torchao", "modelopt", "transformer_engine"]))
    elements, scales, whole = reference.nvfp4_blocks(values, **options)
    return _quantized(rng, lp.nvfp4_quantize, (x, as_format("float4_e2m1fn")), options, (elements, scales, whole))


def _elements(rng: Rng, element: Format, usual: int) -> tuple[Array, Placed, dict[str, Any], tuple[int, ...]]:
    """Return elements, as they are placed, the options of the blocks and the shape of the scales."""
    shape, options, block = _blocks(rng, usual)
    lengths, axis = list(shape), options.get("axis", -1)
    lengths[axis] = -(-lengths[axis] // block)
    codes = draw_codes(rng, element, shape)
    kwargs: dict[str, Any] = dict(options)
    if element.bits in (2, 4, 6) and rng.random() < 0.3:
        kwargs |= {"packed": True, "shape": shape}
        return codes, place(rng, packed_bytes(codes, element.bits), np.uint8, layout="C"), kwargs, tuple(lengths)
    placed = place(rng, codes, element.dtype)
    return placed.codes, placed, kwargs, tuple(lengths)


def mx_dequantize(rng: Rng) -> Call:
    """Draw a call of `mx_dequantize`."""
    element = _ELEMENTS[int(rng.integers(len(_ELEMENTS)))]
    codes, x, kwargs, counts = _elements(rng, element, 32)
    if "packed" in kwargs:
        kwargs["source"] = element
    row = as_format("float8_e8m0fnu")
    scales = place(rng, draw_codes(rng, row, counts), row.dtype if rng.random() < 0.7 else np.uint8)
    target = _FLOATS[int(rng.integers(3))]
    where = {name: kwargs[name] for name in ("axis", "block_size") if name in kwargs}
    found = reference.mx_values(codes, scales.codes, element, output_dtype=target, **where)
    args = (x.array, scales.array)
    expected = [Expected(found, target.dtype)]
    return Call(lp.mx_dequantize, args, kwargs | {"output_dtype": target}, [x, scales], expected, elements=codes.size)


def nvfp4_dequantize(rng: Rng) -> Call:
    """Draw a call of `nvfp4_dequantize`."""
    codes, x, kwargs, counts = _elements(rng, as_format("float4_e2m1fn"), 16)
    row = as_format("float8_e4m3fn")
    drawn = draw_codes(rng, row, counts)
    where = {name: kwargs[name] for name in ("axis", "block_size") if name in kwargs}
    whole = _global_scale(rng)
    target = _FLOATS[int(rng.integers(3))]
    scales = place(rng, drawn, row.dtype if rng.random() < 0.7 else np.uint8)
    found = reference.nvfp4_values(codes, scales.codes, whole, output_dtype=target, **where)
    args = (x.array, scales.array, whole)
    expected = [Expected(found, target.dtype)]
    return Call(
        lp.nvfp4_dequantize, args, kwargs | {"output_dtype": target}, [x, scales], expected, elements=codes.size
    )
