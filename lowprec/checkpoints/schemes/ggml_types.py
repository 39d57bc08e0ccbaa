"""The table of GGUF's types: their numbers, and the formats or the blocks that they are."""

from __future__ import annotations

from dataclasses import dataclass

from ...spec.formats import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, Format
from . import ggml_blocks, ggml_encode, ggml_k_quants
from .block_type import BlockType

__all__ = ["BLOCK_TYPES", "TYPES", "GgmlType", "type_of"]


@dataclass(frozen=True, slots=True)
class GgmlType:
    """One type.

    Attributes
    ----------
    number : int
        What a file calls it.
    name : str
        What people call it.
    size, nbytes : int
        How many elements a block has, and how many bytes; an element is a block of its own unless it is quantized.
    fmt : Format or None
        The format of its elements; None for blocks.
    """

    number: int
    name: str
    size: int
    nbytes: int
    fmt: Format | None = None


BLOCK_TYPES = {
    one.name: one
    for one in (
        BlockType("Q4_0", 32, 18, ggml_blocks.decode_q4_0, ggml_encode.encode_q4_0),
        BlockType("Q4_1", 32, 20, ggml_blocks.decode_q4_1, ggml_encode.encode_q4_1),
        BlockType("Q5_0", 32, 22, ggml_blocks.decode_q5_0, ggml_encode.encode_q5_0),
        BlockType("Q5_1", 32, 24, ggml_blocks.decode_q5_1, ggml_encode.encode_q5_1),
        BlockType("Q8_0", 32, 34, ggml_blocks.decode_q8_0, ggml_encode.encode_q8_0),
        BlockType("Q2_K", 256, 84, ggml_k_quants.decode_q2_k),
        BlockType("Q3_K", 256, 110, ggml_k_quants.decode_q3_k),
        BlockType("Q4_K", 256, 144, ggml_k_quants.decode_q4_k),
        BlockType("Q5_K", 256, 176, ggml_k_quants.decode_q5_k),
        BlockType("Q6_K", 256, 210, ggml_k_quants.decode_q6_k),
        BlockType("IQ4_NL", 32, 18, ggml_blocks.decode_iq4_nl),
        BlockType("IQ4_XS", 256, 136, ggml_k_quants.decode_iq4_xs),
        BlockType("MXFP4", 32, 17, ggml_blocks.decode_mxfp4, ggml_encode.encode_mxfp4),
        BlockType("NVFP4", 64, 36, ggml_blocks.decode_nvfp4),
    )
}
"""The blocks whose values are known, by their names."""

_NUMBERS = {
    "Q4_0": 2, "Q4_1": 3, "Q5_0": 6, "Q5_1": 7, "Q8_0": 8, "Q2_K": 10, "Q3_K": 11, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14,
    "IQ4_NL": 20, "IQ4_XS": 23, "MXFP4": 39, "NVFP4": 40,
}  # fmt: skip

TYPES = {
    one.number: one
    for one in (
        GgmlType(0, "F32", 1, 4, FLOAT32),
        GgmlType(1, "F16", 1, 2, FLOAT16),
        GgmlType(24, "I8", 1, 1, INT8),
        GgmlType(25, "I16", 1, 2, INT16),
        GgmlType(26, "I32", 1, 4, INT32),
        GgmlType(27, "I64", 1, 8, INT64),
        GgmlType(28, "F64", 1, 8, FLOAT64),
        GgmlType(30, "BF16", 1, 2, BFLOAT16),
        *(GgmlType(_NUMBERS[name], name, one.size, one.nbytes) for name, one in BLOCK_TYPES.items()),
        # Blocks that can only be copied.
        GgmlType(9, "Q8_1", 32, 40),
        GgmlType(15, "Q8_K", 256, 292),
        GgmlType(16, "IQ2_XXS", 256, 66),
        GgmlType(17, "IQ2_XS", 256, 74),
        GgmlType(18, "IQ3_XXS", 256, 98),
        GgmlType(19, "IQ1_S", 256, 50),
        GgmlType(21, "IQ3_S", 256, 110),
        GgmlType(22, "IQ2_S", 256, 82),
        GgmlType(29, "IQ1_M", 256, 56),
        GgmlType(34, "TQ1_0", 256, 54),
        GgmlType(35, "TQ2_0", 256, 66),
        GgmlType(41, "Q1_0", 128, 18),
    )
}
"""All types, by their numbers."""


def type_of(fmt: Format) -> GgmlType | None:
    """Return the type that has a format for its elements, or None."""
    return next((one for one in TYPES.values() if one.fmt == fmt), None)
