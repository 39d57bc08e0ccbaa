"""Codes times scales, and what quantized rows lose."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...loss.error_stats import ErrorStats, ScaledCodes, add_blocks, add_scaled
from ...ops.cast import cast
from ...ops.encode_pack import decode
from ...ops.quantize_linear import dequantize_linear
from ...spec.formats import FLOAT32, UINT4, UINT8, Format
from .packing import swap_nibbles, unpack_words
from .scheme import BlockType, GlobalScale, Packing, Scheme

__all__ = ["Parameters", "add_losses", "dequantize"]

Array = np.ndarray[Any, Any]

PART = 1 << 18
"""Elements of blocks that are decoded and compared at once: they stay in a core's cache."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """What some rows of codes are read with: codes of scales, one row to each row; zero points; a second scale.

    With `index`, rows of codes share rows of scales and of zero points: it has the number of each one's.
    """

    scales: Array
    zero_points: Array | None = None
    global_scale: np.float32 | None = None
    index: Array | None = None

    def columns(self, first: int = 0, last: int | None = None) -> Parameters:
        """Return those of some columns of groups, one row to each row of codes."""
        zeros = None if self.zero_points is None else self._columns(self.zero_points, first, last)
        return Parameters(self._columns(self.scales, first, last), zeros, self.global_scale)

    def _columns(self, x: Array, first: int, last: int | None) -> Array:
        some = x[:, first:last]
        return np.ascontiguousarray(some if self.index is None else some[self.index])

    def factors(self, scheme: Scheme) -> tuple[Array, Format]:
        """Return the scales that the codes are multiplied by, as codes of a format, and that format."""
        if self.global_scale is None or scheme.global_scale is GlobalScale.NONE:
            return self.scales, scheme.scale
        factors = np.asarray(decode(self.scales, scheme.scale, to=np.float32))
        with np.errstate(all="ignore"):
            if scheme.global_scale is GlobalScale.INVERSE:
                return np.divide(factors, self.global_scale, out=factors), FLOAT32
            return np.multiply(factors, self.global_scale, out=factors), FLOAT32


def scaled_codes(scheme: Scheme, codes: Array, parameters: Parameters, columns: int) -> ScaledCodes:
    """Return rows of codes, each of so many columns, as `dequantize_linear` takes them."""
    scale, scale_format = parameters.factors(scheme)
    zero: Any = parameters.zero_points
    block, fmt = scheme.grid.columns, scheme.codes
    if scale.shape[1] == 1:
        scale, block = scale[:, 0], 0
        zero = None if zero is None else zero[:, 0]
    packed = scheme.packing in (Packing.LOW_FIRST, Packing.HIGH_FIRST)
    if scheme.packing is Packing.HIGH_FIRST:
        codes = swap_nibbles(codes)
    if scheme.packing is Packing.WORDS:
        packed = scheme.bits == 4 and columns % 8 == 0  # a row of words is then a row of packed uint4
        fmt = UINT4 if scheme.bits == 4 else UINT8
        codes = codes if packed else unpack_words(codes, scheme.bits, columns)
        zero = 1 << (scheme.bits - 1) if zero is None else zero
    if isinstance(zero, np.ndarray):
        zero = np.ascontiguousarray(zero).view(fmt.dtype)
    if not packed:
        codes = codes.reshape(-1).view(fmt.code_dtype).reshape(-1, columns)
    scale = np.ascontiguousarray(scale).view(scale_format.dtype)
    return ScaledCodes(codes, fmt, scale, zero, 0 if scale.ndim == 1 else 1, block, packed)


def dequantize(scheme: Scheme, codes: Array, parameters: Parameters, out: Array) -> Array:
    """Multiply rows of codes by their scales.

    Products are rounded to float32, and then to the type of `out`, as in `dequantize_linear`.

    Parameters
    ----------
    scheme : Scheme
        What the codes are.
    codes : numpy.ndarray
        uint8, a row of bytes to each row of the weight.
    parameters : Parameters
        Theirs.
    out : numpy.ndarray
        float32, float16 or bfloat16, dense: a row to each row, a column to each column.
    """
    if scheme.blocks is not None:
        return _decode_blocks(scheme.blocks, scheme, codes, parameters, out)
    one = scaled_codes(scheme, codes, parameters, out.shape[1])
    dequantize_linear(
        one.codes.reshape(-1) if one.packed else one.codes, one.scale, one.zero_point, source=one.fmt, axis=one.axis,
        block_size=one.block_size, output_dtype=out.dtype, packed=one.packed, shape=out.shape if one.packed else None,
        out=out,
    )  # fmt: skip
    return out


def _decode_blocks(kind: BlockType, scheme: Scheme, codes: Array, parameters: Parameters, out: Array) -> Array:
    """Write the values of blocks, times a factor of their row if there is one."""
    values = out if out.dtype == np.float32 else np.empty(out.shape, np.float32)
    kind.decode(codes.reshape(-1, kind.nbytes), values.reshape(-1, kind.size))
    if parameters.scales.shape[1]:
        with np.errstate(all="ignore"):
            np.multiply(values, np.asarray(decode(parameters.scales, scheme.scale, to=np.float32)), out=values)
    if values is not out:
        cast(values, out.dtype, out=out)
    return out


def add_losses(stats: ErrorStats, x: Array, fmt: Format, scheme: Scheme, codes: Array, parameters: Parameters) -> bool:
    """Compare rows of a weight with what `dequantize` makes of their codes, and take in what was lost.

    Parameters
    ----------
    stats : ErrorStats
        Takes it in.
    x, fmt : numpy.ndarray, Format
        The rows, as unsigned codes of a float of up to 32 bits.
    scheme, codes, parameters
        As `dequantize` takes them; without zero points.

    Returns
    -------
    bool
        False where a block has a value that is not finite.
    """
    if scheme.blocks is None:
        add_scaled(stats, x, fmt, scaled_codes(scheme, codes, parameters, x.shape[1]))
        return True
    if scheme.blocks.decoder is None:
        return add_blocks(stats, scheme.blocks.name, x, fmt, codes)
    finite, step, kind = True, max(1, PART // x.shape[1]), scheme.blocks
    for start, first in itertools.product(range(0, len(x), step), range(0, x.shape[1], PART)):  # rows may be wide
        part = x[start : start + step, first : first + PART]
        at, stop = first // kind.size * kind.nbytes, (first + part.shape[1]) // kind.size * kind.nbytes
        blocks = np.ascontiguousarray(codes[start : start + step, at:stop])
        values = part.view(np.float32) if fmt == FLOAT32 else np.asarray(decode(part, fmt, to=np.float32))
        back = np.empty(part.shape, np.float32)
        kind.decode(blocks.reshape(-1, kind.nbytes), back.reshape(-1, kind.size))
        stats.add(values.reshape(-1), back.reshape(-1))
        finite = finite and bool(np.isfinite(back).all())
    return finite
