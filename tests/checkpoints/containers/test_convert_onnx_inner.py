"""ONNX tensors besides the main initialisers: in bodies of If, Loop and Scan, in Constants, in functions.

What a converted model computes is what the same model computes with the rounded weights in it: onnx's reference
evaluator and ONNX Runtime run both.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.checkpoint_files import Array, everything
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints import convert, inspect
from lowprec.checkpoints.files.errors import FileError

onnxruntime: Any = optional("onnxruntime")

OPSET = 21
X = np.linspace(-2, 2, 12).astype(np.float32).reshape(3, 4)

WEIGHTS = {
    name: (np.random.default_rng(number).standard_normal((4, 4)) / 2).astype(np.float32)
    for number, name in enumerate(("then", "else", "loop", "nested", "scan", "constant", "function", "inside"))
}
ROW = np.array([0.3, -0.7, 1.1, 0.9], np.float32)
"""A Constant's value_floats."""

Weights = dict[str, Array]


def _value(name: str, *shape: Any, of: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, of, shape)


def _tensor(x: Array, name: str) -> onnx.TensorProto:
    return numpy_helper.from_array(x, name)


def _body(weight: Array, name: str = "w") -> onnx.GraphProto:
    """Return a branch of If: x @ w, with an initialiser that has the same name in each branch."""
    nodes = [helper.make_node("MatMul", ["x", name], ["out"])]
    return helper.make_graph(nodes, "branch", [], [_value("out", 3, 4)], [_tensor(weight, name)])


def _loop(weights: Weights) -> onnx.GraphProto:
    """Return the body of a Loop: y @ (a weight) + y @ (one of an If in it)."""
    inner = helper.make_graph(
        [helper.make_node("MatMul", ["y_in", "nested"], ["deep"])], "deepest", [], [_value("deep", 3, 4)],
        [_tensor(weights["nested"], "nested")],
    )  # fmt: skip
    nodes = [
        helper.make_node("MatMul", ["y_in", "w_loop"], ["p"]),
        helper.make_node("If", ["go"], ["q"], then_branch=inner, else_branch=inner),
        helper.make_node("Add", ["p", "q"], ["y_out"]),
        helper.make_node("Identity", ["go"], ["still"]),
    ]
    inputs = [_value("i", of=TensorProto.INT64), _value("go", of=TensorProto.BOOL), _value("y_in", 3, 4)]
    outputs = [_value("still", of=TensorProto.BOOL), _value("y_out", 3, 4)]
    return helper.make_graph(nodes, "loop", inputs, outputs, [_tensor(weights["loop"], "w_loop")])


def _scan(weights: Weights) -> onnx.GraphProto:
    """Return the body of a Scan over rows: a state, and the sum of it and of the row @ a Constant."""
    nodes = [
        helper.make_node("Constant", [], ["w_scan"], value=_tensor(weights["scan"], "")),
        helper.make_node("Unsqueeze", ["row", "zero"], ["rows"]),
        helper.make_node("MatMul", ["rows", "w_scan"], ["product"]),
        helper.make_node("Squeeze", ["product", "zero"], ["flat"]),
        helper.make_node("Add", ["state", "flat"], ["next"]),
        helper.make_node("Identity", ["next"], ["seen"]),
    ]
    outputs = [_value("next", 4), _value("seen", 4)]
    return helper.make_graph(nodes, "scan", [_value("state", 4), _value("row", 4)], outputs)


