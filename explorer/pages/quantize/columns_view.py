"""The columns of Quantize: a tensor in several settings, the place that is looked at, its block, and other scales."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec.loss import BLOCK_FORMATS, ScalePoint, error_statistics, scale_curve
from lowprec.spec.formats import FLOAT32, FLOAT64, INT8
from lowprec.teaching import format_facts

from .settings import LINEAR, MX, NVFP4, Settings, settings_text
from .view import Quantized, per_element, values_of_codes

__all__ = [
    "MOST_COLUMNS",
    "MOST_ROWS",
    "Area",
    "Column",
    "Curve",
    "Histogram",
    "Point",
    "Window",
    "column",
    "place_of",
    "setting_label",
    "setting_title",
    "window_of",
]

MOST_ROWS, MOST_COLUMNS = 72, 128
"""What is drawn of a tensor: the window of this size in which the chosen element lies."""

_BINS = 64
_STEPS = 80
"""Scales that are drawn between one scale and twice it."""

_MOST_IN_CURVE = 1 << 12
"""Elements of a block whose error is computed at every scale; of more, evenly spaced ones and the largest."""

_FEW = 40
"""Scales in the range of the curve up to which each is a dot; of more, the curve itself stands for them."""

_MX_NAMES = {fmt: name for name, fmt in BLOCK_FORMATS.items() if name != NVFP4}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Area:
    """A rectangle of a tensor that is read as rows of its last dimension."""

    top: int
    left: int
    rows: int
    columns: int


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The part of a tensor that is drawn, and the chosen element; `whole` is the shape of the tensor, as rows."""

    area: Area
    row: int
    column: int
    whole: tuple[int, int]
    values: Array


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many numbers, each over its scale, lie between two edges; the values of the format within those, in order.

    `largest` is the largest value, `beyond` the share of numbers above it, or below the smallest.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    values: tuple[float, ...]
    largest: float
    lowest: float
    beyond: float


