"""The numbers of one piece of a tensor: cast or quantized, and what that loses."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..loss.error_stats import CHUNK, ErrorStats, count_beyond, is_within
from ..loss.fused_stats import convert_compared
from ..ops import cast, quantize
from ..ops.codes import decode, encode, unpack
from ..ops.scales import largest_magnitudes, scale_codes
from ..spec.float_mode import default_mode
from ..spec.formats import Format
from ..spec.opsets import cast_rules
from ..spec.packing import packed_bytes
from .boxes import ALIGNMENT, Box, boxes
from .recipe import Recipe, Scaling

__all__ = ["Arithmetic", "Array", "bytes_of"]

Array = np.ndarray[Any, Any]
PART = 1 << 20
"""Elements that are converted and compared in one call: compiled loops that need no array for what lies between."""

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def bytes_of(n: int, fmt: Format, packed: bool) -> int:
    """Return how many bytes `n` codes take."""
    return packed_bytes(n, fmt) if packed else n * fmt.code_dtype.itemsize


class Arithmetic:
    """Converts pieces in memory that is used again and again.

    A piece is a 1-D uint8 array with the codes of a box, in this machine's byte order, or packed. It is worked on in
    parts that stay in a core's cache.
    """

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}

    def buffer(self, name: str, dtype: Any, n: int) -> Array:
        """Return `n` elements of memory that may have been used before under that name."""
        nbytes = n * np.dtype(dtype).itemsize
        found = self._buffers.get(name)
        if found is None or found.size < nbytes:
            found = self._buffers[name] = np.empty(nbytes, np.uint8)
        return found[:nbytes].view(dtype)

    @default_mode
    def cast(
        self, piece: Array, n: int, fmt: Format, packed: bool, recipe: Recipe, result: Array, tally: ErrorStats
    ) -> None:
        """Cast `n` elements to codes in `result`."""
        to, packs = recipe.to, recipe.packs
        fused = fmt.is_float and fmt.bits <= 32
        rules = cast_rules(fmt, to, recipe.saturate, recipe.round_mode, recipe.opset)
        step = PART if fused else CHUNK
        for start in range(0, n, step):
            end = min(start + step, n)
            x = self._codes(piece, fmt, packed, start, end)
            part = result[bytes_of(start, to, packs) : bytes_of(end, to, packs)]
            if fused:
                peak = tally.add_counts(x.size, convert_compared(x, fmt, to, rules, packs, part))
            else:
                encode(
                    x, to, source=fmt, saturate=recipe.saturate, round_mode=recipe.round_mode, opset=recipe.opset,
                    packed=packs, out=part if packs else part.view(to.code_dtype),
                )  # fmt: skip
                values = self._values(x, fmt)
                peak = tally.add(values, self._back(part, to, packs, values))
            tally.saturated += self._beyond(x, fmt, to, peak)

    def _beyond(self, x: Array, fmt: Format, to: Format, peak: float) -> int:
        """Return how many codes of values, the largest magnitude being `peak`, round beyond the target's range."""
        if is_within(to, peak):
            return 0
        parts = (x[start : start + CHUNK] for start in range(0, x.size, CHUNK))
        return sum(count_beyond(self._values(part, fmt), to, nearest=False) for part in parts)

    def largest(
        self, piece: Array, box: Box, fmt: Format, packed: bool, scaling: Scaling
    ) -> Iterator[tuple[int, Array]]:
        """Yield the largest magnitudes of parts of a box, float64, and the index that the first of them belongs to."""
        for part in boxes(box.shape, CHUNK, align=ALIGNMENT if packed else 1):
            x = self._codes(piece, fmt, packed, part.start, part.start + part.size)
            yield box.first + part.first, _largest(x.reshape(part.shape), fmt, scaling)

    @default_mode
    def quantize(
        self, piece: Array, box: Box, fmt: Format, packed: bool, recipe: Recipe, scales: Array | None, result: Array,
        tally: ErrorStats,
    ) -> Array:  # fmt: skip
        """Quantize a box to codes in `result`; return the codes of the scales.

        `scales` are those of the whole tensor; None for blocks, whose scales are found here.
        """
        to, packs, scaling, found = recipe.to, recipe.packs, recipe.scaling, []
        if scaling is None:
            raise ValueError("a recipe without scales cannot quantize")
        for part in boxes(box.shape, CHUNK, recipe.unit, ALIGNMENT if packed or packs else 1):
            end = part.start + part.size
            x = self._codes(piece, fmt, packed, part.start, end).reshape(part.shape)
            first = box.first + part.first
            if scales is None:
                scale = scale_codes(_largest(x, fmt, scaling), to, scaling.fmt)
            else:
                scale = scales[first : first + part.shape[1]] if scaling.kind == "axis" else scales
            found.append(scale.reshape(-1))
            values = self._values(x, fmt)
            inside = x.view(fmt.dtype) if fmt.bits in (16, 32) else np.asarray(cast.cast(values, _SINGLE))
            codes = self._quantized(inside, scale.view(scaling.fmt.dtype), recipe)
            place = result[bytes_of(part.start, to, packs) : bytes_of(end, to, packs)]
            place[:] = codes
            factors = self._factors(scale, scaling, part)
            back = self._back(place, to, packs, values).reshape(part.shape)
            with np.errstate(all="ignore"):
                np.multiply(back, factors, out=back)
                ratio = np.divide(values, factors, out=self.buffer("ratio", values.dtype, x.size).reshape(part.shape))
            tally.saturated += count_beyond(ratio.reshape(-1), to, nearest=True, peak=_peak(ratio))
            tally.add(values.reshape(-1), back.reshape(-1))
        return np.concatenate(found) if found else np.empty(0, scaling.fmt.code_dtype)

    @staticmethod
    def _quantized(x: Array, scale: Array, recipe: Recipe) -> Array:
        """Return the bytes of quantized elements, x and scale being of the box's axes."""
        size = recipe.scaling.block_size if recipe.scaling else 0
        narrow = recipe.scaling is not None and recipe.scaling.fmt.bits == 16  # else it is done in float32 anyway
        y = quantize.quantize_linear(
            x[:, :, 0] if size else x, scale, axis=1, block_size=size, output_dtype=recipe.to,
            precision=_SINGLE if narrow else None, saturate=recipe.saturate, packed=recipe.packs, opset=recipe.opset,
        )  # fmt: skip
        return np.asarray(y).reshape(-1).view(np.uint8)

    @staticmethod
    def _factors(scale: Array, scaling: Scaling, part: Box) -> Array:
        """Return scales as float32 that go with the elements of a part."""
        values = np.asarray(decode(scale, scaling.fmt))
        if scaling.kind == "tensor":
            return values
        if scaling.kind == "axis":
            return values[:, np.newaxis]
        return np.repeat(values, scaling.block_size, axis=1)[:, : part.shape[1], np.newaxis]

    @staticmethod
    def _codes(piece: Array, fmt: Format, packed: bool, start: int, end: int) -> Array:
        """Return some elements of a piece as unsigned codes."""
        part = piece[bytes_of(start, fmt, packed) : bytes_of(end, fmt, packed)]
        if packed:
            return np.asarray(unpack(part, fmt, end - start)).view(fmt.code_dtype)
        return part.view(fmt.code_dtype)

    def _values(self, x: Array, fmt: Format) -> Array:
        """Return the values of codes in float32, or in float64 where that is their format."""
        if fmt.dtype in (_SINGLE, _DOUBLE):
            return x.view(fmt.dtype)
        return np.asarray(decode(x, fmt, out=self.buffer("values", _SINGLE, x.size).reshape(x.shape)))

    def _back(self, codes: Array, to: Format, packed: bool, values: Array) -> Array:
        """Return what the bytes of a result stand for, flat and in the type of the values that they came from."""
        back = self.buffer("back", values.dtype, values.size)
        if packed:
            return np.asarray(decode(codes, to, to=values.dtype, packed=True, shape=values.size, out=back))
        return np.asarray(decode(codes.view(to.code_dtype), to, to=values.dtype, out=back))


def _largest(x: Array, fmt: Format, scaling: Scaling) -> Array:
    """Return the largest magnitudes of codes of a box's three axes, the middle one of which runs along the scales."""
    if scaling.kind == "tensor":
        return largest_magnitudes(x, source=fmt)
    found = largest_magnitudes(x, axis=1, block_size=scaling.block_size, source=fmt)
    return found[:, :, 0] if scaling.block_size else found


def _peak(ratio: Array) -> float:
    """Return the largest magnitude, Inf where one is not finite."""
    peak = max(float(ratio.max()), -float(ratio.min()))
    return peak if math.isfinite(peak) else math.inf
