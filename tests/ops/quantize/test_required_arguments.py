"""What a call of the linear functions must say: the type, the axis; and scales of the rank of the array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.compare import tiers_and_threads
from support.optional import optional

import lowprec as lp
from lowprec.spec.formats import NUMERIC

torch: Any = optional("torch")
Evaluator: Any = optional("lowprec.onnx:Evaluator")
helper: Any = optional("onnx:helper")

RNG = np.random.default_rng(4)
X = RNG.normal(0, 9, (2, 3, 4, 5)).astype(np.float32)
CODES = RNG.integers(-128, 128, X.shape).astype(np.int8)
ROWS = np.ones(3, np.float32)


# ---- scales of the rank of the array
@pytest.mark.parametrize("places", range(16))
@pytest.mark.parametrize("axis", [None, 0, 3, -1])
def test_scales_of_the_rank_of_the_array(places: int, axis: int | None) -> None:
    shape = tuple(length if places >> place & 1 else 1 for place, length in enumerate(X.shape))
    scale = RNG.uniform(0.01, 2, shape).astype(np.float32)
    zero = RNG.integers(-9, 9, shape).astype(np.int8)
    expected = np.clip(np.rint(X / scale), -128, 127).astype(np.int8)
    shifted = np.clip(np.rint(X / scale) + zero, -128, 127).astype(np.int8)
    for _ in tiers_and_threads(threads=(2,)):
        for _ in range(2):  # the second one may be a call that came before
            assert np.array_equal(lp.quantize_linear(X, scale, axis=axis, output_dtype="int8"), expected)
            assert np.array_equal(lp.quantize_linear(X, scale, zero, axis=axis), shifted)
            assert np.array_equal(lp.dequantize_linear(CODES, scale, axis=axis), CODES * scale)
            values = (CODES.astype(np.float32) - zero) * scale
            assert np.array_equal(lp.dequantize_linear(CODES, scale, zero, axis=axis), values)
    packed = lp.quantize_linear(X, scale, output_dtype="int4", packed=True)
    plain = lp.quantize_linear(X, scale, output_dtype="int4")
    assert np.array_equal(packed, lp.pack(plain, "int4"))
    back = lp.dequantize_linear(packed, scale, source="int4", packed=True, shape=X.shape)
    assert np.array_equal(back, plain.astype(np.float32) * scale)


# ---- the type
def test_the_type_must_be_said() -> None:
    message = r"^`output_dtype` must be the format of the result, .*; got None"
    held = [np.zeros(X.shape, dtype) for dtype in (np.uint8, np.uint16, np.int8)]
    for zero_point in (None, 0, 3, 0.0):
        for out in (None, *held):
            for opset in (21, 25, 28):
                with pytest.raises(ValueError, match=message):
                    lp.quantize_linear(X, 0.5, zero_point, out=out, opset=opset)
    for opset in (10, 13, 19, 20):
        assert lp.quantize_linear(X, 0.5, opset=opset).dtype == np.uint8
        assert lp.quantize_linear(X, 0.5, 3, opset=opset).dtype == np.uint8


def test_out_says_the_type() -> None:
    for fmt in NUMERIC:
        if (
            fmt.bits <= 16
            and fmt.has_zero
            and fmt.name not in ("bool", "uint8", "uint16", "int8", "float16", "bfloat16")
        ):
            out = np.zeros(X.shape, fmt.dtype)
            assert lp.quantize_linear(X, 0.5, out=out) is out
            assert out.tobytes() == lp.quantize_linear(X, 0.5, output_dtype=fmt).tobytes()
    for name in ("float16", "bfloat16", "float32"):
        out = np.zeros(X.shape, lp.as_format(name).dtype)
        assert lp.dequantize_linear(CODES, 0.3, out=out) is out
        assert out.tobytes() == lp.dequantize_linear(CODES, np.float32(0.3), output_dtype=name).tobytes()
    with pytest.raises(ValueError, match=r"^`out` must have shape .* and dtype float32; got .*float16"):
        lp.dequantize_linear(CODES, 0.3, out=np.zeros(X.shape, np.float16), opset=21)


# ---- the axis
def test_the_axis_must_be_said() -> None:
    message = "^`axis` must be the axis of `x` along which each index has its scale"
    blocks = np.ones((2, 3, 4, 1), np.float32)
    for call, x, how in ((lp.quantize_linear, X, {"output_dtype": "int8"}), (lp.dequantize_linear, CODES, {})):
        with pytest.raises(ValueError, match=message):
            call(x, ROWS, **how)
        with pytest.raises(ValueError, match=r"^`axis` must be given where there is a `block_size`; got None with 5"):
            call(x, blocks, block_size=5, **how)
        assert np.array_equal(call(x, ROWS, axis=1, **how), call(x, 1.0, **how))
        for scale in (1.0, np.float32(1), ROWS[:1], ROWS[:1].reshape(())):
            assert np.array_equal(call(x, scale, **how), call(x, ROWS, axis=1, **how))
        row = np.ascontiguousarray(x[0, :, 0, 0])
        assert np.array_equal(call(row, ROWS, **how), call(row, 1.0, **how))


# ---- ONNX's defaults, where ONNX is meant
@pytest.mark.parametrize("opset", [13, 21, 28])
def test_nodes_keep_the_defaults_and_the_rules_of_shapes(opset: int) -> None:
    node = helper.make_node("QuantizeLinear", ["x", "s"], ["y"])
    ends = [helper.make_tensor_value_info(name, 1, None) for name in "xs"]
    graph = helper.make_graph([node], "g", ends, [helper.make_tensor_value_info("y", 2, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    (found,) = Evaluator(model).run(None, {"x": X, "s": ROWS / 2})
    assert found.dtype == np.uint8
    assert np.array_equal(found, np.clip(np.rint(X * 2), 0, 255))
    with pytest.raises(ValueError, match="`scale` must have one element"):
        Evaluator(model).run(None, {"x": X, "s": np.ones((2, 3, 1, 1), np.float32)})


def test_torch_operators_keep_the_defaults() -> None:
    import lowprec.torch_ops  # noqa: F401

    found = torch.ops.lowprec.quantize_linear(torch.from_numpy(X), torch.from_numpy(ROWS / 2))
    assert found.dtype == torch.uint8
    assert np.array_equal(found.numpy(), np.clip(np.rint(X * 2), 0, 255))
    codes = torch.from_numpy(CODES)
    assert np.array_equal(torch.ops.lowprec.dequantize_linear(codes, torch.from_numpy(ROWS)).numpy(), CODES)


def test_a_call_of_an_operator_is_not_found_for_one_that_must_say_more() -> None:
    x = np.ones((2, 3), np.float32)
    for _ in range(2):
        assert lp.quantize_linear(x, np.float32(0.5), output_dtype="uint8").tolist() == [[2] * 3] * 2
    if not hasattr(Evaluator, "missing"):
        test_nodes_keep_the_defaults_and_the_rules_of_shapes(28)
    with pytest.raises(ValueError, match=r"^`output_dtype` must be"):
        lp.quantize_linear(X, ROWS / 2, axis=1)
