"""The arguments of packed codes: the shape of their values, and whether there are as many bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..spec.formats import Format
from ..spec.packing import check_packable, packed_bytes
from ..spec.scalar_arguments import as_integer, shown

__all__ = ["check_packed", "shape_of"]

_MOST_AXES, _MOST_ELEMENTS = 64, 1 << 59
"""What NumPy has strides for: 64 axes, and 2**63 bytes."""


def shape_of(shape: object, when: str = ", where packed") -> tuple[int, ...]:
    """Return the shape of packed values, or raise ValueError that says when there must be one."""
    is_sequence = isinstance(shape, Sequence) and not isinstance(shape, (str, bytes, bytearray, memoryview))
    lengths: Sequence[object] = shape if is_sequence else (shape,)  # type: ignore[assignment]
    numbers = tuple(length for length in map(as_integer, lengths) if length is not None and length >= 0)
    if len(numbers) < len(lengths):
        wanted = f"the number of elements, or a tuple of lengths{when}"
        raise ValueError(f"`shape` must be {wanted}; got {shown(shape)}")
    if len(numbers) > _MOST_AXES or math.prod(max(length, 1) for length in numbers) > _MOST_ELEMENTS:
        wanted = f"at most {_MOST_AXES} lengths, and {_MOST_ELEMENTS} elements where a length of 0 counts as 1"
        raise ValueError(f"`shape` must have {wanted}; got {shown(shape)}")
    return numbers


def check_packed(packed: Any, fmt: Format, shape: tuple[int, ...], parameter: str, name: str = "source") -> None:
    """Raise ValueError unless `packed` holds that shape; `parameter` and `name` are the caller's names for both."""
    check_packable(fmt, name)
    wanted = packed_bytes(math.prod(shape), fmt)
    name = str(packed.dtype).rpartition(".")[2]
    if packed.ndim != 1 or name != "uint8" or packed.shape[0] != wanted:
        raise ValueError(
            f"`{parameter}` must be 1-D uint8 of {wanted} bytes for shape {shape} in {fmt.name}; "
            f"got {name} of shape {tuple(packed.shape)}"
        )
