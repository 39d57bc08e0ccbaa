"""The parts of a quantized array in NumPy, whatever its library: codes, scales, zero points, and what shares them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..arrays.libraries import namespace
from ..spec.formats import FLOAT32, UINT8, Format, as_format
from .codes import decode, unpack
from .interchange import held_codes
from .quantized import Quantized

__all__ = ["QuantizedParts", "parts_of", "spread"]

Array = np.ndarray[Any, Any]


class QuantizedParts(NamedTuple):
    """A quantized array in host memory.

    Attributes
    ----------
    codes, format : numpy.ndarray, Format
        Not packed, in the dtype of the format.
    scale, scale_format : numpy.ndarray, Format
        Of the shape that it has with the codes.
    zero_point : numpy.ndarray or None
        In the dtype of the format, of the shape of `scale`.
    global_scale : numpy.ndarray or None
        float32, one element.
    axis, block_size
        As in `absmax_scale`: what shares a scale.
    scheme : str
        ``"linear"``, ``"mx"`` or ``"nvfp4"``.
    """

    codes: Array
    format: Format
    scale: Array
    scale_format: Format
    zero_point: Array | None
    global_scale: Array | None
    axis: Any
    block_size: Any
    scheme: str

    @property
    def operands(self) -> tuple[tuple[Array, Format], ...]:
        """The arrays besides the codes, with their formats."""
        zero = () if self.zero_point is None else ((self.zero_point, self.format),)
        factor = () if self.global_scale is None else ((self.global_scale, FLOAT32),)
        return ((self.scale, self.scale_format), *zero, *factor)

    @property
    def is_fixed_point(self) -> bool:
        """Whether the codes are integers that count 64ths, as those of MXINT8."""
        return self.scheme == "mx" and self.format.is_integer

    def factors(self) -> Array:
        """Return what each code less its zero point is multiplied by, float32, of a shape that spreads to the codes."""
        factors = np.asarray(decode(self.scale, self.scale_format))
        with np.errstate(all="ignore"):
            if self.global_scale is not None:
                factors = factors * self.global_scale.reshape(())
            if self.is_fixed_point:
                factors = factors * np.float32(2**-6)
        return spread(factors, self.codes.shape, self.axis, self.block_size)

    def zero_points(self) -> Array:
        """Return the zero points as int64, of a shape that spreads to the codes."""
        if self.zero_point is None:
            return np.zeros((), np.int64)
        return spread(self.zero_point.astype(np.int64), self.codes.shape, self.axis, self.block_size)


def parts_of(quantized: Quantized, parameter: str) -> QuantizedParts:
    """Return the parts of a quantized array; errors name `parameter`."""
    fmt, shape, factor = quantized.format, tuple(quantized.shape), quantized.global_scale
    namespace(quantized.codes, parameter)
    if quantized.packed:
        codes = np.asarray(unpack(held_codes(quantized.codes, UINT8, parameter), fmt, shape)).view(fmt.dtype)
    else:
        codes = held_codes(quantized.codes, fmt, parameter)
    scale_format = as_format(quantized.scale_format)
    zero = None if quantized.zero_point is None else held_codes(quantized.zero_point, fmt, parameter)
    return QuantizedParts(
        codes, fmt, held_codes(quantized.scale, scale_format, parameter), scale_format, zero,
        None if factor is None else held_codes(factor, FLOAT32, parameter), quantized.axis, quantized.block_size,
        quantized.scheme,
    )  # fmt: skip


def spread(operand: Array, shape: tuple[int, ...], axis: Any, block_size: Any) -> Array:
    """Return scales, or zero points, in a shape that spreads to that of the codes; of blocks they are repeated.

    Examples
    --------
    >>> spread(np.array([1, 2]), (2, 3), 0, 0).tolist()
    [[1], [2]]
    >>> spread(np.array([[1, 2]]), (3, 2), None, 0).tolist()  # with the rank of the codes
    [[1, 2]]
    >>> spread(np.array([[1, 2], [3, 4]]), (2, 3), 1, 2).tolist()
    [[1, 1, 2], [3, 3, 4]]
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    blocks = block_size if isinstance(block_size, (tuple, list)) else (block_size or 0,)
    if any(blocks):
        for number, block in zip(axes, blocks, strict=True):
            where = (-1 if number is None else number) % len(shape)
            operand = np.repeat(operand, min(block, max(shape[where], 1)), where)[
                (*(slice(None),) * where, slice(shape[where]))
            ]
        return operand
    if operand.size == 1:
        return operand.reshape(())
    if operand.ndim == len(shape) and (operand.ndim != 1 or axis is None):
        return operand
    lengths = [1] * len(shape)
    lengths[axes[0]] = operand.size
    return operand.reshape(lengths)
