"""One call of the command line in a forked child, under a fault; the parent imported everything once."""

from __future__ import annotations

import errno
import os
import resource
import signal
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lowprec.cli import main

from . import shim

PATIENCE = 60.0
"""Seconds after which a child hangs."""


@dataclass(frozen=True)
class Case:
    """A fault, as a text that reproduces it.

    Attributes
    ----------
    kind, job : str
        What fails, and in which conversion.
    old : bool
        Whether the target exists before.
    group, action : str
        Calls, and what happens to them; or other words that the kind has.
    nth : int
        Which of them; of a limit, how many bytes.
    error : str
        The name of the error.
    least : int
        The least bytes of an allocation that counts; of a delay, microseconds.
    """

    kind: str
    job: str
    old: bool = True
    group: str = ""
    action: str = "once"
    nth: int = 0
    error: str = "EIO"
    least: int = 0

    @property
    def text(self) -> str:
        """The case in one line."""
        return ":".join([self.kind, self.job, "old" if self.old else "new", self.group, self.action, str(self.nth),
                         self.error, str(self.least)])  # fmt: skip

    @classmethod
    def parse(cls, text: str) -> Case:
        """Return the case of a line."""
        kind, job, old, group, action, nth, error, least = text.split(":")
        return cls(kind, job, old == "old", group, action, int(nth), error, int(least))


@dataclass(frozen=True)
class Outcome:
    """How a child ended: its status or, below 0, its signal; what it wrote on standard error; calls and faults."""

    status: int
    said: str
    calls: dict[str, int]
    hits: int
    seconds: float


def set_fault(case: Case | None, folders: dict[str, Path]) -> None:
    """Set the fault of a case in this process; in a child, right before the conversion."""
    if case is None or not case.group:
        return
    if case.group == "limit":
        limit = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + case.nth
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        return
    groups = sum(shim.GROUPS[name] for name in case.group.split("+"))
    folder = folders["source" if case.kind == "read-error" else "target"]
    shim.set_fault(groups, case.action, case.nth, getattr(errno, case.error), folder, case.least)


class Child:
    """A child that runs."""

    def __init__(self, action: Callable[[], int], said: Path) -> None:
        self._said, self._began = said, time.monotonic()
        shim.set_fault(0, "count", 0, 0, Path("/"))
        self.pid = os.fork()
        if self.pid:
            return
        status = 99
        try:
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            status = action()
        except SystemExit as error:
            status = int(error.code or 0)
        except BaseException:
            traceback.print_exc()
            status = 98
        finally:
            os._exit(status)

    def wait(self, kill_after: float | None = None, patience: float = PATIENCE) -> Outcome:
        """Return how it ended; `kill_after` so many seconds, at the latest."""
        limit = patience if kill_after is None else kill_after
        ended, status = self._poll(limit)
        if not ended:
            os.kill(self.pid, signal.SIGKILL)
            _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        said = self._said.read_text(errors="replace") if self._said.exists() else ""
        if not ended and kill_after is None:
            said += "it hangs"
        return Outcome(code, said, shim.calls(), shim.hits(), time.monotonic() - self._began)

    def _poll(self, limit: float) -> tuple[bool, int]:
        end, pause = self._began + limit, 0.0005
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return True, status
            left = end - time.monotonic()
            if left <= 0:
                return False, 0
            time.sleep(min(pause, left))


def command(arguments: Sequence[str], case: Case | None, folders: dict[str, Path]) -> Callable[[], int]:
    """Return what a child does: the command, under a fault."""

    def run() -> int:
        set_fault(case, folders)
        return main(list(arguments))

    return run


def start(arguments: Sequence[str], case: Case | None, folders: dict[str, Path], said: Path) -> Child:
    """Start a command in a child."""
    return Child(command(arguments, case, folders), said)
