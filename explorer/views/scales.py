"""How a tensor is quantized: the scheme, what shares a scale, and the scales and zero points of QuantizeLinear."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec import Format
from lowprec.ops.scales import largest_magnitudes, scale_codes
from lowprec.spec import formats
from lowprec.spec.operator_versions import NEWEST
from lowprec.spec.rounding_modes import ROUNDINGS, STOCHASTIC, RoundModeName
from lowprec.spec.scale_rules import SCALE_RULES, ScaleRuleName

__all__ = [
    "GRANULARITIES",
    "LINEAR",
    "MX",
    "MX_FORMATS",
    "NVFP4",
    "SCALE_FORMATS",
    "SCHEMES",
    "TARGETS",
    "Settings",
    "axis_of",
    "choose",
    "mx_problem",
    "mx_settings",
    "nvfp4_settings",
    "target_problem",
]

Array = np.ndarray[Any, Any]

SCHEMES = LINEAR, MX, NVFP4 = ("linear", "mx", "nvfp4")
"""How a tensor is quantized: as QuantizeLinear does, to blocks of OCP MX, or to NVFP4."""

TARGETS: tuple[Format, ...] = (
    *(formats.FLOAT8_E4M3FN, formats.FLOAT8_E4M3FNUZ, formats.FLOAT8_E5M2, formats.FLOAT8_E5M2FNUZ),
    *(formats.FLOAT6_E2M3FN, formats.FLOAT6_E3M2FN, formats.FLOAT4_E2M1FN),
    *(formats.INT8, formats.UINT8, formats.INT16, formats.UINT16),
    *(formats.INT4, formats.UINT4, formats.INT2, formats.UINT2),
)
"""The formats QuantizeLinear-28 produces: floats by width, then integers."""

MX_FORMATS: tuple[Format, ...] = (
    *(formats.FLOAT8_E4M3FN, formats.FLOAT8_E5M2, formats.FLOAT6_E2M3FN, formats.FLOAT6_E3M2FN),
    *(formats.FLOAT4_E2M1FN, formats.INT8, formats.FLOAT8_E4M3FNUZ, formats.FLOAT8_E5M2FNUZ),
)
"""The formats of elements of MX blocks: those of OCP MX, int8 among them as MXINT8, then two that it does not have."""

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


def mx_problem(fmt: Format) -> str:
    """Return what is wrong with a format as that of the elements of MX blocks; nothing where it can be."""
    if fmt == formats.INT8 or (fmt.is_float and not target_problem(fmt)):
        return ""
    return f"must be a float or int8 to be the format of MX elements; got {fmt.name}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a tensor is quantized.

    `asymmetric` gives integers a zero point, so that the smallest and largest element reach the ends of the format.
    `round_mode` rounds scales that are powers of two where there are zero points; else `scale_rule` chooses them.
    `rounding` is that of the elements, of floats and of all MX elements; `rounding_seed` counts where it is stochastic.
    """

    fmt: Format
    granularity: str = "tensor"
    axis: int = -1
    block_size: int = 32
    scale_format: Format = SCALE_FORMATS[0]
    asymmetric: bool = False
    round_mode: RoundModeName = "up"
    saturate: bool = True
    opset: int = NEWEST
    scale_rule: ScaleRuleName = SCALE_RULES[0]
    rounding: str = ROUNDINGS[0]
    rounding_seed: int = 0
    scheme: str = LINEAR

    @property
    def has_zero_point(self) -> bool:
        """Whether there are zero points: floats and blocks of MX have none."""
        return self.scheme == LINEAR and self.asymmetric and self.fmt.is_integer

    @property
    def has_scale_rule(self) -> bool:
        """Whether the scales are powers of two that a scale rule chooses; for unsigned formats it is always floor."""
        return not self.scale_format.has_zero and not self.has_zero_point and self.fmt.signed

    @property
    def takes_rounding(self) -> bool:
        """Whether `rounding` concerns the elements: integers of QuantizeLinear are rounded to nearest even."""
        return self.scheme != LINEAR or self.fmt.is_float

    @property
    def rounding_arguments(self) -> dict[str, Any]:
        """The arguments of the library for the rounding; none for the default."""
        if not self.takes_rounding or self.rounding == ROUNDINGS[0]:
            return {}
        seed = {"seed": self.rounding_seed} if self.rounding in STOCHASTIC else {}
        return {"rounding": self.rounding, **seed}

    @property
    def block(self) -> int:
        """The attribute: 0 where the scales are no blocks'."""
        return self.block_size if self.granularity == "block" else 0


def mx_settings(fmt: Format, block_size: int = 32, axis: int = -1, **options: Any) -> Settings:
    """Return the settings of OCP MX; `options` are `scale_rule`, `rounding` and `rounding_seed`."""
    return Settings(fmt, "block", axis, block_size, scale_format=formats.FLOAT8_E8M0FNU, scheme=MX, **options)


def nvfp4_settings(block_size: int = 16, axis: int = -1, **options: Any) -> Settings:
    """Return the settings of NVFP4; `options` are `rounding` and `rounding_seed`."""
    scales = formats.FLOAT8_E4M3FN
    return Settings(formats.FLOAT4_E2M1FN, "block", axis, block_size, scale_format=scales, scheme=NVFP4, **options)


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
    rule = settings.scale_rule if settings.has_scale_rule else SCALE_RULES[0]
    if settings.granularity != "tensor":
        shared = {"axis": axis_of(settings, x.ndim), "block_size": settings.block}
    if not settings.has_zero_point:
        return scale_codes(largest_magnitudes(x, **shared), fmt, kept, rule).view(kept.dtype), None
    scale, zero_point = lp.minmax_scale(x, fmt, **shared)
    if kept != SCALE_FORMATS[0]:
        ends = lp.finfo(kept)
        scale = lp.cast(np.clip(scale, ends.smallest_subnormal, ends.max), kept, round_mode=settings.round_mode)
    return np.asarray(scale), np.asarray(zero_point)
