"""ONNX's type tables, inputs that reach every rule, and comparisons for QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import lowprec as lp
from lowprec.conformance import cast_inputs
from lowprec.reference.exact_quantize import precision_of
from lowprec.reference.whole_arrays import array_values, broadcast, dequantized, quantized
from lowprec.spec.formats import Format, as_format
from support.paths import table

VERSIONS = (10, 13, 19, 21, 23, 24, 25, 28)
FLOAT32 = as_format("float32")
PRECISIONS = [as_format(name) for name in ("float16", "bfloat16", "float32", "float64")]

_TABLE = table(__file__)


class Types(NamedTuple):
    """The types of one call: `x`, scale, and the result (quantize) or nothing (dequantize: the scale's is taken)."""

    x: Format
    scale: Format
    y: Format


def _formats(names: str) -> list[Format]:
    words = " ".join(_TABLE["groups"].get(name, name) for name in names.split())
    return [as_format(name.upper()) for name in words.split()]


def type_table(operator: str, version: int) -> list[Types]:
    """Return every combination of types that ONNX's own schema of that version allows."""
    x, scale, *y = map(_formats, _TABLE[operator][str(version)])
    pairs = list(itertools.product(x, scale) if scale else zip(x, x, strict=True))
    return [Types(a, b, c) for a, b in pairs for c in y[0]] if y else [Types(a, b, b) for a, b in pairs]


def generator(*salt: object) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(salt).encode()))


def put(x: np.ndarray, fmt: Format) -> np.ndarray:
    """Return float64 values as a NumPy array of the format, rounded as NumPy does: any value is an input."""
    with np.errstate(all="ignore"):
        if fmt.is_integer:
            return np.clip(np.where(np.isnan(x), 0, np.rint(x)), fmt.min, fmt.max).astype(np.int64).astype(fmt.dtype)
        return x.astype(fmt.dtype)


def codes(array: np.ndarray, fmt: Format) -> np.ndarray:
    """Return the codes in an array of the format, which must have its dtype, and no bits above a narrow code."""
    assert array.dtype == lp.storage_dtype(fmt, np), (array.dtype, fmt)
    return np.asarray(array).view(fmt.code_dtype)


SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 3e9, -3e9, 1e-45, -1e-40, 3.4e38, -3.4e38, 65520.0, 6e-8)


def draw_scale(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...], *, odd: float = 0.1) -> np.ndarray:
    """Draw scales: ordinary ones, some exact, and with probability `odd` zero, negative, subnormal, Inf, NaN, huge."""
    if not fmt.has_zero and fmt.is_float:
        found = rng.integers(-6, 7, shape) + fmt.bias
        extreme = rng.choice([0, 1, 60, 200, fmt.code_mask - 1, fmt.code_mask], shape)
        return np.asarray(np.where(rng.random(shape) < odd, extreme, found)).astype(np.uint8).view(fmt.dtype)
    if fmt.is_integer:
        found = rng.integers(1, 20, shape)
        extreme = rng.choice([0, -1, -7, fmt.max, fmt.min, 2**24 + 1, 10**9 + 7], shape)
        return np.asarray(np.where(rng.random(shape) < odd, extreme, found)).astype(fmt.dtype)
    plain = np.exp2(rng.uniform(-6, 6, shape))
    exact = rng.choice([0.5, 1.0, 2.0, 0.1, 3.0, 1 / 3], shape)
    found = np.where(rng.random(shape) < 0.5, plain, exact)
    extreme = rng.choice([*SPECIAL, -1.0, -0.3, fmt.smallest_subnormal, -fmt.smallest_normal, fmt.max], shape)
    return put(np.asarray(np.where(rng.random(shape) < odd, extreme, found)), fmt)


def odd_scales(rng: np.random.Generator, shape: tuple[int, ...], plain: bool) -> np.ndarray:
    """Draw positive scales of every size, mantissas of 1 alone among them; unless `plain`, any others between."""
    mantissa = np.where(rng.random(shape) < 0.1, 2 - 2.0**-23, rng.uniform(1, 2, shape))
    exponents = rng.integers(-58, 58, shape) if plain else rng.integers(-64, 64, shape)
    found = np.ldexp(mantissa, np.where(rng.random(shape) < 0.5, exponents, exponents % 4)).astype(np.float32)
    return found if plain else np.where(rng.random(shape) < 0.9, found, draw_scale(rng, FLOAT32, shape, odd=0.9))


