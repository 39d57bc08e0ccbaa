"""The rule for every fault, the folders in which conversions meet faults, and which faults a run makes."""

from __future__ import annotations

import contextlib
import fnmatch
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from lowprec.cli import main
from support.paths import table

from . import forked, kernels
from .forked import Case, Outcome
from .jobs import BIG, JOBS, Job, State, leftovers, state

MUST_FAIL = {"write", "truncate", "fsync"}
"""Groups in which no error may be passed over: bytes would be missing."""

CLEANING = {"remove", "open", "stat", "rename", "read", "memory"}
"""Groups that removing a folder, or the data of an old model, calls: where one of these fails, it may stay."""

NOT_OURS = ("Exception ignored in thread started by", "cannot allocate memory for thread-local data: ABORT")
"""What CPython says before it waits forever for a thread that got no memory to start, and glibc before it aborts."""


def is_not_ours(case: Case, outcome: Outcome) -> bool:
    """Whether CPython or glibc has ended a process that had no memory: as a kill does."""
    return case.kind == "memory" and any(text in outcome.said for text in NOT_OURS)


def _of_status(case: Case, outcome: Outcome) -> list[str]:
    """Return what is wrong with a status and with what was said."""
    found, status, said = [], outcome.status, outcome.said
    if status < 0 and case.kind != "kill":
        found.append(f"signal {-status}")
    if status > 0 and not (said.startswith("lowprec: ") and said.count("\n") == 1 and len(said) < 600):
        found.append(f"status {status} and not one line")
    if status == 0 and said:
        found.append("status 0 and a line")
    if status > 1:
        found.append(f"status {status}")
    must_fail = case.kind == "disk-full" and case.group in MUST_FAIL and case.error != "EINTR"
    if must_fail and status == 0 and outcome.hits and case.action in ("once", "from then on"):
        found.append("an error of a write was passed over")
    if (status and case.error == "EINTR") or (status and case.action == "short"):
        found.append("fails where it must go on")
    return found


def problems(
    case: Case, job: Job, outcome: Outcome, before: State, after: State, new: State, left: set[str]
) -> list[str]:
    """Return what a fault has broken: nothing, if the rule holds."""
    found = [] if is_not_ours(case, outcome) else _of_status(case, outcome)
    if case.action != "change":
        if outcome.status == 0 and after != new:
            found.append("status 0, and the target is not the new one")
        if outcome.status and after not in (before, new):
            found.append("the target is neither the old one nor the new one")
    elif outcome.status and after != before:
        found.append("the target is not the old one")
    may_stay = []  # documented names after a kill, or where removing them failed
    if outcome.status < 0 or case.group in CLEANING or is_not_ours(case, outcome):
        may_stay = [f"{job.target}.tmp-*", f"{job.target}.data", f"{job.target}.*.data"]
    elif outcome.status and "--resume" in job.new:
        may_stay = [f"{job.target}.tmp-resume"]
    if extra := [name for name in sorted(left) if not any(fnmatch.fnmatchcase(name, one) for one in may_stay)]:
        found.append(f"left: {', '.join(extra)}")
    return found


