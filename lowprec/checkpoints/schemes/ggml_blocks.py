"""GGUF's types of blocks: values of blocks, and blocks of values by the arithmetic of ggml."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.encode_pack import decode, encode
from ...ops.quantize_linear import dequantize_linear
from ...spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT16, FLOAT32, Format
from .scheme import BlockType, Scheme, Tool

__all__ = ["BLOCK_TYPES", "TOOL", "WHOLE_TYPES"]

Array = np.ndarray[Any, Any]

LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
"""The low nibbles of 8 bytes."""

IQ4_VALUES = np.array((-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113), np.int8)
"""What the codes of IQ4_NL and IQ4_XS stand for."""

PAIRS = (0, 2, 4, 6)
"""Shifts of the 2-bit codes of a byte."""

RULES = {
    "Q8_0": (
        "scale  = absmax / 127, in float32; stored as F16",
        "code   = round(x * (1 / scale)), ties away from 0",
        "value  = code * F16(scale)",
    ),
    "Q4_0": (
        "scale  = m / -8, m the first number of largest magnitude, in float32; stored as F16",
        "code   = min(15, trunc(x * (1 / scale) + 8.5))",
        "value  = (code - 8) * F16(scale)",
    ),
    "MXFP4": (
        "scale  = 2^(floor(log2(absmax)) - 2)",
        "code   = FP4(x / scale), ties toward 0; 0 without a sign",
        "value  = code * scale",
    ),
    "F16": ("value  = F16(x), ties to even",),
    "BF16": ("value  = BF16(x), ties to even",),
}
"""The formulas of the types that are written."""


def half(blocks: Array, at: int) -> Array:
    """Return the float16 at an offset of each block as float32, in a column."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float32)


def nibbles(pairs: Array) -> Array:
    """Return a row of codes for each row of bytes: all low nibbles, then all high ones."""
    codes = np.empty((len(pairs), 2 * pairs.shape[1]), np.uint8)
    if pairs.shape[1] % 8:
        np.bitwise_and(pairs, 15, out=codes[:, : pairs.shape[1]])
        np.right_shift(pairs, 4, out=codes[:, pairs.shape[1] :])
        return codes
    words, spread = np.ascontiguousarray(pairs).view(np.uint64), codes.view(np.uint64)
    for column in range(words.shape[1]):  # loops over all rows, which are short
        np.bitwise_and(words[:, column], LOW, out=spread[:, column])
        np.right_shift(words[:, column], 4, out=spread[:, words.shape[1] + column])
    spread &= LOW
    return codes


def take_bits(words: Array, shifts: tuple[int, ...], mask: int) -> Array:
    """Return bits of bytes, for each row of bytes a row of all of them at the first shift, then at the next one."""
    bits = np.empty((len(words), len(shifts), words.shape[1]), np.uint8)
    for index, shift in enumerate(shifts):
        np.right_shift(words, shift, out=bits[:, index])
    bits &= np.uint8(mask)
    return bits.reshape(len(words), -1)


def lookup(table: Array, codes: Array) -> Array:
    """Return the integers that 4-bit codes stand for."""
    return np.take(table, codes, mode="clip")


def multiply(integers: Array, scales: Array, out: Array) -> None:
    """Write products of integers, int8 or uint8, and scales, of which a row has one or several in equal groups."""
    group = integers.shape[1] // scales.shape[1]
    with np.errstate(all="ignore"):
        dequantize_linear(integers, scales, axis=1, block_size=group, output_dtype=np.float32, out=out)


def decode_iq4_nl(blocks: Array, out: Array) -> None:
    """Read a float16 scale, 16 bytes of two codes, which stand for the integers of a table."""
    multiply(lookup(IQ4_VALUES, nibbles(blocks[:, 2:])), half(blocks, 0), out)


def _multiply_fp4(codes: Array, half_scales: Array, out: Array) -> None:
    """Write products of FP4 codes, which are changed, and twice the scales; there is no −0."""
    codes *= codes != 8
    group = codes.shape[1] // half_scales.shape[1]
    dequantize_linear(
        codes, half_scales, source=FLOAT4_E2M1FN, axis=1, block_size=group, output_dtype=np.float32, out=out
    )
    with np.errstate(over="ignore"):
        out *= np.float32(2)  # twice the scale may be Inf where the product is not


