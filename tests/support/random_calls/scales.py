"""Random calls that find scales, and of DynamicQuantizeLinear, with the answers of fractions and of the oracle."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import reference
from lowprec.reference.philox import random_words
from lowprec.spec.formats import FLOAT32, Format, as_format
from lowprec.spec.rounding_modes import slot_bits
from lowprec.spec.scale_rules import SCALE_RULES
from support.exact_scales import finite, grouped, scale_code
from support.random_calls.calls import Call, Expected
from support.random_calls.memory import Array, place
from support.random_calls.values import FORMATS, draw_codes, draw_shape

__all__ = ["absmax_scale", "dynamic_quantize_linear", "minmax_scale", "stochastic_bits"]

Rng = np.random.Generator
_FEW = 200
_TARGETS = tuple(fmt for fmt in FORMATS if fmt.signed and fmt.has_zero and fmt.bits <= 16)
_INTEGERS = tuple(fmt for fmt in FORMATS if fmt.is_integer and fmt.bits <= 16)
_SOURCES = tuple(fmt for fmt in FORMATS if (fmt.is_float or fmt.is_integer) and fmt.has_zero and fmt.name != "bool")
_SCALES = tuple(as_format(name) for name in ("float32", "float16", "bfloat16", "float8_e8m0fnu"))


def _granularity(rng: Rng, shape: tuple[int, ...]) -> tuple[dict[str, Any], tuple[int, ...]]:
    """Return the options of a granularity, and the shape of its scales."""
    choice = rng.random()
    if choice < 0.3 or not shape or 0 in shape:
        return {}, ()
    axis = int(rng.integers(-len(shape), len(shape)))
    if choice < 0.5:
        return {"axis": axis}, (shape[axis],)
    block = int(rng.choice([1, 2, 3, 16, 32, 300]))
    counts = list(shape)
    counts[axis] = -(-shape[axis] // block)
    if choice < 0.8 or len(shape) < 2:
        return {"axis": axis, "block_size": block}, tuple(counts)
    second = (axis + int(rng.integers(1, len(shape)))) % len(shape)
    other = int(rng.choice([1, 2, 5, 16]))
    counts[second] = -(-shape[second] // other)
    return {"axis": (axis, second), "block_size": (block, other)}, tuple(counts)


def _drawn(rng: Rng) -> tuple[Any, Array, Array, dict[str, Any], tuple[int, ...]]:
    """Return a placed array, its finite elements as fractions, which scale each has, options, and their shape."""
    fmt, shape = _SOURCES[int(rng.integers(len(_SOURCES)))], draw_shape(rng, most=_FEW)
    codes = draw_codes(rng, fmt, shape)
    if fmt.is_float and fmt.bits >= 16 and rng.random() < 0.6:
        with np.errstate(all="ignore"):
            size = np.exp2(rng.uniform(-160, 120)) if rng.random() < 0.5 else 1.0
            codes = np.asarray(rng.normal(size=shape) * size).astype(fmt.dtype).view(fmt.code_dtype)
    x = place(rng, codes, fmt.dtype)
    options, counts = _granularity(rng, shape)
    axis, block = options.get("axis"), options.get("block_size", 0)
    numbers = np.zeros(shape, int)
    if isinstance(axis, tuple):
        numbers = grouped(shape, tuple(one % len(shape) for one in axis), block)
    elif axis is not None:
        numbers = grouped(shape, axis % len(shape), block)
    return x, finite(np.ascontiguousarray(x.codes).view(fmt.dtype), fmt), numbers, options, counts


def absmax_scale(rng: Rng) -> Call:
    """Draw a call of `absmax_scale`."""
    x, values, numbers, options, counts = _drawn(rng)
    to, fmt = _TARGETS[int(rng.integers(len(_TARGETS)))], _SCALES[int(rng.integers(len(_SCALES)))]
    rule = "floor"
    if not fmt.has_zero and rng.random() < 0.7:
        rule = options["scale_rule"] = str(rng.choice(SCALE_RULES))
    largest = [Fraction(0)] * math.prod(counts)
    for value, number in zip(values.reshape(-1), numbers.reshape(-1), strict=True):
        largest[number] = max(largest[number], abs(value))
    codes = np.array([scale_code(a, to, fmt, rule) for a in largest], fmt.code_dtype).reshape(counts)
    kwargs = options | {"scale_format": fmt}
    return Call(lp.absmax_scale, (x.array, to), kwargs, [x], [Expected(codes, fmt.dtype)], elements=x.codes.size)


def _single(value: Fraction) -> tuple[Fraction, int]:
    """Return a number rounded to float32, the largest one where it is beyond, and its code."""
    code = reference.encode(value, FLOAT32)
    found = reference.decode(code, FLOAT32)
    if found.special:
        code = FLOAT32.max_code | (FLOAT32.sign_mask if found.negative else 0)
        found = reference.decode(code, FLOAT32)
    return found.number, code


def _range_of(low: Fraction, high: Fraction, to: Format) -> tuple[int, int]:
    """Return the codes of a scale and a zero point by the operator's function body, one rounding a step."""
    infinite = any(reference.decode(reference.encode(end, FLOAT32), FLOAT32).special for end in (low, high))
    (least, _), (most, _) = _single(low), _single(high)
    full = most - least
    beyond = infinite or bool(reference.decode(reference.encode(full, FLOAT32), FLOAT32).special)
    scale, code = _single(_single(full)[0] / (int(to.max) - int(to.min)))
    if beyond:
        scale, code = reference.decode(FLOAT32.max_code, FLOAT32).number, FLOAT32.max_code
    if not scale:
        return reference.encode(1, FLOAT32), 0
    start = _single(int(to.min) - _single(least / scale)[0])[0]
    zero = min(max(round(start), int(to.min)), int(to.max))
    return code, zero & to.code_mask


