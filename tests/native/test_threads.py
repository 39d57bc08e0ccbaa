"""Threads: forks, the numbers asked for, and the caller's floating-point mode."""

from __future__ import annotations

import concurrent.futures
import os
from typing import Any

import numpy as np
import pytest
from support.optional import optional
from support.paths import printed

import lowprec as lp
from lowprec import _kernels
from lowprec.backends import threads

torch: Any = optional("torch")

X = np.random.default_rng(3).normal(0, 100, 1 << 21).astype(np.float32)


def test_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    lp.set_num_threads(3)
    assert lp.get_num_threads() == (3 if _kernels.openmp() else 1)
    assert threads.threads_for(10) == lp.get_num_threads()
    lp.set_num_threads(None)
    assert threads.threads_for(threads.PARALLEL_FROM - 1) == 1
    assert threads.threads_for(threads.PARALLEL_FROM) == lp.get_num_threads()


def test_with_one_thread_small_calls_are_remembered_too() -> None:
    for asked, small in ((None, True), (1, True), (2, False)):
        lp.set_num_threads(asked)
        assert threads.is_small(10) is small
        assert not threads.is_small(threads.PARALLEL_FROM)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_after_a_parallel_region() -> None:
    code = """
import os, signal, sys, warnings
import numpy as np, lowprec as lp
x = np.arange(1 << 21, dtype=np.float32)
lp.set_num_threads(2)
expected = lp.encode(x, "float8_e5m2")
child = os.fork()
if child == 0:
    signal.alarm(20)
    assert lp.get_num_threads() == 1
    lp.set_num_threads(2)
    os._exit(0 if np.array_equal(lp.encode(x, "float8_e5m2"), expected) else 3)
assert np.array_equal(lp.encode(x, "float8_e5m2"), expected)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert printed(code) == "0\n"


def test_gil_is_released() -> None:
    # While a conversion runs in another thread this one must get to run: a held GIL would let no step through.
    x = np.zeros(1 << 25, np.float32)
    out = np.empty(x.shape, np.uint8)
    lp.set_num_threads(1)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        job = pool.submit(lambda: [lp.encode(x, "float8_e4m3fn", out=out) for _ in range(4)])
        steps = 0
        while not job.done():
            steps += 1
    assert steps > 100


def test_the_mode_is_put_back() -> None:
    assert torch.set_flush_denormal(True)
    try:
        lp.cast(X, "float8_e4m3fn")
        assert (torch.tensor([2.0**-140]) * 1.0).item() == 0.0
    finally:
        torch.set_flush_denormal(False)


SMALL_STACK = """
import os, sys, threading
import numpy as np, lowprec as lp
from lowprec import _kernels
from lowprec.loss import measure

x = np.random.default_rng(0).normal(0, 10, (64, 100)).astype(np.float32)
wide, half = x.astype(np.float64), x.astype(np.float16)
scale, blocks, offset = np.full(100, 0.5, np.float32), np.full((64, 4), 0.5, np.float32), np.full(100, 3, np.int8)
CALLS = [
    lambda: x.astype(np.float16),  # NumPy, for comparison
    lambda: lp.cast(x, "float8_e4m3fn"), lambda: lp.cast(half, "float6_e2m3fn"), lambda: lp.cast(wide, "bfloat16"),
    lambda: lp.encode(x, "int4", packed=True), lambda: lp.encode(wide[:, ::2], "bfloat16"),
    lambda: lp.quantize_linear(x, scale, offset, axis=1),
    lambda: lp.quantize_linear(x[:, ::2], scale[::2], offset[::2], axis=1),
    lambda: lp.quantize_linear(x, blocks, axis=1, block_size=25, output_dtype="float8_e4m3fn"),
    lambda: lp.dequantize_linear(x.astype(np.int8), scale, offset, axis=1),
    lambda: measure(x, lp.as_format("float8_e4m3fn")).sqnr_db,
]
done = []
least = os.sysconf("SC_THREAD_STACK_MIN") if hasattr(os, "sysconf") else 0
for isa in _kernels.available_isas():
    _kernels.use_isa(isa)
    for call in CALLS:
        expected = np.asarray(call()).tobytes()  # what is made once, programs and modules, is there now
        threading.stack_size(max(32 * 1024, least))
        thread = threading.Thread(target=lambda: done.append(np.asarray(call()).tobytes() == expected))
        thread.start()
        thread.join()
        threading.stack_size(0)
print(len(done) == len(CALLS) * len(_kernels.available_isas()) and all(done))
"""


def test_threads_of_a_small_stack() -> None:
    """Python lets a thread have 32 KiB, where the system does; glibc on aarch64 asks for 128 KiB."""
    assert printed(SMALL_STACK) == "True\n"


SMALL_WORKERS = """
import numpy as np, lowprec as lp
x = np.random.default_rng(0).normal(0, 10, (256, 700))
scale = np.full(700, 0.5, np.float32)
CALLS = [
    lambda: lp.encode(x, "bfloat16"), lambda: lp.encode(x[:, ::2], "bfloat16"), lambda: lp.encode(x, "int4"),
    lambda: lp.quantize_linear(x.astype(np.float32), scale, axis=1, output_dtype="int8"),
]
expected = [call() for call in CALLS]
lp.set_num_threads(4)
print(all(np.array_equal(call(), codes) for call, codes in zip(CALLS, expected, strict=True)))
"""


def test_workers_of_a_small_stack() -> None:
    assert printed(SMALL_WORKERS, OMP_STACKSIZE="16k") == "True\n"  # POSIX asks for no more