def _half_scales() -> Array:
    """Return half of what each byte stands for as an unsigned E4M3 scale: its highest bit does not count.

    The byte 127, which is NaN in other formats, stands for 0; 255 stands for 480.
    """
    fields = np.arange(256)
    exponent, mantissa = fields >> 3 & 15, fields & 7
    values = np.where(exponent == 0, mantissa * 2.0**-9, (1 + mantissa / 8) * 2.0 ** (exponent - 7.0)) / 2
    values[127] = 0
    return values.astype(np.float32)


HALF_SCALES = _half_scales()


def decode_nvfp4(blocks: Array, out: Array) -> None:
    """Read four E4M3 scales without a sign, then 8 bytes of two FP4 codes for each of them."""
    codes = nibbles(blocks[:, 4:].reshape(-1, 8)).reshape(len(blocks), 64)
    _multiply_fp4(codes, HALF_SCALES[blocks[:, :4]], out)


def _decode_whole(blocks: Array, out: Array, fmt: Format) -> None:
    codes = np.ascontiguousarray(blocks).view(fmt.code_dtype)
    decode(codes, fmt, to=np.float32, out=out)


def decode_f16(blocks: Array, out: Array) -> None:
    """Read one float16."""
    _decode_whole(blocks, out, FLOAT16)


def decode_bf16(blocks: Array, out: Array) -> None:
    """Read one bfloat16."""
    _decode_whole(blocks, out, BFLOAT16)


def _encode_whole(x: Array, source: Format, fmt: Format) -> Array:
    values = x.view(np.float32) if source == FLOAT32 else np.asarray(decode(x, source, to=np.float32))
    return np.asarray(encode(values, fmt)).view(np.uint8)


def encode_bf16(x: Array, source: Format) -> Array:
    """Return bfloat16, rounded to nearest, ties to even."""
    return _encode_whole(x, source, BFLOAT16)


def encode_f16(x: Array, source: Format) -> Array:
    """Return float16, rounded to nearest, ties to even; Inf beyond its range."""
    return _encode_whole(x, source, FLOAT16)


def _times(scale: Array, integers: Array) -> Array:
    """Return the scale of a block times the integers of its groups, float32."""
    with np.errstate(all="ignore"):
        return scale * integers.astype(np.float32)


def _subtract(out: Array, least: Array) -> None:
    """Take one number away from each group of a row."""
    groups = out.reshape(len(out), least.shape[1], -1)
    with np.errstate(all="ignore"):
        np.subtract(groups, least[:, :, np.newaxis], out=groups)


def _rows(blocks: Array, start: int, end: int, width: int) -> Array:
    """Return some bytes of all blocks in rows of a width."""
    return np.ascontiguousarray(blocks[:, start:end]).reshape(-1, width)


def decode_q2_k(blocks: Array, out: Array) -> None:
    """Read 16 bytes of a 4-bit scale and a 4-bit least value, 64 bytes of 2-bit codes, their two float16 factors."""
    codes = take_bits(_rows(blocks, 16, 80, 32), PAIRS, 3).reshape(len(blocks), 256)
    multiply(codes, _times(half(blocks, 80), blocks[:, :16] & 15), out)
    _subtract(out, _times(half(blocks, 82), blocks[:, :16] >> 4))


def decode_q3_k(blocks: Array, out: Array) -> None:
    """Read 32 bytes of high bits, 64 bytes of 2-bit codes, 12 bytes of 6-bit scales offset by 32, a float16 factor.

    A high bit that is 0 takes 4 away.
    """
    codes = take_bits(_rows(blocks, 32, 96, 32), PAIRS, 3).reshape(len(blocks), 256)
    codes |= take_bits(blocks[:, :32], tuple(range(8)), 1) << 2
    low = nibbles(blocks[:, 96:104])
    scales = low | take_bits(blocks[:, 104:108], PAIRS, 3) << 4
    factors = _times(half(blocks, 108), scales.view(np.int8) - np.int8(32))
    multiply(codes.view(np.int8) - np.int8(4), factors, out)


