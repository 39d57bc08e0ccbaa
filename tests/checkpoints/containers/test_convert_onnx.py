"""ONNX models: onnx reads our files and we read its; models still check and run; data files stay in their folder."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx")

import ml_dtypes
import numpy as np
import onnx
import onnx.parser
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from support.bits import bits_of
from support.checkpoint_files import Array, bytes_in, call_fails, convert_fails, everything, leftovers, values
from support.optional import optional

import lowprec as lp
import lowprec.onnx as lowprec_onnx
from lowprec.checkpoints import convert, inspect
from lowprec.spec.formats import ONNX_NUMERIC, Format

W = np.nan_to_num(values((8, 16), 1), posinf=3.0, neginf=-3.0) % 3
B = np.linspace(-1, 1, 16).astype(np.float32)
C = np.full((16,), 2, np.float32)
SHAPE = np.array([-1, 16])


def _value(name: str, *shape: Any, of: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, of, shape)


def _tensor(x: Array, name: str) -> onnx.TensorProto:
    return numpy_helper.from_array(x, name)


def _node(text: str, **attributes: Any) -> onnx.NodeProto:
    (kind, *inputs), outputs = (part.split() for part in text.split("->"))
    return helper.make_node(kind, inputs, outputs, **attributes)


def _nodes(text: str) -> list[onnx.NodeProto]:
    return [_node(one) for one in text.split("; ")]


def model(*, opset: int = 28, typed: bool = False, weight: Array = W, **options: Any) -> onnx.ModelProto:
    """Return X @ W + B, times a Constant, reshaped."""
    made = [_tensor(x, name) for name, x in {"W": weight, "B": B, "shape": SHAPE}.items()]
    if typed:
        made[1] = helper.make_tensor("B", TensorProto.FLOAT, [16], B.tolist())
    nodes = [
        _node("Cast W -> w", to=TensorProto.FLOAT), *_nodes("MatMul X w -> p; Add p B -> s"),
        _node("Constant -> c", value=_tensor(C, "two")), *_nodes("Mul s c -> m; Reshape m shape -> Y"),
    ]  # fmt: skip
    graph = helper.make_graph(nodes, "g", [_value("X", "n", 8)], [_value("Y", "k", 16)], made)
    options.setdefault("ir_version", helper.find_min_ir_version_for([helper.make_opsetid("", opset)]))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], **options)


def initializers(path: Path) -> dict[str, onnx.TensorProto]:
    return {one.name: one for one in onnx.load(path).graph.initializer}


@pytest.fixture
def source() -> Path:
    onnx.save(model(typed=True), "x.onnx")
    return Path("x.onnx")


@pytest.mark.parametrize("fmt", ONNX_NUMERIC, ids=lambda fmt: fmt.name)
def test_every_format(fmt: Format, source: Path) -> None:
    report = convert(source, "y.onnx", to=fmt, raw=True, verify=True)
    assert {one.name: one.action for one in report.tensors} == {
        "W": "converted", "B": "converted", "shape": "kept", "c": "converted",
    }  # fmt: skip
    onnx.checker.check_model("y.onnx", full_check=True)
    found = initializers(Path("y.onnx"))
    assert list(found) == ["c_codes", "W_codes", "B_codes", "shape"]
    for name, x in {"W": W, "B": B, "c": C}.items():
        one = found[f"{name}_codes"]
        assert (one.data_type, tuple(one.dims)) == (fmt.onnx_enum, x.shape)
        assert one.raw_data == bytes_in(lp.encode(x, fmt), fmt)
    assert found["shape"].raw_data == SHAPE.tobytes()
    again = {one.name: one for one in inspect("y.onnx")}
    assert again["W_codes"].format == fmt.name


@pytest.mark.parametrize(
    ("scale", "scale_format"),
    [("tensor", "float32"), ("axis:0", "float32"), ("axis:-1", "bfloat16"), ("block:8", "float32"),
     ("block:5", "float16"), ("block:8", "float8_e8m0fnu")],
)  # fmt: skip
@pytest.mark.parametrize("fmt", ["int8", "float8_e4m3fn", "int4", "float4_e2m1fn", "int16"])
def test_scaled_models_check_and_name_their_scales(fmt: str, scale: str, scale_format: str, source: Path) -> None:
    options = {"scale": scale, "scale_format": scale_format, "exclude": ["B", "c"]}
    convert(source, "y.onnx", to=fmt, **options, verify=True)
    onnx.checker.check_model("y.onnx", full_check=True)
    found = initializers(Path("y.onnx"))
    assert list(found) == ["W_codes", "W_scale", "B", "shape"]
    nodes = onnx.load("y.onnx").graph.node
    assert [list(nodes[0].input), list(nodes[0].output)] == [["W_codes", "W_scale"], ["W"]]
    attributes = {one.name: one.i for one in nodes[0].attribute}
    scales = lp.as_format(scale_format)
    if scales.name != "float32":
        assert attributes.pop("output_dtype") == TensorProto.FLOAT
    kind, _, number = scale.partition(":")
    expected: dict[str, Any] = {
        "tensor": {}, "axis": {"axis": int(number or 0) % 2}, "block": {"axis": 1, "block_size": int(number or 0)},
    }  # fmt: skip
    assert attributes == expected[kind]
    scale_codes = numpy_helper.to_array(found["W_scale"]).view(scales.dtype)
    axis, size = attributes.get("axis", 1), attributes.get("block_size", 0)
    y = lp.quantize_linear(W, scale_codes, axis=axis, block_size=size, output_dtype=fmt, precision="float32")
    assert found["W_codes"].raw_data == bytes_in(bits_of(y), lp.as_format(fmt))
    back = lp.dequantize_linear(y, scale_codes, axis=axis, block_size=size, output_dtype="float32")
    assert np.abs(np.asarray(back) - W).max() < 3 / 4 * (2 if scales.bits == 8 else 1)


@pytest.mark.parametrize(("dtype", "opset"), [(np.float64, 28), (np.float16, 28), (np.float16, 21)])
def test_weights_of_other_types_get_their_type_back(dtype: Any, opset: int) -> None:
    onnx.save(model(opset=opset, weight=W.astype(dtype)), "x.onnx")
    convert("x.onnx", "y.onnx", to="int8", scale="tensor")
    onnx.checker.check_model("y.onnx", full_check=True)
    nodes = onnx.load("y.onnx").graph.node
    direct = dtype is np.float16 and opset == 28
    expected = ["DequantizeLinear"] if direct else ["DequantizeLinear", "Cast"]
    assert [node.op_type for node in nodes if node.output[0] in ("W", "W_dequantized")] == expected


def test_an_old_opset_is_refused() -> None:
    for opset, options, needed in (
        (17, {"to": "float8_e4m3fn"}, 19), (19, {"to": "int4", "raw": True}, 21),
        (20, {"to": "int8", "scale": "block:4"}, 21),
        (21, {"to": "int8", "scale": "tensor", "scale_format": "float8_e8m0fnu"}, 24),
    ):  # fmt: skip
        onnx.save(model(opset=opset), "x.onnx")
        arguments: dict[str, Any] = dict(options)
        convert_fails(rf"asks for opset {opset}, .* is there from opset {needed} on", "x.onnx", "y.onnx", **arguments)


def external(folder: Path, **options: Any) -> Path:
    folder.mkdir(exist_ok=True)
    onnx.save(
        model(), folder / "x.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0, **options
    )
    return folder / "x.onnx"


@pytest.mark.parametrize("attributes", [False, True], ids=["initialisers", "attributes too"])
def test_external_data(attributes: bool) -> None:
    source = external(Path("in"), convert_attribute=attributes)
    before = everything(Path("in"))
    target = Path("y.onnx")
    report = convert(source, target, to="float8_e5m2", verify=True)
    assert everything(Path("in")) == before
    assert sorted(os.listdir()) == ["in", "y.onnx", "y.onnx.data"]
    assert {one.name: one.why for one in report.tensors if one.action == "kept"} == {"shape": "no floats"}
    onnx.checker.check_model(str(target))
    found = initializers(target)
    assert found["W_codes"].raw_data == lp.encode(W, "float8_e5m2").tobytes()
    assert found["shape"].raw_data == SHAPE.tobytes()
    x = np.ones((2, 8), np.float32)
    (got,) = ReferenceEvaluator(str(target)).run(None, {"X": x})
    w, b = (np.asarray(lp.cast(lp.cast(one, "float8_e5m2"), "float32")) for one in (W, B))
    assert np.array_equal(got, (x @ w + b) * 2)


def test_external_data_of_an_old_target_go_away() -> None:
    source, target = external(Path("in")), Path("y.onnx")
    convert(source, target, to="float16")
    Path("y.onnx.7.data").write_bytes(b"mine")
    for to in ("float16", "float4_e2m1fn"):
        convert(source, target, to=to, overwrite=True)
        data = sorted(set(os.listdir()) - {"in", "y.onnx", "y.onnx.7.data"})
        assert len(data) == 1
        assert initializers(target)["W_codes"].raw_data == bytes_in(lp.encode(W, to), lp.as_format(to))
    onnx.save(model(), "plain.onnx")
    convert("plain.onnx", target, to="float16", overwrite=True)
    assert sorted(os.listdir()) == ["in", "plain.onnx", "y.onnx", "y.onnx.7.data"]
    assert leftovers(Path()) == []


def test_the_data_of_the_source_are_never_touched() -> None:
    """The old target refers to data that the source refers to as well, under a name of ours."""
    onnx.save(model(), Path("a.onnx"), save_as_external_data=True, location="b.onnx.data", size_threshold=0)
    Path("b.onnx").write_bytes(Path("a.onnx").read_bytes())
    before = Path("b.onnx.data").read_bytes()
    convert("a.onnx", "b.onnx", to="float16", overwrite=True)
    assert Path("b.onnx.data").read_bytes() == before
    why = r"must be a \.onnx file|must not be the input itself"
    convert_fails(why, "a.onnx", "b.onnx.data", to="float16", overwrite=True)


@pytest.mark.parametrize(
    ("entries", "why"),
    [({"location": "../secret"}, "outside the model's folder"), ({"location": "/etc/passwd"}, "outside the model's"),
     ({"location": ""}, "outside the model's folder"), ({"location": "gone"}, "which is no file"),
     ({"location": "link"}, "outside the model's folder"), ({"location": "x.onnx"}, "which is no file of data"),
     ({"location": "."}, "which is no file"), ({"location": "a\0b"}, "outside the model's folder|null"),
     ({"offset": "-1"}, "names 512 at -1"), ({"offset": "100000"}, "names 512 at 100000"),
     ({"offset": "x"}, "that is no number"), ({"length": "511"}, "needs 512 bytes"), ({"length": "-5"}, "needs 512"),
     ({"length": str(2**70)}, "needs 512"), ({"offset": "9" * 5000}, "is no number")],
    ids=str,
)  # fmt: skip
def test_external_data_that_may_not_be_read(entries: dict[str, str], why: str) -> None:
    source = external(Path("in"))
    Path("secret").write_bytes(bytes(1 << 12))
    Path("in/link").symlink_to("../secret")
    made = onnx.load(source, load_external_data=False)
    for entry in made.graph.initializer[0].external_data:
        entry.value = entries.get(entry.key, entry.value)
    source.write_bytes(made.SerializeToString())
    assert len(convert_fails(why, source, "y.onnx", to="float16")) < 400


def test_models_where_initialisers_are_inputs() -> None:
    made = model(opset=8, ir_version=3)
    del made.graph.node[:]
    made.graph.node.extend(_nodes("MatMul X W -> p; Add p B -> Y"))
    made.graph.input.extend([_value("W", *W.shape), _value("B", *B.shape), _value("shape", 2, of=TensorProto.INT64)])
    onnx.save(made, "x.onnx")
    convert("x.onnx", "y.onnx", to="float16")  # the IR demanded the inputs
    onnx.checker.check_model("y.onnx", full_check=True)
    assert [one.name for one in onnx.load("y.onnx").graph.input] == ["X", "shape"]
    made.ir_version = 8  # here they are meant to be overridden
    onnx.save(made, "x.onnx")
    report = convert("x.onnx", "z.onnx", to="float16")
    assert {one.why for one in report.tensors} == {"it is the default of a graph input"}


def test_text_and_graphs_inside_survive() -> None:
    made = model()
    made.graph.initializer.append(helper.make_tensor("words", TensorProto.STRING, [2], [b"a", b"b"]))
    body = helper.make_graph(
        [helper.make_node("Identity", ["inner"], ["out"])], "body", [],
        [helper.make_tensor_value_info("out", 1, [2])], [numpy_helper.from_array(B[:2], "inner")],
    )  # fmt: skip
    made.graph.initializer.append(numpy_helper.from_array(np.array(True), "yes"))
    made.graph.node.append(helper.make_node("If", ["yes"], ["z"], then_branch=body, else_branch=body))
    made.graph.initializer[0].doc_string = "weights"
    made.producer_name = "tests"
    onnx.save(made, "x.onnx")
    convert("x.onnx", "y.onnx", to="bfloat16", verify=True)
    onnx.checker.check_model("y.onnx", full_check=True)
    after = onnx.load("y.onnx")
    assert after.producer_name == "tests"
    assert list(initializers(Path("y.onnx"))["words"].string_data) == [b"a", b"b"]
    assert initializers(Path("y.onnx"))["W_codes"].doc_string == "weights"
    assert [node.op_type for node in after.graph.node[-1].attribute[0].g.node] == ["Cast", "Identity"]


def test_names_that_are_taken() -> None:
    for name in ("W_codes", "W_scale"):
        made = model()
        made.graph.node.append(helper.make_node("Identity", ["X"], [name]))
        onnx.save(made, "x.onnx")
        convert_fails(f"has '{name}' already", "x.onnx", "y.onnx", to="int8", scale="tensor")


LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))
assert sum(len(onnx.load(path).graph.initializer) for path in LIGHT) > 100


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_real_models(path: Path) -> None:
    report = convert(path, "y.onnx", to="float16", verify=True)
    onnx.checker.check_model("y.onnx", full_check=True)
    before = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    after = initializers(Path("y.onnx"))
    floats = {name for name, x in before.items() if x.dtype == np.float32}
    assert {one.name for one in report.tensors if one.action == "converted"} == floats
    for name, x in before.items():
        if x.dtype == np.float32:
            assert after[f"{name}_codes"].raw_data == lp.cast(x, "float16").tobytes()
        else:
            assert np.array_equal(numpy_helper.to_array(after[name]), x)


@pytest.mark.parametrize(
    ("to", "source"),
    [*itertools.product(("float32", "bfloat16", "float16"), ("float8_e4m3fn", "int8")), ("float32", "our own"),
     ("float4_e2m1fn", "float8_e4m3fn")],
)  # fmt: skip
def test_codes_of_a_model_stay_right(to: str, source: str) -> None:
    """Narrower codes are rounded, not rescaled."""
    fmt = lp.formats["int8" if source == "int8" else "float8_e4m3fn"]
    codes = np.linspace(-6, 7, 32).reshape(4, 8).astype(fmt.dtype)
    scale = np.array([0.5, 1, 2, 4, 1.5, 3, 6, 0.5], np.float32)  # exact in all of them
    made = [helper.make_tensor("W", fmt.onnx_enum, codes.shape, codes.tobytes(), raw=True), _tensor(scale, "W_scale")]
    nodes = [_node("DequantizeLinear W W_scale -> w", axis=1)]
    if source == "our own":
        made, nodes = [_tensor(codes.astype(np.float32) * scale, "w")], []
    nodes.append(_node("MatMul X w -> Y"))
    graph = helper.make_graph(nodes, "g", [_value("X", "n", 4)], [_value("Y", "n", 8)], made)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), "x.onnx")
    if source == "our own":
        convert("x.onnx", "q.onnx", to=fmt, scale="axis:1", scale_format="bfloat16")
        Path("q.onnx").replace("x.onnx")
        assert fmt.name in {one.format for one in inspect("x.onnx")}
    x = np.eye(4, dtype=np.float32)
    (expected,) = ReferenceEvaluator("x.onnx").run(None, {"X": x})
    if source != "our own":
        assert np.array_equal(expected, codes.astype(np.float32) * scale)
    if to == "float4_e2m1fn":
        expected = codes.astype(np.float32).astype(ml_dtypes.float4_e2m1fn).astype(np.float32) * scale
    convert("x.onnx", "y.onnx", to=to)
    onnx.checker.check_model("y.onnx", full_check=True)
    assert np.array_equal(ReferenceEvaluator("y.onnx").run(None, {"X": x})[0], expected)
    assert np.array_equal(lowprec_onnx.Backend.run_model(onnx.load("y.onnx"), [x])[0], expected)


onnxruntime: Any = optional("onnxruntime")

X = np.linspace(-2, 2, 12).astype(np.float32).reshape(3, 4)

WEIGHTS = {
    name: (np.random.default_rng(number).standard_normal((4, 4)) / 2).astype(np.float32)
    for number, name in enumerate(("then", "else", "loop", "nested", "scan", "constant", "function", "inside", "top"))
}
ROW = np.array([0.3, -0.7, 1.1, 0.9], np.float32)
"""A Constant's value_floats."""

