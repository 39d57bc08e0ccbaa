"""Between libraries: codes unchanged, memory shared where possible, formats kept by files, DLPack and pickle."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest
from support.array_libraries import JaxCompiled, Library, codes_of, library
from support.optional import optional

import lowprec as lp
from lowprec.spec.formats import NUMERIC, Format

torch: Any = optional("torch")
make_fx: Any = optional("torch.fx.experimental.proxy_tensor:make_fx")

BY_NAME = {"ids": lambda fmt: fmt.name}


@pytest.fixture
def xp(xp: Library) -> Library:
    """Give every library but one: what is being traced holds nothing."""
    if isinstance(xp, JaxCompiled):
        pytest.skip("what is being traced holds nothing")
    return xp


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_every_library_to_numpy_and_torch(xp: Library, fmt: Format) -> None:
    codes = codes_of(fmt)
    with xp.session(fmt), library("torch") as other:
        x = xp.hold(codes, fmt)
        array, tensor = lp.to_numpy(x, xp.source_for(fmt)), lp.to_torch(x, xp.source_for(fmt))
        assert array.dtype == fmt.dtype
        assert np.array_equal(array.view(fmt.code_dtype), codes)
        assert tensor.dtype == lp.storage_dtype(fmt, torch)
        assert np.array_equal(other.codes(tensor, fmt), codes)
        bare = xp.wrap(codes)  # codes in unsigned integers, wherever they come from
        assert np.array_equal(lp.to_numpy(bare, fmt).view(fmt.code_dtype), codes)
        assert np.array_equal(other.codes(lp.to_torch(bare, fmt), fmt), codes)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (2, 3)], ids=str)
def test_shapes(xp: Library, shape: tuple[int, ...]) -> None:
    x = xp.wrap(np.arange(int(np.prod(shape)), dtype=np.uint8).reshape(shape))
    assert lp.to_numpy(x, "float8_e5m2").shape == shape
    assert tuple(lp.to_torch(x, "float8_e5m2").shape) == shape


@pytest.mark.one_in(5)
@pytest.mark.parametrize("fmt", NUMERIC, **BY_NAME)
def test_every_library_to_jax(xp: Library, fmt: Format) -> None:
    pytest.importorskip("jax")
    codes = codes_of(fmt)
    with library("jax") as other, xp.session(fmt), other.session(fmt):
        x = xp.hold(codes, fmt)
        array = lp.to_jax(x, xp.source_for(fmt))
        assert array.dtype == lp.storage_dtype(fmt, other.namespace)
        assert np.array_equal(other.codes(array, fmt), codes)
        assert (array is x) is isinstance(x, other.xp.Array)
        bare = lp.to_jax(xp.wrap(codes), fmt)
        assert bare.dtype == array.dtype
        assert np.array_equal(other.codes(bare, fmt), codes)


def test_to_jax_copies_and_traces() -> None:
    jax = pytest.importorskip("jax")
    x = np.arange(4096).astype(np.uint8)
    array = lp.to_jax(x, "float8_e5m2")
    x[:] = 7
    assert lp.to_numpy(array).view(np.uint8).tolist() == np.arange(4096).astype(np.uint8).tolist()
    assert lp.to_jax(np.arange(6.0, dtype=np.float32)[::-2]).tolist() == [5, 3, 1]
    assert lp.to_jax(np.array([1.5], ">f4")).tolist() == [1.5]
    codes = jax.numpy.arange(8, dtype="uint8")
    traced = jax.jit(lambda x: lp.to_jax(x, "float8_e4m3fn"))(codes)
    assert np.array_equal(lp.to_numpy(traced).view(np.uint8), np.arange(8))
    assert jax.jit(lambda x: lp.to_jax(x, "int4"))(codes.astype("int8") - 4).tolist() == list(range(-4, 4))
    assert lp.to_jax(torch.ones(2, requires_grad=True)).tolist() == [1, 1]


def test_to_jax_refuses() -> None:
    pytest.importorskip("jax")
    with pytest.raises(TypeError, match="JAX holds float64 only with its 64-bit types switched on"):
        lp.to_jax(np.zeros(2))
    with pytest.raises(ValueError, match="must hold codes of `source` bfloat16 in bfloat16 or uint16; got dtype uint8"):
        lp.to_jax(np.zeros(2, np.uint8), source="bfloat16")
    with pytest.raises(TypeError, match="`x` must be a dense torch tensor with data"):
        lp.to_jax(torch.zeros(2, device="meta"))
    with pytest.raises(TypeError, match="`x` must be an array that torch does not trace"):
        make_fx(lambda x: lp.to_jax(x))(torch.zeros(2))


@pytest.mark.parametrize("name", ["JAX", "torch"])
def test_without_the_library(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name.lower(), None)
    with pytest.raises(ImportError, match=f"`to_{name.lower()}` needs {name}, which is not installed"):
        getattr(lp, f"to_{name.lower()}")(np.zeros(2))


def _address(x: Any) -> int:
    if isinstance(x, torch.Tensor):
        return int(x.data_ptr())
    return int(x.__array_interface__["data"][0]) if isinstance(x, np.ndarray) else int(x.unsafe_buffer_pointer())


@pytest.mark.parametrize("name", ["float8_e4m3fn", "bfloat16", "float4_e2m1fn", "uint4", "float64", "bool"])
def test_memory_is_shared(name: str) -> None:
    fmt = lp.as_format(name)
    codes = np.resize(np.array([1, 0, 1], fmt.code_dtype), (40, 60))
    for array in (codes.view(fmt.dtype), codes, codes[::2, 3::5], codes.T):
        tensor = lp.to_torch(array, fmt)
        assert _address(tensor) == _address(array)
        assert tuple(step * array.itemsize for step in tensor.stride()) == array.strides
        assert _address(lp.to_numpy(tensor, fmt)) == _address(array)
        assert _address(lp.to_torch(tensor, fmt)) == _address(array)
        assert _address(lp.to_numpy(array, fmt)) == _address(array)
    held = strict.asarray(codes)
    assert lp.to_numpy(held, fmt).ctypes.data == np.from_dlpack(held).ctypes.data


def test_jax_memory_is_shared_and_stays_read_only() -> None:
    jax = pytest.importorskip("jax")
    x = jax.numpy.arange(100, dtype="bfloat16")
    array = lp.to_numpy(x)
    assert _address(array) == _address(x)
    assert not array.flags.writeable
    tensor = lp.to_torch(x)  # torch knows no memory that must not be written to
    assert tensor.dtype == torch.bfloat16
    assert _address(tensor) != _address(x)


def test_what_cannot_be_shared_is_copied() -> None:
    array = np.arange(6, dtype=np.uint8)
    array.flags.writeable = False
    tensor = lp.to_torch(array, "float8_e5m2")
    tensor.view(torch.uint8)[0] = 9
    assert array[0] == 0
    assert lp.to_torch(np.arange(4.0)[::-1]).tolist() == [3, 2, 1, 0]
    fields = np.zeros(3, [("a", "u1"), ("b", "f4")])["b"]
    assert lp.to_torch(fields).tolist() == [0, 0, 0]
    swapped = np.array([1.5, -2.0], ">f4")
    assert lp.to_numpy(swapped).dtype == np.dtype("<f4")
    assert lp.to_numpy(swapped).tolist() == lp.to_torch(swapped).tolist() == [1.5, -2.0]
    assert lp.to_torch(np.float32(2.5)).tolist() == 2.5


def test_bits_above_a_narrow_code_are_cleared() -> None:
    dirty = np.array([0xF1, 0x0F, 0x80], np.uint8)
    assert lp.to_numpy(dirty, "float4_e2m1fn").view(np.uint8).tolist() == [1, 15, 0]
    assert lp.to_numpy(dirty.view(np.int8), "int4").tolist() == [1, -1, 0]
    assert lp.to_torch(dirty, "int4").tolist() == [1, -1, 0]
    assert lp.to_torch(torch.from_numpy(dirty), "int4").tolist() == [1, -1, 0]
    values = torch.tensor([1, -1, -8], dtype=torch.int8)
    assert lp.to_torch(values, "int4").data_ptr() == values.data_ptr()
    assert lp.to_numpy(values, "int4").view(np.uint8).tolist() == [1, 15, 8]


def test_traced_arrays_hold_nothing() -> None:
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError, match="`x` must hold something; got a JAX array that is being traced"):
        jax.jit(lambda x: lp.to_numpy(x))(jax.numpy.ones(2))


@pytest.mark.parametrize("fmt", [fmt for fmt in NUMERIC if fmt.bits <= 16], **BY_NAME)
def test_formats_and_codes_survive_pickle(xp: Library, fmt: Format) -> None:
    if xp.xp.__name__ == "array_api_strict":
        pytest.skip("its arrays are not pickled")
    x, stream = xp.hold(codes_of(fmt), fmt), io.BytesIO()
    if xp.xp is torch:  # which pickles its newer types in files of its own alone
        torch.save((x, fmt.name), stream)
        stream.seek(0)
        back, name = torch.load(stream)
        found = lp.as_format(name)
    else:
        back, found = pickle.loads(pickle.dumps((x, fmt)))
    assert found is fmt
    assert back.dtype == x.dtype
    assert np.array_equal(lp.to_numpy(back, xp.source_for(found)).view(fmt.code_dtype), codes_of(fmt))
