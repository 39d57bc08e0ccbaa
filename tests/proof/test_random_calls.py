"""A slice of the random calls, with a fixed seed; and that every public function is in their table or is named here."""

from __future__ import annotations

import importlib
from collections import Counter

import numpy as np
import pytest
from support.random_calls.calls import Call, DifferenceError, check
from support.random_calls.run import GENERATORS, Options, step

import lowprec as lp

SEED = 20
STEPS = {tuple(GENERATORS): 250, ("quantize_linear",): 400, ("dequantize_linear",): 400}
"""How many steps are made of calls of these functions: of the linear operators, which have most options, more."""

NOT_DRAWN = {
    "lowprec": {
        "Format": "a class; `as_format` and `float_format` return its instances",
        "build_info": "says what was built; tests/native/test_build_info.py",
        "compare": "compares a function with the oracle itself; tests/conformance/test_own_cast.py",
        "convert": "reads and writes files; tests/checkpoints",
        "explain": "text by the oracle itself; tests/reference/test_explain.py",
        "float_format": "makes the described formats that all calls draw from; tests/spec/test_described_formats.py",
        "get_num_threads": "global state, which tests/proof/test_state_machine.py compares after every call",
        "register": "global state; tests/proof/test_state_machine.py",
        "Quantized": "a result",
        "dequantize": "dequantizations, all drawn; tests/ops/quantize/test_quantized.py",
        "quantize": "scales and quantizations, all drawn; tests/ops/quantize/test_quantized.py",
        "set_num_threads": "part of the state in which all calls are made",
        "to_jax": "needs JAX; tests/arrays",
        "to_torch": "needs torch; tests/arrays",
    },
    "lowprec.loss": {
        "BlockLoss": "a result", "BlockLosses": "a result", "ErrorStats": "a result", "Loss": "a result",
        "ProductLoss": "a result", "ScaleCurve": "a result", "ScalePoint": "a result",
        "block_loss": "block quantizations and error statistics, both drawn; tests/loss/test_block_sweep.py",
        "block_sweep": "many of `block_loss`; tests/loss/test_block_sweep.py",
        "product_loss": "error statistics, drawn, of products; tests/loss/test_product_loss.py",
        "scale_curve": "the linear operators and error statistics, drawn; tests/loss/test_scale_curve.py",
        "measure": "casts and error statistics, both drawn; tests/loss/test_loss.py",
    },
    "lowprec.onnx": {
        "Backend": "needs onnx; calls the operators drawn here; tests/onnx_models",
        "BackendRep": "needs onnx; tests/onnx_models",
        "Evaluator": "needs onnx; tests/onnx_models",
        "from_array": "needs onnx; tests/onnx_models/test_onnx_tensors.py",
        "to_array": "needs onnx; tests/onnx_models/test_onnx_tensors.py",
    },
}  # fmt: skip
"""Public callables that no step draws, and why. `reference` is the oracle, `checkpoints` reads and writes files."""


@pytest.mark.slow
@pytest.mark.parametrize("functions", STEPS, ids=lambda names: names[0] if len(names) == 1 else "all")
def test_random_calls_agree_with_the_oracle(functions: tuple[str, ...], tally: Counter[str]) -> None:
    for number in range(STEPS[functions]):
        outcome = step(Options(SEED, functions), number)
        assert not outcome.failure, f"--seed {SEED} --step {number}\n{outcome.failure}"
        tally["random calls, elements"] += outcome.elements.total()


@pytest.mark.parametrize("module", NOT_DRAWN)
def test_every_public_function_is_drawn_or_named(module: str) -> None:
    found = lp if module == "lowprec" else pytest.importorskip(module)
    public = {name for name in found.__all__ if callable(getattr(found, name))}
    assert public - set(GENERATORS) == set(NOT_DRAWN[module])
    assert not set(GENERATORS) & set(NOT_DRAWN[module])


def test_every_generator_draws_the_function_of_its_name() -> None:
    public = {*lp.__all__, *importlib.import_module("lowprec.loss").__all__}
    assert set(GENERATORS) <= public


def _first_call_of(name: str) -> Call:
    for seed in range(100):
        call = GENERATORS[name](np.random.default_rng(seed))
        if call.expected and call.expected[0].codes.size > 1:
            return call
    raise AssertionError(name)


@pytest.mark.parametrize("name", ["cast", "quantize_linear", "mx_dequantize"])
def test_a_wrong_bit_a_wrong_dtype_and_a_changed_argument_are_found(name: str) -> None:
    call = _first_call_of(name)
    result = call.function(*call.args, **call.kwargs)
    check(call, result, None)
    with pytest.raises(DifferenceError, match="raised ValueError"):
        check(call, None, ValueError("no"))
    with pytest.raises(DifferenceError, match="dtype"):
        check(call, result.astype(complex), None)
    call.placed[0].memory.raw[0] ^= 1
    with pytest.raises(DifferenceError, match="bytes of arguments changed"):
        check(call, result, None)
    call.placed[0].memory.raw[0] ^= 1
    result.view("u1" if result.itemsize == 1 else f"u{result.itemsize}")[(0,) * result.ndim] ^= 1
    with pytest.raises(DifferenceError, match="codes differ"):
        check(call, result, None)
