"""Error statistics of a conversion, chunk by chunk: counts, extremes, largest errors, signal-to-noise ratio."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from .. import _kernels
from ..spec.float_mode import default_mode
from ..spec.formats import Format
from ..spec.notebook_html import fact_name, fact_text, facts_html

__all__ = ["CHUNK", "ElementStats", "ErrorStats", "count_beyond", "error_statistics", "is_within"]

Array = np.ndarray[Any, Any]

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

CHUNK = 1 << 16
"""Elements that are converted and compared together: their arrays stay in a core's cache."""

_UNIT = 2304
"""Sums of squares are integers in units of 2**-2304, below float64's squares: adding them rounds nothing."""

_ROOT_BITS = 64
"""Of a square root, behind the point of its unit."""


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


def _units(total: float, exponent: int = 0) -> int:
    """Return a sum of squares times 4**exponent in units."""
    numerator, denominator = total.as_integer_ratio()
    return (numerator << _UNIT + 2 * exponent) // denominator


def _square_sum(values: Array, peak: float) -> int:
    """Return the sum of the squares of finite values, the largest magnitude of which is `peak`, in units."""
    exponent = math.frexp(peak)[1]
    if abs(exponent) < 400:  # no square overflows, and none vanishes that counts
        exponent = 0
    wide = values.astype(np.float64, copy=False)
    wide = np.ldexp(wide, -exponent) if exponent else wide
    return _units(float(np.square(wide).sum()), exponent)  # BLAS would start its threads here


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


_SHOWN = (
    "elements", "nan", "inf", "low", "high", "saturated", "flushed", "max_abs_error", "max_rel_error", "rms_error",
    "sqnr_db",
)  # fmt: skip
"""What `ErrorStats` shows of itself."""


