"""The same bits in every library: torch on the CPU through the kernels, array_api_strict through the portable path."""

from __future__ import annotations

from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
import torch
from array_api_compat import torch as torch_namespace

import lowprec as lp
from lowprec import dispatch
from lowprec.formats import NUMERIC, Format

TORCH = [fmt for fmt in NUMERIC if fmt.torch_name]
BY_NAME = {"ids": lambda fmt: fmt.name}


def _codes(fmt: Format, count: int = 300) -> np.ndarray:
    rng = np.random.default_rng(fmt.onnx_enum)
    if fmt.bits <= 8:
        return np.arange(1 << fmt.bits).astype(np.uint8) if fmt.name != "bool" else np.array([0, 1], np.uint8)
    special = np.array([0, 1, fmt.sign_mask, fmt.max_code, fmt.magnitude_mask, fmt.code_mask], fmt.code_dtype)
    if fmt.is_float and fmt.bits > 16:  # around 1 as well: random patterns are mostly out of every range
        near = np.random.default_rng(1).normal(0, 10, count).astype(fmt.dtype).view(fmt.code_dtype)
        special = np.concatenate([special, near])
    return np.concatenate([special, rng.integers(0, 1 << fmt.bits, count, np.uint64).astype(fmt.code_dtype)])


def _in_torch(codes: np.ndarray, fmt: Format) -> torch.Tensor:
    return torch.from_numpy(codes.view(f"i{codes.itemsize}").copy()).view(getattr(torch, fmt.torch_name or "uint8"))


def _bits(x: Any) -> list[int]:
    if isinstance(x, torch.Tensor):
        x = x.view(getattr(torch, f"int{8 * x.element_size()}")).numpy()
    array = np.asarray(x)
    return array.view(f"u{array.itemsize}").reshape(-1).tolist()


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("source", TORCH, **BY_NAME)
def test_torch_gives_numpys_bits(source: Format, target: Format) -> None:
    codes = _codes(source)
    expected = lp.encode(codes, target, source=source)
    x = _in_torch(codes, source)
    result = lp.cast(x, target)
    assert result.dtype == lp.carrier(target, torch)
    assert result.shape == x.shape
    values = result.numpy() if target.bits < 8 and target.is_integer else None
    if values is None:
        assert _bits(result) == expected.tolist()
    else:  # integers narrower than a byte are held as their values
        assert values.tolist() == lp.decode(expected, target, to="int8" if target.signed else "uint8").tolist()
        assert lp.cast(result, "int16", source=target).tolist() == lp.decode(expected, target, to="int16").tolist()
    encoded = lp.encode(x, target)
    assert encoded.dtype == getattr(torch, f"uint{target.storage_bits}")
    assert _bits(encoded) == expected.tolist()
    out = torch.zeros_like(result)
    assert lp.cast(x, target, out=out) is out
    assert _bits(out) == _bits(result)


@pytest.mark.parametrize("target", ["float8_e4m3fn", "bfloat16", "int4", "float64"])
def test_torch_layouts(target: str) -> None:
    array = np.random.default_rng(0).normal(0, 20, (6, 8, 5)).astype(np.float32)
    x = torch.from_numpy(array.copy())
    for view, same in (
        (x[::2, :, 1:4], array[::2, :, 1:4]),
        (x.permute(2, 0, 1), array.transpose(2, 0, 1)),
        (x[0, 0, 0], array[0, 0, 0:1].reshape(())),
        (x[:0], array[:0]),
        (x[:1].expand(4, -1, -1), np.broadcast_to(array[:1], (4, 8, 5))),
    ):
        got = lp.encode(view, target)
        assert tuple(got.shape) == same.shape
        assert _bits(got.contiguous()) == lp.encode(np.ascontiguousarray(same), target).reshape(-1).tolist()
    assert lp.cast(x.permute(2, 0, 1), "float16").stride() == x.permute(2, 0, 1).stride()


def test_torch_gradients_are_left_behind() -> None:
    x = torch.tensor([1.5, -2.25], requires_grad=True)
    got = lp.cast(x, "bfloat16")
    assert not got.requires_grad
    assert got.tolist() == [1.5, -2.25]
    with pytest.raises(ValueError, match="`out` must not require gradients"):
        lp.cast(x, "float32", out=torch.empty(2, requires_grad=True))


def test_torch_negative_views() -> None:
    x = torch.tensor([1 + 2j, -3 - 4j]).conj().imag  # a view that negates when it is read
    assert x.is_neg()
    assert lp.cast(x, "int8").tolist() == [-2, 4]


