"""The names of block formats: what OCP MX and NVFP4 call blocks of elements that share a scale."""

from __future__ import annotations

from .arguments import shown
from .format_hints import near_names, one_of
from .formats import (
    FLOAT4_E2M1FN,
    FLOAT6_E2M3FN,
    FLOAT6_E3M2FN,
    FLOAT8_E4M3FN,
    FLOAT8_E5M2,
    INT8,
    Format,
    as_format,
)

__all__ = ["BLOCK_FORMATS", "NVFP4", "element_of"]

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


def element_of(spec: object, parameter: str) -> Format:
    """Return the format of the elements of a block format, or the format that `spec` names; else raise ValueError.

    Examples
    --------
    >>> element_of("mxfp8_e5m2", "to").name, element_of("int4", "to").name
    ('float8_e5m2', 'int4')
    """
    if isinstance(spec, str):
        if spec in BLOCK_FORMATS:
            return BLOCK_FORMATS[spec]
        if spec.lower().startswith(("mx", "nv")):
            near = near_names(spec, BLOCK_FORMATS, {})
            hint = f" ({one_of(near)})" if near else ""
            names = ", ".join(BLOCK_FORMATS)
            raise ValueError(f"`{parameter}` must be a format, or one of blocks: {names}; got {shown(spec)}{hint}")
    return as_format(spec, parameter=parameter)