class ErrorStats(ElementStats):
    """What became of the elements; errors are those of finite ones, in units of the input.

    Sums of squares are added in float64 within the arrays of one call, whose float32 squares are exact, and exactly
    from call to call: `merge` gives the same in any order.

    Attributes
    ----------
    saturated, flushed : int
        Finite elements that round beyond the format's range; those, not zero, that became zero.
    max_abs_error, max_rel_error : float
        Largest error, and largest error over magnitude.
    inexact : int
        Groups of elements in which a step that should keep every value does not; counted by who takes such steps.
    """

    def __init__(self) -> None:
        super().__init__()
        self.saturated = self.flushed = self.inexact = 0
        self.max_abs_error = self.max_rel_error = 0.0
        self._signal = self._noise = 0
        self._unbounded = 0.0  # Inf where an error is, NaN where a finite element became that

    def add(self, values: Array, back: Array, error: Array | None = None) -> float:
        """Take in flat arrays, float32 or float64; return the largest finite magnitude. What saturated is not counted.

        Parameters
        ----------
        values, back : numpy.ndarray
            The elements, and the values that they became; of one dtype.
        error : numpy.ndarray, optional
            The magnitude of their difference, where that dtype cannot tell it exactly.
        """
        if error is None and values.dtype == _SINGLE and values.size:
            return self.add_counts(values.size, _kernels.compare(values, back))
        finite, peak = self.count(values)
        if finite is not None:
            values, back = values[finite], back[finite]
            error = None if error is None else error[finite]
        if not values.size:
            return 0.0
        with np.errstate(all="ignore"):
            error = np.abs(values - back) if error is None else error
            magnitude = np.abs(values)
            nonzero = magnitude != 0
            ratio = np.divide(error, magnitude, out=np.zeros_like(error), where=nonzero)
            worst = float(np.fmax.reduce(error))  # NaN where all became NaN
            self.flushed += int(np.count_nonzero(nonzero & (back == 0)))
            self.max_abs_error = max(self.max_abs_error, worst)
            self.max_rel_error = max(self.max_rel_error, float(np.fmax.reduce(ratio)))
            self._signal += _square_sum(magnitude, peak)
            total = float(error.sum())
            if math.isfinite(worst) and not math.isnan(total):
                self._noise += _square_sum(error, worst)
            else:
                self._unbounded += total
        return float(peak)

    def add_counts(self, elements: int, counts: tuple[Any, ...]) -> float:
        """Take in what `_kernels.compare` counts of so many elements; return the largest finite magnitude."""
        low, high, error, ratio, flushed, nan, inf, signal, noise = counts
        self.elements += elements
        self.nan += nan
        self.inf += inf
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.flushed += flushed
        self.max_abs_error, self.max_rel_error = max(self.max_abs_error, error), max(self.max_rel_error, ratio)
        self._signal += _units(signal)
        if math.isfinite(noise):
            self._noise += _units(noise)
        else:
            self._unbounded += noise
        return float(max(high, -low, 0.0))

    @default_mode
    def merge(self, other: ElementStats) -> None:
        """Add what another one counted."""
        super().merge(other)
        if isinstance(other, ErrorStats):
            self.saturated += other.saturated
            self.flushed += other.flushed
            self.inexact += other.inexact
            self.max_abs_error = max(self.max_abs_error, other.max_abs_error)
            self.max_rel_error = max(self.max_rel_error, other.max_rel_error)
            self._signal += other._signal
            self._noise += other._noise
            self._unbounded += other._unbounded

    def __repr__(self) -> str:
        texts = (f"{fact_name(name)} {fact_text(getattr(self, name))}" for name in _SHOWN)
        return f"<ErrorStats: {', '.join(texts)}>"

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        return facts_html("error statistics", {name: getattr(self, name) for name in _SHOWN})

    def state(self) -> dict[str, float | int]:
        """Return everything that was counted, exactly, as numbers by name."""
        return dict(vars(self))

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> ErrorStats:
        """Return what `state` was taken from; raise ValueError if it is anything else."""
        stats = cls()
        for name, before in vars(stats).items():
            value = state.get(name)
            if isinstance(value, bool) or not isinstance(value, int if isinstance(before, int) else (int, float)):
                raise ValueError(f"`state` must have a number {name!r}; got {value!r}")
            setattr(stats, name, value)
        return stats

    @property
    @default_mode
    def sqnr_db(self) -> float:
        """10 log10 of the input's power over the error's.

        Inf where nothing was lost, -Inf where a finite element became Inf, NaN where one became NaN and where no finite
        element but zeros was there.
        """
        if not self._signal or math.isnan(self._unbounded):
            return math.nan
        if self._unbounded or not self._noise:
            return -math.inf if self._unbounded else math.inf
        return 10 * (math.log10(self._signal) - math.log10(self._noise))

    @property
    @default_mode
    def rms_error(self) -> float:
        """The root of the mean square of the errors of finite elements.

        Inf where one of them became Inf, NaN where one became NaN and where there is none.
        """
        finite = self.elements - self.nan - self.inf
        if not finite or self._unbounded:
            return abs(self._unbounded) if finite else math.nan
        root = math.isqrt((self._noise << 2 * _ROOT_BITS) // finite)
        return float(Fraction(root, 1 << _UNIT // 2 + _ROOT_BITS))


@default_mode
def error_statistics(values: Array, back: Array) -> ErrorStats:
    """Return the error statistics of an array and of the values that a conversion gave back for it.

    Parameters
    ----------
    values, back : numpy.ndarray
        float32 or float64, of one dtype and shape. Nothing counts as saturated: that depends on the format.

    Returns
    -------
    ErrorStats
        NaN and Inf among `values` are counted and left out of the errors.

    Raises
    ------
    TypeError
        If an argument is no NumPy array.
    ValueError
        If it has another dtype, or the two differ in dtype or shape.

    Examples
    --------
    >>> import numpy as np
    >>> found = error_statistics(np.array([1.0, -2.0, 0.25, np.nan]), np.array([1.0, -2.5, 0.0, np.nan]))
    >>> found.elements, found.nan, found.flushed, found.max_abs_error, found.max_rel_error
    (4, 1, 1, 0.5, 1.0)
    """
    for name, array in (("values", values), ("back", back)):
        if not isinstance(array, np.ndarray):
            raise TypeError(f"`{name}` must be a NumPy array; got {type(array).__name__}")
        if array.dtype.newbyteorder("=") not in (_SINGLE, _DOUBLE):
            raise ValueError(f"`{name}` must be float32 or float64; got {array.dtype.name}")
    if (values.dtype.name, values.shape) != (back.dtype.name, back.shape):
        wanted = f"of the dtype and the shape of `values`, {values.dtype.name} {values.shape}"
        raise ValueError(f"`back` must be {wanted}; got {back.dtype.name} {back.shape}")
    stats, native = ErrorStats(), values.dtype.newbyteorder("=")
    flat, flat_back = (np.ascontiguousarray(array, native).reshape(-1) for array in (values, back))
    for start in range(0, flat.size, CHUNK):
        stats.add(flat[start : start + CHUNK], flat_back[start : start + CHUNK])
    return stats
