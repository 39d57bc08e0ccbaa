"""A block byte by byte: which bytes are scales, and which half of a byte is the code of which element."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import lowprec as lp
from lowprec.spec.formats import FLOAT32

__all__ = ["EXAMPLE_Q4_K", "LAYOUTS", "MOST_ELEMENTS", "Byte", "Group", "Packed", "packed"]

LAYOUTS = ("Q4_0", "MXFP4", "NVFP4", "Q4_K")
"""The layouts: three of GGUF, NVFP4 as its scales and codes lie in files of tensors."""

MOST_ELEMENTS = {"Q4_0": 32, "MXFP4": 32, "NVFP4": 16, "Q4_K": 256}
"""Elements of a block."""

EXAMPLE_Q4_K = bytes.fromhex(
    "3a30db3eb2013f29ff060606fea1afab5f5f5f5f5f5f5f5f5f5f5f5f5f5f5f505050505f5f5f5f5f5f5f5f5f5f5f5f5f"
    "f0d0b090706050303121111112130304050708090a0c0d0e0f0f0f0f0e0d0c0b4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f40"
    "4040404f4f4f4f4f4f4f4f4f4f4f4f4ff0e0c0a0907061514131212212131414150708090a0c0d0e0f0f0f0f0f0e0e0d"
)
"""Rows 53 and 54 of the picture less 128, as a block of Q4_K: a type that is read, and that nothing here writes."""

_Q4_K_CODES = 16
"""The first byte of codes."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Byte:
    """A byte; what it is; the elements whose codes are its low and its high half, None where it is no byte of codes."""

    value: int
    part: str
    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Group:
    """Elements of a block that share a scale of a few bits, which the scale of the block multiplies.

    `scale` and `least` are the integers, `levels` the values that the codes 0 to 15 stand for.
    """

    first: int
    last: int
    scale: int
    least: int
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """A block: its bytes, the values of its elements, how they follow, and, of nested scales, the groups.

    `x` are the elements that became the block; none of the example of Q4_K.
    """

    layout: str
    bytes: tuple[Byte, ...]
    values: tuple[float, ...]
    x: tuple[float, ...]
    rule: str
    bits_per_value: float
    groups: tuple[Group, ...] = ()


def packed(layout: str, x: Array, row: int, column: int) -> Packed:
    """Return the block of a layout in which an element of a tensor lies, as rows of its last dimension.

    A last block that is not whole has zeros after its elements; NaN and Inf count as 0.
    """
    if layout == "Q4_K":
        return _q4_k(np.frombuffer(EXAMPLE_Q4_K, np.uint8))
    size = MOST_ELEMENTS[layout]
    line = np.asarray(lp.cast(x.reshape(-1, x.shape[-1])[row], FLOAT32))
    part = line[column // size * size :][:size]
    part = np.where(np.isfinite(part), part, np.float32(0))
    block = np.zeros(size, np.float32)
    block[: part.size] = part
    if layout == "NVFP4":
        return _nvfp4(block, x, row, column // size)
    kind = _block_type(layout)
    codes = kind.encode(block.view(np.uint32), FLOAT32)
    values = np.empty((1, size), np.float32)
    kind.decode(codes.reshape(1, -1), values)
    shared = kind.nbytes - size // 2
    name = "scale, float16" if layout == "Q4_0" else "scale, float8_e8m0fnu"
    rule = "value = (code − 8) × scale" if layout == "Q4_0" else "value = code in float4_e2m1fn × scale"
    listed = [Byte(value, name) for value in codes[:shared].tolist()]
    listed += [Byte(value, "codes", place, place + size // 2) for place, value in enumerate(codes[shared:].tolist())]
    return Packed(layout, tuple(listed), _floats(values), _floats(block), rule, kind.nbytes * 8 / size)


def _block_type(layout: str) -> Any:
    """Return how GGUF has a block; imported here, since all pages import this module for the names of the layouts."""
    from lowprec.checkpoints.schemes.ggml_blocks import BLOCK_TYPES

    return BLOCK_TYPES[layout]


def _floats(values: Array) -> tuple[float, ...]:
    return tuple(map(float, values.reshape(-1)))


def _nvfp4(block: Array, x: Array, row: int, place: int) -> Packed:
    """Return a block of NVFP4: its scale lies in one tensor, its codes in another, low halves first."""
    whole = np.where(np.isfinite(x.astype(np.float64)), x, x.dtype.type(0)).reshape(-1, x.shape[-1])
    codes, scales, global_scale = lp.nvfp4_quantize(whole)
    values = np.zeros(16, np.float32)
    found = np.asarray(lp.nvfp4_dequantize(codes, scales, global_scale))[row, place * 16 :][:16]
    values[: found.size] = found
    own = np.zeros(16, np.uint8)
    own[: found.size] = np.asarray(codes).view(np.uint8)[row, place * 16 :][:16]
    halves = np.asarray(lp.pack(own, "float4_e2m1fn")).view(np.uint8).tolist()
    scale = int(np.asarray(scales).view(np.uint8)[row, place])
    listed = [Byte(scale, "scale, float8_e4m3fn")]
    listed += [Byte(value, "codes", 2 * index, 2 * index + 1) for index, value in enumerate(halves)]
    rule = f"value = code in float4_e2m1fn × scale × {float(global_scale):.6g}, the float32 of the tensor"
    return Packed("NVFP4", tuple(listed), _floats(values), _floats(block), rule, 4.5)


def _q4_k(block: Array) -> Packed:
    kind = _block_type("Q4_K")
    names = ["scale of the scales, float16"] * 2 + ["scale of the least values, float16"] * 2
    names += ["scales and least values of 6 bits"] * 12
    listed = [Byte(value, name) for value, name in zip(block[:_Q4_K_CODES].tolist(), names, strict=True)]
    for place, value in enumerate(block[_Q4_K_CODES:].tolist()):
        low = place // 32 * 64 + place % 32
        listed.append(Byte(value, "codes", low, low + 32))
    values = _decoded(block)
    ladders = [_decoded(np.concatenate([block[:_Q4_K_CODES], np.full(128, code * 17, np.uint8)])) for code in range(16)]
    groups = tuple(
        Group(32 * index, 32 * index + 31, *_integers(block, index), tuple(float(one[32 * index]) for one in ladders))
        for index in range(8)
    )
    rule = "value = code × (scale × its scale) − (least value × its scale)"
    return Packed("Q4_K", tuple(listed), _floats(values), (), rule, kind.nbytes * 8 / kind.size, groups)


def _decoded(block: Array) -> Array:
    values = np.empty((1, 256), np.float32)
    _block_type("Q4_K").decode(block.reshape(1, -1), values)
    first: Array = values[0]
    return first


def _integers(block: Array, group: int) -> tuple[int, int]:
    """Return the 6 bits of a group's scale and those of its least value, as 12 bytes hold them."""
    first, second, third = (block[start : start + 4].tolist() for start in (4, 8, 12))
    if group < 4:
        return first[group] & 63, second[group] & 63
    low = third[group - 4]
    return low & 15 | first[group - 4] >> 6 << 4, low >> 4 | second[group - 4] >> 6 << 4
