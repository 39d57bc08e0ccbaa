"""Error statistics: counts, extremes, largest errors, SQNR; of arrays, of one pass with a conversion, of blocks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import _kernels
from .._float_mode import default_mode
from .._notebook_display import fact_name, fact_text, facts_html
from ..backends.ggml_blocks import as_bytes, to_single
from ..backends.jobs import Job
from ..backends.kernels_of_plan import make_program
from ..backends.scales_for_kernels import ready_scales, resolve_operands
from ..plans.cast_plan import make_plan, plan_of
from ..plans.quantize_plan import QuantizeOptions
from ..spec.formats import FLOAT32, Format
from ..spec.memo import CACHED
from ..spec.operator_versions import DEQUANTIZE, CastRules

__all__ = [
    "CHUNK",
    "ElementStats",
    "ErrorStats",
    "ScaledCodes",
    "add_blocks",
    "add_scaled",
    "convert_compared",
    "count_beyond",
    "error_statistics",
    "is_within",
]


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


_BYTE = np.dtype(np.uint8)
_Programs = tuple[_kernels.Program | None, _kernels.Program, _kernels.Program]


@lru_cache(maxsize=CACHED)
def _programs(source: Format, target: Format, rules: CastRules, packed: bool) -> _Programs:
    """Return the programs source to float32, None where it is that; source to target; and target to float32."""
    load = _load(source)
    there = make_program(make_plan(source, target, rules), packed=packed)
    return load, there, make_program(plan_of(target, FLOAT32), unpacked=packed)


def convert_compared(
    x: np.ndarray[Any, Any],
    source: Format,
    target: Format,
    rules: CastRules,
    packed: bool,
    out: np.ndarray[Any, Any],
) -> tuple[Any, ...]:
    """Convert codes of a float of up to 32 bits on one thread, decode the result and compare both in float32.

    Parameters
    ----------
    x : numpy.ndarray
        Unsigned codes of `source`, 1-D, dense, in native byte order; one or more.
    source, target : Format
        The rows.
    rules : CastRules
        The options, resolved.
    packed : bool
        Whether `out` is packed.
    out : numpy.ndarray
        Dense bytes for the codes.

    Returns
    -------
    tuple
        As `_kernels.compare` returns it, for `ErrorStats.add_counts`.
    """
    return _kernels.run_compared(*_programs(source, target, rules, packed), x.view(_BYTE), out, x.size)


@lru_cache(maxsize=CACHED)
def _load(source: Format) -> _kernels.Program | None:
    """Return the program that makes float32 values, None where the source holds them."""
    return None if source == FLOAT32 else make_program(plan_of(source, FLOAT32))


@lru_cache(maxsize=CACHED)
def _range(target: Format, zero_point: int) -> tuple[float, float]:
    """Return the least and the greatest float32 that round to a value of the range, as `count_beyond` has it.

    A tie beyond an end goes to the even code: outside, where the code of the end is odd.
    """
    if target.is_integer:
        low, high = int(target.min) - zero_point, int(target.max) - zero_point
        return _limit(low - 0.5, low), _limit(high + 0.5, high)
    limit = float(target.max) + math.ldexp(0.5, target.emax - target.mantissa_bits)
    return _limit(-limit, target.max_code), _limit(limit, target.max_code)


def _limit(tie: float, end: int) -> float:
    """Return a tie, or the float32 before it where it is outside."""
    return float(np.nextafter(np.float32(tie), np.float32(0)) if end % 2 else np.float32(tie))


class ScaledCodes(NamedTuple):
    """Codes and scales as `dequantize_linear` takes them.

    Attributes
    ----------
    codes, fmt : numpy.ndarray, Format
        Dense codes, as bytes or in unsigned integers, and their format.
    scale : numpy.ndarray
        A scale for all, for each index of the axis or for each block, in a dtype of its own.
    zero_point : int, optional
        The code of 0, where it is not 0.
    axis, block_size : int or two ints
        As in `dequantize_linear`.
    packed : bool
        Whether codes are packed.
    ends : tuple of float, optional
        The least and the greatest quotient, float32, that the rounding kept in the range; None for nearest even.
    """

    codes: Array
    fmt: Format
    scale: Array
    zero_point: Any = None
    axis: int | tuple[int, int] = 1
    block_size: int | tuple[int, int] = 0
    packed: bool = False
    ends: tuple[float, float] | None = None


def add_scaled(stats: ErrorStats, x: Array, source: Format, scaled: ScaledCodes) -> None:
    """Compare elements with what `dequantize_linear` makes of their codes in float32, and take in what was lost.

    A finite element saturates where its quotient by the scale, rounded to float32, is finite and rounds beyond the
    range of the codes less the zero point.

    Parameters
    ----------
    stats : ErrorStats
        Takes it in.
    x : numpy.ndarray
        Unsigned codes of `source`, dense and in native byte order, of the shape that the scales ask for.
    source : Format
        A float of up to 32 bits.
    scaled : ScaledCodes
        What they became.
    """
    if not x.size:
        return
    fmt, packed, zero = scaled.fmt, scaled.packed, scaled.zero_point
    codes = scaled.codes.reshape(-1).view(_BYTE)
    held, shape = (codes, x.shape) if packed else (codes.view(fmt.code_dtype).reshape(x.shape), None)
    options = QuantizeOptions(scaled.axis, scaled.block_size, FLOAT32, packed=packed, source=fmt)
    plan, scales = resolve_operands(DEQUANTIZE, held, scaled.scale, zero, options, shape)
    counts, saturated = _kernels.compare_scaled(
        _load(source), make_program(plan, unpacked=packed), x.reshape(-1).view(_BYTE), codes, x.size,
        ready_scales(Job(held, plan, scales, shape=shape), x.size), *(scaled.ends or _range(fmt, zero or 0)),
    )  # fmt: skip
    stats.add_counts(x.size, counts)
    stats.saturated += saturated


PART = 1 << 20
"""Elements that are compared in one call, which takes less than 2**31."""


def add_blocks(stats: ErrorStats, kind: str, x: Array, source: Format, blocks: Array) -> bool:
    """Compare elements with the values of their blocks in float32, and take in what was lost.

    An element saturates where its quotient by the scale of its block, rounded to float32, rounds beyond the codes.

    Parameters
    ----------
    stats : ErrorStats
        Takes it in.
    kind : str
        The type of the blocks: one of `_kernels`.
    x, source : numpy.ndarray, Format
        Unsigned codes of a float of up to 32 bits, in native byte order; whole blocks.
    blocks : numpy.ndarray
        Their bytes.

    Returns
    -------
    bool
        False where a finite element became a value that is not.
    """
    load, flat, became, finite = to_single(source), x.reshape(-1), as_bytes(blocks), True
    for start in range(0, flat.size, PART):
        part = flat[start : start + PART]
        here = became[start * became.size // flat.size : (start + part.size) * became.size // flat.size]
        counts, saturated = _kernels.compare_blocks(kind, load, as_bytes(part), here, part.size)
        stats.add_counts(part.size, counts)
        stats.saturated += saturated
        finite = finite and math.isfinite(counts[-1])  # the sum of the squares of errors
    return finite
