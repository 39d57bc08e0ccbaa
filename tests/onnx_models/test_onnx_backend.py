"""ONNX's own test runner on our backend: every node case that contains one of our operators."""

from __future__ import annotations

import re
import unittest
from collections import Counter
from typing import Any

import pytest

pytest.importorskip("onnx")

import ml_dtypes
import numpy as np
import onnx
import onnx.backend.base
import onnx.parser
from onnx import helper
from onnx.backend.test import BackendTest
from support import onnx_node_cases

from lowprec.onnx import Backend

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning:onnx.reference.ops")  # ONNX's own Sub and Log

ELSEWHERE = re.compile("test_bernoulli_|test_range_.*_expanded")
"""Random numbers, and a shape that ONNX's Loop gets wrong: these fail on ONNX's evaluator as well, without us."""

CASES = [
    case
    for case in onnx_node_cases.ALL
    if not set(onnx_node_cases.OPERATORS).isdisjoint(onnx_node_cases.operators_in(case.model.graph))
    and not ELSEWHERE.match(case.name)
]


def _runner_tests() -> dict[str, Any]:
    """Return the runner's tests of our cases, without the thousands that it marks as left out."""
    runner = BackendTest(Backend, __name__)
    for case in CASES:
        runner.include(f"^{re.escape(case.name)}_cpu$")
    found = vars(runner.test_cases["OnnxBackendNodeModelTest"])
    return {name: test for name, test in found.items() if name in {f"{case.name}_cpu" for case in CASES}}


TESTS = _runner_tests()


class OnnxBackendTest(unittest.TestCase):
    """Filled with the runner's tests; pytest collects it as it is."""


for _name, _test in TESTS.items():
    setattr(OnnxBackendTest, _name, _test)


@pytest.fixture(autouse=True)
def _counted(request: pytest.FixtureRequest, tally: Counter[str]) -> None:
    tally["ONNX's BackendTest runner over our backend, models"] += request.node.name in TESTS


def test_the_runner_has_them_all() -> None:
    assert len(TESTS) == len(CASES) == 478
    ours = [name for operator in onnx_node_cases.OPERATORS for name in onnx_node_cases.cases_of(operator)]
    assert len(ours) == 215
    assert {f"{case.name}_cpu" for case in ours} <= set(TESTS)
    assert not any(getattr(test, "__unittest_skip__", False) for test in TESTS.values())


def _model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 19]> {text}')


MODEL = _model("f (float[n] x, float16[1] w = {1}) => (float16[n] y, float8e5m2[n] z)"
               "{ y = CastLike (x, w) z = Cast <to = 19> (x) }")  # fmt: skip
X = np.array([0.3, 1e6], np.float32)


def test_a_prepared_model_runs_again_and_again() -> None:
    prepared = Backend.prepare(MODEL)
    assert isinstance(prepared, onnx.backend.base.BackendRep)
    for inputs in ([X], (X,), {"x": X}):
        y, z = prepared.run(inputs)
        assert (y.dtype, z.dtype) == (np.float16, ml_dtypes.float8_e5m2)
        assert z.tolist() == [0.3125, 57344.0]
    assert isinstance(Backend.run_model(MODEL, [X]), tuple)
    (got,) = Backend.run_model(MODEL, {"x": X, "w": np.ones(1, np.float16)})[:1]  # an initializer overridden
    assert got.dtype == np.float16


def test_run_node() -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=18)
    assert Backend.run_node(node, [np.array([np.inf])])[0].view(np.uint8).tolist() == [0x7F]
    assert Backend.run_node(node, [np.array([np.inf])], opset_version=23)[0].view(np.uint8).tolist() == [0x80]
    assert Backend.run_node(helper.make_node("Add", ["a", "b"], ["c"]), [X, X])[0].tolist() == (X + X).tolist()


def test_devices() -> None:
    assert [Backend.supports_device(device) for device in ("CPU", "CPU:0", "CUDA", "CUDA:1", "")] == [1, 1, 0, 0, 0]
    for run in (lambda: Backend.prepare(MODEL, "CUDA"), lambda: Backend.run_node(MODEL.graph.node[1], [X], "CUDA")):
        with pytest.raises(ValueError, match="`device` must be CPU; got 'CUDA'"):
            run()


@pytest.mark.parametrize(
    ("inputs", "message"),
    [([], "`inputs` must hold 1 arrays, for x; got 0"), ([X, X], "`inputs` must hold 1 arrays, for x; got 2"),
     (X, "`inputs` must hold 1 arrays, for x; got ndarray"), ({"w": X}, "`inputs` must hold an array for 'x'"),
     ({"x": X, "v": X}, "`inputs` must be named as the graph's inputs are; got 'v'"),
     ([X.astype(np.float64)], "input 'x' must be an array of FLOAT; got float64"),
     ([X.tolist()], "input 'x' must be an array of FLOAT; got list"),
     ([np.zeros(1, np.longdouble)], "input 'x' must be an array of FLOAT; got (float128|longdouble)")],
)  # fmt: skip
def test_wrong_inputs(inputs: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Backend.run_model(MODEL, inputs)


def test_wrong_models() -> None:
    with pytest.raises(onnx.checker.ValidationError, match="Unrecognized attribute: axis"):
        Backend.prepare(_model("f (float[n] x) => (float[n] y) { y = Cast <to = 1, axis = 2> (x) }"))
    with pytest.raises(ValueError, match="`inputs` must hold 1 arrays, for x; got 2"):
        Backend.run_node(MODEL.graph.node[1], [X, X])
