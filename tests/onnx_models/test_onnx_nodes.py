"""ONNX's node cases of our operators, run as models and compared bit for bit, NaN codes and signs of zero included."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx
from onnx import numpy_helper
from support import onnx_node_cases

import lowprec as lp
from lowprec.onnx import Evaluator, from_array, to_array

COUNTS = {"Cast": 60, "CastLike": 112, "BitCast": 10, "QuantizeLinear": 13, "DequantizeLinear": 14}
"""What onnx 1.23 generates for opset 28, expanded functions included: 209."""

CASES = [case for operator in onnx_node_cases.OPERATORS for case in onnx_node_cases.cases_of(operator)]
CASTS = [case for case in onnx_node_cases.ALL if list(onnx_node_cases.operators_in(case.model.graph)) == ["Cast"]]


def test_all_cases_are_there() -> None:
    assert {operator: len(onnx_node_cases.cases_of(operator)) for operator in COUNTS} == COUNTS
    assert sum(COUNTS.values()) == 209
    assert len(onnx_node_cases.cases_of("DynamicQuantizeLinear")) == 6
    assert len(CASTS) == 116  # the Cast cases, and the CastLike cases whose expansion is one Cast
    assert {case.model.opset_import[0].version for case in CASTS} == {25, 28}  # CastLike has no version after 25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case_as_a_model(case: Any, tally: Counter[str]) -> None:
    """At the opset the case was generated for."""
    evaluator = Evaluator(case.model)
    tally["ONNX node cases, bit for bit"] += 1
    for inputs, outputs in case.data_sets:
        arrays = [to_array(onnx_node_cases.tensor_of(value)) for value in inputs]
        found = evaluator.run(None, dict(zip(evaluator.input_names, arrays, strict=True)))
        for got, value in zip(found, outputs, strict=True):
            wanted = onnx_node_cases.tensor_of(value)
            made = from_array(got)
            assert (made.data_type, made.dims) == (wanted.data_type, wanted.dims)
            same = onnx_node_cases.codes_of(made) == onnx_node_cases.codes_of(wanted)
            tally["ONNX node cases, elements"] += same.size
            tally["ONNX node cases, elements differ"] += int((~same).sum())
            assert same.all(), (case.name, np.flatnonzero(~same.reshape(-1))[:5])


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    found = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    found["saturate"] = bool(found.get("saturate", 1))
    if "round_mode" in found:
        found["round_mode"] = found["round_mode"].decode()
    return found


@pytest.mark.parametrize("case", CASTS, ids=lambda case: case.name)
def test_cast_in_the_oldest_opset_too(case: Any, tally: Counter[str]) -> None:
    attributes = _attributes(case.model.graph.node[0])
    to = attributes.pop("to")
    for (given, *_), (wanted,) in case.data_sets:
        assert wanted.data_type == to
        codes, expected = onnx_node_cases.codes_of(given), onnx_node_cases.codes_of(wanted).reshape(-1)
        for opset in (28, max(lp.as_format(to).since, lp.as_format(given.data_type).since, 19)):
            if "round_mode" in attributes and opset < 24:
                continue
            fnuz_inf = opset < 24 and lp.as_format(to).name.endswith("fnuz") and attributes["saturate"]
            got = lp.encode(codes, to, source=given.data_type, opset=opset, **attributes).reshape(-1)
            differ = got != expected
            if fnuz_inf:  # the text of opset 19-23 sends Inf to NaN there; the node data do not (docs/semantics.md)
                values = lp.decode(codes, given.data_type).reshape(-1)
                assert np.isinf(values[differ]).all()
                assert (got[differ] == 0x80).all()
                continue
            tally["ONNX node cases for Cast, newest and oldest opset, elements"] += got.size
            tally["ONNX node cases for Cast, newest and oldest opset, elements differ"] += int(differ.sum())
            assert not differ.any(), (case.name, np.flatnonzero(differ)[:5])
        array = numpy_helper.to_array(given)
        by_value = lp.cast(array, to, **attributes)
        assert by_value.shape == tuple(wanted.dims)
        assert by_value.dtype == lp.storage_dtype(to, np)
        assert lp.encode(by_value, to, saturate=False).reshape(-1).tolist() == expected.tolist()
