"""Refused conversions: integers without a scale, axes that a tensor lacks, types that a model's graph fixes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.checkpoint_files import save, values
from support.command_line import fail, run
from support.optional import optional

import lowprec as lp
from lowprec.checkpoints import convert

lowprec_onnx: Any = optional("lowprec.onnx")
onnx: Any = optional("onnx")
TensorProto: Any = optional("onnx:TensorProto")
helper: Any = optional("onnx:helper")
numpy_helper: Any = optional("onnx:numpy_helper")
ReferenceEvaluator: Any = optional("onnx.reference:ReferenceEvaluator")

pytestmark = pytest.mark.usefixtures("working_folder")
QUIET = ("--progress", "none")


@pytest.mark.parametrize("to", ["int8", "uint8", "int4", "int32", "uint2"])
def test_integers_need_a_scale(to: str, capsys: pytest.CaptureFixture[str]) -> None:
    save(Path("x.safetensors"), {"w": values((4, 4)), "i": np.arange(3)})
    text = fail("convert", "x.safetensors", "y.safetensors", "--to", to, *QUIET, capsys=capsys)
    assert text.startswith("--scale must be tensor, axis:N or block:B for an integer format")
    assert text.endswith(f"got none, to {to} (--raw converts all the same)")
    fail("convert", "x.safetensors", "y.safetensors", "--to", to, "--dry-run", capsys=capsys)
    run("convert", "x.safetensors", "y.safetensors", "--to", to, "--raw", *QUIET, capsys=capsys)
    report = convert("x.safetensors", "z.safetensors", to=to, exclude="w")
    assert {one.action for one in report.tensors} == {"kept"}


@pytest.mark.parametrize("axis", [99, 3, -4])
def test_an_axis_that_no_tensor_has(axis: int, capsys: pytest.CaptureFixture[str]) -> None:
    save(
        Path("x.safetensors"), {"w": values((4, 4)), "b": values((4,)), "c": values((2, 2, 2)), "i": np.zeros((1,) * 5)}
    )
    arguments = ("convert", "x.safetensors", "y.safetensors", "--to", "int8", "--scale", f"axis:{axis}")
    text = fail(*arguments, "--exclude", "i", *QUIET, capsys=capsys)
    assert text == f"x.safetensors: has no tensor to be converted with an axis {axis}; their ranks are 1, 2, 3"
    fail(*arguments, "--exclude", "i", "--dry-run", capsys=capsys)


def test_an_axis_that_some_tensors_have() -> None:
    save(Path("x.safetensors"), {"w": values((4, 4)), "b": values((4,)), "c": values((2, 2, 2))})
    report = convert("x.safetensors", "y.safetensors", to="int8", scale="axis:2")
    assert {one.name: one.why for one in report.tensors} == {
        "w": "it has no axis 2", "b": "it has no axis 2", "c": "",
    }  # fmt: skip
    save(Path("b.safetensors"), {"b": values((4,))})  # it has the axis, and no use for it
    report = convert("b.safetensors", "c.safetensors", to="int8", scale="axis:0")
    assert [one.why for one in report.tensors] == ["each element would have a scale"]


# --- models: what is converted gets its type back ---


def dequantizing(codes_type: int, codes: np.ndarray, scale: np.ndarray) -> onnx.ModelProto:
    made = [
        helper.make_tensor("W", codes_type, codes.shape, codes.view(np.uint8).tobytes(), raw=True),
        numpy_helper.from_array(scale, "W_scale"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["W", "W_scale"], ["w"], axis=1),
        helper.make_node("MatMul", ["X", "w"], ["Y"]),
    ]
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["n", 8])], made,
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


@pytest.mark.parametrize("kind", ["float8_e4m3fn", "int8"])
@pytest.mark.parametrize("to", ["float32", "bfloat16", "float16"])
def test_codes_of_a_model_stay_right(to: str, kind: str) -> None:
    values_of_codes = np.linspace(-6, 7, 32).reshape(4, 8)
    codes = values_of_codes.astype(ml_dtypes.float8_e4m3fn if kind != "int8" else np.int8)
    scale = np.array([0.5, 0.75, 2, 3, 1.5, 0.125, 1, 4], np.float32)  # exact in all three
    enum = TensorProto.FLOAT8E4M3FN if kind != "int8" else TensorProto.INT8
    onnx.save(dequantizing(enum, codes, scale), "x.onnx")
    convert("x.onnx", "y.onnx", to=to)
    onnx.checker.check_model("y.onnx", full_check=True)
    x = np.eye(4, dtype=np.float32)
    expected = codes.astype(np.float32) * scale
    (got,) = ReferenceEvaluator("y.onnx").run(None, {"X": x})
    assert np.array_equal(got, expected)
    (ours,) = lowprec_onnx.Backend.run_model(onnx.load("y.onnx"), [x])
    assert np.array_equal(ours, expected)


def test_narrower_codes_of_a_model_are_rounded_not_rescaled() -> None:
    codes = np.linspace(-6, 6, 32).reshape(4, 8).astype(ml_dtypes.float8_e4m3fn)
    scale = np.array([0.5, 1, 2, 4, 1.5, 3, 6, 0.5], np.float32)
    onnx.save(dequantizing(TensorProto.FLOAT8E4M3FN, codes, scale), "x.onnx")
    convert("x.onnx", "y.onnx", to="float4_e2m1fn")
    (got,) = ReferenceEvaluator("y.onnx").run(None, {"X": np.eye(4, dtype=np.float32)})
    rounded = codes.astype(np.float32).astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
    assert np.array_equal(got, rounded * scale)


def test_our_own_models_convert_again() -> None:
    weight = np.linspace(-3, 3, 32, dtype=np.float32).reshape(4, 8)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["X", "W"], ["Y"])], "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 4])],
        [helper.make_tensor_value_info("Y", TensorProto.FLOAT, ["n", 8])], [numpy_helper.from_array(weight, "W")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), "x.onnx")
    convert("x.onnx", "q.onnx", to="float8_e4m3fn", scale="axis:1", scale_format="bfloat16")
    convert("q.onnx", "y.onnx", to="float32")
    x = np.eye(4, dtype=np.float32)
    before, after = (ReferenceEvaluator(name).run(None, {"X": x})[0] for name in ("q.onnx", "y.onnx"))
    assert np.array_equal(before, after)
    assert lp.formats["float8_e4m3fn"].name in {one.format for one in lp.checkpoints.inspect("q.onnx")}
