"""Values of quantized weights: codes times scales, some rows at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...ops.codes import decode
from ...ops.quantize import dequantize_linear
from ...spec.formats import FLOAT32, UINT4, UINT8, Format
from .packing import swap_nibbles, unpack_words
from .scheme import GlobalScale, Packing, Scheme

__all__ = ["Parameters", "dequantize"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Parameters:
    """What some rows of codes are read with: codes of scales, one row to each row; zero points; a second scale."""

    scales: Array
    zero_points: Array | None = None
    global_scale: np.float32 | None = None

    def factors(self, scheme: Scheme) -> tuple[Array, Format]:
        """Return the scales that the codes are multiplied by, as codes of a format, and that format."""
        if self.global_scale is None or scheme.global_scale is GlobalScale.NONE:
            return self.scales, scheme.scale
        factors = np.asarray(decode(self.scales, scheme.scale, to=np.float32))
        with np.errstate(all="ignore"):
            if scheme.global_scale is GlobalScale.INVERSE:
                return np.divide(factors, self.global_scale, out=factors), FLOAT32
            return np.multiply(factors, self.global_scale, out=factors), FLOAT32


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
        packed = scheme.bits == 4 and out.shape[1] % 8 == 0  # a row of words is then a row of packed uint4
        fmt = UINT4 if packed else UINT8
        codes = codes if packed else unpack_words(codes, scheme.bits, out.shape[1])
        zero = 1 << (scheme.bits - 1) if zero is None else zero
    if isinstance(zero, np.ndarray):
        zero = np.ascontiguousarray(zero).view(fmt.dtype)
    codes = codes.reshape(-1) if packed else codes.reshape(-1).view(fmt.code_dtype).reshape(out.shape)
    dequantize_linear(
        codes, np.ascontiguousarray(scale).view(scale_format.dtype), zero, source=fmt, axis=0 if scale.ndim == 1 else 1,
        block_size=block, output_dtype=out.dtype, packed=packed, shape=out.shape if packed else None, out=out,
    )  # fmt: skip
    return out
