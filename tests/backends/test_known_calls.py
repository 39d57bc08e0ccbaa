"""Calls like one before: the oracle's bits in any memory; what is no such call: errors, overlap, values, torch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.optional import Missing, optional
from support.quantize_cases import (
    FLOAT32,
    VERSIONS,
    Types,
    codes,
    dequantize_case,
    generator,
    granularities,
    quantize_case,
    type_table,
)

import lowprec as lp
from lowprec._kernels import CallCache
from lowprec.backends.prepared_calls import DEQUANTIZED, QUANTIZED
from lowprec.ops import quantize_linear
from lowprec.spec.formats import Format, as_format

X = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)
SCALE = np.array([0.5, 1, 2, 0.25, 3, 1], np.float32)
ZERO = np.array([1, -2, 3, 0, 5, -6], np.int8)
CODES = np.clip(np.rint(X / SCALE) + ZERO, -128, 127).astype(np.int8)


def record(patch: pytest.MonkeyPatch) -> list[bool]:
    """Return a list that gets, for each call from now on, whether it was carried out as one that came before."""
    seen: list[bool] = []

    def spied(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            result = original(*args)
            seen.append(result is not None)
            return result

        return run

    class Spy:
        def __init__(self, calls: CallCache) -> None:
            self.run, self.find, self.remember, self.by_shape = (
                spied(calls.run), calls.find, calls.remember, calls.by_shape,
            )  # fmt: skip

    for name in ("QUANTIZED", "DEQUANTIZED"):
        patch.setattr(quantize_linear, name, Spy(getattr(quantize_linear, name)))
    return seen


@pytest.fixture
def forgotten() -> None:
    """Forget all calls that came before."""
    QUANTIZED.clear()
    DEQUANTIZED.clear()


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Give, for each call in order, whether it was carried out as one that came before."""
    return record(monkeypatch)


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


OPERATORS: dict[str, tuple[Any, Any, Any]] = {
    "QuantizeLinear": (lp.quantize_linear, quantize_case, QUANTIZED),
    "DequantizeLinear": (lp.dequantize_linear, dequantize_case, DEQUANTIZED),
}


@pytest.mark.parametrize("operator", OPERATORS)
@settings(max_examples=250, deadline=None)
@given(st.data(), st.sampled_from(WAYS), st.booleans(), st.integers(0, 99))
def test_against_the_oracle(operator: str, data: st.DataObject, way: Any, with_zeros: bool, seed: int) -> None:
    types: Types = data.draw(st.sampled_from(type_table(operator, VERSIONS[-1])))
    function, draw, calls = OPERATORS[operator]
    shape, scale_shape, plain = way
    quantizes = operator == "QuantizeLinear"
    result = types.y if quantizes or types.scale.has_zero else FLOAT32
    options = plain if quantizes and with_zeros else {**plain, "output_dtype": result}
    with pytest.MonkeyPatch.context() as patch:
        found = record(patch)
        calls.clear()
        for turn in range(2):  # other values, by the same key
            rng = generator(way, types, seed, turn)
            *arrays, expected = draw(rng, types, shape, scale_shape, options, zero_point=with_zeros)
            compare_with_oracle(partial(function, *arrays, **options), result, expected, found, known=turn)


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


torch: Any = optional("torch")

INTEGERS = X.astype(np.int32)


