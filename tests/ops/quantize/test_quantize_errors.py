"""What QuantizeLinear and DequantizeLinear both refuse; the types of every version."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.quantize_cases import VERSIONS, type_table

import lowprec as lp
from lowprec.spec.formats import ONNX_NUMERIC

X = np.ones((2, 6), np.float32)
CODES = np.ones((2, 6), np.int8)
S = np.float32(2)
NAMED: dict[Any, dict[str, str]] = {opset: {} for opset in range(21)}
"""Opsets in which no attribute names the type."""


def quantize(x: Any = X, scale: Any = S, zero_point: Any = None, **options: Any) -> Any:
    if zero_point is None or isinstance(zero_point, (int, float)):
        options = NAMED.get(options.get("opset"), {"output_dtype": "uint8"}) | options
    return lp.quantize_linear(x, scale, zero_point, **{"axis": 1} | options)


def dequantize(x: Any = CODES, scale: Any = S, zero_point: Any = None, **options: Any) -> Any:
    return lp.dequantize_linear(x, scale, zero_point, **{"axis": 1} | options)


@pytest.mark.parametrize("other", [np.array(["a"]), np.array([1j]), np.array([None]), np.zeros(1, "m8[s]")])
def test_not_a_number_format(other: Any) -> None:
    for call in (quantize, dequantize):
        for name in ("x", "scale", "zero_point"):
            with pytest.raises(TypeError, match=rf"`{name}` must hold .*; got dtype {re.escape(str(other.dtype))}"):
                call(**{name: other})
    with pytest.raises(TypeError, match=r"`x` must hold .*; got dtype"):
        lp.dynamic_quantize_linear(other)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_types_of_every_version_are_onnxs(version: int) -> None:
    """Every format that the schema of a version has not, for every parameter, is an error; every other is taken."""
    allowed = type_table("QuantizeLinear", version)
    scale_in = {t.x: next(s.scale for s in allowed if s.x is t.x) for t in allowed}
    x_in = {t.scale: t.x for t in allowed}
    for fmt in ONNX_NUMERIC:
        one = np.zeros((3,), fmt.dtype)
        if fmt in scale_in:
            quantize(one, np.zeros((), scale_in[fmt].dtype), opset=version)
        else:
            with pytest.raises(ValueError, match=f"`x` must be .*; got {fmt.name}"):
                quantize(one, opset=version)
        if fmt in x_in:
            quantize(np.zeros((3,), x_in[fmt].dtype), one[:1], opset=version)
        else:
            with pytest.raises(ValueError, match=f"`scale` must be .*; got {fmt.name}"):
                quantize(X, one[:1], opset=version)
        if any(t.y is fmt for t in allowed):
            assert quantize(X, S, one[:1], opset=version).dtype == fmt.dtype
        else:
            with pytest.raises(ValueError, match=f"`zero_point` must be .*; got {fmt.name}"):
                quantize(X, S, one[:1], opset=version)
    wanted = {(t.x, t.scale) for t in type_table("DequantizeLinear", version)}
    for x_format in ONNX_NUMERIC:
        for scale_format in ONNX_NUMERIC:
            x, scale = np.zeros((3,), x_format.dtype), np.ones((), scale_format.dtype)
            options = {} if scale_format.has_zero else {"output_dtype": "float32"}
            if (x_format, scale_format) in wanted:
                assert dequantize(x, scale, opset=version, **options).shape == (3,)
            else:
                with pytest.raises(ValueError, match=r"`(x|scale|output_dtype)` must be .*; got "):
                    dequantize(x, scale, opset=version, **options)
