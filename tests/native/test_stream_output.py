"""Stores past the caches, and prefetching, change no element of large outputs, and nothing around them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from support.paths import printed

import lowprec as lp
from lowprec import _kernels
from lowprec.spec.formats import as_format

CASTS = [("float16", "float32"), ("bfloat16", "float32"), ("float32", "float64"), ("float16", "float64")]
COUNTS = [1, 7, 15, 16, 17, 31, 100, 511, 512, 513, 1024, 2061, 5000]


@pytest.fixture(autouse=True)
def _all_outputs() -> Iterator[None]:
    before = _kernels.stream_from(1)
    yield
    _kernels.stream_from(before)


@pytest.mark.usefixtures("tier")
@pytest.mark.parametrize(("source", "target"), CASTS)
def test_every_alignment(source: str, target: str) -> None:
    src, dst = as_format(source), as_format(target)
    rng = np.random.default_rng(len(source + target))
    for count in COUNTS:
        x = rng.standard_normal(count).astype(src.dtype)
        for offset in (0, 1, 2, 3, 5, 8, 15):
            room = np.full(count + 40, 7, dst.dtype)
            start = 16 - room.ctypes.data % 64 // room.itemsize % 16 + offset
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


def test_a_threshold_is_returned() -> None:
    assert _kernels.stream_from(5) == 1
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
