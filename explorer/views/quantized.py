"""A tensor that was quantized: codes, scales, dequantized elements, errors, and the figures that sum them up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowprec.loss import ErrorStats, error_statistics
from lowprec.spec.formats import FLOAT32

from .scales import Settings, axis_of

__all__ = ["Quantized", "per_element"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Quantized:
    """A tensor, its codes and its dequantized elements.

    `x`, `dequantized`, `scale` and `element_scale` are float64 and exact; `scale_codes` are those of the scale's
    format, `zero_point` is None or int64 of the shape of `scale`, `global_scale` None but for NVFP4. `element_scale` is
    the scale of each element, of NVFP4 its product with the global scale. `out_of_range` marks the finite elements that
    round beyond the format's range, `finite` those finite in both; `error` is `dequantized` minus `x`, NaN for the
    others; `stats` are the error statistics of the finite elements.
    """

    settings: Settings
    x: Array
    codes: Array
    dequantized: Array
    scale: Array
    scale_codes: Array
    zero_point: Array | None
    element_scale: Array
    out_of_range: Array
    global_scale: float | None = None
    finite: Array = field(init=False)
    error: Array = field(init=False)
    stats: ErrorStats = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "finite", np.isfinite(self.x) & np.isfinite(self.dequantized))
        with np.errstate(invalid="ignore"):
            object.__setattr__(self, "error", np.where(self.finite, self.dequantized - self.x, np.nan))
        object.__setattr__(self, "stats", error_statistics(self.x[self.finite], self.dequantized[self.finite]))

    @property
    def sqnr_db(self) -> float:
        """10 log10 of the power of x over that of the error, of finite elements; Inf if there is no error."""
        return self.stats.sqnr_db

    @property
    def max_abs_error(self) -> float:
        """The largest |error| of finite elements."""
        return self.stats.max_abs_error

    @property
    def saturated(self) -> float:
        """The share of elements that round beyond the range of the format."""
        return float(self.out_of_range.mean())

    @property
    def flushed(self) -> float:
        """The share of elements within the range, not zero themselves, that are dequantized to zero."""
        return float((np.isfinite(self.x) & (self.x != 0) & (self.dequantized == 0) & ~self.out_of_range).mean())

    @property
    def not_finite(self) -> int:
        """How many elements are, or are dequantized to, NaN or Inf; they have no error."""
        return int(self.x.size - self.finite.sum())

    @property
    def bits_per_value(self) -> float:
        """Bits of the codes, scales, zero points and the global scale, over the number of elements."""
        fmt = self.settings.fmt
        shared = self.settings.scale_format.bits + (0 if self.zero_point is None else fmt.bits)
        total = shared * self.scale.size + (0 if self.global_scale is None else FLOAT32.bits)
        return fmt.bits + total / self.x.size


def per_element(scale: Array, settings: Settings, shape: tuple[int, ...]) -> Array:
    """Repeat one number a slice for every element of the slice."""
    if settings.granularity == "tensor":
        return np.broadcast_to(scale, shape)
    axis = axis_of(settings, len(shape))
    if settings.granularity == "axis":
        return np.broadcast_to(scale.reshape([-1 if other == axis else 1 for other in range(len(shape))]), shape)
    return np.repeat(scale, settings.block_size, axis)[tuple(map(slice, shape))]
