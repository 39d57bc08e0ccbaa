"""Ways to store a weight that keep every value of another: FP8 tiles of FP4 groups, wider scales, FP8 of MI300.

A group of FP4 codes with a scale 2^s has values fp4 * 2^s. A tile of FP8 codes takes the scale t = 2^(max s - 6): codes
are fp4 * 2^(s - max s) * 64, at most 384. The smallest of them is 0.5 * 2^(s - max s + 6), which float8_e4m3fn has down
to 2^-9: all codes of a tile are exact where its scales span at most 2^14. Groups of zeros have no say.

Source: DeepSeek-V4 inference/convert.py, whose bytes these are where no group of zeros has a tile's largest scale.

A code of float8_e4m3fnuz has half the value of the same code of float8_e4m3fn, but for three: 80 is NaN instead of -0,
and 7F and FF are numbers, 240 and -240, instead of NaN. float8_e5m2fnuz and float8_e5m2 are such a pair too.

Source: vLLM, normalize_e4m3fn_to_e4m3fnuz; ONNX, "Float stored in 8 bits".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ...ops.encode_pack import decode, encode
from ...ops.quantize_linear import quantize_linear
from ...spec.formats import (
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E4M3FNUZ,
    FLOAT8_E5M2,
    FLOAT8_E5M2FNUZ,
    FLOAT8_E8M0FNU,
    FLOAT32,
    Format,
)
from .scale_grid import Grid
from .scheme import Packing, Scheme

__all__ = [
    "FN", "FNUZ", "STEPS", "LosslessStep", "ScaleError", "cast_scales", "code_map", "group_errors", "holds",
    "is_relabelled", "is_tiled", "multiply_scales", "requantize", "tile_codes", "tile_scales",
]  # fmt: skip

Array = np.ndarray[Any, Any]

HEADROOM = 6
"""The exponent of 64: 6 * 64 is 384, 6 * 128 were more than 448, the largest value of float8_e4m3fn."""

SMALLEST_EXPONENT = 1
"""The code of 2^-126: a smaller scale were a subnormal float32. Tiles that would have one need less headroom."""

MAGNITUDES = np.uint64(0x7777777777777777)
"""The bits of sixteen FP4 codes that are not signs."""

FNUZ = {FLOAT8_E4M3FN: FLOAT8_E4M3FNUZ, FLOAT8_E5M2: FLOAT8_E5M2FNUZ}
"""The formats of MI300 for those of OCP."""

FN = {fnuz: fn for fn, fnuz in FNUZ.items()}
"""The formats of OCP for those of MI300."""


def holds(fmt: Format, other: Format) -> bool:
    """Whether a format has every value that is no NaN of another one; both are floats, signed or not."""
    if any(getattr(other, name) and not getattr(fmt, name) for name in ("signed", "has_zero", "has_inf")):
        return False
    smallest = fmt.emin - (fmt.mantissa_bits if fmt.has_zero else 0)
    last = other.emin - (other.mantissa_bits if other.has_zero else 0)
    return fmt.mantissa_bits >= other.mantissa_bits and fmt.max >= other.max and smallest <= last


def is_relabelled(source: Scheme, target: Scheme, shape: tuple[int, int]) -> bool:
    """Whether the codes of a matrix can be copied, since the schemes differ in the format of the scales at most."""
    if target.powers_of_two and not (source.powers_of_two or source.scale == FLOAT8_E8M0FNU):
        return False
    grid, powers = _fitted(source.grid, shape), target.powers_of_two
    same = replace(source, scale=target.scale, grid=grid, powers_of_two=powers)
    return same == replace(target, grid=_fitted(target.grid, shape)) and holds(target.scale, source.scale)


def _fitted(grid: Grid, shape: tuple[int, int]) -> Grid:
    """Return a grid in the one way, of several, in which its groups of a matrix can be said."""
    return Grid(*grid.extent(shape)) if grid.period in (0, shape[0]) else grid


def is_tiled(source: Scheme, target: Scheme, shape: tuple[int, int]) -> bool:
    """Whether FP4 groups with scales that are powers of two become FP8 tiles, or rows, of whole groups."""
    is_mxfp4 = source == Scheme(FLOAT4_E2M1FN, Packing.LOW_FIRST, FLOAT8_E8M0FNU, source.grid)
    is_fp8 = replace(target, powers_of_two=False) == Scheme(FLOAT8_E4M3FN, Packing.NONE, target.scale, target.grid)
    width = source.grid.columns
    if not is_mxfp4 or not is_fp8 or source.grid.rows != 1 or width == 0 or width % 16:
        return False
    return target.grid.rows >= 1 and target.grid.columns % width == 0 and holds(target.scale, FLOAT8_E8M0FNU)


def tile_scales(codes: Array, scales: Array, source: Scheme, target: Scheme) -> Array:
    """Return the scales of tiles, as codes of `target.scale`: a row and a column to each tile.

    Parameters
    ----------
    codes : numpy.ndarray
        uint8, two FP4 codes to a byte: a row of bytes to each row of the weight, whole tiles of rows but at its end.
    scales : numpy.ndarray
        Codes of float8_e8m0fnu: a row to each row of the weight, a column to each group.
    source, target : Scheme
        A pair for which `is_tiled` is true.
    """
    width, grid = source.grid.columns, target.grid
    missing = -codes.shape[1] % (width // 2)
    whole = np.pad(codes, ((0, 0), (0, missing))) if missing else np.ascontiguousarray(codes)
    words = whole.view(np.uint64).reshape(*scales.shape, width // 16)
    used = np.bitwise_or.reduce(words & MAGNITUDES, axis=2) != 0
    exponents = np.where(used, scales, 0)
    across = grid.columns // width or scales.shape[1]
    exponents = np.maximum.reduceat(exponents, np.arange(0, scales.shape[1], across), axis=1)
    exponents = np.maximum.reduceat(exponents, np.arange(0, len(scales), grid.rows), axis=0)
    exponents = np.maximum(exponents.astype(np.int16) - HEADROOM, SMALLEST_EXPONENT).astype(np.uint8)
    return cast_scales(exponents, FLOAT8_E8M0FNU, target.scale)


def tile_codes(values: Array, scales: Array, target: Scheme) -> Array:
    """Return codes of float8_e4m3fn, a byte each, of rows of finite float32 values over the scales of their tiles."""
    grid = target.grid
    spread = np.repeat(scales, grid.rows, axis=0)[: len(values)] if grid.rows > 1 else scales
    factors = np.asarray(decode(np.ascontiguousarray(spread), target.scale, to=np.float32))
    axis, block = (1, grid.columns) if grid.columns else (0, 0)
    factors = factors if block else factors[:, 0]
    codes = quantize_linear(values, factors, axis=axis, block_size=block, output_dtype=target.codes)
    return np.asarray(codes).view(np.uint8)


def cast_scales(scales: Array, fmt: Format, to: Format) -> Array:
    """Return codes of `to` with the values of codes of `fmt`, all of which it has, as `holds` says."""
    if fmt == to:
        return scales
    values = np.asarray(decode(np.ascontiguousarray(scales), fmt, to=np.float32))
    return values.view(np.uint32) if to == FLOAT32 else np.asarray(encode(values, to)).view(to.code_dtype)


def group_errors(values: Array, back: Array, grid: Grid) -> Array:
    """Return the largest error in each group of a grid, float32; 0 is the proof that the group is exact.

    Parameters
    ----------
    values, back : numpy.ndarray
        Rows of a weight, and the same rows as they are read after a step; float32. NaN for NaN is exact.
    grid : Grid
        Its groups of rows and columns.
    """
    high, wide = grid.rows or len(values), grid.columns or values.shape[1]
    if np.array_equal(values, back):
        return np.zeros((-(-len(values) // high), -(-values.shape[1] // wide)), np.float32)
    with np.errstate(invalid="ignore"):
        errors = np.subtract(values, back)
    np.abs(errors, out=errors)
    errors[(values == back) | (np.isnan(values) & np.isnan(back))] = 0
    rows = np.maximum.reduceat(errors, np.arange(0, values.shape[1], wide), axis=1)
    groups: Array = np.maximum.reduceat(rows, np.arange(0, len(values), high), axis=0)
    return groups


class ScaleError(ValueError):
    """A scale is not what the scheme says."""


class LosslessStep(NamedTuple):
    """A step from one scheme to another that keeps every value of a weight, and never goes through rounded values.

    Attributes
    ----------
    fits : callable
        Takes both schemes, and the rows and columns of a matrix; returns whether there is such a step.
    convert : callable
        Takes rows of bytes of codes; their scales, a row to each row; the products of both in float32, all finite; and
        both schemes. Returns scales, a row and a column to each, and rows of bytes of codes. Raises ScaleError.
    """

    fits: Callable[[Scheme, Scheme, tuple[int, int]], bool]
    convert: Callable[[Array, Array, Array, Scheme, Scheme], tuple[Array, Array]]


def _relabel(codes: Array, scales: Array, values: Array, source: Scheme, target: Scheme) -> tuple[Array, Array]:
    """Copy the codes; give scales a format that has their values."""
    kept = scales[:: target.grid.rows or len(scales)]
    if target.powers_of_two and (kept & source.scale.mantissa_mask).any():
        raise ScaleError("has a scale that is no power of two, although its configuration says ue8m0")
    return cast_scales(kept, source.scale, target.scale), codes


def _tile(codes: Array, scales: Array, values: Array, source: Scheme, target: Scheme) -> tuple[Array, Array]:
    """Divide by the scales of tiles, powers of two."""
    scales = tile_scales(codes, scales, source, target)
    return scales, tile_codes(values, scales, target)


STEPS = (LosslessStep(is_relabelled, _relabel), LosslessStep(is_tiled, _tile))
"""The first that fits counts."""


@dataclass(frozen=True, eq=False, slots=True)
class CodeMap:
    """How codes of one format become codes of another.

    Attributes
    ----------
    codes : numpy.ndarray
        256 codes of the target.
    factor : float
        What scales are multiplied by, a power of two.
    nonfinite, beyond : numpy.ndarray
        256 truth values: the codes that are no numbers in the source but are in the target; those that are numbers for
        which the target has no code at that scale.
    """

    codes: Array
    factor: float
    nonfinite: Array
    beyond: Array


@lru_cache
def code_map(source: Format, target: Format) -> CodeMap:
    """Return how codes of a format become codes of its pair.

    −0 becomes 0 where the target has no −0, and the NaN of the formats of MI300 the canonical NaN of the target.
    """
    factor = 2.0 ** (target.bias - source.bias)
    before = np.array([source.value(code) for code in range(256)])
    after = np.array([target.value(code) for code in range(256)]) * factor
    codes = np.arange(256, dtype=np.uint8)
    codes[before == 0] &= 0xFF if target.has_negative_zero else target.magnitude_mask
    different = (before != after) & (before != 0)
    finite = np.isfinite(before)
    if source in FN and target.nan_code is not None:
        codes[~finite] = target.nan_code
    return CodeMap(codes, factor, different & ~finite & (source in FNUZ), different & finite)


def requantize(codes: Array, source: Format, target: Format) -> Array:
    """Return codes rounded to the target at the scale that they have; −0, NaN and range are those of Cast."""
    values = np.asarray(decode(codes, source, to=np.float32))
    return np.asarray(encode(values, target)).view(np.uint8)


def multiply_scales(scales: Array, fmt: Format, factor: float) -> tuple[Array, bool]:
    """Return scales times a power of two, as codes of their format, and whether that is exact for all of them."""
    products = np.asarray(decode(np.ascontiguousarray(scales), fmt, to=np.float64)) * factor
    codes = np.asarray(encode(products, fmt)).view(fmt.code_dtype)
    return codes, bool(np.array_equal(np.asarray(decode(codes, fmt, to=np.float64)), products))
