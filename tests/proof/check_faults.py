"""Run `lowprec convert` under faults: kills, full disks, writers at once, errors of reading, too little memory.

After each fault the target must be the old one or the new one, bit for bit; a failure must say one line and end with 1;
nothing may be left that is not documented; the next run must give the right bytes. Needs Linux with glibc and a C
compiler. `PYTHONPATH=tests python tests/proof/check_faults.py --kind kill --count 1000`.
"""

from __future__ import annotations

import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from support.long_run import circumstances
from support.proof_faults import shim
from support.proof_faults.bench import KINDS, Bench, cases_of, is_not_ours
from support.proof_faults.forked import Case
from support.proof_faults.jobs import BIG, JOBS

WORDS = ("passed", "failed", "killed", "ended by CPython or glibc")
"""How cases end."""

SHOWN = 20
"""Failures of a kind that are printed in full."""


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all")
    parser.add_argument(
        "--count", type=int, help="faults of each kind (default: every call; 1000 kills; 400 of writers)"
    )
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--container", action="append", choices=[*JOBS, *BIG], help="a conversion; repeat for more")
    parser.add_argument("--case", help="one fault, as a failure prints it")
    return parser.parse_args()


def _run(bench: Bench, case: Case, rng: random.Random) -> tuple[str, list[str]]:
    """Return a word for how a case ended, and what is wrong."""
    if case.kind == "writers":
        waiting, starting = os.pipe()
        delays = [rng.choice([0, 0, rng.uniform(0, 0.003)]) for _ in range(case.nth)]

        def wait(number: int) -> int:
            os.close(starting)
            os.read(waiting, 1)  # until all have been started
            time.sleep(delays[number])
            return 0

        outcome, found = bench.write_together(case, wait, lambda: os.close(starting))
        os.close(waiting)
    else:
        outcome, found = bench.run(case)
    if is_not_ours(case, outcome):
        return "ended by CPython or glibc", found
    word = "passed" if outcome.status == 0 else "killed" if outcome.status < 0 else "failed"
    details = [f"{one}; it said: {outcome.said[-400:]!r}" for one in found]
    return word, details


def _check(kind: str, cases: list[Case], bench: Bench, rng: random.Random) -> int:
    """Run cases, print counts for each conversion, and return how many break the rule."""
    counts: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    broken = 0
    for number, case in enumerate(cases):
        if number and number % 200 == 0:
            print(f"{kind}: {number} of {len(cases)}, {broken} broken", flush=True)
        word, found = _run(bench, case, rng)
        counts[case.job][word] += 1
        if found:
            broken += 1
            counts[case.job]["broken"] += 1
            if broken <= SHOWN:
                print(f"BROKEN --case '{case.text}'", *found, sep="\n    ", flush=True)
    for name, count in counts.items():
        ends = {word: count[word] for word in WORDS if count[word]}
        words = ", ".join(f"{n} {word}" for word, n in ends.items())
        print(f"{kind:10} {name:20} {sum(ends.values()):6} faults: {words}; {count['broken']} broken")
    print(f"{kind}: {len(cases)} faults, {broken} broken", flush=True)
    return broken


def _main(options: argparse.Namespace, root: Path) -> int:
    kinds = KINDS if options.kind == "all" else [options.kind]
    given = Case.parse(options.case) if options.case else None
    names = options.container or ([*JOBS, *BIG] if "memory" in kinds else list(JOBS))
    if given is not None:
        names, kinds = [given.job], [given.kind]
    bench = Bench(root, names)
    print(f"seed {options.seed}; {circumstances()}", flush=True)
    broken = 0
    for kind in kinds:
        rng = random.Random(f"{options.seed} {kind}")
        cases = [given] if given is not None else cases_of(kind, bench, rng, options.count)
        broken += _check(kind, cases, bench, rng)
    return 1 if broken else 0


def main() -> int:
    """Run what the options ask for, in a process that has the library of faults; return the status."""
    options = _options()
    if shim.compiler() is None:
        print("needs Linux with glibc and a C compiler", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="lowprec-faults-", dir="/dev/shm") as folder:
        if shim.is_loaded():
            return _main(options, Path(folder))
        environment = shim.compile_shim(Path(folder))
        threads = {"OPENBLAS_NUM_THREADS": "1", "LOWPREC_NUM_THREADS": "1", "PYTHONWARNINGS": "error"}
        done = subprocess.run([sys.executable, *sys.argv], env={**environment, **threads}, check=False)
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
