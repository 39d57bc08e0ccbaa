"""ONNX's own node cases for Cast, generated in process, compared bit for bit: NaN codes and signs of zero included."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import lowprec as lp

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the generators overflow and divide by zero on purpose
    from onnx.backend.test.loader import load_model_tests

    CASES = [
        case
        for case in load_model_tests(kind="node")
        if case.model is not None and [node.op_type for node in case.model.graph.node] == ["Cast"]
    ]


def _codes(tensor: onnx.TensorProto) -> np.ndarray:
    """Unpack raw_data by shifting bits one by one, with nothing of ours."""
    fmt = lp.as_format(tensor.data_type)
    count = int(np.prod(tensor.dims, dtype=np.int64))
    raw = np.frombuffer(tensor.raw_data, np.uint8)
    if fmt.bits >= 8:
        return raw.view(fmt.code_dtype)[:count]
    bits = np.unpackbits(raw, bitorder="little")[: count * fmt.bits].reshape(count, fmt.bits)
    return (bits << np.arange(fmt.bits, dtype=np.uint8)).sum(axis=1).astype(np.uint8)


def _attributes(node: onnx.NodeProto) -> dict[str, Any]:
    found = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    found["saturate"] = bool(found.get("saturate", 1))
    if "round_mode" in found:
        found["round_mode"] = found["round_mode"].decode()
    return found


def test_all_sixty_are_there() -> None:
    assert sum(case.name.startswith("test_cast_") for case in CASES) == 60
    assert len(CASES) == 116  # and the CastLike cases whose expansion is one Cast
    assert {case.model.opset_import[0].version for case in CASES} == {25, 28}  # CastLike has no version after 25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_node_case(case: Any, tally: Counter[str]) -> None:
    attributes = _attributes(case.model.graph.node[0])
    to = attributes.pop("to")
    for (given, *_), (wanted,) in case.data_sets:
        assert wanted.data_type == to
        assert len(wanted.raw_data) == (np.prod(wanted.dims) * lp.as_format(to).bits + 7) // 8
        codes = _codes(given).reshape(given.dims)
        expected = _codes(wanted)
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
            tally["ONNX node cases for Cast, elements"] += got.size
            tally["ONNX node cases for Cast, elements differ"] += int(differ.sum())
            assert not differ.any(), (case.name, np.flatnonzero(differ)[:5])
        array = numpy_helper.to_array(given)
        by_value = lp.cast(array, to, **attributes)
        assert by_value.shape == tuple(wanted.dims)
        assert by_value.dtype == lp.carrier(to, np)
        assert lp.encode(by_value, to, saturate=False).reshape(-1).tolist() == expected.tolist()
