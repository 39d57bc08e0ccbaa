"""The parts of a quantized tensor that are shown: slices with their scales, elements, codes in use, a map of errors."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec.loss import error_statistics
from lowprec.reference.exact_cast import Value, decode
from lowprec.spec.formats import FLOAT8_E8M0FNU, INT8

from .quantized import Quantized, per_element
from .scales import MX, Settings

__all__ = ["Bar", "Element", "Slice", "codebook", "elements", "slices", "tiles"]

_BARS = 128
"""Bars of a chart of 16-bit codes."""

Array = np.ndarray[Any, Any]


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


def _values(settings: Settings) -> Array:
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
    values = _values(quantized.settings)
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
