"""Quantizing a weight chunk by chunk, by the rules of a preset, with error statistics."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...loss.error_stats import ErrorStats, count_beyond
from ...ops.codes import decode
from ...ops.scales import largest_magnitudes
from ...spec.formats import FLOAT32
from ..arithmetic.chunk_arithmetic import Arithmetic, Array, SourceBytes
from ..arithmetic.chunks import Chunk
from ..files.errors import FileError
from ..planning.weights_to_quantize import QuantizedWeight
from ..schemes.dequantize import Parameters, dequantize
from ..schemes.llm_compressor import code_format, has_nonfinite, quantize
from ..schemes.scheme import Scheme

__all__ = ["largest_magnitude", "quantize_chunk", "quantize_chunks"]

PART = 1 << 18
"""Elements that are quantized at once: they stay in a core's cache."""


def quantize_chunks(weight: QuantizedWeight, nbytes: int) -> Iterator[Chunk]:
    """Cut a weight into chunks of about `nbytes`, of whole blocks of rows."""
    rows, columns = weight.tensor.shape
    for first in range(0, rows, step := _step(weight, nbytes // weight.fmt.code_dtype.itemsize)):
        yield Chunk(first * columns, (1, min(step, rows - first), columns), 0)


def _step(weight: QuantizedWeight, elements: int) -> int:
    """Return how many rows have about so many elements, a multiple of the rows of a block."""
    unit = max(1, weight.scheme.grid.rows)
    return max(unit, elements // weight.tensor.shape[1] // unit * unit)


def largest_magnitude(weight: QuantizedWeight, source: SourceBytes, chunk: Chunk) -> float:
    """Return the largest magnitude of a chunk."""
    codes = _codes(weight, source, chunk)
    return float(largest_magnitudes(codes, source=weight.fmt))


def quantize_chunk(
    weight: QuantizedWeight, source: SourceBytes, chunk: Chunk, second: np.float32 | None, arithmetic: Arithmetic,
    stats: ErrorStats,
) -> Iterator[tuple[str, int, Array]]:  # fmt: skip
    """Yield the role of an output, an offset in it and the bytes that go there."""
    x, scheme = _codes(weight, source, chunk), weight.scheme
    columns = weight.tensor.shape[1]
    first_row, unit = chunk.start // columns, max(1, scheme.grid.rows)
    step = _step(weight, PART)
    for start in range(0, len(x), step):
        part = x[start : start + step]
        scales, codes = quantize(part, weight.fmt, scheme, second)
        row = first_row + start
        yield "codes", row * codes.shape[1], codes.reshape(-1)
        yield "scales", row // unit * scales[:1].nbytes, np.ascontiguousarray(scales).reshape(-1).view(np.uint8)
        values = np.asarray(decode(part, weight.fmt, to=np.float32)) if weight.fmt != FLOAT32 else part.view(np.float32)
        back = arithmetic.buffer("back", np.float32, part.size).reshape(part.shape)
        spread = np.repeat(scales, unit, axis=0)[: len(part)] if unit > 1 else scales
        parameters = Parameters(spread, None, second)
        dequantize(scheme, codes, parameters, back)
        stats.add(values.reshape(-1), back.reshape(-1))
        stats.saturated += _saturated(values, scheme, parameters)


def _saturated(values: Array, scheme: Scheme, parameters: Parameters) -> int:
    """Return how many elements round beyond the range of the codes."""
    scales, fmt = parameters.factors(scheme)
    factors = np.asarray(decode(scales, fmt, to=np.float32))
    columns = values.shape[1]
    if factors.shape[1] > 1:
        factors = np.repeat(factors, scheme.grid.columns, axis=1)[:, :columns]
    with np.errstate(all="ignore"):
        ratio = (values / factors).reshape(-1)
    largest = float(np.abs(ratio).max(initial=0))
    return count_beyond(ratio, code_format(scheme), nearest=True, peak=largest if math.isfinite(largest) else math.inf)


def _codes(weight: QuantizedWeight, source: SourceBytes, chunk: Chunk) -> Array:
    """Return a chunk as rows of unsigned codes; raise FileError if one of them is no finite number."""
    codes = source.codes(0, chunk.size).reshape(chunk.shape[1:])
    if has_nonfinite(codes, weight.fmt):
        raise FileError(f"{ascii(weight.tensor.name)[:80]}: has a NaN or an infinity, which has no scale")
    return codes
