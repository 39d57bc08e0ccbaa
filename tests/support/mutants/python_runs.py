"""Runs tests on mutants of Python files, in a copy of the repository, each in a process forked from a loaded one."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .mutant import Mutant, mutated_text

PACKAGES = ("hypothesis", "ml_dtypes", "numpy", "pytest", "numpy.testing", "torch", "onnx", "streamlit.testing.v1")
"""Slow to import, and none imports lowprec: loaded once, before the processes are forked."""

COPIED = ("lowprec", "explorer", "tests", "docs", "benchmarks", "conftest.py", "pyproject.toml", "README.md")
MEMORY = 12 << 30  # of a process, in bytes: a mutant may ask for any size


class Result(NamedTuple):
    """How the tests of a mutant ended."""

    end: str  # "killed", "killed by time", "survived", "no test"
    seconds: float
    test: str  # the test that failed first
    ran: int  # tests


def copy_repository(root: Path, folder: Path) -> None:
    """Copy what the tests need, the compiled modules too; `lowprec.explorer` becomes a link, as the wheel has it."""
    folder.mkdir(parents=True)
    ignored = shutil.ignore_patterns("*.c", "_build", ".mypy_cache", ".hypothesis")
    for name in COPIED:
        if (root / name).is_dir():
            shutil.copytree(root / name, folder / name, ignore=ignored)
        else:
            shutil.copy2(root / name, folder / name)
    (folder / "lowprec" / "explorer").symlink_to(Path("..", "explorer"), target_is_directory=True)


class Runner:
    """A copy of the repository and a process that forks others: `run` answers what becomes of a mutant."""

    def __init__(self, root: Path, folder: Path, packages: Iterable[str] = PACKAGES) -> None:
        self.root, self.folder = root, folder
        self._changes = 0
        self._began = int(time.time()) - 100_000_000  # no two texts of a file have the same time: see _write
        copy_repository(root, folder)
        paths = [str(folder), str(folder / "tests"), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.mutants.python_runs", str(folder), *packages],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def run(self, mutant: Mutant | None, tests: list[str], limit: float, every: bool = False) -> Result:
        """Return how the tests end; `every` does not stop at the first failure, and names all that fail."""
        if not tests:
            return Result("no test", 0.0, "", 0)
        if mutant is not None:
            text = (self.root / mutant.path).read_text(encoding="utf-8")
            self._write(mutant.path, mutated_text(text, mutant))
        try:
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps([tests, limit, every]), file=self._process.stdin, flush=True)
            if not (answer := self._process.stdout.readline()):
                raise RuntimeError(f"the process that runs tests ended at {mutant}")
        finally:
            if mutant is not None:
                self._write(mutant.path, text)
        return Result(*json.loads(answer))

    def _write(self, path: str, text: str) -> None:
        """Write a file with a time that it never had: compiled code in `__pycache__` is known by whole seconds."""
        self._changes += 1
        (self.folder / path).write_text(text, encoding="utf-8")
        os.utime(self.folder / path, (self._began + self._changes,) * 2)

    def close(self) -> None:
        """End the process and remove the copy."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        for folder in (self.folder, self.folder.with_name(self.folder.name + "-reports")):
            shutil.rmtree(folder, ignore_errors=True)


class _Chosen:
    """Plugin: of the collected tests, the chosen ones in their order; writes which fail."""

    def __init__(self, tests: list[str], report: Path) -> None:
        self._order = {name: number for number, name in enumerate(tests)}
        self._report = report
        self._failed: list[str] = []
        self._ran = 0

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        def place(item: Any) -> int:  # a name may be that of all cases of a function, or of a whole file
            names = (item.nodeid, item.nodeid.partition("[")[0], item.nodeid.partition("::")[0])
            return min((self._order[name] for name in names if name in self._order), default=-1)

        items[:] = sorted((item for item in items if place(item) >= 0), key=place)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._ran += report.when == "call"
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        self._report.write_text(json.dumps([self._failed, self._ran]), encoding="utf-8")


def _test(tests: list[str], every: bool, report: Path, temporary: Path) -> int:
    import pytest

    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    functions = list(dict.fromkeys(name.partition("[")[0] for name in tests))  # cases may have other names today
    names = functions if len(functions) <= 40 else files
    quiet = ["-q", "--tb=line", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "", "-o", "addopts="]
    quiet += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is loaded already
    quiet += ["--strict-markers", "--doctest-modules", "--doctest-glob=*.md", f"--basetemp={temporary}"]
    return int(pytest.main([*quiet, *([] if every else ["-x"]), *names], plugins=[_Chosen(tests, report)]))


def _forked(tests: list[str], limit: float, every: bool, report: Path, temporary: Path) -> list[object]:
    """Run tests in a process of its own; return the fields of a `Result`."""
    report.unlink(missing_ok=True)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 3
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
            log = os.open(report.with_suffix(".log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            for number, file in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
                os.dup2(file, number)
            status = _test(tests, every, report, temporary)
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    while not (ended := os.waitpid(child, os.WNOHANG))[0] and time.monotonic() - began < limit:
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # it and what it started
    shutil.rmtree(temporary, ignore_errors=True)
    seconds = round(time.monotonic() - began, 2)
    if not ended[0]:
        os.waitpid(child, 0)
        return ["killed by time", seconds, "", 0]
    failed, ran = json.loads(report.read_text(encoding="utf-8")) if report.is_file() else ([], 0)
    if ended[1] == 0 and ran:
        return ["survived", seconds, "", ran]
    if not failed and os.waitstatus_to_exitcode(ended[1]) in (0, 5):
        return ["no test", seconds, "", 0]
    if failed:
        return ["killed", seconds, " ".join(failed), ran]
    text = report.with_suffix(".log").read_text(encoding="utf-8", errors="replace")
    if "while loading conftest" in text or os.WIFSIGNALED(ended[1]):
        return ["killed", seconds, "as the package is imported" if not os.WIFSIGNALED(ended[1]) else "by a signal", ran]
    raise RuntimeError(f"pytest ended without a test that failed:\n{text[-2000:]}")


def _serve(folder: Path, packages: list[str]) -> None:
    """Answer requests of `Runner.run`, a line each."""
    for name in packages:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "support" and name != __name__]:
        del sys.modules[name]
    assert not any(name.partition(".")[0] == "lowprec" for name in sys.modules)
    outside = folder.with_name(folder.name + "-reports")
    outside.mkdir(exist_ok=True)
    for line in sys.stdin:
        tests, limit, every = json.loads(line)
        print(json.dumps(_forked(tests, limit, every, outside / "report.json", outside / "temporary")), flush=True)
    shutil.rmtree(outside, ignore_errors=True)


def chosen(found: dict[str, float], first: Iterable[str], limit: float, word: str = "") -> list[str]:
    """Return tests up to a sum of seconds: the fastest case of each function, then the second fastest, and so on.

    Those with the word in their names, in any case, come first, then those whose names begin as `first` says.
    """
    beginnings = tuple(first)
    cases: Counter[str] = Counter()
    place: dict[str, tuple[bool, bool, int]] = {}
    for name in sorted(found, key=lambda name: (found[name], name)):
        function = name.partition("[")[0]
        cases[function] += 1
        place[name] = word not in name.lower(), not name.startswith(beginnings), cases[function]
    taken, seconds = [], 0.0
    for name in sorted(found, key=lambda name: (*place[name], found[name], name)):
        seconds += found[name] + 0.005
        if seconds > limit and taken:
            break
        taken.append(name)
    return taken


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), sys.argv[2:])