def _function(weights: Weights) -> onnx.FunctionProto:
    """Return a function: (x @ c) * row * alpha + an If's branch, with a number of the caller's and one of its own."""
    scale = helper.make_node("Constant", [], ["alpha"])
    scale.attribute.append(
        onnx.AttributeProto(name="value_float", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    )
    nodes = [
        helper.make_node("Constant", [], ["c"], value=_tensor(weights["function"], "")),
        helper.make_node("Constant", [], ["row"], value_floats=weights["row"].tolist()),
        helper.make_node("Constant", [], ["epsilon"], value_float=1e-6),
        helper.make_node("Constant", [], ["yes"], value=_tensor(np.array(True), "")),
        scale,
        helper.make_node("MatMul", ["x", "c"], ["a"]),
        helper.make_node("Mul", ["a", "row"], ["b"]),
        helper.make_node("Mul", ["b", "alpha"], ["d"]),
        helper.make_node("Add", ["d", "epsilon"], ["e"]),
        helper.make_node(
            "If", ["yes"], ["f"], then_branch=_body(weights["inside"]), else_branch=_body(weights["inside"])
        ),
        helper.make_node("Add", ["e", "f"], ["y"]),
    ]
    opset = helper.make_opsetid("", OPSET)
    return helper.make_function("local", "Layer", ["x"], ["y"], nodes, [opset], ["alpha"])


def model(weights: Weights, *, opset: int = OPSET, functions: bool = True) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Constant", [], ["yes"], value=_tensor(np.array(True), "")),
        helper.make_node("Constant", [], ["n"], value_int=2),
        helper.make_node("Constant", [], ["zero"], value_ints=[0]),
        helper.make_node("Constant", [], ["half"], value_float=0.3),
        helper.make_node("Constant", [], ["c"], value=_tensor(weights["constant"], "kernel")),
        helper.make_node("ConstantOfShape", ["four"], ["zeros"], value=_tensor(np.zeros(1, np.float32), "")),
        helper.make_node("MatMul", ["x", "c"], ["k"]),
        helper.make_node("Mul", ["k", "half"], ["s"]),
        helper.make_node(
            "If", ["yes"], ["t"], "choose", then_branch=_body(weights["then"]), else_branch=_body(weights["else"])
        ),
        helper.make_node("Loop", ["n", "yes", "s"], ["u"], body=_loop(weights)),
        helper.make_node("Scan", ["zeros", "x"], ["last", "v"], body=_scan(weights), num_scan_inputs=1),
        *([helper.make_node("Layer", ["x"], ["l"], domain="local", alpha=0.7)] if functions else []),
        helper.make_node("Sum", ["t", "u", "v", *["l"] * functions], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [_value("x", 3, 4)], [_value("y", 3, 4)], [_tensor(np.array([4]), "four")])
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("local", 1)]
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=10, functions=[_function(weights)] if functions else []
    )


def _save(path: Path, **options: Any) -> Path:
    onnx.save(model({**WEIGHTS, "row": ROW}, **options), path)
    onnx.checker.check_model(str(path), full_check=True)
    return path


def _reference(made: onnx.ModelProto) -> Array:
    return np.asarray(ReferenceEvaluator(made).run(None, {"x": X})[0])


def _runtime(made: onnx.ModelProto) -> Array:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {"x": X})[0])


CONVERTED = {
    "w", "choose/then_branch/w", "w_loop", "nested", "Loop/body/If/then_branch/nested", "w_scan", "c",
    "local.Layer/c", "local.Layer/row", "local.Layer/If/then_branch/w", "local.Layer/If/else_branch/w",
}  # fmt: skip
KEPT = {
    "four": "no floats", "yes": "it is a single number", "n": "it is a single number", "zero": "it is a single number",
    "half": "it is a single number", "zeros.value": "it is an attribute of ConstantOfShape",
    "local.Layer/epsilon": "it is a single number", "local.Layer/yes": "it is a single number",
}  # fmt: skip


def test_everything_is_listed(tmp_path: Path) -> None:
    entries = {one.name: one for one in inspect(_save(tmp_path / "x.onnx"), stats=True)}
    assert entries.keys() == CONVERTED | KEPT.keys()
    assert (entries["w_loop"].format, entries["w_loop"].shape, entries["w_loop"].nbytes) == ("float32", (4, 4), 64)
    assert entries["local.Layer/row"].high == ROW.max()
    assert entries["half"].shape == ()


