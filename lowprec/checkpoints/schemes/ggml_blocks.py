"""Block types of GGUF with up to 64 elements: values of blocks, as ggml computes them, where no compiled loop does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode, encode
from ...ops.quantize import dequantize_linear
from ...spec.formats import BFLOAT16, FLOAT4_E2M1FN, FLOAT16, FLOAT32, Format

__all__ = [
    "decode_bf16", "decode_f16", "decode_iq4_nl", "decode_nvfp4", "encode_bf16", "encode_f16", "half", "lookup",
    "multiply", "nibbles", "take_bits",
]  # fmt: skip

Array = np.ndarray[Any, Any]

LOW = np.uint64(0x0F0F0F0F0F0F0F0F)
"""The low nibbles of 8 bytes."""

IQ4_VALUES = np.array((-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113), np.int8)
"""What the codes of IQ4_NL and IQ4_XS stand for."""


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
