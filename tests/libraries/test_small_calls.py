"""Calls that name the same formats as one before: found by the cpu back end, and refused once where they must be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lowprec as lp
from lowprec.backends import cpu

X = np.array([0.3, -1000.0, np.inf, 1.0], np.float32)
CODES = [0x2A, 0xFE, 0x7E, 0x38]  # float8_e4m3fn: 0.3125, -448, 448, 1
VALUES = [0.3125, -448.0, 448.0, 1.0]
CALLS: dict[str, tuple[np.ndarray, Callable[..., Any], list[Any]]] = {
    "cast": (X, lambda x, **out: lp.cast(x, "float8_e4m3fn", **out), CODES),
    "encode": (X, lambda x, **out: lp.encode(x, "float8_e4m3fn", **out), CODES),
    "decode": (np.array(CODES, np.uint8), lambda x, **out: lp.decode(x, "float8_e4m3fn", **out), VALUES),
}


def plain(result: Any) -> list[Any]:
    result = np.asarray(result)
    return (result if result.dtype == np.float32 else result.view(np.uint8)).tolist()


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Give the names of the attempts to convert dense memory, in order."""
    attempts: list[str] = []

    def spy(owner: Any, name: str) -> None:
        original = getattr(owner, name)

        def run(*args: Any) -> Any:
            attempts.append(name)
            return original(*args)

        monkeypatch.setattr(owner, name, run)

    spy(cpu._kernels, "run_same_shape")
    spy(cpu._kernels, "run_arrays")
    spy(cpu, "_run_tensor")
    monkeypatch.setattr(cpu, "_known", {})
    return attempts


@pytest.mark.parametrize("name", CALLS)
def test_a_strided_array_is_refused_once(name: str, tried: list[str]) -> None:
    x, call, expected = CALLS[name]
    strided = np.repeat(x, 2)[::2]
    for _ in range(3):  # unknown, known, known
        tried.clear()
        assert plain(call(strided)) == expected
        assert tried == ["run_same_shape"]
    tried.clear()
    assert plain(call(x)) == expected
    assert tried == ["run_same_shape", "run_arrays"]  # which the first calls


@pytest.mark.parametrize("name", CALLS)
def test_a_strided_tensor_is_refused_once(name: str, tried: list[str]) -> None:
    torch = pytest.importorskip("torch")
    x, call, expected = CALLS[name]
    strided = torch.from_numpy(np.repeat(x, 2))[::2]
    for tensor in (strided, strided, torch.from_numpy(x), strided):
        tried.clear()
        result = call(tensor)
        assert isinstance(result, torch.Tensor)
        assert plain(result if result.dtype == torch.float32 else result.view(torch.uint8)) == expected
        assert tried == ["_run_tensor"]


@pytest.mark.parametrize("name", CALLS)
def test_known_calls_take_what_unknown_ones_take(name: str) -> None:
    x, call, expected = CALLS[name]
    for _ in range(2):
        assert plain(call(x.reshape(2, 2)).reshape(-1)) == expected
        assert plain(call(x[0]).reshape(1)) == expected[:1]
        assert plain(call(x[:0])) == []
        out = np.empty_like(call(x))
        assert call(x, out=out) is out
        assert plain(out) == expected
        with pytest.raises(ValueError, match="`out` must have shape"):
            call(x, out=out[:1])
    if name != "decode":
        for _ in range(2):
            assert plain(call(x.astype(">f4"))) == expected


def test_options_and_other_names_are_not_taken_for_what_came_before() -> None:
    for _ in range(2):
        assert lp.encode(X, "float8_e4m3fn").tolist() == CODES
        assert lp.encode(X, "float8_e4m3fn", saturate=False).tolist() == [0x2A, 0xFF, 0x7F, 0x38]
        assert lp.encode(X, "float8_e5m2")[3] == 0x3C
        assert lp.decode(np.array([0x3C], np.uint8), "float8_e5m2").tolist() == [1.0]
        assert lp.decode(np.array([0x38], np.uint8), "float8_e4m3fn", to="float64").dtype == np.float64
        assert lp.encode(X, 1).dtype == np.uint32  # the enum of float32
        for nothing in (True, ["float32"]):
            with pytest.raises((TypeError, ValueError), match="`to` must be"):
                lp.encode(X, nothing)
        with pytest.raises(ValueError, match="`packed` must be"):
            lp.encode(X, "float8_e4m3fn", packed=2)


def test_tensors_of_odd_kinds_after_a_dense_one() -> None:
    torch = pytest.importorskip("torch")
    dense = torch.from_numpy(X)
    for _ in range(2):
        assert lp.encode(dense, "float8_e4m3fn").tolist() == CODES
        assert lp.encode(torch._neg_view(-dense), "float8_e4m3fn").tolist() == CODES
        assert lp.encode(dense.clone().requires_grad_(), "float8_e4m3fn").tolist() == CODES
        assert lp.encode(torch.nn.Parameter(dense.clone()), "float8_e4m3fn").tolist() == CODES
        assert lp.encode(torch._efficientzerotensor(2), "float8_e4m3fn").tolist() == [0, 0]
        out = torch.empty(4, dtype=torch.uint8)
        assert lp.encode(dense, "float8_e4m3fn", out=out) is out
        assert out.tolist() == CODES
        with pytest.raises(TypeError, match="`x` must be a dense torch tensor with data"):
            lp.encode(dense.to_sparse(), "float8_e4m3fn")
