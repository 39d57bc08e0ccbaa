"""Several threads and processes at once: concurrent callers, torch's pool, every start method."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.optional import optional
from support.paths import printed

import lowprec as lp
from lowprec import _kernels
from lowprec.backends import prepared_calls, threads

torch: Any = optional("torch")

X = np.random.default_rng(3).normal(0, 100, 1 << 21).astype(np.float32)
OPENMP = pytest.mark.skipif(not _kernels.openmp(), reason="built without OpenMP")


@OPENMP
def test_one_caller_at_a_time_takes_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    lock, running, most = threading.Lock(), 0, 0

    def spy(n: int, run: Any, *arguments: Any) -> Any:
        def spied(*more: Any) -> Any:
            nonlocal running, most
            with lock:
                running += more[-1]
                most = max(most, running)
            done = run(*more)
            with lock:
                running -= more[-1]
            return done

        return threads.shared(n, spied, *arguments)

    expected = lp.encode(X, "float8_e5m2")
    monkeypatch.setattr(prepared_calls.CASTS, "share", spy)
    lp.set_num_threads(4)
    assert np.array_equal(lp.encode(X, "float8_e5m2"), expected)
    assert most == 4
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: lp.encode(X, "float8_e5m2"), range(30)):
            assert np.array_equal(found, expected)
    assert most <= 4 + 5  # one with its team, each of the others alone
    assert running == 0


@OPENMP
def test_the_team_is_given_back_after_an_error() -> None:
    lp.set_num_threads(2)

    def fail(count: int) -> None:
        assert count == 2
        raise ZeroDivisionError

    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            threads.shared(1 << 22, fail)


POOLS = """
import os, threading, time
import numpy as np, torch, lowprec as lp

def here():
    return len(os.listdir("/proc/self/task"))

def work():
    for _ in range(3):
        lp.encode(x, "float8_e5m2"), lp.cast(t, "bfloat16"), t.mul(2.0)

x = np.ones(1 << 22, np.float32)
t = torch.from_numpy(x)
torch.set_num_threads(4)
lp.set_num_threads(4)
before = here()
work()
alone = here()
for _ in range(30):
    work()
again = here()
callers = [threading.Thread(target=work) for _ in range(8)]
for caller in callers:
    caller.start()
for caller in callers:
    caller.join()
patience = time.monotonic() + 30
while here() > again and time.monotonic() < patience:
    time.sleep(0.1)  # what the callers' threads had started ends a little after them
print(before, alone, again, here())
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="no /proc here")
def test_torchs_pool_and_ours_do_not_add_up() -> None:
    pytest.importorskip("torch")
    before, alone, again, last = map(int, printed(POOLS).split())
    assert alone <= before + 3 + 3 + 4  # both pools, were they two, and some threads that are no pool of ours
    assert again <= alone
    assert last <= again


SCRIPT = """
import multiprocessing, sys
import numpy as np, lowprec as lp

def codes(seed):
    x = np.random.default_rng(seed).normal(0, 100, 1 << 21).astype(np.float32)
    lp.set_num_threads(2)
    return lp.encode(x, "float8_e5m2"), lp.get_num_threads()

if __name__ == "__main__":
    here = [codes(seed)[0] for seed in range(3)]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        found = pool.map_async(codes, range(3)).get(60)
    assert all(np.array_equal(a, b) for a, (b, _) in zip(here, found))
    print(*{count for _, count in found})
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes(method: str, tmp_path: Path) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    path = tmp_path / "job.py"
    path.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(path), method], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["1" if method == "fork" or not _kernels.openmp() else "2"]


@pytest.mark.slow
def test_a_process_pool_whose_workers_call_from_threads(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(
        SCRIPT.replace("def codes(seed):", "def codes(seed):\n    return both(seed)[0]\n\ndef one(seed):").replace(
            "if __name__",
            """def both(seed):
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(one, [seed] * 6))

if __name__""",
        )
    )
    done = subprocess.run([sys.executable, str(path), "fork"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


def test_torch_forks_with_our_conversions() -> None:
    """A DataLoader forks its workers after a parallel region, and each of them converts."""

    class Rows(torch.utils.data.Dataset[Any]):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> torch.Tensor:
            return lp.cast(torch.full((1 << 20,), index + 0.3), "bfloat16").float()[:2]

    lp.set_num_threads(2)
    lp.encode(X, "int8")
    loader = torch.utils.data.DataLoader(
        Rows(), batch_size=2, num_workers=2, multiprocessing_context="fork", timeout=60
    )
    found = torch.cat(list(loader))
    expected = torch.tensor([[i + 0.3] * 2 for i in range(4)]).bfloat16().float()
    assert torch.equal(found, expected)


@pytest.mark.parametrize("workers", [1, 3])
def test_callers_use_the_memory_of_scales_in_turn(workers: int) -> None:
    """Scales in float16, and zero points, are converted to memory that is kept for the next call."""
    codes = np.random.default_rng(workers).integers(-100, 101, (1 << 15, 32)).astype(np.int8)

    def is_right(seed: int) -> bool:
        rng = np.random.default_rng(seed)
        scale = (2.0 ** rng.integers(-3, 4, (len(codes), 1))).astype(np.float16)
        zero = rng.integers(-20, 21, scale.shape).astype(np.int8)
        values = lp.dequantize_linear(codes, scale, zero, axis=1, block_size=32, output_dtype="float32")
        return np.array_equal(values, (codes.astype(np.float32) - zero) * scale)

    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        assert all(pool.map(is_right, range(12)))
