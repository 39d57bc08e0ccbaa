"""Which tests execute which line, and how long they take: what one run of a folder of tests under coverage says."""

from __future__ import annotations

import ast
import importlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from support.paths import ROOT

STORE = ROOT / ".mutants"
"""Not in git: `check_mutants.py --map` makes it anew."""

GROUPS = {  # what is run under coverage at once: the arguments of pytest
    **{
        path.name: [f"tests/{path.name}"] for path in sorted((ROOT / "tests").iterdir()) if any(path.rglob("test_*.py"))
    },
    "doctests": ["lowprec", "docs", "README.md"],
}
EXCLUDED = ("test_browser", "browser")  # tests of these files are too slow to be run per mutant

CONFIGURATION = """\
[run]
source =
    {root}/lowprec
    {root}/explorer
data_file = {store}/{group}.coverage
parallel = true
"""


class _Durations:
    """How long each test took that passed; written at the end of the run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seconds: dict[str, float] = defaultdict(float)
        self._others: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[report.nodeid] += report.duration
        if not report.passed:
            self._others.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        passed = {name: round(took, 4) for name, took in self._seconds.items() if name not in self._others}
        self._path.write_text(json.dumps(passed), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Record where reports arrive (this module is a plugin of the run under coverage)."""
    path = os.environ.get("LOWPREC_TEST_DURATIONS")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Durations(Path(path)), "durations")


def make(group: str, marks: str = "not slow", processes: int = 2) -> None:
    """Run the tests of a group under coverage and store what it shows."""
    coverage = importlib.import_module("coverage")  # of the extra `lint`
    STORE.mkdir(exist_ok=True)
    settings, durations = STORE / f"{group}.coveragerc", STORE / f"{group}.durations"
    settings.write_text(CONFIGURATION.format(root=ROOT, store=STORE, group=group), encoding="utf-8")
    for old in STORE.glob(f"{group}.coverage*"):
        old.unlink() if old.suffix != ".coveragerc" else None
    ignored = [f"--ignore-glob=*{name}*" for name in EXCLUDED]
    command = [sys.executable, "-m", "pytest", "-q", "-n", str(processes), "-p", "no:cacheprovider", "-m", marks]
    command += ["-p", "support.mutants.line_map", "--cov", "--cov-context=test", "--cov-report="]
    command += [f"--cov-config={settings}", *ignored, *GROUPS[group]]
    paths = os.pathsep.join([str(ROOT / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": paths, "LOWPREC_TEST_DURATIONS": str(durations)}
    with (STORE / f"{group}.log").open("w", encoding="utf-8") as log:
        subprocess.run(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
    seconds = json.loads(durations.read_text(encoding="utf-8"))
    names = sorted(seconds)
    numbers = {name: number for number, name in enumerate(names)}
    data = coverage.CoverageData(str(STORE / f"{group}.coverage"))
    data.read()
    lines: dict[str, dict[str, list[int]]] = {}
    for file in sorted(data.measured_files()):
        found = {
            str(line): sorted({numbers[name] for text in contexts if (name := text.rpartition("|")[0]) in numbers})
            for line, contexts in data.contexts_by_lineno(file).items()
        }
        lines[Path(file).relative_to(ROOT).as_posix()] = {line: tests for line, tests in found.items() if tests}
    stored = {"tests": names, "seconds": [seconds[name] for name in names], "lines": lines}
    (STORE / f"{group}.json").write_text(json.dumps(stored), encoding="utf-8")
    for left in (*STORE.glob(f"{group}.coverage*"), durations):
        left.unlink(missing_ok=True)


class Test(tuple[float, str]):
    """Seconds and name of a test."""

    __slots__ = ()


def _of_today(stored: dict[str, Any]) -> dict[str, Any]:
    """Return what is stored of a group, without tests that are no longer there."""
    texts: dict[str, str] = {}
    gone = set()
    for number, name in enumerate(stored["tests"]):
        path, _, function = name.partition("[")[0].partition("::")
        if path not in texts:
            texts[path] = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        if path.startswith("tests/") and f"def {function.rpartition('::')[2]}(" not in texts[path]:
            gone.add(number)
    if gone:
        for of_file in stored["lines"].values():
            for line, numbers in of_file.items():
                of_file[line] = [number for number in numbers if number not in gone]
    kept = [number for number in range(len(stored["tests"])) if number not in gone]
    return {**stored, "kept": kept}


class LineMap:
    """What is stored of all groups that have been run."""

    def __init__(self, groups: Iterable[str] = GROUPS) -> None:
        self._groups = {}
        for group in groups:
            path = STORE / f"{group}.json"
            if path.is_file():
                self._groups[group] = _of_today(json.loads(path.read_text(encoding="utf-8")))

    def tests_of_lines(self, path: str, lines: Iterable[int] | None) -> dict[str, float]:
        """Return the tests that execute one of the lines (None: any line of a function of the file), with seconds."""
        found = {}
        for stored in self._groups.values():
            of_file = stored["lines"].get(path, {})
            wanted = functions_lines(path) if lines is None else lines
            for number in {test for line in wanted for test in of_file.get(str(line), ())}:
                found[stored["tests"][number]] = stored["seconds"][number]
        return found

    def tests_of_groups(self, groups: Iterable[str]) -> dict[str, float]:
        """Return all tests of groups, with seconds."""
        found: dict[str, float] = {}
        for group in groups:
            if group in self._groups:
                stored = self._groups[group]
                found.update((stored["tests"][number], stored["seconds"][number]) for number in stored["kept"])
        return found


@cache
def functions(path: str) -> list[tuple[int, int]]:
    """Return the first and last line of the body of each function of a file, inner functions last."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [(node.body[0].lineno, node.end_lineno or node.lineno) for node in nodes]


@cache
def functions_lines(path: str) -> frozenset[int]:
    """Return the lines of a file that are in functions."""
    return frozenset(line for first, last in functions(path) for line in range(first, last + 1))


def function_lines(path: str, line: int) -> range | None:
    """Return the lines of the outermost function that has the line; None for a line of the module."""
    around = [(first, last) for first, last in functions(path) if first <= line <= last]
    return range(around[0][0], around[0][1] + 1) if around else None
