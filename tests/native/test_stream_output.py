"""Stores past the caches, and prefetching, change no element of large outputs, and nothing around them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.paths import printed

import lowprec as lp
from lowprec import _kernels
from lowprec.spec.formats import as_format

CASTS = [
    ("float16", "float32"), ("bfloat16", "float32"), ("float32", "float64"), ("float16", "float64"),
    ("int8", "float32"), ("float32", "int8"), ("float64", "int16"), ("int8", "int64"), ("int64", "int8"),
]  # fmt: skip
COUNTS = [1, 7, 15, 16, 17, 31, 100, 511, 512, 513, 1024, 1200, 2061, 5000, 20_000]


@pytest.fixture(autouse=True)
def _all_outputs() -> Iterator[None]:
    before = _kernels.stream_from(-1)
    yield
    _kernels.stream_from(before)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize(("source", "target"), CASTS)
def test_every_alignment(source: str, target: str) -> None:
    src, dst = as_format(source), as_format(target)
    rng = np.random.default_rng(len(source + target))
    for count in COUNTS:
        x = (50 * rng.standard_normal(count)).astype(src.dtype)
        for offset in (0, 1, 2, 3, 5, 8, 15):
            room = np.full(count + 90, 7, dst.dtype)
            start = 64 - room.ctypes.data % 64 // room.itemsize % 64 + offset
            lp.cast(x, dst, out=room[start : start + count])
            assert np.array_equal(room[start : start + count], x.astype(dst.dtype)), (count, offset)
            assert np.all(np.delete(room, np.s_[start : start + count]) == 7), (count, offset)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads(threads: int) -> None:
    lp.set_num_threads(threads)
    x = np.random.default_rng(threads).standard_normal(300_001).astype(np.float16)
    out = np.ones(x.size + 1, np.float32)
    lp.cast(x, "float32", out=out[1:])
    assert np.array_equal(out[1:], x.astype(np.float32))
    assert out[0] == 1


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("zero_points", [False, True])
@pytest.mark.parametrize("block", [0, 1, 32, 96])  # one scale; one for each column; blocks, of a power of two or not
@pytest.mark.parametrize("threads", [1, 2])
def test_scales(threads: int, block: int, zero_points: bool) -> None:
    lp.set_num_threads(threads)
    rng = np.random.default_rng(block)
    shape = (97, 1536)
    scale = rng.integers(1, 9, () if block == 0 else shape[1] if block == 1 else (shape[0], shape[1] // block)) / 4
    zero = rng.integers(-5, 6, scale.shape).astype(np.int8) if zero_points else None
    options = {} if block == 0 else {"axis": 1} if block == 1 else {"axis": 1, "block_size": block}
    every = [np.asarray(a, np.float64) for a in (scale, np.zeros(scale.shape) if zero is None else zero)]
    scales, zeros = (a if block < 2 else np.repeat(a, block, 1) for a in every)
    codes = rng.integers(-128, 128, shape).astype(np.int8)
    values = (codes.astype(np.float64) - zeros) * scales
    for offset in (0, 1, 3, 16):
        room = np.full(codes.size + 40, 7, np.float32)
        out = room[offset : offset + codes.size].reshape(shape)
        lp.dequantize_linear(codes, scale.astype(np.float32), zero, out=out, **options)
        assert np.array_equal(out, values)
        bytes_ = np.full(codes.size + 40, 7, np.int8)
        found = bytes_[offset : offset + codes.size].reshape(shape)
        dtype = None if zero_points else "int8"
        lp.quantize_linear(
            values.astype(np.float32), scale.astype(np.float32), zero, output_dtype=dtype, out=found, **options
        )
        assert np.array_equal(found, codes)
        assert np.all(np.delete(room, np.s_[offset : offset + codes.size]) == 7)
        assert np.all(np.delete(bytes_, np.s_[offset : offset + codes.size]) == 7)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("fmt", ["int4", "uint2", "float4_e2m1fn", "float6_e2m3fn"])
def test_packed_codes(fmt: str) -> None:
    row = as_format(fmt)
    table = np.arange(1 << row.bits, dtype=np.uint8).view(row.dtype).astype(np.float32)
    for count in (2056, 2061, 5000, 20_001):
        codes = np.random.default_rng(count).integers(0, 1 << row.bits, count, dtype=np.uint8)
        packed = np.packbits((codes[:, None] >> np.arange(row.bits)) & 1, bitorder="little")
        for offset in (0, 1, 2, 3, 16):
            values = np.full(count + 40, 7, np.float32)
            lp.decode(packed, row, packed=True, shape=count, out=values[offset : offset + count])
            assert np.array_equal(values[offset : offset + count], table[codes])
            assert np.all(np.delete(values, np.s_[offset : offset + count]) == 7)
            room = np.full(packed.size + 40, 7, np.uint8)
            lp.encode(table[codes], row, packed=True, out=room[offset : offset + packed.size])
            assert np.array_equal(room[offset : offset + packed.size], packed)
            assert np.all(np.delete(room, np.s_[offset : offset + packed.size]) == 7)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize("random_bits", [8, 16, 32])
@pytest.mark.parametrize("source", ["float32", "bfloat16", "float16"])
def test_random_numbers_are_those_of_the_elements(source: str, random_bits: int) -> None:
    x = lp.cast(np.random.default_rng(random_bits).standard_normal(150_001).astype(np.float32), source)
    options = {"rounding": "stochastic", "random_bits": random_bits, "seed": 5}
    for fmt in ("float8_e4m3fn", "bfloat16"):
        streamed = lp.encode(x, fmt, **options, out=np.zeros(x.size + 1, as_format(fmt).code_dtype)[1:])
        parts = [lp.encode(x[i : i + 1000], fmt, **options, offset=i) for i in range(0, x.size, 1000)]  # kept in cache
        assert np.array_equal(streamed, np.concatenate(parts))


@pytest.mark.parametrize("threads", [1, 2])
def test_calls_that_measure_both_ways(threads: int) -> None:
    _kernels.stream_from(1)
    lp.set_num_threads(threads)
    for n in (5000, 3_000_000):
        codes = np.random.default_rng(n).integers(-100, 101, n).astype(np.int8)
        for values in (codes.astype(np.float32), codes.astype(np.float64)):
            for i in range(35 if n < 10000 else 8):
                out = np.full(n + 1, 7, np.int8)
                lp.cast(values, "int8", out=out[:-1])
                assert np.array_equal(out[:-1], codes), (n, i)
                assert out[-1] == 7


def test_a_threshold_is_returned() -> None:
    assert _kernels.stream_from(5) == -1
    assert _kernels.stream_from(1) == 5


CODE = """
import numpy as np
import lowprec as lp

lp.set_num_threads({threads})
x = np.random.default_rng(1).standard_normal({n}, dtype=np.float32)
scale = np.random.default_rng(2).uniform(0.01, 0.02, (x.size // 96, 1)).astype(np.float32)
out = np.full((x.size // 96, 96), 77, np.int8)
shown = []
for _ in range(2):
    shown.append(lp.build_info()["prefetch"])
    lp.quantize_linear(x.reshape(-1, 96), scale, axis=1, block_size=96, output_dtype="int8", out=out)
    wanted = np.clip(np.rint(x.reshape(-1, 96) / scale), -128, 127).astype(np.int8)
    assert np.array_equal(out, wanted)
print(shown[0], type(shown[1]).__name__)
"""


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_large_conversion_measures(threads: int) -> None:
    assert printed(CODE.format(n=96 * 70_001, threads=threads)) == "None bool\n"


def test_small_conversions_do_not() -> None:
    assert printed(CODE.format(n=96 * 1000, threads=1)) == "None NoneType\n"
