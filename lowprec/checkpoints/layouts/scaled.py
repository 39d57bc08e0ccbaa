"""Codes ``W`` and scales ``W_scale``: what `lowprec convert --scale` writes, in any container."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...spec.formats import Format
from ..containers.tensors import StoredTensor
from ..element_rules import SCALE_FORMATS, SCALE_SUFFIX
from ..schemes.scheme import Grid, Packing, Scheme
from .weight import Source, Weight, fail, grid_of

__all__ = ["METHODS", "NAME", "find", "grid"]

NAME = "lowprec"
METHODS: tuple[str, ...] = ()


def find(source: Source) -> Iterator[Weight]:
    """Yield signed codes of up to 16 bits that have a tensor of floats with the same name and ``_scale``."""
    if source.description:
        return
    for codes in list(source.tensors.values()):
        scales = source.tensors.get(codes.name + SCALE_SUFFIX)
        if scales is None or codes.fmt is None or codes.fixed or codes.fortran or not _is_quantized(codes.fmt):
            continue
        if scales.fmt not in SCALE_FORMATS or scales.fixed:
            continue
        packing = Packing.LOW_FIRST if codes.packed else Packing.NONE
        if codes.packed and codes.shape and codes.shape[-1] * codes.fmt.bits % 8:
            raise fail(codes, "has packed rows that end within a byte, and cannot be read with its scales")
        scheme = Scheme(codes.fmt, packing, scales.fmt, grid(codes, scales))
        yield Weight(codes.name, NAME, codes.shape, scheme, codes, scales)


def _is_quantized(fmt: Format) -> bool:
    return fmt.signed and ((fmt.is_integer and fmt.bits <= 16) or (fmt.is_float and fmt.bits <= 8 and fmt.has_zero))


def grid(codes: StoredTensor, scales: StoredTensor) -> Grid:
    """Return which elements share a scale: all, those at an index of an axis, or a block of the last axis."""
    shape = codes.shape
    if scales.shape == ():
        return Grid(0, 0)
    if len(scales.shape) == len(shape) and scales.shape[:-1] == shape[:-1]:
        return grid_of(shape, scales)
    axes = [axis for axis, length in enumerate(shape) if scales.shape == (length,) and scales.axis in (None, axis)]
    if len(axes) != 1:
        why = "fits no axis" if not axes else f"fits the axes {', '.join(map(str, axes))}"
        raise fail(scales, f"has the shape {list(scales.shape)}, which {why} of a tensor of shape {list(shape)}")
    axis = axes[0]
    if axis == len(shape) - 1:
        return Grid(0, 1, 0, repeats=True)
    inner = math.prod(shape[axis + 1 : -1]) or 1  # a weight without elements has its scales too
    return Grid(inner, 0, shape[axis] * inner, repeats=True)
