"""Calls like one before: which are carried out at once; what is no such call: errors, values, torch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.optional import optional

import lowprec as lp
from lowprec.backends.prepared_calls import DEQUANTIZED, QUANTIZED
from lowprec.ops import quantize_linear
from lowprec.spec.formats import as_format

X = np.linspace(-9, 9, 24, dtype=np.float32).reshape(4, 6)
SCALE = np.array([0.5, 1, 2, 0.25, 3, 1], np.float32)
ZERO = np.array([1, -2, 3, 0, 5, -6], np.int8)
CODES = np.clip(np.rint(X / SCALE) + ZERO, -128, 127).astype(np.int8)


@pytest.fixture
def forgotten() -> None:
    """Forget all calls that came before."""
    QUANTIZED.clear()
    DEQUANTIZED.clear()


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Give, for each call in order, whether it was carried out as one that came before."""
    seen: list[bool] = []

    def spied(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            result = original(*args)
            seen.append(result is not None)
            return result

        return run

    for name in ("run_quantized", "run_dequantized"):
        monkeypatch.setattr(quantize_linear, name, spied(getattr(quantize_linear, name)))
    return seen


pytestmark = pytest.mark.usefixtures("forgotten")


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
