"""Whole models: each node by the version that its opset import names, in graphs, subgraphs and functions; errors."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("onnx")

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
from onnx.reference import ReferenceEvaluator

import lowprec as lp
from lowprec.onnx import Backend, Evaluator, ops

X = np.array([0.3, -1000.0, np.inf, -np.inf, np.nan, -0.0], np.float32)


def _model(opset: int, body: str, *, x: str = "float[n] x", y: str = "y") -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> f ({x}) => ({y}) {{ {body} }}')


def _codes(array: np.ndarray) -> list[int]:
    return array.reshape(-1).view(f"u{array.dtype.itemsize}").tolist()


def _both(model: onnx.ModelProto, feeds: dict[str, Any]) -> Any:
    """Run a model the two ways there are; they must agree."""
    first = ReferenceEvaluator(model, new_ops=ops).run(None, feeds)
    second = Evaluator(model).run(None, feeds)
    assert [_codes(one) for one in first] == [_codes(one) for one in second]
    return first


@pytest.mark.parametrize(
    ("opset", "to", "codes"),
    [  # by hand, from the tables of each Cast page: FNUZ sends Inf to NaN (80) in 19 to 23, to the largest value later
        (6, 10, [0x34CD, 0xE3D0, 0x7C00, 0xFC00, 0x7E00, 0x8000]),
        (13, 16, [0x3E9A, 0xC47A, 0x7F80, 0xFF80, 0x7FC0, 0x8000]),
        (19, 18, [0x32, 0xFF, 0x80, 0x80, 0x80, 0x00]),
        (20, 18, [0x32, 0xFF, 0x80, 0x80, 0x80, 0x00]),
        (23, 18, [0x32, 0xFF, 0x80, 0x80, 0x80, 0x00]),
        (24, 18, [0x32, 0xFF, 0x7F, 0xFF, 0x80, 0x00]),
        (25, 18, [0x32, 0xFF, 0x7F, 0xFF, 0x80, 0x00]),
        (23, 23, [0x1, 0xF, 0x7, 0xF, 0x8, 0x8]),
        (24, 24, [0x7E, 0x89, 0xFE, 0xFE, 0xFF, 0x00]),
        (28, 27, [0x02, 0x3F, 0x1F, 0x3F, 0x20, 0x20]),
    ],
)  # fmt: skip
def test_each_version_has_its_rules(opset: int, to: int, codes: list[int]) -> None:
    (got,) = _both(_model(opset, f"y = Cast <to = {to}> (x)"), {"x": X})
    assert got.dtype == lp.as_format(to).dtype
    assert _codes(got) == codes


def test_cast_1_names_its_type() -> None:
    (got,) = _both(_model(1, 'y = Cast <to = "INT32"> (x)'), {"x": np.array([2.7, -2.7], np.float32)})
    assert got.dtype == np.int32
    assert got.tolist() == [2, -2]


def test_attributes_and_defaults() -> None:
    body = "a = Cast <to = 17, saturate = 0> (x) b = Cast <to = 17> (x)"
    body += ' c = Cast <to = 24, round_mode = "down"> (x) d = Cast <to = 24> (x)'
    a, b, c, d = _both(_model(24, body, y="a, b, c, d"), {"x": np.array([1000.0, 1.25], np.float32)})
    assert [_codes(one) for one in (a, b, c, d)] == [[0x7F, 0x3A], [0x7E, 0x3A], [0x88, 0x7F], [0x89, 0x80]]


def test_cast_like_and_bit_cast() -> None:
    body = "a = CastLike <saturate = 0> (x, like) b = BitCast <to = 2> (a)"
    model = _model(26, body, x="float[n] x, float8e5m2[1] like", y="a, b")
    a, b = _both(model, {"x": X, "like": np.zeros(1, ml_dtypes.float8_e5m2)})
    assert _codes(a) == b.tolist() == [0x35, 0xE4, 0x7C, 0xFC, 0x7E, 0x80]
    assert a.dtype == ml_dtypes.float8_e5m2
    old = _model(15, "y = CastLike (x, like)", x="float[n] x, bfloat16[1] like")
    (got,) = _both(old, {"x": X, "like": np.zeros(1, ml_dtypes.bfloat16)})
    assert got.dtype == ml_dtypes.bfloat16


def test_in_a_subgraph() -> None:
    for opset, code in ((23, 0x80), (25, 0x7F)):
        body = """y = If (c) <then_branch = a () => (u) { u = Cast <to = 20> (x) },
                              else_branch = b () => (v) { v = Cast <to = 18> (x) }>"""
        model = _model(opset, body, x="bool c, float[n] x")
        for choice in (True, False):
            (got,) = _both(model, {"c": np.array(choice), "x": np.array([np.inf], np.float32)})
            assert got.dtype == (ml_dtypes.float8_e5m2fnuz if choice else ml_dtypes.float8_e4m3fnuz)
            assert _codes(got) == [code]


FUNCTION = """<ir_version: 10, opset_import: ["" : {model}, "ours" : 1]>
    f (float[n] x) => (float8e4m3fnuz[n] y, float8e4m3fnuz[n] z) {{
        y = ours.narrow <sat = 1> (x)
        z = Cast <to = 18> (x) }}
    <domain: "ours", opset_import: ["" : {function}]> narrow <sat> (u) => (w) {{
        w = Cast <to = 18, saturate : int = @sat> (u) }}"""


def test_functions_have_opset_imports_of_their_own() -> None:
    inf = np.array([np.inf], np.float32)
    for model, function, codes in ((25, 19, [0x80, 0x7F]), (23, 25, [0x7F, 0x80]), (23, 23, [0x80, 0x80])):
        proto = onnx.parser.parse_model(FUNCTION.format(model=model, function=function))
        assert [_codes(one)[0] for one in Evaluator(proto).run(None, {"x": inf})] == codes
        if model == function:
            assert [_codes(one)[0] for one in Backend.run_model(proto, [inf])] == codes
        else:
            with pytest.raises(onnx.checker.ValidationError, match="not compatible"):  # the checker's rule
                Backend.run_model(proto, [inf])


def test_casts_to_and_from_strings() -> None:
    body = "t = Cast <to = 8> (x) y = Cast <to = 1> (t)"
    t, y = Evaluator(_model(19, body, y="t, y")).run(None, {"x": X})
    assert t.tolist() == ["0.3", "-1000.0", "inf", "-inf", "nan", "-0.0"]
    assert _codes(y) == _codes(X)


@pytest.mark.parametrize(
    ("opset", "body", "message"),
    [
        (13, "y = Cast <to = 1, saturate = 0> (x)", r"attribute `saturate` must be one that Cast-13 has \(to\)"),
        (23, 'y = Cast <to = 24, round_mode = "up"> (x)', "must be one that Cast-23 has"),
        (19, "y = Cast <to = 1.5> (x)", "attribute `to` of Cast-19 must be of type INT; got FLOAT"),
        (5, "y = Cast <to = 1> (x)", "attribute `to` of Cast-1 must be of type STRING; got INT"),
        (19, "y = Cast (x)", "attribute `to` must be given for Cast-19"),
        (14, "y = CastLike (x, x)", "CastLike is in ONNX since opset 15; the model imports opset 14"),
        (25, "y = BitCast <to = 6> (x)", "BitCast is in ONNX since opset 26"),
    ],
)
def test_nodes_that_cannot_be(opset: int, body: str, message: str) -> None:
    model = _model(opset, body)
    for make in (Evaluator, lambda proto: ReferenceEvaluator(proto, new_ops=ops)):
        with pytest.raises(ValueError, match=f"^(Cast|CastLike|BitCast) node: .*{message}"):
            make(model)


@pytest.mark.parametrize(
    ("opset", "body", "message"),
    [
        (13, "[n1] y = Cast <to = 17> (x)", r"node 'n1' \(Cast\), version 13: `to` must be a type that Cast-13 has"),
        (22, "y = Cast <to = 23> (x)", "Cast node, version 21: .*since opset 23"),
        (24, 'y = Cast <to = 24, round_mode = "odd"> (x)', "Cast node, version 24: `round_mode` must be one of"),
        (28, "y = Cast <to = 99> (x)", "Cast node, version 28: `to` must be a format; got 99"),
        (28, "y = Cast <to = 14> (x)", "Cast node, version 28: `to` must be one of"),
        (26, "y = BitCast <to = 7> (x)", "BitCast node, version 26: `to` must be 32 bits wide"),
    ],
)
def test_what_a_node_says_when_it_runs(opset: int, body: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        Evaluator(_model(opset, body)).run(None, {"x": X})


def test_a_type_error_is_not_hidden() -> None:
    model = _model(19, "y = Cast <to = 1> (x)", x="complex64[n] x")
    why = "Cast node, version 19: `x` must hold bools, integers, real floats, text; got"
    with pytest.raises(ValueError, match=why):
        Evaluator(model).run(None, {"x": np.zeros(1, np.complex64)})


def test_an_operator_of_the_caller_comes_first() -> None:
    class Cast(ops[0]):  # type: ignore[misc,valid-type]
        def compute(self, inputs: Any, attributes: Any) -> tuple[Any, ...]:
            return (np.array([42]),)

    assert Evaluator(_model(19, "y = Cast <to = 1> (x)"), new_ops=[Cast]).run(None, {"x": X})[0].tolist() == [42]