def refusals() -> dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]:
    def quantized(*arguments: Any, **options: Any) -> Any:
        return lp.quantize_linear(*arguments, **{"axis": 1} | options)

    def dequantized(*arguments: Any, **options: Any) -> Any:
        return lp.dequantize_linear(*arguments, **{"axis": 1} | options)

    read_only = np.zeros((4, 6), np.int8)
    read_only.flags.writeable = False
    over_itself = np.lib.stride_tricks.as_strided(np.zeros(64, np.int8), (4, 6), (1, 1))
    ones = np.ones(6, as_format("float8_e4m3fn").dtype)
    with_torch: dict[str, Any] = {}
    if not isinstance(torch, Missing):
        with_torch = {
            "out of another class": (quantized, (X, SCALE, ZERO), {"out": torch.zeros(4, 6, dtype=torch.int8)}),
            "scale of another library": (quantized, (X, torch.from_numpy(SCALE), ZERO), {}),
        }
    return with_torch | {
        "axis of bool": (quantized, (X, SCALE, ZERO), {"axis": True}),
        "axis of float": (quantized, (X, SCALE, ZERO), {"axis": 1.0}),
        "axis list": (quantized, (X, SCALE, ZERO), {"axis": [1]}),
        "axis too large": (quantized, (X, SCALE, ZERO), {"axis": 10**30}),
        "other axis": (quantized, (X, SCALE, ZERO), {"axis": 0}),
        "saturate": (quantized, (X, SCALE, ZERO), {"saturate": 1.5}),
        "packed": (quantized, (X, SCALE, ZERO), {"packed": 2}),
        "packed bytes": (quantized, (X, SCALE, ZERO), {"packed": True}),
        "opset": (quantized, (X, SCALE, ZERO), {"opset": 28.0}),
        "output_dtype of bool": (quantized, (X, SCALE, ZERO), {"output_dtype": True}),
        "output_dtype list": (quantized, (X, SCALE, ZERO), {"output_dtype": ["int8"]}),
        "another output_dtype": (quantized, (X, SCALE, ZERO), {"output_dtype": "uint8"}),
        "out of another shape": (quantized, (X, SCALE, ZERO), {"out": np.zeros((6, 4), np.int8)}),
        "out of another dtype": (quantized, (X, SCALE, ZERO), {"out": np.zeros((4, 6), np.uint8)}),
        "read-only out": (quantized, (X, SCALE, ZERO), {"out": read_only}),
        "out over itself": (quantized, (X, SCALE, ZERO), {"out": over_itself}),
        "scale list": (quantized, (X, [0.5], ZERO), {}),
        "scale tuple": (quantized, (X, (0.5, [1]), ZERO), {}),
        "scale too short": (quantized, (X, SCALE[1:], ZERO[1:]), {}),
        "masked scale": (quantized, (X, np.ma.masked_array(SCALE, SCALE > 1), ZERO), {}),
        "scale of bool": (quantized, (X, True), {"output_dtype": "int8"}),
        "scale that is no integer": (quantized, (INTEGERS, 2.5), {"output_dtype": "int8", "scale_format": "int32"}),
        "scale beyond float64": (quantized, (X, 10**400), {"output_dtype": "int8"}),
        "zero point of float": (quantized, (X, 0.5, 1.5), {"output_dtype": "int8"}),
        "zero point beyond": (quantized, (X, 0.5, 128), {"output_dtype": "int8"}),
        "zero point far beyond": (quantized, (X, 0.5, -(10**30)), {"output_dtype": "int8"}),
        "float8 zero point": (quantized, (X, SCALE, ones), {}),
        "float8 number": (quantized, (X, 0.5, 1), {"output_dtype": "float8_e4m3fn"}),
        "shape without packed": (dequantized, (CODES, SCALE, ZERO), {"shape": (4, 6)}),
        "int32 zero point": (dequantized, (X.astype(np.int32), 0.5, 1), {}),
        "no output_dtype": (dequantized, (CODES, np.ones(6, as_format("float8_e8m0fnu").dtype), ZERO), {}),
    }


def warm() -> None:
    """Make the calls that are right, to which those that must be refused are next."""
    zeros = np.zeros(6, as_format("float8_e4m3fn").dtype)
    for _ in range(2):
        lp.quantize_linear(X, SCALE, ZERO, axis=1)
        lp.quantize_linear(X, SCALE, ZERO, output_dtype="int8", axis=1)
        lp.quantize_linear(X, SCALE, zeros, axis=1)
        lp.quantize_linear(X, 0.5, output_dtype="int8")
        lp.quantize_linear(X, 0.5, 3, output_dtype="int8")
        lp.quantize_linear(INTEGERS, 2, output_dtype="int8", scale_format="int32")
        lp.quantize_linear(X, 0.5, 0, output_dtype="float8_e4m3fn")
        lp.dequantize_linear(CODES, SCALE, ZERO, axis=1)
        lp.dequantize_linear(X.astype(np.int32), 0.5, 0)


@pytest.mark.parametrize("name", refusals())
def test_errors_are_those_of_a_first_call(name: str) -> None:
    function, arguments, options = refusals()[name]
    with pytest.raises((TypeError, ValueError)) as first:
        function(*arguments, **options)
    warm()
    with pytest.raises((TypeError, ValueError)) as again:
        function(*arguments, **options)
    assert (again.type, str(again.value)) == (first.type, str(first.value))


@pytest.mark.parametrize("wrap", [np.asarray, lambda a: torch.from_numpy(a)], ids=["numpy", "torch"])
@pytest.mark.parametrize("times", [64, 1700])  # fewer and more elements than the kernels gather at a time
@pytest.mark.parametrize("name", ["x", "scale", "zero_point"])
@pytest.mark.parametrize("shift", [0, 1, 3])
def test_out_over_what_is_read(name: str, shift: int, times: int, wrap: Any) -> None:
    x, scale, zero = np.tile(X, (times, 1)), np.resize(SCALE, 4 * times), np.resize(ZERO, 4 * times)
    expected = np.clip(np.rint(x / scale[:, None]) + zero[:, None], -128, 127).astype(np.int8)
    room = np.zeros(x.nbytes + 64, np.uint8)
    for _ in range(2):
        operands: dict[str, Any] = {"x": x, "scale": scale, "zero_point": zero}
        held = operands[name]
        view = room[: held.nbytes].view(held.dtype).reshape(held.shape)
        view[...] = held
        operands[name] = view
        out = wrap(room[shift : shift + expected.size].view(np.int8).reshape(expected.shape))
        assert lp.quantize_linear(*map(wrap, operands.values()), axis=0, out=out) is out
        assert np.array_equal(np.asarray(out), expected)
        assert np.array_equal(lp.quantize_linear(x, scale, zero, axis=0, out=np.empty(x.shape, np.int8)), expected)


