"""The plan of a block quantization: elements, scales and rules of MX and NVFP4, checked once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arrays.storage_dtypes import format_of
from ..spec.custom_formats import check_convertible, float_format
from ..spec.formats import (
    BFLOAT16,
    FLOAT4_E2M1FN,
    FLOAT8_E4M3FN,
    FLOAT8_E8M0FNU,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    Format,
    as_format,
)
from ..spec.memo import Interned, reduced, remembered
from ..spec.operator_versions import NEWEST, CastRules, version_of
from ..spec.packing import check_packable
from ..spec.rounding_modes import DEFAULT_RANDOM_BITS, Rounding, RoundingOptions, Stream, check_rounding
from ..spec.scalar_arguments import as_flag, as_integer, shown
from ..spec.scale_rules import NVFP4_RULES, OWN_RULE, SCALE_RULES, SPECIALS
from .cast_plan import check_stream, make_plan
from .plan import Plan

__all__ = [
    "BlockOptions",
    "BlockPlan",
    "MXINT8",
    "TILE",
    "block_axis",
    "check_global_scale",
    "check_scale_shape",
    "check_tuple",
    "element_format",
    "held_elements",
    "mx_options",
    "mx_plan",
    "nvfp4_options",
    "nvfp4_plan",
    "output_format",
    "scale_shape",
    "swizzled_size",
]


MXINT8 = float_format(
    "int8/64", exponent_bits=1, mantissa_bits=6, bias=1, inf=False, nan="none",
    reference="OCP Microscaling Formats (MX) 1.0, section 5.3.4",
)  # fmt: skip
"""The values of MXINT8 as a float: with one exponent bit all steps are 1/64, and a magnitude code is the integer."""


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class BlockPlan(metaclass=Interned):
    """What a back end needs to know of a block quantization; every option is resolved. Equal plans are one object.

    Attributes
    ----------
    source : Format
        What the array holds.
    element : Format
        The format of the elements; `MXINT8` where they are integers.
    scale : Format
        float8_e8m0fnu; float8_e4m3fn of blocks that have a global scale too.
    scale_rule : str
        How the largest magnitude of a block becomes its scale.
    specials : str
        One of `SPECIALS`.
    rounding : Rounding
        The rules of the last step.
    last : Plan
        From an element over its scale, exact in float64 (rounded to float32 where there is a global scale), to its
        code.
    """

    source: Format
    element: Format
    scale: Format
    scale_rule: str
    specials: str
    rounding: Rounding
    last: Plan

    @property
    def two_levels(self) -> bool:
        """Whether there is a global scale."""
        return self.scale.has_zero

    @property
    def stored(self) -> Format:
        """The format whose storage dtype holds the elements."""
        return INT8 if self.element == MXINT8 else self.element

    def __reduce__(self) -> tuple[Any, ...]:
        """Return the class and the values: a copy is the plan itself."""
        return reduced(self)


def element_format(element: object, parameter: str = "to") -> Format:
    """Return the format of the elements of MX blocks, `MXINT8` for int8, or raise ValueError."""
    fmt = as_format(element, parameter=parameter)
    if fmt == INT8:
        return MXINT8
    if not (fmt.is_float and fmt.has_zero and fmt.bits <= 32):
        wanted = "a float of up to 32 bits that has a zero, or int8"
        raise ValueError(f"`{parameter}` must be {wanted}; got {fmt.name}")
    check_convertible(fmt, parameter)
    return fmt


def _last(values: Format, element: Format, options: RoundingOptions) -> tuple[Rounding, Plan]:
    rounding = check_rounding(options, element, "element")
    usual = rounding.mode == "nearest_even" and element.saturates != "never"
    rules = CastRules(version_of(NEWEST), True, "up", None if usual else rounding)
    return rounding, make_plan(values, element, rules)


def _check_source(source: Format) -> None:
    if source not in (taken := (FLOAT32, FLOAT16, BFLOAT16, FLOAT64)):
        names = ", ".join(fmt.name for fmt in taken)
        raise ValueError(f"`x` must be one of {names}; got {source.name}")


def _check_specials(specials: object) -> str:
    if isinstance(specials, str) and specials in SPECIALS:
        return specials
    raise ValueError(f"`specials` must be one of {', '.join(SPECIALS)}; got {shown(specials)}")


@remembered
def mx_plan(source: Format, element: Format, scale_rule: str, specials: str, options: RoundingOptions) -> BlockPlan:
    """Check the options of MX blocks and return their plan, or raise ValueError."""
    _check_source(source)
    if not isinstance(scale_rule, str) or scale_rule not in SCALE_RULES:
        raise ValueError(f"`scale_rule` must be one of {', '.join(SCALE_RULES)}; got {shown(scale_rule)}")
    last = _last(FLOAT64, element, options)
    return BlockPlan(source, element, FLOAT8_E8M0FNU, scale_rule, _check_specials(specials), *last)


@remembered
def nvfp4_plan(source: Format, scale_rule: str | None, specials: str, options: RoundingOptions) -> BlockPlan:
    """Check the options of NVFP4 blocks and return their plan, or raise ValueError."""
    _check_source(source)
    if scale_rule is not None and not (isinstance(scale_rule, str) and scale_rule in NVFP4_RULES):
        raise ValueError(f"`scale_rule` must be None or one of {', '.join(NVFP4_RULES)}; got {shown(scale_rule)}")
    last = _last(FLOAT32, FLOAT4_E2M1FN, options)
    rule = OWN_RULE if scale_rule is None else scale_rule
    return BlockPlan(source, FLOAT4_E2M1FN, FLOAT8_E4M3FN, rule, _check_specials(specials), *last)


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


def check_scale_shape(dtype: Any, shape: _Shape, fmt: Format, wanted: _Shape, swizzled_axis: int | None = None) -> None:
    """Raise unless scales of a dtype and a shape are of a format and of another shape."""
    format_of(dtype, fmt, ("scales", "scales"))
    if swizzled_axis is not None:
        count = swizzled_size(wanted, swizzled_axis)
        if math.prod(shape) != count:
            raise ValueError(f"`scales` must be {count} scales in tiles; got shape {shape}")
    elif shape != wanted:
        raise ValueError(f"`scales` must have shape {wanted}, one scale for each block; got {shape}")


def check_global_scale(dtype: Any, shape: _Shape) -> None:
    """Raise unless a global scale of a dtype and a shape is one float32."""
    fmt = format_of(dtype, None, ("global_scale", "global_scale"))
    if fmt != FLOAT32 or math.prod(shape) != 1:
        raise ValueError(f"`global_scale` must be one float32; got {fmt.name} of shape {shape}")


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
    bits = random_bits if stream is not None else DEFAULT_RANDOM_BITS
    plan = make_plan(RoundingOptions(rounding, "sat_finite", random_bits=bits))
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


TILE = 128, 4
"""Rows and columns of a tile of swizzled scales."""


def swizzled_size(scales: tuple[int, ...], axis: int) -> int:
    """Return how many scales there are in tiles, padding included."""
    columns = scales[axis]
    rows = math.prod(scales[:axis]) * math.prod(scales[axis + 1 :])
    return -(-rows // TILE[0]) * TILE[0] * (-(-columns // TILE[1]) * TILE[1])
