"""What a conversion loses: counts and errors of one array in one format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import format_of
from .codes import encode
from .formats import Format, as_format
from .operators import cast
from .packing import packed_bytes

__all__ = ["Loss", "measure"]

_WIDE = 8
"""Exponent bits of float32: what has as many holds any tensor's range, and is not scaled."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What `measure` found; errors are those of finite elements, in units of the input.

    Attributes
    ----------
    format : str
        The format converted to.
    scale : float
        What the input was divided by.
    elements, nan, inf : int
        Of the input.
    saturated : int
        Finite elements that round beyond the ends of the format's range.
    flushed : int
        Finite elements other than zero that became zero.
    max_abs_error, max_rel_error : float
        Largest error, and largest error over magnitude.
    sqnr_db : float
        10 log10 of the input's power over the error's; Inf where nothing was lost, -Inf where a finite element became
        Inf, NaN where no finite element but zeros is there.
    bytes_before, bytes_after : int
        The packed codes of the input, and those of the format.
    """

    format: str
    scale: float
    elements: int
    nan: int
    inf: int
    saturated: int
    flushed: int
    max_abs_error: float
    max_rel_error: float
    sqnr_db: float
    bytes_before: int
    bytes_after: int


def _scale_for(values: np.ndarray[Any, Any], fmt: Format) -> float:
    """Return the float32 that takes the largest magnitude to the format's largest value, or 1 where there is none."""
    if fmt.exponent_bits >= _WIDE:
        return 1.0
    with np.errstate(over="ignore", under="ignore"):
        scale = float(np.float32(float(np.abs(values).max(initial=0.0)) / float(fmt.max)))
    return scale if scale > 0 and math.isfinite(scale) else 1.0


def _within(values: np.ndarray[Any, Any], fmt: Format) -> np.ndarray[Any, Any]:
    """Clip to the integers of a format that float64 has."""
    low, high = float(fmt.min), float(fmt.max)
    if high > fmt.max:  # compared exactly: float64 has no 2**63 - 1
        high = math.nextafter(high, 0.0)
    return np.asarray(np.clip(np.rint(values), low, high))


def _beyond(values: np.ndarray[Any, Any], fmt: Format, *, nearest: bool) -> np.ndarray[Any, Any]:
    """Return which values, floats or integers, round to something outside the format's range."""
    if values.dtype.kind in "iu" and not fmt.is_float:
        return np.asarray((values < fmt.min) | (values > fmt.max))
    if not fmt.is_float:
        whole = np.rint(values) if nearest else np.trunc(values)
        return np.asarray((whole < fmt.min) | (whole >= float(int(fmt.max) + 1)))  # float64 has 2**63, not 2**63 - 1
    magnitude = np.abs(values.astype(np.float64))
    if not fmt.has_zero:  # powers of two: what is beyond an end goes to that end
        return np.asarray((magnitude > fmt.max) | (magnitude < fmt.smallest_normal))
    limit = float(fmt.max) + math.ldexp(0.5, fmt.emax - fmt.mantissa_bits)  # Inf for float64: nothing reaches it
    return np.asarray(magnitude >= limit if fmt.max_code & 1 else magnitude > limit)  # a tie goes to the even code


def _is_wide(fmt: Format) -> bool:
    return fmt.is_integer and fmt.bits > 53


def _parts(x: np.ndarray[Any, Any], held: Format) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any] | float]:
    """Return an array as the exact sum of two of float64: 64-bit integers have more bits than one of them."""
    if not _is_wide(held):
        return np.asarray(cast(x, "float64", source=held)), 0.0
    whole = np.asarray(cast(x, held, source=held))
    low = whole & 0xFFFF_FFFF
    return (whole - low).astype(np.float64), low.astype(np.float64)


def _sqnr_db(values: np.ndarray[Any, Any], error: np.ndarray[Any, Any]) -> float:
    peaks = [float(np.abs(part).max(initial=0.0)) for part in (values, error)]
    if peaks[0] == 0:
        return math.nan
    if peaks[1] in (0, math.inf):
        return -math.inf if peaks[1] else math.inf
    # Divided by their peaks, no squares overflow, and none that count vanish.
    with np.errstate(under="ignore"):
        powers = [10 * math.log10(np.sum(np.square(p / peak))) for p, peak in zip((values, error), peaks, strict=True)]
    return 20 * (math.log10(peaks[0]) - math.log10(peaks[1])) + powers[0] - powers[1]


def measure(x: np.ndarray[Any, Any], fmt: object, *, source: object = None, scaled: bool = False) -> Loss:
    """Convert an array to a format and back, and say what was lost.

    Parameters
    ----------
    x : numpy.ndarray
        Any numeric array, any shape.
    fmt : str, int, dtype or Format
        The format.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes.
    scaled : bool
        Divide by max|x| / (largest value of the format) first, and multiply by it afterwards; integers are rounded to
        the nearest and clipped. The scale is a float32, and 1 for formats with 8 exponent bits or more and where that
        quotient is 0 or Inf. False is the plain Cast, which truncates to integers and wraps.

    Returns
    -------
    Loss
        NaN and Inf are counted and left out of the errors. Elements that round beyond the format's range count as
        saturated, whatever the format does with them.

    Raises
    ------
    TypeError, ValueError
        As `lowprec.cast` does.

    Notes
    -----
    Source: ONNX Cast-28.

    Examples
    --------
    >>> import numpy as np
    >>> found = measure(np.array([1.0, 1.1, 1000.0], np.float32), "float8_e4m3fn")
    >>> found.saturated, found.max_abs_error
    (1, 552.0)
    """
    row, held = as_format(fmt), format_of(x.dtype, source)
    everything = np.asarray(cast(x, "float64", source=held))
    finite = np.isfinite(everything)
    kept = x[finite]
    high, low = _parts(kept, held)
    values = high + low
    scale = _scale_for(values, row) if scaled else 1.0
    if scaled:
        inside = values / scale
        codes = encode(_within(inside, row) if row.is_integer else inside, row)
    else:
        inside = np.asarray(cast(kept, held, source=held)) if _is_wide(held) else values
        codes = encode(kept, row, source=held)
    back_high, back_low = _parts(codes, row)
    back = (back_high + back_low) * scale
    not_zero = values != 0
    with np.errstate(over="ignore", under="ignore"):
        error = np.abs((back_high * scale - high) + (back_low * scale - low))
        relative = error[not_zero] / np.abs(values[not_zero])
    return Loss(
        format=row.name,
        scale=scale,
        elements=everything.size,
        nan=int(np.isnan(everything).sum()),
        inf=int(np.isinf(everything).sum()),
        saturated=int(_beyond(inside, row, nearest=scaled).sum()),
        flushed=int((not_zero & (back == 0)).sum()),
        max_abs_error=float(error.max(initial=0.0)),
        max_rel_error=float(relative.max(initial=0.0)),
        sqnr_db=_sqnr_db(values, error),
        bytes_before=packed_bytes(everything.size, held),
        bytes_after=packed_bytes(everything.size, row),
    )
