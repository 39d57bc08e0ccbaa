"""The arguments that MX and NVFP4 share: axis, block size, shapes of scales, `out`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._float_mode import default_mode
from ..arrays.libraries import format_of, has_host_memory, is_traced, match_library, namespace, to_host, to_library
from ..backends.block_job import BlockJob, swizzled_size
from ..backends.scales_for_kernels import plain_operand
from ..plans.block_plan import BlockPlan, element_format, mx_plan, nvfp4_plan
from ..spec.formats import BFLOAT16, FLOAT16, FLOAT32, Format, as_format
from ..spec.packing import check_packable
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, RoundingOptions, Stream
from ..spec.scalar_arguments import as_flag, as_integer, shown
from .seed_arguments import check_stream

__all__ = [
    "BlockOptions", "block_axis", "check_global_scale", "check_results", "check_scale_shape", "check_scales",
    "check_tuple", "global_scale_argument", "held_elements", "mx_options", "nvfp4_options", "output_format",
    "scale_shape",
]  # fmt: skip

_Shape = tuple[int, ...]


def block_axis(rank: int, axis: object, block_size: object, parameter: str = "x") -> tuple[int, int]:
    """Return the axis of an array of a rank along which blocks lie, from 0 up, and their size, or raise ValueError."""
    number, block = as_integer(axis), as_integer(block_size)
    if rank == 0:
        raise ValueError(f"`{parameter}` must have one axis or more; got a 0-d array")
    if number is None or not -rank <= number < rank:
        raise ValueError(f"`axis` must be an integer from {-rank} to {rank - 1}; got {shown(axis)}")
    if block is None or block < 1:
        raise ValueError(f"`block_size` must be an integer from 1 up; got {shown(block_size)}")
    return number % rank, block


def scale_shape(shape: _Shape, axis: int, block: int) -> _Shape:
    """Return the shape of the scales of an array of a shape."""
    return (*shape[:axis], -(-shape[axis] // block), *shape[axis + 1 :])


def check_scales(scales: Any, like: Any, fmt: Format, wanted: _Shape, swizzled_axis: int | None = None) -> Any:
    """Return the scales as an array of the library of `like`, or raise unless they are of a format and a shape.

    In tiles, where the axis of the blocks is given, they are flat, or in any shape with as many of them.
    """
    scales = match_library(scales, like, "scales")
    check_scale_shape(scales.dtype, tuple(scales.shape), fmt, wanted, swizzled_axis)
    return scales


def check_scale_shape(dtype: Any, shape: _Shape, fmt: Format, wanted: _Shape, swizzled_axis: int | None = None) -> None:
    """Raise unless scales of a dtype and a shape are of a format and of another shape."""
    format_of(dtype, fmt, ("scales", "scales"))
    if swizzled_axis is not None:
        count = swizzled_size(wanted, swizzled_axis)
        if math.prod(shape) != count:
            raise ValueError(f"`scales` must be {count} scales in tiles; got shape {shape}")
    elif shape != wanted:
        raise ValueError(f"`scales` must have shape {wanted}, one scale for each block; got {shape}")


@default_mode
def _check_factor(factor: np.ndarray[Any, Any]) -> None:
    value = float(factor)
    if not 0 < value < math.inf:
        raise ValueError(f"`global_scale` must be a positive finite float32; got {shown(value)}")


@default_mode
def _single(number: Any) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(number if -1e39 < number < 1e39 else math.inf, np.float32)


def global_scale_argument(global_scale: Any, x: Any) -> Any:
    """Return the global scale as a 0-d float32 array of the library of `x`, or raise TypeError or ValueError.

    It must be positive and finite; what a traced or a lazy array or one on a device holds is not looked at.
    """
    xp = namespace(x)
    global_scale = plain_operand(global_scale, None, "global_scale")
    if isinstance(global_scale, (int, float)):
        rounded = _single(global_scale)
        _check_factor(rounded)
        return to_library(rounded.view(np.uint32), FLOAT32, x)
    factor = match_library(global_scale, x, "global_scale")
    check_global_scale(factor.dtype, tuple(factor.shape))
    if has_host_memory(factor) and not is_traced(factor):
        _check_factor(to_host(factor).view(np.float32).reshape(()))
    return xp.reshape(factor, ())


def check_global_scale(dtype: Any, shape: _Shape) -> None:
    """Raise unless a global scale of a dtype and a shape is one float32."""
    fmt = format_of(dtype, None, ("global_scale", "global_scale"))
    if fmt != FLOAT32 or math.prod(shape) != 1:
        raise ValueError(f"`global_scale` must be one float32; got {fmt.name} of shape {shape}")


def check_results(job: BlockJob, out: object) -> BlockJob:
    """Return the job with its `out`, or raise unless that is a tuple of as many arrays as there are results.

    Their shapes and dtypes are checked by the back ends.
    """
    return job if out is None else job._replace(out=check_tuple(out, len(job.results)))


def check_tuple(out: object, count: int) -> tuple[Any, ...]:
    """Return `out`, or raise ValueError unless it is a tuple of so many arrays."""
    if not isinstance(out, tuple) or len(out) != count:
        raise ValueError(f"`out` must be a tuple of {count} arrays; got {shown(out)}")
    return out


class BlockOptions(NamedTuple):
    """The arguments of a block quantization but for its arrays, checked: what a `BlockJob` is made of."""

    plan: BlockPlan
    axis: int
    block: int
    stream: Stream | None
    packed: bool
    swizzled: bool

    def job(self, x: Any, global_scale: Any = None) -> BlockJob:
        """Return the job for an array, whose rank and dtype these are for."""
        plan, axis, block, *rest = self
        return BlockJob(x, plan, axis, block, global_scale, *rest)  # type: ignore[arg-type]


def _block_options(
    make_plan: Callable[[RoundingOptions], BlockPlan],
    rank: int,
    *,
    axis: object,
    block_size: object,
    rounding: Any,
    seed: object,
    random_bits: Any,
    offset: object,
    swizzled: object,
    packed: object,
) -> BlockOptions:
    """Check the arguments that both block quantizations have, for an array of a rank; the plan is made on the way."""
    where, block = block_axis(rank, axis, block_size)
    stream = check_stream(rounding, seed, random_bits, offset)
    plan = make_plan(RoundingOptions(rounding, random_bits=random_bits if stream is not None else DEFAULT_RANDOM_BITS))
    packs = as_flag(packed, "packed")
    if packs:
        check_packable(plan.stored, "to")
    return BlockOptions(plan, where, block, stream, packs, as_flag(swizzled, "swizzled"))


def output_format(output_dtype: object) -> Format:
    """Return the format of dequantized values, or raise ValueError."""
    target = as_format(output_dtype, parameter="output_dtype")
    if target not in (taken := (FLOAT32, FLOAT16, BFLOAT16)):
        names = ", ".join(fmt.name for fmt in taken)
        raise ValueError(f"`output_dtype` must be one of {names}; got {target.name}")
    return target


def mx_options(
    dtype: Any, rank: int, element: object, *, scale_rule: Any, specials: Any, **options: Any
) -> BlockOptions:
    """Check the arguments of `mx_quantize` for an array of a dtype and a rank."""
    fmt = element_format(element)

    def make_plan(rules: RoundingOptions) -> BlockPlan:
        return mx_plan(format_of(dtype), fmt, scale_rule, specials, rules)

    return _block_options(make_plan, rank, **options)


def nvfp4_options(dtype: Any, rank: int, *, scale_rule: Any, specials: Any, **options: Any) -> BlockOptions:
    """Check the arguments of `nvfp4_quantize` for an array of a dtype and a rank."""

    def make_plan(rules: RoundingOptions) -> BlockPlan:
        return nvfp4_plan(format_of(dtype), scale_rule, specials, rules)

    return _block_options(make_plan, rank, **options)


def held_elements(dtype: Any, source: object, packed: bool) -> Format:
    """Return the format of the elements of MX blocks that lie in an array of a dtype, or raise."""
    if packed:
        if source is None:
            raise ValueError("`source` must be the format of the packed elements; got None")
        return element_format(source, "source")
    held = format_of(dtype, source, ("elements", "source"))
    if source is not None:
        return element_format(held, "source")
    try:
        return element_format(held, "elements")
    except ValueError as error:
        if not held.is_integer or held.signed:
            raise
        raise ValueError(f"{error}: name the format of codes by `source`") from None
