"""Elements of a chunk cast or scaled by any rules, and what that loses; which random numbers are theirs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._float_mode import default_mode
from ...loss.beyond_range import count_rounded_beyond, random_numbers_of, rounded_range
from ...loss.error_stats import CHUNK, ErrorStats, ScaledCodes, add_scaled, convert_compared, count_beyond, is_within
from ...ops import cast, quantize_linear
from ...ops.encode_pack import decode, encode, unpack
from ...ops.scales import largest_magnitudes
from ...spec.formats import Format
from ...spec.operator_versions import cast_rules
from ...spec.packing import packed_bytes
from ...spec.rounding_modes import Rounding, RoundingOptions, RoundModeName, Stream, check_rounding
from ..chunks import ALIGNMENT, Chunk, split_chunks
from .scale_grid import ScaleRequest

__all__ = ["Arithmetic", "Array", "ElementRules", "Places", "SourceBytes", "bytes_of"]

BATCH = 1 << 14
"""Runs whose places are computed together."""

Array = np.ndarray[Any, Any]
PART = 1 << 20
"""Elements that are converted and compared in one call: compiled loops that need no array in between."""

SCALED_PART = 1 << 20
"""Elements that are measured, quantized and compared one after the other: they stay in a core's cache."""

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


@dataclass(frozen=True, slots=True)
class ElementRules:
    """The arguments of `lowprec.encode`, or with scales of `lowprec.quantize_linear`; whether codes are packed.

    `options` are rules beyond ONNX, and `seed` is that of a stochastic rounding, the same for every tensor.
    """

    to: Format
    saturate: bool
    round_mode: RoundModeName | None
    opset: int
    packs: bool = False
    scaling: ScaleRequest | None = None
    options: RoundingOptions | None = None
    seed: int | None = None

    @property
    def rounding(self) -> Rounding | None:
        """The rules beyond ONNX, resolved for the target."""
        return None if self.options is None else check_rounding(self.options, self.to, "to")

    @property
    def is_random(self) -> bool:
        """Whether an element's code depends on its place in the tensor."""
        return self.seed is not None

    def keywords(self, offset: int = 0) -> dict[str, Any]:
        """Return the rules beyond ONNX as keywords of the operators, for elements from an offset on."""
        if self.options is None:
            return {}
        stream = {} if self.seed is None else {"seed": self.seed, "offset": offset}
        return self.options._asdict() | stream

    def described(self) -> dict[str, str | int]:
        """Return the rules beyond ONNX, and the scale rule, for a report; those of ONNX are left out."""
        found: dict[str, str | int] = {}
        rounding = self.rounding
        if rounding is not None:
            found |= {"rounding": rounding.mode, "overflow": rounding.overflow, "nan": rounding.nan}
            if self.seed is not None:
                found |= {"seed": self.seed, "random_bits": rounding.random_bits}
        if self.scaling is not None and self.scaling.rule is not None:
            found["scale_rule"] = self.scaling.rule
        return found

    def view(self, shape: tuple[int, ...], fortran: bool) -> tuple[int, int, int]:
        """Return the memory of a tensor as three axes."""
        return self.scaling.view(shape, fortran) if self.scaling else (1, 1, math.prod(shape))

    @property
    def unit(self) -> int:
        """Between how many elements along the middle axis alone a tensor may be cut."""
        return (self.scaling.block_size if self.scaling else 0) or 1


@dataclass(frozen=True, slots=True)
class Places:
    """Contiguous elements of a tensor.

    Attributes
    ----------
    start : int
        The first one, counted in the order of memory.
    fortran : tuple of int
        The shape of a tensor of two axes or more in Fortran order; nothing where memory is in C order.
    """

    start: int = 0
    fortran: tuple[int, ...] = ()

    def runs(self, start: int, n: int) -> Iterator[tuple[slice, int]]:
        """Yield elements that follow each other in C order: which of `n` ones from `start` on, and the first's place.

        In Fortran order they are those along the last axis, which memory has at a distance.
        """
        first = self.start + start
        if not self.fortran:
            yield slice(0, n), first
            return
        *leading, last = self.fortran
        slab = math.prod(leading)
        for begin in range(0, min(slab, n), BATCH):
            index, inside = np.divmod(first + np.arange(begin, min(begin + BATCH, slab, n)), slab)
            rows = np.zeros_like(inside)
            for length, row in zip(leading, np.unravel_index(inside, leading, order="F"), strict=True):
                rows = rows * length + row
            for number, place in enumerate((rows * last + index).tolist(), begin):
                yield slice(number, n, slab), place


