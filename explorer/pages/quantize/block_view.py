"""One block of a quantized tensor: its scale, how that came about, and what the largest element does to the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from lowprec import Format
from lowprec.loss import error_statistics
from lowprec.reference.exact_cast import Value, decode
from lowprec.reference.exact_quantize import product, quotient
from lowprec.teaching import ScaleStep, linear_scale_steps, mx_scale_steps, nvfp4_scale_steps

from .settings import MX, NVFP4, Settings
from .view import Quantized, per_element

__all__ = ["MOST_LINES", "MOST_SHOWN", "Block", "Member", "block", "grid_lines", "without"]

Array = np.ndarray[Any, Any]

MOST_SHOWN = 256
"""Elements of a block that are listed and drawn."""

MOST_LINES = 64
"""Values of a format that are drawn as lines behind the elements."""


@dataclass(frozen=True, slots=True)
class Member:
    """One element of a block; `quotient` is x over its scale, exact; `error` is None where not both are finite."""

    index: tuple[int, ...]
    x: Value
    quotient: Value
    code: int
    dequantized: Value
    error: float | None
    is_largest: bool
    saturated: bool


@dataclass(frozen=True, slots=True)
class Block:
    """One block, or whatever shares a scale: slices and whole tensors too.

    `members` are the first elements of `size`; `largest` is the index of the largest finite one, None where all are
    zero. `factor` is what elements are divided by: of NVFP4 the product of `scale` and the global scale. `steps` say
    how the scale came about; none where it has a zero point, or is NaN. `sqnr_db` is that of the block,
    `others_sqnr_db` that of all elements but the largest.
    """

    settings: Settings
    place: int
    index: tuple[int, ...]
    size: int
    members: tuple[Member, ...]
    largest: tuple[int, ...] | None
    scale: Value
    scale_code: int
    zero_point: int | None
    global_scale: Value | None
    factor: Value
    steps: tuple[ScaleStep, ...]
    sqnr_db: float
    others_sqnr_db: float

    @property
    def format(self) -> Format:
        """The format of the elements."""
        return self.settings.fmt


def _members(quantized: Quantized, place: int) -> Array:
    """Return the places in C order of the elements that share a scale."""
    count = quantized.scale.size
    if not 0 <= place < count:
        raise ValueError(f"`block_index` must be from 0 to {count - 1}; got {place}")
    places = np.arange(count).reshape(quantized.scale.shape)
    return np.flatnonzero(per_element(places, quantized.settings, quantized.x.shape).reshape(-1) == place)


def _largest(quantized: Quantized, members: Array) -> int | None:
    """Return the place of the largest finite element, None where all are zero or none is finite."""
    x = quantized.x.reshape(-1)[members]
    magnitude = np.where(np.isfinite(x), np.abs(x), 0)
    return int(members[magnitude.argmax()]) if magnitude.any() else None


def _index(place: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(map(int, np.unravel_index(place, shape)))


def _sqnr(quantized: Quantized, places: Array) -> float:
    finite = places[quantized.finite.reshape(-1)[places]]
    return error_statistics(quantized.x.reshape(-1)[finite], quantized.dequantized.reshape(-1)[finite]).sqnr_db


def _steps(quantized: Quantized, largest: float, is_nan: bool) -> tuple[ScaleStep, ...]:
    settings = quantized.settings
    if settings.has_zero_point or is_nan:
        return ()
    if settings.scheme == NVFP4:
        return nvfp4_scale_steps(largest, quantized.global_scale)
    if settings.scheme == MX or not settings.scale_format.has_zero:
        if settings.scheme != MX and settings.fmt.is_integer:  # whose values are no MXINT8's
            return ()
        rule = settings.scale_rule if settings.has_scale_rule else "floor"
        return mx_scale_steps(largest, settings.fmt, rule)
    return linear_scale_steps(largest, settings.fmt, settings.scale_format)


def block(quantized: Quantized, place: int, but: tuple[int, ...] | None = None) -> Block:
    """Return a block of a quantized tensor; ValueError where it has no such one.

    `but` is the index of the element that counts as the largest one for `others_sqnr_db`; None for the largest.
    """
    members, settings = _members(quantized, place), quantized.settings
    index = _index(place, quantized.scale.shape) if quantized.scale.shape else ()
    code = int(quantized.scale_codes[index])
    scale = decode(code, settings.scale_format)
    flat = {name: getattr(quantized, name).reshape(-1) for name in ("x", "codes", "dequantized", "error", "finite")}
    factor = Value.of(float(quantized.element_scale.reshape(-1)[members[0]]))
    largest = _largest(quantized, members)
    left_out = largest if but is None else int(np.ravel_multi_index(but, quantized.x.shape))
    zero = None if quantized.zero_point is None else int(quantized.zero_point[index])
    unit = _unit(settings)
    shown = tuple(
        Member(
            _index(member, quantized.x.shape),
            Value.of(float(flat["x"][member])),
            quotient(quotient(Value.of(float(flat["x"][member])), factor), unit),
            int(flat["codes"][member]),
            Value.of(float(flat["dequantized"][member])),
            float(flat["error"][member]) if flat["finite"][member] else None,
            member == largest,
            bool(quantized.out_of_range.reshape(-1)[member]),
        )
        for member in members[:MOST_SHOWN].tolist()
    )
    magnitude = 0.0 if largest is None else abs(float(flat["x"][largest]))
    return Block(
        settings,
        place,
        index,
        members.size,
        shown,
        None if largest is None else _index(largest, quantized.x.shape),
        scale,
        code,
        zero,
        None if quantized.global_scale is None else Value.of(quantized.global_scale),
        factor,
        _steps(quantized, magnitude, bool(scale.special)),
        _sqnr(quantized, members),
        _sqnr(quantized, members[members != left_out]),
    )


def _unit(settings: Settings) -> Value:
    """Return what the integer of a code counts: MXINT8 has units of its own."""
    return Value.of("1/64") if settings.scheme == MX and settings.fmt.is_integer else Value.of(1)


def without(x: Array, index: tuple[int, ...]) -> Array:
    """Return a tensor whose element at an index is zero, so that it counts for no scale."""
    changed = np.array(x)
    changed[index] = 0
    return changed


def grid_lines(found: Block) -> tuple[Value, ...]:
    """Return the values that the elements of a block can have, in order; none where there are many, or no scale."""
    fmt = found.format
    if 1 << fmt.bits > MOST_LINES or found.factor.special:
        return ()
    values = [decode(code, fmt) for code in range(1 << fmt.bits)]
    offset = found.zero_point or 0
    moved = [Value.of(value.number - offset) if offset else value for value in values if not value.special]
    products = [product(product(value, _unit(found.settings)), found.factor) for value in moved]
    return tuple(
        sorted({Value(value.magnitude, value.negative and value.magnitude > 0) for value in products}, key=float)
    )
