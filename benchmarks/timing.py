"""Times contenders in turn in one process, the copy that is their unit among them: least and median of many rounds."""

from __future__ import annotations

import ctypes
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

SAMPLE = 200e-6
"""Seconds that a sample takes at least: so many calls are repeated in it."""
clock: Callable[[], float] = time.perf_counter
"""Returns the seconds that are counted; `time.process_time` where other work shares the cores."""
BORDER = 64
"""Bytes of the widest vectors of roof.c."""
MOST_ROUNDS = 1000
FEWEST_ROUNDS = 3
SHARE = 0.12
"""Of the seconds of a case, what one peer may take."""


@dataclass(frozen=True)
class Contender:
    """What is timed: `run(repeats)` converts so many times. `before` and `after` set and reset the process, untimed."""

    run: Callable[[int], Any]
    threads: int = 1
    before: Callable[[], Any] | None = None
    after: Callable[[], Any] | None = None
    limited: bool = False
    """A peer: it takes part until it has taken its share of the time."""
    known: float = 0
    """Seconds of a call made before; it is the only sample where another one would take too long."""
    keep: object = None
    """What must stay alive while `run` may be called."""

    def time(self, repeats: int, warm: bool) -> float:
        """Return the seconds of one conversion in one sample."""
        if self.before:
            self.before()
        if warm:
            self.run(1)  # wakes threads, and loads what the last contender pushed out of the caches
        start = clock()
        self.run(repeats)
        seconds = (clock() - start) / repeats
        if self.after:
            self.after()
        if self.threads > 1:
            time.sleep(0.002)  # its threads wait actively for a while
        return seconds


def calls(call: Callable[[], Any], **options: Any) -> Contender:
    """Return a contender that calls a Python function, as its users do: the call is timed with it."""

    def run(repeats: int) -> None:
        for _ in range(repeats):
            call()

    return Contender(run, **options)


def measure(contenders: dict[str, Contender], n: int, seconds: float) -> dict[str, dict[str, float]]:
    """Return nanoseconds an element: `{"minimum": {name: …}, "median": {name: …}}`.

    Rounds go on for `seconds`, at most `MOST_ROUNDS`, at least `FEWEST_ROUNDS`.
    """
    samples: dict[str, list[float]] = {}
    repeats: dict[str, int] = {}
    for name, contender in contenders.items():
        if contender.limited and contender.known > SHARE * seconds:
            first = contender.known
        else:
            first = contender.time(1, warm=n < 1 << 22 or contender.threads > 1)
        repeats[name] = max(1, round(SAMPLE / first))
        samples[name] = [first]
    spent = {name: samples[name][0] for name in contenders}
    end = time.perf_counter() + seconds
    for round_ in range(MOST_ROUNDS):
        if round_ >= FEWEST_ROUNDS and time.perf_counter() > end:
            break
        for name, contender in contenders.items():
            if contender.limited and spent[name] > SHARE * seconds:
                continue
            start = time.perf_counter()
            samples[name].append(contender.time(repeats[name], samples[name][0] < 0.005 or contender.threads > 1))
            spent[name] += time.perf_counter() - start
    to_ns = 1e9 / n
    return {
        "minimum": {name: float(f"{min(found) * to_ns:.5g}") for name, found in samples.items()},
        "median": {name: float(f"{statistics.median(found) * to_ns:.5g}") for name, found in samples.items()},
    }


def compiled(source: Path, library: Path, flags: list[str], more: tuple[str, ...] = ()) -> ctypes.CDLL:
    """Compile a file of C to a library, with what follows it on the command line, and load it."""
    command = [shutil.which("gcc") or "cc", *flags, "-shared", "-fPIC", str(source), *more, "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


class Roof:
    """The compiled loops; a folder takes the library."""

    def __init__(self, folder: str) -> None:
        source, library = Path(__file__).with_name("roof.c"), Path(folder, "roof.so")
        flags = ["-O3", "-Wno-psabi", "-march=native", "-mprefer-vector-width=512", "-fopenmp"]
        try:
            self.library = compiled(source, library, flags)
        except subprocess.CalledProcessError:
            flags.remove("-mprefer-vector-width=512")  # an option of x86
            self.library = compiled(source, library, flags)

    def copy(self, x: np.ndarray, out: np.ndarray, threads: int, kind: str = "copy") -> Contender:
        """Return a loop that reads all of x and writes all of out; `kind` stream has non-temporal stores."""
        fewer, more = sorted((x.nbytes, out.nbytes))
        if more % fewer or fewer % BORDER or x.ctypes.data % BORDER or out.ctypes.data % BORDER:
            raise ValueError(f"no loop copies {x.nbytes} bytes to {out.nbytes} bytes in whole vectors")
        direction = "narrow" if x.nbytes >= out.nbytes else "widen"
        loop = getattr(self.library, f"{kind}_{direction}_{more // fewer}")
        return self._contender(loop, (x, out), fewer, threads)

    def read(self, x: np.ndarray, threads: int) -> Contender:
        """Return a loop that reads all of x and writes nothing."""
        if x.nbytes % (4 * BORDER) or x.ctypes.data % BORDER:
            raise ValueError(f"no loop reads {x.nbytes} bytes in whole vectors, four at a time")
        loop = self.library.read_bytes
        loop.restype = ctypes.c_uint64
        return self._contender(loop, (x,), x.nbytes, threads)

    @staticmethod
    def _contender(loop: Any, arrays: tuple[np.ndarray, ...], nbytes: int, threads: int) -> Contender:
        # Addresses are taken once: a ctypes object made in each call takes as long as a loop over 64 KiB.
        loop.argtypes = [ctypes.c_void_p] * len(arrays) + [ctypes.c_ssize_t, ctypes.c_int, ctypes.c_ssize_t]
        addresses = (ctypes.c_void_p(array.ctypes.data) for array in arrays)
        run = partial(loop, *addresses, nbytes, threads)
        return Contender(run, threads=threads, keep=arrays)


def aligned(nbytes: int) -> np.ndarray:
    """Return bytes that begin on a 64-byte border, written once."""
    whole = np.empty(nbytes + BORDER, np.uint8)
    whole.fill(0)  # NumPy's zeros would map every page to the same one until it is written
    start = -whole.ctypes.data % BORDER
    return whole[start : start + nbytes]
