"""The names of block formats: what OCP MX and NVFP4 call blocks of elements that share a scale."""

from __future__ import annotations

from .formats import (
    FLOAT4_E2M1FN,
    FLOAT6_E2M3FN,
    FLOAT6_E3M2FN,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    INT8,
    Format,
)

__all__ = ["BLOCK_FORMATS", "NVFP4"]

NVFP4 = "nvfp4"
"""The block format with scales in float8_e4m3fn and a global scale; the others are MX."""

BLOCK_FORMATS: dict[str, Format] = {
    "mxfp8_e4m3": FLOAT8_E4M3FN,
    "mxfp8_e5m2": FLOAT8_E5M2,
    "mxfp6_e2m3": FLOAT6_E2M3FN,
    "mxfp6_e3m2": FLOAT6_E3M2FN,
    "mxfp4": FLOAT4_E2M1FN,
    "mxint8": INT8,
    NVFP4: FLOAT4_E2M1FN,
}
"""The formats of blocks by name, and the format of their elements."""
