"""How many cores this process may use: its affinity, and the CPU limits of its control groups (Linux)."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["available_cores"]


def _number(path: Path, word: int = 0) -> int | None:
    """Return one whole number of a file; None for ``max``, ``-1`` and what is not there."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        number = int(path.read_text(encoding="ascii").split()[word])
        return number if number > 0 else None
    return None


def _limit(group: Path) -> float | None:
    """Return the cores that one group grants: quota by period, in version 2's file or version 1's two."""
    for quota, period in (
        (_number(group / "cpu.max"), _number(group / "cpu.max", 1)),
        (_number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")),
    ):
        if quota and period:
            return quota / period
    return None


def _groups(proc: Path) -> Iterator[Path]:
    """Yield the directories of the groups that this process is in, and of those around them, where they are mounted."""
    inside = {}  # the path of our group, by controller; version 2 has one tree for all, whose controller is ''
    for line in (proc / "cgroup").read_text(encoding="utf-8").splitlines():
        _, controllers, path = line.split(":", 2)
        inside.update(dict.fromkeys(controllers.split(","), path))
    for line in (proc / "mountinfo").read_text(encoding="utf-8").splitlines():
        fields, _, tail = line.partition(" - ")
        root, mounted = fields.split()[3:5]
        kind, *_, options = tail.split()
        controller = {"cgroup2": "", "cgroup": "cpu"}.get(kind)
        if controller is None or controller not in inside or (controller and controller not in options.split(",")):
            continue
        # In a container the mount may show a part of the tree, which starts at `root`.
        path = inside[controller]
        below = path[len(root) :] if root != "/" and f"{path}/".startswith(f"{root.rstrip('/')}/") else path
        group = Path(mounted, below.lstrip("/"))
        yield from (place for place in (group, *group.parents) if place.is_relative_to(mounted))


def _granted(proc: Path) -> float:
    """Return the cores that the tightest of our groups grants."""
    try:
        limits = [limit for limit in map(_limit, _groups(proc)) if limit is not None]
    except (OSError, ValueError):
        limits = []
    return min(limits, default=math.inf)


def available_cores(proc: Path = Path("/proc/self")) -> int:
    """Return how many cores this process may use, at least 1; a part of a core counts as one."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    granted = _granted(proc)
    return cores if granted >= cores else max(1, math.ceil(granted))
