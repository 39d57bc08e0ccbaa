"""NumPy scalars as scales, zero points and global scales: numbers where the operator lacks their type, else arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.array_libraries import library
from support.bits import bits_of
from support.optional import optional

import lowprec as lp
from lowprec.backends.prepared_calls import DEQUANTIZED, QUANTIZED

torch: Any = optional("torch")

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)
CODES = np.arange(-12, 12, dtype=np.int8).reshape(4, 6)
NUMBERS = [np.float64(0.1), np.longdouble(0.1), np.float64(np.inf)]
KEPT = [np.float32(0.1), np.float16(0.1), ml_dtypes.bfloat16(0.1)]
INTEGERS = [np.int64(3), np.uint8(3), np.uint64(3), np.float64(3), ml_dtypes.float8_e4m3fn(3)]


@pytest.fixture(params=["numpy", "torch", "jax", "dask", "strict"])
def given(request: pytest.FixtureRequest) -> Iterator[Callable[[np.ndarray], Any]]:
    """Give what makes arrays of a library."""
    QUANTIZED.clear()
    DEQUANTIZED.clear()
    with library(request.param) as xp:
        yield xp.wrap


def host(x: Any) -> np.ndarray:
    """Return the values of an array of any library."""
    return x.numpy() if hasattr(x, "numpy") and not hasattr(x, "chunks") else np.asarray(x)


@pytest.mark.parametrize("scale", NUMBERS + INTEGERS + KEPT, ids=repr)
def test_scales(scale: Any, given: Any) -> None:
    """The type of x decides how a number is rounded; a scalar of a type that scales have keeps it."""
    plain = np.asarray(scale) if any(scale is one for one in KEPT) else float(scale)
    is_strict = "strict" in type(given(X)).__module__
    for x in (X, X.astype(np.float16)) if isinstance(plain, float) and not is_strict else (X,):
        for how in ({}, {"scale_format": "bfloat16"}) if isinstance(plain, float) else ({},):
            expected = bits_of(lp.quantize_linear(x, plain, output_dtype="int8", **how))
            for _ in range(3):  # unknown, known
                found = lp.quantize_linear(given(x), scale, output_dtype="int8", **how)
                assert np.array_equal(bits_of(found), expected)
    values = bits_of(lp.dequantize_linear(CODES, plain))
    for _ in range(3):
        assert np.array_equal(bits_of(lp.dequantize_linear(given(CODES), scale)), values)


def test_scales_that_hold_codes(given: Any) -> None:
    for scale in (np.uint8(120), ml_dtypes.float8_e8m0fnu(2.0**-7)):
        expected = lp.quantize_linear(X, 2.0**-7, output_dtype="int8", precision="float32")
        got = lp.quantize_linear(given(X), scale, scale_format="float8_e8m0fnu", output_dtype="int8")
        assert np.array_equal(host(got), expected)


@pytest.mark.parametrize("zero", [np.int64(3), np.uint32(3), np.float32(3), np.float64(3)], ids=repr)
def test_zero_points_that_are_numbers(zero: Any, given: Any) -> None:
    scales = np.linspace(0.1, 1, 6, dtype=np.float32)
    expected = lp.quantize_linear(X, scales, 3, axis=1, output_dtype="int8")
    values = lp.dequantize_linear(CODES, scales, 3, axis=1)
    for _ in range(3):
        got = lp.quantize_linear(given(X), given(scales), zero, axis=1, output_dtype="int8")
        assert np.array_equal(host(got), expected)
        assert np.array_equal(host(lp.dequantize_linear(given(CODES), given(scales), zero, axis=1)), values)
    assert np.array_equal(lp.quantize_linear(X, scales, np.int32(3), axis=1, output_dtype="int8"), expected)


def test_zero_points_that_keep_their_type(given: Any) -> None:
    for zero in (np.int8(-3), np.uint8(3), np.int16(300)):
        expected = lp.quantize_linear(X, np.float32(0.01), np.asarray(zero))
        for _ in range(3):
            got = lp.quantize_linear(given(X), np.float32(0.01), zero)
            assert str(got.dtype).rpartition(".")[2] == expected.dtype.name == zero.dtype.name
            assert np.array_equal(host(got), expected)
    values = lp.dequantize_linear(CODES, np.float32(0.01), np.asarray(np.int8(-3)))
    assert np.array_equal(host(lp.dequantize_linear(given(CODES), np.float32(0.01), np.int8(-3))), values)
    with pytest.raises(ValueError, match="`zero_point` must be uint8, the type of the quantized array; got"):
        lp.quantize_linear(given(X), 0.5, np.int8(3), output_dtype="uint8")


@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.1), np.int64(2), np.uint8(2)], ids=repr)
def test_global_scales(number: Any, given: Any) -> None:
    expected = lp.nvfp4_quantize(X, global_scale=number.item())
    for _ in range(3):
        got = lp.nvfp4_quantize(given(X), global_scale=number)
        assert float(got[2]) == float(expected[2]) == float(np.float32(number))
        back = lp.nvfp4_dequantize(*got[:2], number)
        assert np.array_equal(host(back), lp.nvfp4_dequantize(*expected))


def test_truth_values_are_no_numbers(given: Any) -> None:
    for wrong in (True, np.True_):
        for call, x in ((partial(lp.quantize_linear, output_dtype="int8"), X), (lp.dequantize_linear, CODES)):
            with pytest.raises(TypeError, match=r"`scale` must be an array .* or a number; got (numpy\.)?bool$"):
                call(given(x), wrong)
            with pytest.raises(TypeError, match=r"`zero_point` must be an array .* or a number; got (numpy\.)?bool$"):
                call(given(x), 0.5, wrong)
        with pytest.raises(TypeError, match=r"`global_scale` must be an array .* or a number; got (numpy\.)?bool$"):
            lp.nvfp4_quantize(given(X), global_scale=wrong)


@pytest.mark.parametrize("trace", ["functionalize", "make_fx", "vmap", "export"])
def test_where_torch_traces(trace: str) -> None:
    x = torch.from_numpy(X)

    def traced(call: Callable[[Any], Any]) -> Any:
        if trace == "functionalize":
            return torch.func.functionalize(call)(x)
        if trace == "vmap":
            return torch.vmap(call)(x)
        if trace == "make_fx":
            from torch.fx.experimental.proxy_tensor import make_fx

            return make_fx(call)(x)(x)

        class Module(torch.nn.Module):
            def forward(self, x: Any) -> Any:
                return call(x)

        return torch.export.export(Module(), (x,), strict=False).module()(x)

    def quantized(scale: Any, zero: Any, x: Any) -> Any:
        return lp.quantize_linear(x, scale, zero, output_dtype="int8")

    for scale in (np.float64(0.1), np.float32(0.1), np.float16(0.1)):
        for zero in (np.int64(3), np.int8(3)):
            got = traced(partial(quantized, scale, zero))
            assert np.array_equal(got.numpy(), lp.quantize_linear(X, scale, 3, output_dtype="int8"))
    got = traced(lambda x: lp.nvfp4_quantize(x, global_scale=np.float64(0.1))[2])
    assert np.all(got.numpy() == np.float32(0.1))
    with pytest.raises(TypeError, match=r"`scale` must be an array .* or a number; got numpy\.bool"):
        traced(lambda x: lp.quantize_linear(x, np.True_, output_dtype="int8"))
