"""Which faults a run makes: every call of a conversion in turn, or a sample of them."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from . import kernels
from .bench import Bench
from .forked import Case

CHANGES = "write+open+fsync+rename+truncate+copy+link+mkdir+remove+chmod"
"""Calls that change the disk: a process is killed before each, and half-way through a write."""

WRITING = [
    ("write", "once", "ENOSPC"), ("write", "from then on", "ENOSPC"), ("write", "once", "EDQUOT"),
    ("write", "once", "EIO"), ("write", "short", "EIO"), ("write", "once", "EINTR"),
    ("truncate", "once", "ENOSPC"), ("copy", "once", "ENOSPC"), ("fsync", "once", "EIO"), ("fsync", "once", "ENOSPC"),
    ("rename", "once", "EACCES"), ("rename", "once", "EXDEV"), ("rename", "from then on", "EIO"),
    ("rename", "once", "EINVAL"), ("link", "once", "EACCES"), ("mkdir", "once", "ENOSPC"), ("mkdir", "once", "EACCES"),
    ("remove", "once", "EACCES"), ("remove", "from then on", "EIO"), ("chmod", "once", "EPERM"),
    ("open", "once", "ENOSPC"), ("open", "once", "EACCES"), ("open", "once", "EMFILE"), ("open", "once", "EINTR"),
    ("read", "once", "EIO"), ("stat", "once", "EIO"),
]  # fmt: skip
"""Faults of the target's disk."""

READING = [
    ("read", "once", "EIO"), ("read", "from then on", "EIO"), ("read", "once", "EINTR"), ("read", "short", "EIO"),
    ("read", "shrink", "EIO"), ("read", "change", "EIO"), ("open", "once", "EIO"), ("open", "once", "EINTR"),
    ("open", "once", "EMFILE"), ("open", "shrink", "EIO"), ("stat", "once", "EIO"), ("stat", "shrink", "EIO"),
    ("map", "once", "ENOMEM"),
]  # fmt: skip
"""Faults of the source's disk."""

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
