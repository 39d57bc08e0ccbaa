"""The blocks of GGUF whose values are known, and the arithmetic of ggml that writes some of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.codes import decode
from ...spec.formats import FLOAT4_E2M1FN, FLOAT32, INT4, Format
from . import ggml_blocks as blocks
from . import ggml_encode as encode
from . import ggml_k_quants as k_quants
from .block_type import BlockType, Encoding
from .scheme import Scheme
from .tool import Tool

__all__ = ["BLOCK_TYPES", "RULES", "TOOL", "WHOLE_TYPES", "rule"]

Array = np.ndarray[Any, Any]

PART = 1 << 15
"""Elements that are quantized at once: their blocks, and what lies between, stay in a core's cache."""

BLOCK_TYPES = {
    one.name: one
    for one in (
        BlockType("Q4_0", 32, 18, blocks.decode_q4_0, Encoding(encode.encode_q4_0, INT4, blocks.half_factors)),
        BlockType("Q4_1", 32, 20, blocks.decode_q4_1),
        BlockType("Q5_0", 32, 22, blocks.decode_q5_0),
        BlockType("Q5_1", 32, 24, blocks.decode_q5_1),
        BlockType("Q8_0", 32, 34, blocks.decode_q8_0, Encoding(encode.encode_q8_0)),
        BlockType("Q2_K", 256, 84, k_quants.decode_q2_k),
        BlockType("Q3_K", 256, 110, k_quants.decode_q3_k),
        BlockType("Q4_K", 256, 144, k_quants.decode_q4_k),
        BlockType("Q5_K", 256, 176, k_quants.decode_q5_k),
        BlockType("Q6_K", 256, 210, k_quants.decode_q6_k),
        BlockType("IQ4_NL", 32, 18, blocks.decode_iq4_nl),
        BlockType("IQ4_XS", 256, 136, k_quants.decode_iq4_xs),
        BlockType(
            "MXFP4", 32, 17, blocks.decode_mxfp4, Encoding(encode.encode_mxfp4, FLOAT4_E2M1FN, blocks.power_factors)
        ),
        BlockType("NVFP4", 64, 36, blocks.decode_nvfp4),
    )
}
"""The types that have values of their own, by their names."""

WHOLE_TYPES = {
    one.name: one
    for one in (
        BlockType("F16", 1, 2, blocks.decode_f16, Encoding(encode.encode_f16)),
        BlockType("BF16", 1, 2, blocks.decode_bf16, Encoding(encode.encode_bf16)),
    )
}
"""Formats as blocks of one element, for recipes."""


def quantize(x: Array, fmt: Format, scheme: Scheme, second: np.float32 | None = None) -> tuple[Array, Array]:
    """Return no scales, which lie in the blocks, and rows of blocks."""
    if scheme.blocks is None or scheme.blocks.encoding is None:
        raise ValueError("a scheme without blocks is none of ggml's")
    kind, encoding, flat = scheme.blocks, scheme.blocks.encoding, x.reshape(-1)
    rows = np.empty((flat.size // kind.size, kind.nbytes), np.uint8)
    for start in range(0, flat.size, PART):
        part = flat[start : start + PART]
        values = part.view(np.float32) if fmt == FLOAT32 else np.asarray(decode(part, fmt, to=np.float32))
        first = start // kind.size
        rows[first : first + part.size // kind.size] = encoding.encode(values.reshape(-1, kind.size))
    return np.empty((len(x), 0), np.uint8), rows.reshape(len(x), -1)


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
