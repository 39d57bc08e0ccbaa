"""ONNX's node cases of the quantization operators by the exact oracle, bit for bit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx
from onnx import numpy_helper
from support import onnx_node_cases

from lowprec import reference
from lowprec.reference import exact_quantize
from lowprec.reference.whole_arrays import broadcast
from lowprec.spec.formats import Format, as_format

OPERATORS = {"QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear"}
CASES = [
    case
    for case in onnx_node_cases.ALL
    if len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in OPERATORS
]


def _array(given: Any) -> np.ndarray:
    """Return an input or output of a case, which is an array or a TensorProto, as ONNX's own reader gives it."""
    return numpy_helper.to_array(given) if isinstance(given, onnx.TensorProto) else np.asarray(given)


def _codes(array: np.ndarray) -> np.ndarray:
    fmt = as_format(array.dtype)
    return array.view(fmt.code_dtype) & fmt.code_dtype.type(fmt.code_mask)


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    found = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    assert set(found) <= {"axis", "block_size", "output_dtype"}
    return found


def _each(array: np.ndarray, shape: tuple[int, ...], attributes: dict[str, Any]) -> list[int]:
    found = broadcast(array, shape, attributes.get("axis", 1), attributes.get("block_size", 0))
    return [int(code) for code in found.reshape(-1)]


def _by_the_oracle(operator: str, given: list[np.ndarray], result: Format, attributes: dict[str, Any]) -> list[int]:
    formats = [as_format(array.dtype) for array in given]
    arrays = [_codes(array) for array in given]
    x, shape = arrays[0].reshape(-1), arrays[0].shape
    scales = [reference.decode(code, formats[1]) for code in _each(arrays[1], shape, attributes)]
    offsets: list[reference.Value | None] = [None] * x.size
    if len(arrays) == 3:
        offsets = [reference.decode(code, formats[2]) for code in _each(arrays[2], shape, attributes)]
    together = zip(x.tolist(), scales, offsets, strict=True)
    if operator == "DequantizeLinear":
        return [exact_quantize.dequantize(a, formats[0], s, z, output_dtype=result) for a, s, z in together]
    precision = exact_quantize.precision_of(formats[1])
    return [
        exact_quantize.quantize(reference.decode(a, formats[0]), s, z, result, precision=precision)
        for a, s, z in together
    ]


STATIC = [case for case in CASES if case.model.graph.node[0].op_type != "DynamicQuantizeLinear"]
DYNAMIC = [case for case in CASES if case.model.graph.node[0].op_type == "DynamicQuantizeLinear"]
BY_NAME = {"ids": lambda case: case.name}


@pytest.mark.parametrize("case", STATIC, **BY_NAME)
def test_the_oracle(case: Any, tally: Counter[str]) -> None:
    node = case.model.graph.node[0]
    for inputs, (output,) in case.data_sets:
        wanted = _array(output)
        given = [_array(value) for value in inputs]
        found = _by_the_oracle(node.op_type, given, as_format(wanted.dtype), _attributes(node))
        tally["ONNX node cases by the oracle, elements"] += len(found)
        assert found == _codes(wanted).reshape(-1).tolist()


@pytest.mark.parametrize("case", DYNAMIC, **BY_NAME)
def test_the_oracle_of_dynamic(case: Any, tally: Counter[str]) -> None:
    for (given,), (y, scale, zero_point) in case.data_sets:
        found = exact_quantize.dynamic_quantize(_array(given).reshape(-1).tolist())
        tally["ONNX node cases by the oracle, elements"] += len(found[0])
        assert found[0] == _array(y).reshape(-1).tolist()
        assert reference.encode(found[1], "float32") == _codes(_array(scale))
        assert found[2] == _array(zero_point)
