"""What a conversion loses: counts and errors of one array in one format, with or without scales."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from .._float_mode import default_mode
from .._notebook_display import facts_html
from ..arrays.libraries import namespace
from ..arrays.storage_dtypes import format_of
from ..ops.cast import cast
from ..ops.encode_pack import decode, encode
from ..ops.quantize import Quantized, QuantizedParts
from ..ops.scales import largest_magnitudes, scale_codes
from ..ops.to_library import held_codes
from ..spec.formats import BLOCK_FORMATS, FORMATS, Format, as_format
from ..spec.old_names import renamed
from ..spec.packing import packed_bytes
from ..spec.scalar_arguments import as_flag, as_integer
from .error_stats import CHUNK, ErrorStats, count_beyond
from .quantized_loss import compare_quantized, quantize_to_groups, quantized_values, stored_bytes

__all__ = ["Loss", "measure", "on_host"]

Array = np.ndarray[Any, Any]
_SINGLE = FORMATS["float32"]

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
        What the input was divided by; NaN where elements have several scales.
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
        The packed codes of the input, and those of the format; with scales and zero points where elements share them by
        an axis, in blocks, or in a quantized array.
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

    def _repr_html_(self) -> str:
        """Return the facts as a table, for notebooks."""
        facts = {field.name: getattr(self, field.name) for field in fields(self)[1:]}
        return facts_html(f"loss, to {self.format}", facts)


def _chunks(x: Array) -> Iterator[Array]:
    """Yield flat pieces of an array, in the order of its memory where it is dense, and never all of it at once."""
    dense = x.flags.c_contiguous or x.flags.f_contiguous
    flat = x.reshape(-1, order="A") if dense else x.flat
    for start in range(0, x.size, CHUNK):
        yield np.asarray(flat[start : start + CHUNK])


def _scale_for(x: Array, fmt: Format, held: Format) -> float:
    """Return the float32 scale of the whole array, as `lowprec.absmax_scale` computes it; 1 for wide formats."""
    if fmt.exponent_bits >= _WIDE:
        return 1.0
    largest = max((float(largest_magnitudes(chunk, source=held)) for chunk in _chunks(x)), default=0.0)
    return float(decode(scale_codes(np.float64(largest), fmt, _SINGLE), _SINGLE))


def _within(values: Array, fmt: Format) -> Array:
    """Clip to the integers of a format that float64 has."""
    low, high = float(fmt.min), float(fmt.max)
    if high > fmt.max:  # compared exactly: float64 has no 2**63 - 1
        high = math.nextafter(high, 0.0)
    return np.asarray(np.clip(np.rint(values), low, high))


def _is_wide(fmt: Format) -> bool:
    return fmt.is_integer and fmt.bits > 53


def _parts(x: Array, held: Format) -> tuple[Array, Array | float]:
    """Return an array as the exact sum of two of float64: 64-bit integers have more bits than one of them."""
    if not _is_wide(held):
        return np.asarray(cast(x, "float64", source=held)), 0.0
    whole = np.asarray(cast(x, held, source=held))
    low = whole & 0xFFFF_FFFF
    return (whole - low).astype(np.float64), low.astype(np.float64)


def _add(found: ErrorStats, x: Array, row: Format, held: Format, scale: float | None) -> None:
    """Convert a flat chunk to a format and back, and count what was lost; a scale asks for nearest and clipped."""
    high, low = _parts(x, held)
    values = high + low
    finite = np.isfinite(values)
    if scale is not None:
        inside = values[finite] / scale
        codes = np.zeros(x.shape, row.code_dtype)
        codes[finite] = encode(_within(inside, row) if row.is_integer else inside, row)
    else:
        inside = np.asarray(cast(x, held, source=held)) if _is_wide(held) else values[finite]
        codes = encode(x, row, source=held)
    back_high, back_low = _parts(codes, row)
    back = (back_high + back_low) * (scale or 1.0)
    with np.errstate(all="ignore"):
        error = np.abs((back_high * (scale or 1.0) - high) + (back_low * (scale or 1.0) - low))
    found.add(values, back, error)
    found.saturated += count_beyond(inside, row, nearest=scale is not None)


@renamed(fmt="to")
@default_mode
def measure(
    x: Any,
    to: Any,
    *,
    source: object = None,
    scaled: bool = False,
    axis: int | Sequence[int] | None = None,
    block_size: int | Sequence[int] | None = None,
) -> Loss:
    """Convert an array to a format and back, and say what was lost.

    Parameters
    ----------
    x : array
        Any library, shape and strides; any numbers. Dask arrays are computed, arrays on other devices copied to the
        host.
    to : str, int, dtype, Format or Quantized
        The format; or what `lowprec.quantize` made of `x`: its values are compared with `x`.
    source : str, int, dtype or Format, optional
        The format of `x` where its dtype only carries the codes.
    scaled : bool
        Divide by max|x| / (largest value of the format) first, and multiply by it afterwards; integers are rounded to
        the nearest and clipped. The scale is the float32 of `lowprec.absmax_scale`, for unsigned formats too, and 1 for
        formats with 8 exponent bits or more. False is the plain Cast, which truncates to integers and wraps.
    axis, block_size : int or two ints, optional
        A scale for each index of an axis, for each block along it (of the last axis, where only `block_size` is given),
        or for each tile, as in `lowprec.absmax_scale`; then quantized and dequantized as by `lowprec.quantize_linear`
        and `lowprec.dequantize_linear`. float64 is divided in float64, and rounded once.

    Returns
    -------
    Loss
        NaN and Inf are counted and left out of the errors. Elements that round beyond the format's range count as
        saturated, whatever the format does with them.

    Raises
    ------
    TypeError, ValueError
        As `lowprec.cast` does; ValueError too where `to` is a Quantized of another shape, or is given with other
        scales.

    Notes
    -----
    Source: ONNX Cast-28; QuantizeLinear-28 with `axis` and `block_size`.

    Examples
    --------
    >>> import numpy as np
    >>> found = measure(np.array([1.0, 1.1, 1000.0], np.float32), "float8_e4m3fn")
    >>> found.saturated, found.max_abs_error
    (1, 552.0)
    >>> x = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(4, 256)
    >>> [round(measure(x, "int4", axis=1, block_size=size).sqnr_db, 2) for size in (128, 32)]
    [26.1, 27.31]
    """
    scaled, block_size = as_flag(scaled, "scaled"), 0 if block_size is None else block_size
    shared = axis is not None or as_integer(block_size) != 0
    namespace(x)
    held = format_of(x.dtype, source)
    if isinstance(to, Quantized):
        if scaled or shared:
            raise ValueError("`scaled`, `axis` and `block_size` must have their defaults where `to` is quantized")
        if tuple(to.shape) != tuple(x.shape):
            raise ValueError(f"`to` must have the shape of `x`, {tuple(x.shape)}; got {tuple(to.shape)}")
        return _measure_shared(on_host(x, held), held, *quantized_values(to, "to"))
    if isinstance(to, str) and to in BLOCK_FORMATS:
        raise ValueError(f"`to` must be `lp.quantize(x, {to!r})` to measure a block format; got its name")
    row = as_format(to, parameter="to")
    if shared:
        found = on_host(x, held)
        return _measure_shared(found, held, *quantize_to_groups(found, held, row, axis, block_size))
    encode(np.empty(0, held.dtype), row, source=held)  # says what is wrong before anything is read
    return _measure(on_host(x, held), held, row, scaled)


def on_host(x: Any, held: Format) -> Array:
    """Return an array of any library in NumPy; NumPy's own as it is."""
    return x if isinstance(x, np.ndarray) else held_codes(x, held, "x")


def _measure(x: Array, held: Format, row: Format, scaled: bool) -> Loss:
    scale = _scale_for(x, row, held) if scaled else 1.0
    found = ErrorStats()
    for chunk in _chunks(x):
        _add(found, chunk, row, held, scale if scaled else None)
    return _loss(found, row, scale, held, packed_bytes(found.elements, row))


def _measure_shared(x: Array, held: Format, parts: QuantizedParts, back: Array) -> Loss:
    found, factors = compare_quantized(x, held, parts, back), parts.factors()
    scale = float(factors) if factors.ndim == 0 else math.nan
    return _loss(found, parts.format, scale, held, stored_bytes(parts))


def _loss(found: ErrorStats, row: Format, scale: float, held: Format, bytes_after: int) -> Loss:
    return Loss(
        format=row.name,
        scale=scale,
        elements=found.elements,
        nan=found.nan,
        inf=found.inf,
        saturated=found.saturated,
        flushed=found.flushed,
        max_abs_error=found.max_abs_error,
        max_rel_error=found.max_rel_error,
        sqnr_db=found.sqnr_db,
        bytes_before=packed_bytes(found.elements, held),
        bytes_after=bytes_after,
    )
