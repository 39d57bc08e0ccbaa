"""What a conversion loses: counts and errors of one array in one format."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .formats import Format, as_format
from .operators import cast, decode, encode
from .packing import packed_bytes

__all__ = ["Loss", "measure"]


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
        Finite elements beyond the largest value of the format.
    flushed : int
        Finite elements other than zero that became zero.
    max_abs_error, max_rel_error : float
        Largest error, and largest error over magnitude.
    sqnr_db : float
        10 log10 of the input's power over the error's; Inf where nothing was lost, NaN for zeros alone.
    bytes_before, bytes_after : int
        The input, and its packed codes.
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
    """Return the scale that takes the largest finite magnitude to the format's largest value."""
    finite = np.abs(values[np.isfinite(values)])
    largest = float(finite.max()) if finite.size else 0.0
    scale = float(np.float32(largest / float(fmt.max)))
    return scale if scale > 0 and math.isfinite(scale) else 1.0


def _restored(values: np.ndarray[Any, Any], fmt: Format, scale: float | None) -> np.ndarray[Any, Any]:
    if scale is None:
        return np.asarray(decode(encode(values, fmt), fmt, to="float64"))
    scaled = values / scale
    if fmt.is_integer:  # Cast truncates and wraps; a scaled value is meant to go to the nearest code
        inside = np.clip(np.rint(scaled), float(fmt.min), float(fmt.max))
        scaled = np.where(np.isnan(scaled), float(fmt.min), inside)
    return np.asarray(decode(encode(scaled, fmt), fmt, to="float64")) * scale


def measure(x: np.ndarray[Any, Any], fmt: object, *, scaled: bool = False) -> Loss:
    """Convert an array to a format and back, and say what was lost.

    Parameters
    ----------
    x : numpy.ndarray
        Any numeric array, any shape.
    fmt : str, int, dtype or Format
        The format.
    scaled : bool
        Divide by max|x| / (largest value of the format) first, a float32, and round to the nearest integer for integer
        formats; False is the plain Cast, which truncates.

    Returns
    -------
    Loss
        NaN and Inf are counted and left out of the errors. Elements beyond the format's range count as saturated,
        whatever the format does with them.

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
    row = as_format(fmt)
    values = np.asarray(cast(x, "float64"))
    scale = _scale_for(values, row) if scaled else None
    finite = np.isfinite(values)
    kept = values[finite]
    kept_back = _restored(values, row, scale)[finite]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(kept_back - kept)
        relative = error[kept != 0] / np.abs(kept[kept != 0])
        sqnr = float(10 * np.log10(np.sum(np.square(kept)) / np.sum(np.square(error))))
    limit = scale or 1.0
    return Loss(
        format=row.name,
        scale=limit,
        elements=values.size,
        nan=int(np.isnan(values).sum()),
        inf=int(np.isinf(values).sum()),
        saturated=int(((kept > float(row.max) * limit) | (kept < float(row.min) * limit)).sum()),
        flushed=int(((kept != 0) & (kept_back == 0)).sum()),
        max_abs_error=float(error.max(initial=0.0)),
        max_rel_error=float(relative.max(initial=0.0)),
        sqnr_db=sqnr,
        bytes_before=x.nbytes,
        bytes_after=packed_bytes(values.size, row),
    )
