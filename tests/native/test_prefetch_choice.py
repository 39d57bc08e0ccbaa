"""Prefetching is measured by the first large conversion, in chunks of it, and changes no element."""

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
shown = [lp.build_info()["prefetch"]]
large = lp.quantize_linear(x.reshape(-1, 96), scale, axis=1, block_size=96, output_dtype="int8")
shown.append(lp.build_info()["prefetch"])
again = lp.quantize_linear(x.reshape(-1, 96), scale, axis=1, block_size=96, output_dtype="int8")
wanted = np.clip(np.rint(x.reshape(-1, 96) / scale), -128, 127).astype(np.int8)
print(shown[0], type(shown[1]).__name__, np.array_equal(large, wanted), np.array_equal(again, wanted))
"""


def _shown(n: int, threads: int) -> str:
    code = CODE.format(n=n, threads=threads)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_large_conversion_measures(threads: int) -> None:
    assert _shown(96 * 70_001, threads) == "None bool True True"


def test_small_conversions_do_not() -> None:
    assert _shown(96 * 1000, 1) == "None NoneType True True"
