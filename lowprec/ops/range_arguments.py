"""The arguments of `absmax_scale` and `minmax_scale`: what shares a scale, and the formats."""

from __future__ import annotations

from ..backends.ranges import Groups
from ..spec.formats import Format, as_format
from ..spec.scalar_arguments import as_integer, shown
from ..spec.scale_rules import SCALE_RULES

__all__ = ["absmax_formats", "minmax_format", "scale_groups"]


def scale_groups(rank: int, axis: object, block_size: object) -> Groups:
    """Return which elements of an array of a rank share a scale, or raise ValueError."""
    if axis is None:
        if as_integer(block_size) != 0:
            raise ValueError(f"`axis` must be given with a `block_size`; got None with {shown(block_size)}")
        return Groups((), ())
    axes, blocks = (
        tuple(map(as_integer, one if isinstance(one, (tuple, list)) else (one,))) for one in (axis, block_size)
    )
    if len(axes) not in (1, 2) or any(one is None or not -rank <= one < rank for one in axes):
        raise ValueError(f"`axis` must be an axis of `x`, from {-rank} to {rank - 1}, or two; got {shown(axis)}")
    numbers = [one % rank for one in axes if one is not None]
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"`axis` must be two different axes; got {shown(axis)}")
    if len(blocks) != len(numbers) or any(block is None or block < 0 for block in blocks):
        wanted = "an integer from 0 up" if len(numbers) == 1 else "two positive integers, as `axis` has two axes"
        raise ValueError(f"`block_size` must be {wanted}; got {shown(block_size)}{_other_axes(rank, numbers, blocks)}")
    if blocks == (0,):
        return Groups(tuple(numbers), ())
    if 0 in blocks:
        raise ValueError(f"`block_size` must be positive along each axis; got {shown(block_size)}")
    pairs = sorted((axis, block or 0) for axis, block in zip(numbers, blocks, strict=True))
    return Groups(tuple(axis for axis, _ in pairs), tuple(block for _, block in pairs))


def _other_axes(rank: int, axes: list[int], blocks: tuple[int | None, ...]) -> str:
    """Return how the other axes say that each pair of indices has its scale, where two axes were named for it."""
    others = [axis for axis in range(rank) if axis not in axes]
    if len(axes) != 2 or blocks != (0,) or len(others) not in (1, 2):
        return ""
    along = f"axis={others[0]}" if len(others) == 1 else f"axis={tuple(others)}"
    lengths = ", ".join(f"x.shape[{axis}]" for axis in others)
    return f" (a scale to each pair of indices: {along}, block_size={lengths if len(others) == 1 else f'({lengths})'})"


def _is_rule(rule: object) -> bool:
    return isinstance(rule, str) and rule in SCALE_RULES


def _checked_target(to: object, kinds: str) -> Format:
    fmt = as_format(to, parameter="to")
    if kinds == "signed" and not ((fmt.is_float or fmt.is_integer) and fmt.signed and fmt.has_zero):
        hint = " (`minmax_scale` is for unsigned integers)" if fmt.is_integer else ""
        raise ValueError(f"`to` must be a signed format of numbers, since the scale is symmetric; got {fmt.name}{hint}")
    if kinds == "integer" and not (fmt.is_integer and fmt.bits <= 16):
        raise ValueError(f"`to` must be an integer of 2 to 16 bits; got {fmt.name}")
    return fmt


def absmax_formats(to: object, scale_format: object, scale_rule: object) -> tuple[Format, Format]:
    """Return the formats of what is quantized by scales of largest magnitudes, and of these, or raise ValueError."""
    target = _checked_target(to, "signed")
    fmt = as_format(scale_format, parameter="scale_format")
    if not fmt.is_float or not (fmt.bits in (16, 32) or not fmt.has_zero):
        raise ValueError(f"`scale_format` must be a float of 16 or 32 bits, or a power of two; got {fmt.name}")
    if scale_rule is not None and (not _is_rule(scale_rule) or fmt.has_zero):
        where = f"one of {', '.join(SCALE_RULES)}" if not fmt.has_zero else f"None where `scale_format` is {fmt.name}"
        raise ValueError(f"`scale_rule` must be {where}; got {shown(scale_rule)}")
    return target, fmt


def minmax_format(to: object) -> Format:
    """Return the format of what is quantized by the scales of ranges, or raise ValueError."""
    return _checked_target(to, "integer")
