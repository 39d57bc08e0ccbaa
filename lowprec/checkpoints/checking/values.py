"""The numbers of codes and scales, read chunk by chunk: NaN codes, and scales that are none."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ...ops.encode_pack import decode
from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32, Format, NaNRule
from ..containers.container import StoredTensor
from ..files.errors import FileError
from ..progress import Progress
from ..schemes.packing import tiled_shape
from ..schemes.scheme import GlobalScale, Packing
from ..weights.quantized_weight import Array, Weight, WeightReader
from ..weights.tensor_selection import fused_group
from .finding import Finding, name_text
from .subject import Subject, fault_of

__all__ = ["check_values", "nbytes_of_values"]

CHUNK = 1 << 20
"""Bytes that are read at once."""

BEYOND = 65504.0
"""The largest float16: no weight of a model reaches it."""


def _has_nan(fmt: Format | None) -> bool:
    return fmt is not None and fmt.is_float and fmt.bits == 8 and fmt.signed


def nbytes_of_values(subject: Subject) -> int:
    """Return how many bytes `check_values` reads."""
    tensors = [weight.codes for weight in subject.weights if _has_nan(weight.scheme.codes)]
    tensors += [weight.scales for weight in subject.weights if weight.scales is not None]
    tensors += [codes for codes in subject.codes if _has_nan(codes.fmt)]
    return sum(one.location.nbytes for one in tensors)


def check_values(subject: Subject, progress: Progress) -> Iterator[Finding]:
    """Read codes of FP8, and all scales."""
    for weight in subject.weights:
        yield from _weight(subject, weight, progress)
    if subject.is_model:
        yield from _second_scales(subject)
    unknown = subject.unknown
    for codes in subject.codes:
        if codes.fmt is not None and _has_nan(codes.fmt):
            said = bool(subject.description or subject.weights or codes.name in unknown)
            yield from _unscaled(subject, codes, codes.fmt, said, progress)


def _second_scales(subject: Subject) -> Iterator[Finding]:
    """Look for weights that engines fuse, and whose second scales differ."""
    found: dict[str, tuple[Weight, float]] = {}
    for weight in subject.weights:
        if weight.global_scale is not None and weight.global_scale.fmt is FLOAT32 and weight.global_scale.size == 1:
            value = _number(subject, weight.global_scale)
            if not (math.isfinite(value) and value > 0):
                continue  # `_weight` says so
            first, other = found.setdefault(fused_group(weight.name), (weight, value))
            if value != other:
                text = f"has another second scale than {name_text(first.name)}, with which engines fuse it"
                yield Finding("values", True, weight.name, text)


def _number(subject: Subject, tensor: StoredTensor) -> float:
    """Return the only number of a tensor of float32."""
    return float(next(_floats(subject, tensor, FLOAT32, Progress(0)))[0])


def _weight(subject: Subject, weight: Weight, progress: Progress) -> Iterator[Finding]:
    """Look at one weight."""
    try:
        WeightReader(weight, subject.reader)
    except FileError as error:
        scales = weight.scales
        if scales is None or not str(error).startswith(ascii(scales.name)[:80]) or not _fits(weight, scales):
            fault = fault_of(error, weight.name)
            yield Finding("scales", True, fault.tensor, fault.text)
            return
    if _has_nan(weight.scheme.codes):
        nan, _ = _codes(subject, weight.codes, weight.scheme.codes, progress)
        if nan:
            yield Finding("values", True, weight.codes.name, f"has {nan} NaN among {weight.codes.size} codes")
    if weight.scales is not None:
        yield from _scales(subject, weight, weight.scales, progress)
    for tensor in weight.unused:
        if tensor.size == 1 and tensor.fmt in (FLOAT32, BFLOAT16, FLOAT16) and "scale" in tensor.name:
            (value,) = next(_floats(subject, tensor, tensor.fmt, Progress(0)))
            if not (math.isfinite(value) and value > 0):
                yield Finding("values", True, tensor.name, f"is {value:g}, which is no scale of inputs")


def _fits(weight: Weight, scales: StoredTensor) -> bool:
    """Whether there are as many scales as a weight has, so that an error about them is one about their values."""
    rows, columns = weight.scheme.grid.shape(weight.rows, weight.columns)
    columns = scales.shape[-1] if weight.groups is not None and scales.shape else columns
    rows, columns = tiled_shape(rows, columns) if weight.scheme.tiles else (rows, columns)
    return scales.location.nbytes == rows * columns * weight.scheme.scale.code_dtype.itemsize


def _chunks(subject: Subject, tensor: StoredTensor, progress: Progress) -> Iterator[Array]:
    """Yield the bytes of a tensor."""
    nbytes = tensor.location.nbytes
    buffer = np.empty(min(CHUNK, nbytes), np.uint8)
    for start in range(0, nbytes, CHUNK):
        part = buffer[: min(CHUNK, nbytes - start)]
        subject.reader.read_into(part, tensor.location, start)
        progress.advance(part.size, tensor.name)
        yield part


def _codes(subject: Subject, tensor: StoredTensor, fmt: Format, progress: Progress) -> tuple[int, int]:
    """Return how many 8-bit codes are NaN, and the largest magnitude code that is not."""
    nan, largest = 0, 0
    negative_zero = fmt.nan is NaNRule.NEGATIVE_ZERO
    for part in _chunks(subject, tensor, progress):
        magnitudes = part & np.uint8(fmt.magnitude_mask)
        is_nan = part == fmt.sign_mask if negative_zero else magnitudes > fmt.magnitude_mask - fmt.nan_count
        nan += int(np.count_nonzero(is_nan))
        magnitudes[is_nan] = 0
        largest = max(largest, int(magnitudes.max(initial=0)))
    return nan, largest


def _floats(subject: Subject, tensor: StoredTensor, fmt: Format, progress: Progress) -> Iterator[Array]:
    """Yield the numbers of a tensor as float32."""
    for part in _chunks(subject, tensor, progress):
        codes = part.view(fmt.code_dtype)
        yield np.asarray(decode(codes.byteswap() if tensor.swapped else codes, fmt, to=FLOAT32))


def _scales(subject: Subject, weight: Weight, scales: StoredTensor, progress: Progress) -> Iterator[Finding]:
    """Look at the scales of a weight."""
    counts = dict.fromkeys(("NaN", "infinite", "negative", "zero"), 0)
    largest, powers = 0.0, True
    for values in _floats(subject, scales, weight.scheme.scale, progress):
        counts["NaN"] += int(np.count_nonzero(np.isnan(values)))
        counts["infinite"] += int(np.count_nonzero(np.isinf(values)))
        if not weight.scheme.signed_scales:
            counts["negative"] += int(np.count_nonzero(np.signbit(values) & ~np.isnan(values)))
        counts["zero"] += int(np.count_nonzero(values == 0))
        finite = values[np.isfinite(values)]
        largest = max(largest, float(np.abs(finite).max(initial=0)))
        powers = powers and not np.any(finite.view(np.uint32) & 0x7FFFFF)
    name, size = scales.name, scales.size
    for what, n in counts.items():
        if n and what != "zero":
            yield Finding("values", True, name, f"has {n} {what} among {size} scales")
    if counts["zero"] and not counts["NaN"] + counts["infinite"] + counts["negative"]:
        lost = _zero_hides_codes(subject, weight)
        what = "for codes that are not: the values are lost" if lost else "for codes that are zero too"
        if lost or not weight.scheme.tiles:  # which end with zeros
            yield Finding("values", lost, name, f"has {counts['zero']} zero among {size} scales, {what}")
    if not subject.is_model:
        return
    if subject.description.get("scale_fmt") == "ue8m0" and not powers:
        yield Finding("values", True, name, "has scales that are no powers of two; config.json says scale_fmt ue8m0")
    reach = _reach(subject, weight, largest)
    if reach > BEYOND:
        text = f"makes values of up to {reach:.3g}: is it, or a second scale, an inverse?"
        yield Finding("values", True, name, text)


def _reach(subject: Subject, weight: Weight, scale: float) -> float:
    """Return the largest value that codes and scales can make; 0 where that does not follow."""
    scheme = weight.scheme
    if scheme.blocks is not None:
        return 0.0
    top = float((1 << scheme.bits) - 1) if scheme.packing is Packing.WORDS else float(scheme.codes.max)
    if weight.global_scale is None:
        return top * scale
    second = _number(subject, weight.global_scale)
    if not (math.isfinite(second) and second > 0):
        return 0.0
    return top * scale * (1 / second if scheme.global_scale is GlobalScale.INVERSE else second)


def _zero_hides_codes(subject: Subject, weight: Weight) -> bool:
    """Whether there are codes other than zero whose scale is zero; codes in words and blocks count as such."""
    scheme, columns = weight.scheme, weight.columns
    if scheme.blocks or scheme.packing is Packing.WORDS or weight.groups or weight.zero_points:
        return True
    reader, step = WeightReader(weight, subject.reader), max(1, CHUNK // max(1, columns))
    width = scheme.row_bytes(columns)
    mask = scheme.codes.magnitude_mask if scheme.codes.is_float else 0xFF
    mask |= mask << scheme.codes.bits if scheme.codes.bits < 8 else 0
    for first in range(0, weight.rows, step):
        count = min(step, weight.rows - first)
        scales = np.asarray(decode(reader.parameters(first, count).scales, scheme.scale, to=FLOAT32))
        if not np.any(scales == 0):
            continue
        codes = reader.codes(first, count)
        each = -(-width // scales.shape[1]) if scheme.grid.columns == 0 else scheme.grid.columns * width // columns
        is_zero = np.repeat(scales == 0, max(1, each), 1)[:, :width]
        if np.any(is_zero & (codes & np.uint8(mask & 0xFF) != 0)):
            return True
    return False


def _unscaled(subject: Subject, codes: StoredTensor, fmt: Format, said: bool, progress: Progress) -> Iterator[Finding]:
    """Judge FP8 without scales, unless that is `said`: weights that were only cast stay far from the largest value."""
    nan, largest = _codes(subject, codes, fmt, progress)
    if nan:
        yield Finding("values", True, codes.name, f"has {nan} NaN among {codes.size} codes")
    value = float(np.asarray(decode(np.array([largest], np.uint8), fmt))[0])
    if said:
        return
    if value >= fmt.max / 2:
        text = f"holds {fmt.name} codes up to {value:g} of {fmt.max:g} and has no scales: they seem to be lost"
        yield Finding("scales", True, codes.name, text)
    else:
        text = f"holds {fmt.name} codes and has no scales: engines take their values"
        yield Finding("scales", False, codes.name, text)
