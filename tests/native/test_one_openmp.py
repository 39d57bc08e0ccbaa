"""One OpenMP in a process: torch and lowprec share the library that is loaded first, and a fork after both converts."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
from support.paths import printed

from lowprec import _kernels

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
    pytest.mark.skipif(not _kernels.openmp(), reason="the serial kernels are in use"),
]

MAPPED = """
import numpy as np
import {first}
import {second}
import lowprec as lp
lp.set_num_threads(2)
torch.set_num_threads(2)
lp.encode(np.ones(1 << 14, np.float32), "float8_e5m2")
torch.ones(1 << 20).add_(1)
with open("/proc/self/maps") as maps:
    files = {{line.split()[-1] for line in maps if "libgomp" in line}}
print(len(files), *files)
"""

FORK = """
import os, signal
import numpy as np, torch
import lowprec as lp
x = np.tile(np.float32([0.3, -1000.0, 2.0**-10, np.inf]), 1 << 18)  # float8_e5m2: 0.3125, -1024, 2^-10, 57344
codes = np.tile(np.uint8([0x35, 0xE4, 0x14, 0x7B]), 1 << 18)
lp.set_num_threads(2)
torch.set_num_threads(2)

def right():
    tensor = torch.from_numpy(x)
    ours = np.array_equal(lp.encode(x, "float8_e5m2"), codes)
    of_torch = bool((lp.cast(tensor, "float8_e5m2").view(torch.uint8) == torch.from_numpy(codes)).all())
    return ours and of_torch and int(torch.arange(1 << 20).sum()) == (1 << 19) * ((1 << 20) - 1)

assert lp.get_num_threads() == 2 and right()
child = os.fork()
if child == 0:
    signal.alarm(60)
    torch.set_num_threads(1)  # as a DataLoader does in each worker: libgomp's threads do not survive a fork
    os._exit(0 if right() else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
assert right()
"""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no list of the files in memory here")
@pytest.mark.parametrize("order", [("torch", "lowprec"), ("lowprec", "torch")], ids="-".join)
def test_one_library_is_in_memory(order: tuple[str, str]) -> None:
    count, *files = printed(MAPPED.format(first=order[0], second=order[1])).split()
    assert count == "1", files


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_after_threads_of_both() -> None:
    assert printed(FORK) == "0\n"
