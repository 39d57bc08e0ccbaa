"""Many callers at once, on threads and in forks, get the bits that one caller gets; .ci/sanitize --thread runs it.

PYTHONPATH=tests python tests/proof/check_concurrent_calls.py --minutes 10 --seed 1
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Callable

import numpy as np
from support.long_run import circumstances, until

import lowprec as lp
from lowprec import _kernels

TARGETS = ("float8_e4m3fn", "float8_e5m2", "bfloat16", "float16", "float4_e2m1fn", "float6_e3m2fn", "int8", "int4")
Call = Callable[[], np.ndarray]


def draw(rng: np.random.Generator) -> Call:
    """Return a call whose arguments are arrays that all callers share."""
    shape = (int(rng.integers(1, 60)), int(rng.integers(1, 1500)))
    x = np.asarray(rng.normal(0, 50, shape)).astype(rng.choice(["f2", "f4", "f8"]))
    if rng.random() < 0.3:
        x = x[:, ::2]
    target = str(rng.choice(TARGETS))
    kind = rng.integers(4)
    if kind == 0:
        return lambda: np.asarray(lp.encode(x, target))
    if kind == 1:
        return lambda: np.asarray(lp.encode(x, target, packed=lp.as_format(target).bits in (4, 6)))
    x = x.astype(np.float32)
    scale = np.asarray(rng.uniform(0.1, 3, x.shape[1]), np.float32)
    name = str(rng.choice(["int8", "int4", "float8_e4m3fn", "uint16"]))
    if kind == 2:
        return lambda: np.asarray(lp.quantize_linear(x, scale, axis=1, output_dtype=name))
    codes = lp.quantize_linear(x, scale, axis=1, output_dtype=name)
    return lambda: np.asarray(lp.dequantize_linear(codes, scale, axis=1))


def at_once(calls: list[Call], callers: int) -> list[list[bytes]]:
    """Return what each caller gets of each call; all start together, each with another call."""
    found: list[list[bytes]] = [[] for _ in range(callers)]
    start = threading.Barrier(callers)

    def work(caller: int) -> None:
        start.wait()
        made = {i % len(calls): calls[i % len(calls)]().tobytes() for i in range(caller, caller + len(calls))}
        found[caller] = [made[i] for i in sorted(made)]

    threads = [threading.Thread(target=work, args=(caller,)) for caller in range(callers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def in_a_fork(calls: list[Call], expected: list[bytes]) -> bool:
    """Whether a child process gets the same, after the parallel loops of its parent."""
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        os._exit(0 if [call().tobytes() for call in calls] == expected else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def main(arguments: list[str]) -> int:
    """Run, print counts and failures, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long to go on")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    made = failures = forks = 0
    for number in until(options.minutes):
        rng = np.random.default_rng([options.seed, number])
        calls = [draw(rng) for _ in range(6)]
        _kernels.use_isa(str(rng.choice(_kernels.available_isas())))
        lp.set_num_threads(int(rng.integers(2, 5)))
        callers = int(rng.integers(2, 7))
        found = at_once(calls, callers)  # first: the plans and programs are made by many at once
        lp.set_num_threads(1)
        expected = [call().tobytes() for call in calls]
        same = found == [expected] * callers
        if number % 8 == 0 and hasattr(os, "fork"):
            lp.set_num_threads(2)
            forks += 1
            same = in_a_fork(calls, expected) and same
        made += len(calls) * callers
        if not same:
            failures += 1
            print(f"--seed {options.seed}, round {number}: other bits", flush=True)
    print(f"seed {options.seed}: {made:,} calls at once, {forks:,} forks, {failures} differences")
    print(circumstances())
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
