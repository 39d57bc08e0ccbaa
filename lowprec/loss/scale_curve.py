"""The error of one block as a function of its scale: candidates, the scale that a rule chooses, the best one stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._float_mode import default_mode
from ..arrays.libraries import namespace
from ..arrays.storage_dtypes import format_of
from ..ops.cast import cast
from ..ops.encode_pack import decode
from ..ops.mx import mx_quantize
from ..ops.nvfp4 import nvfp4_quantize
from ..ops.quantize_linear import dequantize_linear, quantize_linear
from ..ops.scales import absmax_scale
from ..plans.quantize_plan import absmax_formats
from ..spec.formats import (
    BLOCK_FORMATS,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT32,
    NVFP4,
    Format,
    as_format,
    element_of,
)
from ..spec.scalar_arguments import shown
from ..spec.scale_rules import BlockRuleName
from .beyond_range import saturates
from .convert_and_measure import on_host
from .error_stats import error_statistics

__all__ = ["ScaleCurve", "ScalePoint", "scale_curve"]

Array = np.ndarray[Any, Any]

_MOST = 1 << 12
"""Stored scales that are tried."""

_TOGETHER = 1 << 18
"""Elements that are quantized in one call."""


class ScalePoint(NamedTuple):
    """What a block loses by one scale.

    Attributes
    ----------
    scale : float
        What elements are divided by; of NVFP4 the product of both scales. A float32.
    code : int or None
        The code of the scale in the format of the scales; None of a candidate.
    rms_error, sqnr_db, max_abs_error : float
        As in `ErrorStats`.
    saturated : int
        Elements that round beyond the ends of the range.
    """

    scale: float
    code: int | None
    rms_error: float
    sqnr_db: float
    max_abs_error: float
    saturated: int


@dataclass(frozen=True, slots=True)
class ScaleCurve:
    """The error of a block by scale (see `scale_curve`).

    Attributes
    ----------
    format, element, scale_format : str
        What was asked for; the formats of the elements and of the scales.
    global_scale : float
        The factor of all scales of NVFP4; 1 elsewhere.
    points : tuple of ScalePoint
        The candidates, in the order in which they were given.
    stored : tuple of ScalePoint
        The scales of the scale format from the smallest candidate to the largest, in this order; empty where there are
        more than 4096.
    chosen : ScalePoint
        The scale that the rule chooses.
    best : ScalePoint
        Of `chosen`, the stored scales and the candidates that are stored ones: the one of least error. Of equal ones
        it is the one nearest to the chosen one in their order, then the smaller one.
    """

    format: str
    element: str
    scale_format: str
    global_scale: float
    points: tuple[ScalePoint, ...]
    stored: tuple[ScalePoint, ...]
    chosen: ScalePoint
    best: ScalePoint

    @property
    def gain_db(self) -> float:
        """By how many dB the SQNR of the best scale is higher than that of the chosen one; 0 where they are equal."""
        same = self.best.sqnr_db == self.chosen.sqnr_db
        return 0.0 if same else self.best.sqnr_db - self.chosen.sqnr_db


class _Storage(NamedTuple):
    """How the elements and the scale of a block are stored."""

    name: str
    element: Format
    scale: Format
    unit: float  # what the codes of the elements count: 1/64 in MXINT8


@default_mode
def scale_curve(
    block: Any,
    fmt: object,
    scales: Sequence[float] | Array,
    /,
    *,
    scale_format: object = None,
    scale_rule: BlockRuleName | None = None,
    global_scale: float | None = None,
) -> ScaleCurve:
    """Quantize one block by each of some scales, and say what it loses by each, by the usual one and by the best one.

    An element is divided by the scale in float32, rounded to nearest even and kept within the range, as
    `quantize_linear` and the quantizations of blocks do; its value is the code times the scale, in float32.

    Parameters
    ----------
    block : array
        The elements that share the scale: any library and shape, finite, not all of them 0; rounded to float32.
    fmt : str, int, dtype or Format
        A name of `BLOCK_FORMATS`, which says what the scales are; or a signed integer of up to 16 bits, or a signed
        float of up to 8.
    scales : sequence of float
        Candidates: positive finite numbers, rounded to float32; of NVFP4 products of both scales.
    scale_format : str, int, dtype or Format, optional
        Where `fmt` is no name of `BLOCK_FORMATS`: float32, float16, bfloat16 or float8_e8m0fnu; None is float32.
    scale_rule : str, optional
        By which the usual scale is chosen, as in `lowprec.mx_quantize`, `lowprec.nvfp4_quantize` or
        `lowprec.absmax_scale`.
    global_scale : float, optional
        Of NVFP4: that of the tensor; None is that of the block alone.

    Returns
    -------
    ScaleCurve
        A point for each candidate and each stored scale between them, and which are the chosen and the best one.

    Raises
    ------
    TypeError
        If `block` is no array.
    ValueError
        If `block` is empty, all zeros or holds NaN or Inf, `scales` is empty or holds what is no positive float32, or
        another parameter is out of its range.

    Notes
    -----
    Source: as `lowprec.quantize_linear`, `lowprec.mx_quantize` and `lowprec.nvfp4_quantize`.

    Examples
    --------
    >>> import numpy as np
    >>> block = np.float32([0.1, 0.2, 0.3, 0.9])
    >>> found = scale_curve(block, "mxfp4", [0.125, 0.25, 0.5])
    >>> [(point.scale, round(point.sqnr_db, 2), point.saturated) for point in found.points]
    [(0.125, 15.66, 1), (0.25, 17.84, 0), (0.5, 15.8, 0)]
    >>> found.chosen.scale, found.best.scale, hex(found.best.code)
    (0.125, 0.25, '0x7d')
    """
    storage = _storage(fmt, scale_format)
    values, candidates = _block(block), _candidates(scales)
    if global_scale is not None and storage.name != NVFP4:
        raise ValueError(f"`global_scale` must be None unless `fmt` is {NVFP4}; got {shown(global_scale)}")
    code, factor = _chosen(values, storage, scale_rule, global_scale)
    codes, steps = _stored(storage, factor, (float(candidates.min()), float(candidates.max())))
    chosen = np.float32(decode(np.array([code], storage.scale.code_dtype), storage.scale)) * np.float32(factor)
    every = _points(values, np.concatenate([candidates, steps, chosen]), storage)
    points, stored, last = every[: candidates.size], every[candidates.size : -1], every[-1]._replace(code=code)
    stored = [point._replace(code=number) for point, number in zip(stored, codes.tolist(), strict=True)]
    return ScaleCurve(
        format=storage.name,
        element=storage.element.name,
        scale_format=storage.scale.name,
        global_scale=float(factor),
        points=tuple(points),
        stored=tuple(stored),
        chosen=last,
        best=_best(last, stored or _coded(points, storage.scale)),
    )


def _storage(fmt: object, scale_format: object) -> _Storage:
    element = element_of(fmt, "fmt")
    if isinstance(fmt, str) and fmt in BLOCK_FORMATS:
        scale = FLOAT8_E4M3FN if fmt == NVFP4 else FLOAT8_E8M0FNU
        if scale_format is not None:
            raise ValueError(f"`scale_format` must be None, since `fmt` is {fmt}; got {shown(scale_format)}")
        return _Storage(fmt, element, scale, 1 / 64 if element.is_integer else 1.0)
    if not (element.signed and element.has_zero and element.bits <= (16 if element.is_integer else 8)):
        wanted = "a signed integer of 2 to 16 bits, a signed float of up to 8, or a name of BLOCK_FORMATS"
        raise ValueError(f"`fmt` must be {wanted}; got {element.name}")
    scale = FLOAT32 if scale_format is None else as_format(scale_format, parameter="scale_format")
    return _Storage(element.name, element, absmax_formats(element, scale, None)[1], 1.0)


def _block(block: Any) -> Array:
    namespace(block)
    held = format_of(block.dtype)
    values = np.asarray(cast(on_host(block, held), FLOAT32, source=held)).reshape(-1)
    if not values.size:
        raise ValueError("`block` must have at least one element; got none")
    finite = np.isfinite(values)
    if not finite.all():
        place = int(np.argmin(finite))
        raise ValueError(f"`block` must hold finite numbers alone; got {values[place]} at {place}")
    if not values.any():
        raise ValueError("`block` must hold a number other than 0: by any scale a block of zeros loses nothing")
    return values


def _candidates(scales: Any) -> Array:
    with np.errstate(over="ignore"):
        found = np.asarray(scales, np.float64).reshape(-1).astype(np.float32)
    if not found.size:
        raise ValueError("`scales` must have at least one scale; got none")
    wrong = ~(np.isfinite(found) & (found > 0))
    if wrong.any():
        raise ValueError(f"`scales` must be positive numbers of float32; got {np.ravel(scales)[int(np.argmax(wrong))]}")
    return found


def _chosen(values: Array, storage: _Storage, rule: Any, global_scale: float | None) -> tuple[int, float]:
    """Return the code of the scale that the rule chooses, and the factor of all scales."""
    how: dict[str, Any] = {"block_size": values.size, "scale_rule": rule}
    if storage.name == NVFP4:
        _, scale, factor = nvfp4_quantize(values, global_scale=global_scale, **how)
        return int(np.asarray(scale).view(np.uint8)[0]), float(factor)
    if storage.name in BLOCK_FORMATS:
        if rule is None:
            del how["scale_rule"]
        _, scale = mx_quantize(values, storage.element, **how)
        return int(np.asarray(scale).view(np.uint8)[0]), 1.0
    scale = np.asarray(absmax_scale(values, storage.element, scale_format=storage.scale, scale_rule=rule))
    return int(scale.reshape(1).view(storage.scale.code_dtype)[0]), 1.0


def _stored(storage: _Storage, factor: float, ends: tuple[float, float]) -> tuple[Array, Array]:
    """Return the codes of the scales that can be stored between two ends, and what elements are divided by."""
    fmt = storage.scale
    none = np.empty(0, fmt.code_dtype), np.empty(0, np.float32)
    if fmt.bits > 16:
        return none
    codes = np.arange(2 ** (fmt.bits - fmt.signed), dtype=fmt.code_dtype)
    with np.errstate(all="ignore"):
        steps = np.asarray(decode(codes, fmt), np.float32) * np.float32(factor)
        inside = (steps >= ends[0]) & (steps <= ends[1]) & (steps > 0) & np.isfinite(steps)
    return none if np.count_nonzero(inside) > _MOST else (codes[inside], steps[inside])


def _points(values: Array, scales: Array, storage: _Storage) -> list[ScalePoint]:
    found, rows = [], max(_TOGETHER // values.size, 1)
    units = scales * np.float32(storage.unit)
    for start in range(0, scales.size, rows):
        some = units[start : start + rows]
        block = np.broadcast_to(values, (some.size, values.size))
        codes = np.asarray(quantize_linear(block, some, axis=0, output_dtype=storage.element))
        if storage.unit != 1:
            codes = np.maximum(codes, codes.dtype.type(-127))
        back = np.asarray(dequantize_linear(codes, some, axis=0, source=storage.element))
        beyond = saturates(np.ascontiguousarray(block), storage.element, some[:, None], symmetric=storage.unit != 1)
        for scale, row, outside in zip(scales[start : start + rows].tolist(), back, beyond, strict=True):
            stats = error_statistics(values, row)
            counts = stats.rms_error, stats.sqnr_db, stats.max_abs_error, int(np.count_nonzero(outside))
            found.append(ScalePoint(scale, None, *counts))
    return found


def _coded(points: Sequence[ScalePoint], fmt: Format) -> list[ScalePoint]:
    """Return the points whose scales a format holds, with their codes, from the smallest scale up."""
    scales = np.array([point.scale for point in points], np.float32)
    kept = np.asarray(cast(scales, fmt))
    held = np.asarray(cast(kept, FLOAT32, source=fmt)) == scales
    codes = kept.view(fmt.code_dtype).tolist()
    coded = [
        point._replace(code=code) for point, code, is_held in zip(points, codes, held.tolist(), strict=True) if is_held
    ]
    return sorted(coded)


def _best(chosen: ScalePoint, others: Sequence[ScalePoint]) -> ScalePoint:
    order = sorted({point.code: point for point in (*others, chosen)}.values())
    middle = order.index(chosen)
    return min(enumerate(order), key=lambda one: (one[1].rms_error, abs(one[0] - middle), one[0]))[1]
