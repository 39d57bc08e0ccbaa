"""The command `check`: fails where a conversion takes 1.5 times what is stored for such a machine.

Conversions of 64 Ki elements, in the cache, on one thread, are timed in turn with a copy of the same bytes. The
multiple is compared with that of the run that is stored for the same vendor, generation and instruction set; where none
is, it is printed and not judged. A slower one is timed again, up to three times, and its least multiple counts.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable

import rows
import stored_runs
from timing import Roof, calls, measure

import lowprec as lp
from lowprec import _kernels

ELEMENTS = 1 << 16
LIMIT = 1.5
"""Of the stored multiple, what a conversion may take."""
AGAIN = 3
"""How often a slower one is timed again."""


def multiple(name: str, roof: Roof, seconds: float) -> float:
    """Return the time of a conversion as a multiple of a copy, measured in the same rounds."""
    row = rows.conversion_row(rows.BY_NAME[name], ELEMENTS)
    timed = {"roofline": roof.copy(row.x, row.out, 1), "lowprec": calls(row.ours)}
    times = measure(timed, ELEMENTS, seconds)["minimum"]
    return times["lowprec"] / times["roofline"]


def failures(names: Iterable[str], stored: dict[str, float], measured: Callable[[str], float]) -> list[str]:
    """Print a line for each conversion; return the names of those that are slower than they may be."""
    found = []
    for name in names:
        ratio, limit = measured(name), LIMIT * stored.get(name, float("inf"))
        for _ in range(AGAIN):
            if ratio <= limit:
                break
            ratio = min(ratio, measured(name))
        verdict = "slower" if ratio > limit else "" if name in stored else "not stored"
        known = f"{stored[name]:8.2f}" if name in stored else f"{'–':>8}"
        print(f"{name:58} {ratio:8.2f} {known} {verdict}".rstrip(), flush=True)
        found += [name] * (ratio > limit)
    return found


def main(arguments: list[str]) -> int:
    """Return 1 where a conversion is slower than it may be."""
    parser = argparse.ArgumentParser(prog="run.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("command", choices=["check"])
    parser.add_argument("--only", default="", metavar="TEXT", help="conversions whose names contain the text")
    parser.add_argument("--seconds", type=float, default=0.2, help="time of a conversion (default: %(default)s)")
    options = parser.parse_args(arguments)
    lp.set_num_threads(1)
    run = stored_runs.of_this_machine().get(str(ELEMENTS))
    stored = stored_runs.stored_ratios(run, _kernels.isa()) if run else {}
    print(stored_runs.described(stored_runs.circumstances()))
    print(f"stored: {stored_runs.described(run) if stored else 'nothing for this machine and these loops'}\n")
    print(f"{'multiples of a copy':58} {'now':>8} {'stored':>8}")
    with tempfile.TemporaryDirectory() as folder:
        roof = Roof(folder)
        names = [name for name in rows.BY_NAME if options.only in name]
        slower = failures(names, stored, lambda name: multiple(name, roof, options.seconds))
    print(f"\n{len(names)} conversions, {len(slower)} take more than {LIMIT} times what is stored", *slower, sep="\n")
    return 1 if slower else 0
