"""Calls that came before with the same dtypes, shapes and options give the oracle's bits, in any memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.known_calls import CODES, SCALE, ZERO, X, record
from support.quantize_cases import (
    FLOAT32,
    VERSIONS,
    Types,
    codes,
    draw_codes,
    draw_scale,
    draw_x,
    draw_zero_point,
    expect_dequantized,
    expect_quantized,
    generator,
    granularities,
    type_table,
)

import lowprec as lp
from lowprec.backends.prepared_calls import DEQUANTIZED, QUANTIZED
from lowprec.reference.whole_arrays import array_values, broadcast
from lowprec.spec.formats import Format, as_format

SHAPES = [(5,), (3, 4), (4, 1, 6), (2, 3, 2, 3), (1, 1), (70, 70), (90, 3, 20), (5000,), (1, 4100)]
WAYS = [(shape, *way) for shape in SHAPES for way in granularities(shape, VERSIONS[-1])]
pytestmark = pytest.mark.usefixtures("forgotten")


def compare_with_oracle(
    call: Callable[..., Any], fmt: Format, expected: np.ndarray, found: list[bool], known: int
) -> None:
    """Call three times, with `out` at last: all but the first `known` times are calls that came before."""
    found.clear()
    got = call(out=None)
    assert np.array_equal(codes(got, fmt), expected)
    out = np.empty_like(got)
    assert np.array_equal(codes(call(out=None), fmt), expected)
    assert call(out=out) is out
    assert np.array_equal(codes(out, fmt), expected)
    assert found == [False, True, True][known:] + [True] * known


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(WAYS), st.sampled_from(type_table("QuantizeLinear", 28)), st.booleans(), st.integers(0, 99))
def test_quantize_against_the_oracle(way: Any, types: Types, with_zeros: bool, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        found = record(patch)
        QUANTIZED.clear()
        shape, scales, options = way
        for turn in range(2):  # other values, by the same key
            rng = generator(way, types, seed, turn)
            scale = draw_scale(rng, types.scale, scales)
            spread = broadcast(
                array_values(scale, types.scale), shape, options.get("axis", 1), options.get("block_size", 0)
            )
            x = draw_x(rng, types.x, spread, types.y)
            zeros = draw_zero_point(rng, types.y, scales) if with_zeros else None
            arguments = options if with_zeros else {**options, "output_dtype": types.y}
            expected = expect_quantized(x, scale, zeros, types, arguments)

            def call(out: Any, x: Any = x, scale: Any = scale, zeros: Any = zeros, options: Any = arguments) -> Any:
                return lp.quantize_linear(x, scale, zeros, **options, out=out)

            compare_with_oracle(call, types.y, expected, found, known=turn)


@settings(max_examples=250, deadline=None)
@given(st.sampled_from(WAYS), st.sampled_from(type_table("DequantizeLinear", 28)), st.booleans(), st.integers(0, 99))
def test_dequantize_against_the_oracle(way: Any, types: Types, with_zeros: bool, seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        found = record(patch)
        DEQUANTIZED.clear()
        shape, scales, options = way
        output = types.scale if types.scale.has_zero else FLOAT32
        options = {**options, "output_dtype": output}
        for turn in range(2):
            rng = generator(way, types, seed, turn)
            scale, x = draw_scale(rng, types.scale, scales), draw_codes(rng, types.x, shape)
            zeros = draw_zero_point(rng, types.x, scales) if with_zeros and types.x.bits < 32 else None
            expected = expect_dequantized(x, scale, zeros, types, options)

            def call(out: Any, x: Any = x, scale: Any = scale, zeros: Any = zeros, options: Any = options) -> Any:
                return lp.dequantize_linear(x, scale, zeros, **options, out=out)

            compare_with_oracle(call, output, expected, found, known=turn)


@pytest.mark.parametrize("name", ["int4", "uint2", "float4_e2m1fn", "float6_e3m2fn"])
def test_packed(name: str, found: list[bool]) -> None:
    fmt = as_format(name)
    plain = lp.quantize_linear(X, SCALE, output_dtype=fmt, axis=1)
    by_hand = lp.pack(plain, fmt)
    for shape in ((4, 6), [4, 6]):  # a list names nothing
        found.clear()
        for _ in range(2):
            packed = lp.quantize_linear(X, SCALE, output_dtype=fmt, packed=True, axis=1)
            assert packed.tolist() == by_hand.tolist()
            back = lp.dequantize_linear(packed, SCALE, source=fmt, packed=True, shape=shape, axis=1)
            assert np.array_equal(back, plain.astype(np.float32) * SCALE)
        assert found[-1] == (shape == (4, 6))
        assert found[2]


NUMBERS = [0.5, 3, -0.3, 0.1, 1, 2**53 + 1, 10**30, 1e39, -1e-46, float("inf"), float("nan"), 0.0, -0.0, 1e-40, 65520.0]
with np.errstate(all="ignore"):  # here no test has changed the floating-point mode
    ROUNDED = {
        name: [np.asarray(float(number)).astype(as_format(name).dtype) for number in NUMBERS]
        for name in ("float32", "float16", "bfloat16")
    }


@pytest.mark.parametrize("name", ["float32", "float16", "bfloat16", "int32"])
@pytest.mark.parametrize("zero", [None, 0, 3, -128])
@pytest.mark.usefixtures("odd_mode")
def test_numbers_are_rounded_as_arrays_of_them(name: str, zero: int | None) -> None:
    x, zeros = lp.cast(X, name), None if zero is None else np.array(zero, np.int8)
    scales = zip(NUMBERS, ROUNDED["float32" if name == "int32" else name], ROUNDED["float32"], strict=True)
    for number, scale, single in scales:
        QUANTIZED.clear()
        expected = lp.quantize_linear(x, scale, zeros, output_dtype="int8")
        DEQUANTIZED.clear()
        values = lp.dequantize_linear(CODES, single, zeros).view(np.uint32)
        for _ in range(2):
            assert np.array_equal(lp.quantize_linear(x, number, zero, output_dtype="int8"), expected)
            assert np.array_equal(lp.dequantize_linear(CODES, number, zero).view(np.uint32), values)


def test_a_number_is_a_zero_point_for_every_scale(found: list[bool]) -> None:
    expected = np.clip(np.rint(X / SCALE) + 7, -128, 127)
    for _ in range(2):
        got = lp.quantize_linear(X, SCALE, 7, output_dtype="int8", axis=1)
        assert np.array_equal(got, expected)
        assert np.array_equal(lp.dequantize_linear(got, SCALE, 7, axis=1), (expected - 7) * SCALE)
    assert found == [False, False, True, True]


@pytest.mark.parametrize("scale", [np.float32(0.5), np.array(0.5, np.float32), np.array([[0.5]], np.float32), 0.5])
def test_one_scale_in_any_form(scale: Any, found: list[bool]) -> None:
    for _ in range(2):
        assert np.array_equal(lp.quantize_linear(X, scale, output_dtype="int8"), np.rint(X / np.float32(0.5)))
    assert found == [False, True]


DISGUISES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "strided": lambda a: np.repeat(a, 2, -1)[..., ::2],
    "reversed": lambda a: a[..., ::-1].copy()[..., ::-1],
    "other order": lambda a: np.asfortranarray(a) if a.ndim > 1 else np.repeat(a, 3)[1::3],
    "other byte order": lambda a: a.astype(a.dtype.newbyteorder()),
    "unaligned": lambda a: np.frombuffer(b"\0" + a.tobytes(), a.dtype, offset=1).reshape(a.shape),
}


@pytest.mark.parametrize("name", DISGUISES)
def test_memory_that_is_not_dense(name: str, found: list[bool]) -> None:
    disguise, values = DISGUISES[name], (CODES - ZERO.astype(np.float32)) * SCALE
    lp.quantize_linear(X, SCALE, ZERO, axis=1)
    lp.dequantize_linear(CODES, SCALE, ZERO, axis=1)
    for which in range(3):
        operands = [disguise(a) if i == which else a for i, a in enumerate((X, SCALE, ZERO))]
        assert np.array_equal(lp.quantize_linear(*operands, axis=1), CODES)
        operands = [disguise(a) if i == which else a for i, a in enumerate((CODES, SCALE, ZERO))]
        assert np.array_equal(lp.dequantize_linear(*operands, axis=1), values)
    dense = name in ("other byte order", "unaligned")  # of single bytes
    assert found[2:] == [False, dense, False, False, dense, dense]
    out = np.zeros((4, 12), np.int8)[:, ::2]
    assert lp.quantize_linear(X, SCALE, ZERO, out=out, axis=1) is out
    assert np.array_equal(out, CODES)
    swapped = np.zeros((4, 6), ">f4")
    assert lp.dequantize_linear(CODES, SCALE, ZERO, out=swapped, axis=1) is swapped
    assert np.array_equal(swapped, values)
