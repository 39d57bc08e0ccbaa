"""torch tensors: layouts, gradients, shared memory, tensors of other devices."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("torch")

import numpy as np
import torch
from array_api_compat import torch as torch_namespace
from support.bits import bits_of

import lowprec as lp
from lowprec import _kernels
from lowprec.backends import cpu, prepared_calls
from lowprec.spec.formats import NUMERIC, Format


def _bits(x: Any) -> list[int]:
    return bits_of(x).reshape(-1).tolist()


def test_dense_layouts_are_kept() -> None:
    x = torch.zeros(6, 8, 5).permute(2, 0, 1)
    assert lp.cast(x, "float16").stride() == x.stride()


def test_results_do_not_go_to_negative_views() -> None:
    x = torch.tensor([1 + 2j, -3 - 4j]).conj().imag  # a view that negates when it is read
    assert x.is_neg()
    with pytest.raises(ValueError, match="`out` must be plain memory; got a tensor that is negated"):
        lp.cast(torch.ones(2, dtype=torch.int32), "float32", out=x)  # the result would go to a copy


def test_input_memory_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    run = cpu._kernels.run
    prepared_calls._call_of.cache_clear()

    def spy(program: Any, src: np.ndarray, dst: np.ndarray, *rest: Any) -> None:
        seen.append((src.__array_interface__["data"][0], dst.__array_interface__["data"][0]))
        run(program, src, dst, *rest)

    class Spy(_kernels.HostCall):
        def run(self, x: Any, *rest: Any) -> Any:
            result = super().run(x, *rest)
            if result is not None:
                seen.append((x.data_ptr(), result.data_ptr()))
            return result

    monkeypatch.setattr(cpu._kernels, "run", spy)
    monkeypatch.setattr(_kernels, "HostCall", Spy)
    for n in (0, 10, 1 << 20):  # empty, a small call, one whose result NumPy has memory for
        x = torch.arange(n).to(torch.bfloat16)
        prepared_calls.CASTS.clear()
        got = lp.cast(x, "float8_e5m2")
        assert seen == [(x.data_ptr(), got.data_ptr())]
        seen.clear()


@pytest.mark.parametrize("target", [fmt for fmt in NUMERIC if fmt.bits <= 16], ids=lambda fmt: fmt.name)
def test_off_the_host_takes_the_portable_path(target: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    # what a CUDA tensor goes through, on the CPU: the array-API back end must come back in torch's own dtypes
    x = torch.tensor([0.3, -1000.0, 1e9, float("inf"), float("nan"), -0.0, 2.0**-140])
    expected = lp.encode(x.numpy(), target)
    if target.is_integer and target.bits < 8:
        expected = lp.decode(expected, target, to="int8" if target.signed else "uint8").view(np.uint8)
    monkeypatch.setattr(cpu, "has_host_memory", lambda x: False)
    got = lp.cast(x, target)
    assert got.dtype == lp.storage_dtype(target, torch_namespace)
    assert _bits(got) == expected.tolist()
    back = lp.cast(got, "float32", source=target)
    monkeypatch.undo()
    assert _bits(back) == _bits(lp.cast(got, "float32", source=target))


@pytest.mark.parametrize("function", ["cast", "bitcast", "encode", "decode", "to_numpy", "to_torch"])
def test_meta_tensors_hold_nothing(function: str) -> None:
    x = torch.empty(2, dtype=torch.uint8, device="meta")
    arguments = () if function.startswith("to_") else ("uint8",)
    with pytest.raises(TypeError, match=r"must be a dense torch tensor with data; got one that is .* on meta"):
        getattr(lp, function)(x, *arguments)


def test_the_halves_of_a_tensor_that_requires_gradients_are_detached() -> None:
    x = torch.tensor([1.5, -2.25], requires_grad=True)
    for got in (lp.bitcast(x, "int32"), lp.to_torch(x), lp.encode(x, "float16"), lp.pack(lp.cast(x, "int4"), "int4")):
        assert not got.requires_grad
    assert lp.to_torch(x).data_ptr() == x.data_ptr()
