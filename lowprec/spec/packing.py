"""ONNX's packed order for 2-, 4- and 6-bit codes, in array-API calls: what the kernels do for host memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from array_api_compat import device

from .formats import Format
from .scalar_arguments import as_integer, shown

__all__ = ["check_packable", "check_packed", "group", "is_packable", "packed_bytes", "shape_of"]


def is_packable(fmt: Format) -> bool:
    """Whether codes of the format's width are packed in ONNX."""
    return fmt.bits in (2, 4, 6)


def check_packable(fmt: Format, parameter: str) -> None:
    """Raise ValueError unless the format's codes are packed in ONNX."""
    if not is_packable(fmt):
        raise ValueError(
            f"`{parameter}` must be a 2-, 4- or 6-bit format to be packed; got {fmt.name} of {fmt.bits} bits"
        )


def packed_bytes(n: int, fmt: Format) -> int:
    """Return how many bytes `n` packed codes take."""
    return (n * fmt.bits + 7) // 8


def group(fmt: Format) -> tuple[int, int]:
    """Return the smallest number of codes that fill whole bytes, and those bytes."""
    bits = math.lcm(fmt.bits, 8)
    return bits // fmt.bits, bits // 8


def _padded(flat: Any, multiple: int, xp: Any) -> Any:
    missing = -flat.shape[0] % multiple
    tail = xp.zeros((missing,), dtype=flat.dtype, device=device(flat))
    return xp.reshape(xp.concat([flat, tail]), (-1, multiple))


def _word(columns: Any, bits: int, xp: Any) -> Any:
    """Join the columns into one number a row, the first column lowest."""
    word = xp.astype(columns[:, 0], xp.int32)
    for index in range(1, columns.shape[1]):
        word = word + xp.astype(columns[:, index], xp.int32) * (1 << (bits * index))
    return word


def _fields(word: Any, bits: int, count: int, xp: Any) -> Any:
    """Split numbers into `count` fields of `bits`, lowest first, as one flat uint8 array."""
    fields = [xp.bitwise_and(word // (1 << (bits * index)), (1 << bits) - 1) for index in range(count)]
    return xp.reshape(xp.astype(xp.stack(fields, axis=1), xp.uint8), (-1,))


def pack(codes: Any, fmt: Format, xp: Any) -> Any:
    """Pack masked uint8 codes, in C order, into a 1-D uint8 array."""
    n_codes, n_bytes = group(fmt)
    flat = xp.reshape(codes, (-1,))
    packed = _fields(_word(_padded(flat, n_codes, xp), fmt.bits, xp), 8, n_bytes, xp)
    return packed[: packed_bytes(flat.shape[0], fmt)]


def unpack(packed: Any, fmt: Format, shape: tuple[int, ...], xp: Any) -> Any:
    """Unpack a 1-D uint8 array into uint8 codes of `shape`."""
    n_codes, n_bytes = group(fmt)
    flat = _fields(_word(_padded(packed, n_bytes, xp), 8, xp), fmt.bits, n_codes, xp)
    return xp.reshape(flat[: math.prod(shape)], shape)


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
