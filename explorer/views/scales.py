"""How a tensor is quantized: what shares a scale, and the scales and zero points it gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format, as_format
from lowprec.checkpoints.arithmetic.scales import absmax_codes, scales_for
from lowprec.checkpoints.recipe import ScaleLayout
from lowprec.spec import formats
from lowprec.spec.opsets import NEWEST

__all__ = ["GRANULARITIES", "SCALE_FORMATS", "TARGETS", "Settings", "axis_of", "choose"]

Array = np.ndarray[Any, Any]

TARGETS: tuple[Format, ...] = (
    *(formats.FLOAT8_E4M3FN, formats.FLOAT8_E4M3FNUZ, formats.FLOAT8_E5M2, formats.FLOAT8_E5M2FNUZ),
    *(formats.FLOAT6_E2M3FN, formats.FLOAT6_E3M2FN, formats.FLOAT4_E2M1FN),
    *(formats.INT8, formats.UINT8, formats.INT16, formats.UINT16),
    *(formats.INT4, formats.UINT4, formats.INT2, formats.UINT2),
)
"""The formats QuantizeLinear-28 produces: floats by width, then integers."""

SCALE_FORMATS: tuple[Format, ...] = (formats.FLOAT32, formats.FLOAT16, formats.BFLOAT16, formats.FLOAT8_E8M0FNU)
"""The float formats of a scale."""

GRANULARITIES = ("tensor", "axis", "block")
"""What shares a scale: the whole tensor, a slice along the axis, a run of `block_size` along the axis."""


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


def _absmax(x: Array, settings: Settings) -> Array:
    """Return the scales of a tensor as `lowprec convert` chooses them; blocks may run along any axis here."""
    source, codes = as_format(x.dtype), x.view(as_format(x.dtype).code_dtype)
    scaling = ScaleLayout(settings.granularity, settings.scale_format, block_size=settings.block)
    axis = 0 if settings.granularity == "tensor" else axis_of(settings, x.ndim)
    last = np.moveaxis(codes, axis, -1)  # `peaks` takes blocks of the last axis alone
    if settings.granularity == "tensor":
        box = codes.reshape(1, 1, -1)
    elif settings.granularity == "axis":
        box = np.moveaxis(codes, axis, 0).reshape(1, x.shape[axis], -1)
    else:
        box = last.reshape(-1, x.shape[axis], 1)
    largest = absmax_codes(box, source, scaling, np.empty_like(box))
    chosen = scales_for(largest, source, settings.fmt, settings.scale_format)
    if settings.granularity == "block":
        chosen = np.moveaxis(chosen.reshape(*last.shape[:-1], -1), -1, axis)
    return np.array(chosen, order="C").view(settings.scale_format.dtype)


def _ends(x: Array, settings: Settings) -> tuple[Array, Array]:
    """Return the smallest and largest finite element that share a scale, zero included."""
    low, high = np.where(np.isfinite(x), x, 0.0), np.where(np.isfinite(x), x, 0.0)
    if settings.granularity == "tensor":
        return np.asarray(low.min(initial=0.0)), np.asarray(high.max(initial=0.0))
    axis = axis_of(settings, x.ndim)
    if settings.granularity == "axis":
        others = tuple(other for other in range(x.ndim) if other != axis)
        return low.min(axis=others, initial=0.0), high.max(axis=others, initial=0.0)
    starts = np.arange(0, x.shape[axis], settings.block_size)
    low, high = np.minimum.reduceat(low, starts, axis), np.maximum.reduceat(high, starts, axis)
    return np.minimum(low, 0.0), np.maximum(high, 0.0)


def choose(x: Array, settings: Settings) -> tuple[Array, Array | None]:
    """Return scales in their format, and zero points in the target's, for elements that QuantizeLinear takes.

    Without zero points the scales are those of `lowprec convert`: the largest magnitude goes to the format's largest
    value, or by the rule of OCP MX where scales are powers of two. With zero points the smallest and the largest
    element go to the ends of the format; a scale is 1 where all are zero, and at least the format's smallest value.
    """
    if not settings.has_zero_point:
        return _absmax(x, settings), None
    low, high = _ends(np.asarray(lp.cast(x, "float64")), settings)
    fmt, kept = settings.fmt, lp.finfo(settings.scale_format)
    with np.errstate(over="ignore", under="ignore"):
        wanted = np.clip((high - low) / (fmt.max - fmt.min), kept.smallest_subnormal, kept.max)
    wanted = np.where((low == 0) & (high == 0), 1.0, wanted)
    scale = np.asarray(lp.cast(wanted, settings.scale_format, round_mode=settings.round_mode))
    exact = np.asarray(lp.cast(scale, "float64"))
    zero = np.clip(np.rint(fmt.min - low / exact), fmt.min, fmt.max).astype(np.int64)
    return scale, np.asarray(lp.cast(zero, fmt))
