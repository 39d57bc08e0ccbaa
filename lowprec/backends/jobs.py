"""A conversion to be carried out: an array, its plan, its scales or blocks, and how the result is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..arrays.array_memory import check_out
from ..arrays.libraries import namespace
from ..arrays.storage_dtypes import extends, storage_dtype
from ..plans.block_plan import BlockOptions, BlockPlan, scale_shape, swizzled_size
from ..plans.plan import Plan
from ..plans.scale_shapes import Granularity
from ..spec.formats import FLOAT32, Format
from ..spec.packing import packed_bytes
from ..spec.rounding_modes import LaterSeed, Stream

__all__ = ["BlockJob", "Job", "Scales", "block_job"]


class Scales(NamedTuple):
    """The scales of a quantization, and its zero points.

    Attributes
    ----------
    scale : array
        Of the library of the quantized array.
    format : Format
        What the scales hold.
    zero_point : array or None
        Holds codes of the plan. Where the plan has no use for zero points they must be zero.
    granularity : Granularity
        Which scale belongs to which element.
    """

    scale: Any
    format: Format
    zero_point: Any | None
    granularity: Granularity

    @property
    def arrays(self) -> list[Any]:
        """The scales, and the zero points where there are some."""
        return [self.scale] if self.zero_point is None else [self.scale, self.zero_point]


@dataclass(slots=True)
class Job:
    """One conversion, for the first back end that accepts it.

    Attributes
    ----------
    x : array
        Holds the source of the plan; 1-D uint8 of packed codes where `shape` is not None.
    plan : Plan
        The conversion.
    scales : Scales or None
        Where the plan has a scale part.
    codes : bool
        Whether the result is unsigned codes instead of the library's own dtype for the target.
    packed : bool
        Whether the result is packed codes: 1-D, uint8, in C order.
    shape : tuple of int or None
        The shape that packed codes are unpacked to, in C order.
    out : array or None
        Where the result goes.
    storage : (dtype, bool) or None
        The dtype of the result, and whether narrow integers are sign-extended in it, where another library than that of
        `x` will hold it: the block of a lazy array, the contents of a traced one.
    key : CallKey, optional
        Of `prepared_calls.py`: what names the call among those of the same functions. Those with equal ones come to the
        same, so that a back end may remember that.
    stream : Stream or None
        The random numbers of a stochastic plan. Elements count in C order of `values_shape`.
    """

    x: Any
    plan: Plan
    scales: Scales | None = None
    codes: bool = False
    packed: bool = False
    shape: tuple[int, ...] | None = None
    out: Any = None
    storage: tuple[Any, bool] | None = None
    key: Any = None
    stream: Stream | None = None

    @property
    def arrays(self) -> list[Any]:
        """The array, its scales and zero points."""
        return [self.x] if self.scales is None else [self.x, *self.scales.arrays]

    @property
    def later_seed(self) -> LaterSeed | None:
        """The seed where a traced computation has it, or nothing."""
        return _later_seed(self.stream)

    @property
    def values_shape(self) -> tuple[int, ...]:
        """The shape of the values, however `x` holds them."""
        return tuple(self.x.shape) if self.shape is None else self.shape

    @property
    def result_shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        shape = self.values_shape
        return (packed_bytes(math.prod(shape), self.plan.target),) if self.packed else shape

    @property
    def dtype(self) -> Any:
        """The dtype of the result, in the library of `x`."""
        if self.storage is not None:
            return self.storage[0]
        target = self.plan.target
        return storage_dtype(target.code_dtype.name if self.codes or self.packed else target, namespace(self.x))

    @property
    def extend(self) -> bool:
        """Whether integers narrower than a byte are sign-extended in the result."""
        if self.storage is not None:
            return self.storage[1]
        return not (self.codes or self.packed) and extends(self.plan.target, namespace(self.x))


class BlockJob(NamedTuple):
    """One block quantization, for the first back end that accepts it.

    Attributes
    ----------
    x : array
        Holds the source of the plan.
    plan : BlockPlan
        Formats and rules.
    axis, block : int
        The axis along which blocks lie, from 0 up, and their size.
    stream : Stream or None
        The random numbers of a stochastic rounding.
    packed : bool
        Whether the elements are wanted as packed bytes.
    swizzled : bool
        Whether the scales are wanted in tiles.
    global_scale : array or None
        float32, 0-d, in the library of `x`; None where it is to be found, or there is none.
    out : tuple of array or None
        Where the results go.
    key : CallKey, optional
        As in `Job`.
    """

    x: Any
    plan: BlockPlan
    axis: int
    block: int
    stream: Stream | None = None
    packed: bool = False
    swizzled: bool = False
    global_scale: Any = None
    out: tuple[Any, ...] | None = None
    key: Any = None

    @property
    def arrays(self) -> list[Any]:
        """The array, and the global scale that was given."""
        return [self.x] if self.global_scale is None else [self.x, self.global_scale]

    @property
    def later_seed(self) -> LaterSeed | None:
        """The seed where a traced computation has it, or nothing."""
        return _later_seed(self.stream)

    @property
    def scale_shape(self) -> tuple[int, ...]:
        """The shape of the scales before they are swizzled."""
        return scale_shape(tuple(self.x.shape), self.axis, self.block)

    @property
    def spread(self) -> tuple[int, int, int]:
        """The shape of `x` with its axes merged to (outer, the axis of the blocks, inner)."""
        shape = tuple(self.x.shape)
        return math.prod(shape[: self.axis]), shape[self.axis], math.prod(shape[self.axis + 1 :])

    @property
    def results(self) -> list[tuple[tuple[int, ...], Any]]:
        """The shapes and the dtypes of the results, in the library of `x`."""
        shape, scales, xp = tuple(self.x.shape), self.scale_shape, namespace(self.x)
        elements = (shape, storage_dtype(self.plan.stored, xp))
        if self.packed:
            elements = (packed_bytes(math.prod(shape), self.plan.stored),), storage_dtype("uint8", xp)
        if self.swizzled:
            scales = (swizzled_size(scales, self.axis),)
        both = [elements, (scales, storage_dtype(self.plan.scale, xp))]
        return [*both, ((), storage_dtype(FLOAT32, xp))] if self.plan.two_levels else both

    def check_out(self) -> None:
        """Raise unless `out` can take the results."""
        if self.out is not None:
            for out, (shape, dtype) in zip(self.out, self.results, strict=True):
                check_out(out, self.x, shape, dtype)


def block_job(x: Any, options: BlockOptions, global_scale: Any, out: tuple[Any, ...] | None, key: Any) -> BlockJob:
    """Return the job of a block quantization: a block is no longer than its axis."""
    plan, axis, block, stream, packed, swizzled = options
    block = min(block, max(x.shape[axis], 1))
    return BlockJob(x, plan, axis, block, stream, packed, swizzled, global_scale, out, key)


def _later_seed(stream: Stream | None) -> LaterSeed | None:
    seed: object = None if stream is None else stream.seed
    return seed if isinstance(seed, LaterSeed) else None