def draw_x(rng: np.random.Generator, fmt: Format, scale: np.ndarray, target: Format) -> np.ndarray:
    """Draw inputs of QuantizeLinear for the scale of every element: over the range, on and next to ties, special."""
    shape = scale.shape
    top = float(target.max) * 1.2 + 1
    reach = rng.choice([1.0, 8.0, top, 4 * top], shape)
    wanted = rng.uniform(-1, 1, shape) * reach
    step = rng.choice([1.0, 0.5, 2.0**-4], shape)
    ties = np.where(rng.random(shape) < 0.5, np.round(wanted / step) * step + step / 2, wanted)
    with np.errstate(all="ignore"):
        x = put(ties * np.where(np.isfinite(scale) & (scale != 0), scale, 1.0), fmt)
    if fmt.is_float:
        near = x.view(fmt.code_dtype) + rng.integers(-1, 2, shape).astype(fmt.code_dtype)
        x = np.where(rng.random(shape) < 0.3, near, x.view(fmt.code_dtype)).astype(fmt.code_dtype).view(fmt.dtype)
    special = put(rng.choice(SPECIAL, shape), fmt)
    return np.asarray(np.where(rng.random(shape) < 0.1, special, x)).astype(fmt.dtype)


def draw_codes(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...]) -> np.ndarray:
    """Draw any codes of a format, as a NumPy array of it."""
    found = rng.integers(0, 1 << fmt.bits, shape, np.uint64)
    edges = rng.choice(np.array([0, fmt.max_code, fmt.sign_mask, fmt.code_mask], np.uint64), shape)
    drawn = np.asarray(np.where(rng.random(shape) < 0.2, edges, found)).astype(fmt.code_dtype)
    return drawn.view(fmt.dtype)


def draw_zero_point(rng: np.random.Generator, fmt: Format, shape: tuple[int, ...]) -> np.ndarray:
    """Draw zero points: any code, extremes among them; zero for 8-bit floats."""
    if fmt.is_float and fmt.bits == 8:
        return np.zeros(shape, fmt.code_dtype).view(fmt.dtype)
    return draw_codes(rng, fmt, shape)


def _marks(fmt: Format) -> np.ndarray:
    """Return the quotients at which the target changes its mind, of both signs."""
    if fmt.is_float:
        marks = cast_inputs.landmarks(fmt)
        return np.concatenate([marks, -marks, [3e9, -3e9, 1e38, -1e38]])
    edges = [0, fmt.min, fmt.max]
    near = np.concatenate([np.arange(edge - 6, edge + 6.5, 0.5) for edge in edges])
    rng = generator("marks", fmt)
    halves = rng.integers(fmt.min, fmt.max + 1, 150) + 0.5
    return np.concatenate([near, halves, [3e9, -3e9, 1e38, -1e38, 2.0**31, -(2.0**31), 2.0**53, 2.0**63]])


def _scales(fmt: Format) -> np.ndarray:
    """Return scales of a format: exact and inexact, negative, subnormal, the largest, zero, Inf, NaN."""
    if fmt.is_integer:
        plain = np.array([1, 2, 3, 7, 10, 255, 1000, -1, -3, 0, 2**24 + 1, 2**31 - 1, -(2**31)], np.int64)
        return plain.astype(fmt.dtype)
    if not fmt.has_zero:
        return np.array([0, 1, 100, 120, 126, 127, 128, 130, 150, 200, 253, 254, 255], np.uint8).view(fmt.dtype)
    numbers = [1, 2, 0.5, 0.1, 3, 1 / 3, 0.7, 10, 255, 2.0**-10, 1e-3, -1, -0.3, 0.0, -0.0, np.inf, -np.inf, np.nan]
    numbers += [-np.nan, fmt.max, fmt.max / 3, fmt.smallest_subnormal, 3 * fmt.smallest_subnormal, -fmt.smallest_normal]
    drawn = np.exp2(generator("scales", fmt).uniform(-8, 8, 12))
    return put(np.concatenate([numbers, drawn]), fmt)


