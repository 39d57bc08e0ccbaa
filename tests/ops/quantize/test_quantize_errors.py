"""What QuantizeLinear and DequantizeLinear both refuse; the types of every version."""

from __future__ import annotations

import re
from typing import Any

import array_api_strict as strict
import ml_dtypes
import numpy as np
import pytest
from support.optional import optional
from support.quantize_cases import VERSIONS, type_table

import lowprec as lp
from lowprec.spec.formats import ONNX_NUMERIC

torch: Any = optional("torch")

X = np.ones((2, 6), np.float32)
CODES = np.ones((2, 6), np.int8)
S = np.float32(2)
HALF = X.astype(np.float16)
NAMED: dict[Any, dict[str, str]] = {opset: {} for opset in range(21)}
"""Opsets in which no attribute names the type."""


def quantize(x: Any = X, scale: Any = S, zero_point: Any = None, **options: Any) -> Any:
    if zero_point is None or isinstance(zero_point, (int, float)):
        options = NAMED.get(options.get("opset"), {"output_dtype": "uint8"}) | options
    return lp.quantize_linear(x, scale, zero_point, **{"axis": 1} | options)


def dequantize(x: Any = CODES, scale: Any = S, zero_point: Any = None, **options: Any) -> Any:
    return lp.dequantize_linear(x, scale, zero_point, **{"axis": 1} | options)


