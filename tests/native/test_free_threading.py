"""Free-threaded CPython: the import leaves the GIL off, and callers in threads get the same bits; skipped on others."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import lowprec as lp

pytestmark = pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a GIL")

THREADS = 8
PROGRAM = "import sys, lowprec as lp; lp.cast.__name__; print(sys._is_gil_enabled())"


def test_the_import_leaves_the_gil_off() -> None:
    command = [sys.executable, "-X", "gil=0", "-W", "error", "-c", PROGRAM]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
    command = [sys.executable, "-W", "error", "-c", PROGRAM]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_threads_that_make_plans_and_convert_at_once() -> None:
    x = np.arange(-4096, 4096, dtype=np.float32)
    scale = np.full(64, 0.5, np.float32)
    targets = ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "float16", "binary8p3se", "int4")
    start = Barrier(THREADS)

    def convert(number: int) -> list[bytes]:
        start.wait()
        found: list[Any] = []
        for turn in range(50):
            rows = x[: 64 * (turn + 1)].reshape(64, -1)
            found += [lp.encode(rows, target) for target in targets]
            found += [lp.quantize_linear(rows, scale, output_dtype="int8", axis=0)]
            found += lp.mx_quantize(x[: 32 * (turn + 1)], "float8_e4m3fn")
            found += [lp.encode(rows, "float8_e5m2", rounding="stochastic", seed=turn)]
        return [np.asarray(array).tobytes() for array in found]

    with ThreadPoolExecutor(THREADS) as pool:
        first, *others = pool.map(convert, range(THREADS))
    assert all(other == first for other in others)
