"""Random calls of the public API, each compared bit by bit with the oracle; every step can be repeated by its number.

PYTHONPATH=tests python tests/proof/check_random_calls.py --minutes 10 --seed 1
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter

from support.long_run import circumstances, until
from support.random_calls.run import GENERATORS, Options, step

from lowprec import _kernels


def parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=1.0, help="how long to go on")
    length.add_argument("--steps", type=int, help="how many steps to make instead")
    length.add_argument("--step", type=int, help="the one step to repeat")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--function", nargs="+", choices=sorted(GENERATORS), default=list(GENERATORS), metavar="NAME")
    parser.add_argument("--isa", nargs="+", choices=_kernels.available_isas(), default=_kernels.available_isas())
    parser.add_argument("--most-failures", type=int, default=20, help="stop after so many")
    parser.add_argument("--list", action="store_true", help="print the functions and exit")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    """Run, print counts and failures, and return the exit status."""
    options = parse(arguments)
    if options.list:
        print("\n".join(GENERATORS))
        return 0
    drawn = Options(options.seed, tuple(options.function), tuple(options.isa))
    numbers = iter([options.step]) if options.step is not None else until(options.minutes)
    numbers = iter(range(options.steps)) if options.steps is not None else numbers
    more = [] if drawn.functions == tuple(GENERATORS) else ["--function", *drawn.functions]
    more += [] if drawn.isas == tuple(_kernels.available_isas()) else ["--isa", *drawn.isas]
    calls, elements, failures, steps = Counter[str](), Counter[str](), 0, 0
    for number in numbers:
        outcome = step(drawn, number)
        calls += outcome.calls
        elements += outcome.elements
        steps += 1
        if outcome.failure:
            failures += 1
            print(f"--seed {options.seed} --step {number} {' '.join(more)}\n    {outcome.failure}", flush=True)
            if failures == options.most_failures:
                break
    for name in GENERATORS:
        if calls[name]:
            print(f"{name}: {calls[name]:,} calls, {elements[name]:,} elements")
    total = f"{steps:,} steps, {calls.total():,} calls, {elements.total():,} elements"
    print(f"seed {options.seed}: {total}, {failures} differences")
    print(circumstances())
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