class Bench:
    """Sources, old targets and new ones of all jobs, in a folder."""

    def __init__(self, root: Path, names: list[str]) -> None:
        self.root, self._said = root, root / "said"
        self.jobs = {name: job for name, job in {**JOBS, **BIG}.items() if name in names}
        self.sources: dict[str, Path] = {}
        self.new: dict[str, State] = {}
        self.old: dict[str, State] = {}
        self.seconds: dict[str, float] = {}
        for number, (name, job) in enumerate(self.jobs.items()):
            self._prepare(root / f"job{number}", name, job)

    def _prepare(self, home: Path, name: str, job: Job) -> None:
        for folder in ("x", "y", "old"):
            (home / folder).mkdir(parents=True)
        source = self.sources[name] = job.build(home / "x")
        shutil.copytree(home / "x", home / "source")
        with contextlib.redirect_stdout(
            None
        ):  # what is imported here no child has to import; no thread, whose stack would stay
            main(["convert", *map(str, self.arguments(name, overwrite=False)), "--dry-run"])
        self._undisturbed([source, home / "old" / job.target, *job.old])
        self.old[name] = state(job, home / "old")
        self.seconds[name] = self._undisturbed(self.arguments(name, overwrite=True)).seconds
        self.new[name] = state(job, home / "y")
        if not self.old[name] or self.old[name] == self.new[name] or leftovers(job, home / "y"):
            raise RuntimeError(f"{name}: the conversions of a fault must differ and leave nothing")

    def _undisturbed(self, arguments: list[object]) -> Outcome:
        outcome = forked.start(["convert", *map(str, arguments)], None, {}, self._said).wait()
        if outcome.status or outcome.said:
            raise RuntimeError(f"{arguments}: {outcome}")
        return outcome

    def home(self, name: str) -> Path:
        """Return the folder of a job: in it `x`, the source's, and `y`, the target's."""
        source = self.sources[name]
        return next(one for one in source.parents if one.parent == self.root)

    def arguments(self, name: str, *, overwrite: bool) -> list[object]:
        """Return the arguments of a conversion."""
        job = self.jobs[name]
        target = self.home(name) / "y" / job.target
        return [self.sources[name], target, *job.new, *["--overwrite"] * overwrite]

    def reset(self, name: str, *, old: bool, options: str = "") -> Path:
        """Make the target's folder new, with the old target or without; on its own disk where there are options."""
        home = self.home(name)
        self.unmount(name)
        shutil.rmtree(home / "y", ignore_errors=True)
        (home / "y").mkdir()
        if options:
            command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", home / "y"]
            subprocess.run(command, check=True)
        if old:
            shutil.copytree(home / "old", home / "y", dirs_exist_ok=True)
        return home / "y"

    def unmount(self, name: str) -> None:
        """Take the disk of its own away."""
        if (self.home(name) / "y").is_mount():
            subprocess.run(["umount", self.home(name) / "y"], check=True)

    def start(self, case: Case) -> forked.Child:
        """Start the conversion of a case."""
        folders = {"source": self.home(case.job) / "x", "target": self.home(case.job) / "y"}
        arguments = ["convert", *map(str, self.arguments(case.job, overwrite=case.old))]
        fault = None if case.group in ("", "tmpfs", "time") else case
        return forked.start(arguments, fault, folders, self._said)

    def count(self, case: Case) -> dict[str, int]:
        """Return how many calls of each group a conversion makes."""
        self.reset(case.job, old=case.old)
        return self.start(case).wait().calls

    def run(self, case: Case) -> tuple[Outcome, list[str]]:
        """Let a conversion meet a fault, then another one none; return how it ended and what is wrong."""
        if case.job in kernels.CALLS:
            return kernels.run(case, self._said)
        job, name = self.jobs[case.job], case.job
        folder = self.reset(name, old=case.old, options=f"{case.error}={case.nth}" if case.group == "tmpfs" else "")
        before = state(job, folder)
        patience = 6.0 if case.kind == "memory" else forked.PATIENCE
        outcome = self.start(case).wait(case.least / 1e6 if case.group == "time" else None, patience)
        after, left = state(job, folder), leftovers(job, folder)
        new = self.new[name]
        if case.action == "shrink" and outcome.status == 0:  # a file that is copied is what it was when it was copied
            shrunk = state(Job(job.build, "", (), ()), self.sources[name]) if job.target == "out" else {}
            new = {one: shrunk[one] if after.get(one) == shrunk.get(one) else content for one, content in new.items()}
        found = problems(case, job, outcome, before, after, new, left)
        if case.action in ("shrink", "change"):
            shutil.rmtree(self.home(name) / "x")
            shutil.copytree(self.home(name) / "source", self.home(name) / "x")
        if case.group == "tmpfs":  # its second run has no more room either
            self.unmount(name)
            return outcome, found
        again = Case("again", name, old=bool(after))
        second = self.start(again).wait()
        if second.status or second.said or state(job, folder) != self.new[name]:
            found.append(f"the next run: {second.status} {second.said!r}")
        if more := leftovers(job, folder) - (left - {f"{job.target}.tmp-resume"}):
            found.append(f"left by the next run: {', '.join(sorted(more))}")
        return outcome, found

    def write_together(
        self, case: Case, wait: Callable[[int], int], begin: Callable[[], None]
    ) -> tuple[Outcome, list[str]]:
        """Start converters at once, with equal options or with the old ones too; return what is wrong at the end."""
        job, name = self.jobs[case.job], case.job
        folder = self.reset(name, old=case.old)
        children = []
        for number in range(case.nth):
            options = self.arguments(name, overwrite=case.old)
            if case.group == "different" and number % 2:
                options = [*options[:2], *job.old, "--progress", "none", *["--overwrite"] * case.old]
            call = forked.command(["convert", *map(str, options)], None, {})
            children.append(forked.Child(lambda number=number, call=call: wait(number) or call(),  # type: ignore[misc]
                                         self.root / f"said{number}"))  # fmt: skip
        begin()
        return self._judge_together(case, job, folder, [child.wait() for child in children])

    def _judge_together(self, case: Case, job: Job, folder: Path, ends: list[Outcome]) -> tuple[Outcome, list[str]]:
        found = [one for end in ends for one in _of_status(case, end)]
        wanted = [(self.old if case.group == "different" and number % 2 else self.new)[case.job]
                  for number, end in enumerate(ends) if end.status == 0]  # fmt: skip
        if state(job, folder) not in wanted:
            found.append("the target is none of those that succeeded")
        if not case.old and len(wanted) != 1:
            found.append(f"{len(wanted)} succeeded where none was to be replaced")
        if case.old and "--resume" not in job.new and len(wanted) != len(ends):
            found.append(f"{len(wanted)} of {len(ends)} succeeded")
        left = leftovers(job, folder)
        if "--resume" in job.new and len(wanted) < len(ends):
            left -= {f"{job.target}.tmp-resume"}
        if left:
            found.append(f"left: {', '.join(sorted(left))}")
        said = "".join(end.said for end in ends)
        return Outcome(max(end.status for end in ends), said, {}, 0, sum(end.seconds for end in ends)), found