Weights = dict[str, Array]


def _tensors(part: Any) -> Iterator[onnx.TensorProto]:
    """Yield the tensors of a graph or a function, and of the graphs in it."""
    yield from getattr(part, "initializer", ())
    for attribute in (one for node in part.node for one in node.attribute):
        yield from [attribute.t] if attribute.HasField("t") else ()
        yield from _tensors(attribute.g) if attribute.HasField("g") else ()


def inner_model(weights: Weights, *, opset: int = 21, functions: bool = True) -> onnx.ModelProto:
    """Return the model of test_convert_onnx.txt, in which weights stand by name; their bytes are raw."""
    text = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").replace('"" : 21', f'"" : {opset}')
    if not functions:
        text = text.partition('<domain: "local"')[0].replace("    l = local.Layer <alpha: float = 0.7> (x)\n", "")
        text = text.replace(", l)", ")")
    for name, x in weights.items():
        text = text.replace(f"${name}", ", ".join(map(repr, x.ravel().tolist())))
    made = onnx.parser.parse_model(text)
    for one in (one for part in (made.graph, *made.functions) for one in _tensors(part)):
        one.CopyFrom(_tensor(numpy_helper.to_array(one), one.name))
    return made


def _save(path: Path, **options: Any) -> Path:
    onnx.save(inner_model({**WEIGHTS, "row": ROW}, **options), path)
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
    "w_top", "local.Layer/c", "local.Layer/row", "local.Layer/If/then_branch/w", "local.Layer/If/else_branch/w",
}  # fmt: skip
KEPT = {
    "four": "no floats", "yes": "it is a single number", "n": "it is a single number", "zero": "it is a single number",
    "half": "it is a single number", "zeros.value": "it is an attribute of ConstantOfShape",
    "local.Layer/epsilon": "it is a single number", "local.Layer/yes": "it is a single number",
}  # fmt: skip