def _scales_and_least(blocks: Array) -> tuple[Array, Array]:
    """Return the 8 scales and 8 least values, of 6 bits each, that are packed in 12 bytes of a block after its factors.

    The first four of each are the low bits of bytes 0 to 3 and 4 to 7; the last four have their low bits in bytes 8 to
    11 and their two high ones in the high bits of the former.
    """
    first, second, third = blocks[:, 4:8], blocks[:, 8:12], blocks[:, 12:16]
    scales = np.concatenate((first & 63, (third & 15) | (first >> 2 & 48)), axis=1)
    least = np.concatenate((second & 63, (third >> 4) | (second >> 2 & 48)), axis=1)
    return _times(half(blocks, 0), scales), _times(half(blocks, 2), least)


def decode_q4_k(blocks: Array, out: Array) -> None:
    """Read two float16 factors, 12 bytes of scales and least values, 128 bytes of two codes."""
    scales, least = _scales_and_least(blocks)
    codes = nibbles(_rows(blocks, 16, 144, 32)).reshape(len(blocks), 256)
    multiply(codes, scales, out)
    _subtract(out, least)


def decode_q5_k(blocks: Array, out: Array) -> None:
    """Read the same as Q4_K, with 32 bytes of high bits before the codes."""
    scales, least = _scales_and_least(blocks)
    codes = nibbles(_rows(blocks, 48, 176, 32)).reshape(len(blocks), 256)
    codes |= take_bits(blocks[:, 16:48], tuple(range(8)), 1) << 4
    multiply(codes, scales, out)
    _subtract(out, least)


def decode_q6_k(blocks: Array, out: Array) -> None:
    """Read 128 bytes of low nibbles, 64 bytes of two high bits, 16 x int8 scales, a float16; codes are offset by 32."""
    codes = nibbles(_rows(blocks, 0, 128, 64)).reshape(len(blocks), 256)
    codes |= take_bits(_rows(blocks, 128, 192, 32), PAIRS, 3).reshape(len(blocks), 256) << 4
    scales = _times(half(blocks, 208), blocks[:, 192:208].view(np.int8))
    multiply(codes.view(np.int8) - np.int8(32), scales, out)


def decode_iq4_xs(blocks: Array, out: Array) -> None:
    """Read a float16 factor, 2 + 4 bytes of 6-bit scales offset by 32, 128 bytes of two codes of IQ4_NL's table."""
    high = take_bits(blocks[:, 2:4].reshape(-1, 1), PAIRS, 3).reshape(len(blocks), 8)
    low = nibbles(blocks[:, 4:8].reshape(-1, 1)).reshape(len(blocks), 8)
    scales = _times(half(blocks, 0), (low | high << 4).view(np.int8) - np.int8(32))
    codes = nibbles(_rows(blocks, 8, 136, 16)).reshape(len(blocks), 256)
    multiply(lookup(IQ4_VALUES, codes), scales, out)


BLOCK_TYPES = {
    one.name: one
    for one in (
        BlockType("Q4_0", 32, 18, is_written=True),
        BlockType("Q4_1", 32, 20),
        BlockType("Q5_0", 32, 22),
        BlockType("Q5_1", 32, 24),
        BlockType("Q8_0", 32, 34, is_written=True),
        BlockType("Q2_K", 256, 84, decode_q2_k),
        BlockType("Q3_K", 256, 110, decode_q3_k),
        BlockType("Q4_K", 256, 144, decode_q4_k),
        BlockType("Q5_K", 256, 176, decode_q5_k),
        BlockType("Q6_K", 256, 210, decode_q6_k),
        BlockType("IQ4_NL", 32, 18, decode_iq4_nl),
        BlockType("IQ4_XS", 256, 136, decode_iq4_xs),
        BlockType("MXFP4", 32, 17, is_written=True),
        BlockType("NVFP4", 64, 36, decode_nvfp4),
    )
}
"""The types that have values of their own, by their names."""

WHOLE_TYPES = {
    one.name: one
    for one in (
        BlockType("F16", 1, 2, decode_f16, encode_f16, is_written=True),
        BlockType("BF16", 1, 2, decode_bf16, encode_bf16, is_written=True),
    )
}
"""Formats as blocks of one element, for recipes."""


def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return no scales, which lie in the blocks, and rows of blocks."""
    if scheme.blocks is None or not scheme.blocks.is_written:
        raise ValueError("a scheme without blocks is none of ggml's")
    return np.empty((len(x), 0), np.uint8), scheme.blocks.encode(x, fmt).reshape(len(x), -1)


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of a type of blocks."""
    return RULES.get(scheme.blocks.name, ()) if scheme.blocks is not None else ()


TOOL = Tool("ggml", quantize, rule=rule)