# ---- which faults a run makes: every call of a conversion in turn, or a sample of them
CHANGES = "write+open+fsync+rename+truncate+copy+link+mkdir+remove+chmod"
"""Calls that change the disk: a process is killed before each, and half-way through a write."""

WRITING, READING = ([tuple(one) for one in table(__file__)[name]] for name in ("writing", "reading"))
"""Faults of the target's disk, and of the source's."""

KINDS = ("kill", "disk-full", "writers", "read-error", "memory")

STEPS = 30
"""Limits of memory between one that fails and one that is enough."""


def _each_call(bench: Bench, kind: str, faults: list[tuple[str, str, str]]) -> Iterator[Case]:
    for name in bench.jobs:
        for old in (True, False):
            groups = "+".join(dict.fromkeys(group for group, _, _ in faults))
            calls = bench.count(Case(kind, name, old, groups, "count"))
            for group, action, error in faults:
                n = sum(calls[one] for one in group.split("+"))
                yield from (Case(kind, name, old, group, action, nth, error) for nth in range(1, n + 1))


def _kills(bench: Bench, rng: random.Random, count: int) -> list[Case]:
    calls = list(_each_call(bench, "kill", [(CHANGES, "kill", "EIO")]))
    calls = rng.sample(calls, min(len(calls), count // 2))
    names = list(bench.jobs)
    times = []
    for number in range(count - len(calls)):
        name = names[number % len(names)]
        delay = int(rng.uniform(0, 1.2e6 * bench.seconds[name]))
        times.append(Case("kill", name, rng.random() < 0.7, "time", "kill", least=delay))
    return calls + times


def can_mount(folder: Path) -> bool:
    """Whether a small disk can be mounted here."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder]
    try:
        if subprocess.run(command, check=False, capture_output=True).returncode:
            return False
    except OSError:
        return False
    subprocess.run(["umount", folder], check=True)
    return True


def _small_disks(bench: Bench) -> Iterator[Case]:
    if not can_mount(bench.root / "disk"):
        print("disk-full: no disk can be mounted here; the calls alone fail")
        return
    for name in bench.jobs:
        for old in (True, False):
            base = 12 if old else 2
            yield from (Case("disk-full", name, old, "tmpfs", nth=n, error="nr_inodes") for n in range(base, base + 20))
            size = sum(map(len, bench.old[name].values())) if old else 0
            first = 4096 * (len(bench.old[name]) + size // 4096 + 4 if old else 1)
            yield from (
                Case("disk-full", name, old, "tmpfs", nth=first + 4096 * n, error="size") for n in range(0, 40, 2)
            )


def _writers(bench: Bench, rng: random.Random, count: int) -> list[Case]:
    all_ = [Case("writers", name, old, group, nth=n) for name in bench.jobs for old in (True, False)
            for group in ("equal", "different") for n in (2, 3)]  # fmt: skip
    rng.shuffle(all_)
    return [replace(all_[number % len(all_)], least=number // len(all_)) for number in range(count)]


def _limits(bench: Bench, name: str) -> Iterator[Case]:
    """Yield limits between the greatest one known to fail and the least one known to be enough."""
    case = Case("memory", name, True, "limit")
    low, high = 0, 1 << 20
    while bench.run(replace(case, nth=high))[0].status and high < 1 << 30:
        low, high = high, 2 * high
    if high >= 1 << 30:
        raise RuntimeError(f"{name}: no memory is enough")
    yield from (replace(case, nth=high * step // STEPS // 4096 * 4096) for step in range(STEPS))
    yield from (replace(case, nth=low + (high - low) * step // STEPS // 4096 * 4096) for step in range(1, STEPS))


def _allocations(bench: Bench, name: str, sizes: tuple[int, ...], rng: random.Random, most: int) -> Iterator[Case]:
    for least in sizes:
        case = Case("memory", name, True, "memory", "count", error="ENOMEM", least=least)
        n = kernels.count(case, bench.root / "said") if name in kernels.CALLS else bench.count(case)["memory"]
        chosen = sorted(rng.sample(range(1, n + 1), min(n, most)))
        for action in ("once", "from then on"):
            yield from (replace(case, action=action, nth=nth) for nth in chosen)


def cases_of(kind: str, bench: Bench, rng: random.Random, count: int | None) -> list[Case]:
    """Return the faults of a kind; `count` of them, or all that there are."""
    if kind == "kill":
        return _kills(bench, rng, 1000 if count is None else count)
    if kind == "writers":
        return _writers(bench, rng, 400 if count is None else count)
    if kind == "memory":
        found = []
        for name in bench.jobs:
            found += [*_allocations(bench, name, (65536, 4096, 513), rng, 60), *_limits(bench, name)]
        for name in kernels.CALLS:
            found += _allocations(bench, name, (4096, 1), rng, 60)
    elif kind == "disk-full":
        found = [*_each_call(bench, kind, WRITING), *_small_disks(bench)]
    else:
        found = list(_each_call(bench, kind, READING))
    return found if count is None or count >= len(found) else rng.sample(found, count)
