"""A running account of elements and of what became of them, chunk by chunk: counts, extremes, errors, power."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import _kernels
from ..spec.float_mode import default_mode
from ..spec.formats import Format

__all__ = ["ElementStats", "ErrorStats", "count_beyond", "is_within"]

Array = np.ndarray[Any, Any]

_SINGLE = np.dtype(np.float32)

_ROW = 4096
"""Squares are summed in rows of this length in their own type, and the rows in float64."""


def _beyond(values: Array, fmt: Format, *, nearest: bool) -> Array:
    """Return which values, floats or integers, round to something outside the format's range."""
    if values.dtype.kind in "iu" and not fmt.is_float:
        return np.asarray((values < fmt.min) | (values > fmt.max))
    if not fmt.is_float:
        whole = np.rint(values) if nearest else np.trunc(values)
        return np.asarray((whole < fmt.min) | (whole >= float(int(fmt.max) + 1)))  # float64 has 2**63, not 2**63 - 1
    wide = values if values.dtype == _SINGLE and fmt.bits <= 16 else values.astype(np.float64)
    magnitude = np.abs(wide)  # float32 has the ends of narrow formats, and the ties beyond them
    if not fmt.has_zero:  # powers of two: what is beyond an end goes to that end
        return np.asarray((magnitude > fmt.max) | (magnitude < fmt.smallest_normal))
    limit = float(fmt.max) + math.ldexp(0.5, fmt.emax - fmt.mantissa_bits)  # Inf for float64: nothing reaches it
    return np.asarray(magnitude >= limit if fmt.max_code & 1 else magnitude > limit)  # a tie goes to the even code


def is_within(fmt: Format, peak: float) -> bool:
    """Whether no value of at most that magnitude rounds beyond the ends of the format's range."""
    return fmt.signed and fmt.has_zero and peak <= fmt.max


def count_beyond(values: Array, fmt: Format, *, nearest: bool, peak: float = math.inf) -> int:
    """Return how many finite values round beyond the ends of the format's range; ties go where the format's do.

    `peak` is the largest finite magnitude, where it is known.
    """
    if is_within(fmt, peak):  # the common case, without a mask
        return 0
    with np.errstate(invalid="ignore"):
        return int(np.count_nonzero(_beyond(values, fmt, nearest=nearest) & np.isfinite(values)))


class Power:
    """A sum of squares that neither overflows nor vanishes: a float64 times a power of four."""

    def __init__(self) -> None:
        self.total = 0.0
        self.exponent = 0
        self.is_infinite = False

    def add(self, values: Array, peak: float) -> None:
        """Add the squares of finite values, the largest magnitude of which is `peak`."""
        if peak == 0:
            return
        if math.isinf(peak):
            self.is_infinite = True
            return
        exponent = math.frexp(peak)[1]
        if abs(exponent) > 32:
            values = np.ldexp(values, -exponent)
        else:
            exponent = 0
        whole = values.size - values.size % _ROW
        rows, tail = values[:whole].reshape(-1, _ROW), values[whole:]
        self._merge(float(np.vecdot(rows, rows).sum(dtype=np.float64)) + float(np.vecdot(tail, tail)), exponent)

    def add_total(self, total: float) -> None:
        """Add a sum of squares."""
        if math.isinf(total):
            self.is_infinite = True
        else:
            self._merge(total, 0)

    def _merge(self, total: float, exponent: int) -> None:
        if total == 0:
            return
        shared = max(exponent, self.exponent) if self.total else exponent
        self.total = math.ldexp(self.total, 2 * (self.exponent - shared)) + math.ldexp(total, 2 * (exponent - shared))
        self.exponent = shared

    def merge(self, other: Power) -> None:
        """Add another sum."""
        self.is_infinite |= other.is_infinite
        self._merge(other.total, other.exponent)

    def db(self) -> float:
        """Return ten times the decimal logarithm of the sum, which is not zero."""
        return 10 * math.log10(self.total) + 20 * self.exponent * math.log10(2)


