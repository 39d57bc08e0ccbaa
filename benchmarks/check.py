"""The command `check`: fails where a conversion takes 1.5 times what is stored for such a machine.

Casts, roundings and blocks of 64 Ki elements, in the cache, on one thread, are timed in turn with a copy of the same
bytes. The multiple is compared with that of the run that is stored for the same vendor, generation and instruction set;
where none is, it is printed and not judged. A slower one is timed again, up to three times; the least multiple counts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from functools import partial

import stored_runs
from rows import Row
from speeds import TABLES
from timing import Roof, calls, measure

import lowprec as lp
from lowprec import _kernels

ELEMENTS = 1 << 16
LIMIT = 1.5
"""Of the stored multiple, what a conversion may take."""
AGAIN = 3
"""How often a slower one is timed again."""


def multiple(row: Row, roof: Roof, seconds: float) -> float:
    """Return the time of a conversion as a multiple of a copy, measured in the same rounds."""
    timed = {"roofline": roof.copy(row.x, row.out, 1), "lowprec": calls(row.ours)}
    times = measure(timed, row.elements, seconds)["minimum"]
    return times["lowprec"] / times["roofline"]


def is_slower(name: str, stored: float | None, measured: Callable[[], float]) -> bool:
    """Print a line, and return whether a conversion is slower than it may be."""
    ratio, limit = measured(), float("inf") if stored is None else LIMIT * stored
    for _ in range(AGAIN):
        if ratio <= limit:
            break
        ratio = min(ratio, measured())
    verdict = "not stored" if stored is None else "slower" if ratio > limit else ""
    print(f"{name:58} {ratio:8.2f} {'–' if stored is None else f'{stored:.2f}':>8} {verdict}".rstrip(), flush=True)
    return ratio > limit


def main(arguments: list[str]) -> int:
    """Return 1 where a conversion is slower than it may be."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["check"])
    parser.add_argument("--only", default="", metavar="TEXT", help="conversions whose names contain the text")
    parser.add_argument("--seconds", type=float, default=0.15, help="time of a conversion (default: %(default)s)")
    options = parser.parse_args(arguments)
    lp.set_num_threads(1)
    print(stored_runs.described(stored_runs.circumstances()))
    count, slower = 0, []
    with tempfile.TemporaryDirectory() as folder:
        roof = Roof(folder)
        for command, (made, _) in TABLES.items():
            run = stored_runs.of_this_machine(stored_runs.folder_of(command)).get(str(ELEMENTS))
            stored = stored_runs.stored_ratios(run, _kernels.isa()) if run else {}
            print(
                f"\n{command}, stored: {stored_runs.described(run) if stored and run else 'nothing for this machine'}"
            )
            print(f"{'multiples of a copy':58} {'now':>8} {'stored':>8}")
            for row in made(ELEMENTS, 1, options.only):
                if options.only in row.name:
                    count += 1
                    again = partial(multiple, row, roof, options.seconds)
                    slower += [row.name] * is_slower(row.name, stored.get(row.name), again)
    print(f"\n{count} conversions, {len(slower)} take more than {LIMIT} times what is stored", *slower, sep="\n")
    return 1 if slower else 0
