"""Quantize: the codes of a tensor, its errors, and how often each code is used."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.loss import ErrorStats, error_statistics
from lowprec.reference.exact_cast import Value, decode

from .scales import GRANULARITIES, SCALE_FORMATS, TARGETS, Settings, axis_of, choose, target_problem

__all__ = [
    "GRANULARITIES",
    "SCALE_FORMATS",
    "TARGETS",
    "Bar",
    "Element",
    "Quantized",
    "Settings",
    "Slice",
    "axis_of",
    "choose",
    "codebook",
    "elements",
    "quantize",
    "slices",
    "target_problem",
    "tiles",
]

_BARS = 128
"""Bars of a chart of 16-bit codes."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """A tensor, its codes and its dequantized elements.

    `x`, `dequantized`, `scale` and `element_scale` are float64 and exact; `scale_codes` are those of the scale's
    format, `zero_point` is None or int64 of the shape of `scale`. `out_of_range` marks the finite elements that round
    beyond its range, `finite` those finite in both; `error` is `dequantized` minus `x`, NaN for the others; `stats` are
    the error statistics of the finite elements.
    """

    settings: Settings
    x: Array
    codes: Array
    dequantized: Array
    scale: Array
    scale_codes: Array
    zero_point: Array | None
    element_scale: Array
    out_of_range: Array
    finite: Array = field(init=False)
    error: Array = field(init=False)
    stats: ErrorStats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "finite", np.isfinite(self.x) & np.isfinite(self.dequantized))
        with np.errstate(invalid="ignore"):
            object.__setattr__(self, "error", np.where(self.finite, self.dequantized - self.x, np.nan))
        object.__setattr__(self, "stats", error_statistics(self.x[self.finite], self.dequantized[self.finite]))

    @property
    def sqnr_db(self) -> float:
        """10 log10 of the power of x over that of the error, of finite elements; Inf if there is no error."""
        return self.stats.sqnr_db

    @property
    def max_abs_error(self) -> float:
        """The largest |error| of finite elements."""
        return self.stats.max_abs_error

    @property
    def saturated(self) -> float:
        """The share of elements that round beyond the range of the format."""
        return float(self.out_of_range.mean())

    @property
    def flushed(self) -> float:
        """The share of elements within the range, not zero themselves, that are dequantized to zero."""
        return float((np.isfinite(self.x) & (self.x != 0) & (self.dequantized == 0) & ~self.out_of_range).mean())

    @property
    def not_finite(self) -> int:
        """How many elements are, or are dequantized to, NaN or Inf; they have no error."""
        return int(self.x.size - self.finite.sum())

    @property
    def bits_per_value(self) -> float:
        """Bits of the codes, scales and zero points, over the number of elements."""
        fmt = self.settings.fmt
        shared = self.settings.scale_format.bits + (0 if self.zero_point is None else fmt.bits)
        return fmt.bits + shared * self.scale.size / self.x.size


def _per_element(scale: Array, settings: Settings, shape: tuple[int, ...]) -> Array:
    """Repeat one number a slice for every element of the slice."""
    if settings.granularity == "tensor":
        return np.broadcast_to(scale, shape)
    axis = axis_of(settings, len(shape))
    if settings.granularity == "axis":
        return np.broadcast_to(scale.reshape([-1 if other == axis else 1 for other in range(len(shape))]), shape)
    return np.repeat(scale, settings.block_size, axis)[tuple(map(slice, shape))]


def _out_of_range(quotient: Array, zero_point: Array | int, fmt: Format) -> Array:
    if fmt.is_integer:
        rounded = np.rint(quotient) + zero_point
        return np.asarray((rounded < fmt.min) | (rounded > fmt.max))
    midpoint = lp.explain(math.nextafter(fmt.max, math.inf), fmt).midpoint  # the limit of overflow
    assert midpoint is not None
    limit, magnitude = float(midpoint), np.abs(quotient)
    beyond = np.asarray(magnitude >= limit if fmt.max_code & 1 else magnitude > limit)  # a tie goes to the even code
    return beyond if fmt.signed else beyond | (quotient < -fmt.smallest_subnormal / 2)  # which rounds below zero


def _codes(y: Array, fmt: Format) -> Array:
    return np.asarray(np.asarray(y).view(fmt.code_dtype) & fmt.code_mask)


def quantize(x: Array, settings: Settings) -> Quantized:
    """Quantize a tensor and dequantize it, by the operators' own functions.

    `x` is float32, float16 or bfloat16 of one dimension or more, with at least one element. ValueError where the
    opset lacks a type, or the axis or block size does not fit.
    """
    if settings.granularity == "block" and settings.block_size < 1:
        raise ValueError(f"`block_size` must be at least 1; got {settings.block_size}")
    values = np.asarray(lp.cast(x, "float64"))
    scale, zero_point = choose(x, settings)
    axis = 0 if settings.granularity == "tensor" else axis_of(settings, x.ndim)
    block, opset = settings.block, settings.opset
    y = lp.quantize_linear(
        x,
        scale,
        zero_point,
        axis=axis,
        block_size=block,
        output_dtype=settings.fmt,
        saturate=settings.saturate,
        opset=opset,
    )
    to = None if settings.scale_format.has_zero else x.dtype  # a power of two cannot be the type of the result
    source = settings.fmt if settings.fmt.onnx_enum is None else None  # no dtype says what its codes are
    dequantized = lp.dequantize_linear(
        y, scale, zero_point, source=source, axis=axis, block_size=block, output_dtype=to, opset=opset
    )
    exact = np.asarray(lp.cast(scale, "float64"))
    zeros = None if zero_point is None else np.asarray(lp.cast(zero_point, "int64"))
    element_scale = _per_element(exact, settings, x.shape)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        quotient = np.where(np.isfinite(values), values, 0.0) / element_scale
    offset = 0 if zeros is None else _per_element(zeros, settings, x.shape)
    return Quantized(
        settings,
        values,
        _codes(y, settings.fmt),
        np.asarray(lp.cast(np.asarray(dequantized), "float64")),
        exact,
        _codes(scale, settings.scale_format),
        zeros,
        element_scale,
        _out_of_range(quotient, offset, settings.fmt),
    )


@dataclass(frozen=True, slots=True)
class Slice:
    """One scale and statistics of the elements that share it; `index` is its index among the scales."""

    index: tuple[int, ...]
    scale: Value
    scale_code: int
    zero_point: int | None
    largest: float
    elements: int
    saturated: int
    sqnr_db: float


def slices(quantized: Quantized, most: int = 256) -> tuple[Slice, ...]:
    """Return the first scales, each with its zero point and the errors of the elements that share it."""
    size = quantized.scale.size
    places = np.arange(size).reshape(quantized.scale.shape)
    slice_of = _per_element(places, quantized.settings, quantized.x.shape).reshape(-1)
    finite, x, dequantized = (part.reshape(-1) for part in (quantized.finite, quantized.x, quantized.dequantized))
    elements, saturated = (
        np.bincount(slice_of, minlength=size),
        np.bincount(slice_of, quantized.out_of_range.reshape(-1), size),
    )
    largest = np.zeros(size)
    np.maximum.at(largest, slice_of, np.where(np.isfinite(x), np.abs(x), 0))
    order, ends = np.argsort(slice_of, kind="stable"), np.cumsum(elements)
    rows = []
    for place, index in enumerate(itertools.islice(np.ndindex(quantized.scale.shape), most)):
        code = int(quantized.scale_codes[index])
        zero = None if quantized.zero_point is None else int(quantized.zero_point[index])
        members = order[ends[place] - elements[place] : ends[place]]
        members = members[finite[members]]
        rows.append(
            Slice(
                index,
                decode(code, quantized.settings.scale_format),
                code,
                zero,
                float(largest[place]),
                int(elements[place]),
                int(saturated[place]),
                error_statistics(x[members], dequantized[members]).sqnr_db,
            )
        )
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class Element:
    """One element, its code and its dequantized value; the error is None if one of the two is not finite."""

    index: tuple[int, ...]
    x: float
    code: int
    dequantized: float
    error: float | None


def elements(quantized: Quantized, most: int = 64) -> tuple[Element, ...]:
    """Return the first elements, in C order."""
    return tuple(
        Element(
            index,
            float(quantized.x[index]),
            int(quantized.codes[index]),
            float(quantized.dequantized[index]),
            float(quantized.error[index]) if quantized.finite[index] else None,
        )
        for index in itertools.islice(np.ndindex(quantized.x.shape), most)
    )


@dataclass(frozen=True, slots=True)
class Bar:
    """How many elements have a code, or one of the codes from `first` to `last`; ordered by value, NaN at the end."""

    first: int
    last: int
    value: Value
    end: Value
    count: int


def codebook(quantized: Quantized) -> tuple[Bar, ...]:
    """Return how often every code is used, in the order of their values; codes of 16 bits in runs."""
    fmt = quantized.settings.fmt
    counts = np.bincount(quantized.codes.reshape(-1).astype(np.int64), minlength=1 << fmt.bits)
    values = np.asarray(lp.decode(np.arange(1 << fmt.bits, dtype=fmt.code_dtype), fmt, to="float64"))
    order = np.lexsort((~np.signbit(values), values)).tolist()
    run = max(1, len(order) // _BARS) if fmt.bits > 8 else 1
    starts = range(0, len(order), run)
    return tuple(
        Bar(
            order[at],
            order[at + run - 1],
            decode(order[at], fmt),
            decode(order[at + run - 1], fmt),
            int(counts[order[at : at + run]].sum()),
        )
        for at in starts
    )


def tiles(quantized: Quantized, most: int = 64) -> tuple[Array, int, int]:
    """Return a map of errors of at most `most` rows and columns, and how many elements a cell spans down and across.

    A cell shows the error of largest magnitude in it, with its sign; NaN where none is finite. A tensor of more than
    two dimensions is read as rows of its last one.
    """
    error = quantized.error.reshape(-1, quantized.error.shape[-1])
    down, across = (math.ceil(length / most) for length in error.shape)
    cells = np.full((math.ceil(error.shape[0] / down), math.ceil(error.shape[1] / across)), np.nan)
    for row, column in np.ndindex(cells.shape):
        part = error[row * down : (row + 1) * down, column * across : (column + 1) * across].reshape(-1)
        part = part[~np.isnan(part)]
        if part.size:
            cells[row, column] = part[np.abs(part).argmax()]
    return cells, down, across
