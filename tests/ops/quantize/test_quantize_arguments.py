"""Extreme arguments: huge blocks, 0-d arrays, UNDEFINED types, signed zeros, long integers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.optional import Missing, optional

import lowprec as lp
from lowprec.spec.scalar_arguments import as_flag, as_integer, shown

Evaluator: Any = optional("lowprec.onnx:Evaluator")
TensorProto: Any = optional("onnx:TensorProto")
UNDEFINED = [] if isinstance(TensorProto, Missing) else [int(TensorProto.UNDEFINED)]
helper: Any = optional("onnx:helper")

X = np.array([[1, 2, 3, 4], [-5, 6, -7, 8]], np.float32)
CODES = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.uint8)


# ---- blocks
@pytest.mark.parametrize("size", [4, 5, 2**31, 2**63 - 1, 2**63, 2**70, 10**400, np.uint64(2**64 - 1), np.int8(100)])
def test_a_block_beyond_the_axis(size: Any) -> None:
    scale = np.array([[1], [2]], np.float32)  # one block a row
    for _ in range(2):
        got = lp.quantize_linear(X, scale, axis=1, block_size=size, output_dtype="int8")
        assert got.tolist() == [[1, 2, 3, 4], [-2, 3, -4, 4]]  # 2.5 and 3.5 to even
        assert lp.dequantize_linear(CODES, scale, block_size=size, axis=1).tolist() == [[1, 2, 3, 4], [10, 12, 14, 16]]
    with pytest.raises(ValueError, match=r"`scale` must have shape \(2, 1\) .*block_size .*; got \(2, 2\)") as caught:
        lp.quantize_linear(X, np.ones((2, 2), np.float32), block_size=size, axis=1, output_dtype="uint8")
    assert len(str(caught.value)) < 200


# ---- the axis
@pytest.mark.parametrize("axis", [0, -1, 1, np.int64(0), np.array(-1)])
def test_no_dimension_counts_as_one(axis: Any) -> None:
    for scale in (2.0, np.float32(2), np.array([2], np.float32)):
        assert lp.quantize_linear(np.float32(6), scale, axis=axis, output_dtype="uint8").tolist() == 3
        assert lp.quantize_linear(np.float32(6), scale, 1, axis=axis, output_dtype="uint8").shape == ()
        assert lp.dequantize_linear(np.uint8(6), scale, axis=axis).tolist() == 12
    assert lp.quantize_linear(X[0], np.array([1, 2, 3, 4], np.float32), axis=axis, output_dtype="uint8").tolist() == [
        1, 1, 1, 1,
    ]  # fmt: skip


# ---- types that are not given: 0, ONNX's UNDEFINED

OPERATORS, VERSIONS = ("QuantizeLinear", "DequantizeLinear"), (10, 13, 19, 21, 23, 24, 25, 28)


@pytest.mark.parametrize("opset", VERSIONS)
@pytest.mark.parametrize("undefined", [0, np.int64(0), np.uint8(0), *UNDEFINED])
def test_types_that_are_undefined(opset: int, undefined: Any) -> None:
    options = {"opset": opset, "output_dtype": undefined}
    for precision in (None, undefined):
        for zero_point, codes in ((), [[0, 1, 2, 2], [0, 3, 0, 4]]), ((1,), [[1, 2, 3, 3], [0, 4, 0, 5]]):
            if opset >= 21:
                with pytest.raises(ValueError, match=r"^`output_dtype` must be the format of the result"):
                    lp.quantize_linear(X, 2.0, *zero_point, precision=precision, **options)
            else:
                got = lp.quantize_linear(X, 2.0, *zero_point, precision=precision, **options)
                assert (got.dtype, got.tolist()) == (np.uint8, codes)
        got = lp.quantize_linear(X, np.float32(2), np.int8(1), precision=precision, **options)
        assert (got.dtype, got.tolist()) == (np.int8, [[1, 2, 3, 3], [-1, 4, -3, 5]])
    got = lp.dequantize_linear(CODES, np.float32(2), **options)
    assert (got.dtype, got.tolist()) == (np.float32, [[2, 4, 6, 8], [10, 12, 14, 16]])


@pytest.mark.parametrize(("operator", "opset"), list(itertools.product(OPERATORS, VERSIONS[3:])))
def test_nodes_with_types_that_are_undefined(operator: str, opset: int) -> None:
    quantizes = operator == "QuantizeLinear"
    attributes = {"output_dtype": 0} if quantizes or opset >= 23 else {}
    if quantizes and opset >= 23:
        attributes["precision"] = 0
    ends = (TensorProto.FLOAT, TensorProto.UINT8) if quantizes else (TensorProto.UINT8, TensorProto.FLOAT)
    inputs = [helper.make_tensor_value_info(n, t, None) for n, t in (("x", ends[0]), ("s", TensorProto.FLOAT))]
    graph = helper.make_graph(
        [helper.make_node(operator, ["x", "s"], ["y"], **attributes)], "g", inputs,
        [helper.make_tensor_value_info("y", ends[1], None)],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    (found,) = Evaluator(model).run(None, {"x": X if quantizes else CODES, "s": np.float32(2)})
    wanted = [[0, 1, 2, 2], [0, 3, 0, 4]] if quantizes else [[2, 4, 6, 8], [10, 12, 14, 16]]
    assert (found.dtype, found.tolist()) == (np.uint8 if quantizes else np.float32, wanted)


# ---- numbers
@pytest.mark.parametrize("first", [0.0, -0.0, 0])
def test_zeros_as_scales_keep_their_sign(first: float) -> None:
    one = np.array([1, -1], np.float32)
    lp.quantize_linear(one, first, output_dtype="float8_e5m2", saturate=False)  # must not be found for the others
    for scale, codes in ((0.0, [0x7C, 0xFC]), (-0.0, [0xFC, 0x7C]), (0, [0x7C, 0xFC])):  # +-Inf by the sign of both
        got = lp.quantize_linear(one, scale, output_dtype="float8_e5m2", saturate=False)
        assert got.view(np.uint8).tolist() == codes, scale
        assert np.signbit(lp.dequantize_linear(np.array([3], np.int8), scale)).tolist() == [str(scale) == "-0.0"]


@pytest.mark.parametrize("first", [0.0, -0.0])
def test_zeros_as_zero_points_keep_their_sign(first: float) -> None:
    x = np.array([-0.0], np.float32)
    lp.quantize_linear(x, 1.0, first, output_dtype="float4_e2m1fn")
    for zero, code in ((0.0, 0x0), (-0.0, 0x8)):  # -0 + 0 is 0, -0 + -0 is -0
        got = lp.quantize_linear(x, 1.0, zero, output_dtype="float4_e2m1fn")
        assert got.view(np.uint8).tolist() == [code]


def test_what_counts_as_true_and_as_an_integer() -> None:
    pairs = ((True, False), (1, 0), (np.True_, np.False_), (np.int8(1), np.uint64(0)), (np.array(1), np.array(0)))
    for yes, no in pairs:
        assert as_flag(yes, "x") is True
        assert as_flag(no, "x") is False
        assert lp.encode(X, "int4", packed=yes).shape == (4,)
        assert lp.encode(X, "int4", packed=no).shape == (2, 4)
    assert [as_integer(value) for value in (True, np.True_, 1.0, "1", None, [1], np.array([1]))] == [None] * 7
    assert [as_integer(value) for value in (3, np.int8(-3), np.array(5), 2**70)] == [3, -3, 5, 2**70]


def test_shapes_of_many_elements_and_axes() -> None:
    assert lp.unpack(np.zeros(0, np.uint8), "int4", (0, 2**50)).shape == (0, 2**50)
    assert lp.unpack(np.zeros(1, np.uint8), "int4", (1,) * 64).ndim == 64


def test_values_in_messages_are_short() -> None:
    assert shown(["x" * 100]) == "['xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx..."
    assert shown(np.zeros((3, 3))) == "array([[0., 0., 0.], [0., 0., 0.], [0., 0., 0.]])"
    assert shown([10**5000]) == "a list"  # Python refuses to print so many digits
    assert shown(2**128 - 1) == str(2**128 - 1)
