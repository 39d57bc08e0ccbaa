"""Outputs stored past the caches hold the same elements, at every alignment, and nothing around them changes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

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


@pytest.mark.parametrize("isa", _kernels.available_isas())
@pytest.mark.parametrize(("source", "target"), CASTS)
def test_every_alignment(source: str, target: str, isa: str) -> None:
    _kernels.use_isa(isa)
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