_FIRST = Places()


def bytes_of(n: int, fmt: Format, packed: bool) -> int:
    """Return how many bytes `n` codes take."""
    return packed_bytes(n, fmt) if packed else n * fmt.code_dtype.itemsize


@dataclass(frozen=True, slots=True)
class SourceBytes:
    """The bytes of a chunk, in this machine's byte order: a 1-D uint8 array, its format, whether codes are packed."""

    content: Array
    fmt: Format
    packed: bool = False

    def codes(self, start: int, end: int) -> Array:
        """Return some elements as unsigned codes."""
        part = self.content[bytes_of(start, self.fmt, self.packed) : bytes_of(end, self.fmt, self.packed)]
        if self.packed:
            return np.asarray(unpack(part, self.fmt, end - start)).view(self.fmt.code_dtype)
        return part.view(self.fmt.code_dtype)


class Arithmetic:
    """Converts chunks, in parts that stay in a core's cache, with buffers that are reused."""

    def __init__(self) -> None:
        self._buffers: dict[str, Array] = {}

    def buffer(self, name: str, dtype: Any, n: int) -> Array:
        """Return `n` elements of the buffer of that name, with whatever they last held."""
        nbytes = n * np.dtype(dtype).itemsize
        memory = self._buffers.get(name)
        if memory is None or memory.size < nbytes:
            memory = self._buffers[name] = np.empty(nbytes, np.uint8)
        return memory[:nbytes].view(dtype)

    @default_mode
    def cast(
        self,
        source: SourceBytes,
        n: int,
        rules: ElementRules,
        result: Array,
        stats: ErrorStats,
        places: Places = _FIRST,
    ) -> None:
        """Cast `n` elements to codes in `result`; a stochastic rounding goes by their places."""
        fmt, to, packs, is_random = source.fmt, rules.to, rules.packs, rules.is_random
        fused = fmt.is_float and fmt.bits <= 32 and not is_random
        resolved = cast_rules(fmt, to, rules.saturate, rules.round_mode, rules.opset, options=rules.options)
        if is_random:
            self._encode(source, n, rules, result, places)
        step = PART if fused else CHUNK
        for start in range(0, n, step):
            end = min(start + step, n)
            x = source.codes(start, end)
            part = result[bytes_of(start, to, packs) : bytes_of(end, to, packs)]
            if fused:
                largest = stats.add_counts(x.size, convert_compared(x, fmt, to, resolved, packs, part))
            else:
                if not is_random:
                    self._encode(SourceBytes(x.view(np.uint8), fmt), x.size, rules, part, _FIRST)
                values = self._values(x, fmt)
                largest = stats.add(values, self._back(part, to, packs, values))
            stats.saturated += self._beyond(x, fmt, rules, largest, places, start)

    @staticmethod
    def _encode(source: SourceBytes, n: int, rules: ElementRules, result: Array, places: Places) -> None:
        """Cast elements to codes in `result`, those that follow each other in C order in one call."""
        fmt, to, packs = source.fmt, rules.to, rules.packs
        step = n if places.fortran else PART  # memory may have few of each run
        for start in range(0, n, step):
            end = min(start + step, n)
            x = source.codes(start, end)
            part = result[bytes_of(start, to, packs) : bytes_of(end, to, packs)]
            codes = part if packs else part.view(to.code_dtype)
            for run, offset in places.runs(start, end - start):
                encode(
                    x[run], to, source=fmt, saturate=rules.saturate, round_mode=rules.round_mode, opset=rules.opset,
                    packed=packs, out=codes if packs else codes[run], **rules.keywords(offset),
                )  # fmt: skip

    def _beyond(
        self, x: Array, fmt: Format, rules: ElementRules, peak: float, places: Places, first: int
    ) -> int:  # fmt: skip
        """Return how many codes of values, the largest magnitude being `peak`, round beyond the target's range."""
        if is_within(rules.to, peak):
            return 0
        return sum(
            self._count_beyond(self._values(x[start : start + CHUNK], fmt), rules, places, first + start)
            for start in range(0, x.size, CHUNK)
        )

    @staticmethod
    def _count_beyond(
        values: Array, rules: ElementRules, places: Places, first: int, *, nearest: bool = False, peak: float = math.inf
    ) -> int:
        """Return how many values round beyond the target's range by the rules; `first` is the first one's index."""
        rounding = rules.rounding
        if rounding is None:
            return count_beyond(values, rules.to, nearest=nearest, peak=peak)
        random = None
        if rules.seed is not None and not is_within(rules.to, peak):
            random = np.empty(values.size, np.uint32)
            for run, offset in places.runs(first, values.size):
                random[run] = random_numbers_of(rounding, Stream(rules.seed, offset), random[run].size)
        return count_rounded_beyond(values, rules.to, rounding, random, peak=peak)

    def absmax(self, source: SourceBytes, chunk: Chunk, scaling: ScaleRequest) -> Iterator[tuple[int, Array]]:
        """Yield the largest magnitudes of parts of a chunk, float64, with the index of the first one's scale."""
        for part in split_chunks(chunk.shape, SCALED_PART, align=ALIGNMENT if source.packed else 1):
            x = source.codes(part.start, part.start + part.size)
            yield chunk.first + part.first, _absmax(x.reshape(part.shape), source.fmt, scaling)

    @default_mode
    def quantize(
        self,
        source: SourceBytes,
        chunk: Chunk,
        rules: ElementRules,
        scales: Array | None,
        result: Array,
        stats: ErrorStats,
        places: Places = _FIRST,
    ) -> Array:
        """Quantize a chunk to codes in `result`; return the codes of its scales.

        `scales` are those of the whole tensor; None for blocks, and for whole slices of the axis, whose scales are
        computed here.
        """
        fmt, to, packs, scaling = source.fmt, rules.to, rules.packs, rules.scaling
        if scaling is None:
            raise ValueError("rules without scales cannot quantize")
        used = []
        row = chunk.shape[2] if scales is None else 1  # has a scale, which needs all of it
        align = ALIGNMENT if source.packed or packs else 1
        for part in split_chunks(chunk.shape, max(SCALED_PART, row), rules.unit, align):
            end = part.start + part.size
            x = source.codes(part.start, end).reshape(part.shape)
            first = chunk.first + part.first
            if scales is None:
                scale = scaling.scale_codes(_absmax(x, fmt, scaling), to)
            else:
                scale = scales[first : first + part.shape[1]] if scaling.axis is not None else scales
            used.append(scale.reshape(-1))
            written = result[bytes_of(part.start, to, packs) : bytes_of(end, to, packs)]
            held = scale.view(scaling.fmt.dtype)
            self._quantized(x, fmt, held, rules, written, places, part.start)
            if fmt.is_float and fmt.bits <= 32 and not rules.is_random:
                size, rounding = scaling.block_size, rules.rounding
                ends = None if rounding is None else rounded_range(to, rounding)
                scaled = ScaledCodes(written, to, held, block_size=size, packed=packs, ends=ends)
                add_scaled(stats, x[:, :, 0] if size else x, fmt, scaled)
            else:
                factors = self._factors(scale, scaling, part)
                self._compare(x, fmt, factors, rules, written, stats, places, part.start)
        return np.concatenate(used) if used else np.empty(0, scaling.fmt.code_dtype)

    def _quantized(
        self, x: Array, fmt: Format, scale: Array, rules: ElementRules, result: Array, places: Places, first: int
    ) -> None:
        """Quantize elements, x and scale having the chunk's axes, to the bytes of a result."""
        size = rules.scaling.block_size if rules.scaling else 0
        narrow = rules.scaling is not None and rules.scaling.fmt.bits == 16  # else it is done in float32 anyway
        x = x.view(fmt.dtype) if fmt.bits in (16, 32) else np.asarray(cast.cast(self._values(x, fmt), _SINGLE))
        x = x[:, :, 0] if size else x
        out = result if rules.packs else result.view(rules.to.dtype).reshape(x.shape)
        how: dict[str, Any] = {
            "output_dtype": rules.to, "precision": _SINGLE if narrow else None, "saturate": rules.saturate,
            "packed": rules.packs, "opset": rules.opset,
        }  # fmt: skip
        if not (rules.is_random and places.fortran):
            offset = places.start + first
            quantize_linear.quantize_linear(x, scale, axis=1, block_size=size, out=out, **how, **rules.keywords(offset))
            return
        factors = np.broadcast_to(scale.reshape(-1, 1), x.shape).reshape(-1)  # one to each element
        x, out = x.reshape(-1), out.reshape(-1)
        for run, offset in places.runs(first, x.size):
            quantize_linear.quantize_linear(x[run], factors[run], axis=0, out=out[run], **how, **rules.keywords(offset))

    def _compare(
        self, x: Array, fmt: Format, factors: Array, rules: ElementRules, result: Array, stats: ErrorStats,
        places: Places, first: int,
    ) -> None:  # fmt: skip
        """Compare elements with their codes times the factors: any numbers, by any rounding."""
        values = self._values(x, fmt)
        back = self._back(result, rules.to, rules.packs, values).reshape(x.shape)
        with np.errstate(all="ignore"):
            np.multiply(back, factors, out=back)
            ratio = np.divide(values, factors, out=self.buffer("ratio", values.dtype, x.size).reshape(x.shape))
        flat, peak = ratio.reshape(-1), _peak(ratio)
        stats.saturated += self._count_beyond(flat, rules, places, first, nearest=True, peak=peak)
        stats.add(values.reshape(-1), back.reshape(-1))

    @staticmethod
    def _factors(scale: Array, scaling: ScaleRequest, part: Chunk) -> Array:
        """Return scales as float32 that go with the elements of a part."""
        values = np.asarray(decode(scale, scaling.fmt))
        if not scaling.block_size:
            return values if scaling.axis is None else values[:, np.newaxis]
        return np.repeat(values, scaling.block_size, axis=1)[:, : part.shape[1], np.newaxis]

    def _values(self, x: Array, fmt: Format) -> Array:
        """Return the values of codes in float32, or in float64 where that is their format."""
        if fmt.dtype in (_SINGLE, _DOUBLE):
            return x.view(fmt.dtype)
        return np.asarray(decode(x, fmt, out=self.buffer("values", _SINGLE, x.size).reshape(x.shape)))

    def _back(self, codes: Array, to: Format, packed: bool, values: Array) -> Array:
        """Return the values of the codes of a result, flat and in the dtype of the values that were converted."""
        back = self.buffer("back", values.dtype, values.size)
        if packed:
            return np.asarray(decode(codes, to, to=values.dtype, packed=True, shape=values.size, out=back))
        return np.asarray(decode(codes.view(to.code_dtype), to, to=values.dtype, out=back))


def _absmax(x: Array, fmt: Format, scaling: ScaleRequest) -> Array:
    """Return the largest magnitudes of codes of a chunk's three axes, the middle one of which runs along the scales."""
    if scaling.axis is None:
        return largest_magnitudes(x, source=fmt)
    largest = largest_magnitudes(x, axis=1, block_size=scaling.block_size, source=fmt)
    return largest[:, :, 0] if scaling.block_size else largest


def _peak(ratio: Array) -> float:
    """Return the largest magnitude, Inf where one is not finite."""
    peak = max(float(ratio.max()), -float(ratio.min()))
    return peak if math.isfinite(peak) else math.inf
