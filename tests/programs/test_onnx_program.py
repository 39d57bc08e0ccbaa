"""A program that runs an ONNX model with lowprec's operators, and converts the weights of an .onnx file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnx")

import ml_dtypes
import onnx
import onnx.parser

import lowprec as lp

W = np.array([[0.3, -2.0, 500.0], [1.0, 0.0, -0.11]], np.float32)


def model_of(body: str, *initializers: onnx.TensorProto) -> onnx.ModelProto:
    model = onnx.parser.parse_model(
        f'<ir_version: 11, opset_import: ["" : 23]> f (float[2, n] x) => (float[m, n] y) {body}'
    )
    model.graph.initializer.extend(initializers)
    return model


def test_quantized_weights_are_run() -> None:
    scale = np.array([4.0, 1.0], np.float32)
    q = lp.quantize_linear(W, scale, axis=0, output_dtype="float8_e4m3fn")
    tensors = [lp.onnx.from_array(q, "q"), lp.onnx.from_array(scale, "s")]
    model = model_of("{ w = DequantizeLinear <axis = 0> (q, s)\n t = Transpose (w)\n y = MatMul (t, x) }", *tensors)
    onnx.checker.check_model(model)
    x = np.eye(2, dtype=np.float32)
    (y,) = lp.onnx.Backend.run_model(model, [x])
    by_hand = np.clip(W / scale[:, None], -448, 448).astype(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale[:, None]
    assert (y == by_hand.T).all()


def test_onnx_defaults_stay_in_models() -> None:
    text = '<ir_version: 11, opset_import: ["" : 23]> f (float[2, 3] x, float[3] s) => (uint8[2, 3] y) '
    model = onnx.parser.parse_model(text + "{ y = QuantizeLinear (x, s) }")
    scale = np.array([0.1, 1.0, 2.0], np.float32)
    (y,) = lp.onnx.Backend.run_model(model, [W, scale])  # axis 1, uint8
    assert (y == np.clip(np.rint(W / scale), 0, 255)).all()
    with pytest.raises(ValueError, match=r"^`output_dtype` must be the format of the result"):
        lp.quantize_linear(W, scale, axis=1)


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float8_e5m2"])
def test_weights_of_a_file_are_converted(name: str, tmp_path: Path) -> None:
    model = model_of("{ y = MatMul (w, x) }", onnx.numpy_helper.from_array(W.T.copy(), "w"))
    onnx.save(model, tmp_path / "model.onnx")
    lp.convert(tmp_path / "model.onnx", tmp_path / "small.onnx", to=name)
    small = onnx.load(tmp_path / "small.onnx")
    onnx.checker.check_model(small)
    (y,) = lp.onnx.Backend.run_model(small, [np.eye(2, dtype=np.float32)])
    assert np.asarray(y, np.float32).tolist() == W.T.astype(getattr(ml_dtypes, name, name)).astype(np.float32).tolist()