@pytest.mark.parametrize("run", [_reference, _runtime], ids=["reference", "ONNX Runtime"])
@pytest.mark.parametrize("to", ["float16", "int8"])
def test_models_compute_what_the_rounded_weights_give(to: str, run: Callable[..., Array]) -> None:
    source, target = _save(Path("x.onnx")), Path("y.onnx")
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

    expected = run(inner_model({name: rounded(x) for name, x in {**WEIGHTS, "row": ROW}.items()}))
    tolerance = 0 if run is _reference else 2e-6  # ONNX Runtime sums otherwise where a matrix is constant
    np.testing.assert_allclose(run(onnx.load(target)), expected, tolerance)
    assert not np.array_equal(run(onnx.load(source)), expected)


def test_what_is_kept_stays() -> None:
    """A model without floats to convert means what it meant: each attribute and initialiser, by value."""
    source, target = _save(Path("x.onnx")), Path("y.onnx")
    convert(source, target, to="float16", include="w_loop", verify=True)
    after = onnx.load(target)
    half = WEIGHTS["loop"].astype(np.float16).astype(np.float32)
    assert np.array_equal(_reference(after), _reference(inner_model({**WEIGHTS, "row": ROW, "loop": half})))
    names = {one.name: one for one in inspect(target)}
    assert names.keys() == (CONVERTED | KEPT.keys()) - {"w_loop"} | {"w_loop_codes"}
    assert [node.op_type for node in after.graph.node] == [node.op_type for node in onnx.load(source).graph.node]