def test_values_are_read_each_time(found: list[bool]) -> None:
    x, scale, zero = X.copy(), SCALE.copy(), ZERO.copy()
    assert np.array_equal(lp.quantize_linear(x, scale, zero, axis=1), CODES)
    for change in (lambda: scale.__imul__(2), lambda: zero.fill(0), lambda: zero.fill(9), lambda: x.__imul__(3)):
        change()
        expected = np.clip(np.rint(x / scale) + zero, -128, 127)
        assert np.array_equal(lp.quantize_linear(x, scale, zero, axis=1), expected)
        assert np.array_equal(
            lp.dequantize_linear(expected.astype(np.int8), scale, zero, axis=1), (expected - zero) * scale
        )
    assert found == [False, True, False, *[True] * 6]


def test_a_float8_zero_point_that_is_not_positive_zero(found: list[bool]) -> None:
    zeros = np.zeros(6, as_format("float8_e4m3fn").dtype)
    expected = lp.quantize_linear(X, SCALE, output_dtype="float8_e4m3fn", axis=1).tolist()
    for _ in range(2):
        assert lp.quantize_linear(X, SCALE, zeros, axis=1).tolist() == expected
    zeros.view(np.uint8)[3] = 0x80  # -0
    assert lp.quantize_linear(X, SCALE, zeros, axis=1).tolist() == expected
    assert found == [False, False, True, False]


def test_calls_of_many_threads() -> None:
    wrong: list[str] = []

    def work(number: int) -> None:
        scale = np.exp2(np.arange(6, dtype=np.float32) - number % 5)
        zero, out = np.full(6, number, np.int8), np.empty((4, 6), np.int8)
        expected = np.clip(np.rint(X / scale) + number, -128, 127)
        for turn in range(300):
            if turn % 50 == number:
                QUANTIZED.clear()
            if not np.array_equal(lp.quantize_linear(X, scale, zero, out=out if turn % 2 else None, axis=1), expected):
                wrong.append(f"thread {number}, turn {turn}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("count", [1, 2, 7])
def test_threads_that_were_asked_for(count: int, found: list[bool]) -> None:
    x = np.tile(X, (1000, 1))
    lp.set_num_threads(count)
    for _ in range(2):
        assert np.array_equal(lp.quantize_linear(x, SCALE, ZERO, axis=1), np.tile(CODES, (1000, 1)))
    assert found == [False, True]


def test_scales_of_tiles_go_the_general_way(found: list[bool]) -> None:
    scale = np.array([[1, 2], [4, 8]], np.float32)
    expected = np.rint(X / np.repeat(np.repeat(scale, 2, 0), 3, 1))
    for _ in range(2):
        got = lp.quantize_linear(X, scale, axis=(0, 1), block_size=(2, 3), output_dtype="int8")
        assert np.array_equal(got, expected)
    assert found == [False, False]


def test_no_more_calls_are_kept_than_were_asked_for() -> None:
    for length in range(1, 1500):
        lp.quantize_linear(np.ones(length, np.float32), 0.5, output_dtype="int8")
        assert 1 <= len(QUANTIZED) <= 1024


def test_empty_and_large_arrays_go_the_general_way(found: list[bool]) -> None:
    for shape in ((0,), (3, 0), (1 << 20,), (1,) * 9):
        for _ in range(2):
            assert lp.quantize_linear(np.ones(shape, np.float32), 0.5, output_dtype="int8").shape == shape
    assert not any(found)


def test_tensors(found: list[bool]) -> None:
    x, scale, zero, wanted = map(torch.from_numpy, (X, SCALE, ZERO, CODES))
    for turn in range(3):
        out = torch.empty(4, 6, dtype=torch.int8)
        version = out._version
        assert torch.equal(lp.quantize_linear(x, scale, zero, axis=1), wanted)
        assert lp.quantize_linear(x, scale, zero, out=out, axis=1) is out
        assert torch.equal(out, wanted)
        assert out._version > version
        assert torch.equal(lp.dequantize_linear(wanted, scale, zero, axis=1), (wanted.float() - zero) * scale)
        assert torch.equal(lp.quantize_linear(x, 0.5, 3, output_dtype="int8"), (x / 0.5).round().add(3).to(torch.int8))
        packed = lp.quantize_linear(x, scale, output_dtype="int4", packed=True, axis=1)
        assert packed.tolist() == lp.quantize_linear(X, SCALE, output_dtype="int4", packed=True, axis=1).tolist()
        narrow = lp.quantize_linear(x, scale, output_dtype="int4", axis=1)
        assert torch.equal(narrow, (x / scale).round().clamp(-8, 7).to(torch.int8))
        if turn:
            assert all(found)
        found.clear()