class ElementStats:
    """How many elements there are, how many are NaN or Inf, and the ends of the others.

    Attributes
    ----------
    elements, nan, inf : int
        Counts.
    low, high : float or int
        The ends of the finite elements; Inf and -Inf where there are none.
    """

    def __init__(self) -> None:
        self.elements = self.nan = self.inf = 0
        self.low: float | int = math.inf
        self.high: float | int = -math.inf

    def count(self, values: Array) -> tuple[Array | None, float | int]:
        """Take in a flat array of floats or integers.

        Return which of them are finite, None where all are, and the largest magnitude of those.
        """
        if not values.size:
            return None, 0
        self.elements += values.size
        finite = None
        low, high = values.min().item(), values.max().item()
        if not (math.isfinite(low) and math.isfinite(high)):
            finite = np.isfinite(values)
            self.nan += int(np.count_nonzero(np.isnan(values)))
            self.inf += values.size - int(np.count_nonzero(finite))
            self.inf -= int(np.count_nonzero(np.isnan(values)))
            low = values.min(where=finite, initial=np.inf).item()
            high = values.max(where=finite, initial=-np.inf).item()
        self.low, self.high = min(self.low, low), max(self.high, high)
        return finite, max(high, -low)

    def merge(self, other: ElementStats) -> None:
        """Add what another one counted."""
        self.elements += other.elements
        self.nan += other.nan
        self.inf += other.inf
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)


class ErrorStats(ElementStats):
    """What became of the elements; errors are those of finite ones, in units of the input.

    Attributes
    ----------
    saturated, flushed : int
        Finite elements that round beyond the format's range; those, not zero, that became zero.
    max_abs_error, max_rel_error : float
        Largest error, and largest error over magnitude.
    """

    def __init__(self) -> None:
        super().__init__()
        self.saturated = self.flushed = 0
        self.max_abs_error = self.max_rel_error = 0.0
        self._signal, self._noise = Power(), Power()

    def add(
        self, values: Array, back: Array, error: Array | None = None, scratch: tuple[Array, Array] | None = None
    ) -> float:
        """Take in flat arrays, float32 or float64; return the largest finite magnitude. What saturated is not counted.

        Parameters
        ----------
        values, back : numpy.ndarray
            The elements, and the values that they became; of one dtype. `back` is written over.
        error : numpy.ndarray, optional
            The magnitude of their difference, where that dtype cannot tell it exactly.
        scratch : tuple of numpy.ndarray, optional
            Two arrays like `values` that may be written over: fresh memory costs more than the sums.
        """
        if error is None and values.dtype == _SINGLE and values.size:
            seen = _kernels.compare(values, back)
            if seen is not None:
                return self.take(values.size, *seen)
        finite, peak = self.count(values)
        if finite is not None:
            values, back, scratch = values[finite], back[finite], None
            error = None if error is None else error[finite]
        if not values.size:
            return 0.0
        here, there = scratch or (np.empty_like(values), np.empty_like(values))
        with np.errstate(all="ignore"):
            if error is None:
                error = np.subtract(values, back, out=here)
                np.abs(error, out=error)
            magnitude = np.abs(values, out=there)
            zero = back == 0
            if zero.any():
                self.flushed += int(np.count_nonzero(magnitude[zero]))
            worst = float(error.max())
            self._signal.add(magnitude, peak)
            self._noise.add(error, worst)
            self.max_abs_error = max(self.max_abs_error, worst)
            ratio = float(np.fmax.reduce(np.divide(error, magnitude, out=back)))  # NaN where a zero stayed one
            if math.isinf(ratio):  # or where a zero became another value, which is not counted
                there = magnitude != 0
                ratio = float(np.divide(error[there], magnitude[there]).max(initial=0.0))
            self.max_rel_error = max(self.max_rel_error, 0.0 if math.isnan(ratio) else ratio)
        return float(peak)

    def take(
        self, elements: int, low: float, high: float, peak: float, worst: float, ratio: float, flushed: int,
        signal: float, noise: float,
    ) -> float:  # fmt: skip
        """Take over what `_kernels.compare` says of so many elements; return the largest magnitude."""
        self.elements += elements
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.flushed += flushed
        self.max_abs_error, self.max_rel_error = max(self.max_abs_error, worst), max(self.max_rel_error, ratio)
        self._signal.add_total(signal)
        self._noise.add_total(noise)
        return peak

    @default_mode
    def merge(self, other: ElementStats) -> None:
        """Add what another one counted."""
        super().merge(other)
        if isinstance(other, ErrorStats):
            self.saturated += other.saturated
            self.flushed += other.flushed
            self.max_abs_error = max(self.max_abs_error, other.max_abs_error)
            self.max_rel_error = max(self.max_rel_error, other.max_rel_error)
            self._signal.merge(other._signal)
            self._noise.merge(other._noise)

    @property
    @default_mode
    def sqnr_db(self) -> float:
        """10 log10 of the input's power over the error's.

        Inf where nothing was lost, -Inf where a finite element became Inf, NaN where no finite element but zeros was
        there.
        """
        if not self._signal.total:
            return math.nan
        if self._noise.is_infinite or not self._noise.total:
            return -math.inf if self._noise.is_infinite else math.inf
        return self._signal.db() - self._noise.db()
