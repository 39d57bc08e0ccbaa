"""The arguments of `quantize` and `dequantize`: what is quantized to, what shares a scale, and how it is divided."""

from __future__ import annotations

from typing import Any

from ..arrays.libraries import format_of
from ..spec.formats import (
    BFLOAT16,
    BLOCK_FORMATS,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT32,
    NVFP4,
    Format,
    as_format,
    element_of,
    is_named,
)
from ..spec.operator_versions import takes_codes
from ..spec.packing import check_packable
from ..spec.rounding_modes import RoundingOptions, check_rounding
from ..spec.scalar_arguments import as_flag, shown
from ..spec.scale_rules import NVFP4_RULES, SCALE_RULES
from .block_arguments import block_axis
from .range_arguments import absmax_formats, minmax_format, scale_groups

__all__ = ["LINEAR", "check_values_format", "plan_quantize", "scheme_of"]

_VALUES = FLOAT32, FLOAT16, BFLOAT16
"""What is divided by its scale as it is, and what comes back."""

LINEAR, _MX = "linear", "mx"
"""Schemes beside `NVFP4`."""


def scheme_of(to: object) -> str:
    """Return how codes and scales of a target make values."""
    return LINEAR if not isinstance(to, str) or to not in BLOCK_FORMATS else NVFP4 if to == NVFP4 else _MX


def _check_linear(to: Format, zero_point: bool, scale_format: object, scale_rule: object) -> str:
    """Return the name of the format of the scales of a linear quantization, or raise ValueError."""
    if not takes_codes(to):
        wanted = "an integer of 2 to 16 bits, a float of up to 8 bits that has a zero, or a block format"
        raise ValueError(f"`to` must be {wanted} ({', '.join(BLOCK_FORMATS)}); got {to.name}")
    if not zero_point:
        if not to.signed:
            raise ValueError(f"`zero_point` must be True for {to.name}, which has no negative numbers; got False")
        held = FLOAT32 if scale_format is None else as_format(scale_format, parameter="scale_format")
        absmax_formats(to, held, scale_rule)
        return held.name
    if not to.is_integer:
        raise ValueError(f"`zero_point` must be False for {to.name}: only integers have one; got True")
    minmax_format(to)
    if scale_format is not None and as_format(scale_format, parameter="scale_format") != FLOAT32:
        raise ValueError(
            f"`scale_format` must be float32 or None where `zero_point` is True; got {shown(scale_format)}"
        )
    if scale_rule is not None:
        raise ValueError(f"`scale_rule` must be None where `zero_point` is True; got {shown(scale_rule)}")
    return FLOAT32.name


def _check_blocks(to: str, zero_point: bool, scale_format: object, scale_rule: object, *rules: object) -> str:
    """Return the name of the format of the scales of a block format, or raise ValueError."""
    held = FLOAT8_E4M3FN if to == NVFP4 else FLOAT8_E8M0FNU
    if zero_point:
        raise ValueError(f"`zero_point` must be False for {to}, whose blocks have none; got True")
    if scale_format is not None and as_format(scale_format, parameter="scale_format") != held:
        raise ValueError(f"`scale_format` must be {held.name} or None for {to}; got {shown(scale_format)}")
    taken = NVFP4_RULES if to == NVFP4 else SCALE_RULES
    if scale_rule is not None and not (isinstance(scale_rule, str) and scale_rule in taken):
        raise ValueError(f"`scale_rule` must be None or one of {', '.join(taken)} for {to}; got {shown(scale_rule)}")
    for name, rule in zip(("overflow", "nan"), rules, strict=True):
        if rule is not None:
            raise ValueError(
                f"`{name}` must be None for {to}, whose scales are made for the largest; got {shown(rule)}"
            )
    return held.name


def _source(dtype: Any) -> tuple[str | None, str | None]:
    """Return what `x` of a dtype is cast to before it is divided, and the precision of the quotient; None as it is."""
    held = format_of(dtype)
    if held in _VALUES:
        return None, None
    if held in (FLOAT64, INT32):
        return None, FLOAT64.name
    if held.kind is not FLOAT32.kind and not held.is_integer:
        raise TypeError(f"`x` must hold integers or real floats; got {held.name}")
    is_exact = held.bits <= 16 if held.is_integer else held.bits <= 32
    return (FLOAT32.name, None) if is_exact else (FLOAT64.name, FLOAT64.name)


def plan_quantize(
    dtype: Any, rank: int, to: object, axis: Any, block_size: Any, zero_point: object, scale_format: object,
    scale_rule: Any, packed: object, *rules: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Check the arguments of `quantize` for an array of a dtype and a rank; return all that is fixed by them.

    That is the target, axis and block size, whether there are zero points and packed codes, the format of the scales,
    and what `_source` returns.
    """
    has_zero, packs = as_flag(zero_point, "zero_point"), as_flag(packed, "packed")
    element, scheme = element_of(to, "to"), scheme_of(to)
    if packs:
        check_packable(element, "to")
    before = _source(dtype)
    if scheme != LINEAR:
        held = _check_blocks(str(to), has_zero, scale_format, scale_rule, *rules[1:])
        size = (16 if scheme == NVFP4 else 32) if block_size is None else block_size
        sharing = block_axis(rank, -1 if axis is None else axis, size)
        return to, *sharing, has_zero, packs, held, (None, None)
    held = _check_linear(element, has_zero, scale_format, scale_rule)
    if any(rule is not None for rule in rules):
        check_rounding(RoundingOptions(*rules), element, "to")
    blocks = 0 if block_size is None else block_size
    if axis is None and block_size is not None:
        if rank == 0:
            raise ValueError("`x` must have one axis or more where there is a `block_size`; got a 0-d array")
        axis = -1
    groups = scale_groups(rank, axis, blocks)
    axes, sizes_of_axes = groups.axes, groups.blocks
    along = None if not axes else axes[0] if len(axes) == 1 else axes
    block = 0 if not sizes_of_axes else sizes_of_axes[0] if len(axes) == 1 else sizes_of_axes
    return element.name if is_named(element) else element, along, block, has_zero, packs, held, before


def check_values_format(to: object) -> str:
    """Return the name of the format of dequantized values, or raise ValueError."""
    target = as_format(to, parameter="to")
    if target not in _VALUES:
        raise ValueError(f"`to` must be one of {', '.join(fmt.name for fmt in _VALUES)}; got {target.name}")
    return target.name
