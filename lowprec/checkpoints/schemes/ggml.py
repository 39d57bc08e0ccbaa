"""The blocks of GGUF whose values are known, and the arithmetic of ggml that writes some of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...spec.formats import Format
from . import ggml_blocks as blocks
from . import ggml_k_quants as k_quants
from .block_type import BlockType
from .scheme import Scheme
from .tool import Tool

__all__ = ["BLOCK_TYPES", "RULES", "TOOL", "WHOLE_TYPES", "rule"]

Array = np.ndarray[Any, Any]

BLOCK_TYPES = {
    one.name: one
    for one in (
        BlockType("Q4_0", 32, 18, is_written=True),
        BlockType("Q4_1", 32, 20),
        BlockType("Q5_0", 32, 22),
        BlockType("Q5_1", 32, 24),
        BlockType("Q8_0", 32, 34, is_written=True),
        BlockType("Q2_K", 256, 84, k_quants.decode_q2_k),
        BlockType("Q3_K", 256, 110, k_quants.decode_q3_k),
        BlockType("Q4_K", 256, 144, k_quants.decode_q4_k),
        BlockType("Q5_K", 256, 176, k_quants.decode_q5_k),
        BlockType("Q6_K", 256, 210, k_quants.decode_q6_k),
        BlockType("IQ4_NL", 32, 18, blocks.decode_iq4_nl),
        BlockType("IQ4_XS", 256, 136, k_quants.decode_iq4_xs),
        BlockType("MXFP4", 32, 17, is_written=True),
        BlockType("NVFP4", 64, 36, blocks.decode_nvfp4),
    )
}
"""The types that have values of their own, by their names."""

WHOLE_TYPES = {
    one.name: one
    for one in (
        BlockType("F16", 1, 2, blocks.decode_f16, blocks.encode_f16, is_written=True),
        BlockType("BF16", 1, 2, blocks.decode_bf16, blocks.encode_bf16, is_written=True),
    )
}
"""Formats as blocks of one element, for recipes."""


def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return no scales, which lie in the blocks, and rows of blocks."""
    if scheme.blocks is None or not scheme.blocks.is_written:
        raise ValueError("a scheme without blocks is none of ggml's")
    return np.empty((len(x), 0), np.uint8), scheme.blocks.encode(x, fmt).reshape(len(x), -1)


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


def rule(scheme: Scheme) -> tuple[str, ...]:
    """Return the formulas of a type of blocks."""
    return RULES.get(scheme.blocks.name, ()) if scheme.blocks is not None else ()


TOOL = Tool("ggml", quantize, rule=rule)