def test_external_data_inside() -> None:
    Path("in").mkdir()
    onnx.save(
        inner_model({**WEIGHTS, "row": ROW}, functions=False), Path("in/x.onnx"), save_as_external_data=True,
        location="weights.bin", size_threshold=16, convert_attribute=True,
    )  # fmt: skip
    convert("in/x.onnx", "y.onnx", to="float16", verify=True)
    assert sorted(os.listdir()) == ["in", "y.onnx", "y.onnx.data"]
    onnx.checker.check_model("y.onnx")
    half = {name: x.astype(np.float16).astype(np.float32) for name, x in {**WEIGHTS, "row": ROW}.items()}
    got = ReferenceEvaluator("y.onnx").run(None, {"x": X})[0]
    assert np.array_equal(got, _reference(inner_model(half, functions=False)))


TWICE: dict[str, tuple[Callable[[onnx.ModelProto], onnx.TensorProto], str, tuple[str, ...]]] = {
    "initialiser": (lambda made: made.graph.initializer[2], "main", ("float_data",)),
    "body": (lambda made: made.graph.node[9].attribute[0].g.initializer[0], "w", ("float_data",)),
    "Constant": (lambda made: made.graph.node[4].attribute[0].t, "c", ("float_data",)),
    "function": (lambda made: made.functions[0].node[0].attribute[0].t, "local.Layer/c", ("float_data",)),
    "attribute": (lambda made: made.graph.node[5].attribute[0].t, "zeros.value", ("float_data",)),
    "numbers": (lambda made: made.graph.initializer[2], "main", ("double_data",)),
    "without bytes": (lambda made: made.graph.initializer[2], "main", ("int32_data", "int64_data")),
    "external": (lambda made: made.graph.initializer[2], "main", ("external data", "raw_data")),
}


