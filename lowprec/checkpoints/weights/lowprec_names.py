"""Codes ``W`` and scales ``W_scale``: what `lowprec convert --scale` and `save` write, in any container.

There may be zero points ``W_zero_point`` too, or with NVFP4 one factor for all, ``W_global_scale``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...spec.formats import FLOAT4_E2M1FN, FLOAT8_E4M3FN, Format
from ..containers.container import StoredTensor
from ..schemes.scale_grid import SCALE_FORMATS, SCALE_SUFFIX, GridError, noted_grid
from ..schemes.scheme import GlobalScale, Packing, Scheme
from .quantized_weight import Source, Weight, fail

__all__ = ["GLOBAL_SUFFIX", "METHODS", "NAME", "ZERO_SUFFIX", "find"]


ZERO_SUFFIX, GLOBAL_SUFFIX = "_zero_point", "_global_scale"
"""What is added to a tensor's name for its zero points, and for its second scale."""

NAME = "lowprec"
METHODS: tuple[str, ...] = ()


def find(source: Source) -> Iterator[Weight]:
    """Yield codes of up to 16 bits that have a tensor of floats with the same name and ``_scale``.

    They are signed, or have zero points of their format, one to each scale.
    """
    if source.description:
        return
    for codes in list(source.tensors.values()):
        scales = source.tensors.get(codes.name + SCALE_SUFFIX)
        if scales is None or codes.fmt is None or codes.fixed or codes.fortran or scales.fixed:
            continue
        zeros = source.tensors.get(codes.name + ZERO_SUFFIX)
        if zeros is not None and (zeros.fmt is not codes.fmt or zeros.shape != scales.shape or zeros.fixed):
            continue
        factor = source.tensors.get(codes.name + GLOBAL_SUFFIX) if _is_nvfp4(codes, scales) else None
        if not _is_quantized(codes.fmt, zeros is not None) or (factor is None and scales.fmt not in SCALE_FORMATS):
            continue
        ends_within = (codes.shape[-1] if codes.shape else 1) * codes.fmt.bits % 8
        packing = Packing.LOW_FIRST if codes.packed and not ends_within else Packing.NONE  # as the reader returns them
        assert scales.fmt is not None
        second = GlobalScale.NONE if factor is None else GlobalScale.FACTOR
        try:
            grid = noted_grid(codes.shape, scales.shape, scales.axis, scales.block)
        except GridError as error:
            raise fail(scales, str(error)) from None
        scheme = Scheme(codes.fmt, packing, scales.fmt, grid, second)
        yield Weight(codes.name, NAME, codes.shape, scheme, codes, scales, factor, zeros)


def _is_quantized(fmt: Format, has_zero_points: bool) -> bool:
    if has_zero_points:
        return fmt.is_integer and fmt.bits <= 16
    return fmt.signed and ((fmt.is_integer and fmt.bits <= 16) or (fmt.is_float and fmt.bits <= 8 and fmt.has_zero))


def _is_nvfp4(codes: StoredTensor, scales: StoredTensor) -> bool:
    return (codes.fmt, scales.fmt) == (FLOAT4_E2M1FN, FLOAT8_E4M3FN)