def _neighbours(x: np.ndarray, fmt: Format) -> np.ndarray:
    """Return the values, and one and two steps to both sides of each."""
    steps = np.arange(-2, 3)
    if fmt.is_integer:
        wide = x.astype(np.int64)[..., None] + steps
        return np.clip(wide, fmt.min, fmt.max).astype(fmt.dtype).reshape(*x.shape[:-1], -1)
    unsigned = x.view(fmt.code_dtype)[..., None] + steps.astype(fmt.code_dtype)
    return unsigned.reshape(*x.shape[:-1], -1).view(fmt.dtype)


def tie_inputs(types: Types) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs of QuantizeLinear at and next to every boundary of the target, one row a scale."""
    scale = _scales(types.scale)
    factor = array_values(scale, types.scale)
    with np.errstate(all="ignore"):
        x = put(_marks(types.y) * np.where(np.isfinite(factor) & (factor != 0), factor, 1.0)[:, None], types.x)
    special = np.broadcast_to(put(np.array(SPECIAL), types.x), (len(scale), len(SPECIAL)))
    return np.concatenate([_neighbours(x, types.x), special], axis=1), scale


def granularities(shape: tuple[int, ...], version: int) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
    """Yield the shape of the scale and the options of every granularity that the version has."""
    yield (), {}
    yield (1,), {}
    for axis in range(-len(shape), len(shape)) if version >= 13 else ():
        yield (shape[axis],), {"axis": axis}
        length = shape[axis]
        for block in sorted({1, 2, max(1, length - 1), length, length + 3}) if version >= 21 else ():
            place = axis % len(shape)
            blocks = -(-length // block)
            yield (*shape[:place], blocks, *shape[place + 1 :]), {"axis": axis, "block_size": block}


def expect_quantized(
    x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, types: Types, options: dict[str, Any]
) -> np.ndarray:
    """Return the codes that QuantizeLinear gives by the oracle, from the arguments of the call."""
    axis, block = options.get("axis", 1), options.get("block_size", 0)
    factor = broadcast(array_values(scale, types.scale), x.shape, axis, block)
    offset = None if zero_point is None else broadcast(array_values(zero_point, types.y), x.shape, axis, block)
    precision = options.get("precision") or precision_of(types.scale)
    rules = {name: options[name] for name in ("saturate", "opset") if name in options}
    return quantized(array_values(x, types.x), factor, offset, types.y, precision=precision, **rules)


def expect_dequantized(
    x: np.ndarray, scale: np.ndarray, zero_point: np.ndarray | None, types: Types, options: dict[str, Any]
) -> np.ndarray:
    """Return the codes that DequantizeLinear gives by the oracle, from the arguments of the call."""
    axis, block = options.get("axis", 1), options.get("block_size", 0)
    factor = broadcast(array_values(scale, types.scale), x.shape, axis, block)
    offset = None if zero_point is None else broadcast(array_values(zero_point, types.x), x.shape, axis, block)
    unsigned = np.asarray(x).view(types.x.code_dtype)
    return dequantized(unsigned, factor, offset, types.x, output_dtype=options.get("output_dtype") or types.scale)


class Case(NamedTuple):
    """The arrays of a call, and the codes of its result by the oracle."""

    x: np.ndarray
    scale: np.ndarray
    zero_point: np.ndarray | None
    expected: np.ndarray


def quantize_case(
    rng: np.random.Generator, types: Types, shape: tuple[int, ...], scale_shape: tuple[int, ...],
    options: dict[str, Any], *, zero_point: bool = True,
) -> Case:  # fmt: skip
    """Draw a call of QuantizeLinear."""
    scale = draw_scale(rng, types.scale, scale_shape)
    factor = broadcast(array_values(scale, types.scale), shape, options.get("axis", 1), options.get("block_size", 0))
    x = draw_x(rng, types.x, factor, types.y)
    zero = draw_zero_point(rng, types.y, scale_shape) if zero_point else None
    return Case(x, scale, zero, expect_quantized(x, scale, zero, types, options))


def dequantize_case(
    rng: np.random.Generator, types: Types, shape: tuple[int, ...], scale_shape: tuple[int, ...],
    options: dict[str, Any], *, zero_point: bool = True,
) -> Case:  # fmt: skip
    """Draw a call of DequantizeLinear; codes of 32 bits have no zero point."""
    scale, x = draw_scale(rng, types.scale, scale_shape), draw_codes(rng, types.x, shape)
    zero = draw_zero_point(rng, types.x, scale_shape) if zero_point and types.x.bits < 32 else None
    return Case(x, scale, zero, expect_dequantized(x, scale, zero, types, options))
