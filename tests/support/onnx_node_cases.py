"""ONNX's own node cases, generated once for each process; codes read from a TensorProto without lowprec."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx
from onnx import numpy_helper

import lowprec as lp

for _name in ("averagepool", "lppool", "maxpool"):  # none of our operators, and most of the time that all cases take
    _name = f"onnx.backend.test.case.node.{_name}"
    sys.modules.setdefault(_name, types.ModuleType(_name))

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the generators overflow and divide by zero on purpose
    from onnx.backend.test.loader import load_model_tests

    ALL = [case for case in load_model_tests(kind="node") if case.model is not None]

OPERATORS = ("Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear", "DynamicQuantizeLinear")


def operators_in(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the operators of a graph and of its subgraphs."""
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from operators_in(attribute.g)


def cases_of(operator: str) -> list[Any]:
    """Return the node cases of an operator, those of its expanded function included."""
    stem = f"test_{operator.lower()}"
    return [case for case in ALL if case.name == stem or case.name.startswith(f"{stem}_")]


def tensor_of(value: Any) -> onnx.TensorProto:
    """Return an input or output of a case as a TensorProto with raw_data."""
    if isinstance(value, onnx.TensorProto):
        return value if value.HasField("raw_data") else tensor_of(numpy_helper.to_array(value))
    return numpy_helper.from_array(np.asarray(value))


def codes_of(tensor: onnx.TensorProto) -> np.ndarray[Any, Any]:
    """Return the codes in raw_data, in the tensor's shape, bits shifted one by one."""
    fmt = lp.as_format(tensor.data_type)
    count = int(np.prod(tensor.dims, dtype=np.int64))
    raw = np.frombuffer(tensor.raw_data, np.uint8)
    assert len(raw) == (count * fmt.bits + 7) // 8
    if fmt.bits >= 8:
        return raw.view(fmt.code_dtype).reshape(tensor.dims)
    bits = np.unpackbits(raw, bitorder="little")[: count * fmt.bits].reshape(count, fmt.bits)
    return (bits << np.arange(fmt.bits, dtype=np.uint8)).sum(axis=1).astype(np.uint8).reshape(tensor.dims)
