"""How a tensor is quantized: what shares a scale, and the scales and zero points it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.ops.scales import largest_magnitudes, scale_codes
from lowprec.spec import formats
from lowprec.spec.opset_rules import NEWEST

__all__ = ["GRANULARITIES", "SCALE_FORMATS", "TARGETS", "Settings", "axis_of", "choose", "target_problem"]

Array = np.ndarray[Any, Any]

TARGETS: tuple[Format, ...] = (
    *(formats.FLOAT8_E4M3FN, formats.FLOAT8_E4M3FNUZ, formats.FLOAT8_E5M2, formats.FLOAT8_E5M2FNUZ),
    *(formats.FLOAT6_E2M3FN, formats.FLOAT6_E3M2FN, formats.FLOAT4_E2M1FN),
    *(formats.INT8, formats.UINT8, formats.INT16, formats.UINT16),
    *(formats.INT4, formats.UINT4, formats.INT2, formats.UINT2),
)
"""The formats QuantizeLinear-28 produces: floats by width, then integers."""

_MOST_BITS = 8
"""Of the described formats that quantize_linear produces, outside ONNX."""

SCALE_FORMATS: tuple[Format, ...] = (formats.FLOAT32, formats.FLOAT16, formats.BFLOAT16, formats.FLOAT8_E8M0FNU)
"""The float formats of a scale."""

GRANULARITIES = ("tensor", "axis", "block")
"""What shares a scale: the whole tensor, a slice along the axis, a run of `block_size` along the axis."""


def target_problem(fmt: Format) -> str:
    """Return what is wrong with a described format to quantize to; nothing where it can be."""
    if fmt.bits > _MOST_BITS:
        return f"must have at most {_MOST_BITS} bits to be quantized to; {fmt.name} has {fmt.bits}"
    return "" if fmt.has_zero else f"must have a zero to be quantized to; {fmt.name} has none"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tensor is quantized.

    `asymmetric` gives integers a zero point, so that the smallest and largest element reach the ends of the format.
    `round_mode` rounds scales that are powers of two where there are zero points; else the rule is that of OCP MX.
    """

    fmt: Format
    granularity: str = "tensor"
    axis: int = -1
    block_size: int = 32
    scale_format: Format = SCALE_FORMATS[0]
    asymmetric: bool = False
    round_mode: str = "up"
    saturate: bool = True
    opset: int = NEWEST

    @property
    def has_zero_point(self) -> bool:
        """Whether there are zero points: floats have none."""
        return self.asymmetric and self.fmt.is_integer

    @property
    def block(self) -> int:
        """The attribute: 0 where the scales are no blocks'."""
        return self.block_size if self.granularity == "block" else 0


def axis_of(settings: Settings, rank: int) -> int:
    """Return the axis from 0 up; ValueError where a tensor of that rank has none such."""
    if not -rank <= settings.axis < rank:
        raise ValueError(f"`axis` must be from {-rank} to {rank - 1} for {rank} dimensions; got {settings.axis}")
    return settings.axis % rank


def choose(x: Array, settings: Settings) -> tuple[Array, Array | None]:
    """Return scales in their format, and zero points in the target's, for elements that QuantizeLinear takes.

    Without zero points the scales are those of `lowprec.absmax_scale`, by whose rule unsigned targets get theirs too.
    With zero points both are those of `lowprec.minmax_scale`; a scale in another format than float32 is rounded once
    more, and kept between that format's smallest and largest positive value.
    """
    fmt, kept, shared = settings.fmt, settings.scale_format, {}
    if settings.granularity != "tensor":
        shared = {"axis": axis_of(settings, x.ndim), "block_size": settings.block}
    if not settings.has_zero_point:
        return scale_codes(largest_magnitudes(x, **shared), fmt, kept).view(kept.dtype), None
    scale, zero_point = lp.minmax_scale(x, fmt, **shared)
    if kept != SCALE_FORMATS[0]:
        ends = lp.finfo(kept)
        scale = lp.cast(np.clip(scale, ends.smallest_subnormal, ends.max), kept, round_mode=settings.round_mode)
    return np.asarray(scale), np.asarray(zero_point)
