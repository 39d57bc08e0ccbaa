"""Quantize: a tensor to codes and back, by QuantizeLinear, to blocks of OCP MX, or to NVFP4."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.loss import ErrorStats, error_statistics, saturates
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import FLOAT4_E2M1FN, FLOAT8_E8M0FNU, FLOAT32, FLOAT64, INT8

from .settings import (
    LINEAR,
    MX,
    NVFP4,
    Settings,
    axis_of,
    choose,
    mx_problem,
)

__all__ = [
    "Bar",
    "Element",
    "Quantized",
    "Slice",
    "codebook",
    "elements",
    "per_element",
    "quantize",
    "slices",
    "tiles",
    "values_of_codes",
]

Array = np.ndarray[Any, Any]


def quantize(x: Array, settings: Settings) -> Quantized:
    """Quantize a tensor and dequantize it, by the library's own functions of the scheme.

    `x` is float32, float16 or bfloat16 of one dimension or more, with at least one element. ValueError where the
    opset lacks a type, the format is none of the scheme, or the axis or block size does not fit.
    """
    if settings.granularity == "block" and settings.block_size < 1:
        raise ValueError(f"`block_size` must be at least 1; got {settings.block_size}")
    return {LINEAR: _linear, MX: _mx, NVFP4: _nvfp4}[settings.scheme](x, settings)


def _codes(y: Array, fmt: Format) -> Array:
    return np.asarray(np.asarray(y).view(fmt.code_dtype) & fmt.code_mask)


def _exact(values: Array) -> Array:
    return np.asarray(lp.cast(np.asarray(values), FLOAT64))


def _linear(x: Array, settings: Settings) -> Quantized:
    fmt = settings.fmt
    scale, zero_point = choose(x, settings)
    axis = 0 if settings.granularity == "tensor" else axis_of(settings, x.ndim)
    place: dict[str, Any] = {"axis": axis, "block_size": settings.block, "opset": settings.opset}
    rules = settings.rounding_arguments
    beyond_onnx = {**rules, "saturate": True} if rules else {"saturate": settings.saturate}
    y = lp.quantize_linear(x, scale, zero_point, output_dtype=fmt, **place, **beyond_onnx)
    to = None if settings.scale_format.has_zero else x.dtype  # a power of two cannot be the type of the result
    source = fmt if fmt.onnx_enum is None else None  # no dtype says what its codes are
    dequantized = lp.dequantize_linear(y, scale, zero_point, source=source, output_dtype=to, **place)
    exact = _exact(scale)
    zeros = None if zero_point is None else np.asarray(lp.cast(zero_point, "int64"))
    element_scale = per_element(exact, settings, x.shape)
    offset = 0 if zeros is None else per_element(zeros, settings, x.shape)
    precision = settings.scale_format if settings.scale_format.has_zero else "float32"
    beyond = saturates(x, fmt, element_scale, offset, precision=precision, **rules)
    codes, scale_codes = _codes(y, fmt), _codes(scale, settings.scale_format)
    return Quantized(settings, _exact(x), codes, _exact(dequantized), exact, scale_codes, zeros, element_scale, beyond)


def _mx(x: Array, settings: Settings) -> Quantized:
    fmt = settings.fmt
    if problem := mx_problem(fmt):
        raise ValueError(f"`fmt` {problem}")
    place: dict[str, Any] = {"axis": axis_of(settings, x.ndim), "block_size": settings.block_size}
    rules = settings.rounding_arguments
    y, scale = lp.mx_quantize(x, fmt, scale_rule=settings.scale_rule, **place, **rules)
    source = fmt if fmt.onnx_enum is None else None
    dequantized = lp.mx_dequantize(y, scale, source=source, **place)
    exact = _exact(scale)
    element_scale = per_element(exact, settings, x.shape)
    if fmt == INT8:  # an integer is in units of its own
        unit = lp.mx_dequantize(np.ones(x.shape, np.int8), scale, **place)
        beyond = saturates(x, fmt, unit, precision=FLOAT64, symmetric=True, **rules)
    else:
        beyond = saturates(x, fmt, element_scale, precision=FLOAT64, **rules)
    codes, scale_codes = _codes(y, fmt), _codes(scale, settings.scale_format)
    return Quantized(settings, _exact(x), codes, _exact(dequantized), exact, scale_codes, None, element_scale, beyond)


def _nvfp4(x: Array, settings: Settings) -> Quantized:
    fmt = FLOAT4_E2M1FN
    place: dict[str, Any] = {"axis": axis_of(settings, x.ndim), "block_size": settings.block_size}
    rules = settings.rounding_arguments
    y, scale, global_scale = lp.nvfp4_quantize(x, **place, **rules)
    dequantized = lp.nvfp4_dequantize(y, scale, global_scale, **place)
    ones = lp.cast(np.ones(x.shape, np.float32), fmt)
    step = lp.nvfp4_dequantize(ones, scale, global_scale, **place)  # the product of both scales, in float32
    divisor = np.where(step == 0, np.inf, step)  # by the rule of NVFP4 an element over 0 is 0
    return Quantized(
        settings,
        _exact(x),
        _codes(y, fmt),
        _exact(dequantized),
        _exact(scale),
        _codes(scale, settings.scale_format),
        None,
        _exact(step),
        saturates(x, fmt, divisor, **rules),
        global_scale=float(global_scale),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """A tensor, its codes and its dequantized elements.

    `x`, `dequantized`, `scale` and `element_scale` are float64 and exact; `scale_codes` are those of the scale's
    format, `zero_point` is None or int64 of the shape of `scale`, `global_scale` None but for NVFP4. `element_scale` is
    the scale of each element, of NVFP4 its product with the global scale. `out_of_range` marks the finite elements that
    round beyond the format's range, `finite` those finite in both; `error` is `dequantized` minus `x`, NaN for the
    others; `stats` are the error statistics of the finite elements.
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
    global_scale: float | None = None
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
        """Bits of the codes, scales, zero points and the global scale, over the number of elements."""
        fmt = self.settings.fmt
        shared = self.settings.scale_format.bits + (0 if self.zero_point is None else fmt.bits)
        total = shared * self.scale.size + (0 if self.global_scale is None else FLOAT32.bits)
        return fmt.bits + total / self.x.size