@dataclass(frozen=True, slots=True)
class Point:
    """A scale, over that at which the largest number of the block becomes the largest value; and the block's error."""

    ratio: float
    error: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The error of a block, the root of the mean of its squares, at scales from half to twice the one of `Point`.

    `chosen` is the scale that the rule of the setting gives, `best` the one of least error of those that it can
    have: `allowed`, which is empty where they are many.
    """

    line: tuple[Point, ...]
    allowed: tuple[Point, ...]
    chosen: Point
    best: Point
    rule: str


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """One setting: the window dequantized, its error, the block of the chosen element, and why it is as it is.

    `block_columns` and `block_rows` are where blocks begin in the window, none where every one does. `curve` is None
    where there are no other scales to draw: with a zero point, of an unsigned format, of zeros, or not finite.
    """

    text: str
    title: str
    label: str
    bits_per_value: float
    sqnr_db: float
    values: Array
    error: Array
    block: Area
    block_columns: tuple[int, ...]
    block_rows: tuple[int, ...]
    histogram: Histogram
    curve: Curve | None
    block_error: float


def setting_title(settings: Settings) -> str:
    """Return what a setting is called above its picture: int4, blocks of 128."""
    name = settings.fmt.name
    if settings.scheme != LINEAR:
        name = "NVFP4" if settings.scheme == NVFP4 else _MX_NAMES.get(settings.fmt, f"MX {name}").replace("_", " ")
        name = name.upper() if settings.fmt in _MX_NAMES else name
    shared = {
        "tensor": "one scale",
        "axis": f"a scale for each index of axis {settings.axis}".replace("-", "−"),
        "block": f"blocks of {settings.block_size}",
    }
    return f"{name}, {shared[settings.granularity]}"


def setting_label(settings: Settings) -> str:
    """Return what a setting is called in the line of controls: MXFP4, floor."""
    title, _, shared = setting_title(settings).partition(", ")
    usual = {MX: 32, NVFP4: 16}.get(settings.scheme)
    size = "" if settings.block_size == usual and settings.granularity == "block" else shared.removeprefix("blocks of ")
    parts = [title, {"block": size, "tensor": "tensor", "axis": "axis"}[settings.granularity]]
    text = " · ".join(filter(None, parts))
    return f"{text}, {settings.scale_rule}" if settings.scheme == MX else text


def place_of(text: str, shape: tuple[int, ...]) -> tuple[int, int]:
    """Return the row and column that a text names, in a tensor of a shape; ValueError where it has no such element.

    Examples
    --------
    >>> place_of("54,88", (72, 128))
    (54, 88)
    """
    rows, columns = _as_rows(shape)
    parts = text.split(",")
    if len(parts) != 2 or not all(part.isascii() and part.isdecimal() and len(part) < 8 for part in parts):
        raise ValueError(f"`at` must be a row and a column, such as 0,0; got {text[:40]!r}")
    row, column = map(int, parts)
    if row >= rows or column >= columns:
        raise ValueError(f"`at` must be a row below {rows} and a column below {columns}; got {row},{column}")
    return row, column


def _as_rows(shape: tuple[int, ...]) -> tuple[int, int]:
    return math.prod(shape[:-1]), shape[-1]


def window_of(x: Array, row: int, column: int) -> Window:
    """Return the part of a tensor that is drawn so that an element is in it."""
    rows, columns = _as_rows(x.shape)
    top, left = row // MOST_ROWS * MOST_ROWS, column // MOST_COLUMNS * MOST_COLUMNS
    area = Area(top, left, min(MOST_ROWS, rows - top), min(MOST_COLUMNS, columns - left))
    return Window(area, row, column, (rows, columns), _part(np.asarray(lp.cast(x, FLOAT64)), area))


def _part(values: Array, area: Area) -> Array:
    rows = values.reshape(-1, values.shape[-1])
    return rows[area.top : area.top + area.rows, area.left : area.left + area.columns]


def column(quantized: Quantized, window: Window) -> Column:
    """Return what a setting makes of a tensor, seen in a window of it."""
    settings, area = quantized.settings, window.area
    places = np.arange(quantized.scale.size).reshape(quantized.scale.shape)
    owners = per_element(places, settings, quantized.x.shape)
    owners = np.asarray(owners).reshape(window.whole)
    members = owners == owners[window.row, window.column]
    shown = _part(owners, area)
    found = quantized.finite.reshape(window.whole) & members
    return Column(
        settings_text(settings),
        setting_title(settings),
        setting_label(settings),
        quantized.bits_per_value,
        quantized.sqnr_db,
        _part(quantized.dequantized, area),
        _part(quantized.error, area),
        _bounds(members),
        _begins(shown, 1),
        _begins(shown, 0),
        histogram(quantized),
        _curve(quantized, members),
        error_statistics(
            quantized.x.reshape(window.whole)[found], quantized.dequantized.reshape(window.whole)[found]
        ).rms_error,
    )


def _bounds(members: Array) -> Area:
    rows, columns = (np.flatnonzero(members.any(axis)) for axis in (1, 0))
    return Area(int(rows[0]), int(columns[0]), int(rows[-1] - rows[0]) + 1, int(columns[-1] - columns[0]) + 1)


def _begins(owners: Array, axis: int) -> tuple[int, ...]:
    """Return where the owner changes along an axis, nothing where it does so everywhere."""
    changes = (np.diff(owners, axis=axis) != 0).any(1 - axis)
    return () if changes.all() else tuple((np.flatnonzero(changes) + 1).tolist())


def histogram(quantized: Quantized) -> Histogram:
    """Return where the numbers lie between the values of the format once each is divided by its scale."""
    settings = quantized.settings
    values = values_of_codes(settings)
    values = np.unique(values[np.isfinite(values)])
    lowest, largest = float(values[0]), float(values[-1])
    with np.errstate(all="ignore"):
        scaled = quantized.x / quantized.element_scale
    if quantized.zero_point is not None:
        scaled = scaled + per_element(quantized.zero_point, settings, quantized.x.shape)
    scaled = np.asarray(lp.cast(scaled[np.isfinite(scaled)], FLOAT32)).astype(np.float64)  # as the library divides
    high = float(format_facts(settings.fmt).end.value) * _unit(settings)
    is_signed = bool((scaled < 0).any())
    low = max(lowest, -high) if is_signed and lowest < 0 and settings.fmt.is_integer else -high if is_signed else 0.0
    edges = np.linspace(low, high, _BINS + 1)
    ends = np.nextafter(
        np.array([lowest, largest], np.float32), np.array([-np.inf, np.inf], np.float32)
    )  # what absmax over its scale may be
    beyond = (scaled < ends[0]) | (scaled > ends[1])
    counted = np.where(
        (scaled >= largest) & ~beyond, np.nextafter(largest, 0), scaled
    )  # it belongs to what is below it
    counts, _ = np.histogram(np.clip(counted, low, high), edges)
    inside = values[(values >= low) & (values <= high)]
    return Histogram(
        tuple(edges.tolist()),
        tuple(counts.tolist()),
        tuple((inside + 0.0).tolist()),
        largest,
        lowest,
        float(beyond.mean()) if beyond.size else 0.0,
    )


def _unit(settings: Settings) -> float:
    """Return what the integer of a code counts: MXINT8 has units of its own."""
    return 1 / 64 if settings.scheme == MX and settings.fmt == INT8 else 1.0


def _curve(quantized: Quantized, members: Array) -> Curve | None:
    settings = quantized.settings
    block = quantized.x.reshape(members.shape)[members]
    block = block[np.isfinite(block)]
    largest = float(np.abs(block).max(initial=0))
    if block.size > _MOST_IN_CURVE:
        block = np.append(block[:: -(-block.size // _MOST_IN_CURVE)], block[np.abs(block).argmax()])
    values = values_of_codes(settings)
    one = largest / float(values[np.isfinite(values)].max())
    if settings.has_zero_point or not settings.fmt.signed or not (one > 0 and math.isfinite(2 * one)):
        return None
    name: object = NVFP4 if settings.scheme == NVFP4 else settings.fmt
    options: dict[str, Any] = {"global_scale": quantized.global_scale} if settings.scheme == NVFP4 else {}
    if settings.scheme == MX and settings.fmt in _MX_NAMES:
        name = _MX_NAMES[settings.fmt]
    elif settings.scheme != NVFP4:
        options["scale_format"] = settings.scale_format
    rule = settings.scale_rule if settings.scheme == MX or settings.has_scale_rule else None
    scales = one * 2.0 ** (np.arange(-_STEPS, _STEPS + 1) / _STEPS)
    found = scale_curve(block.astype(np.float32), name, scales, scale_rule=rule, **options)
    stored = found.stored if len(found.stored) <= _FEW else ()

    def point(of: ScalePoint) -> Point:
        return Point(of.scale / one, of.rms_error)

    line, dots = (tuple(map(point, some)) for some in (found.points, stored))
    return Curve(line, dots, point(found.chosen), point(found.best), rule or "absmax")