def test_torch_input_memory_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    run = dispatch._kernels.run

    def spy(program: Any, src: np.ndarray, dst: np.ndarray, n: int, n_threads: int, operands: None) -> None:
        seen.append((src.__array_interface__["data"][0], dst.__array_interface__["data"][0]))
        run(program, src, dst, n, n_threads, operands)

    monkeypatch.setattr(dispatch._kernels, "run", spy)
    x = torch.arange(10, dtype=torch.bfloat16)
    got = lp.cast(x, "float8_e5m2")
    assert seen == [(x.data_ptr(), got.data_ptr())]


def test_torch_kinds_that_are_refused() -> None:
    with pytest.raises(TypeError, match="sparse"):
        lp.cast(torch.eye(2).to_sparse(), "float16")
    with pytest.raises(TypeError, match="meta"):
        lp.cast(torch.empty(2, device="meta"), "float16")
    with pytest.raises(TypeError, match="complex64"):
        lp.cast(torch.zeros(2, dtype=torch.complex64), "float16")


@pytest.mark.parametrize("target", NUMERIC, **BY_NAME)
@pytest.mark.parametrize("source", NUMERIC, **BY_NAME)
def test_strict_gives_numpys_bits(source: Format, target: Format) -> None:
    codes = _codes(source, 60)
    native = getattr(strict, source.name, None)
    x = strict.asarray(codes.view(source.dtype) if native is not None else codes)
    got = lp.cast(x, target, source=None if native is not None else source)
    assert got.dtype == lp.carrier(target, strict)
    expected = lp.encode(codes, target, source=source)
    encoded = lp.encode(x, target, source=None if native is not None else source)
    assert encoded.dtype == getattr(strict, f"uint{target.storage_bits}")
    assert _bits(encoded) == expected.tolist()
    if target.is_integer and target.bits < 8:
        expected = lp.decode(expected, target, to="int8" if target.signed else "uint8").view(np.uint8)
    assert _bits(got) == expected.tolist()
    out = strict.zeros_like(got)
    assert lp.cast(x, target, source=None if native is not None else source, out=out) is out
    assert _bits(out) == _bits(got)


@pytest.mark.parametrize("name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"])
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6, 7, 8, 33])
def test_packing_elsewhere(name: str, count: int) -> None:
    x = np.linspace(-9, 9, count).astype(np.float32)
    expected = lp.encode(x, name, packed=True)
    for other in (strict.asarray(x), torch.from_numpy(x)):
        packed = lp.encode(other, name, packed=True)
        assert _bits(packed) == expected.tolist()
        values = lp.decode(packed, name, packed=True, shape=count)
        assert _bits(values) == _bits(lp.decode(expected, name, packed=True, shape=(count,)))
        again = lp.pack(lp.unpack(packed, name, (count,)), name)
        assert _bits(again) == expected.tolist()


def test_codes_of_integers_and_wide_floats_in_strict() -> None:
    x = strict.asarray([-1.0, 3.0, 300.0])
    assert _bits(lp.encode(x, "int8")) == lp.encode(np.array([-1.0, 3.0, 300.0]), "int8").tolist()
    assert lp.encode(x, "int16").dtype == strict.uint16
    values = lp.decode(strict.asarray([255, 1], dtype=strict.uint8), "int8")
    assert np.asarray(values).tolist() == [-1.0, 1.0]
    codes = lp.encode(x, "float32")
    assert codes.dtype == strict.uint32
    assert _bits(codes) == [0xBF800000, 0x40400000, 0x43960000]
    assert np.asarray(lp.decode(codes, "float32", to="int16")).tolist() == [-1, 3, 300]


@pytest.mark.parametrize("target", [fmt for fmt in NUMERIC if fmt.bits <= 16], **BY_NAME)
def test_torch_off_the_host_takes_the_portable_path(target: Format, monkeypatch: pytest.MonkeyPatch) -> None:
    # what a CUDA tensor goes through, on the CPU: the portable path must come back in torch's own dtypes
    x = torch.tensor([0.3, -1000.0, 1e9, float("inf"), float("nan"), -0.0, 2.0**-140])
    expected = lp.encode(x.numpy(), target)
    if target.is_integer and target.bits < 8:
        expected = lp.decode(expected, target, to="int8" if target.signed else "uint8").view(np.uint8)
    monkeypatch.setattr(dispatch, "on_host", lambda x: False)
    got = lp.cast(x, target)
    assert got.dtype == lp.carrier(target, torch_namespace)
    assert _bits(got) == expected.tolist()
    back = lp.cast(got, "float32", source=target)
    monkeypatch.undo()
    assert _bits(back) == _bits(lp.cast(got, "float32", source=target))