@pytest.mark.parametrize("where", TWICE)
def test_elements_that_are_there_twice(where: str) -> None:
    made = inner_model({**WEIGHTS, "row": ROW})
    made.graph.initializer.append(_tensor(WEIGHTS["then"], "main"))
    find, name, fields = TWICE[where]
    tensor = find(made)
    if where == "without bytes":
        tensor.ClearField("raw_data")
    for field in fields:
        if field == "external data":
            tensor.data_location = TensorProto.EXTERNAL
        elif field != "raw_data":
            getattr(tensor, field).extend([1] * 4)
    Path("x.onnx").write_bytes(made.SerializeToString())
    first, second = fields if len(fields) == 2 else ("raw_data", *fields)
    why = rf"tensor '{name}' has both {first} and {second}; keep one of them$"
    convert_fails(why, "x.onnx", "y.onnx", to="float16")
    call_fails(why, inspect, "x.onnx")


def test_a_function_without_a_constant_of_the_type() -> None:
    """ONNX's Constant has no float6; bodies have initialisers, which do."""
    made = inner_model({**WEIGHTS, "row": ROW}, opset=28)
    made.ir_version = helper.find_min_ir_version_for([helper.make_opsetid("", 28)])
    onnx.save(made, "x.onnx")
    why = r"cannot hold 'c' of local\.Layer in float6_e2m3fn; no Constant of opset 28 has"
    convert_fails(why, "x.onnx", "y.onnx", to="float6_e2m3fn")
    convert("x.onnx", "y.onnx", to="float6_e2m3fn", exclude=["local.Layer/c", "local.Layer/row"])
    onnx.checker.check_model("y.onnx", full_check=True)