def per_element(scale: Array, settings: Settings, shape: tuple[int, ...]) -> Array:
    """Repeat one number a slice for every element of the slice."""
    if settings.granularity == "tensor":
        return np.broadcast_to(scale, shape)
    axis = axis_of(settings, len(shape))
    if settings.granularity == "axis":
        return np.broadcast_to(scale.reshape([-1 if other == axis else 1 for other in range(len(shape))]), shape)
    return np.repeat(scale, settings.block_size, axis)[tuple(map(slice, shape))]


_BARS = 128
"""Bars of a chart of 16-bit codes."""


@dataclass(frozen=True, slots=True)
class Slice:
    """One scale and statistics of the elements that share it; `index` is its index among the scales.

    `product` is what elements are multiplied by: the scale, of NVFP4 times the global scale.
    """

    index: tuple[int, ...]
    scale: Value
    scale_code: int
    product: float
    zero_point: int | None
    largest: float
    elements: int
    saturated: int
    sqnr_db: float

    @property
    def power(self) -> str:
        """The scale as a power of two, which it is; NaN stays NaN."""
        if self.scale.special:
            return str(self.scale)
        top, bottom = self.scale.magnitude.as_integer_ratio()
        return f"2^{top.bit_length() - bottom.bit_length()}"


def slices(quantized: Quantized, most: int = 256) -> tuple[Slice, ...]:
    """Return the first scales, each with its zero point and the errors of the elements that share it."""
    size = quantized.scale.size
    places = np.arange(size).reshape(quantized.scale.shape)
    slice_of = per_element(places, quantized.settings, quantized.x.shape).reshape(-1)
    finite, x, dequantized = (part.reshape(-1) for part in (quantized.finite, quantized.x, quantized.dequantized))
    products = quantized.element_scale.reshape(-1)
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
        product = float(products[members[0]])
        members = members[finite[members]]
        rows.append(
            Slice(
                index,
                decode(code, quantized.settings.scale_format),
                code,
                product,
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


def values_of_codes(settings: Settings) -> Array:
    """Return the values of all codes in float64; an integer of MX is in units of 1/64."""
    fmt = settings.fmt
    codes = np.arange(1 << fmt.bits, dtype=fmt.code_dtype)
    if settings.scheme == MX and fmt == INT8:
        one = lp.cast(np.ones(1, np.float32), FLOAT8_E8M0FNU)
        return np.asarray(lp.cast(lp.mx_dequantize(codes.view(np.int8), one, block_size=codes.size), "float64"))
    return np.asarray(lp.decode(codes, fmt, to="float64"))


def codebook(quantized: Quantized) -> tuple[Bar, ...]:
    """Return how often every code is used, in the order of their values; codes of 16 bits in runs."""
    fmt = quantized.settings.fmt
    counts = np.bincount(quantized.codes.reshape(-1).astype(np.int64), minlength=1 << fmt.bits)
    values = values_of_codes(quantized.settings)
    order = np.lexsort((~np.signbit(values), values)).tolist()
    run = max(1, len(order) // _BARS) if fmt.bits > 8 else 1
    starts = range(0, len(order), run)
    return tuple(
        Bar(
            order[at],
            order[at + run - 1],
            Value.of(values[order[at]]),
            Value.of(values[order[at + run - 1]]),
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