def ones(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.ones(shape, dtype)


@pytest.mark.parametrize("x", [[1.0], 1.0, 1, True, None, "1", np.ma.array([1.0]), np.float32, memoryview(b"1")])
def test_not_an_array(x: Any) -> None:
    for call in (quantize, dequantize):
        with pytest.raises(TypeError, match=r"`x` must be an array .*; got "):
            call(x)
        if not isinstance(x, (int, float)) or isinstance(x, bool):  # numbers are scales
            with pytest.raises(TypeError, match=r"`scale` must be an array .*; got "):
                call(scale=x)
            if x is not None:
                with pytest.raises(TypeError, match=r"`zero_point` must be an array .*; got "):
                    call(zero_point=x)
    with pytest.raises(TypeError, match=r"`x` must be an array .*; got "):
        lp.dynamic_quantize_linear(x)


@pytest.mark.parametrize("other", [np.array(["a"]), np.array([1j]), np.array([None]), np.zeros(1, "m8[s]")])
def test_not_a_number_format(other: Any) -> None:
    for call in (quantize, dequantize):
        for name in ("x", "scale", "zero_point"):
            with pytest.raises(TypeError, match=rf"`{name}` must hold .*; got dtype {re.escape(str(other.dtype))}"):
                call(**{name: other})
    with pytest.raises(TypeError, match=r"`x` must hold .*; got dtype"):
        lp.dynamic_quantize_linear(other)


def test_another_library() -> None:
    for call in (quantize, dequantize):
        for other in (torch.ones(()), strict.asarray(1.0)):
            with pytest.raises(TypeError, match=r"`scale` must be a NumPy array, as `x` is; got an? "):
                call(scale=other)
            with pytest.raises(TypeError, match=r"`zero_point` must be a NumPy array, as `x` is; got an? "):
                call(zero_point=other)
            with pytest.raises(TypeError, match=r"`out` must be a NumPy array, as `x` is; got an? "):
                call(out=other)


@pytest.mark.parametrize(("options", "message"), [
    # axis
    ({"axis": 2}, "`axis` must be from -2 to 1 for `x` of 2 dimensions; got 2"),
    ({"axis": -3}, "`axis` must be from -2 to 1 for `x` of 2 dimensions; got -3"),
    ({"axis": 1.0}, "`axis` must be an integer; got 1.0"), ({"axis": "1"}, "`axis` must be an integer; got '1'"),
    ({"axis": True}, "`axis` must be an integer; got True"),
    ({"axis": 0, "opset": 12}, "`axis` must be 1 before opset 13; got opset 12"),
    # block_size
    ({"block_size": -1}, "`block_size` must be an integer from 0 up, .*; got -1"),
    ({"block_size": 2.0}, "`block_size` must be an integer from 0 up, .*; got 2.0"),
    ({"block_size": "2"}, "`block_size` must be an integer from 0 up, .*; got '2'"),
    ({"block_size": True}, "`block_size` must be an integer from 0 up, .*; got True"),
    ({"block_size": 2, "opset": 20}, "`block_size` must be 0 before opset 21; got "),
    # the shape of the scale
    ({"scale": ones(6), "opset": 12}, r"`scale` must have one element before opset 13; got shape \(6,\)"),
    ({"scale": ones(2)}, r"`scale` must have one element, shape \(6,\) for axis 1, .*; got shape \(2,\)"),
    ({"scale": ones(6), "axis": 0}, r"`scale` must have one element, shape \(2,\) for axis 0, .*got shape \(6,\)"),
    ({"scale": ones(2, 3)}, r"`scale` must have for each axis .* or 1, or .* a `block_size`; got shape \(2, 3\)"),
    ({"scale": ones(1, 2)}, r"`scale` must have for each axis .* or 1, or .* a `block_size`; got shape \(1, 2\)"),
    ({"scale": ones(2, 6), "opset": 20}, "`block_size` must be 0 before opset 21; got"),
    ({"scale": ones(2, 1), "opset": 12}, r"`scale` must have one element before opset 13; got shape \(2,\)"),
    ({"scale": ones(0)}, r"`scale` must have one element, .*; got shape \(0,\)"),
    ({"scale": ones(1, 1, 1)}, r"`scale` must have one element, .*; got shape \(1, 1, 1\)"),
    ({"scale": ones(2, 2), "block_size": 2}, r"`scale` must have shape \(2, 3\) .* block_size 2; got \(2, 2\)"),
    ({"scale": ones(2, 4), "block_size": 2}, r"`scale` must have shape \(2, 3\) .* block_size 2; got \(2, 4\)"),
    ({"scale": ones(1, 3), "block_size": 2}, r"`scale` must have shape \(2, 3\) .* block_size 2; got \(1, 3\)"),
    ({"scale": ones(2, 1), "block_size": 4}, r"`scale` must have shape \(2, 2\) .* block_size 4; got \(2, 1\)"),
    ({"scale": ones(3), "block_size": 2}, r"`scale` must have shape \(2, 3\) .* block_size 2; got \(3,\)"),
    ({"scale": ones(2, 3), "block_size": 2, "axis": 0}, r"`scale` must have shape \(1, 6\) .*; got \(2, 3\)"),
    # opset
    ({"opset": 9}, "`opset` must be from 10 to 28 for (Q|Deq)uantizeLinear; got 9"),
    ({"opset": 29}, "`opset` must be from 10 to 28 for (Q|Deq)uantizeLinear; got 29"),
    ({"opset": "13"}, "`opset` must be an integer from 10 to 28; got '13'"),
    ({"opset": True}, "`opset` must be an integer from 10 to 28; got True"),
    # formats
    ({"scale_format": "nope"}, "`scale_format` must be a format; got 'nope'"),
    ({"scale_format": "float8_e8m0fnu"}, "`scale` must hold codes of `scale_format` float8_e8m0fnu in .*; got"),
    ({"output_dtype": "nope"}, "`output_dtype` must be a format; got 'nope'"),
    ({"output_dtype": "bool"}, "`output_dtype` must be a type that .* has there: .*; got bool"),
    ({"output_dtype": "string"}, "`output_dtype` must be a type that .* has there: .*; got string"),
    ({"output_dtype": "float8_e8m0fnu"}, "`output_dtype` must be a type that .*; got float8_e8m0fnu"),
    ({"scale": np.asarray(2.0)}, "`scale` must be a type that .*-28 has there: .*; got float64"),
    ({"scale": np.asarray(2, np.uint8)}, "`scale` must be a type that .*-28 has there: .*; got uint8"),
    ({"scale": np.float16(2), "opset": 18}, "`scale` must be a type that .*-13 .*; got float16, .* since opset 19"),
    ({"scale": np.asarray(1, ml_dtypes.float8_e8m0fnu), "opset": 23},
     "`scale` must be a type that .*-23 .*; got float8_e8m0fnu, which it has since opset 24"),
    # Python numbers
    ({"zero_point": 1.5}, "`zero_point` must be an integer from .*; got 1.5"),
    ({"zero_point": 300}, "`zero_point` must be an integer from .*; got 300"),
    ({"zero_point": -129}, "`zero_point` must be an integer from .*; got -129"),
    ({"zero_point": float("nan")}, "`zero_point` must be an integer from .*; got nan"),
    ({"zero_point": float("inf")}, "`zero_point` must be an integer from .*; got inf"),
    ({"zero_point": 10**400}, "`zero_point` must be an integer from .*; got an integer of 1329 bits"),
    ({"scale": 10**400}, "`scale` must be .*; got an integer of 1329 bits"),
    ({"scale": float("inf"), "scale_format": "int32"}, "`scale` must be .*; got inf"),
    # out
    ({"out": np.zeros((6, 2), np.int8)}, r"`out` must have shape \(2, 6\) and dtype .*; got \(6, 2\), int8"),
    ({"out": np.zeros((2, 6), np.int64)}, r"`out` must have shape \(2, 6\) and dtype .*; got \(2, 6\), int64"),
])  # fmt: skip
def test_both(options: dict[str, Any], message: str) -> None:
    for call in (quantize, dequantize):
        for _ in range(2):  # the second call finds whatever the first one left in a cache
            with pytest.raises(ValueError, match=message):
                call(**options)
        call()


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
