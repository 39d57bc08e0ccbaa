"""Breaks one line at a time, runs the tests that execute it, and names the changes that no test notices.

    PYTHONPATH=tests python tests/proof/check_mutants.py --map  # once: which test executes which line
    PYTHONPATH=tests python tests/proof/check_mutants.py --seed 20 --count 20 --json results.json

Of each folder `--count` lines are drawn, and of each line one change. Each mutant runs in a copy of the repository. A
survivor that `mutant_survivors.toml` explains counts apart: both ratios are printed. Exit status 1: a survivor that is
not explained. Results in the file of `--json` are not repeated, so a run that was ended goes on.
"""

from __future__ import annotations

import argparse
import json
import queue
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from support.folders_of_tests import FOLDERS
from support.long_run import circumstances
from support.mutants import python_mutants
from support.mutants.line_map import GROUPS, LineMap, function_lines, make
from support.mutants.mutant import Mutant, changed_lines, describe
from support.mutants.python_runs import Result, Runner, chosen
from support.mutants.recent_tests import recent_tests
from support.mutants.survivors import explanation
from support.paths import ROOT

FIRST = 1 / 8  # of the seconds of tests of a mutant: those that it meets first
LEFT_OUT = ("lowprec/_native",)  # its Python text writes loops when the package is built


def folders() -> list[str]:
    """Return the folders with Python code, relative to the root."""
    paths = [*(ROOT / "lowprec").rglob("*.py"), *(ROOT / "explorer").rglob("*.py")]
    found = {path.parent.relative_to(ROOT).as_posix() for path in paths}
    return sorted(name for name in found if name not in LEFT_OUT)


def drawn(folder: str, seed: int, count: int) -> list[Mutant]:
    """Draw lines of a folder's files, and one change of each."""
    lines: dict[tuple[str, int], list[Mutant]] = {}
    for path in sorted((ROOT / folder).glob("*.py")):
        for mutant in python_mutants.find(path):
            lines.setdefault((mutant.path, mutant.line), []).append(mutant)
    generator = random.Random(f"{seed} {folder}")
    places = generator.sample(sorted(lines), min(count, len(lines)))
    return [generator.choice(lines[place]) for place in places]


def test_groups(path: str) -> set[str]:
    """Return the groups of tests that belong to a file."""
    parts = path.split("/")
    return FOLDERS.get(parts[1] if parts[0] == "lowprec" else parts[0], {"native"})  # the last: files of lowprec itself


class Tests:
    """The tests of a mutant, in two parts: most mutants die in the first."""

    def __init__(self, seconds: float, recent: Sequence[str] = ()) -> None:
        self._map = LineMap()
        self._seconds = seconds
        self._recent = recent
        self.refused: set[str] = set()  # tests that fail without a change too

    def of(self, mutant: Mutant) -> tuple[list[str], list[str]]:
        groups = test_groups(mutant.path)
        around = function_lines(mutant.path, mutant.line)
        last = mutant.line + mutant.before.count("\n")
        found = self._map.tests_of_lines(mutant.path, None if around is None else range(mutant.line, last + 1))
        if around is not None and len(found) < 5:  # such as a function whose result another test keeps
            found = {**self._map.tests_of_lines(mutant.path, around), **found}
        if not found:  # executed in a process of its own, or as the module is imported
            found = self._map.tests_of_groups(groups)
        found = {name: seconds for name, seconds in found.items() if name not in self.refused}
        belonging = [*(f"tests/{group}/" for group in groups), mutant.path]  # its own doctests too
        path = Path(mutant.path)
        word = path.parent.name if path.stem == "__init__" else path.stem
        first = chosen(found, belonging, FIRST * self._seconds, word)
        order = chosen(found, belonging, self._seconds, word)
        others = {name: seconds for name, seconds in self._map.tests_of_groups(groups).items() if name not in found}
        more = chosen(others, belonging, self._seconds / 2, word)  # its value may be read in others
        left_out = {*first, *self.refused}
        return first, [
            *self._recent_of(mutant.path, belonging),
            *(name for name in (*order, *more) if name not in left_out),
        ]

    def _recent_of(self, path: str, belonging: Sequence[str]) -> list[str]:
        """Return the recent tests of the part of the repository that a file is in, those that belong to it first."""
        is_explorer = path.startswith("explorer/")
        refused = {name.partition("[")[0] for name in self.refused}
        names = [name for name in self._recent if name.startswith("tests/explorer/") == is_explorer]
        return sorted(
            (name for name in names if name not in refused), key=lambda name: not name.startswith(tuple(belonging))
        )


def tried(mutant: Mutant, tests: Tests, runner: Runner, options: argparse.Namespace) -> Result:
    """Run the tests of a mutant until one fails."""
    patience = options.patience + options.seconds
    parts = tests.of(mutant)
    result = runner.run(mutant, parts[0], patience)
    if result.end == "survived" and parts[1]:
        more = runner.run(mutant, parts[1], patience)
        result = more._replace(seconds=result.seconds + more.seconds, ran=result.ran + more.ran)
    return result


def key(mutant: Mutant) -> str:
    """Return what a stored result is found by: the change, not its place."""
    return json.dumps([mutant.path, *changed_lines(mutant, ROOT)])


