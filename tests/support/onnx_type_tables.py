"""The types that QuantizeLinear and DequantizeLinear allow, typed from their pages in ONNX's document of operators."""

from __future__ import annotations

_FLOAT8 = "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz"
_SOURCES = "float float16 bfloat16 int32"
_CODES_21 = f"int8 uint8 int16 uint16 {_FLOAT8} uint4 int4"
_SCALED_21 = f"int8 uint8 int16 uint16 int32 {_FLOAT8} uint4 int4"
_FLOATS = "float float16 bfloat16"

QUANTIZE = {
    10: ("float int32", "float", "int8 uint8"),
    13: ("float int32", "float", "int8 uint8"),
    19: (_SOURCES, None, f"int8 uint8 {_FLOAT8}"),
    21: (_SOURCES, None, _CODES_21),
    23: (_SOURCES, _SOURCES, f"{_CODES_21} float4e2m1"),
    24: (_SOURCES, f"{_SOURCES} float8e8m0", f"{_CODES_21} float4e2m1"),
    25: (_SOURCES, f"{_SOURCES} float8e8m0", f"{_CODES_21} float4e2m1 uint2 int2"),
    28: (_SOURCES, f"{_SOURCES} float8e8m0", f"{_CODES_21} float4e2m1 uint2 int2 float6e2m3 float6e3m2"),
}
"""Of each version: types of `x`, of the scale (None: that of `x`), and of the result."""

DEQUANTIZE = {
    10: ("int8 uint8 int32", "float"),
    13: ("int8 uint8 int32", "float"),
    19: (f"int8 uint8 int32 {_FLOAT8}", _FLOATS),
    21: (_SCALED_21, _FLOATS),
    23: (f"{_SCALED_21} float4e2m1", _FLOATS),
    24: (f"{_SCALED_21} float4e2m1", f"{_FLOATS} float8e8m0"),
    25: (f"{_SCALED_21} float4e2m1 uint2 int2", f"{_FLOATS} float8e8m0"),
    28: (f"{_SCALED_21} float4e2m1 uint2 int2 float6e2m3 float6e3m2", f"{_FLOATS} float8e8m0"),
}
"""Of each version: types of `x` and of the scale."""
