"""How many threads a conversion takes: what was set, the process's affinity and control groups, forks."""

from __future__ import annotations

import contextlib
import math
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from .. import _kernels
from .._instruction_set_choice import setting
from ..spec.scalar_arguments import as_integer, shown

__all__ = ["available_cores", "get_num_threads", "is_small", "one_thread", "set_num_threads", "shared"]


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


_Result = TypeVar("_Result")

PARALLEL_FROM = 1 << 20
"""Elements below which the automatic choice is one thread: waking the others may take longer than the work."""

_asked: int | None = None
_forked = False
_team = threading.Lock()
"""Held by the conversion that runs on several threads: OpenMP would start as many again for each caller."""

_task = threading.local()


def _checked(n: object, parameter: str) -> int:
    number = as_integer(n)
    if number is None or not 1 <= number <= 1024:
        raise ValueError(f"`{parameter}` must be an integer from 1 to 1024; got {shown(n)}")
    return number


def _read(text: str) -> int:
    try:
        return _checked(int(text) if text.isdecimal() else text, "n")
    except ValueError:
        raise ValueError(f"LOWPREC_NUM_THREADS must be an integer from 1 to 1024; got {text!r}") from None


def _automatic() -> int:
    """Return the cores this process may use, fewer where OMP_NUM_THREADS says so; not ours, its errors are ignored."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    cores = available_cores()
    return min(cores, int(first)) if first.isdecimal() and int(first) else cores


def set_num_threads(n: int | None, /) -> None:
    """Set how many threads a conversion may take.

    Parameters
    ----------
    n : int or None
        From 1 to 1024, or None for the automatic choice: ``LOWPREC_NUM_THREADS`` where it is set, else the cores that
        affinity and control groups leave this process, at most ``OMP_NUM_THREADS``; from 1 Mi elements up. An explicit
        number is used for arrays of any size, in shares of at least 1024 elements.

    Raises
    ------
    ValueError
        If `n` is anything else.

    Notes
    -----
    A wrong ``LOWPREC_NUM_THREADS`` is reported in one line at import, by the logger ``lowprec``, and not used. The
    command ``lowprec`` ends with status 1 then.

    One conversion of a process takes several threads at a time; others that callers start meanwhile run on the thread
    of their caller, as the tasks of Dask always do. In a child of ``os.fork`` all do, since OpenMP's threads do not
    survive a fork.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.set_num_threads(2)
    >>> lp.get_num_threads()
    2
    >>> lp.set_num_threads(None)
    """
    global _asked
    _asked = None if n is None else _checked(n, "n")
    _kernels.set_alone_below(PARALLEL_FROM if is_small(0) else 0)


def get_num_threads() -> int:
    """Return how many threads a large conversion takes (see `set_num_threads`).

    Returns
    -------
    int
        1 or more; 1 without OpenMP, and in a child of ``os.fork``.

    Examples
    --------
    >>> import lowprec as lp
    >>> lp.get_num_threads() >= 1
    True
    """
    if _forked or not _kernels.openmp():
        return 1
    if _asked is not None:
        return _asked
    return _default


def threads_for(n: int) -> int:
    """Return the number of threads for `n` elements."""
    if n < PARALLEL_FROM and _asked is None:
        return 1
    return 1 if getattr(_task, "alone", False) else get_num_threads()


def is_small(n: int) -> bool:
    """Whether `n` elements take one thread, whatever else goes on."""
    return n < PARALLEL_FROM and _asked in (None, 1)


def shared(n: int, run: Callable[..., _Result], *arguments: object) -> _Result:
    """Return ``run(*arguments, threads)``: the threads for `n` elements, one if another conversion has several."""
    count = threads_for(n)
    if count == 1 or not _team.acquire(blocking=False):
        return run(*arguments, 1)
    try:
        return run(*arguments, count)
    finally:
        _team.release()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep the conversions of the calling thread on that thread."""
    before = getattr(_task, "alone", False)
    _task.alone = True
    try:
        yield
    finally:
        _task.alone = before


def _after_fork() -> None:
    global _forked
    _forked = True


_kernels.set_alone_below(PARALLEL_FROM)
_default = setting("LOWPREC_NUM_THREADS", _read, None) or _automatic()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