@pytest.mark.parametrize("run", [_reference, _runtime], ids=["reference", "ONNX Runtime"])
@pytest.mark.parametrize("to", ["float16", "int8"])
def test_models_compute_what_the_rounded_weights_give(to: str, run: Callable[..., Array], tmp_path: Path) -> None:
    source, target = _save(tmp_path / "x.onnx"), tmp_path / "y.onnx"
    options: dict[str, Any] = {"to": to, **({"scale": "tensor"} if to == "int8" else {})}
    report = convert(source, target, verify=True, **options)
    assert {one.name for one in report.tensors if one.action == "converted"} == CONVERTED
    assert {one.name: one.why for one in report.tensors if one.action == "kept"} == KEPT
    onnx.checker.check_model(str(target), full_check=True)

    def rounded(x: Array) -> Array:
        if to == "float16":
            return x.astype(np.float16).astype(np.float32)
        scale = np.float32(np.abs(x).max().astype(np.float64) / 127)
        return np.rint(x / scale).astype(np.float32) * scale

    expected = run(model({name: rounded(x) for name, x in {**WEIGHTS, "row": ROW}.items()}))
    tolerance = 0 if run is _reference else 2e-6  # ONNX Runtime sums otherwise where a matrix is constant
    np.testing.assert_allclose(run(onnx.load(target)), expected, tolerance)
    assert not np.array_equal(run(onnx.load(source)), expected)


@pytest.mark.parametrize(
    "options", [{"to": "float8_e4m3fn"}, {"to": "int4", "scale": "block:2"}, {"to": "bfloat16"}], ids=str
)
def test_other_formats_check(options: dict[str, Any], tmp_path: Path) -> None:
    source, target = _save(tmp_path / "x.onnx"), tmp_path / "y.onnx"
    convert(source, target, verify=True, **options)
    onnx.checker.check_model(str(target), full_check=True)
    found = {one.name: one for one in inspect(target)}
    assert found["w_loop_codes"].format == options["to"]
    codes = next(one for one in onnx.load(target).graph.initializer if one.name == "c_codes")
    if options["to"] == "float8_e4m3fn":
        assert codes.raw_data == lp.encode(WEIGHTS["constant"], "float8_e4m3fn").tobytes()
    shares = {name: one.nbytes for name, one in found.items() if name.endswith("_codes")}
    assert shares["w_loop_codes"] == 16 * lp.formats[options["to"]].bits // 8


def test_what_is_kept_stays(tmp_path: Path) -> None:
    """A model without floats to convert means what it meant: each attribute and initialiser, by value."""
    source, target = _save(tmp_path / "x.onnx"), tmp_path / "y.onnx"
    convert(source, target, to="float16", include="w_loop", verify=True)
    after = onnx.load(target)
    assert np.array_equal(
        _reference(after),
        _reference(model({**WEIGHTS, "row": ROW, "loop": (WEIGHTS["loop"].astype(np.float16).astype(np.float32))})),
    )
    names = {one.name: one for one in inspect(target)}
    assert names.keys() == (CONVERTED | KEPT.keys()) - {"w_loop"} | {"w_loop_codes"}
    assert [node.op_type for node in after.graph.node] == [node.op_type for node in onnx.load(source).graph.node]


def test_names_that_are_taken_inside(tmp_path: Path) -> None:
    made = model({**WEIGHTS, "row": ROW})
    made.functions[0].node.append(helper.make_node("Identity", ["x"], ["c_codes"]))
    onnx.save(made, tmp_path / "x.onnx")
    with pytest.raises(FileError, match="has 'c_codes' already"):
        convert(tmp_path / "x.onnx", tmp_path / "y.onnx", to="float16")
    convert(tmp_path / "x.onnx", tmp_path / "y.onnx", to="float16", exclude="local.Layer/c")
    onnx.checker.check_model(str(tmp_path / "y.onnx"), full_check=True)
    assert np.isfinite(_reference(onnx.load(tmp_path / "y.onnx"))).all()


