"""CastLike and BitCast: the target format comes from another array; the bits are unchanged in every library."""

from __future__ import annotations

import types
from typing import Any

import numpy as np
import pytest
from support.optional import Missing, optional

import lowprec as lp

torch: Any = optional("torch")

BITCASTABLE = [fmt for fmt in lp.formats.values() if fmt.bits and (fmt.since or 0) <= 26]
PAIRS = [(a, b) for a in BITCASTABLE for b in BITCASTABLE if a.bits == b.bits]


def _codes(fmt: lp.Format) -> np.ndarray:
    """Every code of up to 8 bits, or random bytes."""
    if fmt.bits <= 8:
        return np.arange(1 << fmt.bits, dtype=np.uint8)
    return np.random.default_rng(fmt.bits).integers(0, 256, 24 * fmt.bits // 8, np.uint8)


def _bytes(x: Any, fmt: lp.Format) -> bytes:
    if not isinstance(torch, Missing) and isinstance(x, torch.Tensor):
        x = x.view(torch.uint8) if x.dtype != torch.bool else x.to(torch.uint8)
    found = np.ascontiguousarray(np.asarray(x)).view(np.uint8)
    return (found & np.uint8(fmt.code_mask if fmt.bits < 8 else 255)).tobytes()


@pytest.mark.parametrize(("source", "target"), PAIRS, ids=lambda fmt: fmt.name)
def test_bits_stay(source: lp.Format, target: lp.Format) -> None:
    x = _codes(source).view(source.dtype)
    got = lp.bitcast(x, target)
    assert got.dtype == target.dtype
    assert _bytes(got, target) == _codes(source).tobytes()
    assert _bytes(lp.bitcast(got, source), source) == _codes(source).tobytes()
    if target.bits >= 8:
        assert np.shares_memory(got, x)
    for view in (x[::-1], x[::2], x.reshape(2, -1).T, x[:1].reshape(()), np.broadcast_to(x[1:2], (3, 1)), x[:0]):
        there = lp.bitcast(view, target)
        assert there.shape == view.shape
        assert _bytes(there, target) == _bytes(view, source)
    x.flags.writeable = False
    assert _bytes(lp.bitcast(x, target), target) == _codes(source).tobytes()


@pytest.mark.parametrize(("source", "target"), [(a, b) for a, b in PAIRS if a.torch_name], ids=lambda fmt: fmt.name)
def test_torch(source: lp.Format, target: lp.Format) -> None:
    codes = torch.from_numpy(_codes(source).copy())
    x = codes.view(getattr(torch, source.torch_name or ""))
    got = lp.bitcast(x, target)
    assert got.dtype == lp.storage_dtype(target, torch)
    assert got.shape == x.shape
    assert got.data_ptr() == x.data_ptr()
    assert lp.bitcast(got, source, source=target).view(torch.uint8).tolist() == codes.tolist()


class Viewed:
    """An array of a library that has views and gives its memory to no other, as some on devices do."""

    device = "a device"

    def __init__(self, held: np.ndarray) -> None:
        self.held, self.dtype, self.shape = held, held.dtype, held.shape

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return VIEWING

    def view(self, dtype: Any) -> Viewed:
        return Viewed(self.held.view(dtype))


VIEWING = types.ModuleType("viewing")
for name in ("uint32", "int32", "float32"):
    setattr(VIEWING, name, np.dtype(name))


def test_libraries_with_views() -> None:
    memory = np.array([1.0, -2.5], np.float32)
    got = lp.bitcast(Viewed(memory), "int32")
    assert isinstance(got, Viewed)
    assert got.held.tolist() == [0x3F800000, -0x3FE00000]
    assert np.shares_memory(got.held, memory)


def test_special_bits() -> None:
    assert lp.bitcast(np.array([2, 255], np.uint8), "bool").view(np.uint8).tolist() == [2, 255]
    assert lp.bitcast(np.array([0x7F800001], np.uint32), "float32").view(np.uint32).tolist() == [0x7F800001]
    swapped = np.array([1.0, -2.5], ">f4")
    assert lp.bitcast(swapped, "int32").tolist() == [0x3F800000, -0x3FE00000]
    assert lp.bitcast(np.float32(1.0), "uint32").item() == 0x3F800000
    assert lp.bitcast(torch.ones(2, requires_grad=True), "int32").tolist() == [0x3F800000] * 2
    float6 = lp.bitcast(np.array([33], np.uint8), "float6_e3m2fn", source="float6_e2m3fn")
    assert float6.dtype == lp.formats["float6_e3m2fn"].dtype
    assert float6.view(np.uint8).tolist() == [33]


def test_cast_like_ignores_the_library_of_like() -> None:
    got = lp.cast_like(np.array([1.5]), torch.zeros(3, dtype=torch.float8_e5m2))
    assert isinstance(got, np.ndarray)
    assert got.dtype == lp.formats["float8_e5m2"].dtype
    out = np.empty(1, lp.formats["float8_e5m2"].dtype)
    assert lp.cast_like(np.array([1.5]), got, out=out) is out


def test_versions_are_those_of_onnx() -> None:
    defs = pytest.importorskip("onnx.defs")

    from lowprec.spec.operator_versions import VERSIONS

    for operator, versions in VERSIONS.items():
        schemas = [s for s in defs.get_all_schemas_with_history() if s.name == operator and not s.domain]
        assert sorted(schema.since_version for schema in schemas) == list(versions)
        for schema in schemas if operator in ("Cast", "CastLike", "BitCast") else ():
            for constraint in schema.type_constraints:
                theirs = {text.removeprefix("tensor(").removesuffix(")") for text in constraint.allowed_type_strs}
                ours = {
                    f.onnx_name.lower()
                    for f in lp.formats.values()
                    if f.since is not None and f.since <= schema.since_version
                }
                ours -= {"string"} if operator == "BitCast" else {"complex64", "complex128"}
                assert theirs == ours, (operator, schema.since_version)
            for attribute, since in (("saturate", 19), ("round_mode", 24)) if operator == "Cast" else ():
                assert (attribute in schema.attributes) == (schema.since_version >= since)
