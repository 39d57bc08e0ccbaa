"""Packed codes: ONNX's order, every length, against onnx.numpy_helper and against bits moved one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.bits import packed_bytes
from support.optional import optional

import lowprec as lp

onnx: Any = optional("onnx")
numpy_helper: Any = optional("onnx:numpy_helper")

PACKABLE = [fmt for fmt in lp.formats.values() if fmt.bits in (2, 4, 6)]


@pytest.mark.parametrize("fmt", PACKABLE, ids=lambda fmt: fmt.name)
@settings(max_examples=50, deadline=None)
@given(shape=st.lists(st.integers(0, 9), max_size=3), seed=st.integers(0, 999), threads=st.sampled_from([1, 2, 7]))
def test_round_trip(fmt: lp.Format, shape: list[int], seed: int, threads: int) -> None:
    lp.set_num_threads(threads)
    codes = np.random.default_rng(seed).integers(0, 1 << fmt.bits, shape, np.uint8)
    packed = lp.pack(codes, fmt)
    assert packed.tobytes() == packed_bytes(codes, fmt.bits).tobytes()
    back = lp.unpack(packed, fmt, tuple(shape))
    assert back.dtype == fmt.dtype
    assert np.array_equal(back.view(np.uint8) & np.uint8(fmt.code_mask), codes)
    tensor = onnx.TensorProto(data_type=fmt.onnx_enum, dims=shape, raw_data=packed.tobytes())
    assert np.array_equal(numpy_helper.to_array(tensor).view(np.uint8) & np.uint8(fmt.code_mask), codes)
    assert numpy_helper.from_array(back).raw_data == packed.tobytes()
    turned = codes.transpose()
    assert lp.pack(turned, fmt).tobytes() == packed_bytes(turned, fmt.bits).tobytes()


@pytest.mark.parametrize("fmt", PACKABLE, ids=lambda fmt: fmt.name)
@pytest.mark.parametrize("count", [1023, 1024, 1025, 65535, 65536, 65537, 70003])
@pytest.mark.parametrize("threads", [1, 7])
def test_fused_packing_across_tiles_and_chunks(fmt: lp.Format, count: int, threads: int) -> None:
    lp.set_num_threads(threads)
    x = np.random.default_rng(count).normal(0, 3, count).astype(np.float32)
    codes = lp.encode(x, fmt)
    packed = lp.encode(x, fmt, packed=True)
    assert packed.tobytes() == packed_bytes(codes, fmt.bits).tobytes()
    assert np.array_equal(lp.decode(packed, fmt, packed=True, shape=count), lp.decode(codes, fmt))
    strided = np.repeat(x, 2)[::2]
    assert lp.encode(strided, fmt, packed=True).tobytes() == packed.tobytes()
    out = np.empty((count, 2), np.float32)[:, 1]
    assert lp.decode(packed, fmt, packed=True, shape=count, out=out) is out
    assert np.array_equal(out, lp.decode(codes, fmt))
    room = np.zeros((packed.size, 3), np.uint8)
    assert np.array_equal(lp.encode(x, fmt, packed=True, out=room[:, 1]), packed)
    assert not room[:, ::2].any()


@pytest.mark.parametrize("fmt", [fmt for fmt in PACKABLE if fmt.is_integer and fmt.signed], ids=lambda fmt: fmt.name)
def test_sign_extended_values_pack_as_codes(fmt: lp.Format) -> None:
    values = np.arange(fmt.min, fmt.max + 1, dtype=np.int8)
    assert lp.pack(values, fmt).tobytes() == lp.pack(values.astype(fmt.dtype), fmt).tobytes()