def minmax_scale(rng: Rng) -> Call:
    """Draw a call of `minmax_scale`."""
    x, values, numbers, options, counts = _drawn(rng)
    to = _INTEGERS[int(rng.integers(len(_INTEGERS)))]
    ends = [[Fraction(0), Fraction(0)] for _ in range(math.prod(counts))]
    for value, number in zip(values.reshape(-1), numbers.reshape(-1), strict=True):
        ends[number] = [min(ends[number][0], value), max(ends[number][1], value)]
    if any(abs(end) >= Fraction(2) ** 127 for pair in ends for end in pair):  # an end beyond float32 is not documented
        return minmax_scale(rng)
    found = [_range_of(low, high, to) for low, high in ends]
    scale = np.array([code for code, _ in found], np.uint32).reshape(counts)
    zero = np.array([code for _, code in found], to.code_dtype).reshape(counts)
    expected = [Expected(scale, np.dtype(np.float32)), Expected(zero, to.dtype)]
    return Call(lp.minmax_scale, (x.array, to), options, [x], expected, elements=x.codes.size)


def dynamic_quantize_linear(rng: Rng) -> Call:
    """Draw a call of `dynamic_quantize_linear`."""
    shape = draw_shape(rng, most=_FEW)
    shape = tuple(max(length, 1) for length in shape)
    codes = draw_codes(rng, FLOAT32, shape)
    if rng.random() < 0.8:
        size = np.exp2(rng.uniform(-140, 120)) if rng.random() < 0.4 else 1.0
        codes = np.asarray((rng.normal(size=shape) * size).astype(np.float32)).view(np.uint32)
    x = place(rng, codes, np.float32)
    values = [reference.decode(int(code), FLOAT32) for code in x.codes.reshape(-1)]
    found, scale, zero = reference.dynamic_quantize(values)
    expected = [
        Expected(np.array(found, np.uint8).reshape(shape), np.dtype(np.uint8)),
        Expected(np.array(reference.encode(scale, FLOAT32), np.uint32), np.dtype(np.float32)),
        Expected(np.array(zero, np.uint8), np.dtype(np.uint8)),
    ]
    return Call(lp.dynamic_quantize_linear, (x.array,), {}, [x], expected, elements=x.codes.size)


def stochastic_bits(rng: Rng) -> Call:
    """Draw a call of `stochastic_bits`."""
    seed, bits, shape = int(rng.integers(1 << 64, dtype=np.uint64)), int(rng.integers(1, 33)), draw_shape(rng)
    offset = int(rng.choice([0, 1, 2, 3, 15, 2**32 - 2, 2**34 + 1, 2**62]))
    dtype = np.dtype(f"u{slot_bits(bits) // 8}")
    found = random_words(seed, offset, math.prod(shape), bits).astype(dtype).reshape(shape)
    kwargs = {"bits": bits, "offset": offset}
    return Call(lp.stochastic_bits, (seed, shape), kwargs, [], [Expected(found, dtype)], elements=found.size)