def run_all(mutants: list[Mutant], tests: Tests, stored: dict[str, Any], options: argparse.Namespace) -> None:
    """Try each mutant that has no result yet, two at a time; remove kills by tests that fail without a change."""
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    left = [mutant for mutant in mutants if key(mutant) not in stored]
    for mutant in left:
        waiting.put(mutant)

    def work(folder: Path) -> None:
        runner = Runner(ROOT, folder)
        try:
            while not waiting.empty():
                mutant = waiting.get()
                result = tried(mutant, tests, runner, options)
                stored[key(mutant)] = [mutant, *result]
                print(f"{result.end}: {describe(mutant, ROOT)}\n  {result.seconds:.1f} s, {result.test}", flush=True)
                if options.json:
                    options.json.write_text(json.dumps(stored, indent=0), encoding="utf-8")
        finally:
            runner.close()

    where = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    with tempfile.TemporaryDirectory(prefix="mutants-", dir=where) as temporary:
        threads = [
            threading.Thread(target=work, args=(Path(temporary) / str(number),))
            for number in range(min(options.jobs, len(left)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        killers = sorted({row[3] for mutant in left if (row := stored.get(key(mutant))) and row[1] == "killed"})
        if killers:
            runner = Runner(ROOT, Path(temporary) / "unchanged")
            result = runner.run(None, [name for name in killers if "::" in name], 1800, every=True)
            runner.close()
            tests.refused |= set(result.test.split(" ")) if result.end == "killed" else set()
    for mutant in left:
        if stored.get(key(mutant), [0, 0, 0, None])[3] in tests.refused:
            del stored[key(mutant)]


def table(mutants: dict[str, list[Mutant]], stored: dict[str, Any]) -> list[Mutant]:
    """Print what became of the mutants of each folder; return the survivors that nothing explains."""
    total: Counter[str] = Counter()
    unexplained = []
    print("\nfolder: drawn, killed (of them by time), survived and explained, survived")
    for folder, drawn_there in mutants.items():
        counts: Counter[str] = Counter()
        for mutant in drawn_there:
            if key(mutant) not in stored:
                continue
            end = stored[key(mutant)][1]
            counts["drawn"] += 1
            counts["time"] += end == "killed by time"
            if end.startswith("killed"):
                counts["killed"] += 1
            elif explanation(mutant, ROOT):
                counts["explained"] += 1
            else:
                unexplained.append(mutant)
        total += counts
        print(f"{folder}: {_row(counts)}")
    print(f"all: {_row(total)}")
    if total["drawn"]:
        changing = total["drawn"] - total["explained"]
        print(f"killed: {total['killed'] / total['drawn']:.1%} of all drawn, "
              f"{total['killed'] / max(changing, 1):.1%} of those that nothing explains")  # fmt: skip
    return unexplained


def _row(counts: Counter[str]) -> str:
    survived = counts["drawn"] - counts["killed"] - counts["explained"]
    return f"{counts['drawn']}, {counts['killed']} ({counts['time']}), {counts['explained']}, {survived}"


def main() -> int:
    """Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=20, help="of the draw")
    parser.add_argument("--count", type=int, default=20, help="lines to draw of each folder")
    parser.add_argument("--folder", nargs="+", choices=folders(), metavar="FOLDER", help="instead of all folders")
    parser.add_argument("--json", type=Path, help="where results are kept, and taken from")
    parser.add_argument("--again", action="store_true", help="try those anew that survived")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--seconds", type=float, default=60, help="of the tests of a mutant, as the map measured them")
    parser.add_argument("--patience", type=float, default=120, help="seconds beyond those: then it is killed by time")
    parser.add_argument("--since", metavar="COMMIT", help="tests written or changed since then come early")
    parser.add_argument("--map", nargs="*", metavar="GROUP", help="run groups under coverage")
    parser.add_argument("--marks", default="not slow", help="pytest's -m of --map")
    options = parser.parse_args()
    if options.map is not None:
        for group in options.map or GROUPS:
            make(group, options.marks)
        return 0
    stored: dict[str, Any] = {}
    if options.json and options.json.is_file():
        stored = json.loads(options.json.read_text(encoding="utf-8"))
    if options.again:
        stored = {name: row for name, row in stored.items() if row[1].startswith("killed")}
    mutants = {folder: drawn(folder, options.seed, options.count) for folder in options.folder or folders()}
    flat = [mutant for of_folder in mutants.values() for mutant in of_folder]
    print(f"seed {options.seed}: {len(flat)} mutants of {len(mutants)} folders", flush=True)
    tests = Tests(options.seconds, recent_tests(options.since) if options.since else ())
    run_all(flat, tests, stored, options)
    if tests.refused:
        print("these fail without a change too, so their mutants ran again without them:", *sorted(tests.refused))
        run_all(flat, tests, stored, options)
    if options.json:
        options.json.write_text(json.dumps(stored, indent=0), encoding="utf-8")
    unexplained = table(mutants, stored)
    for mutant in unexplained:
        print(f"{stored[key(mutant)][1]}, not explained: {describe(mutant, ROOT)}")
    print(circumstances())
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
