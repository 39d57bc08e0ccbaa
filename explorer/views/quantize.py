"""A tensor through QuantizeLinear and back: codes, errors, and how the codebook is used."""

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

from .scales import GRANULARITIES, SCALE_FORMATS, TARGETS, Settings, axis_of, choose

__all__ = [
    "GRANULARITIES", "SCALE_FORMATS", "TARGETS", "Bar", "Element", "Quantized", "Settings", "Slice", "axis_of",
    "choose", "codebook", "elements", "quantize", "slices", "tiles",
]  # fmt: skip

_BARS = 128
"""How many bars a codebook of 16 bits is drawn with."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """A tensor, its codes and what comes back.

    `x`, `back`, `scale` and `spread` (the scale of every element) are float64 and exact; `scale_codes` are those of the
    scale's format, `zero_point` is None or int64 of the shape of `scale`. `beyond` marks the finite elements that round
    outside the format's range, `counted` what is finite there and back; `error` is `back` minus `x`, NaN elsewhere;
    `stats` are the error statistics of what is counted.
    """

    settings: Settings
    x: Array
    codes: Array
    back: Array
    scale: Array
    scale_codes: Array
    zero_point: Array | None
    spread: Array
    beyond: Array
    counted: Array = field(init=False)
    error: Array = field(init=False)
    stats: ErrorStats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "counted", np.isfinite(self.x) & np.isfinite(self.back))
        with np.errstate(invalid="ignore"):
            object.__setattr__(self, "error", np.where(self.counted, self.back - self.x, np.nan))
        object.__setattr__(self, "stats", error_statistics(self.x[self.counted], self.back[self.counted]))

    @property
    def sqnr_db(self) -> float:
        """10 log10 of the power of x over that of the error, of what is finite; Inf where nothing is lost."""
        return self.stats.sqnr_db

    @property
    def max_abs_error(self) -> float:
        """The largest |error| of what is finite."""
        return self.stats.max_abs_error

    @property
    def saturated(self) -> float:
        """The share of elements that round beyond the range."""
        return float(self.beyond.mean())

    @property
    def flushed(self) -> float:
        """The share of elements within the range, not zero themselves, that come back as zero."""
        return float((np.isfinite(self.x) & (self.x != 0) & (self.back == 0) & ~self.beyond).mean())

    @property
    def not_finite(self) -> int:
        """How many elements are, or come back as, NaN or Inf; no error counts them."""
        return int(self.x.size - self.counted.sum())

    @property
    def bits_per_value(self) -> float:
        """Bits of the codes, scales and zero points, over the number of elements."""
        fmt = self.settings.fmt
        shared = self.settings.scale_format.bits + (0 if self.zero_point is None else fmt.bits)
        return fmt.bits + shared * self.scale.size / self.x.size


def _spread(scale: Array, settings: Settings, shape: tuple[int, ...]) -> Array:
    """Repeat one number a slice for every element of the slice."""
    if settings.granularity == "tensor":
        return np.broadcast_to(scale, shape)
    axis = axis_of(settings, len(shape))
    if settings.granularity == "axis":
        return np.broadcast_to(scale.reshape([-1 if other == axis else 1 for other in range(len(shape))]), shape)
    return np.repeat(scale, settings.block_size, axis)[tuple(map(slice, shape))]


def _beyond(quotient: Array, zero_point: Array | int, fmt: Format) -> Array:
    if fmt.is_integer:
        whole = np.rint(quotient) + zero_point
        return np.asarray((whole < fmt.min) | (whole > fmt.max))
    midpoint = lp.explain(math.nextafter(fmt.max, math.inf), fmt).midpoint  # the limit of overflow
    assert midpoint is not None
    limit, magnitude = float(midpoint), np.abs(quotient)
    return np.asarray(magnitude >= limit if fmt.max_code & 1 else magnitude > limit)  # a tie goes to the even code


def _codes(y: Array, fmt: Format) -> Array:
    return np.asarray(np.asarray(y).view(fmt.code_dtype) & fmt.code_mask)


def quantize(x: Array, settings: Settings) -> Quantized:
    """Quantize a tensor with absmax scales and bring it back, by the operators' own functions.

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
        x, scale, zero_point, axis=axis, block_size=block, output_dtype=settings.fmt, saturate=settings.saturate,
        opset=opset,
    )  # fmt: skip
    to = None if settings.scale_format.has_zero else x.dtype  # a power of two is no type that a result could have
    back = lp.dequantize_linear(y, scale, zero_point, axis=axis, block_size=block, output_dtype=to, opset=opset)
    exact = np.asarray(lp.cast(scale, "float64"))
    zeros = None if zero_point is None else np.asarray(lp.cast(zero_point, "int64"))
    spread = _spread(exact, settings, x.shape)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        quotient = np.where(np.isfinite(values), values, 0.0) / spread
    offset = 0 if zeros is None else _spread(zeros, settings, x.shape)
    return Quantized(
        settings, values, _codes(y, settings.fmt), np.asarray(lp.cast(np.asarray(back), "float64")), exact,
        _codes(scale, settings.scale_format), zeros, spread, _beyond(quotient, offset, settings.fmt),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slice:
    """One scale and what shares it; `index` is its place among the scales."""

    index: tuple[int, ...]
    scale: Value
    scale_code: int
    zero_point: int | None
    largest: float
    elements: int
    saturated: int
    sqnr_db: float


def slices(found: Quantized, most: int = 256) -> tuple[Slice, ...]:
    """Return the first scales, each with its zero point and the errors of the elements that share it."""
    size = found.scale.size
    places = np.arange(size).reshape(found.scale.shape)
    owner = _spread(places, found.settings, found.x.shape).reshape(-1)
    counted, x, back = (part.reshape(-1) for part in (found.counted, found.x, found.back))
    elements, saturated = np.bincount(owner, minlength=size), np.bincount(owner, found.beyond.reshape(-1), size)
    largest = np.zeros(size)
    np.maximum.at(largest, owner, np.where(np.isfinite(x), np.abs(x), 0))
    order, ends = np.argsort(owner, kind="stable"), np.cumsum(elements)
    rows = []
    for place, index in enumerate(itertools.islice(np.ndindex(found.scale.shape), most)):
        code = int(found.scale_codes[index])
        zero = None if found.zero_point is None else int(found.zero_point[index])
        members = order[ends[place] - elements[place] : ends[place]]
        members = members[counted[members]]
        rows.append(Slice(
            index, decode(code, found.settings.scale_format), code, zero, float(largest[place]), int(elements[place]),
            int(saturated[place]), error_statistics(x[members], back[members]).sqnr_db,
        ))  # fmt: skip
    return tuple(rows)


@dataclass(frozen=True, slots=True)
class Element:
    """One element on its way: the error is None where it or what comes back is not finite."""

    index: tuple[int, ...]
    x: float
    code: int
    back: float
    error: float | None


def elements(found: Quantized, most: int = 64) -> tuple[Element, ...]:
    """Return the first elements, in C order."""
    return tuple(
        Element(
            index, float(found.x[index]), int(found.codes[index]), float(found.back[index]),
            float(found.error[index]) if found.counted[index] else None,
        )
        for index in itertools.islice(np.ndindex(found.x.shape), most)
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bar:
    """How many elements have a code, or one of the codes from `first` to `last`; ordered by value, NaN at the end."""

    first: int
    last: int
    value: Value
    end: Value
    count: int


def codebook(found: Quantized) -> tuple[Bar, ...]:
    """Return how often every code is used, in the order of their values; codes of 16 bits in runs."""
    fmt = found.settings.fmt
    counts = np.bincount(found.codes.reshape(-1).astype(np.int64), minlength=1 << fmt.bits)
    values = np.asarray(lp.decode(np.arange(1 << fmt.bits, dtype=fmt.code_dtype), fmt, to="float64"))
    order = np.lexsort((~np.signbit(values), values)).tolist()
    run = max(1, len(order) // _BARS) if fmt.bits > 8 else 1
    starts = range(0, len(order), run)
    return tuple(
        Bar(order[at], order[at + run - 1], decode(order[at], fmt), decode(order[at + run - 1], fmt),
            int(counts[order[at : at + run]].sum()))
        for at in starts
    )  # fmt: skip


def tiles(found: Quantized, most: int = 64) -> tuple[Array, int, int]:
    """Return a map of errors of at most `most` rows and columns, and how many elements a cell spans down and across.

    A cell shows the error of largest magnitude in it, with its sign; NaN where none is finite. A tensor of more than
    two dimensions is read as rows of its last one.
    """
    error = found.error.reshape(-1, found.error.shape[-1])
    down, across = (math.ceil(length / most) for length in error.shape)
    cells = np.full((math.ceil(error.shape[0] / down), math.ceil(error.shape[1] / across)), np.nan)
    for row, column in np.ndindex(cells.shape):
        part = error[row * down : (row + 1) * down, column * across : (column + 1) * across].reshape(-1)
        part = part[~np.isnan(part)]
        if part.size:
            cells[row, column] = part[np.abs(part).argmax()]
    return cells, down, across
