"""What codes with scales lose against the values that they were made of, whatever shares a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays.storage_dtypes import format_of
from ..ops.cast import cast
from ..ops.encode_pack import encode
from ..ops.quantize import QuantizedParts, parts_of
from ..ops.quantize_linear import dequantize_linear, quantize_linear
from ..ops.scales import absmax_scale
from ..ops.to_library import to_numpy
from ..spec.formats import FLOAT32, FLOAT64, Format
from ..spec.packing import packed_bytes
from ..spec.scalar_arguments import as_integer
from .beyond_range import saturates
from .error_stats import CHUNK, ErrorStats

__all__ = ["compare_quantized", "quantize_to_groups", "quantized_values", "stored_bytes"]

Array = np.ndarray[Any, Any]


def quantize_to_groups(x: Array, held: Format, to: Format, axis: Any, block_size: Any) -> tuple[QuantizedParts, Array]:
    """Quantize with float32 scales of largest magnitudes, and return the parts and their values in float32.

    The quotient is rounded to float32 and then to the format, as by `quantize_linear`; that of float64 once.
    """
    if not (to.signed and to.has_zero and (to.bits <= 16 if to.is_integer else to.is_float and to.bits <= 8)):
        wanted = "a signed integer of 2 to 16 bits, or a signed float of up to 8, where elements share a scale"
        raise ValueError(f"`to` must be {wanted}; got {to.name}")
    wide = held == FLOAT64 or (held.is_integer and held.bits > 16)
    values = np.asarray(cast(x, FLOAT64 if wide else FLOAT32, source=held))
    axis = -1 if axis is None and as_integer(block_size) != 0 else axis
    scale = np.asarray(absmax_scale(values, to, axis=axis, block_size=block_size))
    parts = QuantizedParts(np.empty(x.shape, to.dtype), to, scale, FLOAT32, None, None, axis, block_size, "linear")
    how = {"axis": 1 if axis is None else axis, "block_size": block_size}
    if wide:
        codes = np.asarray(_quotient_codes(values, parts))
    else:
        codes = np.asarray(quantize_linear(values, scale, output_dtype=to, **how))
    back = np.asarray(dequantize_linear(codes, scale, source=to, **how))
    return parts._replace(codes=codes), back


def _quotient_codes(values: Array, parts: QuantizedParts) -> Array:
    """Return the codes of quotients in float64, rounded once; integers are clipped, NaN becomes the lower end."""
    to = parts.format
    with np.errstate(all="ignore"):
        quotient = values / parts.factors().astype(np.float64)
    if to.is_integer:
        whole = np.clip(np.rint(quotient), float(to.min), float(to.max))
        quotient = np.where(np.isnan(quotient), float(to.min), whole)
    return np.asarray(encode(quotient, to)).view(to.dtype)


def compare_quantized(x: Array, held: Format, parts: QuantizedParts, back: Array) -> ErrorStats:
    """Compare elements with their values, in float64, and count what lies beyond the range of the codes."""
    shape, found = x.shape, ErrorStats()
    factors, zeros = (np.broadcast_to(one, shape) for one in (parts.factors(), parts.zero_points()))
    exact = held == FLOAT64 or parts.scheme == "mx"
    values, others = x.reshape(-1), back.reshape(-1)
    for start in range(0, x.size, CHUNK):
        some = slice(start, start + CHUNK)
        chunk = np.asarray(cast(values[some], FLOAT64, source=held))
        found.add(chunk, np.asarray(others[some], np.float64))
        beyond = saturates(
            chunk, parts.format, factors.flat[some], zeros.flat[some], precision=FLOAT64 if exact else FLOAT32,
            symmetric=parts.is_fixed_point,
        )  # fmt: skip
        found.saturated += int(np.count_nonzero(beyond))
    return found


def stored_bytes(parts: QuantizedParts) -> int:
    """Return the bytes of packed codes, scales and zero points."""
    arrays = ((parts.codes, parts.format), *parts.operands)
    return sum(packed_bytes(array.size, fmt) for array, fmt in arrays)


def quantized_values(quantized: Any, parameter: str) -> tuple[QuantizedParts, Array]:
    """Return the parts of a quantized array, and its values in float32."""
    parts = parts_of(quantized, parameter)
    values = quantized.dequantize(to="float32")
    return parts, to_numpy(values, format_of(values.dtype))
