"""Any shape and strides give the same elements; dense layouts are kept, `out` may have any strides."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import lowprec as lp
from lowprec.backends import cpu
from lowprec.spec.formats import NUMERIC, Format


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("threads", [1, 7])
def test_large_strided_arrays(order: str, threads: int) -> None:
    x = np.random.default_rng(1).normal(size=(130, 70, 33)).astype(np.float32)
    x = np.asarray(x, order=order)
    dense = lp.encode(np.ascontiguousarray(x), "float8_e4m3fn")
    lp.set_num_threads(threads)
    assert np.array_equal(lp.encode(x, "float8_e4m3fn"), dense)
    assert np.array_equal(lp.encode(x[::-1, ::3, 5:30:2], "float8_e4m3fn"), dense[::-1, ::3, 5:30:2])
    assert np.array_equal(lp.encode(x.transpose(1, 2, 0)[:, ::-1], "float8_e4m3fn"), dense.transpose(1, 2, 0)[:, ::-1])
    packed = lp.encode(np.ascontiguousarray(x), "float4_e2m1fn", packed=True)
    assert np.array_equal(lp.encode(x, "float4_e2m1fn", packed=True), packed)


SWAPPED = np.dtype(np.float32).newbyteorder()


def test_dense_layouts_become_one_axis(monkeypatch: pytest.MonkeyPatch) -> None:
    axes = []
    run = cpu._kernels.run_strided

    def spy(*arguments: Any) -> None:
        axes.append(run(*arguments))

    monkeypatch.setattr(cpu._kernels, "run_strided", spy)
    lp.cast(np.ones((5, 1, 3, 4), SWAPPED).transpose(3, 0, 2, 1), "float16")
    lp.cast(np.ones((6, 4), SWAPPED)[::2], "float16")
    assert axes == [1, 2]


def test_dense_layouts_are_kept() -> None:
    x = np.asfortranarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert lp.cast(x, "float16").flags.f_contiguous
    turned = np.zeros((2, 3, 4), np.float32).transpose(1, 2, 0)
    assert lp.cast(turned, "float16").strides == tuple(stride // 2 for stride in turned.strides)


@pytest.mark.parametrize("fmt", NUMERIC, ids=lambda fmt: fmt.name)
def test_scalars_become_arrays_without_dimensions(fmt: Format) -> None:
    for scalar in (np.float32(1.0), ml_dtypes.bfloat16(1.0)):
        found = lp.cast(scalar, fmt)
        assert (type(found), found.shape, found.dtype, lp.decode(found, fmt).item()) == (np.ndarray, (), fmt.dtype, 1)


NARROW = ["float8_e4m3fn", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn", "int4", "uint2"]
"""Their dtypes of a byte can be told an order, which means nothing."""


@pytest.mark.parametrize(
    "name", ["float64", "float32", "float16", "bfloat16", "int16", "int32", "int64", "uint64", *NARROW]
)
def test_big_endian(name: str) -> None:
    fmt = lp.formats[name]
    codes = np.random.default_rng(3).integers(0, 1 << fmt.bits, (7, 5), np.uint64).astype(fmt.code_dtype)
    x = codes.view(fmt.dtype)
    swapped = codes.byteswap().view(fmt.dtype.newbyteorder(">"))
    for view, other in ((x, swapped), (x[::2, ::-1], swapped[::2, ::-1]), (x.T, swapped.T)):
        assert np.array_equal(lp.encode(view, "float8_e4m3fn"), lp.encode(other, "float8_e4m3fn"))
        out = np.empty(view.shape, fmt.dtype.newbyteorder(">"))
        lp.cast(view, fmt, out=out)
        assert np.array_equal(out.view(fmt.code_dtype).byteswap(), view.view(fmt.code_dtype))
        assert lp.cast(other, fmt).dtype == fmt.dtype


def test_an_order_of_single_bytes() -> None:
    x = np.linspace(-3, 3, 64, dtype=np.float32).reshape(8, 8)
    dtype = lp.formats["float8_e4m3fn"].dtype
    out, expected = np.empty(x.shape, dtype.newbyteorder(">")), lp.quantize_linear(x, 0.5, output_dtype="float8_e4m3fn")
    for options in ({}, {"output_dtype": "float8_e4m3fn"}):
        out.view(np.uint8).fill(0)
        assert lp.quantize_linear(x, 0.5, out=out, **options) is out
        assert out.tobytes() == expected.tobytes()
    assert np.array_equal(lp.dequantize_linear(out, 0.5), lp.dequantize_linear(expected, 0.5))
    codes = lp.cast(x, "int4")
    assert np.array_equal(lp.pack(codes.view(codes.dtype.newbyteorder(">"))), lp.pack(codes))


def test_subclasses_become_plain_arrays(tmp_path: Any) -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert type(lp.cast(mapped, "float16")) is np.ndarray
    assert np.array_equal(lp.cast(mapped, "float16"), x.astype(np.float16))
