"""Prefetching is measured by the first large conversion into memory that was written, and changes no element."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def _shown(n: int, threads: int) -> str:
    code = CODE.format(n=n, threads=threads)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_large_conversion_measures(threads: int) -> None:
    assert _shown(96 * 70_001, threads) == "None bool"


def test_small_conversions_do_not() -> None:
    assert _shown(96 * 1000, 1) == "None NoneType"
