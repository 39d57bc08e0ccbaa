"""The tests of mutants in one build: collected once, then run for each in a process that is forked from that one."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest

from .native_choice import VARIABLE


class Task(NamedTuple):
    """A mutant and its tests.

    After `limit` seconds of a core no further test begins. A test that is then not at its end for three times as long,
    or that only waits for thirty times as long, is taken to have none.
    """

    number: int  # 0: none
    tests: list[str]  # folders, files or tests, in their order
    limit: int


class Result(NamedTuple):
    """How the tests ended: `killed`, `killed by a signal`, `killed by time` or `survived`."""

    end: str
    seconds: float
    test: str  # that failed


Report = Callable[[Task, Result], list[Task]]
"""What is called with each result; it returns the tasks that follow from it."""


class _Child(NamedTuple):
    task: Task
    began: float
    log: Path


class ForkedRuns:
    """A plugin of pytest: where its tests would run, it runs those of each task in a process of its own."""

    def __init__(self, folder: Path, tasks: list[Task], jobs: int, report: Report):
        self.folder, self.tasks, self.jobs, self.report = folder, tasks, jobs, report

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run every task."""
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        _end_idle_threads()
        waiting = list(self.tasks)
        running: dict[int, _Child] = {}
        while waiting or running:
            while waiting and len(running) < self.jobs:
                task = waiting.pop(0)
                log = self.folder / f"mutant-{task.number}.log"
                child = os.fork()
                if child == 0:
                    self._run(session, task, log)
                running[child] = _Child(task, time.monotonic(), log)
            for child in list(running):
                result = self._result(child, running[child])
                if result is not None:
                    waiting += self.report(running.pop(child).task, result)
            time.sleep(0.02)
        return True

    def _result(self, process: int, child: _Child) -> Result | None:
        done, status = os.waitpid(process, os.WNOHANG)
        seconds = time.monotonic() - child.began
        if not done:
            if seconds < 30 * child.task.limit:
                return None
            os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return Result("killed by time", seconds, "")
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU:
                return Result("killed by time", seconds, "")
            return Result("killed by a signal", seconds, signal.Signals(number).name)
        if os.WEXITSTATUS(status) == 0:
            return Result("survived", seconds, "")
        text = child.log.read_text(encoding="utf-8", errors="replace")
        if os.WEXITSTATUS(status) != 1:  # no test failed: the run itself did
            raise RuntimeError(f"the tests of mutant {child.task.number} did not run:\n{text[-2000:]}")
        return Result("killed", seconds, text.rpartition("FAILED ")[2].strip())

    def _run(self, session: pytest.Session, task: Task, log: Path) -> NoReturn:
        status = 2
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_CPU, (4 * task.limit, 4 * task.limit + 5))
            file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(file, 1)
            os.dup2(file, 2)
            choose(task.number)
            if "lowprec.backends.threads" in sys.modules:  # _end_idle_threads() has made OpenMP fit to start anew
                sys.modules["lowprec.backends.threads"].__dict__["_forked"] = False
            found = [item for test in task.tests for item in session.items if belongs(item.nodeid, test)]
            items = list(dict.fromkeys(found))
            session.config.pluginmanager.register(_FirstFailure())
            for at, item in enumerate(items):
                if time.process_time() > task.limit:
                    break
                following = items[at + 1] if at + 1 < len(items) else None
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            status = 0 if items else 3
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)


class _FirstFailure:
    """Ends the process at the first test that fails."""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Name the test in the log."""
        if report.failed:
            os.write(1, f"{report.longreprtext}\nFAILED {report.nodeid}\n".encode())
            os._exit(1)


def _end_idle_threads() -> None:
    """End the threads that GCC's OpenMP keeps: after fork() they would not be there, and be waited for."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libgomp.so.1").omp_pause_resource_all(2)  # omp_pause_hard


def belongs(test: str, wanted: str) -> bool:
    """Whether a test is, or is in, what has a name: a folder, a file or a test."""
    return test == wanted or (test.startswith(wanted) and test[len(wanted)] in "/:")


def choose(number: int) -> None:
    """Choose a mutant in the modules that are loaded, and, by the environment, in those of processes of the tests."""
    os.environ["LOWPREC_MUTANT"] = str(number)
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None) or ""
        if name.startswith("lowprec.") and file.endswith(".so"):
            library = ctypes.CDLL(file)
            if hasattr(library, VARIABLE):
                ctypes.c_int.in_dll(library, VARIABLE).value = number


def run_tasks(folder: Path, tests: list[str], tasks: list[Task], jobs: int, report: Report) -> None:
    """Collect tests in the copy of the repository, and report how those of each task end; once in a process."""
    os.chdir(folder)
    for name in [name for name in sys.modules if name.partition(".")[0] in ("support", "lowprec")]:
        del sys.modules[name]  # the copy has its own
    sys.path[:0] = [str(folder), str(folder / "tests")]
    options = ["-q", "-q", "-s", "-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
    ended = pytest.main([*options, *tests], plugins=[ForkedRuns(folder, tasks, jobs, report)])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"the tests of the copy cannot be collected: {ended!r}")
