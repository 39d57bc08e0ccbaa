"""Times contenders in turn in one process: minimum and median of many interleaved rounds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

SAMPLE = 200e-6
"""Seconds that a sample takes at least: so many calls are repeated in it."""
clock: Callable[[], float] = time.perf_counter
"""Returns the seconds that are counted; `time.process_time` where other work shares the cores."""
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
