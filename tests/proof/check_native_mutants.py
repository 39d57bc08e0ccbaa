"""Break the C and the Cython text one token at a time, and see whether the tests of the file notice.

    PYTHONPATH=tests python tests/proof/check_native_mutants.py --seed 20 --draw 30

All mutants that are drawn stand in one build of a copy of the repository (native_choice.py), each chosen by an
environment variable. A mutant is killed by a test that fails, by a crash, or by tests that do not end; one that its
file's tests let live has to outlive wider ones. The survivors are printed, and the exit status is 1 where one of them
is not explained in `mutant_survivors.toml`.
"""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
from pathlib import Path

from support.long_run import circumstances
from support.mutants.mutant import Mutant, describe
from support.mutants.native_choice import places
from support.mutants.native_mutants import find, is_cython, sources
from support.mutants.native_processes import Result, Task, run_tasks
from support.mutants.native_runs import WIDER, build, tests_of
from support.mutants.survivors import explanation
from support.paths import ROOT


def draw(seed: int, count: int, only: str) -> dict[str, list[Mutant]]:
    """Return `count` mutants of each kind of text, drawn among all of its mutants that can be chosen in one build."""
    drawn = {}
    for kind, paths in sources(ROOT).items():
        mutants = [mutant for path in paths if only in path.name for mutant in find(path, ROOT)]
        random.Random(f"{seed} {kind}").shuffle(mutants)
        chosen: list[Mutant] = []
        for path in paths:
            own = [mutant for mutant in mutants if mutant.path == path.relative_to(ROOT).as_posix()]
            chosen += places(path.read_text(encoding="utf-8"), own, is_cython(path))
        possible = set(chosen)
        drawn[kind] = [mutant for mutant in mutants if mutant in possible][:count]
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20, help="of the draw; default: %(default)s")
    parser.add_argument("--draw", type=int, default=30, help="mutants of each kind of text; default: %(default)s")
    parser.add_argument("--only", default="", help="files whose names have this text")
    parser.add_argument("--limit", type=int, default=60, help="seconds of a core for the tests of one mutant")
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tested at the same time")
    parser.add_argument("--scratch", type=Path, default=Path("/dev/shm"), help="where the copy is built")
    arguments = parser.parse_args()
    drawn = draw(arguments.seed, arguments.draw, arguments.only)
    wanted = [mutant for mutants in drawn.values() for mutant in mutants]
    results: dict[Mutant, Result] = {}
    unchanged: list[Result] = []
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as name:
        numbers = build(ROOT, Path(name), wanted)
        print(f"seed {arguments.seed}; {len(numbers)} of {len(wanted)} mutants compiled", flush=True)
        by_number = {number: mutant for mutant, number in numbers.items()}

        def report(task: Task, result: Result) -> list[Task]:
            if task.number == 0:
                unchanged.append(result)
                return []
            mutant = by_number[task.number]
            if result.end == "survived" and not set(WIDER) <= set(task.tests):
                return [Task(task.number, [*task.tests, *WIDER], 10 * arguments.limit)]
            results[mutant] = result
            print(f"{result.end}, {result.seconds:.1f} s {result.test}\n{describe(mutant, ROOT)}", flush=True)
            if len(results) < len(numbers):
                return []
            killing = {result.test for result in results.values() if result.end == "killed"}
            return [Task(0, sorted(killing), 10 * arguments.limit)]

        tasks = [Task(number, tests_of(mutant.path), arguments.limit) for mutant, number in numbers.items()]
        run_tasks(Path(name), WIDER, tasks, arguments.jobs, report)
    survivors = [mutant for mutant, result in results.items() if result.end == "survived"]
    counts = {
        kind: collections.Counter(results[mutant].end for mutant in mutants if mutant in results)
        for kind, mutants in drawn.items()
    }
    for kind, ends in counts.items():
        print(f"{kind}: {ends.total()} mutants, {ends.total() - ends['survived']} killed; {dict(ends)}")
    print(f"without a mutant, the tests that killed: {unchanged[0].end.replace('survived', 'pass')}")
    unexplained = [mutant for mutant in survivors if not explanation(mutant, ROOT)]
    for mutant in survivors:
        print(f"survived: {describe(mutant, ROOT)}\n  {explanation(mutant, ROOT) or 'not explained'}")
    print(circumstances())
    return bool(unexplained) or unchanged[0].end != "survived"


if __name__ == "__main__":
    sys.exit(main())