def test_external_data_inside(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    onnx.save(
        model({**WEIGHTS, "row": ROW}, functions=False), tmp_path / "in" / "x.onnx", save_as_external_data=True,
        location="weights.bin", size_threshold=16, convert_attribute=True,
    )  # fmt: skip
    convert(tmp_path / "in" / "x.onnx", tmp_path / "y.onnx", to="float16", verify=True)
    assert sorted(os.listdir(tmp_path)) == ["in", "y.onnx", "y.onnx.data"]
    onnx.checker.check_model(str(tmp_path / "y.onnx"))
    half = {name: x.astype(np.float16).astype(np.float32) for name, x in {**WEIGHTS, "row": ROW}.items()}
    got = ReferenceEvaluator(str(tmp_path / "y.onnx")).run(None, {"x": X})[0]
    assert np.array_equal(got, _reference(model(half, functions=False)))


def _both(tensor: onnx.TensorProto, field: str = "float_data") -> onnx.TensorProto:
    getattr(tensor, field).extend([1] * 4)
    return tensor


@pytest.mark.parametrize("where", ["initialiser", "body", "Constant", "function", "attribute"])
def test_elements_that_are_there_twice(where: str, tmp_path: Path) -> None:
    made = model({**WEIGHTS, "row": ROW})
    made.graph.initializer.append(_tensor(WEIGHTS["then"], "main"))
    tensors = {
        "initialiser": (made.graph.initializer[1], "main"),
        "body": (made.graph.node[8].attribute[0].g.initializer[0], "w"),
        "Constant": (made.graph.node[4].attribute[0].t, "c"),
        "function": (made.functions[0].node[0].attribute[0].t, "local.Layer/c"),
        "attribute": (made.graph.node[5].attribute[0].t, "zeros.value"),
    }
    tensor, name = tensors[where]
    _both(tensor)
    onnx.save(made, tmp_path / "x.onnx")
    before = everything(tmp_path)
    for call in (
        lambda: convert(tmp_path / "x.onnx", tmp_path / "y.onnx", to="float16"),
        lambda: inspect(tmp_path / "x.onnx"),
    ):
        with pytest.raises(FileError, match=rf"tensor '{name}' has both raw_data and float_data; keep one of them$"):
            call()
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("fields", "text"),
    [(("int32_data", "int64_data"), "both int32_data and int64_data"),
     (("double_data",), "both raw_data and double_data"),
     (("uint64_data", "external"), "both external data and raw_data")],
    ids=str,
)  # fmt: skip
def test_other_fields_that_are_there_twice(fields: Sequence[str], text: str, tmp_path: Path) -> None:
    made = model({**WEIGHTS, "row": ROW}, functions=False)
    tensor = _tensor(np.arange(4), "main")
    if len(fields) == 2 and "external" not in fields:
        tensor.ClearField("raw_data")
    for field in fields:
        if field == "external":
            tensor.data_location = TensorProto.EXTERNAL
        else:
            _both(tensor, field)
    made.graph.initializer.append(tensor)
    (tmp_path / "x.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(FileError, match=f"tensor 'main' has {text}"):
        inspect(tmp_path / "x.onnx")


def test_a_function_without_a_constant_of_the_type(tmp_path: Path) -> None:
    """ONNX's Constant has no float6; bodies have initialisers, which do."""
    made = model({**WEIGHTS, "row": ROW}, opset=28)
    made.functions[0].opset_import[0].version = 28
    made.ir_version = helper.find_min_ir_version_for([helper.make_opsetid("", 28)])
    onnx.save(made, tmp_path / "x.onnx")
    with pytest.raises(
        FileError, match=r"cannot hold 'c' of local\.Layer in float6_e2m3fn; no Constant of opset 28 has"
    ):
        convert(tmp_path / "x.onnx", tmp_path / "y.onnx", to="float6_e2m3fn")
    convert(tmp_path / "x.onnx", tmp_path / "y.onnx", to="float6_e2m3fn", exclude=["local.Layer/c", "local.Layer/row"])
    onnx.checker.check_model(str(tmp_path / "y.onnx"), full_check=True)
